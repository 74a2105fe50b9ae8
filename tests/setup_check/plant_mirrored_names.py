"""The human with an arm whose name leads to no other side."""

from __future__ import annotations

from tests.blender.conftest import Human


def one_bone(human: Human) -> None:
    """The right upper arm; its vertex group takes the name, as Blender does it."""
    human.armature_object.data.bones["upperarm01.R"].name = "upperarm01_right"


PLANTED = {"mirrored_names/one_bone": one_bone}
