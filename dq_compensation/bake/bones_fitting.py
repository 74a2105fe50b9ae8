"""Fits helper bones to the deformation of the characters on one armature; changes nothing."""

from __future__ import annotations

import re
from collections.abc import Container, Generator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..analysis.helper_fitting import MOST_HELPERS, FitOptions, fit_helpers, shared_pairs
from ..analysis.twist_bones import TwistedRig
from ..core.helper_bones import HelperSkinning, helper_transforms, skinned
from ..core.pose import Pose
from ..core.skinning import linear_blend
from ..core.vectors import extent
from ..errors import UserError
from ..scene.blender.armature import armature_of, flipped_name
from ..scene.blender.scenes import object_millimetres
from ..steps import Progress, with_progress
from ..wording import listed, rounded
from .bake_reports import BonesReport, Deviation, JointReport, Remaining
from .bones_poses import (
    BonesOptions,
    FittingPoses,
    action_frames,
    action_range,
    matrices_of_frames,
    motion_range,
    ranges_of_motion,
)
from .bones_source import RigSource, helpers_without
from .corrective_poses import deforming_names, with_mirrored
from .key_options import MAX_BYTES

# Names of helper bones: after the joint and its side, so that Blender finds the other side's.


# Before the letters of a side at the end of a name.
_SEPARATORS = "._- "
_SIDE_BEFORE = re.compile(r"^(left|right|[lr](?=[._ -]))[._ -]?", re.IGNORECASE)
# Of Rigify's bones: what has such a prefix counts as Rigify's own.
_RIG_PREFIXES = re.compile("^(DEF-)?(ORG-)?(MCH-)?")


def helper_name(bones: tuple[str, ...], ending: str, taken: Container[str]) -> str:
    """The name of a helper: `forearm_helper1.L` at `forearm.L`.

    The side stays where the name has it: `LeftForeArm_helper1` at `LeftForeArm`. Of two bones the
    side is that of the first one that has any; between the sides there is none.

    Args:
        bones: one name; or two names, of a helper that is not at a joint of a bone and the next.
        ending: `helper1` there.
        taken: names that cannot be used.
    """
    names = [_RIG_PREFIXES.sub("", bone) for bone in bones]
    names.sort(key=lambda name: name == flipped_name(name))
    stem, side = split_side(names[0])
    others = names[1:]
    if [name for name in others if name == flipped_name(names[0])]:
        stem, side = _without_side(names[0]), ""
    stem = "_".join((stem, *map(_without_side, others)))
    count = 0
    while True:
        tail = f"_{ending}{f'_{count}' if count else ''}".encode()
        room = MAX_BYTES - len(tail) - len(side.encode())
        name = stem.encode()[:room].decode(errors="ignore") + tail.decode() + side
        if name not in taken:
            return name
        count += 1


def _in_mirrored_order(one: str, other: str) -> tuple[str, str]:
    """Two bones in an order by which the other side's bones are ordered alike."""
    first, second = sorted((one, other), key=lambda name: (min(name, flipped_name(name)), name))
    return first, second


def _without_side(name: str) -> str:
    """A name without its side, at the start or the end."""
    stem, side = split_side(name)
    if side or name == flipped_name(name):
        return stem
    return _SIDE_BEFORE.sub("", name) or name


def split_side(name: str) -> tuple[str, str]:
    """A name as stem and the ending that says its side; empty for sides elsewhere, or none.

    The other side's bone has the stem and the other ending: `arm` and `.L` of `arm.L`.
    """
    flipped = flipped_name(name)
    same = 0
    while same < min(len(name), len(flipped)) and name[same] == flipped[same]:
        same += 1
    # The letters of the side and the separator before them, at the end of the name.
    start = max(same - 1, 0)
    stem, side = name[:start], name[start:]
    if name == flipped or not stem or side[0] not in _SEPARATORS or flipped_name(stem) != stem:
        return name, ""
    return stem, side


# Measures the gain by helper bones in poses that were not fitted, and names its limits.


# A bake that leaves more of the root mean square says what to change.
_MUCH = 0.5
# With fewer influences vertices between two bones have no room for helpers; engines allow more.
_FEW_INFLUENCES, _MANY_INFLUENCES = 3, 8

_OTHER_POSES = {
    "RANGE": "Poses of the Action",
    "KEYED": "Whole Action",
    "FRAMES": "Range of Motion",
}

Distances = tuple[NDArray[np.floating], NDArray[np.floating]]
"""Shape (N,) each, armature space: without and with the helpers."""


def _check_bones(
    source: RigSource,
    rig: TwistedRig,
    pairs: NDArray[np.integer],
    skinning: HelperSkinning,
    poses: NDArray[np.float64],
    *,
    fitted: tuple[NDArray[np.float64], NDArray[np.float64]],
    options: BonesOptions,
    deforming: int,
) -> Generator[float, None, BonesReport]:
    """Compare linear skinning without and with helpers with the live deformation.

    Args:
        rig: whose bones the skinning has.
        pairs: shape (J, 2), those of plain bones that could get helpers.
        poses: shape (P, B, 4, 4), those to compare in.
        fitted: the poses that were fitted, (F, B, 4, 4), and the live deformation in them.
        deforming: how many deforming bones the armature has with the helpers.

    Yields:
        how much is done, 0 to 1.
    """
    found: list[Distances] = []
    for done, matrices in enumerate(poses):
        found.append(_distances(source, rig, skinning, matrices, source.live(matrices)))
        yield (done + 1) / len(poses)
    before, after = zip(*found, strict=True)
    unit = object_millimetres(source.armature, bpy.context.scene)

    def together(distances: Sequence[NDArray[np.floating]], at: Any = slice(None)) -> Deviation:
        of_poses = (Deviation.of(each[at], unit) for each in distances)
        return reduce(Deviation.and_also, of_poses, Deviation())

    joints = []
    twists, of = [twist.limb for _, twist in rig.used(skinning)], rig.origin.tolist()
    for child in np.unique(pairs[:, 1]).tolist():
        at = _shared(source, pairs[pairs[:, 1] == child])
        joints.append(
            JointReport(
                bone=source.skeleton.names[child],
                helpers=sum(of[each.child] == child for each in skinning.helpers)
                + twists.count(child),
                before=together(before, at),
                after=together(after, at),
            )
        )
    names = tuple(obj.name for obj in source.objects)
    is_helper = np.append(rig.is_twist, np.ones(len(skinning.helpers), np.bool_))
    follows = is_helper[skinning.indices] & (skinning.weights > 0.0)
    whole = together(before), together(after)
    advice = ""
    if not helps(rig, skinning):
        tolerance = rounded(options.tolerance)
        advice = f"Nearly everywhere that is less than the Tolerance of {tolerance} mm."
    elif Remaining.of(*whole).rms > _MUCH:
        squares = np.square(after).sum(axis=0)
        limit = _limit(
            source, rig, pairs, skinning, squares=squares, fitted=fitted, options=options
        )
        advice = f"More than half of the error remains. {limit}".rstrip()
    return BonesReport(
        object_names=names,
        onto_names=names,
        armature_name=source.armature.name,
        joints=tuple(joints),
        vertices=int(np.count_nonzero(follows.any(axis=1))),
        before=whole[0],
        after=whole[1],
        gauges=_gauges(rig, skinning),
        deforming=deforming,
        advice=advice,
    )


def helps(rig: TwistedRig, skinning: HelperSkinning) -> bool:
    """Whether a result has any helper, or a twist bone that moves vertices."""
    return bool(skinning.helpers or rig.used(skinning))


def _gauges(rig: TwistedRig, skinning: HelperSkinning) -> int:
    """How many bones that do not deform the helpers of a result need."""
    of_pairs = {(each.parent, each.child, each.gauge) for each in skinning.helpers if each.gauge}
    return len(of_pairs) + len(
        {turn[:2] for _, twist in rig.used(skinning) for turn in twist.turns}
    )


def _distances(
    source: RigSource,
    rig: TwistedRig,
    skinning: HelperSkinning,
    matrices: NDArray[np.float64],
    live: NDArray[np.floating],
) -> Distances:
    """The distances from the live deformation (N, 3) in a pose (B, 4, 4).

    Without any helper nothing is written: the two are the same.
    """
    pose = Pose.from_matrices(matrices, source.skeleton)
    plain, _ = linear_blend(source.rest, None, source.influences, pose)
    before = np.linalg.norm(plain - live, axis=1)
    if not helps(rig, skinning):
        return before, before
    [matrices] = rig.matrices(matrices[None])
    pose = Pose.from_matrices(matrices, rig.skeleton)
    helpers = helper_transforms(skinning.helpers, pose, rig.skeleton)
    ours = skinned(skinning, source.rest, matrices, helpers)
    return before, np.linalg.norm(ours - live, axis=1)


def _limit(
    source: RigSource,
    rig: TwistedRig,
    pairs: NDArray[np.integer],
    skinning: HelperSkinning,
    *,
    squares: NDArray[np.floating],
    fitted: tuple[NDArray[np.float64], NDArray[np.float64]],
    options: BonesOptions,
) -> str:
    """The likeliest reason for a large remaining error, and advice; see `_check_bones`.

    Args:
        squares: shape (N,), the squares of the errors that remain.
    """
    chosen = _shared(source, pairs)
    ends = {(each.parent, each.child) for each in skinning.helpers}
    helped = _shared(source, {(int(rig.origin[one]), int(rig.origin[two])) for one, two in ends})

    def most_is(at: NDArray[np.bool_]) -> bool:
        return bool(squares[at].sum() > 0.5 * squares.sum())

    if options.bones and most_is(~chosen):
        return "Most of it is at joints that were not chosen: choose All Joints."
    if 0 < options.influences < _FEW_INFLUENCES:
        return "Vertices have no room for helpers with so few Influences: allow 4."
    if most_is(chosen & ~helped):
        return (
            "Most of it is at joints without helpers: make the Tolerance smaller than "
            f"{rounded(options.tolerance)} mm."
        )
    of_fitted = [_distances(source, rig, skinning, *each) for each in zip(*fitted, strict=True)]
    without, with_helpers = (np.square(each).sum() for each in zip(*of_fitted, strict=True))
    if with_helpers <= _MUCH**2 * without:
        return (
            f"The fitted poses say too little about others: choose {_OTHER_POSES[options.poses]}."
        )
    if 0 < options.helpers < MOST_HELPERS:
        return "Allow more Helpers for each joint."
    ways = []
    if 0 < options.influences < _MANY_INFLUENCES:
        ways.append(f"allow {_MANY_INFLUENCES} Influences")
    if not options.with_correctives:
        ways.append("turn on With Correctives")
    return f"To come nearer, {' or '.join(ways)}." if ways else ""


def _shared(
    source: RigSource, pairs: NDArray[np.integer] | set[tuple[int, int]]
) -> NDArray[np.bool_]:
    """Shape (N,): whether vertices follow both bones of one of these pairs, before the bake."""
    ours, found = source.influences, np.zeros(len(source.rest), np.bool_)
    moves = ours.weights > 0.0
    for pair in pairs:
        one, other = (((ours.bones == bone) & moves).any(axis=1) for bone in pair)
        found |= one & other
    return found


# Fits helper bones to the deformation of the characters on one armature; changes nothing.


_REFUSAL_NO_JOINT = (
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
        raise UserError(_REFUSAL_NO_JOINT.format(obj=names, armature=source.armature.name))
    chosen = skeleton.names
    if options.bones:
        chosen = deforming_names(source.objects[0], options.bones)
        chosen = with_mirrored(chosen, skeleton) if options.mirror else chosen
    found = []
    joined, place = source.joined
    kinship = joined.ancestry.kinship(*place[pairs].T)
    below = kinship < 0
    pairs[below] = pairs[below, ::-1]
    for (above, bone), related in zip(pairs.tolist(), (kinship != 0).tolist(), strict=True):
        one, other = skeleton.names[above], skeleton.names[bone]
        if not related and (one, other) != _in_mirrored_order(one, other):
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
        options=FitOptions(
            options.helpers, options.influences, options.tolerance / unit, source.pieces
        ),
    )
    skinning = yield from part(fit, "Fitting Helper Bones of", _FITTING)
    count = len(skinning.helpers) + len(rig.used(skinning))
    require_within_limit(source, count, options)
    checking = 1.0 - _READING - _DEFORMING - _FITTING
    check = _check_bones(
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
    """The poses to fit, the poses to check, and the poses in the frames of helper keys."""
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
