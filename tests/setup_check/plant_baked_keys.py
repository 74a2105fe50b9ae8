"""Humans whose keys were baked for Blender's own modifier, enabled all the same."""

from __future__ import annotations

import bpy

from dq_compensation.pipeline.correctives.corrective_drivers import drive_keys
from dq_compensation.pipeline.correctives.corrective_joints import (
    CorrectiveJoint,
    ball_joint,
    hinge_joint,
)
from dq_compensation.scene.key_animation import animate_in_turn
from tests.blender.conftest import Human
from tests.setup_check.plant_shape_keys import add_keys
from tests.setup_check.plant_stale_binding import enable_as_it_may_be


def _follow(human: Human, joint: CorrectiveJoint) -> None:
    names = [f"Key {place}" for place in range(len(joint.poses))]
    add_keys(human, *names)
    drive_keys(human.mesh_object, human.armature_object, joint, names)
    bpy.context.view_layer.update()
    enable_as_it_may_be(human)


def hinge(human: Human) -> None:
    """The elbow, which is bent: the key is on."""
    _follow(human, hinge_joint("lowerarm01.L", 0.0, (90.0,)))


def ball(human: Human) -> None:
    """Keys that read an array property, of a bone that has another name by now."""
    _follow(human, ball_joint("upperarm01.L", 4, (90.0,)))
    human.armature_object.data.bones["upperarm01.L"].name = "arm"


def played(human: Human) -> None:
    """Keys that take turns, one of them renamed."""
    add_keys(human, "Frame 1", "Frame 2", "Frame 3")
    animate_in_turn(human.mesh_object, ("Frame 1", "Frame 2", "Frame 3"), (1, 2, 3))
    human.mesh_object.data.shape_keys.key_blocks["Frame 2"].name = "in between"
    enable_as_it_may_be(human)


PLANTED = {
    "baked_keys/hinge": hinge,
    "baked_keys/ball": ball,
    "baked_keys/played": played,
}
