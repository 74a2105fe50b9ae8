"""Humans with scales that were never applied."""

from __future__ import annotations

from typing import Any

from mathutils import Matrix

from tests.blender.conftest import Human
from tests.setup_check.animated_human import animate


def _as_imported(human: Human) -> None:
    """As FBX files in centimetres come in: everything a hundred times too large, scaled back."""
    human.armature_object.data.transform(Matrix.Scale(100.0, 4))
    human.armature_object.data.update_tag()  # Blender forgets to
    human.mesh_object.data.transform(Matrix.Scale(100.0, 4))
    human.armature_object.scale = (0.01, 0.01, 0.01)


def _keyed_locations(human: Human) -> None:
    animate(human.armature_object)
    human.armature_object.scale = (2.0, 2.0, 2.0)


def _mirrored(human: Human) -> None:
    human.armature_object.scale = (-1.0, 1.0, 1.0)


def _unequal_mesh(human: Human) -> None:
    human.mesh_object.scale = (1.0, 1.1, -0.9)


def _flat(human: Human) -> None:
    human.armature_object.scale = (1.0, 1.0, 0.0)


def _animated(human: Human) -> None:
    for frame in (1, 10):
        human.mesh_object.scale = (frame, frame, frame)
        human.mesh_object.keyframe_insert("scale", frame=frame)


def _stretched(human: Human) -> None:
    """As in control rigs: the constraint has its length in the units of the armature."""
    rig = human.armature_object
    stretch: Any = rig.pose.bones["lowerarm01.L"].constraints.new("STRETCH_TO")
    stretch.target, stretch.subtarget = rig, "head"
    rig.scale = (2.0, 2.0, 2.0)


PLANTED = {
    "object_scale/as_imported": _as_imported,
    "object_scale/keyed_locations": _keyed_locations,
    "object_scale/mirrored": _mirrored,
    "object_scale/unequal_mesh": _unequal_mesh,
    "object_scale/flat": _flat,
    "object_scale/refuses_animated": _animated,
    "object_scale/refuses_stretched": _stretched,
}
