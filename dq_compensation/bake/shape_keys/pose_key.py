"""The current pose as one shape key."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.rest_offsets import Target
from ...errors import UserError
from ...scene.blender.mesh import mesh_of
from ...scene.shape_keys.key_writing import REFUSAL_REFERENCE, keys_refusal, write_key
from ..bake_reports import PoseReport
from ..bake_source import Source
from ..bake_targets import BakeOnto
from ..key_names import checked_name
from ..verification import deviation, only_armature_shown, still_copy


def pose_key_refusal(
    obj: bpy.types.Object, name: str, onto: BakeOnto, *, overwrite: bool
) -> str | None:
    """Why a key of this name cannot be baked, or None.

    Raises:
        UserError: the name cannot be used.
    """
    name = checked_name(name)
    key = mesh_of(obj).shape_keys
    if overwrite and key is not None and key.reference_key.name == name:
        return REFUSAL_REFERENCE.format(name=name, obj=obj.name)
    return keys_refusal(obj) if onto == "THIS" else None


def bake_pose(
    obj: bpy.types.Object,
    onto: bpy.types.Object,
    name: str,
    target: Target = "LINEAR",
    *,
    overwrite: bool = False,
) -> PoseReport:
    """Make the current pose a shape key.

    With that key at 1 and the other keys as they are, the Armature modifier of `onto` gives in this
    pose what our deformation gives. The key's value stays what it was; 0 when it is new.

    Args:
        obj: the mesh object whose deformation is baked, enabled or not.
        onto: what gets the key: the same object, or a copy of it.
        target: what the Armature modifier of `onto` does: LINEAR, or Preserve Volume.
        overwrite: replace a key of this name; its value counts as 0 while baking.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    name = checked_name(name)
    if reason := pose_key_refusal(onto, name, "THIS", overwrite=overwrite):
        raise UserError(reason)
    context = bpy.context
    depsgraph = context.evaluated_depsgraph_get()
    source = Source.of(obj, depsgraph, target, frozenset((name,)) if overwrite else frozenset())
    found = source.offsets(depsgraph)
    block = write_key(onto, name, found.offsets, overwrite=overwrite)
    with still_copy(onto) as copy:
        baked = mesh_of(copy).shape_keys.key_blocks[block.name]
        baked.mute = False
        baked.slider_max = max(baked.slider_max, 1.0)
        baked.value = 1.0
        with only_armature_shown(copy, target):
            context.view_layer.update()
            depsgraph = context.evaluated_depsgraph_get()
            apart = deviation(copy, source, depsgraph, context.scene)
    unreached = int(np.count_nonzero(found.unreached))
    return PoseReport(obj.name, onto.name, (block.name,), unreached, apart)
