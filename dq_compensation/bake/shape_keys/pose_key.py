"""Bakes the current pose of characters to one shape key each."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.rest_offsets import Target
from ...errors import raise_refusal
from ...scene.blender.mesh import mesh_of
from ...scene.shape_keys.acting_keys import acting_keys_refusal
from ...scene.shape_keys.key_writing import REFUSAL_REFERENCE, keys_refusal, write_key
from ..bake_reports import PoseReport, remember
from ..bake_source import Source
from ..bake_targets import BakeOnto, bake_targets, let_armature_deform, show_copy
from ..key_names import checked_name
from ..key_options import PoseOptions
from ..verification import deviation, only_armature_shown, still_copy


def bake_current_pose(objects: list[bpy.types.Object], options: PoseOptions) -> list[PoseReport]:
    """Bake the current pose of several characters to one shape key each.

    Args:
        objects: mesh objects, enabled or not. They stay as they are but for the key, at 0.

    Returns:
        a report for each of them.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    name, target, onto = options.name, options.target, options.onto
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        raise_refusal(_refusal(obj, checked_name(name), onto, overwrite=options.overwrite))
        raise_refusal(acting_keys_refusal(obj, [bpy.context.scene.frame_current_final]))
        Source.of(obj, depsgraph, target).wanted(depsgraph)
    reports: list[PoseReport] = []
    with bake_targets(objects, onto) as copies:
        for obj, copy in zip(objects, copies, strict=True):
            report = bake_pose(obj, copy, name, target, overwrite=options.overwrite)
            reports.append(report)
            remember(copy, report.sentence(), report.key_names)
    if onto == "COPY":
        for obj, copy in zip(objects, copies, strict=True):
            let_armature_deform(copy, target)
            show_copy(obj, copy)
    return reports


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
    raise_refusal(_refusal(onto, name, "THIS", overwrite=overwrite))
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
            apart = deviation(source.wanted(depsgraph), copy, depsgraph)
    unreached = int(np.count_nonzero(found.unreached))
    return PoseReport(obj.name, onto.name, (block.name,), unreached, apart)


def _refusal(obj: bpy.types.Object, name: str, onto: BakeOnto, *, overwrite: bool) -> str | None:
    """Why a key of this name cannot be baked, or None."""
    key = mesh_of(obj).shape_keys
    if overwrite and key is not None and key.reference_key.name == name:
        return REFUSAL_REFERENCE.format(name=name, obj=obj.name)
    return keys_refusal(obj) if onto == "THIS" else None
