"""`bake cache`: point caches for other programs."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import bpy

from .. import api
from ..bake.cache_baking import SUFFIXES
from .command import Command, ObjectFacts, Run, each_exported_file, report_facts
from .options import add_file_output_options, add_frames_option, add_input_options

_SUFFIXES = tuple(SUFFIXES.values())


def _add_options(parser: ArgumentParser) -> None:
    add_input_options(parser)
    add_frames_option(parser, "the scene's range")
    meaning = "a file that ends with .pc2, .mdd or .abc, or a folder"
    add_file_output_options(parser, meaning, _SUFFIXES)


def _run(run: Run) -> None:
    def work(objects: list[bpy.types.Object], target: Path) -> list[ObjectFacts]:
        scene = bpy.context.scene
        first, last, step = run.arguments.frames or (scene.frame_start, scene.frame_end, 1)
        reports = api.bake_cache(
            objects, target.resolve(), first, last, step=step, progress=run.progress
        )
        for report in reports:
            run.console.say(report.sentence())
        return [facts for report in reports for facts in report_facts(report)]

    each_exported_file(run, _SUFFIXES, work)


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
