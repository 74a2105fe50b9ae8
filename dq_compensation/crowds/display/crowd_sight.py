"""Which figures of crowds a region sees, and which of them have to be skinned for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...analysis.program_bounds import ProgramBounds
from ...analysis.view_frustum import frustum_planes, spheres_in_view
from ...core.crowds import program_times
from ...scene.settings.crowd_settings import FarFigures
from .crowd_cast import Cast, Entry

# Figures at half rate wait for a frame that is no farther than this from theirs.
_WAIT = 2.0


@dataclass(frozen=True, eq=False)
class ShownCrowd:
    """A crowd in one drawing.

    Attributes:
        matrix: shape (4, 4), of the Empty, to the world.
        visible: whether the region shows it.
    """

    matrix: NDArray[np.float64]
    visible: bool
    far_distance: float
    far_figures: FarFigures


@dataclass(frozen=True, eq=False)
class Sight:
    """The figures that one region sees.

    Attributes:
        seen: numbers of instances, rising: those that are drawn.
        due: those of them that are posed and skinned before, near and far ones.
        near, linear: these apart: by the method of the object, and by LINEAR.
    """

    seen: NDArray[np.intp]
    due: NDArray[np.intp]
    near: NDArray[np.intp]
    linear: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class EntryBounds:
    """The bounds of the figures of an entry.

    Attributes:
        to_character: shape (4, 4), from armature space to that of the character.
        stretch: how far that stretches what is there, at most.
    """

    of_program: ProgramBounds
    to_character: NDArray[np.float64]
    stretch: float


class CrowdSight:
    """The places of the figures of a cast, and the frame at which each was skinned.

    Attributes:
        places: shape (I, 4, 4), from the space of the character to the world.
        moved: counts the changes of `places`.
    """

    def __init__(self, cast: Cast) -> None:
        count = cast.count
        self.cast = cast
        self.places = np.zeros((count, 4, 4))
        self.moved = 0
        self._centres, self._radii = np.zeros((count, 3)), np.zeros(count)
        self._sizes = np.zeros(count)
        self._matrices: tuple[NDArray[np.float64], ...] = ()
        self._time: tuple[float, float] | None = None
        self._view: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._skinned_at, self._is_linear = np.full(count, np.nan), np.zeros(count, np.bool_)
        self._parity = np.arange(count) & 1
        self._tick = 0

    def forget(self, instances: slice) -> None:
        """Skin these instances again: they look different."""
        self._skinned_at[instances] = np.nan

    def place(self, crowds: Sequence[ShownCrowd]) -> None:
        """Take the places of the crowds."""
        matrices = tuple(crowd.matrix for crowd in crowds)
        if matrices and np.array_equal(matrices, self._matrices):
            return
        self._matrices = matrices
        self.moved += 1
        for group in self.cast.groups:
            for entry in group.entries:
                matrix, at = matrices[entry.crowd], entry.instances
                self.places[at] = matrix @ self.cast.places[at]
                self._sizes[at] = np.linalg.norm(matrix[:3, :3], 2) * self.cast.sizes[at]

    def look(
        self,
        crowds: Sequence[ShownCrowd],
        bounds: Sequence[Sequence[EntryBounds]],
        to_view: NDArray[np.floating],
        to_clip: NDArray[np.floating],
        frame: float,
        fps: float,
    ) -> Sight:
        """The figures that a region sees.

        Args:
            bounds: of each entry of each group.
            to_view, to_clip: from world to view space, and from there to clip space.
            frame, fps: of the scene.
        """
        if self._time is None or self._time[0] != frame:
            self._tick += 1
        self._time = (frame, fps)
        count = self.cast.count
        half, linear = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        visible, limits = np.zeros(count, np.bool_), np.full(count, np.inf)
        for group, of_group in zip(self.cast.groups, bounds, strict=True):
            for entry, sphere in zip(group.entries, of_group, strict=True):
                crowd, at = crowds[entry.crowd], entry.instances
                if not crowd.visible:
                    continue
                visible[at] = True
                self._bound(entry, sphere, frame, fps)
                if crowd.far_distance > 0.0 and crowd.far_figures != "SAME":
                    limits[at] = crowd.far_distance
                    half[at] = crowd.far_figures == "HALF_RATE"
                    linear[at] = not half[at.start]
                    if crowd.far_figures == "HALF_RATE":
                        # They may be drawn as they were two frames before.
                        step = sphere.of_program.step * sphere.stretch
                        self._radii[at] += _WAIT * step * self._sizes[at]
        visible &= spheres_in_view(self._planes(to_view, to_clip), self._centres, self._radii)
        if np.isfinite(limits).any():
            eye = np.linalg.inv(to_view)[:3, 3]
            far = np.linalg.norm(self._centres - eye, axis=1) > limits
            half, linear = half & far, linear & far
        passed = np.abs(frame - self._skinned_at)
        # Of what was never skinned it is no number, so that it does not wait.
        waits = half & (self._parity == (self._tick & 1)) & (passed <= _WAIT)
        due = visible & (((passed != 0.0) & ~waits) | (self._is_linear & ~linear))
        self._skinned_at[due] = frame
        self._is_linear[due] = linear[due]
        numbers = np.flatnonzero(due)
        far = linear[numbers]
        return Sight(np.flatnonzero(visible), numbers, numbers[~far], numbers[far])

    def _planes(
        self, to_view: NDArray[np.floating], to_clip: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """The planes around the view: the last ones as long as it does not move."""
        to_clip = np.asarray(to_clip, np.float64) @ to_view
        if self._view is None or not np.array_equal(self._view[0], to_clip):
            self._view = (to_clip, frustum_planes(to_clip))
        return self._view[1]

    def _bound(self, entry: Entry, sphere: EntryBounds, frame: float, fps: float) -> None:
        """Find the spheres around figures, world space."""
        at, figures = entry.instances, entry.figures
        rate = entry.program.first.fps
        times = program_times(figures.phases, figures.speeds, frame, entry.start, rate, fps)
        there = sphere.to_character
        centres = sphere.of_program.centres(times) @ there[:3, :3].T + there[:3, 3]
        places = self.places[at]
        self._centres[at] = np.einsum("nij,nj->ni", places[:, :3, :3], centres)
        self._centres[at] += places[:, :3, 3]
        self._radii[at] = sphere.of_program.radius * sphere.stretch * self._sizes[at]
