"""Axes of bones: compared with their limbs, turned at rest, and posed without Blender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s
from ..core.dual_quaternion import matrices_from_quaternions
from ..core.skeleton import LIMB_AXES, LimbAxis, Skeleton
from ..core.vectors import dots, extent

# Compares the axes of bones with their limbs, and finds the best limb axis.

# Beyond this an axis is not along the limb; several children tell only roughly where it runs.
LARGEST_ANGLE = np.radians(30.0)
_LARGEST_ANGLE_TO_SEVERAL = np.radians(60.0)
# An armature has an axis of its own when it fits this part of the bones that tell, and so many.
_CLEAR_SHARE, _CLEAR_COUNT = 0.75, 3
# Where the directions to the children cancel out by more than this, the bone does not tell: a
# pelvis between spine and legs. A hand with its fingers does.
_CLEAR_MEAN = 0.5


@dataclass(frozen=True, eq=False)
class LimbAxes:
    """The axes of bones against their limbs.

    Attributes:
        concerned: shape (B,), bool; the bones that deform the mesh.
        telling: shape (B,), bool; those whose children show where the limb runs.
        branching: shape (B,), bool; those with several children.
        ends: shape (B,), bool; those without children: AUTO has only their own Y to go by.
        limbs: shape (B, 3), unit, armature space; where the limbs run.
        own_axis: the axis that clearly fits most bones; None without such an axis.
    """

    skeleton: Skeleton
    concerned: Booleans
    telling: Booleans
    branching: Booleans
    ends: Booleans
    limbs: Float64s
    own_axis: LimbAxis | None

    @classmethod
    def of(cls, skeleton: Skeleton, concerned: Booleans) -> LimbAxes:
        """Measure a skeleton.

        Args:
            concerned: shape (B,), bool; the bones that deform the mesh.
        """
        counts, telling = _tellers(skeleton)
        limbs = skeleton.limb_directions("AUTO")
        every = telling if (telling & concerned).sum() < _CLEAR_COUNT else telling & concerned
        own_axis = None
        if every.sum() >= _CLEAR_COUNT:
            along = [_fits(skeleton, limbs, counts > 1, axis)[every] for axis in LIMB_AXES[1:]]
            shares = [float(fits.mean()) for fits in along]
            best = int(np.argmax(shares))
            own_axis = LIMB_AXES[1:][best] if shares[best] >= _CLEAR_SHARE else None
        return cls(skeleton, concerned, telling, counts > 1, counts == 0, limbs, own_axis)

    def off(self, axis: LimbAxis) -> Booleans:
        """Shape (B,): the telling bones whose limb this axis does not follow; none for AUTO."""
        if axis == "AUTO":
            return np.zeros_like(self.telling)
        fits = _fits(self.skeleton, self.limbs, self.branching, axis)
        return self.concerned & self.telling & ~fits

    def ends_off(self, axis: LimbAxis) -> Booleans:
        """Shape (B,): the end bones whose limb this axis is unlikely to follow.

        Their limb is taken to run along the axis that clearly fits the rest. Where the rest has
        none, and Y is wrong for most of it, the Y of the ends is not to be trusted either.
        """
        used = "Y" if axis == "AUTO" else axis
        ends = self.concerned & self.ends
        if self.own_axis is not None:
            return ends if used != self.own_axis else np.zeros_like(ends)
        mostly_off = self.off(used).sum() * 2 > (self.concerned & self.telling).sum()
        return ends if mostly_off else np.zeros_like(ends)

    def y_off(self) -> Booleans:
        """Shape (B,): the bones that do not point along their limbs, whatever axis is in use.

        Where another axis than Y clearly fits, bones that do not tell count with the rest.
        """
        off = self.off("Y") | self.ends_off("Y")
        if self.own_axis in {None, "Y"}:
            return off
        return off | (self.concerned & ~self.telling)

    def best_axis(self) -> LimbAxis:
        """The setting that is wrong for the fewest limbs."""
        return min(LIMB_AXES, key=lambda axis: int((self.off(axis) | self.ends_off(axis)).sum()))

    def wanted(self) -> Float64s:
        """Shape (B, 3), unit, armature space: where each bone should point.

        A bone with one child: to that. Any other: along the axis that clearly fits the rest; where
        there is none, amid its children, and an end bone on from its parent's limb.
        """
        directions = self.limbs.copy()
        if self.own_axis is not None:
            own = self.skeleton.limb_directions(self.own_axis)
            others = ~self.telling | self.branching
            directions[others] = own[others]
        else:
            inner_end = self.ends & (self.skeleton.parents >= 0)
            directions[inner_end] = self.limbs[self.skeleton.parents[inner_end]]
        return directions


def only_child_distances(skeleton: Skeleton) -> Float64s:
    """Shape (B,): how far the head of a bone's child is; 0 unless exactly one lies elsewhere."""
    parents, ways = _to_children(skeleton)
    lengths = np.linalg.norm(ways, axis=1)
    sums = np.bincount(parents, weights=lengths, minlength=skeleton.bone_count)
    counts = np.bincount(parents, minlength=skeleton.bone_count)
    return np.where(counts == 1, sums, 0.0)


def _tellers(skeleton: Skeleton) -> tuple[Indices, Booleans]:
    """How many children lie elsewhere, and the bones whose children agree where the limb runs."""
    parents, ways = _to_children(skeleton)
    directions = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    sums = np.zeros((skeleton.bone_count, 3))
    np.add.at(sums, parents, directions)
    counts = np.bincount(parents, minlength=skeleton.bone_count)
    means = np.linalg.norm(sums, axis=1) / np.maximum(counts, 1)
    return counts, (counts > 0) & (means >= _CLEAR_MEAN)


def _to_children(skeleton: Skeleton) -> tuple[Int32s, Float64s]:
    """The parents (m,) of the bones that lie elsewhere, and the ways (m, 3) to their heads."""
    children = np.flatnonzero(skeleton.parents >= 0)
    parents = skeleton.parents[children]
    ways = skeleton.heads[children] - skeleton.heads[parents]
    apart = np.linalg.norm(ways, axis=1) > 1e-5 * extent(skeleton.heads)
    return parents[apart], ways[apart]


def _fits(skeleton: Skeleton, limbs: Float64s, branching: Booleans, axis: LimbAxis) -> Booleans:
    """Shape (B,): whether an axis of the bones runs along the limbs."""
    along = dots(skeleton.limb_directions(axis), limbs)
    largest = np.where(branching, _LARGEST_ANGLE_TO_SEVERAL, LARGEST_ANGLE)
    return np.arccos(np.clip(along, -1.0, 1.0)) <= largest


# Rotates a bone's rest axes, and converts the numbers of its pose.
#
# A bone with the rest matrix A and the pose channels M (a 4x4 matrix: location, rotation, scale) is
# posed at B = X A M, where X is what its parent did. With its axes turned, A' = A R, the channels
# M' = R^-1 M R give B' = B R: the skinning transform B' A'^-1 is the same, and the children see no
# difference. So each bone can be turned by itself.


Matrix3 = Float64s


@dataclass(frozen=True, eq=False)
class RestRotation:
    """The rotation of the axes of one bone.

    Attributes:
        rotation: shape (3, 3), R: its columns are the new axes in the space of the bone as it was.
        length: the new distance from head to tail.
    """

    bone: str
    rotation: Matrix3
    length: float

    @property
    def angle(self) -> float:
        """By how much the axes turn, radians."""
        return float(np.arccos(np.clip(0.5 * (np.trace(self.rotation) - 1.0), -1.0, 1.0)))

    @property
    def axes(self) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
        """The new place and sign of each axis if axes only change places; else None.

        A vector with the components v has in the turned bone the components v'[place] = sign v.
        """
        if not np.all(np.isclose(np.abs(self.rotation), np.abs(self.rotation).round(), atol=1e-6)):
            return None
        places = np.abs(self.rotation).argmax(axis=1)
        signs = np.sign(self.rotation[np.arange(3), places]).astype(int)
        return tuple(places.tolist()), tuple(signs.tolist())

    def vectors(self, values: Floats) -> Float64s:
        """Vectors in the space of the turned bone: R^-1 v.

        Args:
            values: shape (..., 3): locations, axes, or the x, y, z of quaternions. That is linear,
                so keys and handles of F-Curves may be put in as they are.
        """
        return values @ self.rotation

    def order(self, order: str) -> str:
        """The Euler order of the angles from `vectors`; for axes that only change places."""
        axes = self.axes
        if axes is None:
            raise ValueError(f"{self.bone}: its axes do more than change places")
        return "".join("XYZ"[axes[0]["XYZ".index(letter)]] for letter in order)


def to_direction(direction: Float64s) -> Matrix3:
    """The rotation whose Y points along a direction, with as little twist as can be.

    The nearest change of places first, then the shortest way: so a bone that is a quarter turn off
    gets axes that are quarter turns off, and no roll comes in.

    Args:
        direction: shape (3,), unit, in the space of the bone.
    """
    places = nearest_axes(direction)
    # The rotation by the smallest angle between unit directions less than 90 degrees apart.
    x, y, z = np.cross(places[:, 1], direction)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    shortest = np.eye(3) + cross + cross @ cross / (1.0 + float(places[:, 1] @ direction))
    return shortest @ places


def nearest_axes(direction: Float64s) -> Matrix3:
    """The exchange of axes that brings Y nearest to a direction with the least turn.

    Args:
        direction: shape (3,), unit, in the space of the bone.
    """
    candidates = _changes_of_places()
    fit = candidates[:, :, 1] @ direction
    traces = np.trace(candidates, axis1=1, axis2=2)
    return candidates[int(np.argmax(np.where(fit > fit.max() - 1e-6, traces, -np.inf)))]


@cache
def _changes_of_places() -> Float64s:
    """Shape (24, 3, 3): the rotations that take axes to axes."""
    found = []
    for places, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        matrix = np.zeros((3, 3))
        matrix[list(places), range(3)] = signs
        if np.linalg.det(matrix) > 0.0:
            found.append(matrix)
    return np.array(found)


# Rotations of bones, and forward kinematics without Blender: bones follow their parents.


Quaternion = tuple[float, float, float, float]
"""(w, x, y, z), of unit length; of a bone, in its rest axes."""


Axis = tuple[float, float, float]
"""A unit vector in a bone's rest axes."""

OWN_AXIS: Axis = (0.0, 1.0, 0.0)


def swing(degrees: float, azimuth: float) -> Quaternion:
    """The swing by an angle about the axis (cos azimuth, 0, sin azimuth); azimuth in radians."""
    return twist(degrees, (float(np.cos(azimuth)), 0.0, float(np.sin(azimuth))))


def twist(degrees: float, axis: Axis = OWN_AXIS) -> Quaternion:
    """The twist by an angle about the bone, or about another axis."""
    half = np.radians(degrees) / 2.0
    x, y, z = (float(np.sin(half) * part) for part in axis)
    return (float(np.cos(half)), x, y, z)


def posed_matrices(skeleton: Skeleton, rotations: Mapping[int, Quaternion]) -> Float64s:
    """The skinning transforms D_b of a skeleton of which some bones are rotated.

    Every bone follows its parent with rotation, as Blender's bones do by default.

    Args:
        rotations: by the bone's index, its unit quaternion (w, x, y, z) in its rest axes; the
            other bones are at rest in their parents.

    Returns:
        shape (B, 4, 4), armature space; see `skinning_transform`.
    """
    moved = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
    for bone, parent in enumerate(skeleton.parents):
        if parent >= 0:
            moved[bone] = moved[parent]
        if bone in rotations:
            rest = skeleton.rest[bone]
            quaternion = np.asarray(rotations[bone], np.float64)
            turn = np.eye(4)
            turn[:3, :3] = matrices_from_quaternions(quaternion[None])[0]
            moved[bone] = skinning_transform(moved[bone], rest, turn)
    return moved


def skinning_transform(parent: Float64s, rest: Float64s, basis: Float64s) -> Float64s:
    """D_b = D_parent A_b M_b A_b^-1: how far a bone is moved from its rest pose.

    Args:
        parent: shape (..., 4, 4), D of the parent.
        rest: shape (4, 4), A, armature space.
        basis: shape (..., 4, 4), M, what the bone does in its rest axes.
    """
    return parent @ rest @ basis @ np.linalg.inv(rest)
