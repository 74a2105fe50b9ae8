"""Check: Armature modifiers that mix their results, which counts in Blender but not here."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ...scene.settings.object_settings import settings_of
from ...wording import listed
from ..issue import Check, Issue
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """One issue that names the modifiers."""
    native = settings_of(subject.obj).native
    if native.base_left_on or not native.replaced_modifier:
        return
    names = [
        modifier.name
        for modifier in subject.obj.modifiers
        if isinstance(modifier, bpy.types.ArmatureModifier)
        and modifier != subject.modifier
        and modifier.use_multi_modifier
        and modifier.show_viewport
    ]
    if names:
        message = (
            f"{listed(names)} of {subject.obj.name} mixes its result with the Armature modifier "
            "before it (Multi Modifier). That one is replaced here, so it deforms the result a "
            "second time instead. Merge the two armatures, or turn it off."
        )
        yield Issue("mixed", "WARNING", message)


CHECK = Check("multi_modifier", find)
