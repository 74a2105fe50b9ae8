"""The sub-panel that bakes."""

from __future__ import annotations

from bpy.types import Context, UILayout

from ...bake.bake_reports import last_report
from ...scene.copies.targets import target_meshes
from ...scene.settings.crowd_settings import is_crowd
from ..sentences import draw_sentence
from ..sidebar import SubPanel
from .bake_progress import draw_running


class BakePanel(SubPanel):
    """Bake the deformation for engines and programs without this add-on."""

    title = "Bake"
    help_page = "baking"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return not is_crowd(context.active_object)

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
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
