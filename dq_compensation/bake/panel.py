"""The sub-panel Bake, and its operators: bakes to keys, files, helper bones, and plain exports."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Object, Operator, UILayout

from ..errors import UserError
from ..lifecycle.following import binding_with_current_softness, end_comparison
from ..modifier.modifier_stack import hide_for_drawing
from ..scene.blender.rigging import find_rig
from ..scene.selected_characters import (
    NOTHING_SELECTED,
    enabled_of_characters,
    meshes_of_characters,
    target_meshes,
    until_edit,
)
from ..scene.settings.bone_texts import names_in
from ..scene.settings.crowd_settings import is_crowd
from ..scene.settings.object_settings import settings_of
from ..session.status import compared, tag_redraw
from ..steps import Progress
from ..ui_shared.reporting import (
    Asks,
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
    draw_in_dialog,
    draw_sentence,
    draw_words,
    is_running,
    options_from,
    property_names,
    reports_errors,
    with_option_properties,
)
from ..ui_shared.sidebar import SubPanel
from ..viewport.gpu_objects import drawing_refusal
from ..wording import counted, sized
from .bake_reports import last_report
from .bake_source import source_refusal
from .bones_baking import bake_bones, removal_refusal, remove_bakes
from .bones_poses import BonesOptions
from .bones_source import bones_refusal
from .corrective_baking import bake_correctives
from .corrective_poses import read_angles
from .files import SUFFIXES, bake_cache
from .key_options import CorrectiveOptions, PoseOptions, RangeOptions, frame_names
from .motion_test import MotionTest, posed_copy
from .plain_export import EXPORTERS, export_plain
from .shape_key_bakes import MUCH_MEMORY, bake_current_pose, bake_range, memory_needed

# Bakes the selected characters to shape keys: a pose, or a range of frames.


# The properties of `KeyOptions`, in the order of the dialogs.
KEY_OPTIONS = ("target", "tolerance", "name_pattern", "onto", "overwrite")


def selected_characters(context: Context) -> list[Object]:
    """The selected characters that are enabled, or all of them; hidden ones where none is shown."""
    found = [obj for obj in meshes_of_characters(context) if obj.type == "MESH"]
    found = [obj for obj in found if obj.visible_get()] or found
    return [obj for obj in found if settings_of(obj).enabled] or found


class Bakes(Refusing, Operator):
    """The base of all operators that bake: it says when they can be pressed, until an edit."""

    # Why an object cannot be baked at all, or None.
    object_refusal: ClassVar[Callable[[Object], str | None]] = staticmethod(source_refusal)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return until_edit(context, cls.object_refusal, cls._find_refusal)

    @classmethod
    def _find_refusal(cls, context: Context) -> str | None:
        targets = selected_characters(context)
        reasons = [reason for obj in targets if (reason := cls.object_refusal(obj)) is not None]
        if targets and not reasons:
            return None
        return " ".join(reasons[:3]) or NOTHING_SELECTED


class BakesFrames:
    """The range of the operators that bake frames."""

    first: IntProperty(
        name="First Frame",
        description="The first frame. If it is not set: the scene's first frame",
        options={"SKIP_SAVE"},
    )
    last: IntProperty(
        name="Last Frame",
        description="The last frame. If it is not set: the scene's last frame",
        options={"SKIP_SAVE"},
    )

    def range(self, context: Context) -> tuple[int, int]:
        """First and last frame as set in the operator, else the scene's."""
        scene, chosen = context.scene, cast("Operator", self).properties
        first = self.first if chosen.is_property_set("first") else scene.frame_start
        last = self.last if chosen.is_property_set("last") else scene.frame_end
        return first, last


@with_option_properties(PoseOptions)
class DQC_OT_bake_pose(Asks, Bakes):
    """Make the current pose a shape key. With the key at 1, the Armature modifier shows this pose \
as DQ Compensation does"""

    bl_idname = "dqc.bake_pose"
    bl_label = "Bake Pose"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return self.ask(context)

    def draw(self, context: Context) -> None:
        draw_properties(self, ("key_name", "target", "onto", "overwrite"))

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        options = options_from(self, PoseOptions)
        reports = bake_current_pose(selected_characters(context), options)
        self.report({"INFO"}, " ".join(report.sentence() for report in reports))
        return {"FINISHED"}


@with_option_properties(RangeOptions)
class DQC_OT_bake_range(RunsInSteps, BakesFrames, Bakes):
    """Make each frame of a range a shape key, with keyframes: the timeline then plays the \
deformation without DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_range"
    bl_label = "Bake Frames"
    stopped = "The check was stopped. The frames are baked"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        # Asked first: a range that has ended with an error is shown again.
        result = self.ask(context)
        self.first, self.last = self.range(context)
        return result

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("first", "last", "step", *KEY_OPTIONS))
        targets = selected_characters(context)
        try:
            options = self._options(context)
            size, count = memory_needed(targets, options), len(options.frames)
            names = frame_names(options.pattern, options.frames)
        except UserError as error:
            draw_in_dialog(column, str(error), "ERROR")
            return
        column.label(text=f"Keys from {names[0]} to {names[-1]}", icon="SHAPEKEY_DATA")
        column.label(text=f"{count} frames need about {sized(size)} of memory", icon="INFO")
        if size > MUCH_MEMORY:
            column.prop(self, "much_memory", icon="ERROR")
        draw_outcome(self, column)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        targets = selected_characters(context)
        steps = bake_range(targets, self._options(context))
        return self.run(context, report_sentences(steps))

    def _options(self, context: Context) -> RangeOptions:
        first, last = self.range(context)
        return options_from(self, RangeOptions, first=first, last=last)


def draw_outcome(operator: Operator, layout: bpy.types.UILayout, more: str = "") -> None:
    """Say in the dialog of a bake what happens to the character; `more` of itself."""
    if getattr(operator, "dry_run", False):
        draw_in_dialog(layout, "The panel shows what the bake would give.", "INFO")
        return
    text = "After the bake, the character is hidden, and the copy stands at its place."
    if getattr(operator, "onto", None) != "COPY":
        state = "on" if getattr(operator, "target", None) == "DUAL_QUATERNION" else "off"
        text = (
            "After the bake, DQ Compensation is disabled on the character, and Preserve Volume of "
            f"its Armature modifier is turned {state}.{more}"
        )
    draw_in_dialog(layout, text, "INFO")


def report_sentences(steps: Generator[Progress, None, Sequence[Any]]) -> Steps:
    """Run a bake whose reports have a `sentence` each, and return these."""
    reports = yield from steps
    return [report.sentence() for report in reports]


def draw_properties(operator: Operator, names: tuple[str, ...]) -> bpy.types.UILayout:
    """Draw properties of an operator, and return the column that they are in."""
    column = operator.layout.column()
    column.use_property_split = True
    column.use_property_decorate = False
    for name in names:
        column.prop(operator, name)
    return column


# Writes files: point caches of the selected characters, and plain exports of what is selected.


class ChoosesFile:
    """The dialog of operators that write a file, which is `filepath`."""

    def choose_file(self, context: Context, name: str) -> OperatorResult:
        """Open the file browser; without a path on a file of this name beside the .blend file."""
        if not self.filepath:
            folder = bpy.path.abspath("//") or str(Path.home())
            self.filepath = f"{folder}/{bpy.path.clean_name(name)}"
            self.check(context)
        context.window_manager.fileselect_add(cast("Operator", self))
        return {"RUNNING_MODAL"}

    def check(self, context: Context) -> bool:
        """Let the file's name end as the format wants it."""
        wanted = str(self._path())
        changed = wanted != self.filepath
        self.filepath = wanted
        return changed

    def _path(self) -> Path:
        raise NotImplementedError


_CACHE_FORMATS = (
    ("PC2", "PC2", "Point cache of 3ds Max: one file, every vertex in every frame"),
    ("MDD", "MDD", "Point cache of LightWave: one file, every vertex in every frame"),
    ("ALEMBIC", "Alembic", "Blender's own exporter writes it, with every modifier of the object"),
)


class DQC_OT_bake_cache(ChoosesFile, RunsInSteps, BakesFrames, Bakes):
    """Write the positions of every vertex in every frame to a file, for programs that play point \
caches. The characters stay as they are"""

    bl_idname = "dqc.bake_cache"
    bl_label = "Bake to Mesh Cache"
    stopped = "Writing was stopped"
    bl_options = {"REGISTER"}

    filepath: StringProperty(
        name="File Path",
        description="The file to write. Each of several characters gets a file of its own",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    filter_glob: StringProperty(default="*.pc2;*.mdd;*.abc", options={"HIDDEN"})
    cache_format: EnumProperty(
        name="Format", description="The format of the file", items=_CACHE_FORMATS
    )
    step: IntProperty(
        name="Step", description="1 writes every frame, 2 every second frame", default=1, min=1
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        self.first, self.last = self.range(context)
        targets = selected_characters(context)
        return self.choose_file(context, targets[0].name if targets else "cache")

    def draw(self, context: Context) -> None:
        step = () if self.cache_format == "ALEMBIC" else ("step",)
        draw_properties(self, ("cache_format", "first", "last", *step))

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        targets = selected_characters(context)
        first, last = self.range(context)
        if not self.filepath:
            raise UserError("Choose a file to write to")
        steps = bake_cache(targets, self._path(), self.cache_format, (first, last, self.step))
        return self.run(context, report_sentences(steps))

    def _path(self) -> Path:
        suffix = SUFFIXES[self.cache_format]
        path = Path(bpy.path.abspath(self.filepath))
        return path if path.suffix == suffix or not path.name else path.with_suffix(suffix)


_FORMATS = (
    (".fbx", "FBX", "Written by Blender's own exporter"),
    (".glb", "glTF", "Written by Blender's own exporter, in one file"),
    (".usdc", "USD", "Written by Blender's own exporter"),
)


class DQC_OT_export_plain(ChoosesFile, Refusing, Operator):
    """Export the selected objects, with the armatures of characters, as if DQ Compensation were \
not there: plain skin and shape keys. Nothing changes in the file
    """

    bl_idname = "dqc.export_plain"
    bl_label = "Export Plain"
    bl_options = {"REGISTER"}

    filepath: StringProperty(
        name="File Path",
        description="The file to write",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    filter_glob: StringProperty(
        default=";".join(f"*{suffix}" for suffix in EXPORTERS), options={"HIDDEN"}
    )
    file_format: EnumProperty(name="Format", description="The format of the file", items=_FORMATS)
    animation: BoolProperty(name="Animation", description="Write the motion, too", default=True)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if _exported(context) else NOTHING_SELECTED

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return self.choose_file(context, _exported(context)[0].name)

    def draw(self, context: Context) -> None:
        draw_properties(self, ("file_format", "animation"))

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        objects, path = _exported(context), self._path()
        export_plain(objects, path, animation=self.animation)
        self.report({"INFO"}, f"Exported {counted(len(objects), 'object')} to {path}")
        return {"FINISHED"}

    def _path(self) -> Path:
        path = Path(bpy.path.abspath(self.filepath))
        chosen = EXPORTERS[self.file_format]
        fits = EXPORTERS.get(path.suffix.lower()) == chosen
        if fits or not path.name:
            return path
        is_other = path.suffix.lower() in EXPORTERS
        return path.with_suffix(self.file_format) if is_other else Path(f"{path}{self.file_format}")


def _exported(context: Context) -> list[Object]:
    """The characters, and what is selected beside them."""
    characters = [obj for obj in target_meshes(context) if obj.type == "MESH"]
    return list(dict.fromkeys((*characters, *context.selected_objects))) if characters else []


# Bakes joints of the selected characters: to helper bones, or to corrective shape keys.


BONES = (
    ("SELECTED", "Selected Bones", "The deforming bones that are selected in Pose Mode"),
    (
        "ALL",
        "All Joints",
        "Every deforming bone that shares vertices with the next one above it",
    ),
)


_DRY_RUN = "Say in the panel how many helper bones or shape keys the bake gives. Nothing is changed"


class ChoosesJoints(RunsInSteps):
    """The joints of operators that run in steps, and their dialog.

    An operator has the property `bones`, with the items `BONES`, and the option `dry_run`, which
    has a button of its own.
    """

    bone_names: StringProperty(
        name="Bone Names",
        description="For scripts: bone names separated by commas, instead of the selected bones",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """The tooltip of both buttons."""
        return _DRY_RUN if properties.dry_run else (cls.__doc__ or "")

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        if not _selected_bones(context):
            self.bones = "ALL"
        return self.ask(context, "Dry Run" if getattr(self, "dry_run", False) else "Bake")

    def draw_bone_count(self, context: Context, layout: UILayout) -> None:
        """Draw the number of selected bones, where these are chosen."""
        if self.bones == "SELECTED":
            count = len(_selected_bones(context))
            bones = "1 bone is" if count == 1 else f"{count} bones are"
            layout.label(text=f"{bones} selected", icon="INFO" if count else "ERROR")

    def chosen_bones(self, context: Context) -> tuple[str, ...]:
        """The names of the chosen bones; empty for all.

        Raises:
            UserError: no bone is selected.
        """
        names = list(names_in(self.bone_names))
        if not names and self.bones == "SELECTED":
            names = _selected_bones(context)
            if not names:
                raise UserError("Select deforming bones in Pose Mode, or choose All Joints.")
        return tuple(names)


def _selected_bones(context: Context) -> list[str]:
    """The names of the selected deforming bones of the armatures in Pose Mode."""
    posed = context.selected_pose_bones or ()
    return list(dict.fromkeys(bone.name for bone in posed if bone.bone.use_deform))


# Of the dialog, where the user turns the limit on: what many engines for phones allow.
_BONE_LIMIT = 75


def _limit_bones(dialog: Any, is_limited: bool) -> None:
    dialog.bone_limit = (dialog.bone_limit or _BONE_LIMIT) if is_limited else 0


@with_option_properties(BonesOptions)
class DQC_OT_bake_bones(ChoosesJoints, Bakes):
    """Add helper bones and new weights, so that the plain Armature modifier, and any game engine, \
deforms the character like DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_bones"
    bl_label = "Bake to Bones"
    stopped = "Stopped. The bones are baked, correctives may be missing"
    object_refusal = staticmethod(bones_refusal)

    bones: EnumProperty(name="Joints", description="Which joints get helper bones", items=BONES)
    # Switches of the dialog in the place of the number 0 of scripts and files.
    automatic_helpers: BoolProperty(
        name="Automatic",
        description="As few helper bones for each joint as the tolerance needs. Off: a number",
        options={"SKIP_SAVE"},
        get=lambda self: self.helpers == 0,
        set=lambda self, value: setattr(self, "helpers", 0 if value else self.helpers or 1),
    )
    limits_bones: BoolProperty(
        name="Limit",
        description="Whether the engine limits the number of deforming bones",
        options={"SKIP_SAVE"},
        get=lambda self: self.bone_limit > 0,
        set=_limit_bones,
    )

    def draw(self, context: Context) -> None:
        chosen = options_from(self, BonesOptions)
        left_out = () if chosen.poses in {"ALL", "RANGE"} else ("bend", "twist")
        names = [name for name in property_names(BonesOptions) if name not in left_out]
        *shown, every_frame, _dry_run = names
        column = draw_properties(self, ("bones",))
        switches = {"helpers": "automatic_helpers", "bone_limit": "limits_bones"}
        for name in shown:
            if name in switches:
                row = column.row(align=True, heading=self.properties.bl_rna.properties[name].name)
                row.prop(self, switches[name])
                row = row.row(align=True)
                row.active = bool(getattr(self, name))
                row.prop(self, name, text="")
            else:
                column.prop(self, name)
        row = column.row()
        row.active = chosen.keys
        row.prop(self, every_frame)
        self.draw_bone_count(context, column)
        draw_outcome(self, column, " The mesh keeps its former weights for Replace Earlier Bake.")

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        return self.run(context, self._steps_of(selected_characters(context), context))

    def _steps_of(self, objects: list[Any], context: Context) -> Steps:
        """Bake, list each joint in the Info editor, and return the reports as sentences."""
        options = options_from(self, BonesOptions, bones=self.chosen_bones(context))
        reports = yield from bake_bones(objects, options)
        for report in reports:
            for joint in report.joints:
                self.report({"INFO"}, joint.sentence())
            if report.worse:
                self.report({"WARNING"}, report.sentence())
        return [report.sentence() for report in reports if not report.worse]


@with_option_properties(CorrectiveOptions)
class DQC_OT_bake_correctives(ChoosesJoints, Bakes):
    """Give the character shape keys that follow its bones. The Armature modifier then deforms it \
like DQ Compensation in any pose, without the add-on. Esc stops"""

    bl_idname = "dqc.bake_correctives"
    bl_label = "Bake Correctives"
    stopped = "The check was stopped. The correctives are baked"

    bones: EnumProperty(name="Bones", description="Which bones get correctives", items=BONES)
    angles: StringProperty(
        name="Angles (°)",
        description="The angles in degrees, separated by commas. Each becomes a shape key",
        default="45, 90",
    )
    twist_angles: StringProperty(
        name="Twist Angles (°)",
        description="The angles in degrees, separated by commas. Each becomes two shape keys, one "
        "for each direction. None: no twists",
        default="60, 120",
    )

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("bones", "directions"))
        directions = options_from(self, CorrectiveOptions).directions
        if directions != "ACTION":
            column.prop(self, "angles")
            if directions in {"LIMBS", "X", "Z"}:
                column.prop(self, "both_ways")
            column.prop(self, "twist_angles")
        for name in ("mirror", "budget", *KEY_OPTIONS, "much_memory"):
            column.prop(self, name)
        self.draw_bone_count(context, column)
        draw_outcome(self, column)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        steps = bake_correctives(selected_characters(context), self._options(context))
        return self.run(context, report_sentences(steps))

    def _options(self, context: Context) -> CorrectiveOptions:
        """The chosen options; UserError where an angle cannot be read or no bone is selected."""
        return options_from(
            self,
            CorrectiveOptions,
            bones=self.chosen_bones(context),
            angles=read_angles(self.angles),
            twists=read_angles(self.twist_angles),
        )


class DQC_OT_remove_bake(Bakes):
    """Remove helper bones and give the mesh its former weights, and remove shape keys of bakes. \
Keys of Bake Pose stay"""

    bl_idname = "dqc.remove_bake"
    bl_label = "Remove Bake"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return until_edit(context, cls, cls._find_refusal)

    @classmethod
    def _find_refusal(cls, context: Context) -> str | None:
        reasons = [removal_refusal(obj) for obj in baked_meshes(context)]
        return None if None in reasons else " ".join(filter(None, reasons[:3])) or NOTHING_SELECTED

    @reports_errors
    def execute(self, context: Context) -> Outcome:
        found = [obj for obj in baked_meshes(context) if removal_refusal(obj) is None]
        return " ".join(report.sentence() for report in remove_bakes(found))


def baked_meshes(context: Context) -> list[Object]:
    """The selected characters, enabled or not: a bake has disabled them."""
    return [obj for obj in meshes_of_characters(context) if obj.type == "MESH"]


# The sub-panel that bakes.


_PAINTED_WEIGHTS = (
    "Exporters write the painted weights, not those of Softness: press Soften Weights, or bake."
)


class BakePanel(SubPanel):
    """Bake the deformation for engines and programs without this add-on."""

    title = "Export and Bake"
    help_page = "baking"

    @classmethod
    def subject(cls, context: Context) -> list[Object] | None:
        return None if is_crowd(context.active_object) else meshes_of_characters(context)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: list[Object]) -> None:
        layout.enabled = not is_running()
        if any(settings_of(obj).enabled for obj in subject):
            draw_sentence(layout, context, _PAINTED_WEIGHTS, "INFO")
        column = layout.column()
        column.operator("dqc.bake_pose", icon="SHAPEKEY_DATA")
        column.operator("dqc.bake_range", icon="RENDER_ANIMATION")
        for name, icon in (("dqc.bake_correctives", "DRIVER"), ("dqc.bake_bones", "BONE_DATA")):
            row = column.row(align=True)
            row.operator(name, icon=icon)
            # Operator properties are typed by their operators, which our class names do not tell.
            dry: Any = row.operator(name, text="Dry Run")
            dry.dry_run = True
        column.operator("dqc.bake_cache", icon="FILE_CACHE")
        column.operator("dqc.export_plain", icon="EXPORT")
        for obj in subject:
            report = last_report(obj) if obj.type == "MESH" else None
            if report is not None:
                draw_sentence(layout, context, report, "CHECKMARK")
        if DQC_OT_remove_bake.refusal(context) is None:
            layout.operator("dqc.remove_bake", icon="TRASH")


# Tests the motion of a character. Blender goes on with these events meanwhile: the view.
_PASSED = ("MOUSEMOVE", "MIDDLEMOUSE", "WHEEL", "TRACKPAD", "NDOF", "NUMPAD", "INBETWEEN")
_ENDS = {"ESC", "LEFTMOUSE", "RIGHTMOUSE", "WINDOW_DEACTIVATE"}
# Seconds for one joint, and between two pictures.
_SECONDS, _STEP = 4.0, 0.04


def _tested_meshes(context: Context) -> list[Object]:
    """The enabled meshes that are shown, of the first of the selected characters that has any."""
    shown = [obj for obj in enabled_of_characters(context) if obj.visible_get()]
    return [obj for obj in shown if find_rig(obj) == find_rig(shown[0])]


class DQC_OT_test_motion(Refusing, Operator):
    """Bend and twist the joints of the character one after the other, on a copy that is in no \
file. Right Arrow: the next joint; Up and Down Arrow: farther or less far; Esc or a click ends it"""

    bl_idname = "dqc.test_motion"
    bl_label = "Test Motion"
    bl_options = set()

    strength: FloatProperty(
        name="Strength",
        description="How far the joints turn: 1 as far as in a bake to bones",
        default=1.0,
        min=0.1,
        max=1.5,
        subtype="FACTOR",
    )

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        if context.mode not in {"OBJECT", "POSE"}:
            return "Switch to Object Mode or Pose Mode to test the motion"
        if not _tested_meshes(context):
            return "Select a character that DQ Compensation deforms"
        return drawing_refusal()

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        meshes, depsgraph = _tested_meshes(context), context.evaluated_depsgraph_get()
        try:
            self._test = MotionTest(meshes, depsgraph)
            bindings = {
                obj.session_uid: binding_with_current_softness(obj, depsgraph) for obj in meshes
            }
        except UserError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self._mode, self._joint, self._moment = context.mode, 0, 0.0
        self._last, self._timer, self._label = time.monotonic(), None, None
        manager = context.window_manager
        with self._ended_by_errors(context):
            hide_for_drawing(meshes)
            posed_copy.begin(bindings)
            self._show()
            self._timer = manager.event_timer_add(_STEP, window=context.window)
            self._label = bpy.types.SpaceView3D.draw_handler_add(
                self._draw_label, (), "WINDOW", "POST_PIXEL"
            )
            manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    @contextmanager
    def _ended_by_errors(self, context: Context) -> Generator[None]:
        """Show the character again where the block fails: Blender does not call `cancel` then."""
        try:
            yield
        except BaseException:
            self.cancel(context)
            raise

    def modal(self, context: Context, event: Event) -> OperatorResult:
        with self._ended_by_errors(context):
            return self._followed(context, event)

    def _followed(self, context: Context, event: Event) -> OperatorResult:
        is_over = context.mode != self._mode or not compared or posed_copy.failed
        if is_over or (event.type in _ENDS and event.value != "RELEASE"):
            self.cancel(context)
            return {"FINISHED"}
        if event.type == "TIMER":
            now = time.monotonic()
            self._moment += min(now - self._last, 3.0 * _STEP) / _SECONDS
            self._last = now
            if self._moment >= 1.0:
                self._next()
            self._show()
        elif event.value == "PRESS" and event.type == "RIGHT_ARROW":
            self._next()
        elif event.value == "PRESS" and event.type in {"UP_ARROW", "DOWN_ARROW"}:
            self.strength += 0.1 if event.type == "UP_ARROW" else -0.1
        passes = event.type == "TIMER" or event.type.startswith(_PASSED)
        return {"PASS_THROUGH"} if passes else {"RUNNING_MODAL"}

    def cancel(self, context: Context) -> None:
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
        if self._label is not None:
            bpy.types.SpaceView3D.draw_handler_remove(self._label, "WINDOW")
        self._timer = self._label = None
        posed_copy.free()
        end_comparison()
        tag_redraw()

    def _next(self) -> None:
        self._joint, self._moment = (self._joint + 1) % len(self._test.joints), 0.0

    def _show(self) -> None:
        joint = self._test.joints[self._joint]
        posed_copy.show(self._test.matrices(joint, self._moment, self.strength))
        tag_redraw()

    def _draw_label(self) -> None:
        joint, count = self._test.joints[self._joint], len(self._test.joints)
        draw_words(
            f"Test Motion: {self._test.name(joint)}, {self._joint + 1} of {count}, strength "
            f"{self.strength:.1f}"
        )


CLASSES = (
    DQC_OT_test_motion,
    DQC_OT_bake_pose,
    DQC_OT_bake_range,
    DQC_OT_bake_cache,
    DQC_OT_export_plain,
    DQC_OT_bake_correctives,
    DQC_OT_bake_bones,
    DQC_OT_remove_bake,
)
