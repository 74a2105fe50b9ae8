"""The feature's panel: the takes of the character's armature, and how they play."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, Object, UILayout, ViewLayer

from ...scene.selected_characters import known_meshes
from ...scene.settings.object_settings import settings_of
from ...ui_shared.reporting import is_running, report_in_panel
from ...ui_shared.sentences import draw_sentence
from ...ui_shared.sidebar import NAME_PART, PAGES_OF_FEATURES, RowsOfItems, SubPanel
from ...wording import counted, listed
from ..takes import caching
from .known_takes import LOST, changed_since_cached, take_problem
from .operators import armature_with_takes, other_armatures, target_armature
from .settings import PLAY_CHANGED, DQCompensationTake, active_take, take_settings_of, takes_of
from .stored_takes import is_take

_GPU_ONLY = "Takes play in the GPU display. Set Display of {objects} to GPU."
_SWITCHED = "Takes play in the GPU display. Display of {objects} is GPU now."
_DISABLED = "Takes play on enabled objects. Enable {objects}."
_OUT_OF_DATE = "{name} is out of date: {parts} changed since it was cached."


class DQC_UL_takes(RowsOfItems):
    """The takes of an armature."""

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        row = row.split(factor=NAME_PART, align=True)
        row.prop(item, "name", text="", emboss=False, icon="ACTION")
        frames = row.row(align=True)
        frames.alignment = "RIGHT"
        frames.label(text=f"{item.frame_start} to {item.frame_end}")
        if changed_since_cached(item) or not is_take(item.stored):
            frames.label(text="", icon="ERROR")


PLAYBACK_PANELS: list[type[SubPanel]] = []
"""The sub-panels of playback, of an armature with takes."""


class PlaybackPanel(SubPanel):
    """Cache the motion of a character, so that it plays without Blender's armature."""

    title = "Playback"
    help_page = "crowds"
    help_section = "takes"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        return target_armature(context)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        layout.enabled = not is_running()
        layout.operator("dqc.take_cache", icon="REC")
        if other_armatures(subject, context):
            layout.operator("dqc.take_copy", icon="COPYDOWN")
        if not takes_of(subject):
            return
        settings = take_settings_of(subject)
        row = layout.row()
        row.template_list("DQC_UL_takes", "", settings, "takes", settings, "active_take", rows=3)
        row.operator("dqc.take_remove", text="", icon="REMOVE")
        item = active_take(subject)
        if item is not None:
            _take(layout, context, subject, item)
        for panel in PLAYBACK_PANELS:
            panel.draw(layout, context)


def _take(layout: UILayout, context: Context, armature: Object, item: DQCompensationTake) -> None:
    """The active take: its keys and memory, and whether it is up to date."""
    if not is_take(item.stored):
        draw_sentence(layout, context, LOST.format(name=item.name), "ERROR")
        layout.operator("dqc.take_refresh", icon="FILE_REFRESH")
        return
    count = item.frame_end - item.frame_start + 1
    column = layout.column(align=True)
    column.label(text=f"{counted(count, 'frame')} of {armature.name}", icon="TIME")
    column.label(text=caching.take_size(item), icon="KEYFRAME")
    column.label(text=f"Skin off by {item.error:.2f} mm at most", icon="DRIVER_DISTANCE")
    if parts := changed_since_cached(item):
        text = _OUT_OF_DATE.format(name=item.name, parts=listed(parts))
        draw_sentence(layout, context, text, "ERROR")
    if not item.is_copied:
        layout.operator("dqc.take_refresh", icon="FILE_REFRESH")


class PlayPanel(SubPanel):
    """Play takes instead of the pose of the armature."""

    title = "Play Take"
    help_page = "crowds"
    help_section = "takes"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        return armature_with_takes(context)

    @classmethod
    def fill_header(cls, header: UILayout, subject: Object) -> None:
        header.prop(take_settings_of(subject).playback, "playing", text="")

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        settings = take_settings_of(subject)
        playback = settings.playback
        for text in followers_of_pose(subject, context.view_layer):
            draw_sentence(layout, context, text, "INFO")
        if playback.playing:
            text = "Renders follow the armature, not the take."
            draw_sentence(layout, context, text, "INFO")
        layout.prop_search(playback, "take", settings, "takes", icon="ACTION")
        if playback.playing and not playback.take:
            draw_sentence(layout, context, "Choose a take.", "ERROR")
        for name in filter(None, (playback.take, playback.second_take)):
            if problem := take_problem(subject, name):
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
    meshes = [(obj.name, settings_of(obj)) for obj in known_meshes(armature, view_layer)]
    disabled = [name for name, own in meshes if not own.is_enabled]
    modified = [mesh.name for mesh in _in_other_display(armature, view_layer)]
    told = ((_DISABLED, disabled), (_GPU_ONLY, modified))
    return [text.format(objects=listed(names)) for text, names in told if names]


def _in_other_display(armature: Object, view_layer: ViewLayer) -> list[Object]:
    """The enabled meshes of a view layer on an armature that the GPU display does not show."""
    meshes = ((obj, settings_of(obj)) for obj in known_meshes(armature, view_layer))
    return [obj for obj, own in meshes if own.is_enabled and own.display != "GPU"]


def _show_played(playback: Any, context: Context) -> None:
    """Give the characters that a take begins to play on the display that plays it, and say so."""
    if not playback.playing:
        report_in_panel("")
        return
    armature: Object = playback.id_data
    switched = _in_other_display(armature, context.view_layer)
    for mesh in switched:
        settings_of(mesh).display = "GPU"
    told = followers_of_pose(armature, context.view_layer)
    if switched:
        told.insert(0, _SWITCHED.format(objects=listed([mesh.name for mesh in switched])))
    report_in_panel(" ".join(told))


CLASSES = (DQC_UL_takes,)

FOLLOWS = (
    (PLAYBACK_PANELS, PlayPanel),
    (PLAY_CHANGED, _show_played),
    (
        PAGES_OF_FEATURES,
        (
            ("bpy.ops.dqc.take*", "crowds", "takes"),
            ("bpy.types.dqcompensationtake*", "crowds", "takes"),
            ("bpy.types.dqcompensationplayback*", "crowds", "takes"),
        ),
    ),
)
