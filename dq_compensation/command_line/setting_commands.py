"""`enable` and `disable`."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict

import bpy

from .. import api
from ..scene.settings.object_settings import CHARACTER_CHOICES
from .command import Command, ObjectFacts, Run, each_saved_file
from .options import (
    add_blend_output_options,
    add_input_options,
    add_setting_options,
    setting_values,
)


def _add_enable_options(parser: ArgumentParser) -> None:
    add_input_options(parser)
    add_setting_options(parser, CHARACTER_CHOICES)
    add_blend_output_options(parser)


def _enable(run: Run) -> None:
    values = setting_values(run.arguments)

    def change(objects: list[bpy.types.Object]) -> list[ObjectFacts]:
        for number, obj in enumerate(objects):
            run.progress(number / len(objects), f"enabling {obj.name}")
            api.enable(obj, **values)
        return [{"name": obj.name_full, "settings": asdict(api.settings(obj))} for obj in objects]

    each_saved_file(run, change)


def _add_disable_options(parser: ArgumentParser) -> None:
    add_input_options(parser)
    add_blend_output_options(parser)


def _disable(run: Run) -> None:
    def change(objects: list[bpy.types.Object]) -> list[ObjectFacts]:
        for obj in objects:
            api.disable(obj)
        return [{"name": obj.name_full} for obj in objects]

    each_saved_file(run, change)


COMMANDS = (
    Command(
        "enable",
        "deform characters with DQ Compensation from now on, or change their settings",
        (
            "enable --file hero.blend --output hero_dq.blend",
            "enable --file 'assets/*.blend' --method COMPENSATED --factor 0.8 --in-place",
        ),
        _add_enable_options,
        _enable,
    ),
    Command(
        "disable",
        "give characters back to their Armature modifiers",
        ("disable --file hero_dq.blend --output hero.blend",),
        _add_disable_options,
        _disable,
    ),
)
