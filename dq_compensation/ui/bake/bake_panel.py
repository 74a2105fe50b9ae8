"""The sub-panel that bakes."""

from __future__ import annotations

from bpy.types import Context, Panel

from ...bake.bake_reports import last_report
from ...scene.copies.targets import target_meshes
from ...scene.settings.crowd_settings import is_crowd
from ..help import WithHelp
from ..sentences import draw_sentence
from .bake_progress import draw_running


class VIEW3D_PT_dq_compensation_bake(WithHelp, Panel):
    """Bake the deformation for engines and programs without this add-on."""

    bl_label = "Bake"
    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_parent_id = "VIEW3D_PT_dq_compensation"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 30
    help_page = "baking"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return not is_crowd(context.active_object)

    def draw(self, context: Context) -> None:
        layout = self.layout
        if layout is None:
            return
        if draw_running(layout):
            return
        column = layout.column()
        column.operator("dqc.bake_pose", icon="SHAPEKEY_DATA")
        column.operator("dqc.bake_range", icon="RENDER_ANIMATION")
        column.operator("dqc.bake_correctives", icon="DRIVER")
        column.operator("dqc.bake_bones", icon="BONE_DATA")
        column.operator("dqc.bake_cache", icon="FILE_CACHE")
        for obj in target_meshes(context):
            report = last_report(obj) if obj.type == "MESH" else None
            if report is not None:
                draw_sentence(layout, context, report, "CHECKMARK")


CLASSES = (VIEW3D_PT_dq_compensation_bake,)
