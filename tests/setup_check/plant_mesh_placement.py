"""Humans whose mesh object was moved, turned or scaled off its rig."""

from __future__ import annotations

import math

from mathutils import Matrix

from tests.blender.conftest import Human


def turned(human: Human) -> None:
    """By 20 degrees about the vertical."""
    human.mesh_object.rotation_euler = (0.0, 0.0, math.radians(20.0))


def moved(human: Human) -> None:
    human.mesh_object.location = (0.3, 0.0, 0.0)


def another_axis_up(human: Human) -> None:
    """Vertices with Y up, and the rotation that made up for it is cleared."""
    human.mesh_object.data.transform(Matrix.Rotation(math.radians(-90.0), 4, "X"))


def in_centimetres(human: Human) -> None:
    """Vertices in centimetres, and the scale that made up for it is cleared."""
    human.mesh_object.data.transform(Matrix.Scale(100.0, 4))


def _refuses_locked(human: Human) -> None:
    moved(human)
    human.mesh_object.lock_location = (True, False, False)


def _refuses_keyed(human: Human) -> None:
    moved(human)
    human.mesh_object.keyframe_insert("location", frame=1)


def _refuses_constrained(human: Human) -> None:
    moved(human)
    human.mesh_object.constraints.new("LIMIT_LOCATION")


def _refuses_above_its_rig(human: Human) -> None:
    human.mesh_object.parent = None
    human.armature_object.parent = human.mesh_object
    human.armature_object.location = (0.3, 0.0, 0.0)


PLANTED = {
    "mesh_placement/turned": turned,
    "mesh_placement/moved": moved,
    "mesh_placement/another_axis_up": another_axis_up,
    "mesh_placement/in_centimetres": in_centimetres,
    "mesh_placement/refuses_locked": _refuses_locked,
    "mesh_placement/refuses_keyed": _refuses_keyed,
    "mesh_placement/refuses_constrained": _refuses_constrained,
    "mesh_placement/refuses_above_its_rig": _refuses_above_its_rig,
}
