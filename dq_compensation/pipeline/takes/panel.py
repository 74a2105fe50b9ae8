"""The feature's panel: the sub-panels of playback, and the operators on takes."""

from __future__ import annotations

from typing import Any, cast

from bpy.props import StringProperty
from bpy.types import Context, Event, Object, Operator, UILayout, ViewLayer

from ...bake.panel import BakesFrames, draw_properties, report_sentences
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.selected_characters import NOTHING_SELECTED, known_meshes, target_meshes
from ...scene.settings.object_settings import settings_of
from ...ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    draw_sentence,
    is_running,
    options_from,
    reports_errors,
    with_option_properties,
)
from ...ui_shared.sidebar import PAGES_OF_FEATURES, RowsOfItems, SubPanel
from ...wording import counted, listed
from ..takes import caching
from .known_takes import LOST, changed_since, is_take, take_problem
from .take_checks import watch_takes
from .take_settings import DQCompensationTake, active_take, find_take, take_settings_of, takes_of


def target_armature(context: Context) -> Object | None:
    """The armature whose takes are meant: the active object, or that of the selected character."""
    active = context.active_object
    if active is not None and active.type == "ARMATURE":
        return active
    rigs = (SkinnedObject(obj).find_rig() for obj in target_meshes(context))
    return next(filter(None, rigs), None)


def armature_with_takes(context: Context) -> Object | None:
    """The armature of `target_armature`; None where it has no takes."""
    armature = target_armature(context)
    return armature if armature is not None and takes_of(armature) else None


class _ChangesTakes(Refusing, Operator):
    """The base of the operators here: they act on the armature that is meant."""

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        armature = target_armature(context)
        return NOTHING_SELECTED if armature is None else cls.refusal_of(armature, context)

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        """Why nothing can be done with this armature, or None."""
        return caching.takes_refusal(armature)

    @staticmethod
    def armature(context: Context) -> Object:
        """The armature that is meant: there is one where nothing was refused."""
        return cast("Object", target_armature(context))


def _caching_refusal(armature: Object, context: Context) -> str | None:
    layer = context.view_layer
    return caching.take_refusal(armature, known_meshes(armature, layer), layer)


@with_option_properties(caching.TakeOptions)
class DQC_OT_take_cache(RunsInSteps, BakesFrames, _ChangesTakes):
    """Sample the motion of the armature over a range of frames: action, NLA, constraints, drivers \
and shape keys. The take plays without the armature. Esc stops"""

    bl_idname = "dqc.take_cache"
    bl_label = "Cache Take"

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        return _caching_refusal(armature, context)

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self.first, self.last = self.range(context)
        self.take_name = self.take_name or caching.default_name(self.armature(context))
        return self.ask(context, "Cache")

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("take_name", "first", "last", "tolerance", "interpolation"))
        armature = target_armature(context)
        if armature is not None and find_take(armature, self.take_name) is not None:
            column.label(text=f"The take {self.take_name} is replaced", icon="INFO")

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        armature = self.armature(context)
        first, last = self.range(context)
        options = options_from(self, caching.TakeOptions, first=first, last=last)
        return self.run(context, report_sentences(caching.cache_take(armature, options, context)))


class DQC_OT_take_refresh(RunsInSteps, _ChangesTakes):
    """Cache the active take again: the same frames with the same tolerance. Esc stops"""

    bl_idname = "dqc.take_refresh"
    bl_label = "Cache Again"

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        item = active_take(armature)
        if item is None:
            return f"{armature.name} has no take. Cache one."
        if item.is_copied:
            return f"{item.name} comes from another armature. Cache it there."
        return _caching_refusal(armature, context)

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        return self.execute(context)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        armature = self.armature(context)
        item = cast("DQCompensationTake", active_take(armature))
        options = caching.TakeOptions(
            item.name,
            item.frame_start,
            item.frame_end,
            tolerance=item.tolerance,
            interpolation=item.interpolation,
        )
        return self.run(context, report_sentences(caching.cache_take(armature, options, context)))


class DQC_OT_take_remove(_ChangesTakes):
    """Remove the active take from the file"""

    bl_idname = "dqc.take_remove"
    bl_label = "Remove Take"

    take_name: StringProperty(
        name="Name",
        description="The name of the take. Empty: the active one",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        if active_take(armature) is None:
            return f"{armature.name} has no take."
        return caching.takes_refusal(armature)

    @reports_errors
    def execute(self, context: Context) -> Outcome:
        armature = self.armature(context)
        name = self.take_name or cast("DQCompensationTake", active_take(armature)).name
        caching.remove_take(armature, name)
        watch_takes()
        return f"Removed the take {name} of {armature.name}"


class DQC_OT_take_copy(_ChangesTakes):
    """Give the active armature the takes of the other selected armatures. Bones are matched by \
name"""

    bl_idname = "dqc.take_copy"
    bl_label = "Copy Takes to Active"

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        if not _other_armatures(armature, context):
            return f"Select an armature with takes, too, and {armature.name} last."
        return caching.takes_refusal(armature)

    @reports_errors
    def execute(self, context: Context) -> Outcome:
        armature = self.armature(context)
        messages = []
        for source in _other_armatures(armature, context):
            messages += caching.copy_takes(source, armature)
        watch_takes()
        return " ".join(messages)


def _other_armatures(armature: Object, context: Context) -> list[Object]:
    """The other armatures with takes that the selection leads to."""
    found = dict.fromkeys(
        obj if obj.type == "ARMATURE" else SkinnedObject(obj).find_rig()
        for obj in context.selected_objects
    )
    return [rig for rig in found if rig is not None and rig != armature and takes_of(rig)]


# The sub-panels of playback: the takes of the character's armature, and how they play.

_GPU_ONLY = "Takes play in the GPU display. Set Display of {objects} to GPU."
_DISABLED = "Takes play on enabled objects. Enable {objects}."
_OUT_OF_DATE = "{name} is out of date: {parts} changed since it was cached."


class DQC_UL_takes(RowsOfItems):
    """The takes of an armature."""

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        row.prop(item, "name", text="", emboss=False, icon="ACTION")
        frames = row.row(align=True)
        frames.alignment = "RIGHT"
        frames.label(text=f"{item.frame_start} to {item.frame_end}")
        if changed_since(item) or not is_take(item.stored):
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
        if _other_armatures(subject, context):
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
    if parts := changed_since(item):
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
    modified = [name for name, own in meshes if own.is_enabled and own.display != "GPU"]
    told = ((_DISABLED, disabled), (_GPU_ONLY, modified))
    return [text.format(objects=listed(names)) for text, names in told if names]


CLASSES = (
    DQC_OT_take_cache,
    DQC_OT_take_refresh,
    DQC_OT_take_remove,
    DQC_OT_take_copy,
    DQC_UL_takes,
)

FOLLOWS = (
    (PLAYBACK_PANELS, PlayPanel),
    (
        PAGES_OF_FEATURES,
        (
            ("bpy.ops.dqc.take*", "crowds", "takes"),
            ("bpy.types.dqcompensationtake*", "crowds", "takes"),
            ("bpy.types.dqcompensationplayback*", "crowds", "takes"),
        ),
    ),
)
