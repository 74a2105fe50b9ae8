"""Writes fitted helper bones, weights and keys to the characters on one armature, at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.helper_bones import HelperSkinning, helper_transforms
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from ...modifier.armature_base import preserves_volume
from ...scene.blender.armature import armature_of, deforming_bones
from ...scene.blender.rigging import armature_modifier, find_rig, rig_of
from ...scene.blender.units import object_millimetres
from ...scene.copies.helper_rig import HelperBone, add_helpers
from ...scene.weights.group_users import group_users
from ...scene.weights.kept_weights import keep_weights
from ...scene.weights.weights_writing import write_entries
from ..bake_reports import BonesReport, remember
from ..bake_targets import let_armature_deform, show_copy
from ..correctives.corrective_poses import blending_joints
from .bones_fitting import Fitted
from .bones_keys import key_helpers
from .bones_options import BonesOptions
from .bones_removal import remove_bones_bake
from .bones_source import RigSource
from .bones_targets import bones_targets
from .helper_names import helper_name

# How many uses of changed weights a report names.
_USES_SHOWN = 2


def write_bones(found: Fitted, options: BonesOptions) -> BonesReport:
    """Write the helper bones, the weights and the keys; returns the finished report."""
    source, skinning, report = found.source, found.skinning, found.report
    if not skinning.helpers:
        return report
    with bones_targets(source.objects, options.onto, keyed=options.keys) as (armature, objects):
        if options.overwrite:
            remove_bones_bake(objects)
        helpers = _named(skinning, source, armature)
        add_helpers(armature, helpers)
        rows = zip(source.split(skinning.indices), source.split(skinning.weights), strict=True)
        used: list[str] = []
        for obj, (numbers, weights) in zip(objects, rows, strict=True):
            used += _other_uses(obj)
            _write_weights(obj, source.skeleton, helpers, numbers, weights)
        keyed = _key(found, armature, helpers, options) if options.keys else 0
    for obj in objects:
        let_armature_deform(obj, "LINEAR")
    if options.onto == "COPY":
        for obj, copy in zip(source.objects, objects, strict=True):
            show_copy(obj, copy)
        # One that is being posed stays.
        if source.armature.mode == "OBJECT":
            show_copy(source.armature, armature)
    report = replace(
        report,
        used=" ".join(used),
        keyed=keyed,
        onto_names=tuple(obj.name for obj in objects),
    )
    for obj in objects:
        remember(obj, report.sentence(), of_bones=True)
    return report


def _named(
    skinning: HelperSkinning, source: RigSource, armature: bpy.types.Object
) -> list[HelperBone]:
    """The helpers with names that no bone of an armature and no group of its meshes has."""
    bones, taken = source.skeleton.names, set(armature_of(armature).bones.keys())
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and find_rig(obj) == armature]
    taken |= {group.name for obj in meshes for group in obj.vertex_groups}
    joints = set(blending_joints(source.influences, source.skeleton, 1))
    counts: dict[tuple[tuple[str, ...], str], int] = {}
    gauges: dict[tuple[int, int], str] = {}

    def new_name(joint: tuple[int, int], word: str) -> str:
        above, bone = bones[joint[0]], bones[joint[1]]
        of = (bone,) if joint in joints else (bone, above)
        counts[of, word] = number = counts.get((of, word), 0) + 1
        name = helper_name(of, f"{word}{number}", taken)
        taken.add(name)
        return name

    found: list[HelperBone] = []
    for each in skinning.helpers:
        joint = (each.parent, each.child)
        if each.has_gauge and joint not in gauges:
            gauges[joint] = new_name(joint, "gauge")
        gauge = gauges[joint] if each.has_gauge else ""
        name = new_name(joint, "helper")
        found.append(
            HelperBone(
                name,
                bones[each.parent],
                bones[each.child],
                each.share,
                each.growth,
                each.shrink,
                bones[each.anchor] if each.anchor >= 0 else "",
                each.along,
                gauge,
            )
        )
    return found


def _other_uses(obj: bpy.types.Object) -> list[str]:
    """Sentences about what else than bones uses the weights of an object's bones."""
    bones = deforming_bones(rig_of(obj))
    users = {group: user for group, user in group_users(obj).items() if group in bones}
    return [
        f"The weights of {group} have changed, which {user} of {obj.name} uses, too."
        for group, user in list(users.items())[:_USES_SHOWN]
    ]


def _write_weights(
    obj: bpy.types.Object,
    skeleton: Skeleton,
    helpers: Sequence[HelperBone],
    numbers: NDArray[np.integer],
    weights: NDArray[np.floating],
) -> None:
    """Give an object weights of bones and helpers; keep those that it has in its mesh.

    Args:
        numbers: shape (n, k), bones of the skeleton, then helpers.
        weights: shape (n, k).
    """
    ours = [helper.name for helper in helpers]
    names = [*skeleton.names, *ours]
    deforming = deforming_bones(rig_of(obj)).difference(ours)
    groups = [group.name for group in obj.vertex_groups if group.name in deforming]
    used = [names[number] for number in np.unique(numbers[weights > 0.0]).tolist()]
    added = [name for name in used if name not in obj.vertex_groups]
    modifier = armature_modifier(obj)
    keep_weights(
        obj,
        groups,
        added=added,
        helpers=[asdict(helper) for helper in helpers],
        preserve_volume=modifier is not None and preserves_volume(obj, modifier),
    )
    written = [*groups, *added]
    place = {name: index for index, name in enumerate(written)}
    places = np.array([place.get(name, -1) for name in names])
    write_entries(obj, written, np.where(weights > 0.0, places[numbers], -1), weights)


def _key(
    found: Fitted,
    armature: bpy.types.Object,
    helpers: Sequence[HelperBone],
    options: BonesOptions,
) -> int:
    """Key the helpers in the frames of the action; returns how many keyframes they have."""
    each, skeleton = found.skinning.helpers, found.source.skeleton
    poses = [Pose.from_matrices(matrices, skeleton) for matrices in found.frame_matrices]
    posed = np.array([helper_transforms(each, pose, skeleton) for pose in poses])
    parents = found.frame_matrices[:, [helper.parent for helper in each]]
    unit = object_millimetres(armature, bpy.context.scene)
    tolerance = 0.0 if options.key_every_frame else options.tolerance / unit
    names = [helper.name for helper in helpers]
    return key_helpers(armature, names, found.frames, posed, parents, tolerance)
