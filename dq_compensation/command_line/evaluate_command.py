"""`evaluate`: the positions of the deformed vertices."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import bpy
import numpy as np

from .. import api
from ..wording import counted
from .command import Command, ObjectFacts, OpenFile, Run, each_file
from .disk import beside, is_done
from .options import (
    add_deformation_options,
    add_frames_option,
    add_input_options,
    add_output_options,
    frame_numbers,
)
from .outputs import input_files, object_targets, require_outputs


def _add_options(parser: ArgumentParser) -> None:
    add_input_options(parser)
    add_frames_option(parser, "the current frame alone")
    add_deformation_options(parser)
    add_output_options(parser, "the .npy file to write, or a folder for several", required=True)


def _run(run: Run) -> None:
    arguments = run.arguments
    sources = input_files(arguments.files)
    require_outputs(arguments.output, sources, ".npy")

    def work(file: OpenFile) -> list[ObjectFacts] | None:
        objects = file.objects(run)
        targets = object_targets(arguments.output, file.path, [obj.name for obj in objects], ".npy")
        file.facts["output"] = [str(target) for target in targets]
        if arguments.skip_done and is_done(targets, file.path):
            run.console.say(f"{file.path}: nothing to do")
            return None
        return [_evaluate(run, obj, target) for obj, target in zip(objects, targets, strict=True)]

    each_file(run, sources, work)


def _evaluate(run: Run, obj: bpy.types.Object, target: Path) -> ObjectFacts:
    frames = frame_numbers(run.arguments.frames) or [bpy.context.scene.frame_current_final]
    positions = api.evaluate_frames(
        obj,
        frames,
        method=run.arguments.method,
        factor=run.arguments.factor,
        progress=run.progress,
    )
    with beside(target) as unfinished, unfinished.open("wb") as file:
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
