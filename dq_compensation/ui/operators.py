"""Enable, disable and refresh, on everything that is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.types import Context, Object, Operator

from ..lifecycle import enabling
from ..registration import apply_in_order, undo_in_reverse
from ..scene.errors import BindingError
from ..scene.object_settings import settings_of
from ..scene.targets import NOTHING_SELECTED, target_meshes

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


def _linked(obj: Object) -> str | None:
    """Why the settings of an object cannot be changed in this file, or None."""
    if obj.library is not None:
        return (
            f"{obj.name} is linked from another file. "
            "Make a library override of it (Object, Library Override, Make)."
        )
    return None


def _join(reasons: list[str]) -> str:
    return " ".join(reason if reason.endswith(".") else f"{reason}." for reason in reasons)


def _names(objects: list[Object]) -> str:
    names = [obj.name for obj in objects]
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} objects"


class DQC_OT_enable(Operator):
    """Deform the selected characters with DQ Compensation. Their Armature modifiers stay in the \
stack, switched off"""

    bl_idname = "dqc.enable"
    bl_label = "Enable"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        targets = target_meshes(context)
        if not targets:
            cls.poll_message_set(NOTHING_SELECTED)
            return False
        reasons = [_linked(obj) or enabling.refusal(obj) for obj in targets]
        if all(reasons):
            cls.poll_message_set(_join([str(reason) for reason in reasons[:3]]))
            return False
        return True

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        done: list[Object] = []
        refused: list[str] = []
        for obj in target_meshes(context):
            if settings_of(obj).enabled:
                continue
            try:
                if reason := _linked(obj):
                    raise BindingError(reason)
                enabling.enable(obj, context.evaluated_depsgraph_get())
            except BindingError as error:
                refused.append(str(error))
            else:
                done.append(obj)
        if refused:
            self.report({"WARNING" if done else "ERROR"}, _join(refused))
        elif done:
            self.report({"INFO"}, f"DQ Compensation deforms {_names(done)}")
        else:
            self.report({"INFO"}, "Enabled already")
        return {"FINISHED"} if done else {"CANCELLED"}


class DQC_OT_disable(Operator):
    """Give the selected characters back to their Armature modifiers and put every setting back"""

    bl_idname = "dqc.disable"
    bl_label = "Disable"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        targets = target_meshes(context)
        if not targets:
            cls.poll_message_set(NOTHING_SELECTED)
            return False
        reasons = [_linked(obj) for obj in targets if settings_of(obj).enabled]
        if reasons and all(reasons):
            cls.poll_message_set(str(reasons[0]))
            return False
        return True

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        enabled = [
            obj
            for obj in target_meshes(context)
            if settings_of(obj).enabled and obj.library is None
        ]
        if not enabled:
            self.report({"INFO"}, "Disabled already")
            return {"CANCELLED"}
        for obj in enabled:
            enabling.disable(obj)
        self.report({"INFO"}, f"The Armature modifier deforms {_names(enabled)} again")
        return {"FINISHED"}


class DQC_OT_refresh(Operator):
    """Read the mesh, its weights and its armature again, and try again what had failed"""

    bl_idname = "dqc.refresh"
    bl_label = "Refresh"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not any(settings_of(obj).enabled for obj in target_meshes(context)):
            cls.poll_message_set("Select an object that DQ Compensation deforms")
            return False
        return True

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        told: list[str] = []
        failed: list[str] = []
        for obj in target_meshes(context):
            if not settings_of(obj).enabled:
                continue
            try:
                binding = enabling.refresh(obj, context.evaluated_depsgraph_get())
            except BindingError as error:
                failed.append(str(error))
            else:
                bones = len(set(binding.influences.bones[binding.influences.weights > 0.0]))
                told.append(f"{obj.name}: {binding.vertex_count} vertices follow {bones} bones.")
        if failed:
            self.report({"ERROR"}, _join(failed))
        else:
            self.report({"INFO"}, _join(told))
        return {"FINISHED"} if told else {"CANCELLED"}


CLASSES = (DQC_OT_enable, DQC_OT_disable, DQC_OT_refresh)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
