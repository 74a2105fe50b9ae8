"""Shapes and skeletons whose deformation is known: cylinders, chains of bones, random poses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.compensation import Curve, PublishedCompensation
from dq_compensation.core.deform import Deformation, Method, deform
from dq_compensation.core.dual_quaternion import (
    matrices_from_quaternions,
    normalized_quaternions,
    quaternions_from_axis_angle,
)
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.spherical_joints import joint_sets

# Axes of a bone along +Z: its Y is Z.
ALONG_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def deformation_of(
    method: Method,
    positions: NDArray[np.floating],
    influences: Influences,
    skeleton: Skeleton,
    curve: Curve = "FITTED",
    blend: NDArray[np.floating] | None = None,
) -> Deformation:
    """A method with all that it needs of the rest state."""
    if curve == "MEASURED":
        compensation = MeasuredJoints.of(SkinAtRest(positions, influences, skeleton))
    else:
        compensation = PublishedCompensation.of(
            SkinAtRest(positions, influences, skeleton), curve=curve
        )
    sets = joint_sets(influences, skeleton)
    return Deformation(method, influences, compensation, sets=sets, blend=blend)


def skeleton_of_points(
    heads: NDArray[np.floating], tails: NDArray[np.floating], parents: list[int]
) -> Skeleton:
    """Bones from heads to tails, shapes (B, 3), with Y along the bone."""
    rest = np.tile(np.eye(4), (len(parents), 1, 1))
    for bone, along in enumerate(np.asarray(tails) - np.asarray(heads)):
        length = np.linalg.norm(along)
        y = along / length if length > 0 else np.array([0.0, 1.0, 0.0])
        x = np.cross(y, [0.0, 0.0, 1.0] if abs(y[2]) < 0.9 else [1.0, 0.0, 0.0])
        x /= np.linalg.norm(x)
        rest[bone, :3, :3] = np.stack((x, y, np.cross(x, y)), axis=1)
    rest[:, :3, 3] = heads
    names = tuple(f"bone {bone}" for bone in range(len(parents)))
    return Skeleton(names, np.array(parents, np.int32), rest, np.array(tails, np.float64))


def chain(count: int) -> Skeleton:
    """Bones of length 1 up the Z axis, each the child of the one before."""
    heads = np.zeros((count, 3))
    heads[:, 2] = np.arange(count)
    return skeleton_of_points(heads, heads + [0.0, 0.0, 1.0], list(range(-1, count - 1)))


def posed(skeleton: Skeleton, rotations: NDArray[np.floating]) -> Pose:
    """Each bone turned about its head by a quaternion (w, x, y, z), in armature axes.

    Children follow their parents. Rotations: shape (B, 4).
    """
    matrices = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
    turned = matrices_from_quaternions(np.asarray(rotations, np.float64))
    for bone, parent in enumerate(skeleton.parents):
        about_head = np.eye(4)
        about_head[:3, :3] = turned[bone]
        head = skeleton.heads[bone]
        about_head[:3, 3] = head - turned[bone] @ head
        matrices[bone] = about_head if parent < 0 else matrices[parent] @ about_head
    return Pose.from_matrices(matrices, skeleton)


def turn(axis: tuple[float, float, float], degrees: float) -> NDArray[np.float64]:
    """The quaternion of a rotation, shape (4,)."""
    unit = np.array(axis) / np.linalg.norm(axis)
    return np.asarray(quaternions_from_axis_angle(unit, np.array(np.radians(degrees))), np.float64)


def random_rotations(rng: np.random.Generator, count: int, degrees: float) -> NDArray[np.float64]:
    """Quaternions (count, 4) of rotations by up to `degrees` about random axes."""
    axes = rng.normal(size=(count, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.radians(rng.uniform(0.0, degrees, count))
    return np.asarray(normalized_quaternions(quaternions_from_axis_angle(axes, angles)), np.float64)


def random_influences(
    rng: np.random.Generator, vertex_count: int, bone_count: int, most: int
) -> Influences:
    """Up to `most` influences for each vertex, at least one."""
    counts = rng.integers(1, min(most, bone_count) + 1, vertex_count)
    vertices = np.repeat(np.arange(vertex_count), counts)
    bones = np.concatenate([rng.permutation(bone_count)[:count] for count in counts])
    return Influences.from_triples(
        vertices, bones, rng.uniform(0.05, 1.0, len(bones)), vertex_count
    )


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder of radius 1 about Z, from -4 to 4, with two bones that meet at the origin.

    The share of the upper bone is 1/2 (1 + erf((z - z0) / (c sqrt 2))): a step at z0, the shift,
    smoothed by a Gaussian of the width c.
    """

    rows: int
    columns: int
    positions: NDArray[np.float64]
    normals: NDArray[np.float64]
    influences: Influences
    skeleton: Skeleton

    @classmethod
    def with_transition(
        cls, width: float, rows: int = 161, columns: int = 64, shift: float = 0.0
    ) -> Cylinder:
        heights = np.linspace(-4.0, 4.0, rows)
        around = 2.0 * np.pi * np.arange(columns) / columns
        z, angles = np.meshgrid(heights, around, indexing="ij")
        normals = np.stack((np.cos(angles), np.sin(angles), np.zeros_like(z)), axis=-1)
        positions = normals + z[:, :, None] * [0.0, 0.0, 1.0]
        count = rows * columns
        steps = (heights - shift) / (width * math.sqrt(2.0))
        upper = np.array([0.5 * (1.0 + math.erf(step)) for step in steps])
        upper = np.repeat(upper, columns)
        influences = Influences.from_triples(
            np.tile(np.arange(count), 2),
            np.repeat([0, 1], count),
            np.concatenate((1.0 - upper, upper)),
            count,
        )
        skeleton = skeleton_of_points(
            np.array([[0.0, 0.0, -4.0], [0.0, 0.0, 0.0]]),
            np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 4.0]]),
            [-1, 0],
        )
        return cls(
            rows, columns, positions.reshape(-1, 3), normals.reshape(-1, 3), influences, skeleton
        )

    def bent(self, degrees: float) -> Pose:
        """The upper bone bent about Y towards +X: the vertices with x < 0 are on the outside."""
        return posed(
            self.skeleton, np.array([[1.0, 0.0, 0.0, 0.0], turn((0.0, 1.0, 0.0), degrees)])
        )

    def twisted(self, degrees: float) -> Pose:
        """The upper bone twisted about Z."""
        return posed(
            self.skeleton, np.array([[1.0, 0.0, 0.0, 0.0], turn((0.0, 0.0, 1.0), degrees)])
        )

    def deformed(self, method: Method, pose: Pose, curve: Curve = "FITTED") -> NDArray[np.floating]:
        """The positions in that pose."""
        rest = (self.positions, self.influences, self.skeleton)
        return deform(deformation_of(method, *rest, curve), self.positions, None, pose)[0]

    def outside(self) -> NDArray[np.bool_]:
        """The half that a bend stretches."""
        return self.positions[:, 0] <= 1e-9

    def volume(self, positions: NDArray[np.floating]) -> float:
        """The volume inside, closed by fans over both ends."""
        grid = np.asarray(positions).reshape(self.rows, self.columns, 3)
        low, high = grid[:-1], grid[1:]
        next_low, next_high = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
        volume = _signed_volume(low, next_low, next_high) + _signed_volume(low, next_high, high)
        for ring, sign in ((grid[0], -1.0), (grid[-1], 1.0)):
            centre = np.broadcast_to(ring.mean(axis=0), ring.shape)
            volume += sign * _signed_volume(centre, ring, np.roll(ring, -1, axis=0))
        return volume


def _signed_volume(
    first: NDArray[np.floating], second: NDArray[np.floating], third: NDArray[np.floating]
) -> float:
    return float((first * np.cross(second, third)).sum() / 6.0)


def distance_from_capsules(
    points: NDArray[np.floating], upper_direction: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Signed distances (n,) from the ideal bent cylinder, outside positive.

    It is two capsules of radius 1 that share the joint at the origin: about -Z, and about the
    direction of the bent bone.
    """
    distances = []
    for direction in (np.array([0.0, 0.0, -1.0]), upper_direction):
        along = np.maximum(points @ direction, 0.0)
        distances.append(np.linalg.norm(points - along[:, None] * direction, axis=1))
    return np.minimum(*distances) - 1.0
