"""Samples the motion of an armature by Blender's own evaluation of each frame."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import bpy
import numpy as np
from bpy.types import Depsgraph, Object, Scene

from ...arrays import Float64s, Indices, Int32s
from ...core.skeleton import Skeleton
from ...core.vectors import transformed_points
from ...errors import UserError
from ...lifecycle.following import binding_with_current_softness
from ...scene.binding.binding import Binding
from ...scene.binding.shape_key_offsets import ShapeKeys
from ...scene.blender.armature import deforming_bones
from ...scene.blender.mesh import mesh_of
from ...scene.blender.scenes import frame_kept
from .take_reduction import skin_boxes
from .takes import node_names, node_parents, node_rest


@dataclass(frozen=True, eq=False)
class KeyedMesh:
    """A mesh with shape keys.

    Attributes:
        rows: shape (V,), the keys whose values are sampled.
        reach: shape (V,), how far each moves a vertex at most at the value 1, armature units.
    """

    obj: Object
    keys: ShapeKeys
    rows: Indices
    reach: Float64s


@dataclass(frozen=True, eq=False)
class MotionSource:
    """An armature and the meshes that it deforms, read once.

    Attributes:
        nodes: shape (N,), the rows of a pose that are sampled: what skin, joints and example poses
            need.
        names, parents, rest: of these nodes; see `Take`.
        boxes: shape (N, 8, 3), around the skin that follows them; see `skin_boxes`.
        keyed: the meshes with shape keys.
    """

    armature: Object
    binding: Binding
    nodes: Indices
    names: tuple[str, ...]
    parents: Int32s
    rest: Float64s
    boxes: Float64s
    keyed: tuple[KeyedMesh, ...]

    @classmethod
    def of(cls, armature: Object, meshes: list[Object], depsgraph: Depsgraph) -> MotionSource:
        """Read an armature object and at least one mesh that it deforms.

        Raises:
            BindingError: a mesh cannot be deformed by it.
        """
        bindings = [binding_with_current_softness(mesh, depsgraph) for mesh in meshes]
        skeleton = bindings[0].skeleton
        nodes = _needed_nodes(armature, bindings, skeleton)
        parents, rest = _parents_among(nodes, node_parents(skeleton)), node_rest(skeleton)[nodes]
        names = node_names(skeleton)
        lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)
        lengths = lengths[skeleton.bone_of_row[nodes]]
        return cls(
            armature,
            bindings[0],
            nodes,
            tuple(names[node] for node in nodes.tolist()),
            parents,
            rest,
            skin_boxes(rest, lengths, *_skin(bindings, nodes, skeleton.row_count)),
            tuple(
                KeyedMesh(mesh, keys, *_sampled_keys(binding, keys))
                for mesh, binding in zip(meshes, bindings, strict=True)
                if (keys := binding.shape_keys) is not None
            ),
        )

    @property
    def value_names(self) -> tuple[tuple[str, str], ...]:
        """The mesh and the key of each value."""
        return tuple(
            (mesh_of(each.obj).name, each.keys.key_names[row])
            for each in self.keyed
            for row in each.rows.tolist()
        )

    @property
    def value_reach(self) -> Float64s:
        """The largest distance by which each value moves a vertex, shape (V,), armature units."""
        return np.concatenate([np.zeros(0), *(each.reach for each in self.keyed)])


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """The motion of the nodes of a `MotionSource` in F frames.

    Attributes:
        poses: shape (F, N, 4, 4), float64, armature space.
        values: shape (F, V), float64, of shape keys.
        travels: whether the armature object itself moves.
    """

    poses: Float64s
    values: Float64s
    travels: bool


def sample_motion(
    source: MotionSource, scene: Scene, frames: tuple[int, ...]
) -> Generator[float, None, SampledMotion]:
    """Read every frame; yields the part that is done. Changes nothing.

    Closed before its end, or at it, it leaves the scene in the frame that it was in.

    Raises:
        BindingError: the set-up changes meanwhile.
        UserError: a bone's matrix is not finite, or memory does not suffice.
    """
    try:
        poses = np.empty((len(frames), len(source.nodes), 4, 4))
        values = np.empty((len(frames), len(source.value_names)))
    except MemoryError as error:
        raise UserError("There is not enough memory for so many frames.") from error
    places = np.empty((len(frames), 4, 4))
    with frame_kept(scene):
        for done, frame in enumerate(frames):
            scene.frame_set(frame)
            depsgraph = bpy.context.evaluated_depsgraph_get()
            evaluated = source.armature.evaluated_get(depsgraph)
            poses[done] = source.binding.pose_matrices(evaluated)[source.nodes] @ source.rest
            values[done] = _values(source, depsgraph)
            places[done] = evaluated.matrix_world
            yield (done + 1) / len(frames)
    if not np.isfinite(poses).all():
        broken = np.flatnonzero(~np.isfinite(poses).all(axis=(0, 2, 3)))
        raise UserError(f"The bone {source.names[broken[0]]} has no place in some of the frames.")
    travels = bool(np.abs(places - places[0]).max(initial=0.0) > 1e-5)
    return SampledMotion(poses, values, travels)


def _values(source: MotionSource, depsgraph: Depsgraph) -> Float64s:
    """The current values of all shape keys that are sampled, shape (V,)."""
    found = (
        each.keys.values(each.obj.evaluated_get(depsgraph))[each.rows] for each in source.keyed
    )
    return np.concatenate([np.zeros(0), *found]).astype(np.float64)


def _needed_nodes(armature: Object, bindings: list[Binding], skeleton: Skeleton) -> Indices:
    """The rows of bones that deform or have example poses, of their parents, and of segments."""
    names = deforming_bones(armature) | {
        item.bone for binding in bindings for item in binding.example_items
    }
    needed = np.array([name in names for name in skeleton.names], np.bool_)
    needed[skeleton.parents[needed & (skeleton.parents >= 0)]] = True
    segments = np.ones(skeleton.row_count - skeleton.bone_count, np.bool_)
    return np.flatnonzero(np.concatenate((needed, segments)))


def _parents_among(nodes: Indices, parents: Int32s) -> Int32s:
    """The nearest ancestor of each node that is a node, too; -1 without one."""
    place = np.full(len(parents) + 1, -1)
    place[nodes] = np.arange(len(nodes))
    above = parents[nodes]
    while (skipped := (above >= 0) & (place[above] < 0)).any():
        above = np.where(skipped, parents[above], above)
    return place[above].astype(np.int32)


def _skin(bindings: list[Binding], nodes: Indices, row_count: int) -> tuple[Float64s, Indices]:
    """The vertices in armature space, shape (m, 3), once for each node that moves them.

    With shape keys a vertex counts where each of them takes it, too.
    """
    place = np.full(row_count, -1)
    place[nodes] = np.arange(len(nodes))
    points, followed = [np.zeros((0, 3))], [np.zeros(0, np.intp)]
    for binding in bindings:
        influences = binding.segments()
        vertices, slots = np.nonzero(influences.weights > 0.0)
        rows = place[influences.bones[vertices, slots]]
        shapes = [(binding.rest, slice(None))]
        if binding.shape_keys is not None:
            for offsets in binding.shape_keys.offsets:
                moves = offsets[vertices].any(axis=1)
                shapes += [(binding.rest + offsets, moves)] if moves.any() else []
        for shape, which in shapes:
            there = transformed_points(binding.object_to_armature, shape)
            points.append(there[vertices[which]])
            followed.append(rows[which])
    kept = np.concatenate(followed) >= 0
    return np.concatenate(points)[kept], np.concatenate(followed)[kept]


def _sampled_keys(binding: Binding, keys: ShapeKeys) -> tuple[Indices, Float64s]:
    """The rows of keys that move vertices, example poses left out; how far each moves one."""
    examples = {item.key for item in binding.example_items}
    to_armature = binding.object_to_armature[:3, :3].T
    rows, reach = [], []
    for row, name in enumerate(keys.key_names):
        farthest = np.linalg.norm(keys.offsets[row] @ to_armature, axis=1).max(initial=0.0)
        if farthest > 0.0 and name not in examples:
            rows.append(row)
            reach.append(float(farthest))
    return np.array(rows, np.intp), np.array(reach)
