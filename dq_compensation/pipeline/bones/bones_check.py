"""Measures the gain by helper bones in poses that were not fitted, and names its limits."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import reduce
from typing import Any

import bpy
import numpy as np

from ...arrays import Booleans, Float64s, Floats, Integers
from ...bake.deviations import Deviation
from ...bake.rig_source import RigSource
from ...core.pose import Pose
from ...core.skinning import linear_blend
from ...scene.blender.scenes import object_millimetres
from ...wording import rounded
from ..correctives.random_poses import MotionPoses
from .bones_reports import BonesReport, HelperErrors, JointReport
from .helper_bones import HelperSkinning, helper_transforms, skinned
from .options import BonesOptions
from .twist_bones import TwistedRig

# A bake that leaves more of the root mean square says what to change.
_MUCH = 0.5
# What is off by less than this part of the tolerance is not worse than anything.
_NOTHING = 0.01
# With fewer influences vertices between two bones have no room for helpers; engines allow more.
_FEW_INFLUENCES, _MANY_INFLUENCES = 3, 8

Distances = tuple[Floats, Floats]
"""Shape (N,) each, armature space: without and with the helpers."""


def check_bones(
    source: RigSource,
    rig: TwistedRig,
    pairs: Integers,
    skinning: HelperSkinning,
    motions: Sequence[MotionPoses],
    *,
    fitted: tuple[Float64s, Float64s],
    options: BonesOptions,
    deforming: int,
) -> Generator[float, None, BonesReport]:
    """Compare linear skinning without and with helpers with the live deformation.

    Args:
        rig: whose bones the skinning has.
        pairs: shape (J, 2), those of plain bones that could get helpers.
        motions: whose checked poses are compared; the first one has some.
        fitted: the poses that were fitted, (F, B, 4, 4), and the live deformation in them.
        deforming: how many deforming bones the armature has with the helpers.

    Yields:
        how much is done, 0 to 1.
    """
    unit = object_millimetres(source.armature, bpy.context.scene)
    every = [matrices for motion in motions for matrices in motion.checked]
    found: list[Distances] = []
    for done, matrices in enumerate(every):
        found.append(distances(source, rig, skinning, matrices, source.live(matrices)))
        yield (done + 1) / len(every)

    def errors(of: Sequence[Distances], at: Any = slice(None)) -> tuple[Deviation, Deviation]:
        before, after = (
            reduce(Deviation.and_also, (Deviation.of(each[at], unit) for each in some))
            for some in zip(*of, strict=True)
        )
        return before, after

    first = len(motions[0].checked)
    parts = [HelperErrors.of(*errors(some)) for some in (found[:first], found[first:]) if some]
    joints = []
    twists, of = [twist.limb for _, twist in rig.used(skinning)], rig.origin.tolist()
    for child in np.unique(pairs[:, 1]).tolist():
        at = shared(source, pairs[pairs[:, 1] == child])
        before, after = errors(found, at)
        joints.append(
            JointReport(
                bone=source.skeleton.names[child],
                helpers=sum(of[each.child] == child for each in skinning.helpers)
                + twists.count(child),
                before=before,
                after=after,
            )
        )
    names = tuple(obj.name for obj in source.objects)
    is_helper = np.append(rig.is_twist, np.ones(len(skinning.helpers), np.bool_))
    follows = is_helper[skinning.indices] & (skinning.weights > 0.0)
    advice = ""
    if not helps(rig, skinning):
        tolerance = rounded(options.tolerance)
        advice = (
            "Nearly everywhere helpers bring it no nearer, or that is less than the Tolerance of "
            f"{tolerance} mm."
        )
    elif max(part.remaining.rms for part in parts) > _MUCH:
        squares = np.square([after for _, after in found]).sum(axis=0)
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
        engine=options.engine,
        influences=int(np.count_nonzero(skinning.weights > 0.0, axis=1).max()),
        before=parts[0].before,
        after=parts[0].after,
        in_actions=parts[1] if len(parts) > 1 else None,
        worse=any(
            part.after.rms > max(part.before.rms, _NOTHING * options.tolerance) for part in parts
        ),
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
    turns = {turn[:2] for _, twist in rig.used(skinning) for turn in twist.turns}
    anchors = [rig.anchor(each) for each in skinning.helpers if each.anchor >= 0]
    limbs = {bone for bone, along in anchors if along is None}
    return len(of_pairs) + len(turns) + len(limbs)


def distances(
    source: RigSource, rig: TwistedRig, skinning: HelperSkinning, matrices: Float64s, live: Floats
) -> Distances:
    """The distances from the live deformation (N, 3) in a pose (B, 4, 4).

    Without any helper nothing is written: the two are the same.
    """
    pose = Pose.from_matrices(matrices, source.skeleton)
    plain, _ = linear_blend(source.rest, None, source.influences, pose)
    before = np.linalg.norm(plain - live, axis=1)
    if not helps(rig, skinning):
        return before, before
    [posed] = rig.poses(matrices[None])
    helpers = helper_transforms(skinning.helpers, posed, rig.skeleton)
    ours = skinned(skinning, source.rest, posed.matrices, helpers)
    return before, np.linalg.norm(ours - live, axis=1)


def _limit(
    source: RigSource,
    rig: TwistedRig,
    pairs: Integers,
    skinning: HelperSkinning,
    *,
    squares: Floats,
    fitted: tuple[Float64s, Float64s],
    options: BonesOptions,
) -> str:
    """The likeliest reason for a large remaining error, and advice; see `check_bones`.

    Args:
        squares: shape (N,), the squares of the errors that remain.
    """
    chosen = shared(source, pairs)
    ends = {(each.parent, each.child) for each in skinning.helpers}
    helped = shared(source, {(int(rig.origin[one]), int(rig.origin[two])) for one, two in ends})

    def most_is(at: Booleans) -> bool:
        return bool(squares[at].sum() > 0.5 * squares.sum())

    if options.bones and most_is(~chosen):
        return "Most of it is at joints that were not chosen: choose All Joints."
    if 0 < options.most_influences < _FEW_INFLUENCES:
        return "Vertices have no room for helpers with so few Influences: allow 4."
    if most_is(chosen & ~helped):
        return (
            "Most of it is at joints without helpers: make the Tolerance smaller than "
            f"{rounded(options.tolerance)} mm."
        )
    of_fitted = [distances(source, rig, skinning, *each) for each in zip(*fitted, strict=True)]
    without, with_helpers = (np.square(each).sum() for each in zip(*of_fitted, strict=True))
    if options.poses == "FRAMES" and with_helpers <= _MUCH**2 * without:
        return "The fitted poses say too little about others: choose Range and Actions."
    ways = []
    if 0 < options.most_influences < _MANY_INFLUENCES:
        ways.append(f"allow {_MANY_INFLUENCES} Influences")
    if not options.with_correctives:
        ways.append("turn on With Correctives")
    return f"To come nearer, {' or '.join(ways)}." if ways else ""


def shared(source: RigSource, pairs: Integers | set[tuple[int, int]]) -> Booleans:
    """Shape (N,): whether vertices follow both bones of one of these pairs, before the bake."""
    ours, found = source.influences, np.zeros(len(source.rest), np.bool_)
    moves = ours.weights > 0.0
    for pair in pairs:
        one, other = (((ours.bones == bone) & moves).any(axis=1) for bone in pair)
        found |= one & other
    return found
