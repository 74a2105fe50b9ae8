"""`report`: the quality and the speed of characters."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from pathlib import Path

import bpy

from .. import api
from .command import Command, ObjectFacts, Run, each_object
from .options import number_between


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--bones",
        dest="bones",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="bones behind the joints to measure; without it all joints that bend, so those of "
        "twist bones are left out",
    )
    # Its name in version 0.1.
    parser.add_argument(
        "--bone", dest="bones", nargs="+", action="extend", default=[], help=argparse.SUPPRESS
    )
    parser.add_argument(
        "--bend",
        type=number_between(1.0, 180.0),
        default=90.0,
        metavar="DEGREES",
        help="by how much each joint is bent (default: 90)",
    )
    parser.add_argument("--no-speed", action="store_true", help="measure no milliseconds")


def _run(run: Run) -> None:
    arguments = run.arguments

    def report(source: Path, obj: bpy.types.Object) -> ObjectFacts:
        found = api.report(
            obj,
            degrees=arguments.bend,
            bones=arguments.bones,
            speed=not arguments.no_speed,
            progress=run.progress,
        )
        run.console.say(f"{source}: {found.table()}")
        return {"name": obj.name_full, **found.facts()}

    each_object(run, "measuring", report)


COMMANDS = (
    Command(
        "report",
        "measure how well the joints of characters bend, and how fast they are",
        (
            "report --file hero.blend",
            "report --file hero.blend --bones lowerarm_l lowerleg_l --bend 120",
            "report --file 'assets/*.blend' --no-speed --json quality.json",
        ),
        _run,
        _add_options,
    ),
)
