"""The pose of now as one shape key."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..core.rest_offsets import Target
from ..scene.mesh import mesh_of
from .errors import BakeError
from .key_names import checked_name
from .shape_keys import PROBLEM_REFERENCE, keys_problem, write_key
from .source import Source
from .verification import Deviation, deviation, only_armature_shown, still_copy


@dataclass(frozen=True)
class PoseReport:
    """What came of baking a pose.

    Attributes:
        key_name: the shape key's.
        moved: how many vertices it moves.
        unreached: how many do not get where they should.
        deviation: Blender's own modifier with the key at 1 from our deformation.
    """

    key_name: str
    moved: int
    unreached: int
    deviation: Deviation


def bake_pose(
    obj: bpy.types.Object,
    onto: bpy.types.Object,
    name: str,
    target: Target = "LINEAR",
    *,
    overwrite: bool = False,
) -> PoseReport:
    """Make the pose of now a shape key.

    With that key at 1 and the other keys as they are, the Armature modifier of `onto` gives in this
    pose what our deformation gives. The key's value stays what it was; 0 when it is new.

    Args:
        obj: the mesh object whose deformation is baked, enabled or not.
        onto: what gets the key: the same object, or a copy of it.
        name: of the key.
        target: what the Armature modifier of `onto` does: LINEAR, or Preserve Volume.
        overwrite: replace a key of this name; its value counts as 0 while baking.

    Raises:
        BakeError: it cannot be baked; nothing has changed then.
    """
    name = checked_name(name)
    reason = keys_problem(onto)
    if reason is not None:
        raise BakeError(reason)
    key = mesh_of(onto).shape_keys
    if overwrite and key is not None and key.reference_key.name == name:
        raise BakeError(PROBLEM_REFERENCE.format(name=name, obj=onto.name))
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
    return PoseReport(
        block.name,
        int(np.count_nonzero(found.offsets.any(axis=1))),
        int(np.count_nonzero(found.unreached)),
        apart,
    )
