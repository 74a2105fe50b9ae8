"""The memory on the GPU that objects of the viewport hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gpu.types import GPUTexture

_PIXEL_BYTES = {"R32F": 4, "RG32F": 8, "RGBA32F": 16, "RGBA16F": 8}


def gpu_bytes(owner: object, without: object = None) -> dict[str, int]:
    """The bytes of the textures that an object of ours and its parts hold, by their names.

    Args:
        without: an object of ours whose textures do not count.
    """
    seen: set[int] = set() if without is None else _visit(without, set(), Counter())
    found: Counter[str] = Counter()
    _visit(owner, seen, found)
    return dict(found)


def _visit(owner: object, seen: set[int], found: Counter[str]) -> set[int]:
    seen.add(id(owner))
    for name, held in vars(owner).items():
        for value in held.values() if isinstance(held, Mapping) else (held,):
            if id(value) in seen:
                continue
            if isinstance(value, GPUTexture):
                seen.add(id(value))
                found[name.lstrip("_")] += value.width * value.height * _PIXEL_BYTES[value.format]
            elif ".viewport." in type(value).__module__ and hasattr(value, "__dict__"):
                _visit(value, seen, found)
    return seen
