"""The weight of each example pose in the current pose (Houska 2005, section 5.3: SJBBE).

An example pose belongs to one bone. It remembers which way that bone pointed, seen from its parent,
and how the surface should differ from the deformer's there. In between, Gaussian radial basis
functions on the sphere of directions say how much of each example acts: all of it at its own pose,
nothing at the others and at rest. Where poses are in rows, hats that are linear in the angle can
take their place: see `poses_in_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices
from ..errors import UserError
from .dual_quaternion import concatenate_quaternions, quaternion_conjugate
from .pose import Pose
from .poses_in_rows import BESIDE, ENOUGH, joint_in_rows
from .skeleton import LimbAxis, Skeleton
from .solved_shapes import PoseHats, SolvedJoint

# Poses nearer to each other than this have weights that jump: 0.5 degrees.
NEAREST = np.radians(0.5)


class PosesTooClose(ValueError):  # noqa: N818 - it reads as what is wrong
    """Two poses are one and the same for a distance.

    Attributes:
        first, second: their places among the poses, 0 for rest.
    """

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"poses {first} and {second} are nearly the same")
        self.first, self.second = first, second


@dataclass(frozen=True, eq=False)
class RadialBasis:
    """Gaussian radial basis functions: phi(r) = exp(-r^2 / sigma^2) about rest and each pose.

    Attributes:
        coefficients: shape (k + 1, k); the weights of the k poses are phi @ coefficients.
        sigma: in the unit of the distances.
    """

    coefficients: Float64s
    sigma: float

    @classmethod
    def solve(cls, distances: Floats, sigma: float = 1.0, nearest: float = NEAREST) -> RadialBasis:
        """Find the coefficients that make each pose's weight 1 in it and 0 in the others.

        Args:
            distances: shape (k + 1, k + 1), between rest, which comes first, and the k poses.
            nearest: poses must be farther apart than this.

        Raises:
            PosesTooClose: two of them are nearer; the nearest two.
        """
        apart = np.array(distances, np.float64)
        np.fill_diagonal(apart, np.inf)
        first, second = np.unravel_index(int(np.argmin(apart)), apart.shape)
        if apart[first, second] < nearest:
            raise PosesTooClose(min(int(first), int(second)), max(int(first), int(second)))
        np.fill_diagonal(apart, 0.0)
        wanted = np.eye(len(apart))[:, 1:]
        return cls(np.linalg.solve(_gaussian(apart, sigma), wanted), sigma)

    def weights(self, distances: Floats) -> Float64s:
        """The weights, shape (m, k), at distances (m, k + 1) from rest and the poses."""
        return _gaussian(np.asarray(distances, np.float64), self.sigma) @ self.coefficients


def _gaussian(distances: Float64s, sigma: float) -> Float64s:
    return np.exp(-((distances / sigma) ** 2))


def arc_distances(directions: Floats, others: Floats) -> Float64s:
    """Arc lengths on the unit sphere between directions (m, 3) and (k, 3); shape (m, k)."""
    return np.arccos(np.clip(np.asarray(directions, np.float64) @ np.asarray(others).T, -1.0, 1.0))


def rotation_distances(rotations: Floats, others: Floats) -> Float64s:
    """Angles, radians, of the rotations from (m, 4) to (k, 4) unit quaternions; shape (m, k)."""
    cosines = np.abs(np.asarray(rotations, np.float64) @ np.asarray(others).T)
    return 2.0 * np.arccos(np.minimum(cosines, 1.0))


CLOSEST = np.radians(3.0)
"""Poses of one bone must be farther apart than this, in radians: nearer ones would ask the surface
to change within less than an animator can aim, and the equations for the weights turn to noise."""
SIGMA = 1.0
"""The width of the Gaussians, in radians, as in Houska 2005."""


class ExampleError(UserError):
    """An example pose is not possible; the message names it and says what to do."""


ExampleWeights = Literal["AUTO", "SMOOTH", "LINEAR"]
"""How the examples of a bone blend. SMOOTH: Gaussians. LINEAR: hats, or Gaussians where poses are
not in rows. AUTO: LINEAR where `ENOUGH` poses are in one row, else SMOOTH."""


@dataclass(frozen=True, eq=False)
class ExampleBone:
    """The example poses of one bone.

    Attributes:
        bone: index in the skeleton.
        names: the P poses, for messages.
        directions: shape (P, 3), unit; where the bone's limb points in each, along the axes that
            the parent bone has at rest in armature space (for a root: the armature's own).
        rotations: shape (P, 4), unit quaternions (w, x, y, z); how the bone has turned against its
            parent in each, in armature space: conj(q_parent) q_bone of the skinning transforms.
        sigma: width of the Gaussians, radians.
        twists: measure how far apart two poses are by the full rotation, not by the direction.
        weights: how they blend.
    """

    bone: int
    names: tuple[str, ...]
    directions: Floats
    rotations: Floats
    sigma: float = SIGMA
    twists: bool = False
    weights: ExampleWeights = "SMOOTH"

    def joint(self, parent: int, limb: Floats) -> SolvedJoint | None:
        """The joint whose hats are the weights; None where Gaussians are.

        Args:
            parent: of the bone; -1 of a root.
            limb: shape (3,), unit, armature space; where the limb points at rest.
        """
        if self.weights == "SMOOTH":
            return None
        found = joint_in_rows(
            self.bone, parent, limb, self.directions, self.rotations, rotates=self.twists
        )
        if found is None or (self.weights == "AUTO" and found[1] < ENOUGH):
            return None
        return found[0]

    def distances(self, directions: Floats, rotations: Floats) -> Floats:
        """Radians from given poses of the bone, shapes (m, 3) and (m, 4), to its examples: (m, P).

        The arc between the directions; with `twists` the angle of the rotation between the two.
        """
        if self.twists:
            return rotation_distances(rotations, self.rotations)
        return arc_distances(directions, self.directions)


@dataclass(frozen=True, eq=False)
class ExamplePoses:
    """The example poses of a skeleton, N in all, solved; E bones have some, at most P each.

    Attributes:
        bones: shape (E,), indices in the skeleton.
        parents: shape (E,), of the bones; a root is its own.
        is_root: shape (E,), bool.
        limbs: shape (E, 3), unit, armature space; where the limbs point at rest.
        directions: shape (E, P + 1, 3), unit; rest, then the poses, then zeros.
        rotations: shape (E, P + 1, 4), likewise.
        twists: shape (E,), bool.
        falloff: shape (E, P + 1); -1 / sigma^2.
        solution: shape (E, P + 1, P); column p has the weights lambda that make
            sum_j lambda_j exp(falloff r_j^2) one at pose p and zero at rest and the other poses.
            Of a bone with hats it picks the hat of pose p, which stands in the place of the
            Gaussian.
        rows: shape (N,); where each pose is in the flattened (E, P).
        hats: of the bones with linear weights, bone by bone.
        linear: rising, the places of these bones among the E.
    """

    bones: Indices
    parents: Indices
    is_root: Booleans
    limbs: Floats
    directions: Floats
    rotations: Floats
    twists: Booleans
    falloff: Floats
    solution: Floats
    rows: Indices
    hats: PoseHats
    linear: Indices

    @classmethod
    def of(
        cls, examples: Sequence[ExampleBone], skeleton: Skeleton, limb_axis: LimbAxis = "AUTO"
    ) -> ExamplePoses:
        """Solve for the weights; once per change of the examples.

        Args:
            examples: one for each bone that has any.

        Raises:
            ExampleError: two poses of a bone, or a pose and rest, are less than `CLOSEST` apart.
        """
        count = len(examples)
        most = max((len(each.names) for each in examples), default=0)
        bones = np.array([each.bone for each in examples], np.intp)
        parents = skeleton.parents[bones].astype(np.intp)
        limbs = skeleton.limb_directions(limb_axis)[bones]
        directions = np.zeros((count, most + 1, 3))
        rotations = np.zeros((count, most + 1, 4))
        solution = np.zeros((count, most + 1, most))
        joints: dict[int, SolvedJoint] = {}
        for place, each in enumerate(examples):
            size = len(each.names) + 1
            directions[place, 0], directions[place, 1:size] = limbs[place], each.directions
            rotations[place, 0], rotations[place, 1:size] = (1.0, 0.0, 0.0, 0.0), each.rotations
            coefficients = _solve(each, limbs[place], skeleton.names[each.bone])
            joint = each.joint(int(parents[place]), limbs[place])
            if joint is not None:
                joints[place], coefficients = joint, np.eye(size)[:, 1:]
            solution[place, :size, : size - 1] = coefficients
        sizes = np.array([len(each.names) for each in examples], np.intp)
        return cls(
            bones,
            np.where(parents >= 0, parents, bones),
            parents < 0,
            limbs,
            directions,
            rotations,
            np.array([each.twists for each in examples], np.bool_),
            np.repeat(
                [[-1.0 / each.sigma**2] for each in examples] or np.zeros((0, 1)), most + 1, axis=1
            ),
            solution,
            np.flatnonzero(np.arange(most) < sizes[:, None]),
            PoseHats.of(list(joints.values()), BESIDE),
            np.array(list(joints), np.intp),
        )

    @property
    def pose_count(self) -> int:
        """The number of poses, N."""
        return len(self.rows)

    def alphas(self, pose: Pose) -> Floats:
        """The weight of each example in a pose; shape (N,), bone by bone.

        Each is between 0 and 1, and those of one bone do not add up to more than 1: what is added
        to a vertex is never more than the largest of the bone's own offsets, wherever it points.
        """
        if not len(self.rows):
            return np.zeros(0)
        tables = self._tables
        count = len(self.bones)
        own, above = pose.rotations.take(self.bones, 0), pose.rotations.take(self.parents, 0)
        if tables.any_root:
            above[self.is_root] = (1.0, 0.0, 0.0, 0.0)
        products = (above[:, :, None] * own[:, None, :]).reshape(count, 16)
        turned = _RELATIVE @ products.T
        squares = (turned[:, None, :] * turned[None, :, :]).reshape(16, 1, count)
        cosines = np.add.reduce(tables.directions * squares, axis=0)
        np.minimum(cosines, 1.0, out=cosines)
        np.maximum(cosines, -1.0, out=cosines)
        apart = np.arccos(cosines, out=cosines)
        if tables.rotations is not None:
            halves = np.abs(np.add.reduce(tables.rotations * turned[:, None, :], axis=0))
            turns = 2.0 * np.arccos(np.minimum(halves, 1.0))
            apart = np.where(self.twists, turns, apart)
        apart *= apart
        apart *= tables.falloff
        near = np.exp(apart, out=apart)
        if len(self.linear):
            near.reshape(-1)[tables.hats] = self.hats.weights(pose)
        alphas = np.add.reduce(tables.solution * near[:, None, :], axis=0)
        np.maximum(alphas, 0.0, out=alphas)
        np.minimum(alphas, 1.0, out=alphas)
        alphas /= np.maximum(np.add.reduce(alphas, axis=0), 1.0)
        return alphas.reshape(-1).take(tables.places)

    @cached_property
    def _tables(self) -> _Tables:
        count, _, most = self.solution.shape
        bone, column = np.divmod(self.rows, max(most, 1))
        directions = np.einsum("ejr,rks,ek->sje", self.directions, _ROTATING, self.limbs)
        rotations = self.rotations.transpose(2, 1, 0) if self.twists.any() else None
        of_hats = np.isin(bone, self.linear)
        return _Tables(
            np.ascontiguousarray(directions),
            None if rotations is None else np.ascontiguousarray(rotations),
            np.ascontiguousarray(self.falloff.T),
            np.ascontiguousarray(self.solution.transpose(1, 2, 0)),
            column * count + bone,
            column[of_hats] * count + bone[of_hats] + count,
            bool(self.is_root.any()),
        )


@dataclass(frozen=True, eq=False)
class _Tables:
    """The tables of E bones with at most P poses, laid out so that a frame takes few calls.

    The bones come last: numpy goes through them in one stride, and 80 bones take 40 microseconds.

    Attributes:
        directions: shape (16, P + 1, E); times the products of a rotation's parts with each other
            they are the cosines of the angles from the examples' directions to the bone's.
        rotations: shape (4, P + 1, E); None where no twist counts.
        falloff: shape (P + 1, E).
        solution: shape (P + 1, P, E).
        places: shape (N,); where each pose is in the flattened (P, E).
        hats: where the poses of bones with hats are in the flattened (P + 1, E).
        any_root: whether a bone has no parent.
    """

    directions: Floats
    rotations: Floats | None
    falloff: Floats
    solution: Floats
    places: Indices
    hats: Indices
    any_root: bool


def _relative() -> Floats:
    """Shape (4, 16): conj(p) q is this times the products p_i q_j, row by row."""
    units = np.eye(4)
    first = quaternion_conjugate(units)[:, None, :]
    return concatenate_quaternions(first, units[None]).reshape(16, 4).T.copy()


def _rotating() -> Floats:
    """Shape (3, 3, 16): the matrix of the rotation q v conj(q) is this times the q_i q_j."""
    units = np.eye(4)
    turned = concatenate_quaternions(units[:, None, :], units[None, 1:])
    both = concatenate_quaternions(turned[:, None], quaternion_conjugate(units)[None, :, None])
    # Axes: i, j, the vector's, the result's (w, x, y, z).
    return both[..., 1:].transpose(3, 2, 0, 1).reshape(3, 3, 16).copy()


_RELATIVE, _ROTATING = _relative(), _rotating()


def too_close(example: ExampleBone, limb: Floats) -> tuple[str, str] | None:
    """The names of two poses of a bone that are too close, or None; rest counts as a pose.

    Args:
        limb: shape (3,), unit, armature space; where the limb points at rest.
    """
    apart = _distances_from_rest_and_poses(example, limb)
    first, second = np.nonzero(np.triu(apart < CLOSEST, 1))
    if not len(first):
        return None
    names = ("rest", *example.names)
    return names[int(first[0])], names[int(second[0])]


def _distances_from_rest_and_poses(example: ExampleBone, limb: Floats) -> Floats:
    """Between rest and the poses, all with all, shape (P + 1, P + 1)."""
    directions = np.vstack((limb, example.directions))
    rotations = np.vstack(((1.0, 0.0, 0.0, 0.0), example.rotations))
    with_rest = replace(example, directions=directions, rotations=rotations)
    return with_rest.distances(directions, rotations)


def _solve(example: ExampleBone, limb: Floats, bone_name: str) -> Floats:
    """The weights (P + 1, P) of the Gaussians about rest and the poses."""
    apart = _distances_from_rest_and_poses(example, limb)
    try:
        return RadialBasis.solve(apart, example.sigma, CLOSEST).coefficients
    except PosesTooClose as error:
        names = ("rest", *example.names)
        raise ExampleError(
            f"The example poses {names[error.first]} and {names[error.second]} of {bone_name} are "
            f"nearly the same: less than {np.degrees(CLOSEST):.0f} degrees apart. Remove one of "
            "them or change its pose."
        ) from error
