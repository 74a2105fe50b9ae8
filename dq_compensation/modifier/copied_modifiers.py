"""Turns our modifiers off that a tool has copied onto an object which is not enabled.

They were made for another mesh: its attributes, soft copy and groups. The Armature modifier that
came with them is set as that base needs it, and gets the user's own values, so that it alone
deforms the object until *Enable*. That is done once, which the name of ours says: it comes along
with duplicates and undo, goes where modifiers are copied again, and no clean-up removes it. What
the user turns on after that stays on.
"""

from __future__ import annotations

from typing import Any

import bpy

from ..holding import look_again
from ..scene.blender.rigging import VISIBILITY
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import is_enabled, written_settings
from ..scene.stack import armature_modifier, modifiers_with
from ..session.known_objects import enabled_objects
from .attributes.vertex_attributes import attribute_names
from .modifier_inputs import get_input
from .our_modifiers import NAME_COPIED, turn_off
from .users_settings import set_modifier, users_value

# What we set of the Armature modifier, and what users mostly have.
_USUAL = {"show_viewport": True, "show_render": True, "use_deform_preserve_volume": False}


def leave_copied_alone(obj: bpy.types.Object) -> None:
    """Let the Armature modifier alone deform an object that has copied modifiers of ours.

    Again it does nothing.
    """
    if not _has_just_got_ours(obj):
        return
    armature, source = armature_modifier(obj), _base_of_source(obj)
    if armature is not None:
        # Its own, where ours was copied alone: it differs from what we have set.
        for name, usual in _USUAL.items():
            if source is None:
                set_modifier(armature, **{name: usual})
            elif getattr(armature, name) == getattr(source, name):
                set_modifier(armature, **{name: users_value(source, name)})
    turn_off(obj)
    for each in modifiers_with(obj, "DEFORMS"):
        each.name = NAME_COPIED
    look_again()


def _has_just_got_ours(obj: bpy.types.Object) -> bool:
    """Whether a modifier of ours acts on an object that we have never enabled.

    One with our attributes was: a clean-up has removed its settings, and it keeps its look.
    """
    if is_enabled(obj) or obj.library is not None:
        return False
    skinned = SkinnedObject(obj)
    ours: Any = skinned.ours
    if ours is None or ours.name.startswith(NAME_COPIED):
        return False
    is_of_file = obj.override_library is not None and ours.is_override_data
    settings = written_settings(obj)
    was_enabled = settings is not None and bool(settings.native.replaced_modifier)
    acts = any(getattr(ours, name) for name in VISIBILITY)
    return acts and not (is_of_file or was_enabled or attribute_names(skinned.mesh))


def _base_of_source(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier of an enabled object from which modifiers may have been copied."""
    ours = SkinnedObject(obj).ours
    assert ours is not None
    palette = get_input(ours, "Palette")
    for source in enabled_objects():
        theirs = SkinnedObject(source).ours
        same_tree = theirs is not None and theirs.node_group == ours.node_group
        if theirs is not None and same_tree and get_input(theirs, "Palette") == palette:
            return armature_modifier(source)
    return None
