"""The figures of all crowds that a region sees: instances of takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...arrays import Float64s, Floats, Indices
from ...scene.binding.binding import Binding, equality_digest
from ..takes.played_takes import INSTANCE, Instances, PlaysTakes, faded_takes, fitted_take
from ..takes.takes import Take
from .crowd_figures import CrowdState
from .crowd_roles import Role
from .crowds import Figures, Program, program_times
from .figure_bounds import ProgramBounds, frustum_planes, spheres_in_view
from .settings import FarFigures

GroupKey = tuple[int, str]
"""The session_uid of an armature, and the digest of the bones by which it moves meshes."""


@dataclass(frozen=True, eq=False)
class Entry:
    """The figures of one role of one crowd. They are neighbours among the instances.

    Attributes:
        crowd: the place of the crowd among those that are drawn.
        start: the frame of the scene at which they are at their phases.
    """

    crowd: int
    program: Program
    figures: Figures
    start: float
    instances: slice


@dataclass(eq=False)
class CastGroup(PlaysTakes):
    """The figures that one skeleton of a character moves; `bindings` by the uid of the object."""

    key: GroupKey
    bindings: dict[int, Binding]
    entries: list[Entry] = field(default_factory=list)

    @property
    def binding(self) -> Binding:
        """The binding of one of the meshes."""
        return next(iter(self.bindings.values()))

    @property
    def numbers(self) -> slice:
        """The numbers of the instances of the group."""
        return slice(self.entries[0].instances.start, self.entries[-1].instances.stop)

    @property
    def takes(self) -> tuple[Take, ...]:
        """The takes of all figures of the group."""
        return self._takes

    @cached_property
    def _takes(self) -> tuple[Take, ...]:
        programs = [entry.program for entry in self.entries]
        every = [take for program in programs for take in (program.first, program.second)]
        return tuple(dict.fromkeys(take for take in every if take is not None))

    def instances(self, fps: float) -> Instances:
        """The takes and times of the figures, at the frame rate of the scene."""
        numbers = {take: number for number, take in enumerate(self.takes)}
        rows = [_rows(entry, numbers, fps) for entry in self.entries]
        return Instances(self.takes, np.concatenate(rows))


class Cast:
    """The figures of all crowds of a view layer.

    Args:
        bindings: of the meshes that are bound, by the session_uid of the object.
        programs: those that are known, by takes and fade; new ones are added.

    Attributes:
        groups: with their instances one after the other.
        places: shape (I, 4, 4), of each instance in the space of its crowd.
        sizes: shape (I,), the largest factor by which the place stretches a length.
    """

    def __init__(
        self,
        states: Sequence[CrowdState],
        bindings: Mapping[int, Binding],
        programs: dict[tuple[object, ...], Program],
    ) -> None:
        groups: dict[GroupKey, CastGroup] = {}
        played: dict[GroupKey, list[tuple[int, CrowdState, int, Program]]] = {}
        for crowd, state in enumerate(states):
            for number, role in enumerate(state.roles):
                for key, found in _by_skeleton(role, bindings).items():
                    group = groups.setdefault(key, CastGroup(key, {}))
                    group.bindings |= found
                    program = _program(role, group.binding, programs)
                    played.setdefault(key, []).append((crowd, state, number, program))
        self.groups: list[CastGroup] = []
        places, start = [np.zeros((0, 4, 4))], 0
        for key, group in groups.items():
            for crowd, state, number, program in played[key]:
                figures = state.figures[state.figures.roles == number]
                if not len(figures):
                    continue
                instances = slice(start, start := start + len(figures))
                group.entries.append(Entry(crowd, program, figures, state.start_frame, instances))
                places.append(figures.places)
            if group.entries:
                self.groups.append(group)
        self.places = np.concatenate(places)
        self.sizes = np.linalg.norm(self.places[:, :3, :3], axis=1).max(axis=1, initial=0.0)

    @property
    def count(self) -> int:
        """The number of instances, I."""
        return len(self.places)


def _by_skeleton(role: Role, bindings: Mapping[int, Binding]) -> dict[GroupKey, dict[int, Binding]]:
    """The bound meshes of a role."""
    by_skeleton: dict[GroupKey, dict[int, Binding]] = {}
    for uid in role.mesh_uids:
        binding = bindings.get(uid)
        if binding is not None:
            key = (role.armature_uid, equality_digest(binding.skeleton))
            by_skeleton.setdefault(key, {})[uid] = binding
    return by_skeleton


def _program(role: Role, binding: Binding, programs: dict[tuple[object, ...], Program]) -> Program:
    """The program of a role, fitted to a skeleton; the same object as long as it is true."""
    first, second = fitted_take(role.first, binding), None
    if role.second is not None:
        first, second = faded_takes(first, fitted_take(role.second, binding))
    key = (first, second, role.fade_frames)
    if key not in programs:
        programs[key] = Program(first, second, role.fade_frames)
    return programs[key]


def _rows(entry: Entry, numbers: Mapping[Take, int], fps: float) -> NDArray[np.void]:
    """The times at which figures play the first and the second take, and fade between the two."""
    program, figures = entry.program, entry.figures
    rows = np.zeros(len(figures), INSTANCE)
    first, second = rows["first"], rows["second"]
    first["take"], first["start"], first["loop"] = numbers[program.first], entry.start, True
    first["phase"], first["speed"] = figures.phases, figures.speeds
    if program.second is None:
        second["take"] = -1
        return rows
    second[:] = first
    first["loop"] = False
    second["take"] = numbers[program.second]
    second["phase"] = (figures.phases - program.fade_start) * program.rate
    # Frames of the first take for each of the scene.
    rates = figures.speeds * program.first.fps / fps
    rows["fade_start"] = entry.start + (program.fade_start - figures.phases) / rates
    rows["fade_frames"] = program.fade / rates
    return rows


# Figures at half rate wait for a frame that is no farther than this from theirs.
_WAIT = 2.0


@dataclass(frozen=True, eq=False)
class ShownCrowd:
    """A crowd in one drawing.

    Attributes:
        matrix: shape (4, 4), of the Empty, to the world.
    """

    matrix: Float64s
    visible: bool
    far_distance: float
    far_figures: FarFigures


@dataclass(frozen=True, eq=False)
class Sight:
    """The figures that one region sees.

    Attributes:
        seen: the numbers of the instances that are drawn, rising.
        due: the numbers of the instances that have to be posed and skinned first.
        near: the part of `due` that is skinned by the method of the object.
        linear: the part of `due` that is skinned by LINEAR.
    """

    seen: Indices
    due: Indices
    near: Indices
    linear: Indices


@dataclass(frozen=True, eq=False)
class EntryBounds:
    """The bounds of the figures of an entry.

    Attributes:
        to_character: shape (4, 4), from armature space to that of the character.
        stretch: the largest factor by which `to_character` stretches a length.
    """

    of_program: ProgramBounds
    to_character: Float64s
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
        self._matrices: tuple[Float64s, ...] = ()
        self._time: tuple[float, float] | None = None
        self._view: tuple[Float64s, Float64s] | None = None
        self._skinned_at, self._is_linear = np.full(count, np.nan), np.zeros(count, np.bool_)
        self._parity = np.arange(count) & 1
        self._tick = 0

    def skin_again(self, instances: slice) -> None:
        """Note that these instances look different: they are skinned before they are drawn."""
        self._skinned_at[instances] = np.nan

    def place(self, crowds: Sequence[ShownCrowd]) -> None:
        """Take the places of the crowds in the world."""
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

    def figures_in_view(
        self,
        crowds: Sequence[ShownCrowd],
        bounds: Sequence[Sequence[EntryBounds]],
        to_view: Floats,
        to_clip: Floats,
        frame: float,
        fps: float,
    ) -> Sight:
        """The figures that a region sees.

        Args:
            bounds: of each entry of each group.
            to_view, to_clip: from world to view space, and from there to clip space.
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

    def _planes(self, to_view: Floats, to_clip: Floats) -> Float64s:
        """The planes around the view; the same array as long as the view does not move."""
        to_clip = np.asarray(to_clip, np.float64) @ to_view
        if self._view is None or not np.array_equal(self._view[0], to_clip):
            self._view = (to_clip, frustum_planes(to_clip))
        return self._view[1]

    def _bound(self, entry: Entry, sphere: EntryBounds, frame: float, fps: float) -> None:
        """Find the spheres around the figures of an entry, world space."""
        at, figures = entry.instances, entry.figures
        rate = entry.program.first.fps
        times = program_times(figures.phases, figures.speeds, frame, entry.start, rate, fps)
        there = sphere.to_character
        centres = sphere.of_program.centres(times) @ there[:3, :3].T + there[:3, 3]
        places = self.places[at]
        self._centres[at] = np.einsum("nij,nj->ni", places[:, :3, :3], centres)
        self._centres[at] += places[:, :3, 3]
        self._radii[at] = sphere.of_program.radius * sphere.stretch * self._sizes[at]
