"""Tubes about rows of bones with random sizes, weights, tails, leaves and poses; who is worse.

The ideal of a skin is known from how it was built. Hinges: weights cross over within a radius, and
each bone has skin of its own; on the outer side of a bend the skin is as far from the limb as at
rest, whatever other methods leave. Rows: weights cross over within 1.5 radii and more, and no bone
between two joints has skin of its own; rings stay round, on a smooth line. Between these one of the
two has to be right, joint by joint. A twist keeps the distance from the limb. A bone that is moved
off its parent along the parent's limb makes this limb longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.dual_quaternion import concatenate_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.twist_limbs import TwistLimbs
from dq_compensation.scene.binding.character_skin import with_limbs
from quality.body import Body
from quality.softening import softened
from tests.core.bodies import posed, skeleton_of_points, turn

Array = NDArray[np.float64]
SIDES = 12
# What paint leaves away.
_LEAST = 3e-3
# How much farther from the ideal a ring may be than with the better method, in radii: with the
# defaults, and with *Spread Twist* or *Softness*. By how much the centre line may turn more
# sharply, degrees, without and with *Softness*.
_WORSE, _WORSE_CHANGED, _SHARPER, _SHARPER_SOFT = 0.02, 0.05, 1.0, 2.0
# The longest gap between a bone and its parent, in radii.
_GAP = 0.4
_OTHERS = ("LINEAR", "DUAL_QUATERNION")
_ERF = np.vectorize(math.erf)


@dataclass(frozen=True, eq=False)
class RandomSkin:
    """A tube in a pose.

    Attributes:
        kind: "hinge", "row" or "between".
        motion: "bend", "twist" or "both".
        heights: shape (r,), of the rings.
        ends: shape (bones + 1,), where bones begin, and the last one ends.
        faces: shape (f, 4), vertices.
        gaps: shape (bones,), how far each is moved off its parent, along the parent's limb.
        softness: the amount, in radii.
        factor: how much of the compensation acts.
    """

    kind: str
    motion: str
    spread: float
    radius: float
    heights: Array
    ends: Array
    points: Array
    influences: Influences
    skeleton: Skeleton
    pose: Pose
    faces: NDArray[np.int32]
    gaps: Array
    softness: float = 0.0
    factor: float = 1.0

    @classmethod
    def of(cls, seed: int) -> RandomSkin:
        """In one piece, with bones on their parents."""
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 13))
        ends = np.append(0.0, rng.uniform(0.7, 1.4, count).cumsum())
        radius = math.exp(rng.uniform(math.log(0.05), 0.0))
        width = math.exp(rng.uniform(math.log(0.2 * radius), math.log(3.0)))
        widths = width * rng.uniform(0.85, 1.18, count - 1)
        beside = rng.uniform(-0.2, 0.2, count - 1) * np.minimum(radius, widths)
        rings = int(np.clip(3.0 * ends[-1] / min(radius, 1.5 * width), 10 * count, 300))
        heights = np.linspace(0.0, ends[-1], rings)
        z, angles = np.meshgrid(heights, 2.0 * np.pi * np.arange(SIDES) / SIDES, indexing="ij")
        points = np.stack((radius * np.cos(angles), radius * np.sin(angles), z), axis=-1)
        points, z = points.reshape(-1, 3), z.ravel()
        weights = _weights(z, ends[1:-1] + beside, widths)
        inner = (z[:, None] > ends[:-1]) & (z[:, None] < ends[1:])
        alone = (weights * inner).max(axis=0)
        kind = "between"
        if widths.max() <= radius and alone.min() >= 0.95:
            kind = "hinge"
        elif widths.min() >= 1.5 * radius and count > 2 and alone[1:-1].max() <= 0.85:
            kind = "row"
        skeleton, weights = _with_leaves(rng, ends, radius, z, weights)
        vertices, bones = np.nonzero(weights)
        influences = Influences.from_triples(vertices, bones, weights[vertices, bones], len(points))
        motion = str(rng.choice(["bend", "bend", "twist", "both"]))
        spread = float(rng.choice([0.0, rng.uniform()]))
        pose = _random_pose(rng, skeleton, count, motion)
        bodies = points, influences, skeleton, pose, _faces(rings), np.zeros(count)
        return cls(kind, motion, spread, radius, heights, ends, *bodies)

    @classmethod
    def apart(cls, seed: int) -> RandomSkin:
        """The same, softened, or with gaps at half of the joints, or both."""
        skin, rng = cls.of(seed), np.random.default_rng((seed, 1))
        gaps = rng.uniform(0.0, _GAP * skin.radius, len(skin.gaps)) * (
            rng.uniform(size=len(skin.gaps)) < 0.5
        )
        gaps[0] = 0.0
        how = str(rng.choice(["gaps", "soft", "both"]))
        if how == "soft":
            gaps[:] = 0.0
        softness = 0.0 if how == "gaps" else float(rng.uniform(0.05, 0.5))
        pose = _moved_off(skin.pose, skin.skeleton, gaps)
        return replace(skin, pose=pose, gaps=gaps, softness=softness)

    def misses(self) -> list[str]:
        """What is farther from the ideal than with the better one of the others, joint by joint."""
        judged = _Judged.of(self)
        found = judged.bulging() if self.kind == "hinge" else judged.stretched()
        ideals = ("limb", "rings")
        if self.kind != "between" or self.motion == "twist":
            ideals = ("rings",) if self.kind == "row" and self.motion != "twist" else ("limb",)
        for joint in range(1, len(self.ends) - 1):
            each = [judged.worse(joint, ideal) for ideal in ideals]
            if all(each):
                found.append(f"joint {joint}: {' or '.join(map(str, each))}")
        return found

    @cached_property
    def ours(self) -> Deformation:
        """The defaults, with *Spread Twist* and *Softness*."""
        sides, influences = np.zeros(self.skeleton.bone_count, np.int8), self.influences
        if self.softness:
            body = Body(self.points, self.faces, influences, self.skeleton)
            influences = softened(body, amount=self.softness)
        skin = SkinAtRest(
            self.points, influences, self.skeleton, sides=sides, painted=self.influences
        )
        skin = with_limbs(skin, use_mesh_joints=True)
        return Deformation(
            "COMPENSATED",
            influences,
            MeasuredJoints.of(skin.with_whole_limbs, ball_joints=True),
            factor=self.factor,
            twist_limbs=TwistLimbs.of(skin),
            twist_spread=self.spread,
        )

    def deformed(self) -> dict[str, Array]:
        """The rings (r, SIDES, 3) by plain skinning, Preserve Volume, as painted, and ours."""
        methods = {name: Deformation(name, self.influences) for name in _OTHERS}
        return {
            name: deform(method, self.points, None, self.pose)[0]
            .astype(np.float64)
            .reshape(-1, SIDES, 3)
            for name, method in {**methods, "COMPENSATED": self.ours}.items()
        }


def _weights(z: Array, joints: Array, widths: Array) -> Array:
    """Shape (n, bones): at each joint a step that a Gaussian of its width has smoothed."""
    behind = 0.5 + 0.5 * _ERF((z[:, None] - joints) / (widths * math.sqrt(2.0)))
    behind = np.minimum.accumulate(behind, axis=1)
    weights = np.hstack((np.ones((len(z), 1)), behind)) - np.hstack((behind, np.zeros((len(z), 1))))
    weights[weights < _LEAST] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)


def _with_leaves(
    rng: np.random.Generator, ends: Array, radius: float, z: Array, weights: Array
) -> tuple[Skeleton, Array]:
    """The bones, with tails along them or anywhere, and in every third skin with up to 3 leaves.

    They are on limbs longer than 2.5 radii that another bone goes on: nothing tells one on the last
    bone from a bone that goes on itself, and on shorter limbs, as heads, they are of a face.
    """
    heads = np.zeros((len(ends) - 1, 3))
    heads[:, 2] = ends[:-1]
    tails, parents = heads.copy(), list(range(-1, len(heads) - 1))
    which = str(rng.choice(["along", "along", "across", "anywhere"]))
    if which == "along":
        tails[:, 2] = ends[1:]
    else:
        tails += (0.3, 0.1, 0.05) if which == "across" else rng.normal(0.0, 0.4, tails.shape)
    long = np.flatnonzero(np.diff(ends)[:-1] > 2.6 * radius)
    leaves = int(rng.integers(1, 4)) if len(long) and rng.uniform() < 0.3 else 0
    for _ in range(leaves):
        bone, place = int(rng.choice(long)), rng.uniform(0.0, 0.9)
        length = ends[bone + 1] - ends[bone]
        beside = rng.uniform(-0.4, 0.4, 2) * radius
        head = heads[bone] + (*beside, place * length)
        share = np.clip((z - head[2]) / length + rng.uniform(0.0, 0.6), 0.0, 0.8)
        given = weights[:, bone] * share
        weights[:, bone] -= given
        weights = np.column_stack((weights, given))
        heads, tails = np.vstack((heads, head)), np.vstack((tails, head + rng.normal(0.0, 0.3, 3)))
        parents.append(bone)
    return skeleton_of_points(heads, tails, parents), weights


def _random_pose(rng: np.random.Generator, skeleton: Skeleton, count: int, motion: str) -> Pose:
    """Up to 90 degrees at each joint; leaves rest in their parents."""
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (skeleton.bone_count, 1))
    for bone in range(1, count):
        angle, bend, twist = rng.uniform(0.0, 2.0 * np.pi), *rng.uniform(-90.0, 90.0, 2)
        if motion != "twist":
            rotations[bone] = turn((math.cos(angle), math.sin(angle), 0.0), bend)
        if motion != "bend":
            rotations[bone] = concatenate_quaternions(rotations[bone], turn((0, 0, 1), twist))
    return posed(skeleton, rotations)


def _faces(rings: int) -> NDArray[np.int32]:
    """Shape (f, 4), between rings."""
    places = np.arange(rings * SIDES, dtype=np.int32).reshape(rings, SIDES)
    around = np.roll(places, -1, axis=1)
    return np.stack((places[:-1], around[:-1], around[1:], places[1:]), axis=-1).reshape(-1, 4)


def _moved_off(pose: Pose, skeleton: Skeleton, gaps: Array) -> Pose:
    """The pose with bones of the row moved off their parents, along Z at rest; leaves follow."""
    matrices = pose.matrices.copy()
    moved = np.zeros((skeleton.bone_count, 3))
    for bone, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            moved[bone] = moved[parent]
        if bone < len(gaps) and parent >= 0:
            moved[bone] = moved[bone] + gaps[bone] * pose.matrices[parent, :3, 2]
    matrices[:, :3, 3] += moved
    return Pose.from_matrices(matrices, skeleton)


@dataclass(frozen=True, eq=False)
class _Judged:
    """How far rings are from what they should be, by each method.

    Attributes:
        joints: shape (r,), the bone behind the joint that each ring is nearest to.
        limb, rings, turns: shape (r,), by method: how far the worst vertex is from its distance
            from the limb, and from the middle of its ring, in radii; the turn of the centre line,
            degrees.
        bulges: shape (r,), how much farther from the limb skin is than at rest, in radii.
        tight: shape (r,), bool; where Preserve Volume's centre line curves tighter than the radius.
    """

    skin: RandomSkin
    positions: dict[str, Array]
    joints: NDArray[np.intp]
    limb: dict[str, Array]
    rings: dict[str, Array]
    turns: dict[str, Array]
    bulges: Array
    tight: NDArray[np.bool_]

    @classmethod
    def of(cls, skin: RandomSkin) -> _Judged:
        positions, radius = skin.deformed(), skin.radius
        joints = np.abs(skin.heights[:, None] - skin.ends[1:-1]).argmin(axis=1) + 1
        farther = {
            name: (far / radius - 1.0) * outer
            for name, (far, outer) in _from_limbs(skin, joints, positions).items()
        }
        limb = {name: np.abs(each).max(axis=1) for name, each in farther.items()}
        bulges = farther["COMPENSATED"].max(axis=1)
        rings, turns, tight = {}, {}, np.zeros(len(joints), np.bool_)
        for name, at in positions.items():
            middles = at.mean(axis=1)
            far = np.linalg.norm(at - middles[:, None], axis=2)
            rings[name] = np.abs(far / radius - 1.0).max(axis=1)
            steps = np.diff(middles, axis=0)
            lengths = np.linalg.norm(steps, axis=1).clip(1e-12)
            steps /= lengths[:, None]
            cosines = np.einsum("ni,ni->n", steps[1:], steps[:-1]).clip(-1.0, 1.0)
            turns[name] = np.pad(np.degrees(np.arccos(cosines)), 1)
            if name == "DUAL_QUATERNION" and skin.kind != "hinge":
                curved = np.radians(turns[name][1:-1]) * 2.0 / (lengths[1:] + lengths[:-1])
                reach = math.ceil(radius / (skin.heights[1] - skin.heights[0]))
                for ring in 1 + np.flatnonzero(curved * radius > 1.0):
                    tight[max(0, ring - reach) : ring + reach + 1] = True
        return cls(skin, positions, joints, limb, rings, turns, bulges, tight)

    @property
    def tolerance(self) -> float:
        """In radii."""
        return _WORSE_CHANGED if self.skin.spread or self.skin.softness else _WORSE

    def worse(self, joint: int, ideal: str) -> tuple[str, float] | None:
        """By how much a joint misses an ideal, in radii or degrees; None where it does not."""
        at = (self.joints == joint) & ~self.tight
        if not at.any():
            return None
        errors = self.limb if ideal == "limb" else self.rings
        better = min(_OTHERS, key=lambda method: errors[method][at].max())
        worse = float((errors["COMPENSATED"] - errors[better])[at].max())
        if worse > self.tolerance:
            return f"{ideal}, radii", round(worse, 3)
        sharper = self.turns["COMPENSATED"][at].max() - self.turns[better][at].max()
        if ideal == "rings" and sharper > (_SHARPER_SOFT if self.skin.softness else _SHARPER):
            return "turn, degrees", round(float(sharper), 2)
        return None

    def bulging(self) -> list[str]:
        """What is left of the bulge: half of the compensation is no worse than the others."""
        bulge = self.bulges.max()
        return [f"bulge: {bulge:.3f} radii"] if bulge > self.tolerance else []

    def stretched(self) -> list[str]:
        """Edges that are 1.25 times as long as with either method, where curves are tight."""
        found = []
        for axis in (0, 1):
            edges = {
                name: np.linalg.norm(at - np.roll(at, -1, axis), axis=2)
                for name, at in self.positions.items()
            }
            others = np.maximum(*(edges[name] for name in _OTHERS)).clip(1e-9)
            longer = (edges["COMPENSATED"] / others)[self.tight].max(initial=0.0)
            if longer > 1.25:
                found.append(f"edge: {longer:.2f}")
        return found


def _from_limbs(
    skin: RandomSkin, joints: NDArray[np.intp], positions: dict[str, Array]
) -> dict[str, tuple[Array, NDArray[np.bool_]]]:
    """Distances (r, SIDES) from the nearer limb at the joint of each ring; what is on the outside.

    That is the outer half of the ring where the method has it: a twist that is spread takes skin to
    the inner side of a bend, where skin goes in. The whole ring where a joint bends by less than 3
    degrees.
    """
    matrices, last = skin.pose.matrices, len(skin.ends) - 2
    heads = np.einsum("bij,bj->bi", matrices[:, :3, :3], skin.skeleton.heads) + matrices[:, :3, 3]
    forth, back = matrices[joints, :3, 2], -matrices[joints - 1, :3, 2]
    lengths = np.diff(skin.ends) + np.append(skin.gaps[1:], 0.0)
    limbs = (
        (forth, np.where(joints == last, np.inf, lengths[joints])),
        (back, np.where(joints == 1, np.inf, lengths[joints - 1])),
    )
    outwards = -(forth + back)
    straight = np.linalg.norm(outwards, axis=1) < 2.0 * math.sin(math.radians(1.5))
    found = {}
    for name, at in positions.items():
        away = at - heads[joints][:, None]
        both = [
            away
            - np.clip(np.einsum("rsi,ri->rs", away, ray), 0.0, long[:, None])[..., None]
            * ray[:, None]
            for ray, long in limbs
        ]
        away = at - at.mean(axis=1, keepdims=True)
        outer = (np.einsum("rsi,ri->rs", away, outwards) >= 0.0) | straight[:, None]
        found[name] = np.linalg.norm(both, axis=3).min(axis=0), outer
    return found
