"""The bones that the settings of an object name."""

from __future__ import annotations

import bpy

from ..settings.object_settings import LEFT_OUT, Settings, settings_of, text_of_bones


def named_bones(obj: bpy.types.Object) -> frozenset[str]:
    """The bones of an object's example poses, and those that its panels have chosen.

    None where the add-on is not registered.
    """
    if not hasattr(obj, "dq_compensation"):
        return frozenset()
    settings = settings_of(obj)
    names = {item.bone for item in settings.examples}
    names |= {bone.name for bone in settings.example_bones}
    names |= {settings.example_bone, settings.support_bone}
    for setting in LEFT_OUT:
        names.update(Settings.of(obj).bones_left_out(setting))
    return frozenset(names - {""})


def rename_bones(obj: bpy.types.Object, renamed: dict[str, str]) -> None:
    """Write the new names of bones, by their old ones."""
    settings = settings_of(obj)
    # The settings of a bone first: an example whose bone has none takes those of another bone.
    for bone in settings.example_bones:
        bone.name = renamed.get(bone.name, bone.name)
    for item in settings.examples:
        if item.bone in renamed:
            item.bone = renamed[item.bone]
    for setting in LEFT_OUT:
        left_out = Settings.of(obj).bones_left_out(setting)
        if not renamed.keys().isdisjoint(left_out):
            text = text_of_bones(renamed.get(bone, bone) for bone in left_out)
            setattr(settings, setting, text)
    for name in ("example_bone", "support_bone"):
        if (bone := getattr(settings, name)) in renamed:
            setattr(settings, name, renamed[bone])
