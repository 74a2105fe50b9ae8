"""All figures of all crowds as instances: who plays what, character after character."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...core.crowds import Figures, Program
from ...core.takes import Take
from ...scene.binding.binding import Binding
from ...scene.binding.twins import twin_digest
from ...viewport.takes.played_takes import INSTANCE, Instances
from ...viewport.takes.playing import faded_takes, fitted_take
from ..crowd_figures import CrowdState
from ..crowd_roles import Role

GroupKey = tuple[int, str]
"""The session_uid of an armature, and the digest of the bones by which it moves meshes."""


@dataclass(frozen=True, eq=False)
class Entry:
    """The figures of one role of one crowd, neighbours among the instances.

    Attributes:
        crowd: the place of the crowd among those that are drawn.
        start: the frame of the scene at which they are at their phases.
        instances: their numbers.
    """

    crowd: int
    program: Program
    figures: Figures
    start: float
    instances: slice


@dataclass(eq=False)
class CastGroup:
    """The figures that one skeleton of a character moves; `bindings` by the uid of the object."""

    key: GroupKey
    bindings: dict[int, Binding]
    entries: list[Entry] = field(default_factory=list)

    @property
    def binding(self) -> Binding:
        """One of them."""
        return next(iter(self.bindings.values()))

    @property
    def numbers(self) -> slice:
        """Those of its instances."""
        return slice(self.entries[0].instances.start, self.entries[-1].instances.stop)

    @cached_property
    def takes(self) -> tuple[Take, ...]:
        """The takes that its figures play."""
        programs = [entry.program for entry in self.entries]
        every = [take for program in programs for take in (program.first, program.second)]
        return tuple(dict.fromkeys(take for take in every if take is not None))

    def instances(self, fps: float) -> Instances:
        """When its figures play what, at the frame rate of the scene."""
        numbers = {take: number for number, take in enumerate(self.takes)}
        rows = [_rows(entry, numbers, fps) for entry in self.entries]
        return Instances(self.takes, np.concatenate(rows))


class Cast:
    """The figures of crowds.

    Args:
        states: of the crowds.
        bindings: of the meshes that are bound, by the session_uid of the object.
        programs: those that are known, by takes and fade; new ones are added.

    Attributes:
        groups: with their instances one after the other.
        places: shape (I, 4, 4), of each instance in the space of its crowd.
        sizes: shape (I,), how far the place stretches what is there, at most.
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
    found: dict[GroupKey, dict[int, Binding]] = {}
    for uid in role.mesh_uids:
        binding = bindings.get(uid)
        if binding is not None:
            key = (role.armature_uid, twin_digest(binding.skeleton))
            found.setdefault(key, {})[uid] = binding
    return found


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
    """When figures play the first and the second take, and when these are cross-faded."""
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
