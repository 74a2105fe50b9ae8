"""Comparing with Blender's own deformation: the toggle, and the key that is held."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation.lifecycle.enabling import enable_all
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.ui.operators import (
    DQC_OT_compare_volume,
    shortcut,
    show_methods,
    show_plain,
)
from tests.blender.enabled_scenes import enable, select
from tests.blender.scene_builders import evaluated_positions
from tests.limb import build_limb, build_posed_limb, pose_limb
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")


@pytest.mark.parametrize(
    ("method", "volume"),
    # Of a joint that two bones share, SPHERICAL_JOINT makes what Preserve Volume does.
    [("COMPENSATED", False), ("COMPENSATED", True), ("SPHERICAL_JOINT", False)],
)
def test_held_it_is_what_the_armature_modifier_gives(method: str, volume: bool) -> None:
    obj, rig = build_limb()
    obj.modifiers[0].use_deform_preserve_volume = volume
    pose_limb(rig)
    plain = evaluated_positions(obj)
    settings_of(obj).method = method
    enable(obj)
    ours = evaluated_positions(obj)
    methods = show_plain([obj])
    # Our tree, or Blender's modifier with our tree after it: float32, on a limb of length 2.
    assert np.abs(evaluated_positions(obj) - plain).max() < 1e-5
    show_methods(methods)
    assert settings_of(obj).method == method
    assert np.array_equal(evaluated_positions(obj), ours)
    assert np.abs(ours - plain).max() > 1e-2


@pytest.mark.parametrize("volume", [False, True])
def test_preserve_volume_is_compared_with_whatever_the_modifier_had(volume: bool) -> None:
    obj, _ = build_posed_limb()
    modifier = obj.modifiers[0]
    modifier.use_deform_preserve_volume = True
    expected = evaluated_positions(obj)
    modifier.use_deform_preserve_volume = volume
    enable(obj)
    ours = evaluated_positions(obj)
    methods = show_plain([obj], DQC_OT_compare_volume.method)
    # As above.
    assert np.abs(evaluated_positions(obj) - expected).max() < 1e-5
    show_methods(methods)
    assert np.array_equal(evaluated_positions(obj), ours)


def test_toggling_twice_is_as_before() -> None:
    obj, _ = build_posed_limb()
    plain = evaluated_positions(obj)
    enable(obj)
    settings_of(obj).factor = 0.5
    ours = evaluated_positions(obj)
    assert bpy.ops.dqc.toggle() == {"FINISHED"}
    assert np.array_equal(evaluated_positions(obj), plain)
    assert bpy.ops.dqc.toggle() == {"FINISHED"}
    assert np.array_equal(evaluated_positions(obj), ours)


def test_a_refusal_of_the_toggle_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    build_limb()
    refused = "Limb has no vertices."
    replace_everywhere(monkeypatch, enable_all, lambda *_args: ([], [refused]))
    with pytest.raises(RuntimeError, match=refused) as error:
        bpy.ops.dqc.toggle()
    assert "Traceback" not in str(error.value)


def test_nothing_is_toggled_where_no_character_is_selected() -> None:
    select()
    assert not bpy.ops.dqc.toggle.poll()
    assert not bpy.ops.dqc.compare.poll()


def test_the_panel_can_name_the_shortcuts() -> None:
    keys = {"dqc.compare": "D", "dqc.compare_volume": "V", "dqc.toggle": "D"}
    for operator, key in keys.items():
        assert key in shortcut(operator).split()
