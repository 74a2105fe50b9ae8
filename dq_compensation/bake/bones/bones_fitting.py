"""Fits helper bones to the deformation of the characters on one armature; changes nothing."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.helper_bones.helper_fitting import FitOptions, fit_helpers, shared_pairs
from ...core.helper_bones import HelperSkinning, helper_transforms, skinned
from ...core.linear import linear_blend
from ...core.pose import Pose
from ...errors import UserError
from ...scene.blender.armature import armature_of
from ...scene.blender.units import object_millimetres
from ...steps import Progress, with_progress
from ...wording import listed
from ..bake_reports import BonesReport, JointReport
from ..correctives.corrective_poses import deforming_names, with_mirrored
from ..verification import Deviation
from .bones_options import BonesOptions
from .bones_poses import (
    FittingPoses,
    action_frames,
    action_range,
    matrices_of_frames,
    motion_range,
    ranges_of_motion,
)
from .bones_removal import helpers_without
from .bones_source import RigSource
from .helper_names import in_mirrored_order

REFUSAL_NO_JOINT = (
    "No vertex of {obj} follows two deforming bones of {armature}, one below the other, so there "
    "is nothing to bake."
)

# The parts of the time that the poses, our deformation, the fit and the check take.
_READING, _DEFORMING, _FITTING = 0.1, 0.3, 0.5


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result for the characters on one armature, before anything is written.

    Attributes:
        frames: of the keys; empty without any.
        frame_matrices: shape (F, B, 4, 4), D_b in these frames.
    """

    source: RigSource
    skinning: HelperSkinning
    report: BonesReport
    frames: tuple[int, ...]
    frame_matrices: NDArray[np.float64]


def pairs_to_help(source: RigSource, options: BonesOptions) -> NDArray[np.int32]:
    """The pairs of bones that may get helpers, shape (J, 2): of a joint the bone above comes first.

    Raises:
        UserError: there are none.
    """
    names = ", ".join(obj.name for obj in source.objects)
    skeleton = source.skeleton
    pairs = shared_pairs(source.influences, skeleton)
    if not len(pairs):
        raise UserError(REFUSAL_NO_JOINT.format(obj=names, armature=source.armature.name))
    chosen = skeleton.names
    if options.bones:
        chosen = deforming_names(source.objects[0], options.bones)
        chosen = with_mirrored(chosen, skeleton) if options.mirror else chosen
    found = []
    for above, bone in pairs.tolist():
        one, other = skeleton.names[above], skeleton.names[bone]
        related = skeleton.kinship(np.array([above]), np.array([bone]))[0] != 0
        if not related and (one, other) != in_mirrored_order(one, other):
            above, bone = bone, above  # noqa: PLW2901
        if other in chosen and (related or one in chosen):
            found.append((above, bone))
    if not found:
        raise UserError(
            f"No vertex of {names} follows {listed(chosen)} and the deforming bone above. Select "
            "the bone below a joint at which the weights blend."
        )
    return np.array(found, np.int32)


def require_within_limit(source: RigSource, helpers: int, options: BonesOptions) -> None:
    """Raise `UserError` where an armature would have too many deforming bones.

    Helpers of an earlier bake count where other meshes follow them.
    """
    unused = helpers_without(source.armature, source.objects)
    bones = armature_of(source.armature).bones
    count = sum(bone.use_deform and bone.name not in unused for bone in bones) + helpers
    if options.bone_limit and count > options.bone_limit:
        raise UserError(
            f"{source.armature.name} would have {count} deforming bones, {helpers} of them "
            f"helpers: more than the limit of {options.bone_limit}. Choose fewer bones, fewer "
            "helpers for each joint, or a larger tolerance."
        )


def fit_bones(
    source: RigSource,
    pairs: NDArray[np.int32],
    options: BonesOptions,
    span: tuple[float, float],
) -> Generator[Progress, None, Fitted]:
    """Fit the helpers of the characters on one armature, and check them; changes nothing.

    Args:
        span: where in the whole bake this begins, and its part of it, 0 to 1.
    """
    begin, length = span
    name = source.armature.name

    def part(steps: Generator[float, None, Any], doing: str, share: float) -> Any:
        nonlocal begin
        result = yield from with_progress(steps, f"{doing} {name}", begin, share * length)
        begin += share * length
        return result

    frames = tuple(action_range(source.armature)) if options.keys else ()
    poses, of_frames = yield from part(
        _read_poses(source, pairs, options, frames), "Reading Poses of", _READING
    )
    live = yield from part(_live(source, poses[0]), "Deforming", _DEFORMING)
    unit = object_millimetres(source.armature, bpy.context.scene)
    fit = fit_helpers(
        source.influences,
        source.skeleton,
        source.rest,
        [Pose.from_matrices(pose, source.skeleton) for pose in poses[0]],
        live,
        pairs,
        options=FitOptions(options.helpers, options.influences, options.tolerance / unit),
    )
    skinning = yield from part(fit, "Fitting Helper Bones of", _FITTING)
    require_within_limit(source, len(skinning.helpers), options)
    checking = 1.0 - _READING - _DEFORMING - _FITTING
    report = yield from part(_check(source, pairs, skinning, poses[1]), "Checking", checking)
    return Fitted(source, skinning, report, frames, of_frames)


def _read_poses(
    source: RigSource,
    pairs: NDArray[np.int32],
    options: BonesOptions,
    keyed_frames: Sequence[int],
) -> Generator[float, None, tuple[FittingPoses, NDArray[np.float64]]]:
    """The poses to fit and to check, and those of the frames in which helpers get keys."""
    frames: list[list[int]] = [[], [], list(keyed_frames)]
    if options.poses != "RANGE":
        frames[:2] = action_frames(source.armature, keyed=options.poses == "KEYED")
    every = sorted({frame for some in frames for frame in some})
    bone_count = source.skeleton.bone_count
    matrices = np.zeros((0, bone_count, 4, 4))
    if every:
        matrices = yield from matrices_of_frames(
            source.armature, source.sources[0].binding, bpy.context.scene, every
        )
    fitted, checked, keyed = (matrices[np.searchsorted(every, some)] for some in frames)
    if options.poses != "RANGE":
        return (fitted, checked), keyed
    ranges = ranges_of_motion(source.influences, source.rest, source.skeleton, pairs)
    return motion_range(source.skeleton, ranges, options.bend, options.twist), keyed


def _live(
    source: RigSource, poses: NDArray[np.float64]
) -> Generator[float, None, NDArray[np.float64]]:
    """Our deformation in poses (P, B, 4, 4): shape (P, N, 3), armature space."""
    live = np.empty((len(poses), *source.rest.shape))
    for done, pose in enumerate(poses):
        live[done] = source.live(pose)
        yield (done + 1) / len(poses)
    return live


def _check(
    source: RigSource,
    pairs: NDArray[np.int32],
    skinning: HelperSkinning,
    poses: NDArray[np.float64],
) -> Generator[float, None, BonesReport]:
    """Compare linear skinning without and with the helpers with our deformation in poses."""
    before: list[NDArray[np.floating]] = []
    after: list[NDArray[np.floating]] = []
    for done, matrices in enumerate(poses):
        pose, live = Pose.from_matrices(matrices, source.skeleton), source.live(matrices)
        plain, _ = linear_blend(source.rest, None, source.influences, pose)
        ours = skinned(
            skinning,
            source.rest,
            matrices,
            helper_transforms(skinning.helpers, pose, source.skeleton),
        )
        before.append(np.linalg.norm(plain - live, axis=1))
        after.append(np.linalg.norm(ours - live, axis=1))
        yield (done + 1) / len(poses)
    unit = object_millimetres(source.armature, bpy.context.scene)

    def together(distances: list[NDArray[np.floating]], at: Any = slice(None)) -> Deviation:
        of_poses = (Deviation.of(each[at], unit) for each in distances)
        return reduce(Deviation.and_also, of_poses, Deviation())

    bones = source.skeleton.bone_count
    follows = (skinning.indices >= bones) & (skinning.weights > 0.0)
    reports = []
    for child in np.unique(pairs[:, 1]).tolist():
        above = pairs[pairs[:, 1] == child, 0]
        at = _follow(source, [child]) & _follow(source, above)
        count = sum(each.child == child for each in skinning.helpers)
        name = source.skeleton.names[child]
        reports.append(JointReport(name, count, together(before, at), together(after, at)))
    names = tuple(obj.name for obj in source.objects)
    return BonesReport(
        names,
        names,
        source.armature.name,
        tuple(reports),
        int(np.count_nonzero(follows.any(axis=1))),
        together(before),
        together(after),
    )


def _follow(source: RigSource, bones: Sequence[int] | NDArray[np.integer]) -> NDArray[np.bool_]:
    """Shape (N,): whether vertices follow one of these bones, before the bake."""
    ours = source.influences
    return (np.isin(ours.bones, bones) & (ours.weights > 0.0)).any(axis=1)
