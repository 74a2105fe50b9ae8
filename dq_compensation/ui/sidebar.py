"""The base of the add-on's panels in the sidebar of the 3D viewport."""

from __future__ import annotations

from bpy.types import Context, Panel, UILayout

from .help import WithHelp


class SidebarPanel(WithHelp, Panel):
    """A panel below the add-on's main one, unless it says otherwise."""

    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_parent_id = "VIEW3D_PT_dq_compensation"

    def draw(self, context: Context) -> None:
        if self.layout is not None:
            self.layout.use_property_split = True
            self.layout.use_property_decorate = False
            self.fill(self.layout, context)

    def fill(self, layout: UILayout, context: Context) -> None:
        """Draw what is below the header, the names of properties beside them."""
        raise NotImplementedError
