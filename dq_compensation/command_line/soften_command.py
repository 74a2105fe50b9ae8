"""`soften`: spreads weights over more of the limbs, or puts the painted ones back."""

from __future__ import annotations

from argparse import ArgumentParser

import bpy

from .. import api
from ..scene.weights.softening import SofteningOptions
from .bake_options import add_bake_options, chosen
from .command import Command, ObjectFacts, Run, each_saved_file, said_facts
from .options import add_blend_output_options, add_input_options


def _add_options(parser: ArgumentParser) -> None:
    add_input_options(parser)
    add_bake_options(parser, SofteningOptions, title="softening")
    parser.add_argument(
        "--put-back", action="store_true", help="give the weights from before back instead"
    )
    add_blend_output_options(parser)


def _soften(run: Run) -> None:
    options = chosen(run.arguments, SofteningOptions)

    def change(objects: list[bpy.types.Object]) -> list[ObjectFacts]:
        if not run.arguments.put_back:
            return said_facts(run, api.soften_weights(objects, **options, progress=run.progress))
        for obj in objects:
            api.restore_weights(obj)
        return [{"name": obj.name_full} for obj in objects]

    each_saved_file(run, change)


COMMANDS = (
    Command(
        "soften",
        "spread weights over more of the limbs, for softer folds and twists",
        (
            "soften --file hero.blend --output hero_soft.blend",
            "soften --file hero.blend --amount 0.7 --influences 4 --body Body --in-place",
        ),
        _add_options,
        _soften,
    ),
)
