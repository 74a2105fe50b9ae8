"""Spheres around the skin of figures that play a program, and the spheres in a view.

Each row of a pose gets a ball about its head, as large as the skin that it moves. Linear skinning
stays among the balls of a vertex; turning about a joint, as dual quaternions and SPHERICAL_JOINT
do, keeps the distance from the joint, which is the head of one of the two bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import Booleans, Float64s, Floats
from ...core.influences import Influences
from ..takes.takes import Take
from .crowds import Program

# For joints that are beside the heads of their bones.
_MARGIN = 1.05
# Just before a take begins again.
_BEFORE = 1e-3
_POSES_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class SkinBalls:
    """Balls that contain the skin, at rest and in armature space.

    Attributes:
        radii: shape (R,), about the head of each row of a pose; negative for one that moves none.
        still: shape (S, 4), centres and radii of what stays where it is.
    """

    radii: Float64s
    still: Float64s

    @classmethod
    def of(
        cls,
        heads: Floats,
        influences: Influences,
        points: Floats,
        reach: Floats | float = 0.0,
        mask: Floats | None = None,
    ) -> SkinBalls:
        """The balls of one mesh.

        Args:
            heads: shape (R, 3), of the rows at rest.
            points: shape (n, 3), the vertices at rest.
            reach: shape (n,), how far shape keys may move them.
            mask: shape (n,), how much of the deformation acts; None: all.
        """
        radii, reaches = np.full(len(heads), -1.0), np.broadcast_to(reach, len(points))
        acts = influences.weights > 0.0
        vertices, bones = np.nonzero(acts)[0], influences.bones[acts]
        far = np.linalg.norm(points[vertices] - heads[bones], axis=1) + reaches[vertices]
        np.maximum.at(radii, bones, far)
        rests = ~acts.any(axis=1) | (False if mask is None else mask < 1.0)
        if not rests.any():
            return cls(radii, np.zeros((0, 4)))
        low, high = points[rests].min(axis=0), points[rests].max(axis=0)
        radius = np.linalg.norm(high - low) / 2.0 + reaches[rests].max()
        return cls(radii, np.array([[*(low + high) / 2.0, radius]]))

    @classmethod
    def together(cls, balls: Sequence[SkinBalls]) -> SkinBalls:
        """The balls of several meshes of one skeleton."""
        radii = np.max([each.radii for each in balls], axis=0)
        return cls(radii, np.concatenate([each.still for each in balls]))


@dataclass(frozen=True, eq=False)
class ProgramBounds:
    """A sphere at each time of a program, armature space.

    Attributes:
        radius: of all of them.
        step: how far skin moves from one frame of the first take to the next, at most.
    """

    program: Program
    radius: float
    step: float
    _centres: Float64s  # at every frame of the first take

    def centres(self, times: Floats) -> Float64s:
        """The centres at times (I,) in the program: shape (I, 3)."""
        return _at_times(self._centres, _within(self.program, times))

    @classmethod
    def of(cls, program: Program, heads: Floats, balls: SkinBalls) -> ProgramBounds:
        """Look at every frame of a program.

        Between frames a ball leaves the straight way by less than it goes, seen from the others.

        Args:
            heads: shape (R, 3), of the rows at rest.
            balls: what is found of a take is kept for the same object.
        """
        parts = _parts(program, heads, balls)
        times, at = np.concatenate([t for t, _ in parts]), np.concatenate([p.at for _, p in parts])
        wide = np.concatenate([path.wide for _, path in parts])
        middle = ((at - wide[..., None]).min(axis=1) + (at + wide[..., None]).max(axis=1)) / 2.0
        grid = np.arange(np.ceil(times[-1]) + 2.0)
        centres = np.stack([np.interp(grid, times, axis) for axis in middle.T], axis=1)
        from_middle = at - _at_times(centres, times)[:, None]
        radius = (np.linalg.norm(from_middle, axis=2) + wide).max()
        apart = np.linalg.norm(np.diff(from_middle, axis=0), axis=2).max(initial=0.0)
        step = np.linalg.norm(np.diff(at, axis=0), axis=2).max(initial=0.0)
        return cls(program, float(_MARGIN * radius + apart), float(step), centres)


def _at_times(centres: Float64s, times: Floats) -> Float64s:
    """Points that are known at every frame, at times in between."""
    times = np.clip(times, 0.0, len(centres) - 1.5)
    frames = times.astype(np.intp)
    found = centres[frames]
    return found + (times - frames)[:, None] * (centres[frames + 1] - found)


@dataclass(frozen=True, eq=False)
class _Path:
    """The balls at T times: their centres (T, m, 3) and radii (T, m)."""

    at: Float64s
    wide: Float64s

    @classmethod
    def of(cls, program: Program, times: Floats, heads: Floats, balls: SkinBalls) -> _Path:
        rows = np.flatnonzero(balls.radii >= 0.0)
        points = np.concatenate((heads[rows], np.ones((len(rows), 1))), axis=1)
        takes = (program.first, program.second)
        scaled = any(take is not None and take.scales is not None for take in takes)
        centres, radii = [], []
        for start in range(0, len(times), _POSES_AT_ONCE):
            poses = program.poses(times[start : start + _POSES_AT_ONCE])[:, rows, :3]
            centres.append((poses @ points[:, :, None])[..., 0])
            size = np.linalg.norm(poses[..., :3], 2, axis=(2, 3)) if scaled else np.ones(len(rows))
            radii.append(np.broadcast_to(balls.radii[rows] * size, poses.shape[:2]))
        still = np.broadcast_to(balls.still, (len(times), *balls.still.shape))
        return cls(
            np.concatenate((np.concatenate(centres), still[..., :3]), axis=1),
            np.concatenate((np.concatenate(radii), still[..., 3]), axis=1),
        )

    def __getitem__(self, index: object) -> _Path:
        return _Path(self.at[index], self.wide[index])  # type: ignore[index]


# Of takes alone, at `_frames` of them, and the balls that they move.
_paths: WeakKeyDictionary[Take, tuple[SkinBalls, _Path]] = WeakKeyDictionary()


def _frames(take: Take) -> Float64s:
    """Every frame of a take until it begins again, shape (T,), rising."""
    end = float(take.length)
    return np.append(np.arange(end), end - _BEFORE) if end else np.zeros(1)


def _path_of_take(take: Take, heads: Floats, balls: SkinBalls) -> _Path:
    known = _paths.get(take)
    if known is None or known[0] is not balls:
        path = _Path.of(Program(take), _frames(take), heads, balls)
        known = _paths[take] = (balls, path)
    return known[1]


def _parts(program: Program, heads: Floats, balls: SkinBalls) -> list[tuple[Float64s, _Path]]:
    """The times of a program, rising, and the balls: of the first take, the fade, the second."""
    first, second = program.first, program.second
    frames, path = _frames(first), _path_of_take(first, heads, balls)
    if second is None:
        return [(frames, path)]
    start, end = program.fade_start, float(first.length)
    before = frames < start
    fading = np.unique(np.concatenate((np.arange(start, end), (start, end))))
    found = [(frames[before], path[before]), (fading, _Path.of(program, fading, heads, balls))]
    frames, path = _frames(second), _path_of_take(second, heads, balls)
    loop = second.length / program.rate
    times = start + frames / program.rate
    # From the end of the fade once around.
    later = times <= end
    order = np.concatenate((np.flatnonzero(~later), np.flatnonzero(later)))
    times = np.concatenate((times[~later], times[later] + loop))
    after = times > end
    return [*found, (times[after], path[order[after]])]


def _within(program: Program, times: Floats) -> Float64s:
    """The sampled times at which a program looks alike."""
    end, times = float(program.first.length), np.asarray(times, np.float64)
    if program.second is None:
        return program.first_times(times)
    loop = program.second.length / program.rate
    if not loop:
        return np.minimum(times, end)
    return np.where(times > end, end + np.mod(times - end, loop), times)


def frustum_planes(to_clip: Floats) -> Float64s:
    """The planes around what a view sees, normals inwards and unit: shape (6, 4).

    A point p is inside where n p + d >= 0 for all of them (Gribb and Hartmann 2001).

    Args:
        to_clip: shape (4, 4), world to clip space, in which x, y and z go from -w to w.
    """
    matrix = np.asarray(to_clip, np.float64)
    planes = np.concatenate((matrix[3] + matrix[:3], matrix[3] - matrix[:3]))
    lengths = np.linalg.norm(planes[:, :3], axis=1)
    # A plane at infinity has no normal and hides nothing.
    at_infinity = lengths <= 1e-12 * lengths.max()
    planes = planes / np.where(at_infinity, 1.0, lengths)[:, None]
    planes[at_infinity] = 0.0, 0.0, 0.0, np.inf
    return planes


def spheres_in_view(planes: Floats, centres: Floats, radii: Floats) -> Booleans:
    """Whether a view may see spheres: all that it sees, and a few beside its corners.

    Args:
        planes: of `frustum_planes`.
        centres: shape (I, 3), world space.
        radii: shape (I,).

    Returns:
        shape (I,).
    """
    distances = planes[:, :3] @ centres.T + planes[:, 3:]
    return np.asarray((distances >= -radii).all(axis=0))
