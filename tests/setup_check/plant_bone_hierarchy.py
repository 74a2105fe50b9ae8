"""Bones that lack their parents, planted."""

from collections.abc import Callable

from tests.blender.scene_builders import edit_mode

from .conftest import Human


def forearm_alone(human: Human) -> None:
    """A forearm without a parent."""
    with edit_mode(human.armature_object) as armature:
        armature.data.edit_bones["lowerarm01.L"].parent = None


def flat_finger(human: Human) -> None:
    """The joints of a finger all hang on the first one's parent."""
    with edit_mode(human.armature_object) as armature:
        bones = armature.data.edit_bones
        for name in ("finger2-2.L", "finger2-3.L"):
            bones[name].parent = bones["finger2-1.L"].parent


def refuses_driven_forearm(human: Human) -> None:
    """A forearm without a parent, its rotation driven."""
    forearm_alone(human)
    human.armature_object.pose.bones["lowerarm01.L"].driver_add("rotation_quaternion", 1)


PLANTED: dict[str, Callable[[Human], None]] = {
    "bone_hierarchy/forearm_alone": forearm_alone,
    "bone_hierarchy/flat_finger": flat_finger,
    "bone_hierarchy/refuses_driven_forearm": refuses_driven_forearm,
}
