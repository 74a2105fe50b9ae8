"""Copies of characters: posed, or temporary.

A posed copy replaces a character while the artist shapes it. It says whose it is by a custom
property, and the character that it is hidden by a flag of its settings: both are in the file, so
that undo, saving and deleting leave nothing behind that only Python knew.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import bpy

from ..analysis.posed_bones import Quaternion
from ..core.rest_offsets import Target
from ..holding import look_again
from .blender.armature import armature_of, is_helper_bone
from .blender.mesh import mesh_of
from .blender.own_objects import CHARACTER_PROPERTY
from .blender.scenes import scene_aside
from .blender.skinned_object import SkinnedObject
from .settings.object_settings import settings_of, written_settings
from .stack import drop_modifier, stack_of


def copied_character(copy: bpy.types.Object | None) -> bpy.types.Object | None:
    """The character whose posed copy an object is; None when it is none."""
    found = copy.get(CHARACTER_PROPERTY) if copy is not None else None
    return found if isinstance(found, bpy.types.Object) and found.type == "MESH" else None


def posed_copy_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The current posed copy of a character; None without one.

    A copy that was deleted but is still held in memory by something does not count.
    """
    copies = (other for other in bpy.data.objects if other.get(CHARACTER_PROPERTY) == obj)
    return next((each for each in copies if len(each.users_collection)), None)


def open_copy_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The result of `posed_copy_of`, cheap enough for every redraw of a panel."""
    settings = written_settings(obj)
    is_hidden = settings is not None and settings.native.hidden_for_copy
    return posed_copy_of(obj) if is_hidden else None


def hide_for_copy(obj: bpy.types.Object) -> None:
    """Hide a character while its posed copy stands in for it."""
    obj.hide_set(True)
    settings_of(obj).native.hidden_for_copy = True


def show_again(obj: bpy.types.Object) -> None:
    """Show a character again that `hide_for_copy` has hidden; harmless for any other."""
    native = settings_of(obj).native
    if not native.hidden_for_copy:
        return
    native.hidden_for_copy = False
    for scene in bpy.data.scenes:
        for view_layer in scene.view_layers:
            if view_layer.objects.get(obj.name) == obj:
                obj.hide_set(False, view_layer=view_layer)


_REST: Quaternion = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class FreeCopies:
    """A character three times, all in one pose.

    Attributes:
        armature: without constraints and animation.
        corrected: the mesh object with nothing but the Armature modifier and some driven keys.
        plain: the same with all keys off.
    """

    scene: bpy.types.Scene
    armature: bpy.types.Object
    corrected: bpy.types.Object
    plain: bpy.types.Object

    def pose(self, rotations: Mapping[str, Quaternion]) -> None:
        """Turn these bones, by name, in their rest axes; the others rest."""
        for bone in self.armature.pose.bones:
            bone.rotation_quaternion = rotations.get(bone.name, _REST)
        self.scene.view_layers[0].update()

    @property
    def depsgraph(self) -> bpy.types.Depsgraph:
        """The depsgraph in which the copies are evaluated, once they have been posed."""
        return cast("bpy.types.Depsgraph", self.scene.view_layers[0].depsgraph)


@contextmanager
def free_copies(
    onto: bpy.types.Object, key_names: Collection[str], target: Target, like: bpy.types.Scene
) -> Generator[FreeCopies]:
    """Copies of an object and its armature; gone afterwards.

    Args:
        onto: a mesh object with an Armature modifier.
        key_names: the keys that count; what drives them drives those of the copy.
        target: whether its Armature modifier preserves volume.
        like: the scene whose frame they are in.
    """
    original = SkinnedObject(onto).rig
    rig = free_armature(original)
    corrected = _skinned_copy(onto, rig, target)
    plain = _skinned_copy(onto, rig, target)
    meshes = [mesh_of(corrected), mesh_of(plain)]
    bones = armature_of(rig)
    objects = (rig, corrected, plain)
    try:
        with scene_aside(like) as scene:
            for obj in objects:
                scene.collection.objects.link(obj)
            for copy, names in ((corrected, key_names), (plain, ())):
                # What an object's drivers read of itself, they read of the copy already.
                _keep_drivers(copy, names, {original: rig, onto: copy, copy: copy})
            yield FreeCopies(scene, rig, corrected, plain)
    finally:
        for obj in objects:
            bpy.data.objects.remove(obj)
        for mesh in meshes:
            bpy.data.meshes.remove(mesh)
        bpy.data.armatures.remove(bones)


def free_armature(armature: bpy.types.Object, *, keep_modes: bool = False) -> bpy.types.Object:
    """A copy of an armature at rest, that nothing moves but its own pose; helper bones follow it.

    Its bones are turned by quaternions, unless they `keep_modes`.
    """
    rig = cast("bpy.types.Object", armature.copy())
    rig.data = armature_of(armature).copy()
    armature_of(rig).pose_position = "POSE"
    rig.animation_data_clear()
    rig.data.animation_data_clear()
    rig.hide_viewport = False
    for bone in rig.pose.bones:
        for constraint in () if is_helper_bone(bone.bone) else list(bone.constraints):
            bone.constraints.remove(constraint)
        if not keep_modes:
            bone.rotation_mode = "QUATERNION"
        bone.matrix_basis.identity()
    return rig


def _skinned_copy(obj: bpy.types.Object, rig: bpy.types.Object, target: Target) -> bpy.types.Object:
    """A copy of an object and its mesh that only its Armature modifier deforms, by another rig."""
    copy = cast("bpy.types.Object", obj.copy())
    copy.data = cast("bpy.types.Mesh", mesh_of(obj).copy())
    copy.hide_viewport = False
    copy.show_only_shape_key = False
    settings_of(copy).is_enabled = False
    base = stack_of(copy).base
    for name in [each.name for each in copy.modifiers if each.name != base]:
        drop_modifier(copy, copy.modifiers[name])
    if base is not None:
        skinning = cast("bpy.types.ArmatureModifier", copy.modifiers[base])
        skinning.object = rig
        look_again()
        skinning.show_viewport = True
        skinning.use_deform_preserve_volume = target == "DUAL_QUATERNION"
    return copy


def _keep_drivers(
    copy: bpy.types.Object,
    key_names: Collection[str],
    replaced: dict[bpy.types.Object, bpy.types.Object],
) -> None:
    """Let drivers read the copies, and let nothing else move a copied object and its keys."""
    key = mesh_of(copy).shape_keys
    for owner in (copy, key):
        animation: Any = owner.animation_data if owner is not None else None
        if animation is None:
            continue
        animation.action = None
        for track in list(animation.nla_tracks):
            animation.nla_tracks.remove(track)
        for curve in list(animation.drivers):
            targets = [t for variable in curve.driver.variables for t in variable.targets]
            if not targets or any(target.id not in replaced for target in targets):
                animation.drivers.remove(curve)
                continue
            for target in targets:
                target.id = replaced[target.id]
    if key is not None:
        for block in key.key_blocks:
            block.mute = block.name not in key_names
