"""Bakes characters to shape keys for a pose or a range of frames.

Generators, so that a modal operator and a script can run them: they yield the progress and return
the reports. Closed before they have begun to write, they leave everything as it was.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial

import bpy
import numpy as np

from ...errors import UserError
from ...scene.blender.mesh import mesh_of
from ...scene.shape_keys.key_animation import action_refusal, driven_refusal, separate_action
from ...scene.shape_keys.key_writing import keys_refusal
from ...steps import Progress
from ...wording import sized
from ..acting_keys import acting_keys_refusal
from ..bake_reports import PoseReport, RangeReport, remember
from ..bake_source import Source
from ..bake_targets import bake_targets, let_armature_deform, show_copy
from ..key_names import frame_names, keys_of_pattern
from ..key_options import PoseOptions, RangeOptions
from .frames import Gathered, gather, needed_bytes, verify, write
from .pose_key import bake_pose, pose_key_refusal
from .shape_key_bake import CharacterBake, bake_characters

# The gathered offsets, the keys, Blender's evaluated copy of the keys, and the undo step.
_COPIES_IN_MEMORY = 4

# A bake that needs more bytes of memory has to be allowed to.
MUCH_MEMORY = 1e9

# The part of a bake's time that the frames take; the rest is the check.
_READING = 0.9


REFUSAL_MEMORY = (
    "{count} frames need about {size} of memory. Choose fewer, a larger step, or turn on Allow "
    "over 1 GB of Memory."
)


def memory_needed(objects: list[bpy.types.Object], options: RangeOptions) -> int:
    """About how many bytes a bake takes at its largest.

    Raises:
        UserError: the range is empty.
    """
    count = sum(len(mesh_of(obj).vertices) for obj in objects)
    return _COPIES_IN_MEMORY * needed_bytes(count, len(options.frames))


def bake_range(
    objects: list[bpy.types.Object], options: RangeOptions
) -> Generator[Progress, None, list[RangeReport]]:
    """Bake a range of frames of several characters; see `bake_characters`.

    Args:
        objects: mesh objects, enabled or not.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    frames = options.frames
    size = memory_needed(objects, options)
    if size > MUCH_MEMORY and not options.much_memory:
        raise UserError(REFUSAL_MEMORY.format(count=len(frames), size=sized(size)))
    frame_names(options.pattern, frames)
    replaced = [
        keys_of_pattern(obj, options.pattern) if options.overwrite else [] for obj in objects
    ]
    for obj, names in zip(objects, replaced, strict=True):
        reason = driven_refusal(obj, names) or acting_keys_refusal(obj, frames, names)
        if reason is None and options.onto == "THIS":
            reason = keys_refusal(obj) or action_refusal(obj)
        if reason is not None:
            raise UserError(reason)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    sources = [
        Source.of(obj, depsgraph, options.target, frozenset(names))
        for obj, names in zip(objects, replaced, strict=True)
    ]
    bakes = [_range_bake(source, options) for source in sources]
    return (yield from bake_characters(bakes, options.target, options.onto, _READING))


def _range_bake(source: Source, options: RangeOptions) -> CharacterBake[Gathered, RangeReport]:
    """The steps that bake the frames of one character."""
    scene, frames = bpy.context.scene, options.frames

    def report(obj: bpy.types.Object, found: Gathered, names: tuple[str, ...]) -> RangeReport:
        unreached = int(np.count_nonzero(found.unreached))
        separate = separate_action(obj)
        return RangeReport(source.obj.name, obj.name, names, unreached, len(frames), separate)

    def check(obj: bpy.types.Object, report: RangeReport) -> Generator[float, None, RangeReport]:
        found = yield from verify(obj, source, scene, frames)
        return replace(report, deviation=found)

    return CharacterBake(
        source,
        len(frames),
        partial(gather, source, scene, frames),
        partial(
            write, pattern=options.pattern, tolerance=options.tolerance, overwrite=options.overwrite
        ),
        report,
        check,
    )


def bake_current_pose(objects: list[bpy.types.Object], options: PoseOptions) -> list[PoseReport]:
    """Bake the current pose of several characters to one shape key each.

    Args:
        objects: mesh objects, enabled or not. They stay as they are but for the key, at 0.

    Returns:
        a report for each of them.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    name, target, onto = options.name, options.target, options.onto
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        reason = pose_key_refusal(obj, name, onto, overwrite=options.overwrite)
        reason = reason or acting_keys_refusal(obj, [bpy.context.scene.frame_current_final])
        if reason is not None:
            raise UserError(reason)
        Source.of(obj, depsgraph, target).wanted(depsgraph)
    reports: list[PoseReport] = []
    with bake_targets(objects, onto) as copies:
        for obj, copy in zip(objects, copies, strict=True):
            report = bake_pose(obj, copy, name, target, overwrite=options.overwrite)
            reports.append(report)
            remember(copy, report.sentence(), report.key_names)
    if onto == "COPY":
        for obj, copy in zip(objects, copies, strict=True):
            let_armature_deform(copy, target)
            show_copy(obj, copy)
    return reports
