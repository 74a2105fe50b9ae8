"""Fits helper bones to the deformation of the characters on one armature; changes nothing."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.helper_bones.helper_fitting import FitOptions, fit_helpers, shared_pairs
from ...analysis.helper_bones.twist_bones import TwistedRig
from ...core.helper_bones import HelperSkinning
from ...core.pose import Pose
from ...core.vectors import extent
from ...errors import UserError
from ...scene.blender.armature import armature_of
from ...scene.blender.units import object_millimetres
from ...steps import Progress, with_progress
from ...wording import listed
from ..bake_reports import BonesReport
from ..correctives.corrective_poses import deforming_names, with_mirrored
from .bones_checking import check_bones
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

# Bones that move less against each other stand still; float32 is not more exact.
_STILL = 1e-5
# The parts of the time that the poses, our deformation, the fit and the check take.
_READING, _DEFORMING, _FITTING = 0.1, 0.3, 0.5


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result for the characters on one armature, before anything is written.

    Attributes:
        rig: whose bones the skinning has.
        frames: of the keys; empty without any.
        frame_matrices: shape (F, B, 4, 4), D_b in these frames.
    """

    source: RigSource
    rig: TwistedRig
    skinning: HelperSkinning
    report: BonesReport
    frames: tuple[int, ...]
    frame_matrices: NDArray[np.float64]


def pairs_to_help(source: RigSource, options: BonesOptions) -> NDArray[np.int32]:
    """The pairs of bones that may get helpers, shape (J, 2): of a joint the bone above comes first.

    Where bones have no parents it is the bone above on the mesh.

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
    joined, place = source.joined
    kinship = joined.kinship(*place[pairs].T)
    below = kinship < 0
    pairs[below] = pairs[below, ::-1]
    for (above, bone), related in zip(pairs.tolist(), (kinship != 0).tolist(), strict=True):
        one, other = skeleton.names[above], skeleton.names[bone]
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
    """Raise `UserError` where an armature would have too many deforming bones."""
    count = _deforming_bones(source) + helpers
    if options.bone_limit and count > options.bone_limit:
        raise UserError(
            f"{source.armature.name} would have {count} deforming bones, {helpers} of them "
            f"helpers: more than the limit of {options.bone_limit}. Choose fewer bones, fewer "
            "helpers for each joint, or a larger tolerance."
        )


def _deforming_bones(source: RigSource) -> int:
    """How many there are before the bake.

    Helpers of an earlier bake count where other meshes follow them.
    """
    unused = helpers_without(source.armature, source.objects)
    bones = armature_of(source.armature).bones
    return sum(bone.use_deform and bone.name not in unused for bone in bones)


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
    _require_turned(source, pairs, poses[0])
    live = yield from part(_live(source, poses[0]), "Deforming", _DEFORMING)
    unit = object_millimetres(source.armature, bpy.context.scene)
    rig = source.twisted(pairs)
    fit = fit_helpers(
        rig.influences,
        rig.skeleton,
        source.rest,
        [Pose.from_matrices(pose, rig.skeleton) for pose in rig.matrices(poses[0])],
        live,
        rig.pairs(pairs),
        balls=np.flatnonzero(np.isin(rig.origin, source.ball_joints())).tolist(),
        options=FitOptions(options.helpers, options.influences, options.tolerance / unit),
    )
    skinning = yield from part(fit, "Fitting Helper Bones of", _FITTING)
    count = len(skinning.helpers) + len(rig.used(skinning))
    require_within_limit(source, count, options)
    checking = 1.0 - _READING - _DEFORMING - _FITTING
    check = check_bones(
        source,
        rig,
        pairs,
        skinning,
        poses[1],
        fitted=(poses[0], live),
        options=options,
        deforming=_deforming_bones(source) + count,
    )
    report = yield from part(check, "Checking", checking)
    return Fitted(source, rig, skinning, report, frames, of_frames)


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
    joined, place = source.joined
    influences = replace(source.influences, bones=place[source.influences.bones])
    ranges = ranges_of_motion(influences, source.rest, joined, place[pairs])
    balls = place[source.ball_joints()].tolist()
    poses = motion_range(joined, ranges, options.bend, options.twist, balls)
    return (poses[0][:, place], poses[1][:, place]), keyed


def _require_turned(
    source: RigSource, pairs: NDArray[np.int32], poses: NDArray[np.float64]
) -> None:
    """Raise `UserError` where the two bones of each pair move alike in all poses (P, B, 4, 4)."""
    apart = np.abs(poses[:, pairs[:, 0]] - poses[:, pairs[:, 1]]).max(axis=(0, 1))
    # The axes of bones, and how far their heads are moved.
    if max(apart[:3, :3].max(), apart[:3, 3].max() / extent(source.rest)) < _STILL:
        names = ", ".join(obj.name for obj in source.objects)
        raise UserError(
            f"The poses turn no joint at which vertices of {names} follow two bones, so there is "
            "nothing to fit. Choose other Poses."
        )


def _live(
    source: RigSource, poses: NDArray[np.float64]
) -> Generator[float, None, NDArray[np.float64]]:
    """Our deformation in poses (P, B, 4, 4): shape (P, N, 3), armature space."""
    live = np.empty((len(poses), *source.rest.shape))
    for done, pose in enumerate(poses):
        live[done] = source.live(pose)
        yield (done + 1) / len(poses)
    return live
