"""Poses many instances on the GPU, by takes or by armatures that Blender has evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gpu
import numpy as np
from gpu.types import GPUShader, GPUTexture

from ..arrays import Floats, Integers
from ..core.pose import is_scaled
from ..core.skeleton import Skeleton
from ..pipeline.takes.played_takes import (
    INSTANCE_STRIDE,
    InstanceGroup,
    Instances,
    TakeTables,
    rest_rows,
)
from .gpu_objects import empty_texture, run_pass, set_ints, texture_from_array
from .kernels import PosePaletteLayout
from .shaders import chain_bones_shader, pass_shader


@dataclass(frozen=True)
class ListPart:
    """The entries of a list for one run of instances; they are neighbours.

    Attributes:
        start, count: of the entries.
        first: the number of the run's first instance; shaders count from there.
    """

    texture: GPUTexture
    start: int
    count: int
    first: int

    def bind(self, shader: GPUShader) -> None:
        """Give the entries to a bound shader that was made for lists."""
        shader.uniform_sampler("listed", self.texture)
        set_ints(shader, {"list_start": self.start, "list_first": self.first})


class InstanceList:
    """The numbers of M chosen instances among those of all characters, rising, on the GPU."""

    def __init__(self, numbers: Integers) -> None:
        self.numbers = numbers
        self._texture = texture_from_array(numbers.astype(np.float32), 1)

    def part(self, first: int, count: int) -> ListPart:
        """The entries for the `count` instances from `first` on."""
        start, end = np.searchsorted(self.numbers, (first, first + count)).tolist()
        return ListPart(self._texture, start, end - start, first)


# A take is played in two passes, each one dispatch for all instances of all characters: what the
# keys say of each bone, then the product down the hierarchy. `deformed_mesh` skins by the result.


class InstancePoses:
    """The pose palettes of all instances.

    Attributes:
        groups: one for each character.
        layout: of each row of a palette; what all meshes want together.
        scaled: whether bones may have a scale.
        palettes: RGBA32F texture, `layout.stride` texels for each row of each instance.
        locals: RGBA32F texture, 3 texels for each row, 2 without scales: the transforms against
            parents and the values of shape keys; None where the poses do not come from takes.
    """

    def __init__(
        self, groups: Sequence[InstanceGroup], layout: PosePaletteLayout, *, scaled: bool
    ) -> None:
        self._wanted = layout
        self._set_groups(groups)
        self._make_palettes(scaled)
        self.locals: GPUTexture | None = None

    def _make_palettes(self, scaled: bool) -> None:
        """Make the palettes, with or without room for the scales of bones."""
        self.scaled = scaled
        self.layout = self._wanted.with_scales() if scaled else self._wanted
        self.palettes = empty_texture(self._row_count * self.layout.stride, "RGBA32F")

    def _set_groups(self, groups: Sequence[InstanceGroup]) -> None:
        self.groups = tuple(groups)
        self._row_count = sum(group.count * group.row_count for group in groups)
        self._instance_count = sum(group.count for group in groups)
        self._most_rows = max((group.row_count for group in groups), default=0)


@dataclass(frozen=True)
class PosedGroup:
    """The poses of some instances of a group, for a pass.

    Attributes:
        first: the first of the instances, counted in the group.
        chosen: those that the pass is for; None: all.
    """

    poses: InstancePoses
    group: InstanceGroup
    first: int = 0
    chosen: ListPart | None = None

    @property
    def listed(self) -> bool:
        """Whether instances are chosen."""
        return self.chosen is not None

    def count(self, every: int) -> int:
        """The number of instances of the pass, out of so many."""
        return every if self.chosen is None else self.chosen.count

    def shader(self, name: str, *, scaled: bool = False) -> GPUShader:
        """A shader of `shaders.PASSES` that reads the poses, bound."""
        shader = pass_shader(name, self.poses.layout, scaled=scaled, listed=self.listed)
        shader.bind()
        self.bind(shader)
        return shader

    def bind(self, shader: GPUShader) -> None:
        """Give the poses to a bound shader."""
        shader.uniform_sampler("palettes", self.poses.palettes)
        rows = self.group.row_count
        start = self.group.first_row + self.first * rows
        set_ints(shader, {"instance_first_row": start, "instance_rows": rows})
        if self.chosen is not None:
            self.chosen.bind(shader)


class Playback(InstancePoses):
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


class GivenPoses(InstancePoses):
    """The poses of `count` instances of one character as matrices, uploaded together."""

    def __init__(self, skeleton: Skeleton, count: int, layout: PosePaletteLayout) -> None:
        size = skeleton.row_count
        super().__init__([InstanceGroup(0, 0, count, size)], layout, scaled=True)
        rows = np.zeros((count, INSTANCE_STRIDE, 4))
        rows[:, 0, 0] = size * np.arange(count)
        rows[:, 0, 1:3] = size
        self._instances = texture_from_array(rows.reshape(-1, 4), 4)
        bones = rest_rows(skeleton.frames, np.full(size, -1))
        self._bones = texture_from_array(bones.reshape(-1, 4), 4)

    def upload(self, matrices: Floats) -> None:
        """Take the poses of all instances: D of all their rows, shape (rows, 3 or 4, 4)."""
        given = texture_from_array(matrices[:, :3].reshape(-1, 4), 4)
        # Without scales skinning takes two thirds of the time. A look at many poses takes too long.
        scaled = self._instance_count > 1 or bool(is_scaled(matrices[:, :3, :3]).any())
        if scaled != self.scaled:
            self._make_palettes(scaled)
        shader = chain_bones_shader(self.layout, self.scaled, given=True)
        textures = {"instances": self._instances, "bones": self._bones, "matrices": given}
        palettes = ("palettes", self.palettes)
        try:
            shader.bind()
            run_pass(shader, textures, palettes, self._most_rows, self._instance_count)
        finally:
            gpu.shader.unbind()
