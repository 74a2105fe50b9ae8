"""The memory that a bake to shape keys needs, and whether it may take so much."""

from __future__ import annotations

import bpy
import numpy as np

from ..arrays import Float32s
from ..errors import UserError
from ..scene.blender.mesh import mesh_of
from ..wording import sized
from .options import MemoryOptions, RangeOptions

# float32.
_BYTES_PER_VERTEX = 12

# The gathered offsets, the keys, Blender's evaluated copy of the keys, and the undo step.
_COPIES_IN_MEMORY = 4

# A bake that needs more bytes of memory has to be allowed to.
MUCH_MEMORY = 1e9


def needed_bytes(vertex_count: int, frame_count: int) -> int:
    """The bytes of the offsets of so many frames. The keys take as much in the file."""
    return frame_count * vertex_count * _BYTES_PER_VERTEX


def offsets_memory(vertex_count: int, frame_count: int) -> Float32s:
    """Memory for a vector of each vertex in each frame, shape (F, n, 3).

    Raises:
        UserError: there is too little.
    """
    try:
        return np.empty((frame_count, vertex_count, 3), np.float32)
    except MemoryError as error:
        size = sized(needed_bytes(vertex_count, frame_count))
        raise UserError(f"{size} are more memory than there is. Bake fewer frames.") from error


def memory_needed(objects: list[bpy.types.Object], options: RangeOptions) -> int:
    """About how many bytes a bake takes at its largest.

    Raises:
        UserError: the range is empty.
    """
    count = sum(len(mesh_of(obj).vertices) for obj in objects)
    return _COPIES_IN_MEMORY * needed_bytes(count, len(options.frames))


def require_memory(size: float, options: MemoryOptions, what: str, instead: str) -> None:
    """Raise `UserError` where a bake takes much memory and is not allowed to.

    Args:
        size: in bytes.
        what: needs it, for the sentence.
        instead: what the user can choose.
    """
    if size > MUCH_MEMORY and not options.much_memory:
        raise UserError(
            f"{what} need about {sized(size)} of memory. Choose {instead}, or turn on Allow over "
            "1 GB of Memory."
        )
