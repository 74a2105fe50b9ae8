"""Bakes to shape keys: the current pose, or ranges of frames with keyframes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import bpy
import numpy as np

from ..arrays import Float32s
from ..core.rest_offsets import Target
from ..errors import UserError, raise_refusal
from ..scene.blender.mesh import mesh_of
from ..scene.blender.scenes import frame_kept, object_millimetres, spread_frames
from ..scene.key_writing import (
    REFUSAL_REFERENCE,
    action_refusal,
    animate_in_turn,
    driven_refusal,
    keys_refusal,
    remove_curves,
    remove_keys,
    separate_action,
    share_action,
    write_key,
)
from ..steps import Progress, with_progress
from ..wording import sized
from .bake_reports import (
    Deviation,
    KeyReport,
    PoseReport,
    RangeReport,
    deviation,
    only_armature_shown,
    remember_report,
    still_copy,
)
from .bake_source import PoseOffsets, Source, bake_targets, let_armature_deform, show_copy
from .key_options import (
    KeyOptions,
    MemoryOptions,
    PoseOptions,
    RangeOptions,
    checked_name,
    frame_names,
    keys_of_pattern,
)

# Finds the frames that interpolation between their neighbours can replace.


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


# A bake to shape keys: it reads every character, writes all keys at once, and checks the result.
#
# Frames and correctives are baked by the same steps. The steps are generators, for a modal operator
# and for scripts: they yield the progress and return the reports. Closed before the writing begins,
# they leave everything as it was.


_Options = TypeVar("_Options", bound=KeyOptions)
_Gathered = TypeVar("_Gathered")
_Report = TypeVar("_Report", bound=KeyReport)


@dataclass(frozen=True, eq=False)
class CharacterBake(ABC, Generic[_Options, _Gathered, _Report]):
    """The steps for one character. The generators yield how much of their work is done, 0 to 1.

    Closed before its end, a generator leaves the scene, its frame and the modifiers as they were.
    """

    source: Source
    options: _Options

    @property
    @abstractmethod
    def size(self) -> int:
        """How many poses `gather` reads."""

    @abstractmethod
    def gather(self) -> Generator[float, None, _Gathered]:
        """Read the offsets; changes nothing.

        Raises:
            UserError: a pose cannot be evaluated, or memory does not suffice.
        """

    @abstractmethod
    def write(self, onto: bpy.types.Object, gathered: _Gathered) -> list[str]:
        """Write the keys to an object; returns their names."""

    @abstractmethod
    def report(
        self, onto: bpy.types.Object, gathered: _Gathered, names: tuple[str, ...]
    ) -> _Report:
        """Describe the result before it is checked."""

    @abstractmethod
    def verify(self, onto: bpy.types.Object, report: _Report) -> Generator[float, None, _Report]:
        """Compare Blender's own modifier and the keys with our deformation.

        Returns:
            the finished report.
        """


def bake_characters(
    bakes: Sequence[CharacterBake[_Options, _Gathered, _Report]],
    options: KeyOptions,
    reading: float,
) -> Generator[Progress, None, list[_Report]]:
    """Bake several characters.

    An object that gets keys itself is disabled, and its Armature modifier deforms it. A copy is
    deformed like that; the object keeps its settings and is hidden in the viewport.

    Args:
        reading: the part of the time that reading takes, 0 to 1.

    Raises:
        UserError: a character cannot be baked; nothing has changed then.
    """
    poses = max(sum(bake.size for bake in bakes), 1)
    gathered: list[_Gathered] = []
    done = 0
    for bake in bakes:
        start, length = reading * done / poses, reading * bake.size / poses
        doing = f"Baking {bake.source.obj.name}"
        gathered.append((yield from with_progress(bake.gather(), doing, start, length)))
        done += bake.size
    with bake_targets([bake.source.obj for bake in bakes], options.onto) as objects:
        names = [
            tuple(bake.write(obj, found))
            for bake, obj, found in zip(bakes, objects, gathered, strict=True)
        ]
    for obj in objects:
        let_armature_deform(obj, options.target)
    reports = [
        bake.report(obj, found, keys)
        for bake, obj, found, keys in zip(bakes, objects, gathered, names, strict=True)
    ]
    gathered.clear()
    for obj, report in zip(objects, reports, strict=True):
        remember_report(obj, report.sentence(), report.key_names)
    length = (1.0 - reading) / len(bakes)
    try:
        for number, (bake, obj) in enumerate(zip(bakes, objects, strict=True)):
            if not names[number]:
                continue
            steps, start = bake.verify(obj, reports[number]), reading + number * length
            reports[number] = yield from with_progress(
                steps, f"Checking {obj.name}", start, length, stoppable=False
            )
            remember_report(obj, reports[number].sentence(), reports[number].key_names)
    finally:
        # Also where the check is stopped.
        if options.onto == "COPY":
            for bake, obj in zip(bakes, objects, strict=True):
                show_copy(bake.source.obj, obj)
    return reports


FRAME_REFUSALS: list[
    Callable[[bpy.types.Object, Sequence[float], Collection[str]], str | None]
] = []
"""Why frames of an object cannot be baked, or None; they get the frames, rising, and the keys that
the bake replaces."""


def _frames_refusal(
    obj: bpy.types.Object, frames: Sequence[float], replaced: Collection[str] = ()
) -> str | None:
    return next(filter(None, (each(obj, frames, replaced) for each in FRAME_REFUSALS)), None)


# Bakes the current pose of characters to one shape key each.


def bake_current_pose(objects: list[bpy.types.Object], options: PoseOptions) -> list[PoseReport]:
    """Make the current pose of several characters one shape key each.

    With that key at 1 and the other keys as they are, the Armature modifier gives in this pose what
    our deformation gives. The key's value stays what it was; 0 when it is new.

    Args:
        objects: mesh objects, enabled or not. They stay as they are but for the key.

    Returns:
        a report for each of them.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    name, depsgraph = checked_name(options.name), bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        raise_refusal(_refusal(obj, name, options))
    replaced = frozenset((name,)) if options.overwrite else frozenset()
    sources = [Source.of(obj, depsgraph, options.target, replaced) for obj in objects]
    poses = [source.posed(depsgraph) for source in sources]
    offsets = [source.offsets(posed) for source, posed in zip(sources, poses, strict=True)]
    with bake_targets(objects, options.onto) as copies:
        for copy in copies:
            raise_refusal(keys_refusal(copy))
        blocks = [
            write_key(copy, name, found.offsets, overwrite=options.overwrite).name
            for copy, found in zip(copies, offsets, strict=True)
        ]
        reports = [
            PoseReport(
                obj.name,
                copy.name,
                (block,),
                int(np.count_nonzero(found.unreached)),
                _deviation_with_key(copy, block, options.target, posed.wanted),
            )
            for obj, copy, block, found, posed in zip(
                objects, copies, blocks, offsets, poses, strict=True
            )
        ]
    for obj, copy, report in zip(objects, copies, reports, strict=True):
        remember_report(copy, report.sentence(), report.key_names)
        if options.onto == "COPY":
            let_armature_deform(copy, options.target)
            show_copy(obj, copy)
    return reports


def _deviation_with_key(
    obj: bpy.types.Object, name: str, target: Target, wanted: Float32s
) -> Deviation:
    """How far Blender's own modifier with a key at 1 is from our deformation (n, 3)."""
    with still_copy(obj) as copy:
        block = mesh_of(copy).shape_keys.key_blocks[name]
        block.mute, block.slider_max, block.value = False, max(block.slider_max, 1.0), 1.0
        with only_armature_shown(copy, target):
            bpy.context.view_layer.update()
            return deviation(wanted, copy, bpy.context.evaluated_depsgraph_get())


def _refusal(obj: bpy.types.Object, name: str, options: PoseOptions) -> str | None:
    """Why the current pose cannot become a key of this name, or None."""
    key = mesh_of(obj).shape_keys
    if options.overwrite and key is not None and key.reference_key.name == name:
        return REFUSAL_REFERENCE.format(name=name, obj=obj.name)
    if options.onto == "THIS" and (reason := keys_refusal(obj)):
        return reason
    return _frames_refusal(obj, [bpy.context.scene.frame_current_final])


# Bakes ranges of frames to shape keys with keyframes, which play our deformation.


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
        raise_refusal(driven_refusal(obj, names) or _frames_refusal(obj, frames, names))
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
