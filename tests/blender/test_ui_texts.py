"""What the interface says: everything that a user sees has a name and a tooltip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import pytest

from dq_compensation.scene.settings import object_settings
from dq_compensation.ui import preferences

pytestmark = pytest.mark.usefixtures("addon")

# Shown by no panel.
UNSEEN = {"DQCompensationNativeState"}


def _operators() -> Iterator[tuple[str, Any]]:
    for name in dir(bpy.ops.dqc):
        yield f"dqc.{name}", getattr(bpy.ops.dqc, name).get_rna_type()


def _groups() -> Iterator[tuple[str, Any]]:
    for cls in (*object_settings.CLASSES, *preferences.CLASSES):
        if not issubclass(cls, bpy.types.Operator) and cls.__name__ not in UNSEEN:
            yield cls.__name__, cls.bl_rna


def _shown(of: Any) -> list[Any]:
    inherited = set(bpy.types.AddonPreferences.bl_rna.properties.keys()) | {"rna_type", "name"}
    return [each for each in of.properties if each.identifier not in inherited]


def test_each_operator_has_a_label_and_a_tooltip() -> None:
    lacking = [name for name, of in _operators() if not of.name or not of.description]
    assert lacking == []


def test_each_option_has_a_tooltip_and_so_has_each_of_its_choices() -> None:
    lacking = []
    for owner, of in (*_operators(), *_groups()):
        for each in _shown(of):
            # What is not shown has no name. Blender's own presets have some without a tooltip.
            if each.is_hidden or each.name == each.identifier or owner == "dqc.preset_add":
                continue
            if not each.description:
                lacking.append(f"{owner}.{each.identifier}")
            if each.type == "ENUM":
                items = each.enum_items
                lacking += [f"{owner}.{item.identifier}" for item in items if not item.description]
    assert lacking == []


def test_no_tooltip_ends_with_the_full_stop_that_blender_adds() -> None:
    ending = []
    for owner, of in (*_operators(), *_groups()):
        texts = [of.description] if owner.startswith("dqc.") else []
        texts += [each.description for each in _shown(of)]
        ending += [f"{owner}: {text}" for text in texts if text.endswith(".")]
    assert ending == []
