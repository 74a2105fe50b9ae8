"""The feature's panel: By Example, its bones and poses, and the shape that is being edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
from bpy.types import Context, Object, UILayout

from ..folds.panel import draw_folds
from ..modifier.found_bones import found_bones
from ..scene.blender.armature import armature_of
from ..scene.blender.own_objects import is_posed_copy
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.copies import copied_character
from ..scene.settings.object_settings import (
    DQCompensationSettings,
    Settings,
    is_enabled,
    settings_of,
)
from ..session.known_objects import has_examples
from ..session.status import status_of
from ..ui_shared.sentences import draw_sentence, shortened
from ..ui_shared.sidebar import NAME_PART, RowsOfItems, SubPanel
from .authoring import OutsideSupportError, authoring_refusal
from .operators import OUTSIDE, active_bone, active_character, active_copy
from .posed_copy import BONE_PROPERTY, NAME_PROPERTY, base_sentence, failure_of


class DQC_UL_examples(RowsOfItems):
    """The example poses of a character, with the weight of each in the current pose."""

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        row = row.split(factor=NAME_PART, align=True)
        row.prop(item, "name", text="", emboss=False)
        _draw_weight(row, active_character(context), index)


def _draw_weight(row: UILayout, obj: Object | None, index: int) -> None:
    """Draw how much an example acts in the current pose."""
    values = status_of(obj).example_values if obj is not None else ()
    value = values[index] if index < len(values) else 0.0
    if value < 0.0:
        row.label(text="", icon="ERROR")
    else:
        row.progress(factor=value, text=f"{value:.0%}")


def draw_examples_of(layout: UILayout, context: Context, bone: str) -> None:
    """Draw the examples of one bone: a click goes to the pose."""
    obj = active_character(context)
    if obj is None or not is_enabled(obj):
        return
    column = layout.column(align=True)
    for index, item in enumerate(settings_of(obj).examples):
        if item.bone == bone:
            row = column.split(factor=NAME_PART, align=True)
            button: Any = row.operator(
                "dqc.example_go_to_pose", text=item.name, icon="ARMATURE_DATA"
            )
            button.index = index
            _draw_weight(row, obj, index)


EXAMPLE_ROWS: list[Callable[[UILayout, Object], None]] = []
"""What draws below the example poses of a character; declared elsewhere."""


class ExamplePanel(SubPanel):
    """Show the character how a joint should look in a pose."""

    title = "By Example"
    help_page = "by_example"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        """The posed copy while one is open, else the character."""
        copy, obj = active_copy(context), active_character(context)
        if copy is not None or obj is None or obj.type != "MESH":
            return copy
        # It keeps its place with other methods: the menu of methods is below it.
        return obj if is_enabled(obj) else None

    @classmethod
    def draw(
        cls, layout: UILayout, context: Context, *, opened: bool = False, enabled: bool = True
    ) -> None:
        # While a shape is being made, its buttons are there.
        super().draw(layout, context, opened=opened or active_copy(context) is not None)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        copy = subject if is_posed_copy(subject) else None
        obj = subject if copy is None else copied_character(copy)
        if obj is not None:
            # These rows are the same while a shape is made: a second click applies nothing.
            rows = layout.column()
            rows.enabled = copy is None
            _adding(rows, context, obj)
        if copy is not None:
            _shaping(layout, context, copy)
        elif obj is not None:
            _examples(layout, context, obj)


def _examples(layout: UILayout, context: Context, obj: Object) -> None:
    """The examples of a character, and the support of the bone that gets the next one."""
    settings, editable = settings_of(obj), authoring_refusal(obj) is None
    column = layout.column()
    column.enabled = editable
    _support(column, obj, settings)
    if result := status_of(obj).example_result:
        draw_sentence(layout, context, result, "CHECKMARK")
    if len(settings.examples):
        _list(layout, settings, editable=editable)
        _active_example(layout, context, obj, settings)
    column = layout.column(align=True)
    if Settings.of(obj).by_example or len(settings.examples):
        for draw in EXAMPLE_ROWS:
            draw(column, obj)


def _shaping(layout: UILayout, context: Context, copy: Object) -> None:
    """The buttons while a posed copy is open."""
    name, bone = copy.get(NAME_PROPERTY, ""), copy.get(BONE_PROPERTY, "")
    shaping, failure = copy.mode in {"SCULPT", "EDIT"}, failure_of(copy)
    if failure is not None:
        draw_sentence(layout, context, str(failure), "ERROR")
    column = layout.column(align=True)
    column.scale_y = 1.6
    if isinstance(failure, OutsideSupportError):
        for outside, label, _ in OUTSIDE[1:]:
            column.operator("dqc.example_apply", text=label, icon="CHECKMARK").outside = outside
    else:
        column.operator("dqc.example_apply", icon="CHECKMARK")
    column.operator("dqc.example_cancel", icon="X")
    # Below the buttons: in a small window the shelf of brushes leaves little room.
    text = f"Shape {name} of {bone}." + (" Leaving the mode applies it." if shaping else "")
    draw_sentence(layout, context, text, "SCULPTMODE_HLT")
    if shaping:
        dark = "dark and masked" if copy.mode == "SCULPT" else "hidden. Alt H shows it"
        text = f"The part outside the support of {bone} is {dark}."
        draw_sentence(layout, context, text, "MOD_MASK")
    if not shaping:
        _edit_buttons(layout.row(align=True), "Go On in")


def _edit_buttons(row: UILayout, text: str) -> None:
    row.operator("dqc.example_edit", text=f"{text} Sculpt", icon="SCULPTMODE_HLT").mode = "SCULPT"
    row.operator("dqc.example_edit", text=f"{text} Edit", icon="EDITMODE_HLT").mode = "EDIT"


def _adding(layout: UILayout, context: Context, obj: Object) -> None:
    """Solved folds, what is wrong with the examples, and the bone of the next one."""
    settings, reason = settings_of(obj), authoring_refusal(obj)
    draw_folds(layout, context, obj)
    if len(settings.examples) and not Settings.of(obj).by_example:
        text = "The examples show when the method, in Advanced, is By Example."
        draw_sentence(layout, context, text, "INFO")
    if sentence := base_sentence(obj):
        draw_sentence(layout, context, sentence, "ERROR")
        layout.operator("dqc.examples_take_over", icon="SCULPTMODE_HLT")
    if reason is not None:
        draw_sentence(layout, context, reason, "LIBRARY_DATA_DIRECT")
    if SkinnedObject(obj).find_rig() is None:
        return
    column = layout.column()
    column.enabled = reason is None
    bone = active_bone(obj) or "Choose a bone"
    column.prop(settings, "example_bone", icon="BONE_DATA", placeholder=bone)
    row = column.row(align=True)
    row.scale_y = 1.3
    row.operator("dqc.example_add", text="Add and Sculpt", icon="SCULPTMODE_HLT").mode = "SCULPT"
    row.operator("dqc.example_add", text="Add and Edit", icon="EDITMODE_HLT").mode = "EDIT"


def _support(layout: UILayout, obj: Object, settings: DQCompensationSettings) -> None:
    """The support of the bone that gets the next example."""
    if SkinnedObject(obj).find_rig() is None:
        return
    bone = active_bone(obj)
    # Of a control it is that of the joint which it turns.
    known = bone in found_bones(obj).all
    shown = settings.overlay == "SUPPORT" and (settings.support_bone == bone or not known)
    row = layout.row(align=True)
    text = "Hide Support" if shown else "Show Support"
    row.operator("dqc.support_show", text=text, icon="OVERLAY", depress=shown)
    row.operator("dqc.support_paint", icon="WPAINT_HLT")
    shared = settings.example_bones.get(settings.support_bone if shown else bone)
    if shared is not None:
        layout.prop_search(shared, "support", obj, "vertex_groups")
        if shared.support not in obj.vertex_groups:
            layout.prop(shared, "support_kind")


def _list(layout: UILayout, settings: DQCompensationSettings, *, editable: bool) -> None:
    rows = min(6, max(3, len(settings.examples)))
    layout.template_list(
        "DQC_UL_examples", "", settings, "examples", settings, "active_example", rows=rows
    )
    column = layout.column(align=True)
    column.operator("dqc.example_go_to_pose", icon="ARMATURE_DATA")
    changing = column.column(align=True)
    changing.enabled = editable
    _edit_buttons(changing.row(align=True), "")
    changing.operator("dqc.example_update", icon="IMPORT")
    row = changing.row(align=True)
    row.operator("dqc.example_mirror", icon="MOD_MIRROR")
    row.operator("dqc.example_remove", icon="TRASH")


def _active_example(
    layout: UILayout, context: Context, obj: Object, settings: DQCompensationSettings
) -> None:
    """The settings of the active example, and the settings of all examples of its bone."""
    if not 0 <= settings.active_example < len(settings.examples):
        return
    item = settings.examples[settings.active_example]
    column = layout.column()
    column.prop(item, "factor", slider=True)
    rig = SkinnedObject(obj).find_rig()
    if rig is not None and item.bone not in armature_of(rig).bones:
        column.prop(item, "bone", icon="BONE_DATA")
    keys = obj.data.shape_keys if isinstance(obj.data, bpy.types.Mesh) else None
    if keys is not None and item.key not in keys.key_blocks:
        column.prop_search(item, "key", keys, "key_blocks", icon="SHAPEKEY_DATA")
    shared = settings.example_bones.get(item.bone)
    if shared is not None:
        column.label(text=shortened(context, item.bone, "All examples of "))
        column.prop(shared, "weights")
        linear = item.bone in status_of(obj).linear_bones
        if shared.weights != "SMOOTH":
            column.label(text="They blend linearly" if linear else "They blend smoothly")
        row = column.row()
        row.active = not linear
        row.prop(shared, "sigma")
        column.prop(shared, "twists")


def _draw_beside_shape_keys(panel: Any, context: Context) -> None:
    """The example poses of a mesh, below Blender's list of its shape keys."""
    obj = context.object
    if obj is None or obj.type != "MESH" or obj != active_character(context):
        return
    if not is_enabled(obj) or not has_examples(obj):
        return
    settings = settings_of(obj)
    panel.layout.label(text="By Example")
    panel.layout.template_list(
        "DQC_UL_examples", "shape_keys", settings, "examples", settings, "active_example", rows=3
    )
    panel.layout.operator("dqc.example_go_to_pose", icon="ARMATURE_DATA")
    row = panel.layout.row(align=True)
    row.enabled = authoring_refusal(obj) is None
    _edit_buttons(row, "")


_SHAPE_KEYS: Any = bpy.types.DATA_PT_shape_keys


def register() -> None:
    """Add the list to Blender's panel."""
    _SHAPE_KEYS.append(_draw_beside_shape_keys)


def unregister() -> None:
    """Take it away."""
    _SHAPE_KEYS.remove(_draw_beside_shape_keys)


CLASSES = (DQC_UL_examples,)
