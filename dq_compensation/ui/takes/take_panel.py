"""The sub-panels of playback: the takes of the character's armature, and how they play."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, Object, UILayout, ViewLayer

from ...playback.caching import take_size
from ...scene.copies.targets import deformed_meshes
from ...scene.settings.object_settings import settings_of
from ...scene.settings.take_settings import DQCompensationTake, active_take
from ...scene.stored_takes import is_take
from ...session.known_takes import LOST, changed_since, take_problem
from ...wording import counted, listed
from ..bake.bake_progress import draw_running
from ..sentences import draw_sentence
from ..sidebar import RowsOfItems, SubPanel
from .take_operators import other_armatures, target_armature

GPU_ONLY = "Takes play in the GPU display. Set Display of {objects} to GPU."
DISABLED = "Takes play on enabled objects. Enable {objects}."
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


class PlaybackPanel(SubPanel):
    """Cache the motion of a character, so that it plays without Blender's armature."""

    title = "Playback"
    help_page = "crowds"
    help_section = "takes"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return target_armature(context) is not None

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
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
        PlayPanel.draw(layout, context)


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


class PlayPanel(SubPanel):
    """Play takes instead of the pose of the armature."""

    title = "Play Take"
    help_page = "crowds"
    help_section = "takes"

    @classmethod
    def poll(cls, context: Context) -> bool:
        armature = target_armature(context)
        return armature is not None and len(settings_of(armature).takes) > 0

    @classmethod
    def fill_header(cls, header: UILayout, context: Context) -> None:
        armature = target_armature(context)
        if armature is not None:
            header.prop(settings_of(armature).playback, "playing", text="")

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
        armature = target_armature(context)
        if armature is None:
            return
        settings = settings_of(armature)
        playback = settings.playback
        for text in followers_of_pose(armature, context.view_layer):
            draw_sentence(layout, context, text, "INFO")
        if playback.playing:
            text = "Renders follow the armature, not the take."
            draw_sentence(layout, context, text, "INFO")
        layout.prop_search(playback, "take", settings, "takes", icon="ACTION")
        if playback.playing and not playback.take:
            draw_sentence(layout, context, "Choose a take.", "ERROR")
        for name in filter(None, (playback.take, playback.second_take)):
            if problem := take_problem(armature, name):
                draw_sentence(layout, context, problem, "ERROR")
        column = layout.column(align=True)
        for name in ("loop", "phase", "speed"):
            column.prop(playback, name)
        layout.prop_search(playback, "second_take", settings, "takes", icon="ACTION")
        if playback.second_take:
            column = layout.column(align=True)
            column.prop(playback, "fade_start")
            column.prop(playback, "fade_frames")


def followers_of_pose(armature: Object, view_layer: ViewLayer) -> list[str]:
    """Sentences about the meshes of a view layer on which no take of their armature plays."""
    meshes = deformed_meshes(armature, view_layer)
    disabled = [obj.name for obj in meshes if not settings_of(obj).enabled]
    modified = [
        obj.name for obj in meshes if settings_of(obj).enabled and settings_of(obj).display != "GPU"
    ]
    told = ((DISABLED, disabled), (GPU_ONLY, modified))
    return [text.format(objects=listed(names)) for text, names in told if names]


CLASSES = (DQC_UL_takes,)
