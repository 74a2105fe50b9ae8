"""Enable, disable and refresh, on everything that is selected."""

from __future__ import annotations

from bpy.types import Context, Object, Operator

from ..errors import UserError
from ..lifecycle import enabling
from ..scene.copies.acting_helpers import acting_helpers_warning
from ..scene.copies.targets import NOTHING_SELECTED, target_meshes
from ..scene.settings.object_settings import settings_of
from ..scene.shape_keys.acting_keys import acting_keys_warning
from ..wording import listed
from .reporting import OperatorResult, Refusing

# Of an earlier bake: what acts on an enabled object, too.
_LEFTOVERS = (acting_keys_warning, acting_helpers_warning)


def _join(sentences: list[str]) -> str:
    return " ".join(text if text.endswith(".") else f"{text}." for text in sentences)


def _names(objects: list[Object]) -> str:
    return listed([obj.name for obj in objects])


class DQC_OT_enable(Refusing, Operator):
    """Deform the selected characters with DQ Compensation. Their Armature modifiers stay in the \
stack, and Disable restores every setting"""

    bl_idname = "dqc.enable"
    bl_label = "Enable"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        targets = target_meshes(context)
        reasons = [enabling.linked_refusal(obj) or enabling.refusal(obj) for obj in targets]
        if not all(reasons):
            return None
        return _join([str(reason) for reason in reasons[:3]]) or NOTHING_SELECTED

    def execute(self, context: Context) -> OperatorResult:
        wanted = [obj for obj in target_meshes(context) if not settings_of(obj).enabled]
        local = [obj for obj in wanted if obj.library is None]
        done, refused = enabling.enable_all(local, context.evaluated_depsgraph_get())
        refused = [reason for obj in wanted if (reason := enabling.linked_refusal(obj))] + refused
        if refused:
            self.report({"WARNING" if done else "ERROR"}, _join(refused))
        elif twice := [text for obj in done for find in _LEFTOVERS if (text := find(obj))]:
            self.report({"WARNING"}, " ".join(twice))
        elif done:
            self.report({"INFO"}, f"DQ Compensation deforms {_names(done)}")
        else:
            self.report({"INFO"}, "Enabled already")
        return {"FINISHED"} if done else {"CANCELLED"}


class DQC_OT_disable(Refusing, Operator):
    """Deform the selected characters by their Armature modifiers again, with every setting \
as it was before"""

    bl_idname = "dqc.disable"
    bl_label = "Disable"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        targets = target_meshes(context)
        if not targets:
            return NOTHING_SELECTED
        reasons = [enabling.linked_refusal(obj) for obj in targets if settings_of(obj).enabled]
        return reasons[0] if reasons and all(reasons) else None

    def execute(self, context: Context) -> OperatorResult:
        enabled = [
            obj
            for obj in target_meshes(context)
            if obj.library is None
            and (settings_of(obj).enabled or enabling.copied_modifier_warning(obj))
        ]
        if not enabled:
            self.report({"INFO"}, "Disabled already")
            return {"CANCELLED"}
        for obj in enabled:
            enabling.disable(obj)
        self.report({"INFO"}, f"The Armature modifier deforms {_names(enabled)} again")
        return {"FINISHED"}


class DQC_OT_refresh(Refusing, Operator):
    """Read the mesh, its weights and its armature again, and try again what has failed"""

    bl_idname = "dqc.refresh"
    bl_label = "Refresh"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        if any(settings_of(obj).enabled for obj in target_meshes(context)):
            return None
        return "Select an object that DQ Compensation deforms"

    def execute(self, context: Context) -> OperatorResult:
        summaries: list[str] = []
        failed: list[str] = []
        for obj in target_meshes(context):
            if not settings_of(obj).enabled:
                continue
            try:
                binding = enabling.refresh(obj, context.evaluated_depsgraph_get())
            except UserError as error:
                failed.append(str(error))
            else:
                bones = len(set(binding.influences.bones[binding.influences.weights > 0.0]))
                summaries.append(
                    f"{obj.name}: {binding.vertex_count} vertices follow {bones} bones."
                )
        if failed:
            self.report({"ERROR"}, _join(failed))
        else:
            self.report({"INFO"}, _join(summaries))
        return {"FINISHED"} if summaries else {"CANCELLED"}


CLASSES = (DQC_OT_enable, DQC_OT_disable, DQC_OT_refresh)
