"""Bones and vertex groups of the human that do not find each other."""

from __future__ import annotations

from tests.blender.conftest import Human


def still(human: Human) -> None:
    """A forearm and a head that do not deform."""
    for name in ("lowerarm01.L", "head"):
        human.armature_object.data.bones[name].use_deform = False


def renamed_group(human: Human) -> None:
    """The group of a shin got another name, which no bone has."""
    human.mesh_object.vertex_groups["lowerleg01.R"].name = "shin"


PLANTED = {"bone_groups/still": still, "bone_groups/renamed_group": renamed_group}
