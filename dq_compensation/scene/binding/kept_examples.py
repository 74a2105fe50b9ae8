"""Reads the example poses of an object from its settings and shape keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import bpy
import numpy as np

from ...arrays import Booleans, Float32s, Floats, Indices
from ...core.dual_quaternion import (
    concatenate_quaternions,
    normalized_quaternions,
    quaternion_conjugate,
    quaternions_from_matrices,
    rotate_vectors,
)
from ...core.example_poses import ExampleBone, ExampleError, ExamplePoses, ExampleWeights
from ...core.pose import Pose
from ...core.skeleton import LimbAxis, Skeleton
from ..settings.object_settings import written_settings

# Offsets of examples that are a smaller share of the largest one are none.
_NOTHING = 1e-5


class ExampleItem(NamedTuple):
    """One example pose as the object remembers it; see `DQCompensationExamplePose`."""

    name: str
    bone: str
    key: str
    direction: tuple[float, ...]
    rotation: tuple[float, ...]
    factor: float
    sigma: float
    twists: bool
    weights: ExampleWeights


def example_items(obj: bpy.types.Object) -> tuple[ExampleItem, ...]:
    """The example poses of an object, in their order; none where the add-on is not registered."""
    settings = written_settings(obj)
    if settings is None:
        return ()
    bones = {bone.name: bone for bone in settings.example_bones}
    return tuple(
        ExampleItem(
            item.name,
            item.bone,
            item.key,
            tuple(item.direction),
            tuple(item.rotation),
            item.factor,
            bones[item.bone].sigma if item.bone in bones else 1.0,
            bones[item.bone].twists if item.bone in bones else False,
            bones[item.bone].weights if item.bone in bones else "SMOOTH",
        )
        for item in settings.examples
    )


@dataclass(frozen=True, eq=False)
class Examples:
    """The example poses of a bound object that can act, N of them.

    Attributes:
        poses: of the skeleton, solved.
        items: shape (N,); where each is in `Object.dq_compensation.examples`.
        factors: shape (N,); how much of each may act.
        rows: shape (N,); the rows of the binding's shape keys with their offsets.
        problems: why the others cannot act, sentences for riggers.
    """

    poses: ExamplePoses
    items: Indices
    factors: Float32s
    rows: Indices
    problems: tuple[str, ...]

    @classmethod
    def of(
        cls,
        object_name: str,
        items: Iterable[ExampleItem],
        key_names: tuple[str, ...],
        skeleton: Skeleton,
        limb_axis: LimbAxis,
    ) -> Examples:
        """Sort the examples by bone and solve for their weights."""
        problems: list[str] = []
        by_bone: dict[str, list[tuple[int, ExampleItem]]] = {}
        for index, item in enumerate(items):
            if item.bone not in skeleton.names:
                problems.append(
                    f"The example pose {item.name} of {object_name} belongs to the bone "
                    f"{item.bone}, which is not there. Choose another bone, or remove it."
                )
            elif item.key not in key_names:
                problems.append(
                    f"The example pose {item.name} of {object_name} has lost its shape key "
                    f"{item.key}. Choose the key again, or remove the pose."
                )
            else:
                by_bone.setdefault(item.bone, []).append((index, item))
        solved: list[ExampleBone] = []
        kept: list[tuple[int, ExampleItem]] = []
        for bone, found in by_bone.items():
            example = example_bone(
                skeleton.names.index(bone), [each for _, each in found], skeleton
            )
            try:
                ExamplePoses.of([example], skeleton, limb_axis)
            except ExampleError as error:
                problems.append(str(error))
            else:
                solved.append(example)
                kept.extend(found)
        return cls(
            ExamplePoses.of(solved, skeleton, limb_axis),
            np.array([index for index, _ in kept], np.intp),
            np.array([item.factor for _, item in kept], np.float32),
            np.array([key_names.index(item.key) for _, item in kept], np.intp),
            tuple(problems),
        )

    def reached(self, offsets: Float32s) -> Booleans:
        """Which vertices the poses of each bone with examples move, shape (E, n).

        Offsets that are nothing beside the largest one do not count: keys that were computed have
        such everywhere.

        Args:
            offsets: shape (m, n, 3), of the shape keys.
        """
        sizes = np.abs(offsets[self.rows]).max(axis=2)
        bone = self.poses.rows // self.poses.solution.shape[2]
        moved = sizes > _NOTHING * sizes.max(initial=0.0)
        return np.array([moved[bone == each].any(axis=0) for each in range(len(self.poses.bones))])

    def values(self, pose: Pose) -> Float32s:
        """The current weight of each example, times the artist's factors; shape (N,)."""
        return (self.poses.alphas(pose) * self.factors).astype(np.float32)


def example_placement(
    bone: int, pose: Pose, skeleton: Skeleton, limb_axis: LimbAxis
) -> tuple[Floats, Floats]:
    """The direction and rotation that an example pose of a bone stores.

    Along the axes of the parent bone (a root: the armature's), so that it stays true when the
    armature is rotated as a whole.

    Args:
        bone: index in the skeleton.

    Returns:
        the unit direction of the bone's limb, shape (3,), and the rotation of the bone against its
        parent, a unit quaternion (w, x, y, z), shape (4,).
    """
    parent = int(skeleton.parents[bone])
    turned = pose.rotations[bone]
    if parent >= 0:
        turned = concatenate_quaternions(quaternion_conjugate(pose.rotations[parent]), turned)
    direction = rotate_vectors(turned, skeleton.limb_directions(limb_axis)[bone])
    axes = parent_axes(bone, skeleton)
    back = quaternion_conjugate(axes)
    rotation = concatenate_quaternions(concatenate_quaternions(back, turned), axes)
    return rotate_vectors(back, direction), rotation


def example_bone(bone: int, items: list[ExampleItem], skeleton: Skeleton) -> ExampleBone:
    """The examples of one bone, along the armature's axes.

    Args:
        bone: index in the skeleton.
        items: at least one, all of that bone.
    """
    axes = parent_axes(bone, skeleton)
    directions = np.array([item.direction for item in items], np.float64)
    rotations = normalized_quaternions(np.array([item.rotation for item in items], np.float64))
    turned = concatenate_quaternions(
        concatenate_quaternions(axes, rotations), quaternion_conjugate(axes)
    )
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return ExampleBone(
        bone,
        tuple(item.name for item in items),
        rotate_vectors(axes, directions / np.maximum(lengths, 1e-30)),
        turned,
        items[0].sigma,
        items[0].twists,
        items[0].weights,
    )


def parent_axes(bone: int, skeleton: Skeleton) -> Floats:
    """The rotation of the parent's rest axes, a quaternion; the identity for a root."""
    parent = int(skeleton.parents[bone])
    if parent < 0:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return quaternions_from_matrices(skeleton.rest[parent : parent + 1, :3, :3])[0]
