"""Reads the set-up of a mesh object: its Armature modifier, name, refusals and notes.

Everything here is cheap enough for every redraw of a panel: no vertex is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np

from ...errors import BindingError
from ...wording import listed
from ..stack import find_rig, is_own_modifier
from .animation_curves import animated_paths
from .armature import armature_of, deforming_bones
from .bulk_arrays import read_property
from .own_objects import is_hidden
from .placement import is_invertible
from .skinned_object import SkinnedObject

REFUSAL_NOT_A_MESH = "{obj} is not a mesh. Select the character's mesh."
REFUSAL_NO_MESH = "{armature} deforms no mesh. Parent one to it (Ctrl P, Armature Deform)."


def rig_of(obj: bpy.types.Object) -> bpy.types.Object:
    """The armature object of `armature_modifier`; BindingError where there is none (any more)."""
    rig = find_rig(obj)
    if rig is None:
        raise BindingError(f"{obj.name} has no Armature modifier with an armature.")
    return rig


def deformation_refusal(skinned: SkinnedObject) -> str | None:
    """Why an object cannot be deformed: a sentence for riggers that says what to do, or None."""
    obj, modifier = skinned.obj, skinned.find_modifier()
    if obj.type != "MESH":
        return REFUSAL_NOT_A_MESH.format(obj=obj.name)
    if is_hidden(obj):
        return f"{obj.name} belongs to DQ Compensation. Select the character's mesh."
    if modifier is None:
        return (
            f"{obj.name} has no Armature modifier. Add one (Ctrl P, Armature Deform) and press "
            "Enable again."
        )
    rig = modifier.object
    # A file can come without the bones of an armature object.
    if rig is None or rig.data is None:
        return (
            f"{obj.name} has no armature in its modifier {modifier.name}. Choose one in the field "
            "Object."
        )
    if not (modifier.use_vertex_groups or modifier.use_bone_envelopes):
        return (
            f"{obj.name} is bound to no bone: its modifier {modifier.name} uses neither vertex "
            "groups nor bone envelopes. Turn on Bind To: Vertex Groups in it."
        )
    # A node tree before the Armature modifier may bring vertex groups of other meshes.
    trees = [m for m in skinned.modifiers_before if m.type == "NODES" and m.show_viewport]
    groups = None if trees else group_refusal(skinned, obj)
    return groups or _state_refusal(skinned, rig)


def group_refusal(skinned: SkinnedObject, holder: bpy.types.Object) -> str | None:
    """Why no bone of the Armature modifier moves an object by its vertex groups, or None.

    Args:
        holder: has the groups as they come into the modifier; it may be the object itself.
    """
    rig = skinned.rig
    bones = deforming_bones(rig)
    if not bones:
        return f"{rig.name} has no bones that deform. Turn on Deform in its bones."
    groups = holder.vertex_groups.keys()
    if skinned.modifier.use_bone_envelopes or not bones.isdisjoint(groups):
        return None
    return (
        f"{skinned.obj.name} follows no bone: no vertex group has the name of a deforming bone of "
        f"{rig.name}. Weight paint it, or give its groups the names of the bones."
    )


def _state_refusal(skinned: SkinnedObject, rig: bpy.types.Object) -> str | None:
    """Why a complete set-up cannot be read in its current state, or None."""
    mesh, name = skinned.mesh, skinned.obj.name
    if mesh.is_editmode:
        return f"{name} is in Edit Mode. Leave it (Tab) to see the deformation."
    if mesh.shape_keys is not None and not mesh.shape_keys.use_relative:
        return f"The shape keys of {name} are absolute. Turn on Relative in the Shape Keys panel."
    for one in (skinned.obj, rig):
        if not is_invertible(np.array(one.matrix_world, np.float64)):
            return f"{one.name} has a scale of zero on at least one axis. Give it a size again."
    return None


VISIBILITY = ("show_viewport", "show_render")


def what_animates(
    obj: bpy.types.Object, modifier: bpy.types.Modifier, settings: Iterable[str]
) -> str | None:
    """What changes one of these settings of a modifier, for messages; None: nothing does."""
    owner = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    causes = animated_paths(obj)
    return next(filter(None, (causes.get(f"{owner}.{name}") for name in settings)), None)


def broken_pose(rig: bpy.types.Object) -> str | None:
    """Which bones have a pose that is not a number, for instance by a driver; or None."""
    if rig.pose is None:
        return None
    poses = read_property(rig.pose.bones, "matrix_channel", np.float32, (16,))
    if np.isfinite(poses.sum()):  # one number that is not finite would show in it
        return None
    broken = np.flatnonzero(~np.isfinite(poses).all(axis=1))
    if not len(broken):
        return None
    names = listed([rig.pose.bones[int(bone)].name for bone in broken])
    return f"The pose of {rig.name} is not a finite number. Look at {names}."


def notes(
    skinned: SkinnedObject,
    *,
    replaced_modifier: str = "",
    base_left_on: bool = False,
    drawn: bool = True,
    followed: bool = False,
    straightened: tuple[str, str] | None = None,
) -> list[str]:
    """The features of an object that do not show in our deformation; sentences for riggers.

    Args:
        replaced_modifier: the Armature modifier that the add-on itself has hidden, or left on.
        base_left_on: it deforms the mesh, and ours adds to that.
        drawn: whether the GPU display shows it, which knows no other modifiers; the node modifier
            takes its place among them.
        followed: whether the modifiers before the Armature modifier show nevertheless.
        straightened: why bendy bones move as straight ones, and what to do; None where they bend.
    """
    obj, modifier = skinned.obj, skinned.find_modifier()
    rig = modifier.object if modifier is not None and obj.type == "MESH" else None
    if modifier is None or rig is None or rig.data is None:
        return []
    others = [m for m in obj.modifiers if m != modifier and not is_own_modifier(m)]
    found = _stack_notes(skinned, modifier, drawn, followed) if others else []
    if base_left_on:
        if not drawn and not modifier.show_viewport:
            found.append(
                f"{modifier.name} is turned off in the viewport, so {obj.name} is not deformed "
                "there. Turn it on."
            )
    elif modifier.name == replaced_modifier:
        if modifier.show_viewport or modifier.show_render:
            found.append(
                f"{modifier.name} is turned on as well: {obj.name} is deformed twice. Turn it off "
                "in the viewport and in renders, or Disable DQ Compensation."
            )
    elif not modifier.show_viewport:
        found.append(f"{modifier.name} is turned off in the viewport; it is deformed here.")
    found.extend(_armature_notes(rig, straightened))
    if drawn and skinned.mesh.has_custom_normals:
        found.append(f"{obj.name} has custom normals; they are computed from the surface here.")
    return found


def _stack_notes(
    skinned: SkinnedObject, modifier: bpy.types.ArmatureModifier, drawn: bool, followed: bool
) -> list[str]:
    """The other modifiers whose work does not show, or that deform the result again."""
    stack = [m for m in skinned.obj.modifiers if not is_own_modifier(m)]
    place = stack.index(modifier)
    others = [m for m in stack if m.type == "ARMATURE" and m.show_viewport and m != modifier]
    found: list[str] = []
    if not drawn:
        mixed = skinned.mixed_modifiers
        names = [m.name for m in others if m not in mixed]
        if names:
            found.append(
                f"{skinned.obj.name} is deformed more than once: by {modifier.name} and by "
                f"{listed(names)}."
            )
        after: list[Any] = [m for m in stack[place:] if m.type == "PARTICLE_SYSTEM"]
        found.extend(
            f"{each.name} of {skinned.obj.name} grows at other places, as behind every node "
            f"modifier. Turn on Use Modifier Stack in the settings of {each.settings.name}, in "
            "Emission, Source: then all is where it was."
            for each in (modifier.particle_system for modifier in after)
            if not each.settings.use_modifier_stack
        )
        return found
    if others:
        names = [m.name for m in others]
        found.append(f"Only {modifier.name} counts; more Armature modifiers: {listed(names)}.")
    for where, part in (("before", stack[:place]), ("after", stack[place:])):
        names = [m.name for m in part if m.show_viewport and m.type != "ARMATURE"]
        if names and not (where == "before" and followed):
            found.append(f"Modifiers {where} {modifier.name} do not show: {listed(names)}.")
    return found


def _armature_notes(rig: bpy.types.Object, straightened: tuple[str, str] | None) -> list[str]:
    """What keeps an armature from being posed, and what of its pose does not show."""
    armature, found = armature_of(rig), list[str]()
    if not rig.users_collection:
        found.append(
            f"{rig.name} is in no collection, so nobody can pose it. Undo its deletion, or "
            "choose another armature in the Armature modifier."
        )
    bones = armature.bones
    curved = read_property(bones, "bbone_segments", np.int32) > 1
    curved &= read_property(bones, "use_deform", np.bool_)
    if curved.any() and straightened is not None:
        names = [bones[int(index)].name for index in np.flatnonzero(curved)]
        cause, remedy = straightened
        found.append(
            f"Bendy bones of {rig.name} move as straight ones {cause}: {listed(names)}. {remedy}"
        )
    if armature.is_editmode:
        found.append(f"{rig.name} is in Edit Mode and shows at rest; leave it to see the pose.")
    elif armature.pose_position == "REST":
        found.append(f"{rig.name} is in Rest Position; switch it to Pose Position.")
    return found


def telling_name(obj: bpy.types.Object) -> str:
    """The name of an object; with its file behind it where an object of this file has the same."""
    is_double = obj.library is not None and (obj.name, None) in bpy.data.objects
    return obj.name_full if is_double else obj.name


def object_named(name: str) -> bpy.types.Object | None:
    """The object with this `telling_name`; None without one."""
    found = bpy.data.objects.get(name)
    return found or next((each for each in bpy.data.objects if each.name_full == name), None)
