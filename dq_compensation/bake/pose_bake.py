"""Bakes the current pose of characters to one shape key each."""

from __future__ import annotations

import bpy
import numpy as np

from ..arrays import Float32s
from ..core.rest_offsets import Target
from ..errors import raise_refusal
from ..scene.blender.mesh import mesh_of
from ..scene.key_writing import REFUSAL_REFERENCE, keys_refusal, write_key
from .bake_reports import PoseReport, remember_report
from .bake_source import Source
from .bake_targets import bake_targets, let_armature_deform, show_copy
from .deviations import Deviation, deviation, only_armature_shown, still_copy
from .key_names import checked_name
from .options import PoseOptions
from .shape_key_bakes import frames_refusal


def bake_current_pose(objects: list[bpy.types.Object], options: PoseOptions) -> list[PoseReport]:
    """Make the current pose of several characters one shape key each.

    With that key at 1 and the other keys as they are, the Armature modifier gives in this pose what
    our deformation gives. The key's value stays what it was; 0 when it is new.

    Args:
        objects: mesh objects, enabled or not. They stay as they are but for the key.

    Returns:
        a report for each of them.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    name, depsgraph = checked_name(options.name), bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        raise_refusal(_refusal(obj, name, options))
    replaced = frozenset((name,)) if options.overwrite else frozenset()
    sources = [Source.of(obj, depsgraph, options.target, replaced) for obj in objects]
    poses = [source.posed(depsgraph) for source in sources]
    offsets = [source.offsets(posed) for source, posed in zip(sources, poses, strict=True)]
    with bake_targets(objects, options.onto) as copies:
        for copy in copies:
            raise_refusal(keys_refusal(copy))
        blocks = [
            write_key(copy, name, found.offsets, overwrite=options.overwrite).name
            for copy, found in zip(copies, offsets, strict=True)
        ]
        reports = [
            PoseReport(
                obj.name,
                copy.name,
                (block,),
                int(np.count_nonzero(found.unreached)),
                _deviation_with_key(copy, block, options.target, posed.wanted),
            )
            for obj, copy, block, found, posed in zip(
                objects, copies, blocks, offsets, poses, strict=True
            )
        ]
    for obj, copy, report in zip(objects, copies, reports, strict=True):
        remember_report(copy, report.sentence(), report.key_names)
        if options.onto == "COPY":
            let_armature_deform(copy, options.target)
            show_copy(obj, copy)
    return reports


def _deviation_with_key(
    obj: bpy.types.Object, name: str, target: Target, wanted: Float32s
) -> Deviation:
    """How far Blender's own modifier with a key at 1 is from our deformation (n, 3)."""
    with still_copy(obj) as copy:
        block = mesh_of(copy).shape_keys.key_blocks[name]
        block.mute, block.slider_max, block.value = False, max(block.slider_max, 1.0), 1.0
        with only_armature_shown(copy, target):
            bpy.context.view_layer.update()
            return deviation(wanted, copy, bpy.context.evaluated_depsgraph_get())


def _refusal(obj: bpy.types.Object, name: str, options: PoseOptions) -> str | None:
    """Why the current pose cannot become a key of this name, or None."""
    key = mesh_of(obj).shape_keys
    if options.overwrite and key is not None and key.reference_key.name == name:
        return REFUSAL_REFERENCE.format(name=name, obj=obj.name)
    if options.onto == "THIS" and (reason := keys_refusal(obj)):
        return reason
    return frames_refusal(obj, [bpy.context.scene.frame_current_final])
