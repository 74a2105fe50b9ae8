"""Selects the bones and vertices that an issue is about."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ..arrays import Integers
from ..errors import UserError, raise_refusal
from ..scene.blender.armature import armature_of
from ..scene.blender.bulk_arrays import AttributeType, read_attribute
from ..scene.blender.mesh import flag_elements, mesh_of
from ..scene.blender.own_objects import linked_refusal
from ..scene.blender.scenes import select_alone
from ..wording import counted, listed


def select_vertices(obj: bpy.types.Object, vertices: Integers, context: bpy.types.Context) -> str:
    """Enter Edit Mode of a mesh with only these vertices selected; says how many can be seen.

    Args:
        obj: the mesh object, not in Edit Mode.
        vertices: shape (k,), indices.

    Raises:
        UserError: the object cannot be edited here, or all of the vertices are hidden.
    """
    _require_reachable(obj, context)
    mesh = mesh_of(obj)
    hidden = read_attribute(mesh, ".hide_vert", AttributeType.BOOLEAN, len(mesh.vertices))
    chosen = np.zeros(len(mesh.vertices), np.bool_)
    chosen[vertices] = True
    chosen &= ~hidden
    shown = int(chosen.sum())
    if not shown:
        raise UserError(
            f"All {len(vertices)} vertices are hidden. Show them in Edit Mode of {obj.name} with "
            "Alt H."
        )
    _make_only_selected(obj, context)
    flag_elements(mesh, "select", chosen, np.logical_and)
    context.scene.tool_settings.mesh_select_mode = (True, False, False)
    bpy.ops.object.mode_set(mode="EDIT")
    return _selected(obj, counted(shown, "vertex"), len(vertices) - shown)


def select_bones(
    armature: bpy.types.Object, names: tuple[str, ...], context: bpy.types.Context
) -> str:
    """Enter Pose Mode of an armature with only these bones selected; says how many can be seen.

    Raises:
        UserError: the armature cannot be posed here, or all of the bones are hidden.
    """
    _require_reachable(armature, context)
    hidden = [name for name in names if _is_hidden(armature, name)]
    shown = set(names) - set(hidden)
    if not shown:
        raise UserError(
            f"These bones of {armature.name} are hidden: {listed(hidden)}. Show them with "
            "Alt H in Pose Mode, or turn on their bone collections."
        )
    _make_only_selected(armature, context)
    bpy.ops.object.mode_set(mode="POSE")
    assert armature.pose is not None  # every armature object in Pose Mode has one
    for bone in armature.pose.bones:
        # Since Blender 5 the pose bone is what is selected.
        target: Any = bone if "select" in bone.bl_rna.properties else bone.bone
        target.select = bone.name in shown
    first = next(name for name in names if name in shown)
    armature_of(armature).bones.active = armature_of(armature).bones[first]
    return _selected(armature, counted(len(shown), "bone"), len(hidden))


def _selected(obj: bpy.types.Object, what: str, hidden: int) -> str:
    summary = f"Selected {what} of {obj.name}"
    return f"{summary}; {hidden} more are hidden" if hidden else summary


def _is_hidden(armature: bpy.types.Object, name: str) -> bool:
    bone = armature_of(armature).bones.get(name)
    if bone is None or armature.pose is None:
        return True
    pose_bone = armature.pose.bones[name]
    collections: Any = bone.collections
    return (
        bone.hide
        or ("hide" in pose_bone.bl_rna.properties and pose_bone.hide)
        or (len(collections) > 0 and not any(one.is_visible_effectively for one in collections))
    )


def _require_reachable(obj: bpy.types.Object, context: bpy.types.Context) -> None:
    """See that the modes of an object can be entered."""
    blocks = [block for block in (obj, obj.data) if block is not None]
    raise_refusal(linked_refusal(obj.name, blocks, "Edit it there, or make it local."))
    if obj.name not in context.view_layer.objects:
        raise UserError(f"{obj.name} is not in this view layer. Turn on its collection.")
    if not obj.visible_get():
        raise UserError(f"{obj.name} is hidden. Show it (the eye in the Outliner) first.")


def _make_only_selected(obj: bpy.types.Object, context: bpy.types.Context) -> None:
    """Go to Object Mode, with this object selected and active and no other."""
    active = context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    select_alone(obj, context.view_layer)
