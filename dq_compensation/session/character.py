"""A character: an armature, and the meshes that it deforms and DQ Compensation enables.

What ours is on a mesh, why, and what would change it:

- *What*: the list is `modifier.parts.PARTS`, with when each is there. Our modifiers of the mesh, by
  what they are for, are `stack_of(obj).roles`; the one that deforms is `SkinnedObject.ours`. What
  we have set of the user's own settings, and what was there: `SkinnedObject.before_enable`.
- *Why*: `is_enabled(obj)`, the settings that act (`Settings.of`), and the `Binding`: what was read
  of mesh, weights and bones. Limbs, joints and rigid pieces are found on the skin of all meshes of
  the character together, the `CharacterSkin`. Why there is nothing: `Status.problem`, or an error,
  `Status.failure`.
- *What would change it*: the list is in `modifier.written_record`, which keeps a digest of each in
  the file. `lifecycle.reconcile` compares them, and writes what differs. An edit of one mesh may
  show another skin: the others differ then, and are written in the same pass.

A character is found at the door of an operation and handed down; nothing keeps it longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import bpy

from ..holding import held, look_again
from ..scene.binding.binding import Binding
from ..scene.binding.character_skin import CharacterSkin, LimbSettings
from ..scene.binding.facts import OTHER_MESHES, STATE_PROPERTY
from ..scene.blender.own_objects import record_in
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import settings_of
from ..scene.stack import find_rig
from .known_objects import enabled_meshes, forget_characters
from .memory import memories


@dataclass(frozen=True)
class Character:
    """An armature and the enabled meshes on it that go together.

    Attributes:
        armature: the armature object; None without one.
        meshes: as the file has them, linked ones too. One mesh alone: where it goes *By Itself*,
            has no armature, or is not enabled.
    """

    armature: bpy.types.Object | None
    meshes: tuple[SkinnedObject, ...]

    def beside(self, obj: bpy.types.Object) -> list[SkinnedObject]:
        """Its other meshes."""
        return [mesh for mesh in self.meshes if mesh.obj != obj]

    def skin_of(self, bindings: Mapping[bpy.types.Object, Binding]) -> CharacterSkin | None:
        """The skin of its meshes that are bound; the same object while that is true.

        None where only one is.
        """
        if len(bindings) < 2:
            return None
        # A linked one may have the same name.
        found = {obj.name_full: binding for obj, binding in bindings.items()}
        surfaces = tuple(found[name].part for name in sorted(found))
        one, skins = next(iter(bindings.values())), memories(CharacterSkin)
        kinds: frozenset[LimbSettings] = frozenset(
            (s.limb_axis, s.use_mesh_joints, one.kinds_of(s.bone_kinds))
            for s in (mesh.settings for mesh in self.meshes)
        )
        skin = skins.get(one.armature_uid)
        if skin is None or not skin.is_of(surfaces, one.skeleton, kinds):
            skin = CharacterSkin(surfaces, one.skeleton, one.bone_sides, kinds)
            bound = [mesh for mesh in self.meshes if mesh.obj in bindings]
            linked = [mesh.obj for mesh in bound if mesh.has_linked_mesh]
            records = (record_in(obj, STATE_PROPERTY) for obj in linked)
            others = (each.get(OTHER_MESHES) != skin.findings for each in records)
            if len(linked) < len(bound) and any(others):
                kept = tuple(bindings[obj].part for obj in linked)
                skin = replace(skin, linked=replace(skin, parts=kept))
            skins[one.armature_uid] = skin
        return skin


@held
def character_of(obj: bpy.types.Object) -> Character:
    """The character that an object is a mesh of."""
    rig, settings = find_rig(obj), settings_of(obj)
    if rig is None or settings.by_itself or not settings.is_enabled:
        return Character(rig, (SkinnedObject(obj),))
    meshes = enabled_meshes(rig)
    if obj not in meshes:  # it has come from another armature
        forget_characters()
        look_again()
        meshes = enabled_meshes(rig)
    together = (each for each in meshes if each == obj or not settings_of(each).by_itself)
    return Character(rig, tuple(map(SkinnedObject, together)))


def characters_of(objects: Iterable[bpy.types.Object]) -> list[Character]:
    """The characters of enabled objects, each once, in the order of the first of their objects."""
    found, seen = list[Character](), set[bpy.types.Object]()
    for obj in objects:
        if obj not in seen:
            found.append(character_of(obj))
            seen.update(mesh.obj for mesh in found[-1].meshes)
    return found


def meshes_beside(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The enabled meshes on the armature of an object but for itself, those *By Itself* too."""
    rig = find_rig(obj)
    return [] if rig is None else [each for each in enabled_meshes(rig) if each != obj]
