"""The sub-panel that bakes the active crowd, and says what has changed since."""

from __future__ import annotations

from bpy.types import Context, UILayout

from ...crowds.bake.crowd_changes import has_changed
from ...crowds.crowd_figures import known_state
from ...session.known_crowds import baked_crowd
from ..bake.bake_progress import draw_running
from ..sentences import draw_sentence
from ..sidebar import SidebarPanel
from .crowd_bake_operators import active_crowd

DRAWN = "Renders and files without this add-on show the Empty alone until it is baked."
CHANGED = "The crowd has changed since it was baked."


class VIEW3D_PT_dq_compensation_crowd_bake(SidebarPanel):
    """Make posed meshes of the crowd, for renders and for files without this add-on."""

    bl_label = "Bake Crowd"
    bl_order = 46
    help_page = "baking"
    help_section = "crowds"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return active_crowd(context) is not None

    def fill(self, layout: UILayout, context: Context) -> None:
        layout.use_property_split = False
        crowd = active_crowd(context)
        if crowd is None or draw_running(layout):
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
