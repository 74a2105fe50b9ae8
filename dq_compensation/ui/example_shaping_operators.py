"""Shaping an example pose on the posed copy: adding, editing, applying, cancelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import bpy
import numpy as np
from bpy.props import EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Object, Operator

from ..core.example_poses import CLOSEST, ExampleError
from ..examples import posed_copy
from ..examples.applying import apply_copy, follow_now
from ..examples.authoring import add_example, remove_example
from ..examples.placing import at_pose, go_to_pose
from ..examples.target import bone_in_hand, copy_in_hand
from ..registration import apply_in_order, undo_in_reverse
from ..scene.object_settings import settings_of
from ..scene.posed_copies import open_copy_of
from ..scene.status import tag_redraw
from .example_operator import ERRORS, ExampleOperator, chosen_index

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

MODES = (
    ("SCULPT", "Sculpt", "Shape it with brushes"),
    ("EDIT", "Edit", "Shape it by its vertices"),
)
_MODES_OR_NONE = (*MODES, ("NONE", "None", "Keep the shape that the character has now"))


class DQC_OT_example_add(ExampleOperator, Operator):
    """Make an example of the pose of now for one bone, and shape the character as it should look \
there. Leaving the mode applies the shape"""

    bl_idname = "dqc.example_add"
    bl_label = "Add Example"
    needs_example = False

    bone: StringProperty(
        name="Bone", description="Whose pose it is; empty: the bone of the panel, or the active one"
    )
    name: StringProperty(name="Name", description="Of the pose; empty: a number after the bone")
    mode: EnumProperty(name="Shape In", description="Which mode to go to", items=_MODES_OR_NONE)

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        bone = self.bone or bone_in_hand(obj)
        if not bone:
            raise ExampleError("Choose a bone: the one whose pose makes the shape.")
        shaped = self.mode != "NONE"
        if shaped and (reason := posed_copy.shaping_problem(obj)):
            raise ExampleError(reason)
        settings = settings_of(obj)
        method, base = settings.method, settings.example_base
        if method == "COMPENSATED" and not len(settings.examples):
            # The first example is to correct what the artist has seen.
            settings.example_base = "COMPENSATED"
        try:
            index, moment = add_example(obj, bone, context.evaluated_depsgraph_get(), self.name)
        except ERRORS:
            settings.example_base = base
            raise
        told = f"Added {settings.examples[index].name} for {bone}."
        if method != "SPHERICAL_JOINT_BY_EXAMPLE":
            settings.method = "SPHERICAL_JOINT_BY_EXAMPLE"
            of = settings.example_base.replace("_", " ").title()
            told += f" The method of {obj.name} is By Example now, on top of {of}."
        follow_now(obj)
        if shaped:
            graph = context.evaluated_depsgraph_get()
            try:
                posed_copy.begin(obj, index, moment, graph, is_new=True)
            except ERRORS:
                remove_example(obj, index)
                raise
            bpy.ops.object.mode_set(mode=self.mode)
            told += " Shape it; leaving the mode applies."
        return told, True


class DQC_OT_example_edit(ExampleOperator, Operator):
    """Go to the pose of an example and shape it again. Leaving the mode applies the shape"""

    bl_idname = "dqc.example_edit"
    bl_label = "Edit"

    index: IntProperty(name="Index", default=-1, options={"HIDDEN"})
    mode: EnumProperty(name="Shape In", description="Which mode to go to", items=MODES)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        # A copy that is open already is gone on with.
        return None if copy_in_hand(context) is not None else super().refusal(context)

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        known = open_copy_of(obj)
        if known is not None:
            _go_on_with(context, known)
            bpy.ops.object.mode_set(mode=self.mode)
            return f"Shaping {known.name} again", True
        index = chosen_index(settings_of(obj), self.index)
        if reason := posed_copy.shaping_problem(obj):
            raise ExampleError(reason)
        item = settings_of(obj).examples[index]
        with at_pose(obj, index, context.evaluated_depsgraph_get()) as away:
            if away > CLOSEST:
                raise ExampleError(
                    f"{item.bone} stays {np.degrees(away):.0f} degrees away from its pose "
                    f"{item.name}. Turn off the constraints, drivers or locks that hold it."
                )
            posed_copy.begin(obj, index, None, context.evaluated_depsgraph_get())
        bpy.ops.object.mode_set(mode=self.mode)
        return f"Shape {item.name}; leaving the mode applies.", True


def _go_on_with(context: Context, copy: Object) -> None:
    """Make a posed copy the active object."""
    active = context.active_object
    if active is not None and active != copy and active.mode not in {"OBJECT", "POSE"}:
        bpy.ops.object.mode_set(mode="OBJECT")
    copy.hide_set(False)
    context.view_layer.objects.active = copy
    copy.select_set(True)


class _CopyOperator:
    """What ends the work on a posed copy."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        if copy_in_hand(context) is None:
            cast("type[Operator]", cls).poll_message_set("No example pose is being shaped")
            return False
        return True

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        operator = cast("Operator", self)
        copy = cast("Object", copy_in_hand(context))
        if copy.mode != "OBJECT":
            _go_on_with(context, copy)
            bpy.ops.object.mode_set(mode="OBJECT")
        try:
            told, is_complete = self.work(copy)
        except ERRORS as error:
            operator.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        tag_redraw()
        operator.report({"INFO" if is_complete else "WARNING"}, told)
        return {"FINISHED"}

    def work(self, copy: Object) -> tuple[str, bool]:
        """Do it; what was done, and whether all of it was."""
        raise NotImplementedError


class DQC_OT_example_apply(_CopyOperator, Operator):
    """Give the example pose the shape that was made, and go back to the character"""

    bl_idname = "dqc.example_apply"
    bl_label = "Apply"

    def work(self, copy: Object) -> tuple[str, bool]:
        return apply_copy(copy)


class DQC_OT_example_cancel(_CopyOperator, Operator):
    """Throw away what was made, and go back to the character"""

    bl_idname = "dqc.example_cancel"
    bl_label = "Cancel"

    def work(self, copy: Object) -> tuple[str, bool]:
        obj = posed_copy.character_of(copy)
        told = posed_copy.cancel(copy)
        if obj is not None:
            follow_now(obj)
        return told, True


class DQC_OT_example_go_to_pose(ExampleOperator, Operator):
    """Turn the bone of an example as it was when the example was made"""

    bl_idname = "dqc.example_go_to_pose"
    bl_label = "Go to Pose"
    changes = False

    index: IntProperty(name="Index", default=-1, options={"HIDDEN"})

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        index = chosen_index(settings_of(obj), self.index)
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


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
