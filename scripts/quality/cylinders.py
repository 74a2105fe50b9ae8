"""Bent and twisted cylinders, whose ideal shape is known; NumPy only.

A cylinder of radius 1 runs along Z. Two bones of 6 radii, as those of forearms and shins, meet at
the origin. The share of the upper one is 1/2 (1 + erf((z - z0) / (c sqrt 2))), a step smoothed over
the width c. Ideally each vertex keeps the distance from the nearer limb that it has at rest: a bent
round cylinder is then two capsules that share the joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from demos.measures import LimbAxes, closed_volume, openings
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from quality.body import Body
from quality.measures import Figures, SurfaceRegion

Array = NDArray[np.float64]

WIDTHS = (0.3, 0.63, 1.0)
DEGREES = (30.0, 60.0, 90.0, 120.0, 150.0)
TWIST_IN_BENDS = 60.0
ROWS, COLUMNS, REACH = 145, 48, 6.0


@dataclass(frozen=True)
class Shape:
    """How a cylinder differs from a round one.

    Attributes:
        depth: of the section across the plane of the bend, in radii.
        taper: how much thicker the lower end is, and how much thinner the upper one, in radii.
        shift: of the middle of the weights from the joint, z0, in radii.
    """

    depth: float = 1.0
    taper: float = 0.0
    shift: float = 0.0


SHAPES = {
    "round": Shape(),
    "elliptic": Shape(depth=0.6),
    "tapered": Shape(taper=0.3),
    "weights beside the joint": Shape(shift=0.5),
}


@dataclass(frozen=True)
class Motion:
    """What the upper bone does, in degrees: it twists about itself, then it bends towards +X."""

    bend: float
    twist: float

    @property
    def kind(self) -> str:
        """`bend`, `twist` or `bend and twist`."""
        return " and ".join(
            name for name, angle in (("bend", self.bend), ("twist", self.twist)) if angle
        )

    @property
    def title(self) -> str:
        """For the table."""
        parts = (("bend", self.bend), ("twist", self.twist))
        return ", ".join(f"{name} {angle:.0f}" for name, angle in parts if angle)


MOTIONS = (
    *(Motion(angle, 0.0) for angle in DEGREES),
    *(Motion(angle, TWIST_IN_BENDS) for angle in DEGREES),
    *(Motion(0.0, angle) for angle in DEGREES),
)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """One shape with one width of the transition.

    Attributes:
        shares: shape (n,), of the upper bone.
    """

    body: Body
    shares: Array

    @classmethod
    def of(
        cls,
        shape: Shape,
        width: float,
        rows: int = ROWS,
        columns: int = COLUMNS,
        reach: float = REACH,
    ) -> Cylinder:
        """Make one whose bones are `reach` long."""
        heights = np.linspace(-reach, reach, rows)
        z, angles = np.meshgrid(heights, 2.0 * np.pi * np.arange(columns) / columns, indexing="ij")
        radii = 1.0 - shape.taper * z / reach
        rest = np.stack((radii * np.cos(angles), shape.depth * radii * np.sin(angles), z), axis=-1)
        steps = (heights - shape.shift) / (width * math.sqrt(2.0))
        upper = np.repeat([0.5 * (1.0 + math.erf(step)) for step in steps], columns)
        count = rows * columns
        influences = Influences.from_triples(
            np.tile(np.arange(count), 2),
            np.repeat([0, 1], count),
            np.concatenate((1.0 - upper, upper)),
            count,
        )
        ring, side = np.divmod(np.arange(count - columns), columns)
        low, following = ring * columns, (side + 1) % columns
        corners = (low + side, low + following, low + following + columns, low + side + columns)
        faces = np.stack(corners, axis=1).astype(np.int32)
        return cls(Body(rest.reshape(-1, 3), faces, influences, _two_bones(reach)), upper)

    def pose(self, motion: Motion) -> Pose:
        """The lower bone stays."""
        matrices = np.tile(np.eye(4), (2, 1, 1))
        matrices[1, :3, :3] = _turn(motion.bend, (2, 0)) @ _turn(motion.twist, (0, 1))
        return Pose.from_matrices(matrices, self.body.skeleton)

    def measure(self, deformed: Array, motion: Motion) -> Figures:
        """Compare deformed positions (n, 3) with the ideal shape.

        Bulge, dent and root mean square are those of the side that a bend stretches: the inner side
        has to fold. They are those of all skin where nothing bends.
        """
        up = np.array([0.0, 0.0, 1.0])
        axes = LimbAxes(np.zeros(3), -up, _turn(motion.bend, (2, 0)) @ up)
        distances = axes.nearest(deformed)[1]
        errors = 100.0 * (distances - self._rest_distances)
        outer = errors[self._is_outer(motion)] if motion.bend else errors
        ratios = distances / self._rest_distances
        return Figures(
            **vars(self._region.measure(deformed)),
            bulge=max(0.0, float(outer.max())),
            dent=max(0.0, -float(outer.min())),
            rms=float(np.sqrt(np.mean(np.square(outer)))),
            volume=100.0 * self._volume(deformed) / self._rest_volume,
            twist_radius=math.nan if motion.bend else 100.0 * float(ratios.min()),
        )

    def _is_outer(self, motion: Motion) -> NDArray[np.bool_]:
        """Which vertices are on the side away from +X, where the twist has taken them."""
        x, y, _ = self.body.rest.T
        angles = np.radians(motion.twist) * self.shares
        return np.cos(angles) * x - np.sin(angles) * y <= 1e-9

    @cached_property
    def _rest_distances(self) -> Array:
        return np.hypot(self.body.rest[:, 0], self.body.rest[:, 1])

    @cached_property
    def _region(self) -> SurfaceRegion:
        return SurfaceRegion.of_joint(self.body.rest, self.body.faces, self.shares)

    @cached_property
    def _rest_volume(self) -> float:
        return self._volume(self.body.rest)

    @cached_property
    def _openings(self) -> list[NDArray[np.int32]]:
        return openings(self.body.faces)

    def _volume(self, positions: Array) -> float:
        return closed_volume(positions, self.body.faces, self._openings)


def _two_bones(reach: float) -> Skeleton:
    """Bones along Z that meet at the origin; their Y is along them, their X is X."""
    rest = np.tile(np.eye(4), (2, 1, 1))
    rest[:, :3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    rest[0, 2, 3] = -reach
    tails = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, reach]])
    return Skeleton(("lower", "upper"), np.array([-1, 0], np.int32), rest, tails)


def _turn(degrees: float, plane: tuple[int, int]) -> Array:
    """The rotation that takes the first axis of a plane towards the second, shape (3, 3)."""
    first, second = plane
    turned = np.eye(3)
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turned[[first, second], [first, second]] = cosine
    turned[second, first], turned[first, second] = sine, -sine
    return turned
