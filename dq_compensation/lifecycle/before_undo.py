"""Before an undo, lets go of data-blocks that the older step may not have: Blender would crash."""

from __future__ import annotations

import bpy

from ..modifier.attribute_object import attribute_object_of
from ..modifier.factor_driver import release_factor
from ..modifier.modifier_inputs import get_input
from ..modifier.modifier_stack import our_modifier
from ..modifier.palette.palette_object import nodes_of_palette, own_palettes
from ..scene.settings.object_settings import settings_of
from ..session.known_objects import enabled_objects
from ..session.new_data import forget_new, is_new


def part_from_new_data() -> None:
    """Remove the modifiers that use data-blocks which were made since the last undo, redo or load.

    They come back with what is reconciled after it.
    """
    for obj in enabled_objects():
        ours = our_modifier(obj) if obj.library is None else None
        if ours is not None and any(map(is_new, _used_by(ours))):
            release_factor(obj)
            obj.modifiers.remove(ours)
            # What the step reads anew is as it was then; what it keeps in memory has this.
            settings_of(obj).native.parted = True
    for palette in own_palettes():
        nodes = nodes_of_palette(palette)
        if nodes is not None and is_new(nodes.node_group):
            palette.modifiers.remove(nodes)
    forget_new()


def _used_by(ours: bpy.types.NodesModifier) -> tuple[bpy.types.ID | None, ...]:
    return ours.node_group, get_input(ours, "Palette"), attribute_object_of(ours)
