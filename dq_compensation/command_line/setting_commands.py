"""`enable` and `disable`."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import bpy

from .. import api
from ..scene.settings.object_settings import CHARACTER_CHOICES
from .command import Command, ObjectFacts, Run, each_saved_file
from .options import add_setting_options, setting_values


def _enable(run: Run, objects: list[bpy.types.Object]) -> list[ObjectFacts]:
    values = setting_values(run.arguments)
    for number, obj in enumerate(objects):
        run.progress(number / len(objects), f"enabling {obj.name}")
        api.enable(obj, **values)
    return [{"name": obj.name_full, "settings": asdict(api.settings(obj))} for obj in objects]


def _disable(_run: Run, objects: list[bpy.types.Object]) -> list[ObjectFacts]:
    api.disable(objects)
    return [{"name": obj.name_full} for obj in objects]


COMMANDS = (
    Command(
        "enable",
        "deform characters with DQ Compensation from now on, or change their settings",
        (
            "enable --file hero.blend --output hero_dq.blend",
            "enable --file 'assets/*.blend' --method COMPENSATED --factor 0.8 --in-place",
        ),
        partial(each_saved_file, work=_enable),
        partial(add_setting_options, names=CHARACTER_CHOICES),
        saves=True,
    ),
    Command(
        "disable",
        "give characters back to their Armature modifiers",
        ("disable --file hero_dq.blend --output hero.blend",),
        partial(each_saved_file, work=_disable),
        saves=True,
    ),
)
