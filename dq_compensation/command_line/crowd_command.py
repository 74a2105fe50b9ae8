"""`bake crowd`: posed meshes of crowds, for renders without the add-on."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction

import bpy

from .. import api
from .bake_options import Described, add_bake_options, chosen
from .choosing import CROWDS
from .command import Command, ObjectFacts, Run, each_saved_file
from .options import add_blend_output_options, add_input_options, tolerance

_OPTIONS: dict[str, Described] = {
    "tolerance": {
        "type": tolerance,
        "metavar": "MM",
        "help": "the largest distance of a vertex from where the crowd is drawn, millimetres",
    },
    "motion_blur": {"action": BooleanOptionalAction, "help": "give the meshes velocities"},
    "modifiers": {
        "action": BooleanOptionalAction,
        "help": "give them the modifiers after the Armature modifier",
    },
}


def _add_options(parser: ArgumentParser) -> None:
    add_input_options(parser, objects="crowds", otherwise="all crowds")
    add_bake_options(parser, api.bake_crowd, _OPTIONS)
    add_blend_output_options(parser)


def _run(run: Run) -> None:
    def bake(crowds: list[bpy.types.Object]) -> list[ObjectFacts]:
        facts = []
        for number, crowd in enumerate(crowds):
            progress = run.part(number, len(crowds))
            baked = api.bake_crowd(crowd, **chosen(run.arguments, _OPTIONS), progress=progress)
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
