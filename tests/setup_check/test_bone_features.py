"""Bendy bones, envelopes, masks and mixed modifiers."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation.setup_check.checks.bone_features import CHECK
from dq_compensation.setup_check.evidence.envelopes import envelope_factors
from dq_compensation.setup_check.issue import FixError
from human_model import Rig

from .conftest import Human
from .moving_rigs import animate, fix, found_by, largest_change, looks
from .plant_bone_features import PLANTED

pytestmark = pytest.mark.usefixtures("addon")

# Weights are float32, and so is Blender's sum of them.
SAME = 1e-6


def test_the_human_as_made_has_no_finding(human: Human) -> None:
    assert not found_by(CHECK, human.mesh_object)


def test_envelopes_are_those_of_blender(human: Human) -> None:
    """Blender tells the envelope of a bone at a point."""
    bone = human.armature_object.data.bones["upperarm01.L"]
    bone.head_radius, bone.tail_radius, bone.envelope_distance = 0.08, 0.03, 0.2
    middle = np.array(bone.head_local)
    points = middle + np.random.default_rng(0).uniform(-0.4, 0.4, (300, 3))
    found = envelope_factors(bone, points)
    expected = [bone.evaluate_envelope(point) for point in points.tolist()]
    assert np.allclose(found, expected, atol=1e-5)  # float32
    assert 0.1 < np.mean(found > 0.0) < 0.9


def test_envelopes_become_weights_that_deform_the_same(human: Human) -> None:
    PLANTED["bone_features/envelopes"](human)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert issue.severity == "ERROR"
    assert 50 <= len(issue.vertices) <= 100
    animate(human.armature_object)
    before = looks(human.mesh_object)
    fix(CHECK, human.mesh_object, "envelopes_to_weights")
    assert not human.mesh_object.modifiers["Armature"].use_bone_envelopes
    assert largest_change(before, looks(human.mesh_object)) <= SAME


def test_envelopes_alone_become_weights_that_deform_the_same(
    human_with_rig: Callable[[Rig], Human],
) -> None:
    human = human_with_rig("cmu_mb")
    modifier = human.mesh_object.modifiers["Armature"]
    modifier.use_vertex_groups, modifier.use_bone_envelopes = False, True
    human.armature_object.data.bones["Head"].envelope_weight = 3.0
    animate(human.armature_object)
    before = looks(human.mesh_object)
    fix(CHECK, human.mesh_object, "envelopes_to_weights")
    assert modifier.use_vertex_groups
    assert largest_change(before, looks(human.mesh_object)) <= SAME


def test_envelopes_that_move_no_vertex_are_no_finding(human: Human) -> None:
    human.mesh_object.modifiers["Armature"].use_bone_envelopes = True
    assert not found_by(CHECK, human.mesh_object)


def test_a_vertex_with_a_weight_of_zero_is_not_left_to_the_envelopes(human: Human) -> None:
    PLANTED["bone_features/envelopes"](human)
    human.mesh_object.vertex_groups["head"].add(list(range(0, 13000, 130)), 0.0, "REPLACE")
    assert not found_by(CHECK, human.mesh_object)


def test_multiplied_weights_deform_the_same(human: Human) -> None:
    PLANTED["bone_features/multiplied_weights"](human)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert set(issue.bones) == {"lowerarm01.L", "lowerarm01.R"}
    animate(human.armature_object)
    before = looks(human.mesh_object)
    fix(CHECK, human.mesh_object, "multiply_weights")
    assert largest_change(before, looks(human.mesh_object)) <= SAME
    assert not found_by(CHECK, human.mesh_object)


def test_locked_groups_are_not_multiplied(human: Human) -> None:
    PLANTED["bone_features/multiplied_weights"](human)
    human.mesh_object.vertex_groups["lowerarm01.L"].lock_weight = True
    with pytest.raises(FixError, match=r"lowerarm01\.L"):
        fix(CHECK, human.mesh_object, "multiply_weights")
    assert human.armature_object.data.bones["lowerarm01.L"].use_envelope_multiply


def test_straight_bones_deform_as_the_bendy_ones_did_not(human: Human) -> None:
    animate(human.armature_object)
    straight = looks(human.mesh_object)
    PLANTED["bone_features/bendy_bones"](human)
    human.armature_object.pose.bones["lowerarm01.L"].bbone_curveoutz = 1.0
    (issue,) = found_by(CHECK, human.mesh_object)
    assert set(issue.bones) == {"lowerarm01.L", "lowerarm01.R"}
    assert largest_change(straight, looks(human.mesh_object)) > 1e-3
    fix(CHECK, human.mesh_object, "straighten_bones")
    assert largest_change(straight, looks(human.mesh_object)) == 0.0


def test_a_bendy_bone_that_deforms_nothing_is_no_finding(human: Human) -> None:
    bone = human.armature_object.data.bones["lowerarm01.L"]
    bone.bbone_segments, bone.use_deform = 4, False
    assert not found_by(CHECK, human.mesh_object)


def test_a_mask_counts_only_against_the_gpu_display(human: Human) -> None:
    PLANTED["bone_features/mask"](human)
    assert [issue.key for issue in found_by(CHECK, human.mesh_object)] == ["mask"]
    fix(CHECK, human.mesh_object, "use_modifier_display")
    assert not found_by(CHECK, human.mesh_object)


def test_a_mixed_modifier_is_named(human: Human) -> None:
    PLANTED["bone_features/mixed_modifiers"](human)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert "Second" in issue.message
    assert isinstance(human.mesh_object.modifiers["Second"], bpy.types.ArmatureModifier)
    human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
    assert not found_by(CHECK, human.mesh_object)
