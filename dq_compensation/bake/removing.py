"""Removes bakes from the characters that have them: helper bones, correctives, keys of frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy

from ..errors import UserError, raise_refusal
from ..scene.blender.armature import armature_of
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import rig_of
from ..scene.corrective_drivers import corrective_keys, played_keys, remove_properties
from ..scene.key_writing import keys_refusal, remove_curves, remove_keys
from ..scene.settings.object_settings import settings_of
from ..scene.vertex_groups import kept_record
from ..wording import counted
from .bake_reports import forget_report
from .bones_source import REFUSAL_EDIT_MODE, remove_bones_bake, writing_bones_refusal

_REFUSAL_NO_BAKE = "{obj} has no helper bones and no shape keys of a bake"


@dataclass(frozen=True)
class RemovalReport:
    """What was removed of the bakes of one object.

    Attributes:
        bones: helper bones, gauges included, that no other mesh follows.
        key_names: shape keys.
        enabled: whether DQ Compensation deforms the object.
    """

    object_name: str
    bones: int
    key_names: tuple[str, ...]
    enabled: bool

    def sentence(self) -> str:
        """For the status line."""
        parts = []
        if self.bones or not self.key_names:
            parts.append(f"{counted(self.bones, 'helper bone')}, and put its weights back")
        if self.key_names:
            parts.append(counted(len(self.key_names), "shape key"))
        text = f"Removed {' and '.join(reversed(parts))} of {self.object_name}."
        return text if self.enabled else f"{text} Press Enable to see DQ Compensation again."


def removal_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot have a bake that could be removed, or None; cheap."""
    key = mesh_of(obj).shape_keys
    if kept_record(obj) is None and (key is None or key.animation_data is None):
        return _REFUSAL_NO_BAKE.format(obj=obj.name)
    return None


def remove_bakes(objects: Sequence[bpy.types.Object]) -> list[RemovalReport]:
    """Remove helper bones, with the weights that came with them, and baked shape keys of objects.

    Shape keys of *Bake Pose* stay, and so does the basis.

    Args:
        objects: skinned mesh objects; those without a bake stay as they are.

    Raises:
        UserError: none of them has a bake, or one cannot be changed; nothing has changed then.
    """
    keys = {obj: [*corrective_keys(obj), *played_keys(obj)] for obj in objects}
    found = [obj for obj in objects if keys[obj] or kept_record(obj) is not None]
    if not found:
        raise UserError(" ".join(f"{_REFUSAL_NO_BAKE.format(obj=obj.name)}." for obj in objects))
    for obj in found:
        armature = rig_of(obj)
        if obj.mode == "EDIT" or armature_of(armature).is_editmode:
            edited = obj if obj.mode == "EDIT" else armature
            raise UserError(REFUSAL_EDIT_MODE.format(armature=edited.name))
        if kept_record(obj) is not None:
            raise_refusal(writing_bones_refusal(obj, "THIS", overwrite=True))
        if keys[obj]:
            raise_refusal(keys_refusal(obj))
    return [_removed(obj, keys[obj]) for obj in found]


def _removed(obj: bpy.types.Object, names: Sequence[str]) -> RemovalReport:
    """Remove the bakes of one object."""
    forget_report(obj)
    bones = remove_bones_bake([obj])
    remove_curves(obj, names)
    remove_keys(obj, names)
    remove_properties(obj)
    return RemovalReport(obj.name, bones, tuple(names), settings_of(obj).is_enabled)
