"""`bake cache`: point caches for other programs."""

from __future__ import annotations

from argparse import ArgumentParser

import bpy

from .. import api
from .command import Command, ObjectFacts, OpenFile, Run, each_file, report_facts
from .options import add_frames_option, add_input_options, add_output_options
from .outputs import file_target, input_files, require_outputs, suffix_of

_SUFFIXES = (".pc2", ".mdd", ".abc")


def _add_options(parser: ArgumentParser) -> None:
    add_input_options(parser)
    add_frames_option(parser, "the scene's range")
    add_output_options(
        parser, "a file that ends with .pc2, .mdd or .abc, or a folder", required=True
    )
    parser.add_argument(
        "--format",
        choices=[suffix[1:] for suffix in _SUFFIXES],
        default="pc2",
        help="of the files in a folder (default: pc2)",
    )


def _run(run: Run) -> None:
    arguments = run.arguments
    sources = input_files(arguments.files)
    suffix = suffix_of(arguments.output, _SUFFIXES, f".{arguments.format}")
    require_outputs(arguments.output, sources, suffix)

    def work(file: OpenFile) -> list[ObjectFacts] | None:
        objects = file.objects(run)
        # Alembic has all objects in one file.
        if run.object_outputs(file, objects, suffix, together=suffix == ".abc") is None:
            return None
        scene = bpy.context.scene
        first, last, step = arguments.frames or (scene.frame_start, scene.frame_end, 1)
        target = file_target(arguments.output, file.path, suffix)
        reports = api.bake_cache(
            objects, target.resolve(), first, last, step=step, progress=run.progress
        )
        for report in reports:
            run.console.say(report.sentence())
        return [facts for report in reports for facts in report_facts(report)]

    each_file(run, sources, work)


COMMANDS = (
    Command(
        "bake cache",
        "write the positions of every frame for programs that play point caches",
        (
            "bake cache --file shot.blend --frames 1-250 --output hero.pc2",
            "bake cache --file 'shots/*.blend' --format mdd --output caches/",
        ),
        _add_options,
        _run,
    ),
)
