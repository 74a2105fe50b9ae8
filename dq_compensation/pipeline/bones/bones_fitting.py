"""Fits helper bones to the deformation of the characters on one armature; changes nothing."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np

from ...analysis.ranges_of_motion import shared_pairs
from ...arrays import Float64s, Floats, Int32s, Integers
from ...bake.rig_source import RigSource
from ...core.pose import Pose
from ...core.skinning import linear_blend
from ...core.vectors import extent
from ...errors import UserError
from ...scene.blender.armature import armature_of
from ...scene.blender.scenes import object_millimetres
from ...scene.settings.object_settings import Settings
from ...steps import Progress, part_of, with_progress
from ...wording import listed
from ..correctives.corrective_poses import deforming_names, with_mirrored
from ..correctives.key_budget import Spending
from ..correctives.random_poses import MotionPoses, other_sides
from .bakes_removal import helpers_without
from .bones_check import check_bones, distances, shared
from .bones_reports import BonesReport
from .fitted_poses import read_poses
from .helper_bones import HelperSkinning
from .helper_fitting import FitOptions, FittedHelpers, fit_helpers
from .helper_naming import in_mirrored_order
from .options import ENGINES, BonesOptions
from .twist_bones import TwistedRig

_REFUSAL_NO_JOINT = (
    "No vertex of {obj} follows two deforming bones of {armature}, one below the other, so there "
    "is nothing to bake."
)

# Bones that move less against each other stand still; float32 is not more exact.
_STILL = 1e-5
# Where plain skinning is off by less than this part of the tolerance, it counts as that.
_LEAST_PLAIN = 0.1
# The default budget, for each bone behind a joint.
_EACH = 2
# The parts of the time that the poses, our deformation, the fit and the check take.
_READING, _DEFORMING, _FITTING = 0.1, 0.3, 0.5


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result for the characters on one armature, before anything is written.

    Attributes:
        rig: whose bones the skinning has.
    """

    source: RigSource
    rig: TwistedRig
    skinning: HelperSkinning
    report: BonesReport


def pairs_to_help(source: RigSource, options: BonesOptions) -> Int32s:
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


def _budget(source: RigSource, options: BonesOptions) -> int:
    """How many helpers come at most.

    Where bones are chosen, theirs may be as many as those of all would be. A rig that has as many
    bones as its engine allows gets helpers all the same: the report says what to set there.
    """
    if options.budget:
        return options.budget
    every = pairs_to_help(source, replace(options, bones=()))
    most, room = _EACH * len(np.unique(every[:, 1])), ENGINES[options.engine].bones
    room -= deforming_bones_of(source)
    return min(most, room) if room > 0 else most


def deforming_bones_of(source: RigSource) -> int:
    """How many there are before the bake.

    Helpers of an earlier bake count where other meshes follow them.
    """
    unused = helpers_without(source.armature, source.objects)
    bones = armature_of(source.armature).bones
    return sum(bone.use_deform and bone.name not in unused for bone in bones)


def fit_bones(
    source: RigSource, pairs: Int32s, options: BonesOptions, span: tuple[float, float]
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

    reading = read_poses(source, pairs, options)
    motions = yield from part(reading, "Reading Poses of", _READING)
    fitted, choosing = (
        np.concatenate([getattr(motion, name) for motion in motions])
        for name in ("fitted", "choosing")
    )
    _require_turned(source, pairs, fitted)
    every = yield from part(
        _live(source, np.concatenate((fitted, choosing))), "Deforming", _DEFORMING
    )
    live = every[: len(fitted)]
    budget, rig = _budget(source, options), twisted_rig(source, pairs)
    if len(rig.twists) > budget:
        rig = twisted_rig(source, pairs[:0])
    fit = _FitOfRig(source, rig, pairs, motions, (fitted, choosing), (live, every[len(live) :]))
    found = yield from part(fit.run(options, budget), "Fitting Helper Bones of", _FITTING)
    skinning = found.skinning
    count = len(skinning.helpers) + len(rig.used(skinning))
    checking = 1.0 - _READING - _DEFORMING - _FITTING
    check = check_bones(
        source,
        rig,
        pairs,
        skinning,
        motions,
        fitted=(fitted, live),
        options=options,
        deforming=deforming_bones_of(source) + count,
    )
    report = yield from part(check, "Checking", checking)
    others = _other_budgets(found.spending, len(rig.used(skinning)), count)
    report = replace(
        report,
        other_budgets=tuple((number, report.remaining.rms * times) for number, times in others),
    )
    return Fitted(source, rig, skinning, report)


@dataclass(frozen=True, eq=False)
class _FitOfRig:
    """The fit of helpers to all motions together.

    Attributes:
        poses: those to fit and those that choose the joints, of all motions: (P, B, 4, 4) each.
        live: the live deformation in them, shape (P, N, 3) each.
    """

    source: RigSource
    rig: TwistedRig
    pairs: Integers
    motions: Sequence[MotionPoses]
    poses: tuple[Float64s, Float64s]
    live: tuple[Float64s, Float64s]

    def run(self, options: BonesOptions, budget: int) -> Generator[float, None, FittedHelpers]:
        """Fit, and fit again without the pairs of bones that gain nothing in other poses.

        Args:
            budget: how many helpers and twist bones there may be.
        """
        unit = object_millimetres(self.source.armature, bpy.context.scene)
        tolerance, rig = options.tolerance / unit, self.rig
        parts = self._motion_weights(tolerance)
        limits = FitOptions(
            most_influences=options.most_influences,
            tolerance=tolerance,
            pieces=self.source.pieces,
            pose_weights=self._pose_weights(parts, "fitted"),
            mirrored=rig.mirrored(other_sides(self.source.skeleton)),
            budget=budget - len(rig.twists),
        )
        found = yield from part_of(self._fit(self.pairs, limits), 0.0, 0.5)
        gaining = self._gaining(found.skinning, self._pose_weights(parts, "choosing"))
        if len(gaining) == len(self.pairs):
            return found
        return (yield from part_of(self._fit(gaining, limits), 0.5, 0.5))

    def _fit(self, pairs: Integers, limits: FitOptions) -> Generator[float, None, FittedHelpers]:
        rig, balls = self.rig, self.source.ball_joints()
        return fit_helpers(
            rig.influences,
            rig.skeleton,
            self.source.rest,
            rig.poses(self.poses[0]),
            self.live[0],
            rig.pairs(pairs),
            balls=np.flatnonzero(np.isin(rig.origin, balls)).tolist(),
            options=limits,
        )

    def _motion_weights(self, tolerance: float) -> list[float]:
        """How much more each motion counts than the one in which plain skinning is worst.

        A motion in which plain skinning is off by little would be spoilt for the gain in others.
        """
        if len(self.motions) == 1:
            return [1.0]
        squares, start = [], 0
        for motion in self.motions:
            part = slice(start, start := start + len(motion.fitted))
            plain = [
                self._plain(matrices) - live
                for matrices, live in zip(self.poses[0][part], self.live[0][part], strict=True)
            ]
            mean = float(np.mean(np.square(plain))) * 3.0
            squares.append(max(mean, (_LEAST_PLAIN * tolerance) ** 2))
        return [max(squares) / each for each in squares]

    def _plain(self, matrices: Float64s) -> Floats:
        source = self.source
        pose = Pose.from_matrices(matrices, source.skeleton)
        return linear_blend(source.rest, None, source.influences, pose)[0]

    def _pose_weights(self, of_motions: Sequence[float], name: str) -> Float64s:
        """The weights of the poses of all motions: of one motion alone their sum is 1."""
        counts = [len(getattr(motion, name)) for motion in self.motions]
        total = sum(motion.counts for motion in self.motions)
        each = [
            motion.counts * weight / max(count, 1) / total
            for motion, weight, count in zip(self.motions, of_motions, counts, strict=True)
        ]
        return np.repeat(each, counts)

    def _gaining(self, skinning: HelperSkinning, weights: Float64s) -> Integers:
        """The pairs at which helpers leave less than plain skinning, or that have none."""
        source, rig = self.source, self.rig
        gained = np.zeros(len(source.rest))
        for matrices, live, weight in zip(self.poses[1], self.live[1], weights, strict=True):
            before, after = distances(source, rig, skinning, matrices, live)
            gained += weight * (before**2 - after**2)
        origin = rig.origin.tolist()
        helped = {(origin[each.parent], origin[each.child]) for each in skinning.helpers}
        kept = [
            tuple(pair) not in helped or gained[shared(source, {tuple(pair)})].sum() >= 0.0
            for pair in self.pairs.tolist()
        ]
        return self.pairs[np.array(kept)]


def _other_budgets(spending: Spending, twists: int, count: int) -> tuple[tuple[int, float], ...]:
    """Half and twice as many bones, and how many times the error of this bake each leaves."""
    now = spending.left_by(count - twists)[1]
    found = []
    for most in (count // 2, 2 * count):
        helpers, left = spending.left_by(max(most - twists, 0))
        if now > 0.0 and helpers != count - twists:
            found.append((helpers + twists, left / now))
    return tuple(found)


def twisted_rig(source: RigSource, pairs: Integers) -> TwistedRig:
    """The rig with twist bones in the limbs among these pairs of bones whose twists spread."""
    spreads, start = [], 0
    for each in source.sources:
        part = start + np.flatnonzero(each.pieces < 0)
        start += each.vertex_count
        deformation = each.binding.deformation(Settings.of(each.obj))
        if deformation.twist_limbs is not None:
            spreads.append((deformation.twist_limbs, deformation.twist_spread, part))
    chosen = set(pairs.ravel().tolist())
    rig = TwistedRig.of(source.limbs, source.influences, source.rest, spreads, chosen)
    return replace(rig, plain=source.skeleton)


def _require_turned(source: RigSource, pairs: Int32s, poses: Float64s) -> None:
    """Raise `UserError` where the two bones of each pair move alike in all poses (P, B, 4, 4)."""
    apart = np.abs(poses[:, pairs[:, 0]] - poses[:, pairs[:, 1]]).max(axis=(0, 1))
    # The axes of bones, and how far their heads are moved.
    if max(apart[:3, :3].max(), apart[:3, 3].max() / extent(source.rest)) < _STILL:
        names = ", ".join(obj.name for obj in source.objects)
        raise UserError(
            f"The poses turn no joint at which vertices of {names} follow two bones, so there is "
            "nothing to fit. Choose other Poses."
        )


def _live(source: RigSource, poses: Float64s) -> Generator[float, None, Float64s]:
    """Our deformation in poses (P, B, 4, 4): shape (P, N, 3), armature space."""
    live = np.empty((len(poses), *source.rest.shape))
    for done, pose in enumerate(poses):
        live[done] = source.live(pose)
        yield (done + 1) / len(poses)
    return live
