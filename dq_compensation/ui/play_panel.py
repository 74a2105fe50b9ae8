"""The sub-panel that plays takes."""

from __future__ import annotations

from bpy.types import Context, Panel

from ..scene.object_settings import settings_of
from ..scene.take_settings import find_take
from .sentences import draw_sentence
from .take_operators import target_armature

NO_TAKE = "{armature} has no take {name}. Choose one in the list."
CHOOSE = "Choose a take."
GPU_ONLY = "Takes play in the GPU display. Set Display to GPU."


class VIEW3D_PT_dq_compensation_play(Panel):
    """Play takes instead of the pose of the armature."""

    bl_label = "Play Take"
    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_parent_id = "VIEW3D_PT_dq_compensation_playback"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        armature = target_armature(context)
        return armature is not None and len(settings_of(armature).takes) > 0

    def draw_header(self, context: Context) -> None:
        armature = target_armature(context)
        if self.layout is not None and armature is not None:
            self.layout.prop(settings_of(armature).playback, "playing", text="")

    def draw(self, context: Context) -> None:
        layout, armature = self.layout, target_armature(context)
        if layout is None or armature is None:
            return
        settings = settings_of(armature)
        playback = settings.playback
        layout.use_property_split = True
        layout.use_property_decorate = False
        obj = context.active_object
        if obj is not None and obj.type == "MESH" and settings_of(obj).display != "GPU":
            draw_sentence(layout, context, GPU_ONLY, "INFO")
        layout.prop_search(playback, "take", settings, "takes", icon="ACTION")
        if playback.playing and not playback.take:
            draw_sentence(layout, context, CHOOSE, "ERROR")
        for name in filter(None, (playback.take, playback.second_take)):
            if find_take(armature, name) is None:
                text = NO_TAKE.format(armature=armature.name, name=name)
                draw_sentence(layout, context, text, "ERROR")
        column = layout.column(align=True)
        for name in ("loop", "phase", "speed"):
            column.prop(playback, name)
        layout.prop_search(playback, "second_take", settings, "takes", icon="ACTION")
        if playback.second_take:
            column = layout.column(align=True)
            column.prop(playback, "fade_start")
            column.prop(playback, "fade_frames")


CLASSES = (VIEW3D_PT_dq_compensation_play,)
