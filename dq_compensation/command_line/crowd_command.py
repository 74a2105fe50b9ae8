"""`bake crowd`: posed meshes of crowds, for renders without the add-on."""

from __future__ import annotations

from argparse import ArgumentParser

import bpy

from .. import api
from ..crowds.bake.crowd_baking import CrowdBakeOptions
from .bake_options import add_bake_options, chosen
from .choosing import CROWDS
from .command import Command, ObjectFacts, Run, each_saved_file
from .options import add_blend_output_options, add_input_options


def _add_options(parser: ArgumentParser) -> None:
    add_input_options(parser, objects="crowds", otherwise="all crowds")
    add_bake_options(parser, CrowdBakeOptions)
    add_blend_output_options(parser)


def _run(run: Run) -> None:
    def bake(crowds: list[bpy.types.Object]) -> list[ObjectFacts]:
        facts, options = [], chosen(run.arguments, CrowdBakeOptions)
        for number, crowd in enumerate(crowds):
            progress = run.part(number, len(crowds))
            baked = api.bake_crowd(crowd, **options, progress=progress)
            run.console.say(f"Baked {crowd.name} to {baked.name}")
            facts.append({"name": crowd.name, "baked": baked.name})
        return facts

    each_saved_file(run, bake, CROWDS)


COMMANDS = (
    Command(
        "bake crowd",
        "make posed meshes of crowds, for renders and for files without the add-on",
        ("bake crowd --file street.blend --tolerance 5 --output street_baked.blend",),
        _add_options,
        _run,
    ),
)
