"""`bake cache`: point caches for other programs."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import bpy

from .. import api
from ..bake.files.cache_baking import SUFFIXES
from .command import Command, ObjectFacts, Run, each_exported_file, said_facts
from .options import add_export_options, frames_of_scene

_SUFFIXES = tuple(SUFFIXES.values())


def _add_options(parser: ArgumentParser) -> None:
    meaning = "a file that ends with .pc2, .mdd or .abc, or a folder"
    add_export_options(parser, "the scene's range", meaning, _SUFFIXES)


def _run(run: Run) -> None:
    def work(objects: list[bpy.types.Object], target: Path) -> list[ObjectFacts]:
        first, last, step = frames_of_scene(run.arguments)
        reports = api.bake_cache(
            objects, target.resolve(), first, last, step=step, progress=run.progress
        )
        return said_facts(run, reports)

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
