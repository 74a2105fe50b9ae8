"""Takes as arrays for the passes of playback: instances, tracks, keys and bones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.dual_quaternion import quaternions_from_matrices
from ..core.takes import Take
from ..core.vectors import unit_or
from .influence_packing import MAX_TEXELS

INSTANCE_STRIDE, BONE_STRIDE = 5, 8
MAX_INSTANCES = 65_535
"""What one dimension of a dispatch may count to on every driver."""
_REPEATS, _BY_DUAL_QUATERNIONS = 1, 2
# What Blender appends to the name of a copy.
_COPY_NUMBER = re.compile(r"\.\d{3,}$")
# Axes at rest that are off the length 1, or off right angles, by more than rounding.
_NOT_UNIT = 1e-3


@dataclass(frozen=True)
class TakeTiming:
    """A take and when it is played; see `core.takes.take_times`.

    Attributes:
        take: fitted to the skeleton that it moves.
        phase: in frames of the take.
        speed: 1 is that of the take.
    """

    take: Take
    phase: float = 0.0
    speed: float = 1.0
    loop: bool = True


@dataclass(frozen=True)
class Playing:
    """The takes that one instance plays.

    Attributes:
        second: fades in from the frame `fade_start` of the scene on, within `fade_frames` frames.
    """

    first: TakeTiming
    second: TakeTiming | None = None
    fade_start: float = 0.0
    fade_frames: float = 0.0

    @property
    def timings(self) -> tuple[TakeTiming, ...]:
        """Of one take or two."""
        return (self.first,) if self.second is None else (self.first, self.second)

    def value_mesh(self, mesh_name: str) -> str:
        """The mesh of the takes whose shape keys a mesh follows: a copy those of its original."""
        known = any(mesh_name in each.take.values.mesh_names for each in self.timings)
        return mesh_name if known else _COPY_NUMBER.sub("", mesh_name)


@dataclass(frozen=True)
class InstanceGroup:
    """Instances of one character, one after the other.

    Attributes:
        first_instance, first_row: among all instances, and all their rows.
        count: of the instances.
        bone_rows: the rows of a pose of one instance.
        value_names: the mesh and the name of each shape key that its takes have; each has a row
            behind those of the pose.
    """

    first_instance: int
    first_row: int
    count: int
    bone_rows: int
    value_names: tuple[tuple[str, str], ...] = ()

    @property
    def row_count(self) -> int:
        """The rows of one instance."""
        return self.bone_rows + len(self.value_names)

    def value_row(self, mesh_name: str, key_name: str) -> int | None:
        """The row of a shape key, counted from the first of an instance; None without one."""
        name = (mesh_name, key_name)
        return self.bone_rows + self.value_names.index(name) if name in self.value_names else None


class TakeTables:
    """The arrays of all instances; they change when an instance does, not with the frame.

    Args:
        characters: the instances of each character; their takes are fitted to its skeleton.
        fps: the frame rate of the scene; None: that of each take.

    Attributes:
        scaled: whether a bone has a scale anywhere.
        groups: one for each character.
        instances, tracks, key_frames, keys, bones: as the shaders `interpolate_keys` and
            `chain_bones` say, one texel a row.

    Raises:
        ValueError: two takes of an instance do not have the same bones and parents, or there is
            more than the textures can address.
    """

    def __init__(self, characters: Sequence[Sequence[Playing]], fps: float | None = None) -> None:
        self._fps = fps
        takes = {
            id(timing.take): timing.take
            for instances in characters
            for playing in instances
            for timing in playing.timings
        }
        self.scaled = any(map(_has_scale, takes.values()))
        self._first_key: dict[int, int] = {}
        self._first_bone: dict[int, int] = {}
        self._first_track: dict[tuple[int, tuple[tuple[str, str], ...]], int] = {}
        self._tracks: list[NDArray[np.float32]] = []
        self._pack_keys(list(takes.values()))
        self._pack_bones(list(takes.values()))
        self.groups: list[InstanceGroup] = []
        rows = []
        for instances in characters:
            rows += self._group(instances)
        self.instances = np.array(rows, np.float32).reshape(-1, 4)
        self.tracks = np.concatenate(self._tracks) if self._tracks else np.zeros((0, 2), np.float32)
        if len(rows) > MAX_INSTANCES:
            raise ValueError(f"The GPU display has a limit of {MAX_INSTANCES} instances")
        largest = max(len(self.keys), self.row_count * 5, len(self.tracks))
        if largest > MAX_TEXELS:
            raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} texels for takes")

    @property
    def key_stride(self) -> int:
        """The texels of a key: rotation, location and, where there is one, scale."""
        return 3 if self.scaled else 2

    @property
    def row_count(self) -> int:
        """The rows of all instances."""
        return sum(group.count * group.row_count for group in self.groups)

    def _pack_keys(self, takes: list[Take]) -> None:
        """Keys of the nodes and of the shape keys of each take, then one that is nothing."""
        rows, frames, first = [], [], 0
        for take in takes:
            self._first_key[id(take)] = first
            nodes, values = take.keys.key_count, take.values.keys.key_count
            found = _still_keys(nodes + values)
            found[:nodes, 0], found[:nodes, 1, :3] = take.rotations, take.locations
            if take.scales is not None:
                found[:nodes, 2, :3] = take.scales
            found[nodes:, 1, 0] = take.values.values
            rows.append(found)
            frames += [take.keys.frames, take.values.keys.frames]
            first += nodes + values
        self._no_key = first
        every = np.concatenate((*rows, _still_keys(1)))
        self.keys = np.ascontiguousarray(every[:, : self.key_stride]).reshape(-1, 4)
        self.key_frames = np.concatenate((*frames, [0])).astype(np.float32)

    def _pack_bones(self, takes: list[Take]) -> None:
        rows: list[NDArray[np.floating]] = [np.zeros((0, BONE_STRIDE, 4))]
        first = 0
        for take in takes:
            self._first_bone[id(take)] = first
            rows.append(rest_rows(take.rest, take.parents))
            first += take.node_count
        self.bones = np.concatenate(rows).reshape(-1, 4).astype(np.float32)

    def _group(self, instances: Sequence[Playing]) -> list[list[tuple[float, ...]]]:
        """Append a group; the rows of its instances."""
        timings = [each.first for each in instances]
        timings += [each.second for each in instances if each.second is not None]
        takes = {id(timing.take): timing.take for timing in timings}
        names = tuple(dict.fromkeys(name for take in takes.values() for name in take.values.names))
        bone_rows = instances[0].first.take.node_count if len(instances) else 0
        if any(take.node_count != bone_rows for take in takes.values()):
            raise ValueError("Playback: the takes of a character do not have the same bones")
        group = InstanceGroup(
            sum(group.count for group in self.groups),
            self.row_count,
            len(instances),
            bone_rows,
            names,
        )
        self.groups.append(group)
        return [
            self._instance(playing, group, group.first_row + number * group.row_count)
            for number, playing in enumerate(instances)
        ]

    def _instance(
        self, playing: Playing, group: InstanceGroup, first_row: int
    ) -> list[tuple[float, ...]]:
        first, second = playing.first, playing.second
        bones = self._first_bone[id(first.take)]
        speed = self._speed(first)
        rows = [
            (first_row, group.row_count, group.bone_rows, bones),
            self._timing(first, group),
            (first.phase, speed, playing.fade_start, playing.fade_frames),
        ]
        if second is None:
            return [*rows, (-1.0, 0.0, 0.0, 0.0), (0.0,) * 4]
        if not np.array_equal(first.take.parents, second.take.parents):
            raise ValueError("Playback: two takes of an instance chain their bones differently")
        return [*rows, self._timing(second, group), (second.phase, self._speed(second), 0.0, 0.0)]

    def _speed(self, timing: TakeTiming) -> float:
        return timing.speed * (1.0 if self._fps is None else timing.take.fps / self._fps)

    def _timing(self, timing: TakeTiming, group: InstanceGroup) -> tuple[float, ...]:
        take = timing.take
        flags = _REPEATS if timing.loop else 0
        flags += _BY_DUAL_QUATERNIONS if take.interpolation == "DUAL_QUATERNION" else 0
        return self._tracks_of(take, group.value_names), take.length, flags, take.frame_start

    def _tracks_of(self, take: Take, value_names: tuple[tuple[str, str], ...]) -> int:
        """The place of the tracks of a take with these shape keys, packed when first wanted."""
        known = self._first_track.get((id(take), value_names))
        if known is not None:
            return known
        place = sum(map(len, self._tracks))
        found = np.zeros((take.node_count + len(value_names), 2), np.float32)
        nodes, first = take.keys, self._first_key[id(take)]
        found[: take.node_count, 0] = nodes.offsets[:-1] + first
        found[: take.node_count, 1] = np.diff(nodes.offsets)
        values, first = take.values.keys, first + nodes.key_count
        for row, name in enumerate(value_names, take.node_count):
            found[row] = (self._no_key, 1)
            if name in take.values.names:
                start, end = values.offsets[(at := take.values.names.index(name)) : at + 2]
                found[row] = (first + start, end - start)
        self._tracks.append(found)
        self._first_track[id(take), value_names] = place
        return place


def rest_rows(rest: NDArray[np.floating], parents: NDArray[np.integer]) -> NDArray[np.floating]:
    """The texels of `bones` in `chain_bones.glsl`: shape (N, BONE_STRIDE, 4).

    Args:
        rest: shape (N, 4, 4), the frames at rest.
        parents: shape (N,), -1 for roots.
    """
    frames = unit_or(rest[:, :3, :3].transpose(0, 2, 1), 0.0).transpose(0, 2, 1)
    rows = np.zeros((len(rest), BONE_STRIDE, 4))
    rows[:, 0] = quaternions_from_matrices(frames)
    rows[:, 1, :3], rows[:, 1, 3] = rest[:, :3, 3], parents
    rows[:, 2:5, :3] = frames
    rows[:, 5:8] = np.linalg.inv(rest)[:, :3]
    return rows


def _has_scale(take: Take) -> bool:
    """Whether a node is scaled at any time, or at rest."""
    linear = take.rest[:, :3, :3]
    gram = linear.transpose(0, 2, 1) @ linear
    return take.scales is not None or bool(np.abs(gram - np.eye(3)).max(initial=0.0) > _NOT_UNIT)


def _still_keys(count: int) -> NDArray[np.float32]:
    """Keys that do nothing, shape (count, 3, 4): rotation, location, scale."""
    keys = np.zeros((count, 3, 4), np.float32)
    keys[:, 0, 0] = keys[:, 2, :3] = 1.0
    return keys
