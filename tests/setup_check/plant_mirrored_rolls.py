"""A bone that is rolled, and its mirror image is not."""

import math

from tests.blender.scene_builders import edit_mode

from .conftest import Human


def rolled(human: Human) -> None:
    """The left forearm, by 40 degrees."""
    with edit_mode(human.armature_object) as armature:
        armature.data.edit_bones["lowerarm01.L"].roll += math.radians(40.0)


PLANTED = {"mirrored_rolls/rolled": rolled}
