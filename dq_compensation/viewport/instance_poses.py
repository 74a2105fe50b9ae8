"""Poses many instances on the GPU, by motions or by armatures that Blender has evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gpu
import numpy as np
from gpu.types import GPUShader, GPUTexture

from ..arrays import Floats, Integers
from ..core.dual_quaternion import quaternions_from_matrices
from ..core.pose import is_scaled
from ..core.skeleton import Skeleton
from ..core.vectors import unit_or
from .array_textures import empty_texture, run_pass, texture_from_array
from .gpu_objects import set_ints
from .kernels import BONE_STRIDE, INSTANCE_STRIDE, PosePaletteLayout
from .shaders import chain_bones_shader, pass_shader


def rest_rows(rest: Floats, parents: Integers) -> Floats:
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


@dataclass(frozen=True)
class InstanceGroup:
    """The instances of one character, one after the other.

    Attributes:
        first_instance, first_row: among all instances, and all their rows.
        bone_rows: the rows of a pose of one instance.
        value_names: the mesh and the name of each shape key that its motions have; each has a row
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


class InstancePoses:
    """The pose palettes of all instances.

    Attributes:
        groups: one for each character.
        layout: of each row of a palette; what all meshes want together.
        scaled: whether bones may have a scale.
        palettes: RGBA32F texture, `layout.stride` texels for each row of each instance.
        locals: RGBA32F texture, 3 texels for each row, 2 without scales: the transforms against
            parents and the values of shape keys; None where these do not come from motions.
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


class PlayedPoses(InstancePoses):
    """The poses of instances that have motions, see `members.Motion`."""

    def change_to(self, motions: Sequence[Any]) -> None:
        """Let the instances have other motions of the same parts."""
        raise NotImplementedError

    def play(self, frame: float) -> bool:
        """Pose all instances at a frame; returns whether it is another one than before."""
        raise NotImplementedError


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
