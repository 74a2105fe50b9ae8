"""Bakes characters from what is read to what is reported, and says which of them deforms now.

Generators, so that a modal operator can drive them, and a script too: they yield how far they are
and return a report. Closed before they have begun to write, they leave everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import bpy
import numpy as np

from ..bake.baked_keys import acting_keys_problem
from ..bake.carriers import Onto, add_copy, let_armature_deform, remove_copy
from ..bake.errors import BakeError
from ..bake.frames import (
    VERIFIED_FRAMES,
    Gathered,
    gather,
    needed_bytes,
    verify,
    write,
)
from ..bake.key_animation import action_problem, driven_problem
from ..bake.key_names import frame_names, keys_of_pattern
from ..bake.point_cache import CacheFormat, write_cache
from ..bake.pose import bake_pose, pose_key_problem
from ..bake.shape_keys import keys_problem
from ..bake.source import Source
from ..bake.verification import Deviation
from ..core.rest_offsets import Target
from ..scene.mesh import mesh_of
from ..scene.object_settings import settings_of
from ..wording import counted
from .bake_reports import Progress, RangeOptions, RangeReport, pose_sentence, remember
from .enabling import disable

_Result = TypeVar("_Result")

# The gathered offsets, the keys, Blender's evaluated copy of the keys, and the undo step.
_COPIES_IN_MEMORY = 4


def memory_needed(objects: list[bpy.types.Object], options: RangeOptions) -> int:
    """About how many bytes a bake takes at its largest: four times the offsets.

    The offsets themselves, the keys, Blender's evaluated copy of them and the undo step.

    Raises:
        BakeError: the range is empty.
    """
    count = sum(len(mesh_of(obj).vertices) for obj in objects)
    return _COPIES_IN_MEMORY * needed_bytes(count, len(options.frames))


def bake_range(
    objects: list[bpy.types.Object], options: RangeOptions
) -> Generator[Progress, None, list[RangeReport]]:
    """Bake a range of frames of several characters.

    An object that gets keys itself is disabled: its Armature modifier deforms it then, with
    Preserve Volume as the target says. A copy is deformed like that, and the object stays as it is.

    Args:
        objects: mesh objects, enabled or not.
        options: how.

    Raises:
        BakeError: one of them cannot be baked; nothing has changed then.
    """
    scene = bpy.context.scene
    frames = options.frames
    _check(objects, options)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    sources = []
    for obj in objects:
        replaced = keys_of_pattern(obj, options.pattern) if options.overwrite else []
        sources.append(Source.of(obj, depsgraph, options.target, frozenset(replaced)))
    gathered: list[Gathered] = []
    steps = len(objects) * len(frames)
    for number, source in enumerate(sources):
        found = yield from reporting(
            gather(source, scene, frames),
            f"Baking {source.obj.name}",
            lambda done, number=number: 0.9 * (number * len(frames) + done) / steps,
        )
        gathered.append(found)
    with carriers_for(objects, options.onto) as carriers:
        names = [
            write(
                carrier,
                found,
                options.pattern,
                tolerance=options.tolerance,
                overwrite=options.overwrite,
            )
            for carrier, found in zip(carriers, gathered, strict=True)
        ]
    for carrier in carriers:
        if settings_of(carrier).is_enabled:
            disable(carrier)
        let_armature_deform(carrier, options.target)
    reports = [
        RangeReport(
            source.obj.name,
            carrier.name,
            len(frames),
            tuple(keys),
            int(np.count_nonzero(found.unreached)),
            Deviation(),
        )
        for source, carrier, keys, found in zip(sources, carriers, names, gathered, strict=True)
    ]
    gathered.clear()
    for carrier, report in zip(carriers, reports, strict=True):
        remember(carrier, report.sentence(), report.key_names)
    for number, (source, carrier) in enumerate(zip(sources, carriers, strict=True)):
        found = yield from reporting(
            verify(carrier, source, scene, frames),
            f"Checking {carrier.name}",
            lambda done, number=number: (
                0.9 + 0.1 * (number + done / VERIFIED_FRAMES) / len(sources)
            ),
            stoppable=False,
        )
        reports[number] = replace(reports[number], deviation=found)
        remember(carrier, reports[number].sentence(), reports[number].key_names)
    return reports


def bake_current_pose(
    objects: list[bpy.types.Object],
    name: str,
    target: Target = "LINEAR",
    *,
    onto: Onto = "THIS",
    overwrite: bool = False,
) -> list[str]:
    """Bake the pose of now of several characters to one shape key each.

    Args:
        objects: mesh objects, enabled or not. They stay as they are but for the key, at 0.
        name: of the key.
        target: what the Armature modifier does where the key is used; a copy is set to it.
        onto: what gets the key.
        overwrite: whether a key of that name is replaced.

    Returns:
        a sentence for each of them.

    Raises:
        BakeError: one of them cannot be baked; nothing has changed then.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        reason = pose_key_problem(obj, name, onto, overwrite=overwrite)
        reason = reason or acting_keys_problem(obj, [bpy.context.scene.frame_current_final])
        if reason is not None:
            raise BakeError(reason)
        Source.of(obj, depsgraph, target).wanted(depsgraph)
    told: list[str] = []
    with carriers_for(objects, onto) as carriers:
        for obj, carrier in zip(objects, carriers, strict=True):
            report = bake_pose(obj, carrier, name, target, overwrite=overwrite)
            if carrier != obj:
                let_armature_deform(carrier, target)
            told.append(pose_sentence(obj, carrier, report))
            remember(carrier, told[-1], (report.key_name,))
    return told


def bake_cache(
    objects: list[bpy.types.Object], options: RangeOptions, path: Path, cache_format: CacheFormat
) -> Generator[Progress, None, list[str]]:
    """Write a point cache of each character; the paths that were written are returned as sentences.

    Args:
        objects: mesh objects, enabled or not. Of several each gets a file with its name added.
        options: the range; the rest does not count.
        path: of the file; its folder exists.
        cache_format: of the file.

    Raises:
        BakeError: one of them cannot be baked, or a file cannot be written.
    """
    frames = options.frames
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        if (reason := acting_keys_problem(obj, frames)) is not None:
            raise BakeError(reason)
    sources = [Source.of(obj, depsgraph) for obj in objects]
    told: list[str] = []
    steps = len(sources) * len(frames)
    for number, source in enumerate(sources):
        name = bpy.path.clean_name(source.obj.name)
        file = path if len(sources) == 1 else path.with_name(f"{path.stem} {name}{path.suffix}")
        yield from reporting(
            write_cache(source, bpy.context.scene, frames, file, cache_format),
            f"Writing {file.name}",
            lambda done, number=number: (number * len(frames) + done) / steps,
        )
        told.append(f"Wrote {counted(len(frames), 'frame')} of {source.obj.name} to {file}.")
    return told


def _check(objects: list[bpy.types.Object], options: RangeOptions) -> None:
    """Raise `BakeError` where one of the objects cannot be baked like this."""
    frame_names(options.pattern, options.frames)
    for obj in objects:
        replaced = keys_of_pattern(obj, options.pattern) if options.overwrite else []
        reason = driven_problem(obj, replaced) or acting_keys_problem(obj, options.frames, replaced)
        if reason is None and options.onto == "THIS":
            reason = keys_problem(obj) or action_problem(obj)
        if reason is not None:
            raise BakeError(reason)


@contextmanager
def carriers_for(objects: list[bpy.types.Object], onto: Onto) -> Generator[list[bpy.types.Object]]:
    """What gets the keys; copies are taken away again where that fails."""
    copies = [add_copy(obj) for obj in objects] if onto == "COPY" else []
    try:
        for copy in copies:
            if settings_of(copy).is_enabled:
                disable(copy)
        yield copies or list(objects)
    except BaseException:
        for copy in copies:
            remove_copy(copy)
        raise


def reporting(
    steps: Generator[int, None, _Result],
    doing: str,
    share: Callable[[int], float],
    *,
    stoppable: bool = True,
) -> Generator[Progress, None, _Result]:
    """Drive a generator that counts, and say how far it is."""
    try:
        while True:
            yield Progress(share(next(steps)), doing, stoppable)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()
