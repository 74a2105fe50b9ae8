"""The sub-panel of playback: the takes of the character's armature."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, Object, UILayout

from ...playback.caching import take_size
from ...scene.settings.object_settings import settings_of
from ...scene.settings.take_settings import DQCompensationTake, active_take
from ...scene.stored_takes import is_take
from ...session.known_takes import LOST, changed_since
from ...wording import counted, listed
from ..bake.bake_progress import draw_running
from ..rows_of_lists import RowsOfItems
from ..sentences import draw_sentence
from ..sidebar import SidebarPanel
from .take_operators import other_armatures, target_armature

OUT_OF_DATE = "{name} is out of date: {parts} changed since it was cached."


class DQC_UL_takes(RowsOfItems):
    """The takes of an armature."""

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        row.prop(item, "name", text="", emboss=False, icon="ACTION")
        frames = row.row(align=True)
        frames.alignment = "RIGHT"
        frames.label(text=f"{item.frame_start} to {item.frame_end}")
        if changed_since(item) or not is_take(item.stored):
            frames.label(text="", icon="ERROR")


class VIEW3D_PT_dq_compensation_playback(SidebarPanel):
    """Cache the motion of a character, so that it plays without Blender's armature."""

    bl_label = "Playback"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 40
    help_page = "crowds"
    help_section = "takes"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return target_armature(context) is not None

    def fill(self, layout: UILayout, context: Context) -> None:
        armature = target_armature(context)
        if armature is None or draw_running(layout):
            return
        layout.operator("dqc.take_cache", icon="REC")
        if other_armatures(armature, context):
            layout.operator("dqc.take_copy", icon="COPYDOWN")
        settings = settings_of(armature)
        if not len(settings.takes):
            return
        row = layout.row()
        row.template_list("DQC_UL_takes", "", settings, "takes", settings, "active_take", rows=3)
        row.operator("dqc.take_remove", text="", icon="REMOVE")
        item = active_take(armature)
        if item is not None:
            _take(layout, context, armature, item)


def _take(layout: UILayout, context: Context, armature: Object, item: DQCompensationTake) -> None:
    """The active take: its keys and memory, and whether it is up to date."""
    if not is_take(item.stored):
        draw_sentence(layout, context, LOST.format(name=item.name), "ERROR")
        layout.operator("dqc.take_refresh", icon="FILE_REFRESH")
        return
    count = item.frame_end - item.frame_start + 1
    column = layout.column(align=True)
    column.label(text=f"{counted(count, 'frame')} of {armature.name}", icon="TIME")
    column.label(text=take_size(item), icon="KEYFRAME")
    column.label(text=f"Skin off by {item.error:.2f} mm at most", icon="DRIVER_DISTANCE")
    if parts := changed_since(item):
        text = OUT_OF_DATE.format(name=item.name, parts=listed(parts))
        draw_sentence(layout, context, text, "ERROR")
    if not item.is_copied:
        layout.operator("dqc.take_refresh", icon="FILE_REFRESH")


CLASSES = (DQC_UL_takes, VIEW3D_PT_dq_compensation_playback)
