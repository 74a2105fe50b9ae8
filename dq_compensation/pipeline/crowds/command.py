"""The feature's command: ``bake crowd``."""

from __future__ import annotations

from functools import partial

from bpy.types import Object

from ...command_line.chosen_objects import Kind
from ...command_line.options import add_options_of, chosen, sentence_of
from ...command_line.running import Command, ObjectFacts, Run, each_saved_file
from .functions import bake_crowd, crowds


def _bake_crowds(run: Run, found: list[Object]) -> list[ObjectFacts]:
    options, facts = chosen(run.arguments, bake_crowd), []
    for number, crowd in enumerate(found):
        baked = bake_crowd(crowd, **options, progress=run.part(number, len(found)))
        facts.append({"name": crowd.name, "baked": baked.name})
    for each in facts:
        run.console.say(f"Baked {each['name']} to {each['baked']}")
    return facts


BAKE_CROWD = Command(
    "bake crowd",
    sentence_of(bake_crowd),
    ("bake crowd --file street.blend --tolerance 5 --output street_baked.blend",),
    partial(each_saved_file, work=_bake_crowds),
    partial(add_options_of, bake_crowd),
    saves=True,
    kind=Kind("crowd", "crowds", "no Empty that Add Crowd has made", crowds),
)
