"""Lists of instances: passes and draws take only those that they name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gpu.types import GPUShader, GPUTexture
from numpy.typing import NDArray

from ..gpu.gpu_objects import set_ints
from ..gpu.textures import texture_from_array


@dataclass(frozen=True)
class ListPart:
    """The neighbours in a list that belong to one run of instances.

    Attributes:
        texture: the list.
        start, count: of the entries.
        first: the number of the run's first instance; shaders count from there.
    """

    texture: GPUTexture
    start: int
    count: int
    first: int

    def bind(self, shader: GPUShader) -> None:
        """Give it to a bound shader that was made for lists."""
        shader.uniform_sampler("listed", self.texture)
        set_ints(shader, {"list_start": self.start, "list_first": self.first})


class InstanceList:
    """Numbers of instances over all characters, rising, shape (M,), on the GPU."""

    def __init__(self, numbers: NDArray[np.integer]) -> None:
        self.numbers = numbers
        self._texture = texture_from_array(numbers.astype(np.float32), 1)

    def part(self, first: int, count: int) -> ListPart:
        """Its part of the instances from `first` on, so many of them."""
        start, end = np.searchsorted(self.numbers, (first, first + count)).tolist()
        return ListPart(self._texture, start, end - start, first)
