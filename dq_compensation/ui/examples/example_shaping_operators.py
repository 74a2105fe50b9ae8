"""The operators that shape an example pose on the posed copy: add, edit, apply, cancel."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np
from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Object, Operator, OperatorProperties

from ...core.example_poses import CLOSEST, ExampleError
from ...errors import UserError
from ...examples import posed_copy, posed_copy_handlers
from ...examples.active_character import active_bone, active_copy
from ...examples.apply_shape import apply_copy, follow_now
from ...examples.authoring import add_example, remove_example
from ...examples.go_to_pose import at_pose, go_to_pose
from ...examples.items import ADVICE_LINKED
from ...scene.blender.linked import linked_refusal
from ...scene.blender.mesh import mesh_of
from ...scene.copies.posed_copies import open_copy_of
from ...scene.settings.object_settings import Settings, settings_of
from ...session.settings_writing import writing_settings
from ...session.status import tag_redraw
from ..reporting import OperatorResult, Refusing, reports_errors
from .example_operator import ExampleOperator, OnOneExample

MODES = (
    ("SCULPT", "Sculpt", "Shape it with brushes"),
    ("EDIT", "Edit", "Shape it by its vertices"),
)
_MODES_OR_NONE = (*MODES, ("NONE", "None", "Keep the shape that the character has now"))


class DQC_OT_example_add(ExampleOperator, Operator):
    """Make an example of the current pose for one bone, and shape the character in it. Leaving \
the mode applies the shape"""

    bl_idname = "dqc.example_add"
    bl_label = "Add Example"
    needs_example = False
    for_bone = (
        "Make an example of the current pose of {bone}, and shape the character in it. Leaving the "
        "mode applies the shape"
    )

    bone: StringProperty(
        name="Bone", description="The bone to pose. Empty: the bone of the panel, or the active one"
    )
    name: StringProperty(
        name="Name", description="The name of the pose. Empty: the bone and a number"
    )
    mode: EnumProperty(
        name="Shape In", description="The mode in which you shape it", items=_MODES_OR_NONE
    )

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        bone = self.bone or active_bone(obj)
        if not bone:
            raise ExampleError("Choose the bone of the example pose.")
        shaped = self.mode != "NONE"
        if shaped and (reason := posed_copy.shaping_refusal(obj)):
            raise ExampleError(reason)
        settings = settings_of(obj)
        method, base = settings.method, settings.example_base
        had_keys = mesh_of(obj).shape_keys is not None
        graph = context.evaluated_depsgraph_get()
        with writing_settings():
            if method == "COMPENSATED" and not len(settings.examples):
                # The first example is to correct what the artist has seen.
                settings.example_base = "COMPENSATED"
            try:
                index, captured = add_example(obj, bone, graph, self.name)
            except UserError:
                settings.example_base = base
                raise
            summary = f"Added {settings.examples[index].name} for {bone}."
            if not Settings.of(obj).by_example:
                settings.method = "SPHERICAL_JOINT_BY_EXAMPLE"
                of = settings.example_base.replace("_", " ").title()
                summary += f" The method of {obj.name} is By Example now, on top of {of}."
        follow_now(obj)
        if shaped:
            graph = context.evaluated_depsgraph_get()
            try:
                copy = posed_copy.begin(obj, index, captured, graph, is_new=True)
            except UserError:
                remove_example(obj, index, keep_basis=had_keys)
                raise
            copy[posed_copy.BASIS_PROPERTY] = had_keys
            posed_copy.shape_in(copy, self.mode)
            summary += " Shape it; leaving the mode applies."
        return summary, True


class DQC_OT_example_edit(OnOneExample, Operator):
    """Go to the pose of an example and shape it again. Leaving the mode applies the shape"""

    bl_idname = "dqc.example_edit"
    bl_label = "Edit"

    mode: EnumProperty(name="Shape In", description="The mode in which you shape it", items=MODES)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        copy = active_copy(context)
        if copy is None:
            return super().refusal(context)
        # It is gone on with.
        return linked_refusal(f"{copy.name} or its mesh", (copy, mesh_of(copy)), ADVICE_LINKED)

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        known = open_copy_of(obj)
        if known is not None:
            _go_on_with(context, known)
            posed_copy.shape_in(known, self.mode)
            return f"Shaping {known.name} again", True
        index = self.chosen(obj)
        if reason := posed_copy.shaping_refusal(obj):
            raise ExampleError(reason)
        item = settings_of(obj).examples[index]
        with at_pose(obj, index, context.evaluated_depsgraph_get()) as away:
            if away > CLOSEST:
                raise ExampleError(
                    f"{item.bone} stays {np.degrees(away):.0f} degrees away from its pose "
                    f"{item.name}. Turn off the constraints, drivers or locks that hold it."
                )
            copy = posed_copy.begin(obj, index, None, context.evaluated_depsgraph_get())
        posed_copy.shape_in(copy, self.mode)
        return f"Shape {item.name}; leaving the mode applies.", True


def _go_on_with(context: Context, copy: Object) -> None:
    """Show a posed copy and make it the active object; ExampleError if the view layer lacks it."""
    if context.view_layer.objects.get(copy.name) != copy:
        raise ExampleError(
            f"The collection of {copy.name} is excluded from the view layer. Include it there."
        )
    active = context.active_object
    if active is not None and active != copy and active.mode not in {"OBJECT", "POSE"}:
        bpy.ops.object.mode_set(mode="OBJECT")
    # Where it is disabled in viewports, Blender refuses to change its mode.
    copy.hide_viewport = False
    copy.hide_set(False)
    context.view_layer.objects.active = copy
    copy.select_set(True)


class _CopyOperator(Refusing):
    """The base of the operators that end the work on a posed copy."""

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return "No example pose is being shaped" if active_copy(context) is None else None

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        copy = cast("Object", active_copy(context))
        if copy.mode != "OBJECT":
            _go_on_with(context, copy)
            bpy.ops.object.mode_set(mode="OBJECT")
            # Blender can go back to a stroke only from a step in which the sculpted mesh exists.
            bpy.ops.ed.undo_push(message="Leave Mode")
        summary, is_complete = self.work(copy)
        tag_redraw()
        cast("Operator", self).report({"INFO" if is_complete else "WARNING"}, summary)
        return {"FINISHED"}

    def work(self, copy: Object) -> tuple[str, bool]:
        """Act; returns a summary, and whether everything was done."""
        raise NotImplementedError


OUTSIDE = (
    (
        "ASK",
        "Ask",
        "Give the example pose the shape that was made, and go back to the character. Nothing is "
        "applied yet if vertices outside the support were moved",
    ),
    (
        "LEAVE",
        "Apply Inside Only",
        "Apply the shape inside the support. Vertices outside the support stay as they were",
    ),
    (
        "WIDEN",
        "Support from My Edit",
        "Add the vertices that were moved to the support of the bone, as a vertex group, and apply "
        "the whole shape",
    ),
)


class DQC_OT_example_apply(_CopyOperator, Operator):
    """Give the example pose the shape that was made, and go back to the character"""

    bl_idname = "dqc.example_apply"
    bl_label = "Apply"

    outside: EnumProperty(
        name="Outside the Support",
        description="What happens to vertices that were moved outside the support",
        items=OUTSIDE,
        options={"SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Context, properties: OperatorProperties) -> str:
        outside = cast("DQC_OT_example_apply", properties).outside
        return next(text for name, _, text in OUTSIDE if name == outside)

    def work(self, copy: Object) -> tuple[str, bool]:
        try:
            return apply_copy(copy, self.outside)
        except UserError as error:
            posed_copy_handlers.note_failure(copy, error)
            raise


class DQC_OT_example_cancel(_CopyOperator, Operator):
    """Discard the shape, and go back to the character"""

    bl_idname = "dqc.example_cancel"
    bl_label = "Cancel"

    def work(self, copy: Object) -> tuple[str, bool]:
        obj = posed_copy.character_of(copy)
        summary = posed_copy.cancel(copy)
        if obj is not None:
            follow_now(obj)
        return summary, True


class DQC_OT_example_go_to_pose(OnOneExample, Operator):
    """Turn the bone to its rotation in the example pose"""

    bl_idname = "dqc.example_go_to_pose"
    bl_label = "Go to Pose"
    changes = False

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        index = self.chosen(obj)
        name = settings_of(obj).examples[index].name
        bone, away = go_to_pose(obj, index, context.evaluated_depsgraph_get())
        if away > CLOSEST:
            return (
                f"{bone} stays {np.degrees(away):.0f} degrees away from {name}: constraints, "
                "drivers or locks hold it.",
                False,
            )
        return f"{bone} is in the pose {name}.", True


CLASSES = (
    DQC_OT_example_add,
    DQC_OT_example_edit,
    DQC_OT_example_apply,
    DQC_OT_example_cancel,
    DQC_OT_example_go_to_pose,
)
