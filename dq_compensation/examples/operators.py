"""The operators on example poses: add, shape, mirror, remove."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np
from bpy.app.translations import pgettext_tip
from bpy.props import EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Depsgraph, Event, Object, Operator, OperatorProperties

from ..core.example_poses import CLOSEST, ExampleError
from ..errors import UserError
from ..lifecycle.enabling import share_settings
from ..lifecycle.following import binding_with_current_softness
from ..painting.operators import enter_weight_paint
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.capture import support_of, support_weights
from ..scene.binding.controlled_joints import bones_to_choose, posed_joint
from ..scene.blender.armature import armature_of
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import is_posed_copy, linked_refusal
from ..scene.copies import copied_character, open_copy_of
from ..scene.selected_characters import known_meshes, target_meshes
from ..scene.settings.example_settings import OFFERED_BONES
from ..scene.settings.object_settings import Settings, is_enabled, settings_of
from ..scene.stack import find_rig
from ..session.changes import writing_settings
from ..session.known_objects import has_examples
from ..session.memory import memory_of
from ..ui_shared.reporting import OperatorResult, Outcome, Refusing
from ..viewport.gpu_objects import drawing_refusal
from ..wording import listed
from . import authoring, posed_copy


def active_character(context: Context) -> Object | None:
    """The mesh object of the active character.

    The active mesh; the character of an active posed copy; of the enabled meshes that the active
    object leads to the largest that is visible, those by example and with examples before others.
    """
    active = context.active_object
    if active is None:
        return None
    if active.type == "MESH":
        return copied_character(active) if is_posed_copy(active) else active
    if active.type == "ARMATURE":
        meshes = known_meshes(active, context.view_layer)
    else:
        meshes = target_meshes(context) if active.type == "EMPTY" else []
    enabled = [obj for obj in meshes if is_enabled(obj)]
    return max(enabled or meshes, key=_rank, default=None)


def _rank(mesh: Object) -> tuple[bool, bool, bool, int]:
    """How likely a mesh is the one whose examples are meant."""
    by_example, size = Settings.of(mesh).by_example, len(mesh_of(mesh).vertices)
    return by_example, has_examples(mesh), mesh.visible_get(), size


def active_copy(context: Context) -> Object | None:
    """The active posed copy, or the posed copy of the active character."""
    active = context.active_object
    if active is not None and is_posed_copy(active):
        return active
    obj = active_character(context)
    return open_copy_of(obj) if obj is not None else None


def active_bone(obj: Object) -> str:
    """The name of the bone that the next example is for; empty when there is none.

    The one that was chosen in the panel, or else the active bone of the armature.
    """
    rig = find_rig(obj)
    bone = armature_of(rig).bones.active if rig is not None else None
    return settings_of(obj).example_bone or (bone.name if bone is not None else "")


_NOTHING_CHOSEN = "Select a character's mesh, or the armature that deforms it"


class ExampleOperator(Refusing):
    """An operator on the example poses of the active character.

    Attributes:
        changes: it writes to the examples: not on linked objects, and not while one is shaped.
        needs_example: there must be one.
        for_bone: its tooltip where it acts on a bone, with a place for its whole name.
    """

    changes = True
    needs_example = True
    for_bone = ""

    @classmethod
    def description(cls, context: Context, properties: OperatorProperties) -> str:
        obj = active_character(context)
        bone = active_bone(obj) if obj is not None else ""
        return pgettext_tip(cls.for_bone).format(bone=bone or pgettext_tip("the bone"))

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        obj = active_character(context)
        if obj is None:
            return _NOTHING_CHOSEN
        if not is_enabled(obj):
            return f"Enable DQ Compensation for {obj.name} first"
        if cls.needs_example and not len(settings_of(obj).examples):
            return f"{obj.name} has no example poses yet. Add one"
        return _changing_refusal(obj) if cls.changes else None

    def act(self, context: Context) -> Outcome:
        return self.work(context, cast("Object", active_character(context)))

    def work(self, context: Context, obj: Object) -> Outcome:
        """Act; returns what was done."""
        raise NotImplementedError


def _changing_refusal(obj: Object) -> str | None:
    if reason := authoring.authoring_refusal(obj):
        return reason
    if open_copy_of(obj) is not None:
        return f"An example pose of {obj.name} is being shaped. Apply or cancel it first"
    if obj.mode != "OBJECT":
        return f"Leave the mode that {obj.name} is in: go to Object Mode"
    return None


class OnOneExample(ExampleOperator):
    """An operator on one of the example poses."""

    index: IntProperty(
        name="Index",
        description="The example pose in the list. -1: the active one",
        default=-1,
        options={"HIDDEN"},
    )

    def chosen(self, obj: Object) -> int:
        """The index of the example that is meant.

        Raises:
            ExampleError: there is no such example.
        """
        settings = settings_of(obj)
        found = settings.active_example if self.index < 0 else self.index
        if not 0 <= found < len(settings.examples):
            raise ExampleError("Choose an example pose in the list.")
        return found


_SIDES_BY = (
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

    def work(self, context: Context, obj: Object) -> Outcome:
        index = self.chosen(obj)
        key = settings_of(obj).examples[index].key
        name = authoring.remove_example(obj, index)
        posed_copy.follow_now(obj)
        return f"Removed {name} and its shape key {key}."


class DQC_OT_examples_take_over(ExampleOperator, Operator):
    """Let example poses that were sculpted on another base, or with another softness, show on the \
present one the shapes that they had"""

    bl_idname = "dqc.examples_take_over"
    bl_label = "Keep Sculpted Shapes"

    def work(self, context: Context, obj: Object) -> Outcome:
        names = posed_copy.take_over(obj)
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

    def work(self, context: Context, obj: Object) -> Outcome:
        name = self.source or _other_selected_mesh(context, obj)
        source = context.scene.objects.get(name)
        if source is None or source.type != "MESH":
            raise ExampleError("Choose the mesh that has the shape, or select it with Shift.")
        if source == obj:
            raise ExampleError(f"{obj.name} is the character itself. Choose another mesh.")
        index = self.chosen(obj)
        return posed_copy.update_from(obj, index, source, context.evaluated_depsgraph_get())


def _other_selected_mesh(context: Context, obj: Object) -> str:
    """The name of the other selected mesh; empty without one, or with several."""
    others = [
        other.name
        for other in context.selected_objects
        if other.type == "MESH" and other != obj and copied_character(other) is None
    ]
    return others[0] if len(others) == 1 else ""


class DQC_OT_example_mirror(OnOneExample, Operator):
    """Mirror an example pose to the bone of the other side, or update its mirror image"""

    bl_idname = "dqc.example_mirror"
    bl_label = "Mirror"

    by: EnumProperty(
        name="By", description="How to find the other side of the mesh", items=_SIDES_BY
    )

    def work(self, context: Context, obj: Object) -> Outcome:
        index, examples = self.chosen(obj), settings_of(obj).examples
        name, before = examples[index].name, len(examples)
        mirrored = authoring.mirror_example(obj, index, by_topology=self.by == "TOPOLOGY")
        posed_copy.follow_now(obj)
        done = f"added {mirrored}" if len(examples) > before else f"{mirrored} is up to date"
        return f"Mirrored {name}: {done}."


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

    def work(self, context: Context, obj: Object) -> Outcome:
        settings = settings_of(obj)
        bone, graph = self.bone or active_bone(obj), context.evaluated_depsgraph_get()
        binding, is_shown = bind(obj, graph), settings.overlay == "SUPPORT"
        if bone or not is_shown:
            bone = _posed_bone(obj, binding, bone, graph)
        if is_shown and bone in {settings.support_bone, ""}:
            settings.overlay = "NONE"
            return f"The support of {settings.support_bone} is not shown any more."
        weights = support_weights(binding, bone, support_of(obj, bone))
        if authoring.authoring_refusal(obj) is None:
            # So that the panel has something in which another support can be chosen.
            authoring.bone_settings(obj, bone)
        settings.support_bone, settings.overlay = bone, "SUPPORT"
        summary = f"{int((weights > 0.0).sum())} vertices are in the support of {bone}."
        if reason := drawing_refusal():
            return f"{summary} {reason}", False
        return summary


class DQC_OT_support_paint(_OnSupport, Operator):
    """Paint the support of a bone in Weight Paint Mode"""

    bl_idname = "dqc.support_paint"
    bl_label = "Paint Support"
    for_bone = (
        "Paint the vertices that the example poses of {bone} may move. Without a vertex group it "
        "makes one of the current support"
    )

    def work(self, context: Context, obj: Object) -> Outcome:
        graph = context.evaluated_depsgraph_get()
        binding = bind(obj, graph)
        bone = _posed_bone(obj, binding, self.bone or active_bone(obj), graph)
        if not obj.visible_get(view_layer=context.view_layer):
            raise ExampleError(f"{obj.name} is hidden. Show it (Alt H) and try again.")
        group = authoring.bone_settings(obj, bone).support
        if group not in obj.vertex_groups:
            weights = support_weights(binding, bone, support_of(obj, bone))
            group = authoring.write_support(obj, bone, weights)
        enter_weight_paint(context, obj)
        # An active bone makes its own group the active one when the mode begins.
        obj.vertex_groups.active = obj.vertex_groups[group]
        return f"Painting the support of {bone}: the vertex group {group} of {obj.name}."


def _posed_bone(obj: Object, binding: Binding, name: str, depsgraph: Depsgraph) -> str:
    """The bone that is meant: of the joints that a control bends, the one that is turned most.

    Raises:
        ExampleError: there is no such bone, or it moves no skin and bends no joint.
    """
    if not name:
        raise ExampleError("Choose the bone.")
    rig, settings = find_rig(obj), Settings.of(obj)
    if rig is None or name not in armature_of(rig).bones:
        raise ExampleError(f"{binding.armature_name} has no bone {name}. Choose another one.")
    found = posed_joint(rig, binding, settings, name, depsgraph)
    if found is None:
        near = listed(bones_to_choose(rig, binding, settings, name, depsgraph))
        raise ExampleError(
            f"{name} moves no skin of {obj.name}, and bends no joint as {rig.name} is switched "
            f"now. Choose one of {near}, or another control."
        )
    return found


class _Offered:
    """The bones that a field offers for an object, in the order in which it was opened."""

    names: tuple[str, ...] = ()


def _offer_bones(obj: Object, context: Context, typed: str) -> list[str]:
    """The bones that move the skin: first those that the active bone turns.

    While a name is typed they stay as they were when the field was opened.
    """
    offered, rig, settings = memory_of(obj, _Offered), find_rig(obj), settings_of(obj)
    unchanged = {"", settings.example_bone, *(each.bone for each in settings.examples)}
    is_opened = typed in unchanged or not offered.names
    if rig is not None and is_opened:
        depsgraph = context.evaluated_depsgraph_get()
        try:
            binding = bind(obj, depsgraph)
        except UserError:
            return []
        active = armature_of(rig).bones.active
        name = "" if active is None else active.name
        found = bones_to_choose(rig, binding, Settings.of(obj), name, depsgraph)
        offered.names = tuple(found)
    return list(offered.names)


FOLLOWS = ((OFFERED_BONES, _offer_bones),)


_MODES = (
    ("SCULPT", "Sculpt", "Shape it with brushes"),
    ("EDIT", "Edit", "Shape it by its vertices"),
)
_MODES_OR_NONE = (*_MODES, ("NONE", "None", "Keep the shape that the character has now"))


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

    def work(self, context: Context, obj: Object) -> Outcome:
        shaped = self.mode != "NONE"
        if shaped and (reason := posed_copy.shaping_refusal(obj)):
            raise ExampleError(reason)
        settings = settings_of(obj)
        method, base = settings.method, settings.example_base
        had_keys = mesh_of(obj).shape_keys is not None
        graph = context.evaluated_depsgraph_get()
        binding = binding_with_current_softness(obj, graph)
        bone = _posed_bone(obj, binding, self.bone or active_bone(obj), graph)
        with writing_settings():
            if method == "COMPENSATED" and not len(settings.examples):
                # The first example is to correct what the artist has seen.
                settings.example_base = "COMPENSATED"
            try:
                index, captured = authoring.add_example(obj, bone, graph, self.name)
            except UserError:
                settings.example_base = base
                raise
            summary = f"Added {settings.examples[index].name} for {bone}."
            if not Settings.of(obj).by_example:
                settings.method = "SPHERICAL_JOINT_BY_EXAMPLE"
                of = settings.example_base.replace("_", " ").title()
                summary += f" The method of {obj.name} is By Example now, on top of {of}."
        share_settings(obj)
        posed_copy.follow_now(obj)
        if shaped:
            graph = context.evaluated_depsgraph_get()
            try:
                copy = posed_copy.begin(obj, index, captured, graph, is_new=True)
            except UserError:
                authoring.remove_example(obj, index, keep_basis=had_keys)
                raise
            copy[posed_copy.BASIS_PROPERTY] = had_keys
            posed_copy.shape_in(copy, self.mode)
            summary += " Shape it; leaving the mode applies."
        return summary


class DQC_OT_example_edit(OnOneExample, Operator):
    """Go to the pose of an example and shape it again. Leaving the mode applies the shape"""

    bl_idname = "dqc.example_edit"
    bl_label = "Edit"

    mode: EnumProperty(name="Shape In", description="The mode in which you shape it", items=_MODES)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        copy = active_copy(context)
        if copy is None:
            return super().refusal(context)
        # It is gone on with.
        return linked_refusal(
            f"{copy.name} or its mesh", (copy, mesh_of(copy)), authoring.ADVICE_LINKED
        )

    def work(self, context: Context, obj: Object) -> Outcome:
        known = open_copy_of(obj)
        if known is not None:
            _go_on_with(context, known)
            posed_copy.shape_in(known, self.mode)
            return f"Shaping {known.name} again"
        index = self.chosen(obj)
        if reason := posed_copy.shaping_refusal(obj):
            raise ExampleError(reason)
        item = settings_of(obj).examples[index]
        with posed_copy.at_pose(obj, index, context.evaluated_depsgraph_get()) as away:
            if away > CLOSEST:
                raise ExampleError(
                    f"{item.bone} stays {np.degrees(away):.0f} degrees away from its pose "
                    f"{item.name}. Turn off the constraints, drivers or locks that hold it."
                )
            copy = posed_copy.begin(obj, index, None, context.evaluated_depsgraph_get())
        posed_copy.shape_in(copy, self.mode)
        return f"Shape {item.name}; leaving the mode applies."


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

    def act(self, context: Context) -> Outcome:
        copy = cast("Object", active_copy(context))
        if copy.mode != "OBJECT":
            _go_on_with(context, copy)
            bpy.ops.object.mode_set(mode="OBJECT")
            # Blender can go back to a stroke only from a step in which the sculpted mesh exists.
            bpy.ops.ed.undo_push(message="Leave Mode")
        return self.work(copy)

    def work(self, copy: Object) -> Outcome:
        """Act; returns what was done."""
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
        return pgettext_tip(next(text for name, _, text in OUTSIDE if name == outside))

    def work(self, copy: Object) -> Outcome:
        try:
            return posed_copy.apply_copy(copy, self.outside)
        except UserError as error:
            posed_copy.note_failure(copy, error)
            raise


class DQC_OT_example_cancel(_CopyOperator, Operator):
    """Discard the shape, and go back to the character"""

    bl_idname = "dqc.example_cancel"
    bl_label = "Cancel"

    def work(self, copy: Object) -> Outcome:
        obj = copied_character(copy)
        summary = posed_copy.cancel(copy)
        if obj is not None:
            posed_copy.follow_now(obj)
        return summary


class DQC_OT_example_go_to_pose(OnOneExample, Operator):
    """Turn the bone to its rotation in the example pose"""

    bl_idname = "dqc.example_go_to_pose"
    bl_label = "Go to Pose"
    changes = False

    def work(self, context: Context, obj: Object) -> Outcome:
        index = self.chosen(obj)
        name = settings_of(obj).examples[index].name
        bone, away = posed_copy.go_to_pose(obj, index, context.evaluated_depsgraph_get())
        if away > CLOSEST:
            degrees = f"{np.degrees(away):.0f} degrees"
            held = "constraints, drivers or locks hold it."
            return f"{bone} stays {degrees} away from {name}: {held}", False
        return f"{bone} is in the pose {name}."


CLASSES = (
    DQC_OT_example_remove,
    DQC_OT_examples_take_over,
    DQC_OT_example_update,
    DQC_OT_example_mirror,
    DQC_OT_support_show,
    DQC_OT_support_paint,
    DQC_OT_example_add,
    DQC_OT_example_edit,
    DQC_OT_example_apply,
    DQC_OT_example_cancel,
    DQC_OT_example_go_to_pose,
)
