"""The feature's rows in the panel of example poses."""

from __future__ import annotations

from bpy.types import Context, Object, UILayout

from ..scene.binding.facts import of_whom
from ..scene.settings.object_settings import armature_with_settings, settings_of
from ..session.character import character_of
from ..ui_shared.sentences import draw_in_one_line, draw_sentence
from ..wording import listed
from .character_folds import changed_since_solved
from .operators import have_shapes, last_solves


def draw_folds(layout: UILayout, context: Context, obj: Object) -> None:
    """Draw the buttons of a character's solved shapes, and what is to be known of them."""
    meshes = [mesh.obj for mesh in character_of(obj).meshes]
    column = layout.column(align=True)
    column.operator("dqc.solve_folds", icon="MOD_MESHDEFORM")
    if have_shapes(meshes):
        layout.prop(settings_of(armature_with_settings(obj) or obj), "use_solved_shapes")
        row = column.row(align=True)
        row.operator("dqc.solve_folds_again", icon="FILE_REFRESH")
        row.operator("dqc.remove_solved", icon="TRASH")
        if changed := of_whom({each.name: changed_since_solved(each) for each in meshes}):
            text = f"The solved shapes are older than {listed(changed)}: Solve Again."
            draw_sentence(layout, context, text, "ERROR")
    line, details = last_solves.get(meshes[0].session_uid, ("", ""))
    if line:
        draw_in_one_line(layout.row(), f"{line} {details}", line, "CHECKMARK")
