"""Crowds of characters with takes."""

from __future__ import annotations

import bpy

from dq_compensation.pipeline.crowds.crowd_figures import CrowdState, figures_of_crowd
from dq_compensation.pipeline.crowds.settings import DQCompensationCrowdRole, roles_of


def add_crowd(count: int = 10, seed: int = 4) -> bpy.types.Object:
    """A crowd of the selected characters; selected and active."""
    assert bpy.ops.dqc.crowd_add(count=count, seed=seed) == {"FINISHED"}
    crowd = bpy.context.active_object
    assert crowd is not None
    return crowd


def state_of(crowd: bpy.types.Object) -> CrowdState:
    bpy.context.view_layer.update()
    return figures_of_crowd(crowd)


def problem_of(crowd: bpy.types.Object) -> str:
    """The one sentence about a crowd; empty without any."""
    problems = state_of(crowd).problems
    assert len(problems) < 2, problems
    return problems[0] if problems else ""


def role_of(crowd: bpy.types.Object, number: int = 0) -> DQCompensationCrowdRole:
    return roles_of(crowd)[number]
