"""Takes as arrays for the passes of playback: instances, tracks, keys and bones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.dual_quaternion import quaternions_from_matrices
from ..core.takes import Take
from ..core.vectors import unit_or
from .gpu_objects import MAX_TEXELS
from .playing import Instances

INSTANCE_STRIDE, BONE_STRIDE = 5, 8
MAX_INSTANCES = 65_535
"""The largest count of one dimension of a dispatch on every driver."""
_REPEATS, _BY_DUAL_QUATERNIONS = 1, 2
# Axes at rest that are off the length 1, or off right angles, by more than rounding.
_NOT_UNIT = 1e-3


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
    """The arrays of the takes of several characters: what all their instances have in common.

    Args:
        characters: the takes of each, fitted to its skeleton.

    Attributes:
        characters: as given.
        scaled: whether a bone has a scale anywhere.
        tracks, key_frames, keys, bones: as the shaders `interpolate_keys` and `chain_bones` say,
            one texel a row.

    Raises:
        ValueError: takes of a character do not have the same bones, or there is more than the
            textures can address.
    """

    def __init__(self, characters: Sequence[Sequence[Take]]) -> None:
        self.characters = tuple(map(tuple, characters))
        takes = list(dict.fromkeys(take for of_one in self.characters for take in of_one))
        self.scaled = any(map(_has_scale, takes))
        self._first_key: dict[Take, int] = {}
        self._first_bone: dict[Take, int] = {}
        self._first_track: dict[tuple[Take, tuple[tuple[str, str], ...]], int] = {}
        self._tracks: list[NDArray[np.float32]] = []
        self._pack_keys(takes)
        self._pack_bones(takes)
        self._bone_rows: list[int] = []
        self._value_names: list[tuple[tuple[str, str], ...]] = []
        for of_one in self.characters:
            self._add_character(of_one)
        self.tracks = np.concatenate(self._tracks) if self._tracks else np.zeros((0, 2), np.float32)
        _require_texels(max(len(self.keys), len(self.tracks)))

    @property
    def key_stride(self) -> int:
        """The texels of a key: rotation, location and, where there is one, scale."""
        return 3 if self.scaled else 2

    def groups(self, counts: Sequence[int]) -> tuple[InstanceGroup, ...]:
        """The groups of instances, one for each character, with so many of each.

        Raises:
            ValueError: there are more than a dispatch or the textures can count.
        """
        groups = []
        instance = row = 0
        for count, bones, names in zip(counts, self._bone_rows, self._value_names, strict=True):
            group = InstanceGroup(instance, row, count, bones, names)
            groups.append(group)
            instance, row = instance + count, row + count * group.row_count
        if instance > MAX_INSTANCES:
            raise ValueError(f"The GPU display has a limit of {MAX_INSTANCES} instances")
        _require_texels(row * 5)
        return tuple(groups)

    def rows(
        self,
        groups: Sequence[InstanceGroup],
        characters: Sequence[Instances],
        fps: float,
    ) -> NDArray[np.float32]:
        """The texels of all instances, as `instance_rows.glsl` says.

        Args:
            groups: of `groups`.
            characters: the instances of each, whose takes are those of the tables.
            fps: the frame rate of the scene.

        Returns:
            shape (5 I, 4).

        Raises:
            ValueError: an instance plays two takes that chain their bones differently.
        """
        rows = [
            self._rows_of(group, instances, fps)
            for group, instances in zip(groups, characters, strict=True)
        ]
        return np.concatenate((np.zeros((0, 4), np.float32), *rows))

    def _rows_of(
        self, group: InstanceGroup, instances: Instances, fps: float
    ) -> NDArray[np.float32]:
        rows, takes = instances.rows, instances.takes
        if not instances.count:
            return np.zeros((0, 4), np.float32)
        first, second = rows["first"], rows["second"]
        fades = second["take"] >= 0
        pairs = np.column_stack((first["take"], second["take"]))[fades]
        for one, other in np.unique(pairs, axis=0):
            if not np.array_equal(takes[one].parents, takes[other].parents):
                raise ValueError("Playback: two takes of an instance chain their bones differently")
        bones = np.array([self._first_bone[take] for take in takes], np.float32)
        found = np.zeros((instances.count, INSTANCE_STRIDE, 4), np.float32)
        found[:, 0, 0] = group.first_row + group.row_count * np.arange(instances.count)
        found[:, 0, 1], found[:, 0, 2] = group.row_count, group.bone_rows
        found[:, 0, 3] = bones[first["take"]]
        found[:, 1], found[:, 2, :2] = self._timings(group, takes, first, fps)
        found[:, 2, 2], found[:, 2, 3] = rows["fade_start"], rows["fade_frames"]
        found[:, 3, 0] = -1.0
        if fades.any():
            texels, phases = self._timings(group, takes, second, fps)
            found[fades, 3], found[fades, 4, :2] = texels[fades], phases[fades]
        return found.reshape(-1, 4)

    def _timings(
        self,
        group: InstanceGroup,
        takes: tuple[Take, ...],
        timings: NDArray[np.void],
        fps: float,
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """The texels 1 and 2, or 3 and 4, of instances: shapes (I, 4) and (I, 2)."""
        of_takes = np.array(
            [
                (
                    self._first_track[take, group.value_names],
                    take.length,
                    _BY_DUAL_QUATERNIONS if take.interpolation == "DUAL_QUATERNION" else 0,
                    take.fps / fps,
                )
                for take in takes
            ],
            np.float64,
        )
        tracks, lengths, flags, rates = of_takes[timings["take"]].T
        flags = flags + _REPEATS * timings["loop"]
        texels = np.column_stack((tracks, lengths, flags, timings["start"]))
        return texels, np.column_stack((timings["phase"], timings["speed"] * rates))

    def _pack_keys(self, takes: list[Take]) -> None:
        """Keys of the nodes and of the shape keys of each take, then one that is nothing."""
        rows, frames, first = [], [], 0
        for take in takes:
            self._first_key[take] = first
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
            self._first_bone[take] = first
            rows.append(rest_rows(take.rest, take.parents))
            first += take.node_count
        self.bones = np.concatenate(rows).reshape(-1, 4).astype(np.float32)

    def _add_character(self, takes: Sequence[Take]) -> None:
        bone_rows = takes[0].node_count if takes else 0
        if any(take.node_count != bone_rows for take in takes):
            raise ValueError("Playback: the takes of a character do not have the same bones")
        names = tuple(dict.fromkeys(name for take in takes for name in take.values.names))
        self._bone_rows.append(bone_rows)
        self._value_names.append(names)
        for take in takes:
            self._add_tracks(take, names)

    def _add_tracks(self, take: Take, value_names: tuple[tuple[str, str], ...]) -> None:
        """The tracks of a take with these shape keys."""
        if (take, value_names) in self._first_track:
            return
        self._first_track[take, value_names] = sum(map(len, self._tracks))
        found = np.zeros((take.node_count + len(value_names), 2), np.float32)
        nodes, first = take.keys, self._first_key[take]
        found[: take.node_count, 0] = nodes.offsets[:-1] + first
        found[: take.node_count, 1] = np.diff(nodes.offsets)
        values, first = take.values.keys, first + nodes.key_count
        for row, name in enumerate(value_names, take.node_count):
            found[row] = (self._no_key, 1)
            if name in take.values.names:
                start, end = values.offsets[(at := take.values.names.index(name)) : at + 2]
                found[row] = (first + start, end - start)
        self._tracks.append(found)


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


def _require_texels(count: int) -> None:
    if count > MAX_TEXELS:
        raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} texels for takes")
