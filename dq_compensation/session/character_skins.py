"""The skins of the characters in the file: what all enabled meshes of each show together."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import bpy

from ..errors import BindingError
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.character_skin import CharacterSkin
from ..scene.binding.content import SOFT_WEIGHTS, digest_of_soft_weights
from ..scene.blender.rigging import find_rig
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import settings_of
from .known_objects import enabled_meshes
from .memory import memories

_more_follow = False


@contextmanager
def more_follow() -> Generator[None]:
    """Take each mesh for a character of its own in the block: others are enabled in it, too."""
    global _more_follow
    before, _more_follow = _more_follow, True
    try:
        yield
    finally:
        _more_follow = before


def meshes_beside(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The enabled meshes on the armature of an object but for itself."""
    rig = None if _more_follow else find_rig(obj)
    return [each for each in enabled_meshes(rig) if each != obj] if rig is not None else []


def other_meshes(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The other meshes of the character that an enabled object is a part of.

    None is for an object that is not enabled, or goes *By Itself*.
    """
    settings = settings_of(obj)
    if not settings.is_enabled or settings.by_itself:
        return []
    return [each for each in meshes_beside(obj) if not settings_of(each).by_itself]


def in_character(
    obj: bpy.types.Object, binding: Binding, depsgraph: bpy.types.Depsgraph | None = None
) -> Binding:
    """The binding of an object with the skin of its character; the same one while that is true."""
    others, bindings = other_meshes(obj), memories(Binding)
    found = {obj.name: binding}
    for other in others:
        known = bindings.get(other.session_uid)
        if known is None or not _is_true(known, other, binding):
            try:
                known = bindings[other.session_uid] = bind(other, depsgraph)
            except BindingError:
                continue
        found[other.name] = known
    if len(found) < 2:
        return binding if binding.whole is None else binding.in_character(None)
    parts, skins = tuple(found[name].part for name in sorted(found)), memories(CharacterSkin)
    skin = skins.get(binding.armature_uid)
    settings = [settings_of(each) for each in (obj, *others)]
    kinds = frozenset((each.limb_axis, each.use_mesh_joints) for each in settings)
    if skin is None or not skin.is_of(parts, binding.skeleton, kinds):
        skin = CharacterSkin(parts, binding.skeleton, binding.bone_sides, kinds)
        skins[binding.armature_uid] = skin
    return binding.in_character(skin)


def _is_true(known: Binding, obj: bpy.types.Object, beside: Binding) -> bool:
    """Whether a binding still has the bones of its character, and the weights that act; cheap."""
    same_bones = known.structure.get("bones") == beside.structure.get("bones")
    soft = digest_of_soft_weights(SkinnedObject(obj))
    return same_bones and known.structure.get(SOFT_WEIGHTS) == soft


def is_behind(obj: bpy.types.Object) -> bool:
    """Whether the skin of its character has changed since an object was bound to it."""
    known = memories(Binding).get(obj.session_uid)
    return known is None or known.differs_in(memories(CharacterSkin).get(known.armature_uid))
