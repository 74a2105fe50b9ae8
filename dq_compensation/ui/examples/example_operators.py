"""The operators on the list of example poses: remove, update, mirror, and the support."""

from __future__ import annotations

from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Event, Object, Operator

from ...core.example_poses import ExampleError
from ...examples.active_character import active_bone, active_character
from ...examples.apply_shape import follow_now, update_from
from ...examples.authoring import remove_example
from ...examples.items import authoring_refusal, bone_settings, write_support
from ...examples.mirroring import mirror_example
from ...examples.sculpted_base import take_over
from ...scene.binding.bind import bind
from ...scene.binding.binding import Binding
from ...scene.binding.example_capture import support_of, support_weights
from ...scene.blender.linked import linked_refusal
from ...scene.copies.posed_copies import character_of
from ...scene.settings.object_settings import settings_of
from ...viewport.gpu.capability import drawing_refusal
from ...wording import listed
from ..painting.paint_operators import enter_weight_paint
from ..reporting import OperatorResult
from .example_operator import ExampleOperator, OnOneExample

SIDES_BY = (
    ("POSITION", "Positions", "Find the other side by the mirrored positions"),
    (
        "TOPOLOGY",
        "Topology",
        "Find the other side by how the mesh is connected, for characters that are not "
        "symmetrical in shape",
    ),
)


class DQC_OT_example_remove(OnOneExample, Operator):
    """Remove an example pose and its shape key"""

    bl_idname = "dqc.example_remove"
    bl_label = "Remove"

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        index = self.chosen(obj)
        key = settings_of(obj).examples[index].key
        name = remove_example(obj, index)
        follow_now(obj)
        return f"Removed {name} and its shape key {key}.", True


class DQC_OT_examples_take_over(ExampleOperator, Operator):
    """Let example poses that were sculpted on another base, or with another softness, show on the \
present one the shapes that they had"""

    bl_idname = "dqc.examples_take_over"
    bl_label = "Keep Sculpted Shapes"

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        names = take_over(obj)
        return f"{listed(names) or 'No example'}: shaped as it was sculpted.", bool(names)


class DQC_OT_example_update(OnOneExample, Operator):
    """Give an example pose the shape of another mesh with the same vertices, for instance from a \
sculpting program. Go to the pose of the example first"""

    bl_idname = "dqc.example_update"
    bl_label = "Update from Mesh"

    source: StringProperty(
        name="Mesh",
        description="The mesh object with the shape. Empty: the other selected mesh",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        obj = active_character(context)
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
        index = self.chosen(obj)
        return update_from(obj, index, source, context.evaluated_depsgraph_get())


def _other_selected_mesh(context: Context, obj: Object) -> str:
    """The one mesh that is selected besides a character; empty without or with several."""
    others = [
        other.name
        for other in context.selected_objects
        if other.type == "MESH" and other != obj and character_of(other) is None
    ]
    return others[0] if len(others) == 1 else ""


class DQC_OT_example_mirror(OnOneExample, Operator):
    """Mirror an example pose to the bone of the other side, or update its mirror image"""

    bl_idname = "dqc.example_mirror"
    bl_label = "Mirror"

    by: EnumProperty(
        name="By", description="How to find the other side of the mesh", items=SIDES_BY
    )

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        index = self.chosen(obj)
        name = settings_of(obj).examples[index].name
        before = len(settings_of(obj).examples)
        mirrored = mirror_example(obj, index, by_topology=self.by == "TOPOLOGY")
        follow_now(obj)
        added = len(settings_of(obj).examples) > before
        done = f"added {mirrored}" if added else f"{mirrored} is up to date"
        return f"Mirrored {name}: {done}.", True


class _OnSupport(ExampleOperator):
    """An operator on the support of a bone."""

    needs_example = False

    bone: StringProperty(
        name="Bone",
        description="The bone of the support. Empty: the bone of the panel, or the active one",
        options={"SKIP_SAVE"},
    )


class DQC_OT_support_show(_OnSupport, Operator):
    """Colour the vertices that the example poses of a bone may move. Press again to stop"""

    bl_idname = "dqc.support_show"
    bl_label = "Show Support"
    changes = False
    for_bone = "Colour the vertices that the examples of {bone} may move. Press again to stop"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        reason = super().refusal(context)
        obj = active_character(context)
        if reason is None and obj is not None:
            reason = linked_refusal(obj.name, [obj], "Make a library override of it.")
        return reason

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        settings = settings_of(obj)
        bone = self.bone or active_bone(obj)
        if settings.overlay == "SUPPORT" and bone in {settings.support_bone, ""}:
            settings.overlay = "NONE"
            return f"The support of {settings.support_bone} is not shown any more.", True
        binding = bind(obj, context.evaluated_depsgraph_get())
        _require_bone(binding, bone)
        weights = support_weights(binding, bone, support_of(obj, bone))
        if authoring_refusal(obj) is None:
            # So that the panel has something in which another support can be chosen.
            bone_settings(obj, bone)
        settings.support_bone, settings.overlay = bone, "SUPPORT"
        summary = f"{int((weights > 0.0).sum())} vertices are in the support of {bone}."
        if reason := drawing_refusal():
            return f"{summary} {reason}", False
        return summary, True


class DQC_OT_support_paint(_OnSupport, Operator):
    """Paint the support of a bone in Weight Paint Mode"""

    bl_idname = "dqc.support_paint"
    bl_label = "Paint Support"
    for_bone = (
        "Paint the vertices that the example poses of {bone} may move. Without a vertex group it "
        "makes one of the current support"
    )

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        bone = self.bone or active_bone(obj)
        binding = bind(obj, context.evaluated_depsgraph_get())
        _require_bone(binding, bone)
        if not obj.visible_get(view_layer=context.view_layer):
            raise ExampleError(f"{obj.name} is hidden. Show it (Alt H) and try again.")
        group = bone_settings(obj, bone).support
        if group not in obj.vertex_groups:
            weights = support_weights(binding, bone, support_of(obj, bone))
            group = write_support(obj, bone, weights)
        enter_weight_paint(context, obj)
        # An active bone makes its own group the active one when the mode begins.
        obj.vertex_groups.active = obj.vertex_groups[group]
        return f"Painting the support of {bone}: the vertex group {group} of {obj.name}.", True


def _require_bone(binding: Binding, bone: str) -> None:
    """Raise ExampleError where the armature has no such bone."""
    if not bone:
        raise ExampleError("Choose the bone of the support.")
    if bone not in binding.skeleton.names:
        raise ExampleError(f"{binding.armature_name} has no bone {bone}. Choose another one.")


CLASSES = (
    DQC_OT_example_remove,
    DQC_OT_examples_take_over,
    DQC_OT_example_update,
    DQC_OT_example_mirror,
    DQC_OT_support_show,
    DQC_OT_support_paint,
)
