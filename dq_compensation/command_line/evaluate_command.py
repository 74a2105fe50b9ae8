"""`evaluate`: the positions of the deformed vertices."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import get_args

import bpy
import numpy as np

from .. import api
from ..bake.chunk_merging import CACHE_FORMATS
from ..bake.whole_files import written_whole
from ..core.rest_offsets import Target
from ..errors import UserError
from ..scene.animation_curves import animated_paths
from ..wording import counted
from .command import Command, ObjectFacts, OpenFile, Run, each_file
from .exit_codes import UsageError
from .options import (
    add_deformation_options,
    add_frames_option,
    add_input_options,
    add_output_options,
    frame_numbers,
)
from .outputs import file_target, input_files, require_outputs, suffix_of

# Of files that have all objects; the others have one object each.
_OF_ALL = ".npz"
_SUFFIXES = (".npy", _OF_ALL, *CACHE_FORMATS)


def _add_options(parser: ArgumentParser) -> None:
    add_input_options(parser)
    add_frames_option(parser, "the current frame alone")
    add_deformation_options(parser)
    parser.add_argument(
        "--shape-keys-for",
        choices=get_args(Target),
        help="write what bake frames --chunks needs for this Armature modifier, not positions",
    )
    add_output_options(
        parser,
        "the .npy file to write, .npz for a chunk of frames that merge joins with others, .pc2 or "
        ".mdd for a point cache, or a folder",
        required=True,
    )
    parser.add_argument(
        "--format",
        choices=[suffix[1:] for suffix in _SUFFIXES],
        default="npy",
        help="of the files in a folder (default: npy)",
    )


def _run(run: Run) -> None:
    arguments = run.arguments
    sources = input_files(arguments.files)
    suffix = suffix_of(arguments.output, _SUFFIXES, f".{arguments.format}")
    require_outputs(arguments.output, sources, suffix)
    if arguments.shape_keys_for is not None and suffix != _OF_ALL:
        raise UsageError("--shape-keys-for needs an --output that ends with .npz, or --format npz.")

    def work(file: OpenFile) -> list[ObjectFacts] | None:
        objects = file.objects(run)
        targets = run.object_outputs(file, objects, suffix, together=suffix == _OF_ALL)
        if targets is None:
            return None
        if suffix != ".npy":
            return _write_chunk(run, objects, file_target(arguments.output, file.path, suffix))
        return [_evaluate(run, obj, target) for obj, target in zip(objects, targets, strict=True)]

    each_file(run, sources, work)


def _write_chunk(run: Run, objects: list[bpy.types.Object], output: Path) -> list[ObjectFacts]:
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
    reports = api.write_chunk(
        objects,
        output.resolve(),
        first,
        last,
        step=step,
        shape_keys_for=arguments.shape_keys_for,
        progress=run.progress,
    )
    numbers = frame_numbers((first, last, step))
    for report in reports:
        run.console.say(report.sentence())
    return [{"name": obj.name_full, "frames": numbers} for obj in objects]


def _evaluate(run: Run, obj: bpy.types.Object, target: Path) -> ObjectFacts:
    frames = frame_numbers(run.arguments.frames) or [bpy.context.scene.frame_current_final]
    positions = api.evaluate_frames(
        obj,
        frames,
        method=run.arguments.method,
        factor=run.arguments.factor,
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
            "evaluate --file hero.blend --frames 1-125 --output chunks/1-125.npz",
        ),
        _add_options,
        _run,
    ),
)
