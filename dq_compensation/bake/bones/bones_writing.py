"""Writes fitted helper bones, weights and keys to the characters on one armature, at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.helper_bones import helper_transforms
from ...core.pose import Pose
from ...core.twist_helpers import twist_axes
from ...modifier.armature_base import preserves_volume
from ...scene.blender.armature import armature_of, deforming_bones
from ...scene.blender.rigging import armature_modifier, find_rig, rig_of
from ...scene.blender.units import object_millimetres
from ...scene.copies.helper_rig import HelperBone, Turn, add_helpers
from ...scene.weights.group_users import group_users
from ...scene.weights.kept_weights import keep_weights
from ...scene.weights.weights_writing import write_entries
from ..bake_reports import BonesReport, remember
from ..bake_targets import let_armature_deform, show_copy
from ..correctives.corrective_poses import blending_joints
from .bones_checking import helps
from .bones_fitting import Fitted
from .bones_keys import key_helpers
from .bones_options import BonesOptions
from .bones_removal import remove_bones_bake
from .bones_targets import bones_targets
from .helper_names import helper_name

# How many uses of changed weights a report names.
_USES_SHOWN = 2


def write_bones(found: Fitted, options: BonesOptions) -> BonesReport:
    """Write the helper bones, the weights and the keys; returns the finished report."""
    source, skinning, report = found.source, found.skinning, found.report
    if not helps(found.rig, skinning):
        return report
    with bones_targets(source.objects, options.onto, keyed=options.keys) as (armature, objects):
        if options.overwrite:
            remove_bones_bake(objects)
        names, helpers = _named(found, armature)
        add_helpers(armature, helpers)
        rows = zip(source.split(skinning.indices), source.split(skinning.weights), strict=True)
        used: list[str] = []
        for obj, (numbers, weights) in zip(objects, rows, strict=True):
            used += _other_uses(obj)
            _write_weights(obj, names, helpers, numbers, weights)
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


def _named(found: Fitted, armature: bpy.types.Object) -> tuple[list[str], list[HelperBone]]:
    """Helpers with names that no bone of an armature and no group of its meshes has.

    Returns:
        the name of each row of the skinning, and the helpers in the order of these rows.
    """
    source, rig, skinning = found.source, found.rig, found.skinning
    bones, taken = source.skeleton.names, set(armature_of(armature).bones.keys())
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and find_rig(obj) == armature]
    taken |= {group.name for obj in meshes for group in obj.vertex_groups}
    joints = set(blending_joints(source.influences, source.skeleton, 1))
    counts: dict[tuple[tuple[str, ...], str], int] = {}
    gauges: dict[tuple[int, int, str], str] = {}

    def new_name(of: tuple[str, ...], word: str) -> str:
        counts[of, word] = number = counts.get((of, word), 0) + 1
        name = helper_name(of, f"{word}{number}", taken)
        taken.add(name)
        return name

    def of_joint(above: int, bone: int) -> tuple[str, ...]:
        above, bone = int(rig.origin[above]), int(rig.origin[bone])
        alone = (above, bone) in joints or above == bone
        return (bones[bone],) if alone else (bones[bone], bones[above])

    def gauge_of(above: int, bone: int, word: str) -> str:
        if (above, bone, word) not in gauges:
            gauges[above, bone, word] = new_name(of_joint(above, bone), word)
        return gauges[above, bone, word]

    names = [bones[bone] for bone in rig.origin.tolist()]
    helpers: list[HelperBone] = []
    for row, twist in rig.used(skinning):
        limb = bones[twist.limb]
        names[row] = new_name((limb,), "twist")
        axes = twist_axes(twist, source.skeleton).ravel().tolist()
        turns = [
            Turn(gauge_of(above, below, "turn_twist"), bones[above], bones[below], factor)
            for above, below, factor in twist.turns
        ]
        helpers.append(
            HelperBone(names[row], limb, limb, 1.0, axes=tuple(axes), turns=tuple(turns))
        )
    for each in skinning.helpers:
        names.append(new_name(of_joint(each.parent, each.child), "helper"))
        helpers.append(
            HelperBone(
                names[-1],
                names[each.parent],
                names[each.child],
                each.share,
                each.growth,
                each.shrink,
                names[each.anchor] if each.anchor >= 0 else "",
                each.along,
                gauge_of(each.parent, each.child, each.gauge) if each.gauge else "",
                each.narrowing,
                each.side,
                each.twisting,
            )
        )
    return names, helpers


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
    names: list[str],
    helpers: Sequence[HelperBone],
    numbers: NDArray[np.integer],
    weights: NDArray[np.floating],
) -> None:
    """Give an object weights of bones and helpers; keep those that it has in its mesh.

    Args:
        names: of the rows of the skinning.
        numbers: shape (n, k), such rows.
        weights: shape (n, k).
    """
    ours = [helper.name for helper in helpers]
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
    rig, each = found.rig, found.skinning.helpers
    matrices = rig.matrices(found.frame_matrices)
    poses = [Pose.from_matrices(of_frame, rig.skeleton) for of_frame in matrices]
    posed = np.array([helper_transforms(each, pose, rig.skeleton) for pose in poses])
    twists = [row for row, _ in rig.used(found.skinning)]
    posed = np.concatenate((matrices[:, twists], posed), axis=1)
    above = [*rig.origin[twists].tolist(), *(helper.parent for helper in each)]
    parents = matrices[:, above]
    unit = object_millimetres(armature, bpy.context.scene)
    tolerance = 0.0 if options.key_every_frame else options.tolerance / unit
    names = [helper.name for helper in helpers]
    return key_helpers(armature, names, found.frames, posed, parents, tolerance)
