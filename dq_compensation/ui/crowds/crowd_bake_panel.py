"""The sub-panel that bakes the active crowd, and says what has changed since."""

from __future__ import annotations

from bpy.types import Context, Panel

from ...crowds.bake.crowd_changes import has_changed
from ...crowds.crowd_figures import known_state
from ...session.known_crowds import baked_crowd
from ..bake.bake_progress import draw_running
from ..help import WithHelp
from ..sentences import draw_sentence
from .crowd_bake_operators import active_crowd

DRAWN = "Renders and files without this add-on show the Empty alone until it is baked."
CHANGED = "The crowd has changed since it was baked."


class VIEW3D_PT_dq_compensation_crowd_bake(WithHelp, Panel):
    """Make posed meshes of the crowd, for renders and for files without this add-on."""

    bl_label = "Bake Crowd"
    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_parent_id = "VIEW3D_PT_dq_compensation"
    bl_order = 46
    help_page = "baking"
    help_section = "crowds"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return active_crowd(context) is not None

    def draw(self, context: Context) -> None:
        layout, crowd = self.layout, active_crowd(context)
        if layout is None or crowd is None or draw_running(layout):
            return
        baked = baked_crowd(crowd)
        if baked is None:
            draw_sentence(layout, context, DRAWN, "INFO")
            layout.operator("dqc.bake_crowd", icon="OUTLINER_OB_POINTCLOUD")
            return
        layout.prop(baked, "name", text="", icon="OUTLINER_OB_POINTCLOUD")
        state = known_state(crowd)
        if state is not None and has_changed(crowd, state, context.scene, baked):
            draw_sentence(layout, context, CHANGED, "ERROR")
        row = layout.row(align=True)
        row.operator("dqc.bake_crowd", text="Bake Again", icon="FILE_REFRESH")
        row.operator("dqc.crowd_bake_remove", text="Remove", icon="X")


CLASSES = (VIEW3D_PT_dq_compensation_crowd_bake,)
