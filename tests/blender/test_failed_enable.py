"""An *Enable* that fails leaves nothing behind, whatever was raised, and works the next time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import pytest

from dq_compensation import api
from dq_compensation.modifier import (
    base,
    modifier_inputs,
    our_modifiers,
    palette_object,
    soft_copies,
    written_record,
)
from dq_compensation.modifier.attributes import vertex_attributes
from dq_compensation.modifier.nodes import node_values, own_trees
from dq_compensation.scene import vertex_groups
from tests.blender.enabled_scenes import description, select
from tests.blender.scene_builders import link
from tests.limb import build_posed_limb
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")

# From the first that writes something to the last.
STEPS: tuple[Callable[..., Any], ...] = (
    palette_object.ensure_palette,
    node_values.grouped,
    vertex_attributes.write_attributes,
    base.take_over_modifier,
    own_trees.use_tree,
    our_modifiers.move_beside,
    modifier_inputs.set_inputs,
    vertex_groups.write_entries,
    modifier_inputs.drive_settings,
    written_record.remember,
)


class InjectedError(Exception):
    """No error that the add-on knows."""


def state(obj: bpy.types.Object) -> tuple[dict[str, Any], list[int], bool]:
    """All that *Enable* makes or changes."""
    hook: Any = obj.modifiers["Hook"]
    has_settings = obj.is_property_set("dq_compensation")
    return description(obj), list(hook.vertex_indices), has_settings


def hooked_limb() -> bpy.types.Object:
    """The limb, with a Hook behind its Armature modifier."""
    obj, _ = build_posed_limb()
    hook: Any = obj.modifiers.new("Hook", "HOOK")
    hook.object = link(bpy.data.objects.new("Handle", None))
    hook.vertex_indices_set([1, 2, 3])
    select(obj)
    bpy.context.view_layer.update()
    return obj


@pytest.mark.parametrize(
    ("look", "steps"),
    [
        ({}, STEPS),
        ({"softness": 0.5}, (soft_copies.ensure_soft_copy, our_modifiers.remember_roles)),
    ],
)
def test_a_failed_enable_leaves_nothing_behind(
    empty_file: None,
    look: dict[str, Any],
    steps: tuple[Callable[..., Any], ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Trees that other tests have built are not read.
    monkeypatch.setenv("DQC_KEPT_FILES", str(tmp_path))
    obj = hooked_limb()
    for name, value in look.items():
        setattr(obj.dq_compensation, name, value)
    before = state(obj)

    def fail(*_about: object, **_named: object) -> None:
        patch.undo()
        raise InjectedError("injected")

    for step in steps:
        with pytest.MonkeyPatch.context() as patch:
            replace_everywhere(patch, step, fail)
            with pytest.raises(api.UserError, match="injected"):
                api.enable(obj)
        assert state(obj) == before, step.__name__
    api.enable(obj)
    api.disable(obj)
    assert state(obj)[:2] == before[:2], "the settings stay"
