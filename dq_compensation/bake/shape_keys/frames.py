"""Bakes a range of frames to shape keys with keyframes, which play our deformation.

In three parts, so that nothing is half-done when the user stops it: `gather` walks through the
frames and only reads; `write` changes the object, at once; `verify` looks at the result.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...scene.blender.units import object_millimetres
from ...scene.scene_frames import frame_kept
from ...scene.shape_keys.key_animation import animate_in_turn, remove_curves, share_action
from ...scene.shape_keys.key_writing import remove_keys, write_key
from ...wording import sized
from ..bake_source import Source
from ..key_names import frame_names, keys_of_pattern
from ..key_reduction import kept_frames
from ..verification import Deviation, deviation, only_armature_shown

BYTES_PER_VERTEX = 12

# How many frames are checked after a bake.
VERIFIED_FRAMES = 10


@dataclass(frozen=True, eq=False)
class Gathered:
    """The offsets of every frame, before anything is written.

    Attributes:
        frames: the F frames, rising.
        offsets: shape (F, n, 3), float32, object space.
        unreached: shape (n,), bool; vertices that do not get where they should in some frame.
    """

    frames: tuple[int, ...]
    offsets: NDArray[np.float32]
    unreached: NDArray[np.bool_]


def needed_bytes(vertex_count: int, frame_count: int) -> int:
    """The bytes of the offsets of so many frames. The keys take as much in the file."""
    return frame_count * vertex_count * BYTES_PER_VERTEX


def offsets_memory(vertex_count: int, frame_count: int) -> NDArray[np.float32]:
    """Memory for a vector of each vertex in each frame, shape (F, n, 3).

    Raises:
        UserError: there is too little.
    """
    try:
        return np.empty((frame_count, vertex_count, 3), np.float32)
    except MemoryError as error:
        size = sized(needed_bytes(vertex_count, frame_count))
        raise UserError(f"{size} are more memory than there is. Bake fewer frames.") from error


def gather(
    source: Source, scene: bpy.types.Scene, frames: tuple[int, ...]
) -> Generator[float, None, Gathered]:
    """Read the offsets of every frame; yields the part that is done. Changes nothing.

    Closed before its end, or at it, it leaves the scene in the frame that it was in.

    Raises:
        UserError: a pose cannot be evaluated, or memory does not suffice.
    """
    count = source.vertex_count
    offsets = offsets_memory(count, len(frames))
    unreached = np.zeros(count, np.bool_)
    with frame_kept(scene):
        for done, frame in enumerate(frames):
            scene.frame_set(frame)
            found = source.offsets(bpy.context.evaluated_depsgraph_get())
            offsets[done] = found.offsets
            unreached |= found.unreached
            yield (done + 1) / len(frames)
    return Gathered(frames, offsets, unreached)


def write(
    onto: bpy.types.Object,
    gathered: Gathered,
    pattern: str,
    *,
    tolerance: float = 0.0,
    overwrite: bool = False,
) -> list[str]:
    """Write the keys and their animation.

    Args:
        onto: a mesh object without a `keys_refusal`, `action_refusal` and `driven_refusal`.
        pattern: of the names; see `frame_names`.
        tolerance: in millimetres; frames nearer to the interpolation of their neighbours get no
            key.
        overwrite: remove the keys of earlier bakes with this pattern first.

    Returns:
        the names of the keys.

    Raises:
        UserError: the pattern cannot be used; nothing has changed then.
    """
    frame_names(pattern, gathered.frames)
    unit = object_millimetres(onto, bpy.context.scene)
    kept = kept_frames(gathered.offsets, gathered.frames, tolerance / unit)
    frames = tuple(gathered.frames[index] for index in kept)
    if overwrite:
        replaced = keys_of_pattern(onto, pattern)
        remove_curves(onto, replaced)
        remove_keys(onto, replaced)
    names = [
        write_key(onto, name, gathered.offsets[index]).name
        for name, index in zip(frame_names(pattern, frames), kept, strict=True)
    ]
    animate_in_turn(onto, names, frames, share_action(onto))
    return names


def verify(
    onto: bpy.types.Object,
    source: Source,
    scene: bpy.types.Scene,
    frames: tuple[int, ...],
    most: int = VERIFIED_FRAMES,
) -> Generator[float, None, Deviation]:
    """Compare Blender's own modifier and the keys with our deformation, in some of the frames.

    Every modifier of `onto` but the Armature modifier is hidden meanwhile, and the frame changes;
    both are put back when the generator ends or is closed. Yields the part that is done.

    Args:
        frames: those that were baked, with and without keys.
        most: how many to check, evenly spread.
    """
    places = np.unique(np.linspace(0, len(frames) - 1, min(most, len(frames))).round().astype(int))
    found = Deviation()
    with frame_kept(scene), only_armature_shown(onto, source.target):
        for done, place in enumerate(places):
            scene.frame_set(frames[place])
            found = found.and_also(
                deviation(onto, source, bpy.context.evaluated_depsgraph_get(), scene)
            )
            yield (done + 1) / len(places)
    return found
