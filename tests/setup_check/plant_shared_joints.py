"""The human with the method for which each vertex needs one joint."""

from __future__ import annotations

from tests.blender.conftest import Human


def spherical(human: Human) -> None:
    """A third of the body is moved by bones that do not meet."""
    human.mesh_object.dq_compensation.method = "SPHERICAL_JOINT"


PLANTED = {"shared_joints/spherical": spherical}
