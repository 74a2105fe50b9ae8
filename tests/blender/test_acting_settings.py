"""Which settings act: the panel, the notes and the checks ask what deforms, not what was chosen.

The independent answer is the deformed limb: a setting acts where changing it moves a vertex, by at
least 1e-4 of the limb's size, ten times what float32 leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import MagicMock

import bpy
import numpy as np
import pytest

import dq_compensation
from dq_compensation import api
from dq_compensation.lifecycle.notes import find_notes
from dq_compensation.painting import panel
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.setup_check.checks import bone_groups, weight_transition
from dq_compensation.ui import panels
from dq_compensation.ui_shared.sentences import draw_sentence
from dq_compensation.viewport.gpu_objects import drawing_refusal
from tests.blender.recorded_layout import RecordedLayout
from tests.limb import build_posed_limb
from tests.replaced_functions import replace_everywhere
from tests.setup_check.plant_weight_transition import cylinder
from tests.setup_check.test_unweighted_vertices import subject_of

LEAST = 1e-4
BY_EXAMPLE = "SPHERICAL_JOINT_BY_EXAMPLE"
# What the user chose, and the base of the examples.
CHOSEN = [
    ("LINEAR", "COMPENSATED"),
    ("DUAL_QUATERNION", "COMPENSATED"),
    ("COMPENSATED", "SPHERICAL_JOINT"),
    ("SPHERICAL_JOINT", "COMPENSATED"),
    (BY_EXAMPLE, "COMPENSATED"),
    (BY_EXAMPLE, "SPHERICAL_JOINT"),
]
OTHER_VALUES = {
    "factor": 0.5,
    "curve": "FITTED",
    "limb_axis": "X",
    "vertex_group": "Half",
    "blend_group": "Half",
}


@pytest.fixture(scope="module")
def limb() -> Iterator[bpy.types.Object]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    obj, _ = build_posed_limb()
    write_groups(obj, {"Half": np.full(len(obj.data.vertices), 0.5)})
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    yield obj
    dq_compensation.unregister()


@pytest.fixture(params=CHOSEN, ids=["-".join(chosen) for chosen in CHOSEN])
def chosen(request: pytest.FixtureRequest, limb: bpy.types.Object) -> bpy.types.Object:
    limb.dq_compensation.method, limb.dq_compensation.example_base = request.param
    return limb


def drawn_settings(obj: bpy.types.Object) -> set[str]:
    """The settings that are not grey: rows keep their places."""
    layout = RecordedLayout()
    panels._sliders(layout, obj)
    panels._method(layout, bpy.context, obj)
    panels._groups(layout, obj)
    return set(layout.names("prop", active_only=True)) & set(OTHER_VALUES)


def moves(obj: bpy.types.Object, name: str) -> bool:
    settings = obj.dq_compensation
    before, present = api.evaluate(obj), getattr(settings, name)
    setattr(settings, name, OTHER_VALUES[name])
    after = api.evaluate(obj)
    setattr(settings, name, present)
    return bool(np.abs(after - before).max() > LEAST * np.ptp(before, axis=0).max())


def test_the_panel_draws_the_settings_that_act(chosen: bpy.types.Object) -> None:
    expected = {name for name in OTHER_VALUES if moves(chosen, name)}
    if chosen.dq_compensation.method == BY_EXAMPLE:
        expected.add("limb_axis")  # example poses look at the limbs; this limb has none
    assert drawn_settings(chosen) == expected


def test_a_missing_group_is_noted_where_it_would_act(chosen: bpy.types.Object) -> None:
    acting = drawn_settings(chosen)
    for name in ("vertex_group", "blend_group"):
        setattr(chosen.dq_compensation, name, "Lost")
        notes = " ".join(find_notes(SkinnedObject(chosen)))
        setattr(chosen.dq_compensation, name, "")
        assert ("Lost" in notes) == (name in acting)


def test_the_overlay_says_where_nothing_compensates(
    chosen: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    words: list[str] = []
    replace_everywhere(monkeypatch, drawing_refusal, lambda: None)
    replace_everywhere(monkeypatch, draw_sentence, lambda *args: words.append(args[2]))
    chosen.dq_compensation.overlay = "COMPENSATION"
    panel.draw_overlay(MagicMock(), MagicMock(), chosen)
    chosen.dq_compensation.overlay = "NONE"
    says_so = "This method does not compensate." in words
    assert says_so == ("factor" not in drawn_settings(chosen))


@pytest.fixture(scope="module")
def narrow(limb: bpy.types.Object) -> bpy.types.Object:
    return cylinder(0.3)[0]


@pytest.mark.parametrize(("method", "base"), CHOSEN)
def test_the_curve_is_judged_where_the_method_compensates(
    narrow: bpy.types.Object, method: str, base: str
) -> None:
    settings = narrow.dq_compensation
    settings.method, settings.example_base = method, base
    (issue,) = weight_transition.WEIGHT_TRANSITION.find(subject_of(narrow))
    # They fold the skin with every method; the curve is judged where it acts.
    assert "faster than a third of the limb's radius" in issue.message
    judged = "The outside of a bend" in issue.message
    assert judged == ("COMPENSATED" in (method, base if method == BY_EXAMPLE else ""))


@pytest.mark.parametrize(("method", "base"), CHOSEN)
def test_joints_are_asked_for_where_vertices_turn_about_them(
    limb: bpy.types.Object, method: str, base: str
) -> None:
    settings = limb.dq_compensation
    settings.method, settings.example_base = method, base
    limb.vertex_groups["Hand"].add([0], 0.5, "REPLACE")  # with Upper: no joint in common
    found = bone_groups.SHARED_JOINTS.find(subject_of(limb))
    limb.vertex_groups["Hand"].remove([0])
    assert bool(found) == ("SPHERICAL_JOINT" in (method, base if method == BY_EXAMPLE else ""))
