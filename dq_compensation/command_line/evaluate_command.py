"""`evaluate`: the positions of the deformed vertices."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import bpy
import numpy as np

from .. import api
from ..bake.files.object_files import object_files
from ..bake.files.whole_files import written_whole
from ..errors import UserError
from ..scene.blender.animation_curves import animated_paths
from ..scene.scene_frames import frames_of_range
from ..wording import counted
from .command import Command, ObjectFacts, Run, each_exported_file
from .options import add_deformation_options, add_export_options

_SUFFIXES = (".npy", ".pc2", ".mdd")


def _add_options(parser: ArgumentParser) -> None:
    meaning = "the .npy file to write, .pc2 or .mdd for a point cache, or a folder"
    add_export_options(parser, "the current frame alone", meaning, _SUFFIXES)
    add_deformation_options(parser)


def _run(run: Run) -> None:
    def work(objects: list[bpy.types.Object], output: Path) -> list[ObjectFacts]:
        if output.suffix.lower() != ".npy":
            return _write_cache(run, objects, output)
        targets = object_files(output, [obj.name for obj in objects])
        return [_evaluate(run, obj, target) for obj, target in zip(objects, targets, strict=True)]

    each_exported_file(run, _SUFFIXES, work)


def _write_cache(run: Run, objects: list[bpy.types.Object], output: Path) -> list[ObjectFacts]:
    arguments = run.arguments
    now = bpy.context.scene.frame_current
    first, last, step = arguments.frames or (now, now, 1)
    chosen = {"method": arguments.method, "factor": arguments.factor}
    changed = {name: value for name, value in chosen.items() if value is not None}
    for obj in objects if changed else ():
        # The file is not saved.
        api.change_settings(obj, **changed)
        if arguments.factor is not None and "dq_compensation.factor" in animated_paths(obj):
            raise UserError(
                f"The factor of {obj.name} is animated, so --factor has no effect in frames of "
                f"{output.suffix} files. Leave it out, or write .npy."
            )
    reports = api.bake_cache(
        objects, output.resolve(), first, last, step=step, progress=run.progress
    )
    numbers = frames_of_range(first, last, step)
    for report in reports:
        run.console.say(report.sentence())
    return [{"name": obj.name_full, "frames": numbers} for obj in objects]


def _evaluate(run: Run, obj: bpy.types.Object, target: Path) -> ObjectFacts:
    chosen = run.arguments.frames
    frames = frames_of_range(*chosen) if chosen else (bpy.context.scene.frame_current_final,)
    positions = api.evaluate_frames(
        obj, frames, method=run.arguments.method, factor=run.arguments.factor, progress=run.progress
    )
    with written_whole(target) as file:
        np.save(file, positions)
    run.console.say(f"Wrote {counted(len(frames), 'frame')} of {obj.name} to {target}")
    return {"name": obj.name_full, "frames": frames, "vertices": positions.shape[1]}


COMMANDS = (
    Command(
        "evaluate",
        "write the positions of the deformed vertices to files",
        (
            "evaluate --file hero.blend --frames 1-250 --output hero.npy",
            "evaluate --file 'shots/*.blend' --object 'Body*' --method COMPENSATED --output out/",
        ),
        _add_options,
        _run,
    ),
)
