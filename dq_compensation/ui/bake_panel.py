"""The sub-panel that bakes."""

from __future__ import annotations

import bpy
from bpy.types import Context, Panel

from ..lifecycle.bake_reports import last_report
from ..registration import apply_in_order, undo_in_reverse
from ..scene.targets import target_meshes
from .bake_progress import running_bake
from .sentences import draw_sentence


class VIEW3D_PT_dq_compensation_bake(Panel):
    """Bake the deformation for what does not know it: engines, exporters, other programs."""

    bl_label = "Bake"
    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_parent_id = "VIEW3D_PT_dq_compensation"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 30

    def draw(self, context: Context) -> None:
        layout = self.layout
        if layout is None:
            return
        progress = running_bake()
        if progress is not None:
            layout.progress(factor=progress.share, text=progress.doing)
            layout.label(text="Esc stops", icon="INFO")
            return
        column = layout.column()
        column.operator("dqc.bake_pose", icon="SHAPEKEY_DATA")
        column.operator("dqc.bake_range", icon="RENDER_ANIMATION")
        column.operator("dqc.bake_correctives", icon="DRIVER")
        column.operator("dqc.bake_cache", icon="FILE_CACHE")
        for obj in target_meshes(context):
            report = last_report(obj) if obj.type == "MESH" else None
            if report is not None:
                draw_sentence(layout, context, report, "CHECKMARK")


CLASSES = (VIEW3D_PT_dq_compensation_bake,)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
