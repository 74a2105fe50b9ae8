"""The add-on's preferences.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

from bpy.props import IntProperty
from bpy.types import AddonPreferences, Context

from ..scene.addon_preferences import ADDON_ID, MAX_CROWD_MEGABYTES, MAX_FIGURES
from ..session.crowd_figures import crowd_changed
from .compare_operators import draw_shortcuts


class DQCompensationPreferences(AddonPreferences):
    """What the user sets for all files."""

    bl_idname = ADDON_ID

    max_figures: IntProperty(
        name="Figures of a Crowd",
        description="The most figures of a crowd that the viewport draws",
        default=MAX_FIGURES,
        min=1,
        max=65_535,
        update=crowd_changed,
    )
    max_crowd_memory: IntProperty(
        name="Memory of a Crowd (MB)",
        description="The most memory of the graphics card that one crowd takes. Figures beyond it "
        "are not drawn",
        default=MAX_CROWD_MEGABYTES,
        min=1,
        soft_max=65_536,
        update=crowd_changed,
    )

    def draw(self, context: Context) -> None:
        layout = self.layout
        if layout is None:
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column()
        column.prop(self, "max_figures")
        column.prop(self, "max_crowd_memory")
        draw_shortcuts(layout, context)


CLASSES = (DQCompensationPreferences,)
