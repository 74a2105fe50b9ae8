"""The list *Joints* chooses the joint that was posed, by whatever control."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import bpy
import numpy as np
from bpy.props import IntProperty
from bpy.types import Armature, Object

from ..arrays import Float64s
from ..scene.binding.controlled_joints import LEAST_PART, rotations_at_joints
from ..scene.blender.armature import armature_of
from ..scene.settings.object_settings import Settings
from ..scene.settings.setting_events import only_with
from ..scene.stack import find_rig
from ..session.changes import EDIT, FRAME, RESTORED
from ..session.delayed_calls import DelayedCall
from ..session.known_objects import enabled_objects
from ..session.memory import memories, memory_of
from ..session.status import status_of, tag_redraw

ACTIVE_JOINT = "dqc_active_joint"
"""The property of an armature that is the active row of the list; the file does not keep it."""


class _List:
    """What is chosen in the list of an armature.

    Attributes:
        chosen: the place of a bone among those of the armature.
        beside: the name of the active bone when it was chosen.
    """

    chosen = 0
    beside = ""


class _Rest:
    """The pose of an armature object when it rested last.

    Attributes:
        frame: of the scene.
        turned: by the name of each bone that moves skin its rotation at its joint, (w, x, y, z).
    """

    frame = 0.0
    turned: Mapping[str, Float64s] = MappingProxyType({})


# Radians: joints that are turned less were not posed.
_POSED = np.radians(1.0)


def choose_posed_joint() -> None:
    """Choose the joint in the list that was posed since the pose of the active rig rested.

    As an example takes it: of the joints that were turned the one that is farthest from rest now.
    """
    rig, scene = bpy.context.view_layer.objects.active, bpy.context.scene
    if rig is None or rig.mode != "POSE":
        return
    known, turned = memory_of(rig, _Rest), _turned(rig)
    before, frame = known.turned, known.frame
    known.frame, known.turned = scene.frame_current_final, turned
    if frame != scene.frame_current_final or not turned or before.keys() != turned.keys():
        return
    pairs = np.array([(before[name], now) for name, now in turned.items()])
    angles = 2.0 * np.arccos(np.minimum(np.abs((pairs[:, 0] * pairs[:, 1]).sum(axis=1)), 1.0))
    if angles.max() < _POSED:
        return
    posed = angles >= max(_POSED, LEAST_PART * angles.max())
    # The farther from rest a joint is turned, the smaller is w.
    farthest = int(np.where(posed, np.abs(pairs[:, 1, 0]), 2.0).argmin())
    bones = armature_of(rig).bones
    choose_joint(armature_of(rig), bones.find([*turned][farthest]))
    tag_redraw()


def _turned(rig: Object) -> dict[str, Float64s]:
    """How the bones of a rig that move skin are turned at their joints, by their names."""
    found = dict[str, Float64s]()
    graph = bpy.context.evaluated_depsgraph_get()
    for mesh in enabled_objects():
        binding = status_of(mesh).binding if find_rig(mesh) == rig else None
        if binding is not None:
            settings = Settings.of(mesh)
            rows = np.flatnonzero(binding.skin(settings).moves)
            rotations = rotations_at_joints(rig, binding, settings, graph)
            names = binding.skeleton.names
            found |= {names[row]: rotations[row] for row in rows.tolist()}
    return found


_pose_rests = DelayedCall(choose_posed_joint, 0.1, "REST")


class _ActiveRig:
    """What the list follows: the active object while it is posed."""

    def __bool__(self) -> bool:
        active = bpy.context.view_layer.objects.active
        return active is not None and active.mode == "POSE"


@only_with(_ActiveRig())
def _follow_pose(_changes: object) -> None:
    _pose_rests.request()


def _forget_poses() -> None:
    memories(_Rest).clear()


FOLLOWS = ((EDIT, _follow_pose), (FRAME, _follow_pose), (RESTORED, _forget_poses))


def active_joint(armature: Armature) -> int:
    """The place of the bone that is chosen in the list, or of one that was made active since."""
    chosen, active = memory_of(armature, _List), armature.bones.active
    if active is None or active.name == chosen.beside or not active.use_deform:
        return chosen.chosen
    return armature.bones.find(active.name)


def choose_joint(armature: Armature, index: int) -> None:
    """Choose a bone by its place, until another one is made active."""
    chosen, active = memory_of(armature, _List), armature.bones.active
    chosen.chosen, chosen.beside = index, "" if active is None else active.name


def register() -> None:
    """Give armatures the active row of the list."""
    active = IntProperty(
        name="Active Joint",
        description="The bone that is chosen in the list of joints: the active bone, or the one at "
        "the joint that was posed last",
        get=active_joint,
        set=choose_joint,
        options={"LIBRARY_EDITABLE", "SKIP_SAVE"},
        override={"LIBRARY_OVERRIDABLE"},
    )
    setattr(Armature, ACTIVE_JOINT, active)


def unregister() -> None:
    """Take it away."""
    delattr(Armature, ACTIVE_JOINT)
    _pose_rests.cancel()
