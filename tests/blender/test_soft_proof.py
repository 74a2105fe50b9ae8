"""Soft weights are tested once they were computed: what acts, what is kept, what the user says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation import api
from dq_compensation.analysis.joint_tests import MOST
from dq_compensation.lifecycle.following_softness import (
    prove_waiting,
    soften_waiting,
    unproved_objects,
)
from dq_compensation.lifecycle.reconcile import reconcile
from dq_compensation.scene.binding.soft_copy import less_soft_by_name, less_soft_joints
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.addon_preferences import soft_weights_are_proved
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.softness.operators import _go_on
from dq_compensation.softness.panel import NOT_TESTED, softness_messages
from dq_compensation.steps import run_through
from dq_compensation.ui.joints import _about
from human.dressed import TROUSERS, add_mesh, garment
from human.model import build_human, load_human_arrays
from tests.blender.enabled_scenes import check, error, rest_of, select
from tests.blender.scene_builders import evaluated_positions
from tests.blender.softness_scenes import (
    AMOUNT,
    MOVED,
    TOLERANCE,
    Scene,
    counted_computations,
    size_of,
)
from tests.kept_files import new_file
from tests.limb import BONE_LENGTH, build_posed_limb, limb_vertices
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")


def bend_at(obj: bpy.types.Object, elbow: float) -> None:
    """Let the weights of the limb change evenly around a place, in lengths of its bones."""
    along = limb_vertices()[:, 0] / BONE_LENGTH
    lower = np.clip(0.5 + (along - elbow) / 0.4, 0.0, 1.0)
    near = np.flatnonzero(along < 1.6)
    for name, weights in (("Upper", 1.0 - lower), ("Lower", lower)):
        obj.vertex_groups[name].remove(near.tolist())
        for vertex in near[weights[near] > 0.0].tolist():
            obj.vertex_groups[name].add([vertex], float(weights[vertex]), "REPLACE")


@pytest.fixture
def dressed() -> Scene:
    """A limb in a sleeve that bends at another place than the limb, and changes as the limb does.

    Its weights still rise where those of the limb begin to: the change makes them steeper.

    The sleeve and the armature.
    """
    new_file()
    body, rig = build_posed_limb()
    sleeve = body.copy()
    sleeve.data = body.data.copy()
    sleeve.data.transform(Matrix.Diagonal((1.0, 1.1, 1.1, 1.0)))
    sleeve.name = "Sleeve"
    bpy.context.collection.objects.link(sleeve)
    bend_at(body, 1.0)
    bend_at(sleeve, 0.89)
    api.enable([body, sleeve], softness=AMOUNT)
    check()
    return sleeve, rig


def proved(obj: bpy.types.Object) -> dict[str, float]:
    """How softly the weights act at the joints where they were found to stretch the skin."""
    return {name: each.softness for name, each in less_soft_by_name(SkinnedObject(obj)).items()}


def body_of(sleeve: bpy.types.Object) -> bpy.types.Object:
    return next(obj for obj in sleeve.parent.children if obj != sleeve)


def longest_edge(obj: bpy.types.Object) -> float:
    """The longest edge as Blender shows it, in its lengths at rest."""
    edges = np.array([edge.vertices for edge in obj.data.edges])
    ends = [each[edges] for each in (evaluated_positions(obj), rest_of(obj))]
    posed, rest = (np.linalg.norm(each[:, 0] - each[:, 1], axis=1) for each in ends)
    return float((posed / rest).max())


def untested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn the preference off."""
    replace_everywhere(monkeypatch, soft_weights_are_proved, lambda: False)


def computed_anew(obj: bpy.types.Object) -> None:
    """Compute the soft weights again, all of them."""
    for softness in (AMOUNT / 2.0, AMOUNT):
        settings_of(obj.parent).softness = softness
        check()


def test_a_joint_whose_edges_would_get_longer_is_less_soft(
    dressed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The elbow bent by the right angle of the test, and nothing else, as Blender shows it."""
    sleeve, rig = dressed
    assert proved(sleeve) == proved(body_of(sleeve)) == {"Lower": 0.0}
    found = less_soft_by_name(SkinnedObject(sleeve))["Lower"]
    for bone in rig.pose.bones:
        bone.rotation_euler = (np.pi / 2.0 if bone.name == "Lower" else 0.0, 0.0, 0.0)
    assert error(sleeve) <= TOLERANCE
    tested = longest_edge(sleeve)
    settings_of(rig).as_painted = True
    painted = longest_edge(sleeve)
    settings_of(rig).as_painted = False
    untested(monkeypatch)
    computed_anew(sleeve)
    assert proved(sleeve) == {}
    soft = longest_edge(sleeve)
    assert error(sleeve) <= TOLERANCE
    # The proof has found the way that stretches most: this or the other one.
    assert painted <= found.painted * (1.0 + TOLERANCE)
    assert soft <= found.soft * (1.0 + TOLERANCE)
    assert soft > MOST * painted
    assert tested == pytest.approx(painted, rel=1e-3)  # weights below 1e-4 are not written


def test_what_the_user_chooses_wins(dressed: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeve, rig = dressed
    tested = evaluated_positions(sleeve)
    bone = rig.data.bones["Lower"]
    select(sleeve)
    assert bone.dqc_softness == 0.0
    bone.dqc_softness = 1.0
    check()
    chosen = evaluated_positions(sleeve)
    assert bone.dqc_softness == 1.0
    assert error(sleeve) <= TOLERANCE
    bpy.ops.dqc.joint_softness(bone="Lower", automatic=True)
    check()
    assert bone.dqc_softness == 0.0
    np.testing.assert_allclose(evaluated_positions(sleeve), tested, atol=1e-6)
    untested(monkeypatch)
    computed_anew(sleeve)
    np.testing.assert_allclose(evaluated_positions(sleeve), chosen, atol=1e-6)
    assert np.linalg.norm(chosen - tested, axis=1).max() > MOVED * size_of(sleeve)


def test_soften_weights_writes_it(dressed: Scene) -> None:
    """As it was found, and found anew where the character is not soft."""
    sleeve, rig = dressed
    tested, objects = evaluated_positions(sleeve), [body_of(sleeve), sleeve]
    for softness in (AMOUNT, 0.0):
        settings_of(rig).softness = softness
        api.soften_weights(objects, amount=AMOUNT)
        check()
        assert settings_of(rig).softness == 0.0
        np.testing.assert_allclose(evaluated_positions(sleeve), tested, atol=1e-5)
        for obj in objects:
            api.restore_weights(obj)


def test_a_file_has_what_was_found(
    dressed: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read, and neither computed again nor changed by the preference of who opens it."""
    name, tested, path = dressed[0].name, evaluated_positions(dressed[0]), tmp_path / "file.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    computed = counted_computations(monkeypatch)
    untested(monkeypatch)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    check()
    assert proved(bpy.data.objects[name]) == {"Lower": 0.0}
    np.testing.assert_array_equal(evaluated_positions(bpy.data.objects[name]), tested)
    assert not computed


def test_what_was_saved_without_is_not_found_on_opening(
    dressed: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A render farm shows what the user has seen."""
    name, path = dressed[0].name, tmp_path / "file.blend"
    with monkeypatch.context() as patch:
        untested(patch)
        computed_anew(dressed[0])
        seen = evaluated_positions(dressed[0])
        bpy.ops.wm.save_as_mainfile(filepath=str(path))
        new_file()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    check()
    assert proved(bpy.data.objects[name]) == {}
    np.testing.assert_array_equal(evaluated_positions(bpy.data.objects[name]), seen)


def test_the_panel_and_setup_check_say_where_and_why(dressed: Scene) -> None:
    sleeve, rig = dressed
    assert "Its weights are as painted: with more softness an edge gets 2." in _about(
        sleeve, "Lower"
    )
    assert "softness" not in _about(sleeve, "Hand")
    (issue,) = (each for each in api.check(sleeve) if each.check == "soft_joints")
    assert issue.bones == ("Lower",)
    assert issue.severity == "INFORMATION"
    settings_of(rig).joint_softness = "Lower=0.5"
    check()
    assert not [each for each in api.check(sleeve) if each.check == "soft_joints"]
    assert "With more softness an edge gets 2." in _about(sleeve, "Lower")


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a session with a window: nothing is computed before a check has seen it."""
    monkeypatch.setitem(reconcile.__kwdefaults__, "at_once", False)


@pytest.fixture
def unproved(window: None, dressed: Scene) -> Scene:
    """Soft weights that were computed, and not tested yet."""
    assert run_through(soften_waiting()) == 2
    check()
    sleeve, _ = dressed
    assert less_soft_joints(SkinnedObject(sleeve)) is None
    assert unproved_objects() == [body_of(sleeve), sleeve]
    return dressed


def test_where_there_is_a_window_it_is_found_beside_the_users_work(unproved: Scene) -> None:
    sleeve, _ = unproved
    soft = evaluated_positions(sleeve)
    while _go_on() is not None:
        pass
    check()
    assert proved(sleeve) == {"Lower": 0.0}
    assert not unproved_objects()
    assert np.linalg.norm(evaluated_positions(sleeve) - soft, axis=1).max() > 1e-3
    assert error(sleeve) <= TOLERANCE


def test_esc_leaves_the_soft_weights_as_they_are(unproved: Scene) -> None:
    sleeve, _ = unproved
    soft = evaluated_positions(sleeve)
    assert _go_on() == 0.0
    assert bpy.ops.dqc.stop_softness() == {"FINISHED"}
    check()
    assert not unproved_objects()
    np.testing.assert_array_equal(evaluated_positions(sleeve), soft)


def test_what_was_stopped_is_tested_when_the_user_wants_it(unproved: Scene) -> None:
    sleeve, _ = unproved
    assert softness_messages([sleeve]) == []
    assert _go_on() == 0.0
    bpy.ops.dqc.stop_softness()
    assert softness_messages([sleeve]) == [(NOT_TESTED, True)]
    assert bpy.ops.dqc.update_softness() == {"FINISHED"}
    assert proved(sleeve) == {"Lower": 0.0}
    assert softness_messages([sleeve]) == []


def _a_slider(sleeve: bpy.types.Object) -> None:
    settings_of(sleeve.parent).softness = 0.2


def _a_weight(sleeve: bpy.types.Object) -> None:
    sleeve.vertex_groups["Lower"].add([300], 0.5, "REPLACE")
    sleeve.data.update()


@pytest.mark.parametrize("overtake", [_a_slider, _a_weight])
def test_what_changes_meanwhile_is_computed_first(
    unproved: Scene, overtake: Callable[[bpy.types.Object], None]
) -> None:
    sleeve, _ = unproved
    steps = prove_waiting()
    next(steps)
    overtake(sleeve)
    check()
    assert run_through(steps) == 0
    assert not unproved_objects()
    assert run_through(soften_waiting()) == 2
    assert run_through(prove_waiting()) == 2
    check()
    assert error(sleeve) <= TOLERANCE


def test_what_must_not_wait_is_tested_first(unproved: Scene) -> None:
    sleeve, _ = unproved
    api.evaluate(sleeve)
    assert proved(sleeve) == {"Lower": 0.0}


def test_undo_has_what_belongs_to_its_step(dressed: Scene) -> None:
    sleeve, rig = dressed
    tested, names = evaluated_positions(sleeve), (sleeve.name, rig.name)
    bpy.ops.ed.undo_push(message="Before")
    settings_of(rig).softness = 0.0
    check()
    bpy.ops.ed.undo_push(message="As Painted")
    bpy.ops.ed.undo()
    check()
    sleeve = bpy.data.objects[names[0]]
    assert proved(sleeve) == {"Lower": 0.0}
    np.testing.assert_allclose(evaluated_positions(sleeve), tested, atol=1e-6)


def test_a_leg_of_trousers_is_not_tested_apart_from_the_other_one() -> None:
    """Soft weights take the seat of the other leg along, by less than they spare this one.

    The legs of these trousers are two pieces of one mesh.
    """
    new_file()
    human, rig = build_human("default")
    trousers = add_mesh("Trousers", garment(load_human_arrays(), TROUSERS, 0.008, 0.5), rig)
    api.enable([human, trousers], look="SOFT_WITH_TWIST")
    hips = {f"{bone}.{side}" for bone in ("pelvis", "upperleg01") for side in "LR"}
    assert hips.isdisjoint(proved(trousers))
