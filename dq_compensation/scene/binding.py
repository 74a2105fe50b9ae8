"""The binding: what a mesh and its armature have that posing does not change, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.compensation import Curve, compensation_amounts
from ..core.influences import Influences
from ..core.measured_joints import LimbJoints, MeasuredJoints
from ..core.skeleton import LimbAxis, Skeleton
from ..core.spherical_joint import JointSets, joint_sets
from ..core.topology import MeshArrays, Topology, topology
from .armature import (
    deforming_bones,
    object_to_armature,
    pose_matrices,
    pose_order,
    read_skeleton,
)
from .errors import BindingError
from .mesh import VertexGroupWeights, mesh_of, read_mesh_arrays, read_positions, read_weights
from .setup import armature_modifier, notes, problem
from .shape_keys import ShapeKeys
from .signature import signature

__all__ = [
    "Binding",
    "BindingCache",
    "BindingError",
    "armature_modifier",
    "bind",
    "notes",
    "problem",
    "signature",
]


@dataclass(frozen=True, eq=False)
class Binding:
    """The static side of one deformed object. It holds arrays and names, no Blender references.

    `topology`, `sets`, limb directions and amounts are computed when they are first asked for.

    Attributes:
        object_name: for messages.
        object_uid: session_uid of the mesh object.
        mesh_uid: session_uid of its mesh.
        armature_name: of the armature object.
        armature_uid: session_uid of the armature object.
        modifier_name: the Armature modifier's.
        rest: shape (n, 3), float32, object space; the basis shape.
        shape_keys: None when the mesh has none.
        influences: of every vertex, on the bones of `skeleton`.
        skeleton: every bone, parents first.
        pose_order: shape (B,); where each bone of `skeleton` is among the pose bones.
        object_to_armature: shape (4, 4), float64; A^-1 O when it was bound.
        group_names: the vertex groups, in their order.
        signature: what `signature` returned when it was bound.
    """

    object_name: str
    object_uid: int
    mesh_uid: int
    armature_name: str
    armature_uid: int
    modifier_name: str
    rest: NDArray[np.float32]
    shape_keys: ShapeKeys | None
    influences: Influences
    skeleton: Skeleton
    pose_order: NDArray[np.intp]
    object_to_armature: NDArray[np.float64]
    group_names: tuple[str, ...]
    signature: tuple[object, ...]
    _mesh_arrays: MeshArrays = field(repr=False)
    _weights: VertexGroupWeights = field(repr=False)
    _directions: dict[LimbAxis, NDArray[np.float64]] = field(
        default_factory=dict, repr=False, init=False
    )
    _amounts: dict[tuple[LimbAxis, Curve], tuple[NDArray[np.float64], NDArray[np.float32]]] = field(
        default_factory=dict, repr=False, init=False
    )
    _measured: dict[LimbAxis, tuple[NDArray[np.float64], MeasuredJoints]] = field(
        default_factory=dict, repr=False, init=False
    )

    @property
    def vertex_count(self) -> int:
        """The n vertices."""
        return len(self.rest)

    @cached_property
    def _extent(self) -> float:
        return float(np.ptp(self.rest, axis=0).max(initial=0.0)) if len(self.rest) else 0.0

    @cached_property
    def topology(self) -> Topology:
        """Triangles, edges and normal groups of the mesh."""
        return topology(self._mesh_arrays)

    @cached_property
    def sets(self) -> JointSets:
        """The distinct sets of bones that move vertices, and their joints."""
        return joint_sets(self.influences, self.skeleton)

    def painted(self, vertex_group: str) -> NDArray[np.float32]:
        """The weights of a group that says where compensation or blending act.

        Args:
            vertex_group: the name of a vertex group; empty, or a name that the object does not
                have, means 1 everywhere, as Blender's modifiers take it.

        Returns:
            shape (n,), float32, as painted.
        """
        if vertex_group not in self.group_names:
            return np.ones(self.vertex_count, np.float32)
        return self._weights.of_group(self.group_names.index(vertex_group))

    def limb_directions(self, axis: LimbAxis = "AUTO") -> NDArray[np.float64]:
        """Shape (B, 3), armature space, unit, at rest; see `Skeleton.limb_directions`."""
        if axis not in self._directions:
            self._directions[axis] = self.skeleton.limb_directions(axis)
        return self._directions[axis]

    def limb_joints(self, axis: LimbAxis = "AUTO") -> LimbJoints:
        """The joints at the bones' heads, for MEASURED compensation."""
        return LimbJoints.of(self.skeleton, axis)

    def amounts(
        self,
        limb_axis: LimbAxis,
        curve: Curve,
        object_to_armature: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float32]:
        """How far compensation may move each vertex; see `core.compensation`.

        Args:
            limb_axis: where the limbs point.
            curve: how the compensation is spread over the joint.
            object_to_armature: shape (4, 4), A^-1 O of now; by default that at binding.

        Returns:
            shape (n,), float32, in units of armature space (MEASURED: shares of 0 to 1); without
            paint and factor. Measured on the basis shape: shape keys do not change it. The same
            array comes back while the object stays where it is to its armature.
        """
        if curve == "MEASURED":
            return self.measured(limb_axis, object_to_armature).amounts
        to_armature = self.object_to_armature if object_to_armature is None else object_to_armature
        known = self._amounts.get((limb_axis, curve))
        if known is not None and _same_place(known[0], to_armature, self._extent):
            return known[1]
        positions = self.rest @ to_armature[:3, :3].T + to_armature[:3, 3]
        amounts = compensation_amounts(
            positions, self.influences, self.skeleton, limb_axis, curve
        ).astype(np.float32)
        self._amounts[limb_axis, curve] = (to_armature, amounts)
        return amounts

    def measured(
        self, limb_axis: LimbAxis, object_to_armature: NDArray[np.float64] | None = None
    ) -> MeasuredJoints:
        """The joints that MEASURED compensation needs; arguments and caching as of `amounts`."""
        to_armature = self.object_to_armature if object_to_armature is None else object_to_armature
        known = self._measured.get(limb_axis)
        if known is not None and _same_place(known[0], to_armature, self._extent):
            return known[1]
        positions = self.rest @ to_armature[:3, :3].T + to_armature[:3, 3]
        measured = MeasuredJoints.of(
            positions.astype(np.float32), self.influences, self.skeleton, limb_axis
        )
        self._measured[limb_axis] = (to_armature, measured)
        return measured

    def pose_matrices(self, armature: bpy.types.Object) -> NDArray[np.float64]:
        """Shape (B, 4, 4): D_b of every bone; `armature` is the evaluated armature object."""
        return pose_matrices(armature, self.pose_order)

    def shape(self, obj: bpy.types.Object) -> NDArray[np.float32]:
        """The shape before skinning, with the shape keys' values of now.

        Args:
            obj: the mesh object, the evaluated one where drivers and animation should count.

        Returns:
            shape (n, 3), float32, object space. Not to be written to.
        """
        if self.shape_keys is None:
            return self.rest
        return self.shape_keys.positions(self.shape_keys.values(obj))


def bind(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> Binding:
    """Read everything about an object that posing does not change.

    Args:
        obj: a mesh object, original or evaluated; the original is read.
        depsgraph: where the world matrices come from; without it from the object itself.

    Raises:
        BindingError: the object cannot be deformed; the message is for the panel.
    """
    obj = cast("bpy.types.Object", obj.original)
    reason = problem(obj)
    if reason is not None:
        raise BindingError(reason)
    modifier = armature_modifier(obj)
    if modifier is None or modifier.object is None:  # `problem` has said so
        raise BindingError(f"{obj.name} has no Armature modifier with an armature.")
    armature = modifier.object
    if depsgraph is None:
        to_armature = object_to_armature(obj, armature)
    else:
        to_armature = object_to_armature(
            obj.evaluated_get(depsgraph), armature.evaluated_get(depsgraph)
        )
    mesh = mesh_of(obj)
    skeleton = read_skeleton(armature)
    weights = read_weights(mesh)
    shape_keys = ShapeKeys.read(obj, weights)
    rest = shape_keys.basis if shape_keys is not None else read_positions(mesh)
    return Binding(
        object_name=obj.name,
        object_uid=obj.session_uid,
        mesh_uid=mesh.session_uid,
        armature_name=armature.name,
        armature_uid=armature.session_uid,
        modifier_name=modifier.name,
        rest=rest,
        shape_keys=shape_keys,
        influences=read_influences(obj, armature, weights, skeleton),
        skeleton=skeleton,
        pose_order=pose_order(armature, skeleton),
        object_to_armature=to_armature,
        group_names=tuple(group.name for group in obj.vertex_groups),
        signature=signature(obj),
        _mesh_arrays=read_mesh_arrays(mesh, rest),
        _weights=weights,
    )


def read_influences(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    weights: VertexGroupWeights,
    skeleton: Skeleton,
) -> Influences:
    """Weights by group as influences by bone: a group moves with the bone of its name.

    Args:
        obj: the mesh object; its vertex groups name the bones.
        armature: the armature object; bones that do not deform do not count.
        weights: of the object's mesh.
        skeleton: of the armature; the influences hold indices of its bones.
    """
    deforming = deforming_bones(armature)
    place = {name: index for index, name in enumerate(skeleton.names) if name in deforming}
    # Weights of groups that were removed by a script can stay behind in a mesh: past the end.
    size = max(len(obj.vertex_groups), int(weights.groups.max(initial=-1)) + 1)
    bone_of_group = np.full(size, -1, np.int32)
    for index, group in enumerate(obj.vertex_groups):
        bone_of_group[index] = place.get(group.name, -1)
    bones = bone_of_group[weights.groups]
    keep = bones >= 0
    return Influences.from_triples(
        weights.vertices[keep], bones[keep], weights.weights[keep], weights.vertex_count
    )


def _same_place(one: NDArray[np.float64], other: NDArray[np.float64], extent: float) -> bool:
    """Whether two places of an object by its armature are one, for compensation.

    World matrices are float32: of objects that move together they differ by its rounding, which
    grows with the distance from the origin of the world. A ten-thousandth of the object's extent
    changes no radius and no joint that anyone could see.
    """
    linear = float(np.abs(one[:3, :3]).max())
    apart = np.abs(one - other)
    return bool(
        apart[:3, :3].max() <= 1e-4 * linear and apart[:3, 3].max() <= 1e-4 * linear * extent
    )


class BindingCache:
    """Bindings by the session_uid of their objects, bound again when they are no longer true."""

    def __init__(self) -> None:
        self._bindings: dict[int, Binding] = {}
        self._dirty: set[int] = set()

    def __len__(self) -> int:
        return len(self._bindings)

    def get(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> Binding:
        """The binding of an object; bound now when there is none or it has changed.

        The same `Binding` object comes back as long as it is true: compare with `is`.

        Raises:
            BindingError: it cannot be bound (any more); nothing is kept of it.
        """
        obj = cast("bpy.types.Object", obj.original)
        uid = obj.session_uid
        known = self._bindings.get(uid)
        if known is not None and uid not in self._dirty and known.signature == signature(obj):
            return known
        self.discard(uid)
        self._bindings[uid] = bind(obj, depsgraph)
        return self._bindings[uid]

    def mark_dirty(self, uid: int) -> None:
        """Say that something has changed.

        Args:
            uid: session_uid of a mesh object, of a mesh (dirties every object that shares it) or
                of an armature object.
        """
        for object_uid, known in self._bindings.items():
            if uid in (object_uid, known.mesh_uid, known.armature_uid):
                self._dirty.add(object_uid)

    def discard(self, object_uid: int) -> None:
        """Forget one object."""
        self._bindings.pop(object_uid, None)
        self._dirty.discard(object_uid)

    def keep_only(self, object_uids: set[int]) -> None:
        """Forget every other object than these."""
        for uid in [uid for uid in self._bindings if uid not in object_uids]:
            self.discard(uid)

    def clear(self) -> None:
        """Forget everything: on load, undo, redo and unregister."""
        self._bindings.clear()
        self._dirty.clear()
