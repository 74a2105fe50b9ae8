"""Adds crowds, and the roles of a crowd."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty
from bpy.types import Context, Object, Operator

from ...crowds.crowd_layout import longest_side
from ...errors import UserError
from ...scene.blender.linked import linked_refusal
from ...scene.blender.rigging import find_rig
from ...scene.copies.targets import NOTHING_SELECTED, target_meshes
from ...scene.settings.crowd_settings import DQCompensationCrowd, crowd_of, is_crowd
from ...scene.settings.declaration import same_property
from ...scene.settings.object_settings import settings_of
from ...scene.settings.take_settings import takes_of
from ...session.known_crowds import forget_crowds
from ...wording import counted, listed
from ..reporting import OperatorResult, Refusing, reports_errors

REFUSAL_NOT_ENABLED = "{armatures} deforms no enabled mesh. Press Enable first"
REFUSAL_MODE = "Switch to Object Mode (Tab) to add a crowd"
REFUSAL_NO_CROWD = "Select a crowd"


def characters(context: Context) -> dict[Object, list[Object]]:
    """The armatures that the selection leads to, and the enabled meshes of each.

    Those with takes are first.
    """
    found: dict[Object, list[Object]] = {}
    for obj in target_meshes(context):
        rig = find_rig(obj)
        if rig is not None:
            found.setdefault(rig, []).extend([obj] if settings_of(obj).enabled else [])
    order = sorted(found, key=lambda rig: not takes_of(rig))
    return {rig: found[rig] for rig in order}


def linked_crowd_refusal(crowd: Object) -> str | None:
    """Why a crowd cannot be changed in this file, or None."""
    return linked_refusal(crowd.name, [crowd], "Make a library override of it to change it.")


class DQC_OT_crowd_add(Refusing, Operator):
    """Add a crowd of the selected characters, which play their takes. An Empty stands for it"""

    bl_idname = "dqc.crowd_add"
    bl_label = "Add Crowd"

    count: same_property(DQCompensationCrowd, "count")
    seed: same_property(DQCompensationCrowd, "seed")

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        if context.mode != "OBJECT":
            return REFUSAL_MODE
        found = characters(context)
        if not found:
            return NOTHING_SELECTED
        enabled = [rig for rig, meshes in found.items() if meshes]
        if not enabled:
            return REFUSAL_NOT_ENABLED.format(armatures=listed([rig.name for rig in found]))
        if not any(map(takes_of, enabled)):
            names = listed([rig.name for rig in enabled])
            return f"{names} has no take. Press Cache Take in the panel Playback first"
        return None

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        found = {rig: meshes for rig, meshes in characters(context).items() if meshes}
        crowd = _new_empty(context)
        settings = crowd_of(crowd)
        settings.is_crowd, settings.count, settings.seed = True, self.count, self.seed
        settings.start_frame = context.scene.frame_start
        largest = max(map(longest_side, found.values()))
        settings.spacing = float(f"{largest:.2g}") or settings.spacing
        for rig in found:
            for take in takes_of(rig):
                role = settings.roles.add()
                role.character, role.take = rig, take.name
        text = f"Added {crowd.name}: {counted(self.count, 'figure')} in "
        text += f"{counted(len(settings.roles), 'role')}."
        left_out = [rig.name for rig in found if not takes_of(rig)]
        if left_out:
            text += f" {listed(left_out)} has no take and is left out."
        self.report({"WARNING" if left_out else "INFO"}, text)
        return {"FINISHED"}


def _new_empty(context: Context) -> Object:
    """An Empty at the 3D cursor, the only selected object.

    Raises:
        UserError: nothing can be added to the active collection.
    """
    collection = context.collection
    if collection is None or collection.library is not None:
        name = "" if collection is None else f" {collection.name}"
        raise UserError(f"The active collection{name} is linked. Click one of this file.")
    crowd = bpy.data.objects.new("Crowd", None)
    crowd.empty_display_type, crowd.empty_display_size = "PLAIN_AXES", 1.0
    collection.objects.link(crowd)
    crowd.location = context.scene.cursor.location
    for obj in context.selected_objects:
        obj.select_set(False)
    crowd.select_set(True)
    context.view_layer.objects.active = crowd
    return crowd


class _ChangesRoles(Refusing, Operator):
    """The base of what changes the active crowd's roles; with `needs_role` one must be active."""

    needs_role = True

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        crowd = context.active_object
        if crowd is None or not is_crowd(crowd):
            return REFUSAL_NO_CROWD
        if reason := linked_crowd_refusal(crowd):
            return reason
        settings = crowd_of(crowd)
        has_role = 0 <= settings.active_role < len(settings.roles)
        return f"{crowd.name} has no role" if cls.needs_role and not has_role else None

    def crowd(self, context: Context) -> Any:
        """The settings of the active crowd."""
        assert context.active_object is not None
        return crowd_of(context.active_object)


class DQC_OT_crowd_role_add(_ChangesRoles):
    """Add a role with the character of the active one, and its next take"""

    bl_idname = "dqc.crowd_role_add"
    bl_label = "Add Role"
    needs_role = False

    def execute(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        active = crowd.roles[crowd.active_role] if crowd.active_role < len(crowd.roles) else None
        character = active.character if active is not None else None
        played = {role.take for role in crowd.roles if role.character == character}
        role = crowd.roles.add()
        role.character = character
        names = [take.name for take in takes_of(character)] if character is not None else []
        role.take = next((name for name in names if name not in played), names[0] if names else "")
        crowd.active_role = len(crowd.roles) - 1
        forget_crowds()
        return {"FINISHED"}


class DQC_OT_crowd_role_remove(_ChangesRoles):
    """Remove the active role. Its figures get the other ones"""

    bl_idname = "dqc.crowd_role_remove"
    bl_label = "Remove Role"

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        try:
            crowd.roles.remove(crowd.active_role)
        except TypeError as error:  # of a library override
            raise UserError(
                "The role belongs to the linked file. Remove it there, or set its share to 0."
            ) from error
        crowd.active_role = max(min(crowd.active_role, len(crowd.roles) - 1), 0)
        forget_crowds()
        return {"FINISHED"}


class DQC_OT_crowd_role_move(_ChangesRoles):
    """Move the active role in the list. Figures keep their places; roles change among them"""

    bl_idname = "dqc.crowd_role_move"
    bl_label = "Move Role"

    direction: EnumProperty(
        name="Direction",
        description="Where the role moves",
        items=(("UP", "Up", "Towards the first role"), ("DOWN", "Down", "Towards the last role")),
    )

    def execute(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        target = crowd.active_role + (-1 if self.direction == "UP" else 1)
        if not 0 <= target < len(crowd.roles):
            return {"CANCELLED"}
        crowd.roles.move(crowd.active_role, target)
        crowd.active_role = target
        forget_crowds()
        return {"FINISHED"}


CLASSES = (
    DQC_OT_crowd_add,
    DQC_OT_crowd_role_add,
    DQC_OT_crowd_role_remove,
    DQC_OT_crowd_role_move,
)
