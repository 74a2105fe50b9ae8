"""A mesh that does not go where its armature goes, or is moved twice, is found and parented."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation.setup_check.checks.parenting import CHECK
from dq_compensation.setup_check.issue import FixError
from tests.blender.conftest import Human
from tests.blender.scene_builders import link
from tests.setup_check.animated_human import (
    TOLERANCE,
    find,
    fix,
    moved,
    over_frames,
    world_positions,
)
from tests.setup_check.plant_parenting import PLANTED, on_bone


@pytest.mark.parametrize(
    ("variant", "key", "severity"),
    [
        ("on_bone", "bone", "ERROR"),
        ("deformed_twice", "deformed_twice", "ERROR"),
        ("apart", "apart", "INFORMATION"),
        ("apart_and_moving", "apart", "WARNING"),
        ("parent_inverse", "parent_inverse", "INFORMATION"),
    ],
)
def test_wrong_parenting_is_found_and_fixed(
    human: Human, variant: str, key: str, severity: str
) -> None:
    PLANTED[f"parenting/{variant}"](human)
    before = world_positions(human.mesh_object)
    issue = find(CHECK, human)[key]
    assert issue.severity == severity
    assert human.mesh_object.name in issue.message
    assert human.armature_object.name in issue.message
    fix(CHECK, human, key)
    assert not find(CHECK, human)
    assert human.mesh_object.parent == human.armature_object
    if not issue.fixes[0].question or key == "apart":
        assert moved(before, world_positions(human.mesh_object)) < TOLERANCE


def test_a_good_character_has_no_finding(human: Human) -> None:
    assert not find(CHECK, human)
    carrier = link(bpy.data.objects.new("Carrier", None))
    human.mesh_object.parent = human.armature_object.parent = carrier
    assert not find(CHECK, human)
    human.mesh_object.parent = human.armature_object.parent = None
    human.armature_object.parent = human.mesh_object
    assert not find(CHECK, human)


def test_a_mesh_that_follows_by_a_constraint_has_no_finding(human: Human) -> None:
    human.mesh_object.parent = None
    constraint = human.mesh_object.constraints.new("COPY_TRANSFORMS")
    constraint.target = human.armature_object
    assert not find(CHECK, human)
    constraint.enabled = False
    assert "apart" in find(CHECK, human)


@pytest.mark.parametrize(("variant", "key"), [("on_bone", "bone"), ("apart_and_moving", "apart")])
def test_what_follows_a_mesh_that_will_be_elsewhere_is_named(
    human: Human, variant: str, key: str
) -> None:
    PLANTED[f"parenting/{variant}"](human)
    human.armature_object.pose.bones[3].rotation_quaternion = (0.9, 0.1, 0.3, 0.0)
    hat = link(bpy.data.objects.new("Hat", None))
    hat.parent = human.mesh_object
    question = find(CHECK, human)[key].fixes[0].question
    assert question.endswith("What follows it goes with it: Hat.")


def test_off_the_bone_the_mesh_is_posed_once(human: Human) -> None:
    on_bone(human)
    fix(CHECK, human, "bone")
    fixed = world_positions(human.mesh_object)
    human.mesh_object.matrix_basis.identity()
    human.mesh_object.matrix_parent_inverse.identity()
    # As it was built: straight under the armature, the same pose.
    assert moved(world_positions(human.mesh_object), fixed) < TOLERANCE


def test_off_an_unposed_bone_the_mesh_stays_and_nothing_is_asked(human: Human) -> None:
    on_bone(human)
    for bone in human.armature_object.pose.bones:
        bone.matrix_basis.identity()
    before = world_positions(human.mesh_object)
    assert find(CHECK, human)["bone"].fixes[0].question == ""
    fix(CHECK, human, "bone")
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE


def test_deformed_once_after_the_parent_type_is_object(human: Human) -> None:
    rig = human.armature_object
    PLANTED["parenting/deformed_twice"](human)
    twice = world_positions(human.mesh_object)
    fix(CHECK, human, "deformed_twice")
    once = world_positions(human.mesh_object)
    assert moved(twice, once) > 0.1
    human.mesh_object.modifiers[0].show_viewport = False
    human.mesh_object.parent_type = "ARMATURE"
    assert moved(once, world_positions(human.mesh_object)) < TOLERANCE
    assert rig == human.mesh_object.parent


def test_parented_it_follows_the_moving_armature(human: Human) -> None:
    PLANTED["parenting/apart_and_moving"](human)
    human.mesh_object.location = (0.1, 0.2, 0.0)
    human.mesh_object.delta_scale = (1.5, 1.5, 1.5)
    human.armature_object.rotation_euler = (0.1, 0.2, 0.3)
    bpy.context.scene.frame_set(1)
    issue = find(CHECK, human)["apart"]
    assert human.armature_object.animation_data.action.name in issue.message
    fix(CHECK, human, "apart")
    places = over_frames(human.mesh_object)
    # The armature moves by 0.1 in each frame, along X and eased: all vertices do alike.
    steps = places - places[0]
    assert np.ptp(steps.reshape(len(places), -1, 3), axis=1).max() < 1e-5
    assert steps[-1, 0, 0] > 0.5


def test_a_mesh_with_its_own_animation_keeps_its_keys(human: Human) -> None:
    obj = human.mesh_object
    obj.parent = None
    human.armature_object.location = (0.5, 0.2, 0.1)
    for frame in (1, 9):
        obj.location.x = 0.05 * frame
        obj.keyframe_insert("location", frame=frame)
    before = over_frames(obj)
    fix(CHECK, human, "apart")
    assert moved(before, over_frames(obj)) < TOLERANCE


def test_what_places_the_mesh_otherwise_is_refused_by_name(human: Human) -> None:
    PLANTED["parenting/refuses_constrained"](human)
    with pytest.raises(FixError, match="Copy Location"):
        fix(CHECK, human, "apart")
    assert human.mesh_object.parent is None
    human.mesh_object.constraints.clear()
    human.mesh_object.parent = human.armature_object
    PLANTED["parenting/parent_inverse"](human)
    human.mesh_object.keyframe_insert("location", frame=1)
    with pytest.raises(FixError, match="Remove these keys"):
        fix(CHECK, human, "parent_inverse")
