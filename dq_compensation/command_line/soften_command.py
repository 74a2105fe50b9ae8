"""`soften`: spreads weights over more of the limbs, or puts the painted ones back."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial

import bpy

from .. import api
from ..scene.weights.softening import SofteningOptions, restoring_refusal
from .command import Command, ObjectFacts, Run, each_saved_file, said_facts
from .options import add_bake_options, chosen


def _add_options(parser: ArgumentParser) -> None:
    add_bake_options(parser, SofteningOptions, title="softening")
    parser.add_argument(
        "--put-back",
        action="store_true",
        help="instead, give softened meshes the weights from before back",
    )


def _soften(run: Run, objects: list[bpy.types.Object]) -> list[ObjectFacts]:
    if not run.arguments.put_back:
        options = chosen(run.arguments, SofteningOptions)
        return said_facts(run, api.soften_weights(objects, **options, progress=run.progress))
    # As the button: what was not softened stays, unless nothing was.
    softened = [obj for obj in objects if restoring_refusal(obj) is None] or objects
    api.restore_weights(softened)
    return [{"name": obj.name_full} for obj in softened]


COMMANDS = (
    Command(
        "soften",
        "spread weights over more of the limbs, for softer folds and twists",
        (
            "soften --file hero.blend --output hero_soft.blend",
            "soften --file hero.blend --amount 0.7 --influences 4 --body Body --in-place",
        ),
        partial(each_saved_file, work=_soften),
        _add_options,
        saves=True,
    ),
)
