"""Reads the set-up of a mesh object: its Armature modifier, refusals and notes.

Everything here is cheap enough for every redraw of a panel: no vertex is looked at.
"""

from __future__ import annotations

from itertools import takewhile
from typing import cast

import bpy
import numpy as np

from ...errors import BindingError
from ...wording import listed
from .armature import armature_of, deforming_bones, is_invertible
from .mesh import mesh_of, read_property
from .own_objects import is_hidden, is_own_modifier

REFUSAL_NOT_A_MESH = "{obj} is not a mesh. Select the character's mesh."


def armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier that our modifier replaces.

    The first one that has an armature; when none has, the first one; None without any.
    """
    modifiers = [
        cast("bpy.types.ArmatureModifier", modifier)
        for modifier in obj.modifiers
        if modifier.type == "ARMATURE"
    ]
    return next((m for m in modifiers if m.object is not None), next(iter(modifiers), None))


def mixed_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """The Armature modifiers that mix their result with that of the first one, by *Multi Modifier*.

    Modifiers of the add-on may stand between them.
    """
    armature = armature_modifier(obj)
    stack = [modifier for modifier in obj.modifiers if not is_own_modifier(modifier)]
    if armature is None:
        return []
    after = (cast("bpy.types.ArmatureModifier", m) for m in stack[stack.index(armature) + 1 :])
    return list(takewhile(lambda m: m.type == "ARMATURE" and m.use_multi_modifier, after))


def find_rig(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature object of `armature_modifier`; None without one."""
    modifier = armature_modifier(obj)
    return modifier.object if modifier is not None else None


def rig_of(obj: bpy.types.Object) -> bpy.types.Object:
    """The armature object of `armature_modifier`; BindingError where there is none (any more)."""
    rig = find_rig(obj)
    if rig is None:
        raise BindingError(f"{obj.name} has no Armature modifier with an armature.")
    return rig


def deformation_refusal(obj: bpy.types.Object) -> str | None:
    """Why the object cannot be deformed: a sentence for riggers that says what to do, or None."""
    if obj.type != "MESH":
        return REFUSAL_NOT_A_MESH.format(obj=obj.name)
    if is_hidden(obj):
        return f"{obj.name} belongs to DQ Compensation. Select the character's mesh."
    modifier = armature_modifier(obj)
    if modifier is None:
        return (
            f"{obj.name} has no Armature modifier. Add one (Ctrl P, Armature Deform) and press "
            "Enable again."
        )
    armature = modifier.object
    # A file can come without the bones of an armature object.
    if armature is None or armature.data is None:
        return (
            f"The modifier {modifier.name} of {obj.name} has no armature. Choose one in its Object "
            "field."
        )
    if not (modifier.use_vertex_groups or modifier.use_bone_envelopes):
        return (
            f"The modifier {modifier.name} of {obj.name} uses neither vertex groups nor bone "
            "envelopes. Turn on Bind To: Vertex Groups in it."
        )
    groups = None if _may_get_groups(obj, modifier) else group_refusal(obj, obj, modifier)
    return groups or _state_refusal(obj, armature)


def _may_get_groups(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Whether a node tree before the Armature modifier may bring vertex groups of other meshes."""
    before = list(obj.modifiers)[: list(obj.modifiers).index(modifier)]
    return any(
        each.type == "NODES" and each.show_viewport and not is_own_modifier(each) for each in before
    )


def group_refusal(
    obj: bpy.types.Object, holder: bpy.types.Object, modifier: bpy.types.ArmatureModifier
) -> str | None:
    """Why no bone of an Armature modifier moves an object by its vertex groups, or None.

    Args:
        holder: has the groups as they come into the modifier; it may be the object itself.
    """
    armature = modifier.object
    assert armature is not None
    bones = deforming_bones(armature)
    if not bones:
        return f"{armature.name} has no bones that deform. Turn on Deform in its bones."
    if modifier.use_bone_envelopes or any(group.name in bones for group in holder.vertex_groups):
        return None
    return (
        f"No vertex group of {obj.name} has the name of a deforming bone of {armature.name}. "
        "Weight paint it, or give its groups the names of the bones."
    )


def _state_refusal(obj: bpy.types.Object, armature: bpy.types.Object) -> str | None:
    """Why a complete set-up cannot be read in its current state, or None."""
    mesh = mesh_of(obj)
    if mesh.is_editmode:
        return f"{obj.name} is in Edit Mode. Leave it (Tab) to see the deformation."
    if mesh.shape_keys is not None and not mesh.shape_keys.use_relative:
        return (
            f"The shape keys of {obj.name} are absolute. Turn on Relative in the Shape Keys panel."
        )
    for one in (obj, armature):
        if not is_invertible(np.array(one.matrix_world, np.float64)):
            return f"{one.name} has a scale of zero on at least one axis. Give it a size again."
    return None


def broken_pose(rig: bpy.types.Object) -> str | None:
    """Which bones have a pose that is not a number, for instance by a driver; or None."""
    if rig.pose is None:
        return None
    poses = read_property(rig.pose.bones, "matrix_channel", np.float32, (16,))
    broken = np.flatnonzero(~np.isfinite(poses).all(axis=1))
    if not len(broken):
        return None
    names = listed([rig.pose.bones[int(bone)].name for bone in broken])
    return f"The pose of {rig.name} is not a finite number. Look at {names}."


def notes(
    obj: bpy.types.Object,
    *,
    replaced_modifier: str = "",
    base_left_on: bool = False,
    drawn: bool = True,
    followed: bool = False,
    straightened: bool = False,
) -> list[str]:
    """The features of an object that do not show in our deformation; sentences for riggers.

    Args:
        replaced_modifier: the Armature modifier that the add-on itself has hidden, or left on.
        base_left_on: it deforms the mesh, and ours adds to that.
        drawn: whether the GPU display shows it, which knows no other modifiers; the node modifier
            takes its place among them.
        followed: whether the modifiers before the Armature modifier show nevertheless.
        straightened: whether bendy bones move as straight ones.
    """
    modifier = armature_modifier(obj) if obj.type == "MESH" else None
    if modifier is None or modifier.object is None or modifier.object.data is None:
        return []
    found = _modifier_stack_notes(obj, modifier, drawn, followed)
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
    found.extend(_armature_notes(modifier.object, straightened))
    if drawn and mesh_of(obj).has_custom_normals:
        found.append(f"{obj.name} has custom normals; they are computed from the surface here.")
    return found


def _modifier_stack_notes(
    obj: bpy.types.Object,
    modifier: bpy.types.ArmatureModifier,
    drawn: bool,
    followed: bool,
) -> list[str]:
    stack = list(obj.modifiers)
    place = stack.index(modifier)
    shown = [
        (index, other)
        for index, other in enumerate(stack)
        if other.show_viewport and not is_own_modifier(other)
    ]
    others = [other.name for index, other in shown if other.type == "ARMATURE" and index != place]
    before = [m.name for index, m in shown if index < place and m.type != "ARMATURE"]
    after = [m.name for index, m in shown if index > place and m.type != "ARMATURE"]
    found = []
    mixed = [m.name for m in mixed_modifiers(obj)]
    others = [name for name in others if drawn or name not in mixed]
    if others and drawn:
        found.append(f"Only {modifier.name} counts; more Armature modifiers: {', '.join(others)}.")
    elif others:
        found.append(f"More Armature modifiers deform the result again: {', '.join(others)}.")
    if drawn and before and not followed:
        found.append(f"Modifiers before {modifier.name} do not show: {', '.join(before)}.")
    if drawn and after:
        found.append(f"Modifiers after {modifier.name} do not show: {', '.join(after)}.")
    return found


def _armature_notes(armature: bpy.types.Object, straightened: bool) -> list[str]:
    found = []
    if not armature.users_collection:
        found.append(
            f"{armature.name} is in no collection, so nobody can pose it. Undo its deletion, or "
            "choose another armature in the Armature modifier."
        )
    bones = armature_of(armature).bones
    curved = read_property(bones, "bbone_segments", np.int32) > 1
    curved &= read_property(bones, "use_deform", np.bool_)
    if curved.any() and straightened:
        names = [bones[int(index)].name for index in np.flatnonzero(curved)]
        found.append(f"Bendy bones move as one straight bone here: {listed(names)}.")
    if armature_of(armature).is_editmode:
        found.append(
            f"{armature.name} is in Edit Mode and shows at rest; leave it to see the pose."
        )
    elif armature_of(armature).pose_position == "REST":
        found.append(f"{armature.name} is in Rest Position; switch it to Pose Position.")
    return found
