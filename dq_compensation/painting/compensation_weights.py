"""The vertex groups that an artist paints for the deformation: made, filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np
from bpy.types import Depsgraph, Object, VertexGroup

from ..analysis.transition_weights import transition_weights
from ..arrays import Float32s, Indices
from ..core.pose import Pose
from ..core.vectors import transformed_points
from ..errors import raise_refusal
from ..scene.binding.bind import bind
from ..scene.blender.bulk_arrays import AttributeType, read_attribute
from ..scene.blender.mesh import mesh_of, read_weights
from ..scene.blender.placement import object_to_armature
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import (
    PAINTED_KINDS,
    PAINTED_SETTINGS,
    PaintedKind,
    Settings,
    is_enabled,
    settings_of,
)
from ..scene.vertex_groups import write_groups, writing_refusal


@dataclass(frozen=True)
class PaintedGroup:
    """A vertex group of the deformation.

    Attributes:
        setting: the property of `Object.dq_compensation` that holds its name.
        label: its name everywhere, and that of a new vertex group.
    """

    setting: str
    label: str
    description: str

    @property
    def button(self) -> str:
        """The name of the button that paints it."""
        return f"Paint {self.label}"


PAINTED_GROUPS: dict[PaintedKind, PaintedGroup] = {
    kind: PaintedGroup(PAINTED_SETTINGS[kind], label, description)
    for kind, label, description in PAINTED_KINDS
}


@dataclass(frozen=True)
class WeightsChange:
    """The change of the weights of a group.

    Attributes:
        changed: how many vertices have another weight now.
        considered: how many could have: those of the paint mask, or all.
        sharing: the names of other objects that share the mesh, and so the weights.
    """

    group: str
    changed: int
    considered: int
    sharing: tuple[str, ...]


def painted_group(obj: Object, kind: PaintedKind) -> VertexGroup | None:
    """The vertex group named by an object's settings; None without one of that name."""
    return obj.vertex_groups.get(_chosen_name(obj, kind))


def painting_refusal(
    obj: Object | None, kind: PaintedKind, *, needs_group: bool = False
) -> str | None:
    """Why the weights of an object cannot be painted, a sentence for riggers, or None.

    Args:
        obj: the object, or None where nothing suitable is chosen.
        needs_group: the group has to be there already.
    """
    if obj is None or obj.type != "MESH":
        return "Select a mesh that DQ Compensation deforms, or its armature"
    if not is_enabled(obj):
        return f"{obj.name} is not deformed by DQ Compensation. Press Enable first"
    if needs_group and painted_group(obj, kind) is None:
        group = PAINTED_GROUPS[kind]
        missing = f"{obj.name} has no vertex group for the {group.label.lower()} yet"
        return f"{missing}. Press {group.button} first"
    return writing_refusal(obj, [_target_name(obj, kind)])


def ensure_group(obj: Object, kind: PaintedKind) -> tuple[str, bool]:
    """Make the group of the object's settings if there is none, and make this group active.

    A group of the default name that is there already is taken as it is; a new one is 1 everywhere.

    Returns:
        the name of the group, and whether it is new.

    Raises:
        UserError: `painting_refusal` has a reason. Nothing has changed then.
    """
    raise_refusal(painting_refusal(obj, kind))
    name = _target_name(obj, kind)
    group = obj.vertex_groups.get(name)
    is_new = group is None
    if group is None:
        write_groups(obj, {name: np.ones(len(mesh_of(obj).vertices), np.float32)})
        group = obj.vertex_groups[name]
        mesh_of(obj).update_tag()
    obj.vertex_groups.active_index = group.index
    if _chosen_name(obj, kind) != name:
        setattr(settings_of(obj), PAINTED_GROUPS[kind].setting, name)
    return name, is_new


def is_painted(obj: Object, kind: PaintedKind) -> bool:
    """Whether the group that painting takes is there, with another weight than the 1 of a new one.

    A group of the default name counts even where the settings name no group: painting takes it.
    """
    group = obj.vertex_groups.get(_target_name(obj, kind))
    return group is not None and bool(
        (read_weights(mesh_of(obj)).of_group(group.index) < 1.0).any()
    )


def masked_vertices(obj: Object) -> Indices | None:
    """The vertices that the paint mask of Weight Paint lets through; None without a mask.

    Outside of Weight Paint the mask is not seen, so it does not count.
    """
    mesh = mesh_of(obj)
    if obj.mode != "WEIGHT_PAINT":
        return None
    if mesh.use_paint_mask_vertex:
        chosen = read_attribute(mesh, ".select_vert", AttributeType.BOOLEAN, len(mesh.vertices))
        return np.flatnonzero(chosen)
    if mesh.use_paint_mask:
        faces = read_attribute(mesh, ".select_poly", AttributeType.BOOLEAN, len(mesh.polygons))
        sizes = np.empty(len(mesh.polygons), np.int32)
        mesh.polygons.foreach_get("loop_total", sizes)
        vertices = read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, len(mesh.loops))
        return np.unique(vertices[np.repeat(faces, sizes)]).astype(np.intp)
    return None


def fill_weights(obj: Object, kind: PaintedKind, value: float) -> WeightsChange:
    """Give all vertices one weight; errors as of `ensure_group`, which is called first."""
    ensure_group(obj, kind)
    return _change(obj, kind, lambda weights: np.full_like(weights, value))


def invert_weights(obj: Object, kind: PaintedKind) -> WeightsChange:
    """Turn each weight w into 1 - w.

    Raises:
        UserError: there is no group, or it cannot be written. Nothing has changed then.
    """
    return _change(obj, kind, lambda weights: 1.0 - weights)


def weights_from_transition(
    obj: Object, kind: PaintedKind, depsgraph: Depsgraph, *, multiply: bool = False
) -> WeightsChange:
    """Set the weights to where the joints bulge in the current pose; see `transition_weights`.

    Args:
        multiply: multiply the weights of the group instead of replacing them.

    Raises:
        UserError: as `ensure_group`, which is called first.
        BindingError: the object is not deformed as it is now.
        PoseError: a bone's matrix is not finite.
    """
    raise_refusal(painting_refusal(obj, kind))
    # Weights are painted on the mesh's own vertices.
    binding = bind(obj, depsgraph, follow=False)
    evaluated, armature = obj.evaluated_get(depsgraph), rig_of(obj).evaluated_get(depsgraph)
    to_armature = object_to_armature(evaluated, armature)
    pose = Pose.from_matrices(binding.pose_matrices(armature), binding.skeleton)
    measured = binding.measured(Settings.of(obj), to_armature)
    positions = transformed_points(to_armature, binding.rest)
    start = transition_weights(positions, binding.influences, measured, pose)
    ensure_group(obj, kind)
    return _change(obj, kind, lambda weights: weights * start if multiply else start)


def _change(
    obj: Object, kind: PaintedKind, change: Callable[[Float32s], Float32s]
) -> WeightsChange:
    """Apply a function to the weights, within the paint mask."""
    raise_refusal(painting_refusal(obj, kind, needs_group=True))
    group = cast("VertexGroup", painted_group(obj, kind))
    mesh = mesh_of(obj)
    sharing = [o.name for o in bpy.data.objects if o.data == mesh and o != obj]
    before = read_weights(mesh).of_group(group.index)
    after = np.clip(change(before), 0.0, 1.0)
    chosen = masked_vertices(obj)
    considered = np.arange(len(before)) if chosen is None else chosen
    rows = considered[after[considered] != before[considered]]
    if len(rows):
        write_groups(obj, {group.name: after[rows]}, rows)
        mesh.update_tag()
    return WeightsChange(group.name, len(rows), len(considered), tuple(sorted(sharing)))


def _chosen_name(obj: Object, kind: PaintedKind) -> str:
    return getattr(settings_of(obj), PAINTED_GROUPS[kind].setting)


def _target_name(obj: Object, kind: PaintedKind) -> str:
    """The name of the group, whether it exists or not."""
    return _chosen_name(obj, kind) or PAINTED_GROUPS[kind].label
