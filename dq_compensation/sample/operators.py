"""The feature's operator: *Add Sample Character*."""

from __future__ import annotations

from typing import cast

from bpy.types import Context, Operator, Scene

from ..scene.blender.own_objects import linked_refusal
from ..ui_shared.reporting import Refusing
from .sample_character import add_sample_character


class DQC_OT_add_sample_character(Refusing, Operator):
    """Add a posed human at the 3D cursor, to try DQ Compensation on. It is in the public domain"""

    bl_idname = "dqc.add_sample_character"
    bl_label = "Add Sample Character"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        if context.mode != "OBJECT":
            return "Switch to Object Mode to add the sample character"
        scene = cast("Scene", context.scene)
        return linked_refusal("The scene", [scene], "Choose a scene of this file.")

    def act(self, context: Context) -> str:
        return f"Added {add_sample_character(context).name}: press Enable"


CLASSES = (DQC_OT_add_sample_character,)
