"""What *Solve Folds* costs, asked before it starts."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.folds.character_folds import FoldsReport
from dq_compensation.folds.estimate import FoldsEstimate, estimate_folds
from tests.blender.test_solve_folds import ELBOW, limit
from tests.kept_files import new_file
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")


def estimated(obj: bpy.types.Object, bones: list[str] | None = None) -> FoldsEstimate:
    return estimate_folds(obj, bpy.context.evaluated_depsgraph_get(), bones)


def limb() -> bpy.types.Object:
    """A limb whose joints bend by 45 degrees at most."""
    new_file()
    obj, armature = build_limb()
    limit(armature, 45)
    api.enable(obj)
    return obj


def test_joints_and_shapes_are_those_that_are_solved() -> None:
    obj = limb()
    before = estimated(obj, [ELBOW])
    assert not api.solved_shapes(obj)
    report = api.solve_folds(obj, [ELBOW])
    assert isinstance(report, FoldsReport)
    assert before.joints == len(report.solved)
    assert before.shapes == sum(each.poses for each in report.solved)
    # How fast a computer is, nobody knows: within a factor of 30.
    assert report.seconds / 30.0 < before.seconds < 30.0 * report.seconds


def test_more_joints_cost_more() -> None:
    obj = limb()
    one, all_joints = estimated(obj, [ELBOW]), estimated(obj)
    assert all_joints.joints > one.joints
    assert all_joints.seconds > one.seconds > 0.0
    assert all_joints.megabytes >= one.megabytes > 0.0


def test_a_deep_pose_costs_more_than_a_shallow_one() -> None:
    """Where skin touches most steps are made."""
    obj = limb()
    limit(obj.find_armature(), 80)
    shallow = estimated(obj, [ELBOW])
    limit(obj.find_armature(), 140)
    deep = estimated(obj, [ELBOW])
    assert deep.seconds / deep.shapes > 1.2 * shallow.seconds / shallow.shapes


def test_what_cannot_be_solved_is_said() -> None:
    with pytest.raises(UserError, match="no bone Nose"):
        estimated(limb(), ["Nose"])
