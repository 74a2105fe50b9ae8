"""Softness of joints: whose weights are as painted, what follows, and what the panel does."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.analysis.soft_weights import soft_weights
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import Settings, settings_of
from dq_compensation.session.memory import memories
from dq_compensation.softness.softening import ReadSkins
from dq_compensation.ui.joints import JointsPanel
from tests.blender.enabled_scenes import check, enable, error, select
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import evaluated_positions
from tests.blender.softness_scenes import MOVED, TOLERANCE, Scene, painted_in, size_of, soft_limb
from tests.kept_files import new_file
from tests.limb import BONE_LENGTH, build_posed_limb, limb_vertices
from tests.replaced_functions import count_calls

pytestmark = pytest.mark.usefixtures("addon")

# Weights are float32, and those below 1e-4 are not written.
WEIGHTS = 2e-4


@pytest.fixture
def limb() -> Scene:
    return soft_limb()


def weights_of(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (n, 3), those that act."""
    return bind(obj).influences.dense(3)


def test_at_0_the_skin_of_a_joint_has_its_painted_weights(limb: Scene) -> None:
    obj, _ = limb
    soft, painted = weights_of(obj), bind(obj, painted=True).influences.dense(3)
    settings_of(obj).joint_softness = "Lower=0"
    check()
    found, along = weights_of(obj), limb_vertices()[:, 0] / BONE_LENGTH
    for joint, expected in ((1, painted), (2, soft)):
        near = np.abs(along - joint) < 0.4
        np.testing.assert_allclose(found[near], expected[near], atol=WEIGHTS)
        assert np.abs(soft - painted)[near].max() > 0.05
    assert error(obj) <= TOLERANCE


def test_half_is_between(limb: Scene) -> None:
    obj, _ = limb
    soft, painted = weights_of(obj), bind(obj, painted=True).influences.dense(3)
    settings_of(obj).joint_softness = "Lower=0.5, Hand=0.5"
    check()
    np.testing.assert_allclose(weights_of(obj), 0.5 * (soft + painted), atol=WEIGHTS)
    assert error(obj) <= TOLERANCE


def test_soften_weights_writes_what_softness_shows(limb: Scene) -> None:
    obj, _ = limb
    settings_of(obj).joint_softness = "Lower=0.25"
    check()
    painted_in(obj)


def test_a_slider_that_moves_softens_nothing_anew(
    limb: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = limb
    whole = evaluated_positions(obj)
    calls = count_calls(monkeypatch, soft_weights)
    settings_of(obj).joint_softness = "Lower=0.25"
    check()
    assert not calls
    less = evaluated_positions(obj)
    memories(ReadSkins).clear()
    settings_of(obj).joint_softness = ""
    check()
    assert calls
    np.testing.assert_allclose(evaluated_positions(obj), whole, atol=1e-6)
    assert np.linalg.norm(less - whole, axis=1).max() > MOVED * size_of(obj)


def test_it_follows_names_and_copies_and_is_undone(limb: Scene) -> None:
    obj, rig = limb
    bpy.ops.ed.undo_push(message="Before")
    name, whole = obj.name, evaluated_positions(obj)
    settings_of(rig).joint_softness = "Lower=0, Hand=0.4"
    check()
    less = evaluated_positions(obj)
    bpy.ops.ed.undo_push(message="Softness of Joint")
    rig.data.bones["Lower"].name = "elbow, left"
    check()
    assert settings_of(obj).joint_softness == '"elbow, left=0", Hand=0.4'
    np.testing.assert_array_equal(evaluated_positions(obj), less)
    assert error(obj) <= TOLERANCE
    bpy.ops.ed.undo_push(message="Name")
    bpy.ops.ed.undo()
    bpy.ops.ed.undo()
    check()
    obj = bpy.data.objects[name]
    assert settings_of(obj).joint_softness == ""
    np.testing.assert_allclose(evaluated_positions(obj), whole, atol=1e-6)


def test_the_slider_the_operator_and_both_sides() -> None:
    new_file()
    (obj, rig), (other, _) = build_posed_limb(), build_posed_limb("Other")
    for each in (obj, other):
        enable(each)
    select(obj, other)
    bone = rig.data.bones["Lower"]
    assert bone.dqc_softness == 1.0
    bone.dqc_softness = 0.25
    assert bone.dqc_softness == 0.25
    for each in (obj, other):
        assert Settings.of(each).softness_of_joints == {"Lower": 0.25}
    bone.dqc_softness = 1.0  # a choice, too
    assert Settings.of(obj).softness_of_joints == {"Lower": 1.0}
    bpy.ops.dqc.joint_softness(bone="Lower", automatic=True)
    assert Settings.of(obj).softness_of_joints == {}
    bpy.ops.dqc.joint_softness(bone="Hand.L", softness=0.5, both_sides=True)
    assert Settings.of(obj).softness_of_joints == {"Hand.L": 0.5, "Hand.R": 0.5}
    with pytest.raises(RuntimeError, match="Name the bone"):
        bpy.ops.dqc.joint_softness(softness=0.5)


@pytest.mark.parametrize("text", ["Lower=2", "Lower", "=0.5", "Nobody=0.5"])
def test_scripts_are_told_what_is_no_softness(text: str) -> None:
    new_file()
    obj, _ = build_posed_limb()
    api.enable(obj, joint_softness="Lower=0.5")
    with pytest.raises(api.UserError):
        api.change_settings(obj, joint_softness=text)
    assert Settings.of(obj).softness_of_joints == {"Lower": 0.5}


def test_the_panel_has_a_slider_for_the_active_bone_and_a_cross_for_a_choice(limb: Scene) -> None:
    obj, rig = limb
    select(obj)
    rig.data.dqc_active_joint = rig.data.bones.find("Lower")

    def drawn() -> list[str]:
        layout = RecordedLayout()
        JointsPanel.fill(layout, bpy.context, obj)  # type: ignore[arg-type]
        found = [*layout.names("prop"), *layout.names("operator")]
        return [name for name in found if "softness" in name]

    assert drawn() == ["dqc_softness"]
    rig.data.bones["Lower"].dqc_softness = 0.5
    assert drawn() == ["dqc_softness", "dqc.joint_softness"]
    settings_of(rig).softness = 0.0  # what stands below keeps its place
    assert drawn() == ["dqc_softness", "dqc.joint_softness"]
