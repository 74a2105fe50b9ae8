"""Bakes ranges of frames to shape keys with keyframes, which play our deformation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import bpy
import numpy as np

from ..arrays import Float32s
from ..errors import raise_refusal
from ..scene.blender.scenes import frame_kept, object_millimetres, spread_frames
from ..scene.key_animation import (
    action_refusal,
    animate_in_turn,
    driven_refusal,
    remove_curves,
    separate_action,
    share_action,
)
from ..scene.key_writing import keys_refusal, remove_keys, write_key
from ..steps import Progress
from .bake_memory import memory_needed, offsets_memory, require_memory
from .bake_reports import RangeReport
from .bake_source import PoseOffsets, Source
from .deviations import Deviation, deviation, only_armature_shown
from .key_names import frame_names, keys_of_pattern
from .options import RangeOptions
from .shape_key_bakes import CharacterBake, bake_characters, frames_refusal

# The part of a bake's time that the frames take; the rest is the check.
_READING = 0.9

# How many frames are checked after a bake.
_VERIFIED_FRAMES = 10


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
        raise_refusal(driven_refusal(obj, names) or frames_refusal(obj, frames, names))
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
                found = self.source.offsets(
                    self.source.posed(bpy.context.evaluated_depsgraph_get())
                )
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
                wanted = self.source.posed(depsgraph).wanted
                found = found.and_also(deviation(wanted, onto, depsgraph))
                yield (done + 1) / len(frames)
        return replace(report, deviation=found)


def kept_frames(offsets: Float32s, frames: tuple[int, ...], tolerance: float) -> list[int]:
    """The frames that need a key, by the method of Ramer, Douglas and Peucker.

    A frame is left out when no vertex of it is farther than the tolerance from the linear
    interpolation between the kept frames around it. The distance is that of the offsets at rest; a
    pose without scaled bones never makes it longer (blended rotations do not stretch).

    Args:
        offsets: shape (F, n, 3), object space.
        frames: the F frames, rising.
        tolerance: in units of the object's space; 0 keeps every frame.

    Returns:
        indices of frames, rising; the first and the last are among them.
    """
    count = len(frames)
    if tolerance <= 0.0 or count <= 2:
        return list(range(count))
    kept = {0, count - 1}
    spans = [(0, count - 1)]
    while spans:
        first, last = spans.pop()
        worst, apart = _worst_between(offsets, frames, first, last)
        if apart > tolerance:
            kept.add(worst)
            spans += [(first, worst), (worst, last)]
    return sorted(kept)


def _worst_between(
    offsets: Float32s, frames: tuple[int, ...], first: int, last: int
) -> tuple[int, float]:
    """The frame between two that is farthest from their interpolation, and how far."""
    worst, largest = first, -1.0
    step = offsets[last] - offsets[first]
    length = frames[last] - frames[first]
    for index in range(first + 1, last):
        share = np.float32((frames[index] - frames[first]) / length)
        apart = offsets[index] - offsets[first]
        apart -= share * step
        square = float(np.einsum("ij,ij->i", apart, apart).max(initial=0.0))
        if square > largest:
            worst, largest = index, square
    return worst, float(np.sqrt(max(largest, 0.0)))
