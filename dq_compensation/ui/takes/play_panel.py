"""The sub-panel that plays takes."""

from __future__ import annotations

from bpy.types import Context, Object, UILayout, ViewLayer

from ...scene.copies.targets import deformed_meshes
from ...scene.settings.object_settings import settings_of
from ...session.known_takes import take_problem
from ...wording import listed
from ..sentences import draw_sentence
from ..sidebar import SidebarPanel
from .take_operators import target_armature

CHOOSE = "Choose a take."
GPU_ONLY = "Takes play in the GPU display. Set Display of {objects} to GPU."
DISABLED = "Takes play on enabled objects. Enable {objects}."
RENDERS = "Renders follow the armature, not the take."


class VIEW3D_PT_dq_compensation_play(SidebarPanel):
    """Play takes instead of the pose of the armature."""

    bl_label = "Play Take"
    bl_parent_id = "VIEW3D_PT_dq_compensation_playback"
    bl_options = {"DEFAULT_CLOSED"}
    help_page = "crowds"
    help_section = "takes"

    @classmethod
    def poll(cls, context: Context) -> bool:
        armature = target_armature(context)
        return armature is not None and len(settings_of(armature).takes) > 0

    def draw_header(self, context: Context) -> None:
        armature = target_armature(context)
        if self.layout is not None and armature is not None:
            self.layout.prop(settings_of(armature).playback, "playing", text="")

    def fill(self, layout: UILayout, context: Context) -> None:
        armature = target_armature(context)
        if armature is None:
            return
        settings = settings_of(armature)
        playback = settings.playback
        for text in followers_of_pose(armature, context.view_layer):
            draw_sentence(layout, context, text, "INFO")
        if playback.playing:
            draw_sentence(layout, context, RENDERS, "INFO")
        layout.prop_search(playback, "take", settings, "takes", icon="ACTION")
        if playback.playing and not playback.take:
            draw_sentence(layout, context, CHOOSE, "ERROR")
        for name in filter(None, (playback.take, playback.second_take)):
            if problem := take_problem(armature, name):
                draw_sentence(layout, context, problem, "ERROR")
        column = layout.column(align=True)
        for name in ("loop", "phase", "speed"):
            column.prop(playback, name)
        layout.prop_search(playback, "second_take", settings, "takes", icon="ACTION")
        if playback.second_take:
            column = layout.column(align=True)
            column.prop(playback, "fade_start")
            column.prop(playback, "fade_frames")


def followers_of_pose(armature: Object, view_layer: ViewLayer) -> list[str]:
    """Sentences about the meshes of a view layer on which no take of their armature plays."""
    meshes = deformed_meshes(armature, view_layer)
    disabled = [obj.name for obj in meshes if not settings_of(obj).enabled]
    modified = [
        obj.name for obj in meshes if settings_of(obj).enabled and settings_of(obj).display != "GPU"
    ]
    told = ((DISABLED, disabled), (GPU_ONLY, modified))
    return [text.format(objects=listed(names)) for text, names in told if names]


CLASSES = (VIEW3D_PT_dq_compensation_play,)
