"""Plays the takes of armature objects on the GPU: finds them, packs them into arrays, poses bones.

A take is played in two passes, each one dispatch for all instances of all characters: what the keys
say of each bone, then the product down the hierarchy. `viewport.deformed_mesh` skins by the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

import bpy
import gpu
import numpy as np
from gpu.types import GPUShader, GPUTexture
from numpy.typing import NDArray

from ...arrays import Float32s, Floats
from ...scene.binding.binding import Binding, equality_digest
from ...viewport.array_textures import empty_texture, run_pass, texture_from_array
from ...viewport.instance_poses import InstanceGroup, InstanceList, PlayedPoses, rest_rows
from ...viewport.kernels import (
    BONE_STRIDE,
    INSTANCE_STRIDE,
    MAX_INSTANCES,
    MAX_TEXELS,
    PosePaletteLayout,
)
from ...viewport.members import MOTION_SOURCES
from ...viewport.shaders import chain_bones_shader, pass_shader
from .fitted_takes import fitted, with_common_parents
from .known_takes import take_named
from .settings import take_settings_of
from .takes import Take

# What Blender appends to the name of a copy.
_COPY_NUMBER = re.compile(r"\.\d{3,}$")


@dataclass(frozen=True)
class TakeTiming:
    """A take with the times at which it is played; see `pipeline.takes.takes.take_times`.

    Attributes:
        take: fitted to the skeleton that it moves.
        phase: in frames of the take.
        speed: 1 is that of the take.
    """

    take: Take
    phase: float = 0.0
    speed: float = 1.0
    loop: bool = True


class PlaysTakes:
    """The base of what plays takes, a `viewport.members.KeySource`: takes move shape keys, too."""

    @property
    def takes(self) -> tuple[Take, ...]:
        """All that are played."""
        raise NotImplementedError

    def value_mesh(self, mesh_name: str) -> str:
        """The mesh of the takes that drives the shape keys of a mesh: for a copy its original."""
        return value_mesh(self.takes, mesh_name)

    def value_names(self, mesh_name: str) -> frozenset[str]:
        """The shape keys that they move."""
        names = (name for take in self.takes for name in take.values.names)
        return frozenset(key for mesh, key in names if mesh == mesh_name)


@dataclass(frozen=True)
class Playing(PlaysTakes):
    """The takes that an instance plays; the second fades in from the scene's frame `fade_start`."""

    first: TakeTiming
    second: TakeTiming | None = None
    fade_start: float = 0.0
    fade_frames: float = 0.0

    @property
    def takes(self) -> tuple[Take, ...]:
        """The takes, one or two."""
        first = self.first.take
        return (first,) if self.second is None else (first, self.second.take)

    @property
    def parts(self) -> tuple[Take, ...]:
        """The same: see `viewport.members.Motion`."""
        return self.takes

    def begin(self, motions: Sequence[Playing], layout: PosePaletteLayout, fps: float) -> Playback:
        """The poses of instances that play the same takes."""
        return Playback([Instances.of(motions)], layout, fps)


def value_mesh(takes: Sequence[Take], mesh_name: str) -> str:
    """The mesh of takes that drives the shape keys of a mesh: for a copy its original."""
    has_keys = any(mesh_name in take.values.mesh_names for take in takes)
    return mesh_name if has_keys else _COPY_NUMBER.sub("", mesh_name)


_TIMING = np.dtype(
    [("take", np.intp), ("phase", "f8"), ("speed", "f8"), ("start", "f8"), ("loop", np.bool_)]
)
"""The times at which an instance plays a take: t = phase + speed (frame - start).

t is in frames of the take, the start is a frame of the scene. The take is its number among those of
the character, -1 for none. A take that is not a loop is held at its ends.
"""
INSTANCE = np.dtype(
    [("first", _TIMING), ("second", _TIMING), ("fade_start", "f8"), ("fade_frames", "f8")]
)
"""The fields of `Playing` for one instance."""


@dataclass(frozen=True, eq=False)
class Instances:
    """The takes that I instances of one character play.

    Attributes:
        takes: of all of them, fitted to the skeleton; the same objects as long as they are true.
        rows: shape (I,), of the type `INSTANCE`.
    """

    takes: tuple[Take, ...]
    rows: NDArray[np.void]

    @property
    def count(self) -> int:
        """The number of instances, I."""
        return len(self.rows)

    @classmethod
    def of(cls, playings: Sequence[Playing]) -> Instances:
        """The arrays of instances given one by one."""
        takes = tuple(dict.fromkeys(take for each in playings for take in each.takes))

        def row(timing: TakeTiming | None) -> tuple[float, ...]:
            if timing is None:
                return -1, 0.0, 0.0, 0.0, False
            take, start = takes.index(timing.take), timing.take.frame_start
            return take, timing.phase, timing.speed, start, timing.loop

        rows = [(row(p.first), row(p.second), p.fade_start, p.fade_frames) for p in playings]
        return cls(takes, np.array(rows, INSTANCE))


# By the take, and the bones that it moves.
_fitted: WeakKeyDictionary[Take, dict[str, Take]] = WeakKeyDictionary()
# By two fitted takes.
_pairs: WeakKeyDictionary[Take, WeakKeyDictionary[Take, tuple[Take, Take]]] = WeakKeyDictionary()


def playing_of(armature: bpy.types.Object, binding: Binding) -> Playing | None:
    """The takes that an armature object plays, fitted to an object below it.

    None where it plays none; then its pose counts.
    """
    playback = take_settings_of(armature).playback
    if not playback.playing:
        return None
    first = take_named(armature, playback.take)
    if first is None:
        return None

    timing = partial(TakeTiming, phase=playback.phase, speed=playback.speed, loop=playback.loop)
    second = take_named(armature, playback.second_take) if playback.second_take else None
    if second is None:
        return Playing(timing(fitted_take(first, binding)))
    former, latter = faded_takes(fitted_take(first, binding), fitted_take(second, binding))
    return Playing(timing(former), timing(latter), playback.fade_start, playback.fade_frames)


def faded_takes(first: Take, second: Take) -> tuple[Take, Take]:
    """Two takes that can be cross-faded; the same objects each time."""
    if np.array_equal(first.parents, second.parents):
        return first, second
    pairs = _pairs.setdefault(first, WeakKeyDictionary())
    if second not in pairs:
        pairs[second] = with_common_parents(first, second)
    return pairs[second]


def fitted_take(take: Take, binding: Binding) -> Take:
    """The take for the bones of a binding; the same object each time."""
    by_bones, bones = _fitted.setdefault(take, {}), equality_digest(binding.skeleton)
    if bones not in by_bones:
        by_bones[bones] = fitted(take, binding.skeleton).take
    return by_bones[bones]


_REPEATS, _BY_DUAL_QUATERNIONS = 1, 2
# Axes at rest that are off the length 1, or off right angles, by more than rounding.
_NOT_UNIT = 1e-3


class TakeTables:
    """The arrays of the takes of several characters, which all their instances share.

    Args:
        characters: the takes of each, fitted to its skeleton.

    Attributes:
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
        self._tracks: list[Float32s] = []
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
        self, groups: Sequence[InstanceGroup], characters: Sequence[Instances], fps: float
    ) -> Float32s:
        """The texels of all instances, as `instance_rows.glsl` says.

        Args:
            characters: the instances of each, whose takes are those of the tables.

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

    def _rows_of(self, group: InstanceGroup, instances: Instances, fps: float) -> Float32s:
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
        row_texels = np.zeros((instances.count, INSTANCE_STRIDE, 4), np.float32)
        row_texels[:, 0, 0] = group.first_row + group.row_count * np.arange(instances.count)
        row_texels[:, 0, 1], row_texels[:, 0, 2] = group.row_count, group.bone_rows
        row_texels[:, 0, 3] = bones[first["take"]]
        row_texels[:, 1], row_texels[:, 2, :2] = self._timings(group, takes, first, fps)
        row_texels[:, 2, 2], row_texels[:, 2, 3] = rows["fade_start"], rows["fade_frames"]
        row_texels[:, 3, 0] = -1.0
        if fades.any():
            texels, phases = self._timings(group, takes, second, fps)
            row_texels[fades, 3], row_texels[fades, 4, :2] = texels[fades], phases[fades]
        return row_texels.reshape(-1, 4)

    def _timings(
        self, group: InstanceGroup, takes: tuple[Take, ...], timings: NDArray[np.void], fps: float
    ) -> tuple[Floats, Floats]:
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
        """Pack the keys of nodes and shape keys of each take, and one key for nothing."""
        rows, frames, first = [], [], 0
        for take in takes:
            self._first_key[take] = first
            nodes, values = take.keys.key_count, take.values.keys.key_count
            keys = _still_keys(nodes + values)
            keys[:nodes, 0], keys[:nodes, 1, :3] = take.rotations, take.locations
            if take.scales is not None:
                keys[:nodes, 2, :3] = take.scales
            keys[nodes:, 1, 0] = take.values.values
            rows.append(keys)
            frames += [take.keys.frames, take.values.keys.frames]
            first += nodes + values
        self._no_key = first
        every = np.concatenate((*rows, _still_keys(1)))
        self.keys = np.ascontiguousarray(every[:, : self.key_stride]).reshape(-1, 4)
        self.key_frames = np.concatenate((*frames, [0])).astype(np.float32)

    def _pack_bones(self, takes: list[Take]) -> None:
        rows: list[Floats] = [np.zeros((0, BONE_STRIDE, 4))]
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
        """Pack the tracks of a take with these shape keys."""
        if (take, value_names) in self._first_track:
            return
        self._first_track[take, value_names] = sum(map(len, self._tracks))
        tracks = np.zeros((take.node_count + len(value_names), 2), np.float32)
        nodes, first = take.keys, self._first_key[take]
        tracks[: take.node_count, 0] = nodes.offsets[:-1] + first
        tracks[: take.node_count, 1] = np.diff(nodes.offsets)
        values, first = take.values.keys, first + nodes.key_count
        for row, name in enumerate(value_names, take.node_count):
            tracks[row] = (self._no_key, 1)
            if name in take.values.names:
                start, end = values.offsets[(at := take.values.names.index(name)) : at + 2]
                tracks[row] = (first + start, end - start)
        self._tracks.append(tracks)


def _has_scale(take: Take) -> bool:
    """Whether a node is scaled at any time, or at rest."""
    linear = take.rest[:, :3, :3]
    gram = linear.transpose(0, 2, 1) @ linear
    return take.scales is not None or bool(np.abs(gram - np.eye(3)).max(initial=0.0) > _NOT_UNIT)


def _still_keys(count: int) -> Float32s:
    """Keys that do nothing, shape (count, 3, 4): rotation, location, scale."""
    keys = np.zeros((count, 3, 4), np.float32)
    keys[:, 0, 0] = keys[:, 2, :3] = 1.0
    return keys


def _require_texels(count: int) -> None:
    if count > MAX_TEXELS:
        raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} texels for takes")


class Playback(PlayedPoses):
    """The poses of instances that play takes.

    Args:
        characters: the instances of each character.
        layout: what the meshes read of a pose; see `kernels.wanted_layout`.

    Raises:
        ValueError: of `TakeTables`.
    """

    def __init__(
        self, characters: Sequence[Instances], layout: PosePaletteLayout, fps: float
    ) -> None:
        self._fps = fps
        self._tables = TakeTables([instances.takes for instances in characters])
        groups = self._tables.groups([instances.count for instances in characters])
        super().__init__(groups, layout, scaled=self._tables.scaled)
        self._tracks = texture_from_array(self._tables.tracks, 2)
        self._key_frames = texture_from_array(self._tables.key_frames, 1)
        self._keys = texture_from_array(self._tables.keys, 4)
        self._bones = texture_from_array(self._tables.bones, 4)
        self._make_locals()
        self._instances = self._instances_texture(characters)
        self._frame: float | None = None

    def has_takes_of(self, characters: Sequence[Instances]) -> bool:
        """Whether `change` can take these instances: their takes are the same."""
        return self._tables.characters == tuple(instances.takes for instances in characters)

    def change(self, characters: Sequence[Instances]) -> None:
        """Play other instances of the same takes; nothing is made anew that keeps its size.

        Raises:
            ValueError: of `TakeTables`.
        """
        groups = self._tables.groups([instances.count for instances in characters])
        self._set_groups(groups)
        # Not for a few instances less: they may come back.
        if not self._row_capacity / 2 <= self._row_count <= self._row_capacity:
            self._make_palettes(self.scaled)
            self._make_locals()
        self._instances = self._instances_texture(characters)
        self._frame = None

    def change_to(self, motions: Sequence[Playing]) -> None:
        """Play other instances of one character."""
        self.change([Instances.of(motions)])

    def play(self, frame: float) -> bool:
        """Pose all instances at a frame; returns whether it is another one than before."""
        if frame == self._frame or not self._instance_count:
            return False
        self._frame = frame
        self.pose(frame)
        return True

    def pose(self, frame: float, chosen: InstanceList | None = None) -> None:
        """Pose instances, by default all, at a frame of the scene with its fraction."""
        try:
            self.interpolate(frame, chosen)
            self.chain(chosen)
        finally:
            gpu.shader.unbind()

    def interpolate(self, frame: float, chosen: InstanceList | None = None) -> None:
        """Interpolate keys: the first pass."""
        listed = chosen is not None
        shader = pass_shader("interpolate_keys", scaled=self.scaled, listed=listed)
        shader.bind()
        shader.uniform_float("frame", frame)
        names = ("instances", "tracks", "key_frames", "keys")
        textures = {name: getattr(self, f"_{name}") for name in names}
        self._run(shader, textures, ("locals", self.locals), chosen)

    def chain(self, chosen: InstanceList | None = None) -> None:
        """Chain bones: the second pass."""
        shader = chain_bones_shader(self.layout, self.scaled, listed=chosen is not None)
        shader.bind()
        textures = {"instances": self._instances, "bones": self._bones, "locals": self.locals}
        self._run(shader, textures, ("palettes", self.palettes), chosen)

    def _run(
        self,
        shader: GPUShader,
        textures: dict[str, GPUTexture | None],
        written: tuple[str, GPUTexture | None],
        chosen: InstanceList | None,
    ) -> None:
        count = self._instance_count
        if chosen is not None:
            every = chosen.part(0, count)
            every.bind(shader)
            count = every.count
        run_pass(shader, textures, written, self._most_rows, count)

    def _make_locals(self) -> None:
        self._row_capacity = self._row_count
        self.locals = empty_texture(self._row_count * self._tables.key_stride, "RGBA32F")

    def _instances_texture(self, characters: Sequence[Instances]) -> GPUTexture:
        return texture_from_array(self._tables.rows(self.groups, characters, self._fps), 4)


FOLLOWS = ((MOTION_SOURCES, playing_of),)
