"""`evaluate`: the positions of the deformed vertices."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from pathlib import Path

import bpy
import numpy as np

from .. import api
from ..bake.files.cache_baking import object_files
from ..bake.files.whole_files import written_whole
from ..errors import UserError
from ..scene.blender.animation_curves import animated_paths
from ..scene.scene_frames import frames_of_range
from ..wording import counted
from .command import Command, ObjectFacts, Run, each_exported_file
from .options import add_export_options, add_setting_options, setting_values

_SUFFIXES = (".npy", ".pc2", ".mdd")


def _add_options(parser: ArgumentParser) -> None:
    meaning = "the .npy file to write, .pc2 or .mdd for a point cache, or a folder"
    add_export_options(parser, "the current frame alone", meaning, _SUFFIXES)
    parser.add_argument(
        "--space",
        choices=("local", "world"),
        default="local",
        help="local for object space, world for world space, in .npy files (default: local)",
    )
    add_setting_options(parser)


def _evaluate_all(run: Run, objects: list[bpy.types.Object], output: Path) -> list[ObjectFacts]:
    if output.suffix.lower() != ".npy":
        return _write_cache(run, objects, output)
    targets = object_files(output, [obj.name for obj in objects])
    return [_evaluate(run, obj, target) for obj, target in zip(objects, targets, strict=True)]


def _write_cache(run: Run, objects: list[bpy.types.Object], output: Path) -> list[ObjectFacts]:
    if run.arguments.space != "local":
        raise UserError(
            f"{output.suffix} files are in object space. Leave out --space, or write .npy."
        )
    now, changed = bpy.context.scene.frame_current, setting_values(run.arguments)
    first, last, step = run.arguments.frames or (now, now, 1)
    for obj in objects if changed else ():
        # The file is not saved.
        api.change_settings(obj, **changed)
        if "factor" in changed and "dq_compensation.factor" in animated_paths(obj):
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
        obj,
        frames,
        **setting_values(run.arguments),
        space=run.arguments.space.upper(),
        progress=run.progress,
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
        partial(each_exported_file, suffixes=_SUFFIXES, work=_evaluate_all),
        _add_options,
    ),
)
