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
    seen, found = set[int](), Counter[str]()
    if without is not None:
        _count("", without, seen, Counter())
    _count("", owner, seen, found)
    return dict(found)


def _count(name: str, held: object, seen: set[int], found: Counter[str]) -> None:
    if id(held) in seen:
        return
    if isinstance(held, GPUTexture):
        seen.add(id(held))
        found[name] += held.width * held.height * _PIXEL_BYTES[held.format]
    elif isinstance(held, Mapping):
        for key, value in held.items():
            _count(key if isinstance(key, str) else name, value, seen, found)
    elif isinstance(held, tuple | list):
        for value in held:
            _count(name, value, seen, found)
    elif ".viewport." in type(held).__module__ and hasattr(held, "__dict__"):
        seen.add(id(held))
        for key, value in vars(held).items():
            _count(key.lstrip("_"), value, seen, found)
