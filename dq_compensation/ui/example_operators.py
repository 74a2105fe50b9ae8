"""The operators on the list of example poses: removing, updating, mirroring, the support."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Object, Operator

from ..core.example_poses import ExampleError
from ..examples.applying import follow_now, update_from
from ..examples.authoring import remove_example
from ..examples.items import authoring_problem, bone_settings
from ..examples.mirroring import mirror_example
from ..examples.target import bone_in_hand, character_in_hand
from ..registration import apply_in_order, undo_in_reverse
from ..scene.binding import bind
from ..scene.example_capture import support_group, support_weights_of
from ..scene.object_settings import settings_of
from ..scene.posed_copies import character_of
from ..viewport.capability import drawing_refusal
from .example_operator import ExampleOperator, chosen_index

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

SIDES_BY = (
    ("POSITION", "Positions", "The other side is where the mirror image is"),
    (
        "TOPOLOGY",
        "Topology",
        "The other side is found by how the mesh hangs together, for characters that are not "
        "symmetrical in shape",
    ),
)


class DQC_OT_example_remove(ExampleOperator, Operator):
    """Remove an example pose and its shape key"""

    bl_idname = "dqc.example_remove"
    bl_label = "Remove"

    index: IntProperty(name="Index", default=-1, options={"HIDDEN"})

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        index = chosen_index(settings_of(obj), self.index)
        key = settings_of(obj).examples[index].key
        name = remove_example(obj, index)
        follow_now(obj)
        return f"Removed {name} and its shape key {key}.", True


class DQC_OT_example_update(ExampleOperator, Operator):
    """Give an example pose the shape of another mesh with the same vertices, as it comes back \
from a sculpting program. The character must be in the pose of the example"""

    bl_idname = "dqc.example_update"
    bl_label = "Update from Mesh"

    index: IntProperty(name="Index", default=-1, options={"HIDDEN"})
    source: StringProperty(
        name="Mesh",
        description="The mesh object with the shape; empty: the other selected one",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        obj = character_in_hand(context)
        if obj is not None and not self.source:
            self.source = _other_selected_mesh(context, obj)
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, context: Context) -> None:
        if self.layout is not None:
            self.layout.prop_search(self, "source", context.scene, "objects", icon="MESH_DATA")

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        name = self.source or _other_selected_mesh(context, obj)
        source = context.scene.objects.get(name)
        if source is None or source.type != "MESH":
            raise ExampleError("Choose the mesh that has the shape, or select it with Shift.")
        if source == obj:
            raise ExampleError(f"{obj.name} is the character itself. Choose another mesh.")
        index = chosen_index(settings_of(obj), self.index)
        return update_from(obj, index, source, context.evaluated_depsgraph_get())


def _other_selected_mesh(context: Context, obj: Object) -> str:
    """The one mesh that is selected besides a character; empty without or with several."""
    others = [
        other.name
        for other in context.selected_objects
        if other.type == "MESH" and other != obj and character_of(other) is None
    ]
    return others[0] if len(others) == 1 else ""


class DQC_OT_example_mirror(ExampleOperator, Operator):
    """Make the mirror image of an example pose for the bone of the other side, or bring it up to \
date"""

    bl_idname = "dqc.example_mirror"
    bl_label = "Mirror"

    index: IntProperty(name="Index", default=-1, options={"HIDDEN"})
    by: EnumProperty(
        name="By", description="How the other side of the mesh is found", items=SIDES_BY
    )

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        index = chosen_index(settings_of(obj), self.index)
        name = settings_of(obj).examples[index].name
        before = len(settings_of(obj).examples)
        mirrored = mirror_example(obj, index, by_topology=self.by == "TOPOLOGY")
        follow_now(obj)
        added = len(settings_of(obj).examples) > before
        return (
            f"Mirrored {name}: added {mirrored}."
            if added
            else f"Mirrored {name}: {mirrored} is up to date."
        ), True


class DQC_OT_support_show(ExampleOperator, Operator):
    """Colour the vertices that the example poses of a bone may move; again to stop"""

    bl_idname = "dqc.support_show"
    bl_label = "Show Support"
    changes = False
    needs_example = False

    bone: StringProperty(
        name="Bone",
        description="Whose support; empty: the bone of the panel, or the active one",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        reason = super().refusal(context)
        obj = character_in_hand(context)
        if reason is None and obj is not None and obj.library is not None:
            reason = f"{obj.name} is linked from another file. Make a library override of it"
        return reason

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        settings = settings_of(obj)
        bone = self.bone or bone_in_hand(obj)
        if settings.overlay == "SUPPORT" and bone in {settings.support_bone, ""}:
            settings.overlay = "NONE"
            return f"The support of {settings.support_bone} is not shown any more.", True
        if not bone:
            raise ExampleError("Choose a bone: the one whose support is to be shown.")
        binding = bind(obj, context.evaluated_depsgraph_get())
        if bone not in binding.skeleton.names:
            raise ExampleError(f"{binding.armature_name} has no bone {bone}. Choose another one.")
        weights = support_weights_of(binding, bone, support_group(obj, bone))
        if authoring_problem(obj) is None:
            # So that the panel has something in which another support can be chosen.
            bone_settings(obj, bone)
        settings.support_bone, settings.overlay = bone, "SUPPORT"
        told = f"{int((weights > 0.0).sum())} vertices are in the support of {bone}."
        if reason := drawing_refusal():
            return f"{told} {reason}", False
        return told, True


CLASSES = (
    DQC_OT_example_remove,
    DQC_OT_example_update,
    DQC_OT_example_mirror,
    DQC_OT_support_show,
)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
