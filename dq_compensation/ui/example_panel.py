"""The sub-panel of the method By Example: bones, poses, and the shape that is being made."""

from __future__ import annotations

import bpy
from bpy.types import Context, Object, Panel, UILayout, UIList

from ..examples.items import authoring_problem
from ..examples.posed_copy import BONE_PROPERTY, NAME_PROPERTY
from ..examples.target import bone_in_hand, character_in_hand, copy_in_hand
from ..examples.watching import failure_of
from ..registration import apply_in_order, undo_in_reverse
from ..scene.armature import armature_of
from ..scene.errors import BindingError
from ..scene.object_settings import ObjectSettings, settings_of
from ..scene.setup import rig_of
from ..scene.status import status_of
from .sentences import draw_sentence


class DQC_UL_examples(UIList):
    """The example poses of a character, with how much each acts now."""

    def draw_item(  # noqa: PLR0913, PLR0917 - Blender calls it so
        self,
        context: Context | None,
        layout: UILayout,
        data: object,
        item: object,
        icon: int | None,
        active_data: object,
        active_property: str | None,
        index: int | None = 0,
        flt_flag: int | None = 0,
    ) -> None:
        obj = character_in_hand(context) if context is not None else None
        values = status_of(obj).example_values if obj is not None else ()
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False)
        bar = row.row(align=True)
        bar.ui_units_x = 4.0
        value = values[index] if index is not None and index < len(values) else 0.0
        if value < 0.0:
            bar.label(text="", icon="ERROR")
        else:
            bar.progress(factor=value, text=f"{value:.2f}")
        factor = row.row(align=True)
        factor.ui_units_x = 3.0
        factor.prop(item, "factor", text="", slider=True)


class VIEW3D_PT_dq_compensation_examples(Panel):
    """Show the character how a joint should look in a pose."""

    bl_label = "By Example"
    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_parent_id = "VIEW3D_PT_dq_compensation"
    bl_order = 10

    @classmethod
    def poll(cls, context: Context) -> bool:
        obj = character_in_hand(context)
        if obj is None or obj.type != "MESH":
            return copy_in_hand(context) is not None
        settings = settings_of(obj)
        by_example = settings.method == "SPHERICAL_JOINT_BY_EXAMPLE" or len(settings.examples) > 0
        return copy_in_hand(context) is not None or (settings.enabled and by_example)

    def draw(self, context: Context) -> None:
        layout, copy = self.layout, copy_in_hand(context)
        if layout is None:
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        if copy is not None:
            _shaping(layout, context, copy)
            return
        obj = character_in_hand(context)
        if obj is None:
            return
        settings = settings_of(obj)
        if settings.method != "SPHERICAL_JOINT_BY_EXAMPLE":
            text = "The examples show when the method is By Example."
            draw_sentence(layout, context, text, "INFO")
        layout.prop(settings, "example_base")
        reason = authoring_problem(obj)
        if reason is not None:
            draw_sentence(layout, context, reason, "LIBRARY_DATA_DIRECT")
        column = layout.column()
        column.enabled = reason is None
        _adding(column, obj, settings)
        result = status_of(obj).example_result
        if result:
            draw_sentence(layout, context, result, "CHECKMARK")
        if len(settings.examples):
            _list(layout, settings, editable=reason is None)
            _bone(layout, obj, settings)
        _correctives(layout, obj, settings)


def _shaping(layout: UILayout, context: Context, copy: Object) -> None:
    """What there is to do while a posed copy is open."""
    name, bone = copy.get(NAME_PROPERTY, ""), copy.get(BONE_PROPERTY, "")
    shaping = copy.mode in {"SCULPT", "EDIT"}
    text = f"Shape {name} of {bone}." + (" Leaving the mode applies it." if shaping else "")
    draw_sentence(layout, context, text, "SCULPTMODE_HLT")
    if copy.mode == "SCULPT":
        text = f"What is dark is outside the support of {bone} and masked."
        draw_sentence(layout, context, text, "MOD_MASK")
    failure = failure_of(copy)
    if failure is not None:
        draw_sentence(layout, context, failure, "ERROR")
    row = layout.row(align=True)
    row.scale_y = 1.6
    row.operator("dqc.example_apply", icon="CHECKMARK")
    row.operator("dqc.example_cancel", icon="X")
    if not shaping:
        _edit_buttons(layout.row(align=True), "Go On in")


def _edit_buttons(row: UILayout, text: str) -> None:
    row.operator("dqc.example_edit", text=f"{text} Sculpt", icon="SCULPTMODE_HLT").mode = "SCULPT"
    row.operator("dqc.example_edit", text=f"{text} Edit", icon="EDITMODE_HLT").mode = "EDIT"


def _adding(layout: UILayout, obj: Object, settings: ObjectSettings) -> None:
    try:
        rig = rig_of(obj)
    except BindingError:
        return
    bones = armature_of(rig)
    layout.prop_search(settings, "example_bone", bones, "bones", text="Bone", icon="BONE_DATA")
    if not settings.example_bone:
        row = layout.split(factor=0.4)
        row.label()
        row.label(text=bone_in_hand(obj) or "Choose a bone", icon="BONE_DATA")
    row = layout.row(align=True)
    row.scale_y = 1.3
    add = row.operator("dqc.example_add", text="Add and Sculpt", icon="SCULPTMODE_HLT")
    add.mode = "SCULPT"
    row.operator("dqc.example_add", text="Add and Edit", icon="EDITMODE_HLT").mode = "EDIT"
    bone = bone_in_hand(obj)
    shown = settings.overlay == "SUPPORT" and settings.support_bone == bone
    text = "Hide Support" if shown else "Show Support"
    layout.operator("dqc.support_show", text=text, icon="OVERLAY", depress=shown)
    shared = next((each for each in settings.example_bones if each.name == bone), None)
    if shown and shared is not None:
        layout.prop_search(shared, "support", obj, "vertex_groups")


def _list(layout: UILayout, settings: ObjectSettings, *, editable: bool) -> None:
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


def _bone(layout: UILayout, obj: Object, settings: ObjectSettings) -> None:
    """What belongs to the active example, and what all examples of its bone share."""
    if not 0 <= settings.active_example < len(settings.examples):
        return
    item = settings.examples[settings.active_example]
    column = layout.column()
    keys = obj.data.shape_keys if isinstance(obj.data, bpy.types.Mesh) else None
    try:
        bones = armature_of(rig_of(obj))
    except BindingError:
        bones = None
    if bones is not None:
        column.prop_search(item, "bone", bones, "bones", icon="BONE_DATA")
    if keys is not None and item.key not in keys.key_blocks:
        column.prop_search(item, "key", keys, "key_blocks", icon="SHAPEKEY_DATA")
    shared = next((each for each in settings.example_bones if each.name == item.bone), None)
    if shared is not None:
        column.prop(shared, "sigma")
        column.prop(shared, "twists")
        column.prop_search(shared, "support", obj, "vertex_groups")


def _correctives(layout: UILayout, obj: Object, settings: ObjectSettings) -> None:
    """Examples from driven shape keys, and back."""
    column = layout.column(align=True)
    if isinstance(obj.data, bpy.types.Mesh) and obj.data.shape_keys is not None:
        column.operator("dqc.examples_from_correctives", icon="DRIVER")
    if len(settings.examples):
        column.operator("dqc.examples_to_correctives", icon="SHAPEKEY_DATA")


CLASSES = (DQC_UL_examples, VIEW3D_PT_dq_compensation_examples)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
