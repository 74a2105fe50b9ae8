"""Bakes ranges of frames to shape keys with keyframes, which play our deformation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import UserError, raise_refusal
from ...scene.blender.mesh import mesh_of
from ...scene.blender.units import object_millimetres
from ...scene.scene_frames import frame_kept, spread_frames
from ...scene.shape_keys.acting_keys import acting_keys_refusal
from ...scene.shape_keys.key_animation import (
    action_refusal,
    animate_in_turn,
    driven_refusal,
    remove_curves,
    separate_action,
    share_action,
)
from ...scene.shape_keys.key_writing import keys_refusal, remove_keys, write_key
from ...steps import Progress
from ...wording import sized
from ..bake_reports import RangeReport
from ..bake_source import PoseOffsets, Source
from ..key_names import frame_names, keys_of_pattern
from ..key_options import MemoryOptions, RangeOptions
from ..key_reduction import kept_frames
from ..verification import Deviation, deviation, only_armature_shown
from .shape_key_bake import CharacterBake, bake_characters

# float32.
_BYTES_PER_VERTEX = 12

# The gathered offsets, the keys, Blender's evaluated copy of the keys, and the undo step.
_COPIES_IN_MEMORY = 4

# A bake that needs more bytes of memory has to be allowed to.
MUCH_MEMORY = 1e9

# The part of a bake's time that the frames take; the rest is the check.
_READING = 0.9

# How many frames are checked after a bake.
_VERIFIED_FRAMES = 10


def needed_bytes(vertex_count: int, frame_count: int) -> int:
    """The bytes of the offsets of so many frames. The keys take as much in the file."""
    return frame_count * vertex_count * _BYTES_PER_VERTEX


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


def bake_range(
    objects: list[bpy.types.Object], options: RangeOptions
) -> Generator[Progress, None, list[RangeReport]]:
    """Bake a range of frames of several characters; see `bake_characters`.

    Args:
        objects: mesh objects, enabled or not.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    frames, size = options.frames, memory_needed(objects, options)
    require_memory(size, options, f"{len(frames)} frames", "fewer, a larger step")
    frame_names(options.pattern, frames)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    bakes: list[RangeBake] = []
    for obj in objects:
        names = keys_of_pattern(obj, options.pattern) if options.overwrite else []
        raise_refusal(driven_refusal(obj, names) or acting_keys_refusal(obj, frames, names))
        if options.onto == "THIS":
            raise_refusal(keys_refusal(obj) or action_refusal(obj))
        source = Source.of(obj, depsgraph, options.target, frozenset(names))
        bakes.append(RangeBake(source, options))
    return (yield from bake_characters(bakes, options, _READING))


class RangeBake(CharacterBake[RangeOptions, PoseOffsets, RangeReport]):
    """The steps that bake the frames of one character."""

    @property
    def size(self) -> int:
        """See `CharacterBake`."""
        return len(self.options.frames)

    def gather(self) -> Generator[float, None, PoseOffsets]:
        """See `CharacterBake`."""
        scene, frames = bpy.context.scene, self.options.frames
        offsets = offsets_memory(self.source.vertex_count, len(frames))
        unreached = np.zeros(self.source.vertex_count, np.bool_)
        with frame_kept(scene):
            for done, frame in enumerate(frames):
                scene.frame_set(frame)
                found = self.source.offsets(bpy.context.evaluated_depsgraph_get())
                offsets[done] = found.offsets
                unreached |= found.unreached
                yield (done + 1) / len(frames)
        return PoseOffsets(offsets, unreached)

    def write(self, onto: bpy.types.Object, gathered: PoseOffsets) -> list[str]:
        """Write the keys and their animation; frames that interpolation replaces get no key."""
        options, every = self.options, self.options.frames
        tolerance = options.tolerance / object_millimetres(onto, bpy.context.scene)
        kept = kept_frames(gathered.offsets, every, tolerance)
        frames = tuple(every[index] for index in kept)
        if options.overwrite:
            replaced = keys_of_pattern(onto, options.pattern)
            remove_curves(onto, replaced)
            remove_keys(onto, replaced)
        names = [
            write_key(onto, name, gathered.offsets[index]).name
            for name, index in zip(frame_names(options.pattern, frames), kept, strict=True)
        ]
        animate_in_turn(onto, names, frames, share_action(onto))
        return names

    def report(
        self, onto: bpy.types.Object, gathered: PoseOffsets, names: tuple[str, ...]
    ) -> RangeReport:
        """See `CharacterBake`."""
        unreached, obj = int(np.count_nonzero(gathered.unreached)), self.source.obj
        separate = separate_action(onto)
        return RangeReport(obj.name, onto.name, names, unreached, self.size, separate)

    def verify(
        self, onto: bpy.types.Object, report: RangeReport
    ) -> Generator[float, None, RangeReport]:
        """See `CharacterBake`: in some of the frames, evenly spread."""
        scene, frames = bpy.context.scene, spread_frames(self.options.frames, _VERIFIED_FRAMES)
        found = Deviation()
        with frame_kept(scene), only_armature_shown(onto, self.source.target):
            for done, frame in enumerate(frames):
                scene.frame_set(frame)
                depsgraph = bpy.context.evaluated_depsgraph_get()
                found = found.and_also(deviation(self.source.wanted(depsgraph), onto, depsgraph))
                yield (done + 1) / len(frames)
        return replace(report, deviation=found)
