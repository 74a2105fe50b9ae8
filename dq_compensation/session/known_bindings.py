"""The bindings of the session: what is not known of a mesh is read."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import bpy

from ..errors import BindingError
from ..scene.binding.bind import bind, renamed, with_other_soft_weights
from ..scene.binding.binding import Binding
from ..scene.binding.character_skin import CharacterSkin
from ..scene.binding.facts import SOFT_WEIGHTS, digest_of_soft_weights, structure_of
from ..scene.blender.skinned_object import SkinnedObject
from .character import character_of
from .known_objects import forget_characters
from .memory import memories


def read(
    mesh: SkinnedObject, depsgraph: bpy.types.Depsgraph | None = None, *, anew: bool = False
) -> Binding:
    """The binding of a mesh as it is remembered; a new one if its structure has changed.

    Args:
        anew: painted weights and moved vertices are not seen without.

    Raises:
        BindingError: it cannot be bound (any more); nothing is kept of it.
    """
    uid, bindings, found = mesh.obj.session_uid, memories(Binding), None
    known = bindings.pop(uid, None)
    if known is not None:
        rig = mesh.find_rig()
        same_rig = rig is not None and known.armature_uid == rig.session_uid
        if not same_rig or known.mesh_uid != mesh.mesh.session_uid:
            known = None
            forget_characters()
    if known is not None and not anew:
        structure = structure_of(mesh)
        same = known if known.structure == structure else None
        changed = known, mesh, structure
        found = same or renamed(*changed) or with_other_soft_weights(*changed)
    bindings[uid] = found = found or bind(mesh.obj, depsgraph, known)
    return found


def read_if_old(
    mesh: SkinnedObject, beside: Binding | None, depsgraph: bpy.types.Depsgraph | None
) -> Binding:
    """The binding of a mesh as remembered, while its bones and the weights that act are the same.

    Args:
        beside: of another mesh of the character, as it is now, if there is one.

    Raises:
        BindingError: as `read`, where it has to.
    """
    known = memories(Binding).get(mesh.obj.session_uid)
    if known is not None:
        same_bones = known.structure.get("bones") == (beside or known).structure.get("bones")
        if same_bones and known.structure.get(SOFT_WEIGHTS) == digest_of_soft_weights(mesh):
            return known
    return read(mesh, depsgraph)


def current_binding(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None, *, edited: bool = False
) -> Binding:
    """The binding of an object as a part of its character.

    The same `Binding` object comes back as long as it is true: compare with `is`.

    Args:
        edited: whether its mesh may be another one: `anew` of `read`.

    Raises:
        BindingError: it cannot be bound (any more); nothing is kept of it.
    """
    obj = cast("bpy.types.Object", obj.original)
    found = in_character(obj, read(SkinnedObject(obj), depsgraph, anew=edited), depsgraph)
    memories(Binding)[obj.session_uid] = found
    return found


def in_character(
    obj: bpy.types.Object, binding: Binding, depsgraph: bpy.types.Depsgraph | None = None
) -> Binding:
    """A binding of an object with the skin of its character; the same one while that is true."""
    character, bindings = character_of(obj), {obj: binding}
    for mesh in character.beside(obj):
        with suppress(BindingError):
            bindings[mesh.obj] = read_if_old(mesh, binding, depsgraph)
    return binding.in_character(skin_for(SkinnedObject(obj), character.skin_of(bindings)))


def discard_binding(obj: bpy.types.Object) -> None:
    """Forget the binding of an object."""
    memories(Binding).pop(obj.session_uid, None)


def skin_for(mesh: SkinnedObject, skin: CharacterSkin | None) -> CharacterSkin | None:
    """The skin on which the limbs of a mesh are found: a linked one keeps that of its file."""
    if skin is None or skin.linked is None or not mesh.has_linked_mesh:
        return skin
    return skin.linked


def is_behind(obj: bpy.types.Object) -> bool:
    """Whether the skin of its character has changed since an object was bound to it."""
    known = memories(Binding).get(obj.session_uid)
    if known is None:  # it cannot be bound, or nobody has looked at it
        return False
    is_alone = len(character_of(obj).meshes) == 1
    skin = None if is_alone else memories(CharacterSkin).get(known.armature_uid)
    return known.differs_in(skin_for(SkinnedObject(obj), skin))
