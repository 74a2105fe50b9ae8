"""Check: Armature modifiers that mix their results, which counts in Blender but not here."""

from __future__ import annotations

import bpy

from ...wording import listed
from ..issue import Check, Issue
from ..subject import Subject

_CHECK = "bone_features"


def find(subject: Subject) -> list[Issue]:
    """Mixed modifiers."""
    names = [
        modifier.name
        for modifier in subject.obj.modifiers
        if isinstance(modifier, bpy.types.ArmatureModifier)
        and modifier != subject.modifier
        and modifier.use_multi_modifier
        and modifier.show_viewport
    ]
    if not names:
        return []
    message = (
        f"{listed(names)} of {subject.obj.name} mixes its result with the Armature modifier "
        "before it (Multi Modifier). That one is replaced here, so it deforms the result a second "
        "time instead. Merge the two armatures, or turn it off."
    )
    return [Issue(_CHECK, "multi_modifier", "WARNING", message)]


CHECK = Check(_CHECK, find, {})
