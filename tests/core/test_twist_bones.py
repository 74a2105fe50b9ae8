"""Twist bones in limbs against the skin of these limbs, as *Spread Twist* turns it."""

from __future__ import annotations

import numpy as np
from bodies import chain, posed, turn

from dq_compensation.analysis.ranges_of_motion import shared_pairs
from dq_compensation.core.dual_quaternion import concatenate_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.twist_limbs import TwistLimbs, spread_twists
from dq_compensation.pipeline.bones.twist_bones import TwistedRig


def tube(skeleton: Skeleton) -> tuple[np.ndarray, Influences]:
    """Rings about bones up the Z axis, of the radius 0.2; each ring follows one bone."""
    heights = np.linspace(0.05, skeleton.bone_count - 0.05, 20 * skeleton.bone_count)
    z, angles = np.meshgrid(heights, np.linspace(0.0, 2.0 * np.pi, 9)[:-1], indexing="ij")
    rest = np.stack((0.2 * np.cos(angles), 0.2 * np.sin(angles), z), axis=-1).reshape(-1, 3)
    bones = np.floor(rest[:, 2:]).astype(np.int32)
    return rest, Influences(bones, np.ones(bones.shape, np.float32))


def test_skin_at_twist_bones_goes_where_spread_twist_takes_it() -> None:
    """The middle bone twists at both ends; exact at the places of twist bones, chords between."""
    skeleton = chain(3)
    rest, influences = tube(skeleton)
    limbs = TwistLimbs.of(SkinAtRest(rest, influences, skeleton))
    spreads = [(limbs, 0.8, np.arange(len(rest)))]
    rig = TwistedRig.of(skeleton, influences, rest, spreads, range(3))
    assert {twist.limb for twist in rig.twists} == set(limbs.bones.tolist())
    assert rig.skeleton.bone_count == 3 + len(rig.twists)
    rotations = [
        turn((1, 2, 3), 30.0),
        concatenate_quaternions(turn((1, 0, 0), 20.0), turn((0, 0, 1), 60.0)),
        concatenate_quaternions(turn((0, 1, 0), 50.0), turn((0, 0, 1), -70.0)),
    ]
    pose = posed(skeleton, np.array(rotations))
    [matrices] = rig.matrices(pose.matrices[None])
    own = pose.matrices[influences.bones[:, 0], :3]
    rigid = np.einsum("nij,nj->ni", own[:, :, :3], rest) + own[:, :, 3]
    wanted, _ = spread_twists(limbs, rigid.copy(), None, pose, 0.8)
    posed_rig = Pose.from_matrices(matrices, rig.skeleton)
    blended = np.einsum(
        "nk,nkij->nij", rig.influences.weights, posed_rig.matrices[rig.influences.bones, :3]
    )
    found = np.einsum("nij,nj->ni", blended[:, :, :3], rest) + blended[:, :, 3]
    away = np.linalg.norm(found - wanted, axis=1)
    plain = np.linalg.norm(rigid - wanted, axis=1)
    assert plain.max() > 0.1
    # A chord of up to 104 degrees in three parts misses the arc by 1 - cos 17 of the radius.
    assert away.max() < 0.05 * 0.2
    at_bone = rig.influences.weights[:, 0] > 0.99
    assert at_bone.sum() > 20
    assert away[at_bone].max() < 0.01 * 0.2


def test_pairs_are_those_of_the_joints_and_of_the_limbs() -> None:
    skeleton = chain(3)
    rest, _ = tube(skeleton)
    below = np.clip(rest[:, 2], 0.0, 2.0)
    share = below - np.floor(below).clip(0, 1)
    first = np.minimum(below.astype(np.int32), 1)
    influences = Influences.from_triples(
        np.tile(np.arange(len(rest)), 2),
        np.concatenate((first, first + 1)),
        np.concatenate((1.0 - share, share)),
        len(rest),
    )
    limbs = TwistLimbs.of(SkinAtRest(rest, influences, skeleton))
    plain = np.array([[0, 1], [1, 2]], np.int32)
    rig = TwistedRig.of(skeleton, influences, rest, [(limbs, 1.0, np.arange(len(rest)))], range(3))
    pairs = rig.pairs(plain)
    origins = {tuple(pair) for pair in rig.origin[pairs].tolist()}
    assert origins <= {(0, 1), (1, 2), (0, 0), (1, 1), (2, 2)}
    assert {(0, 1), (1, 2)} <= origins
    nothing = TwistedRig.of(skeleton, influences, rest, [], range(3))
    assert nothing.twists == ()
    np.testing.assert_array_equal(nothing.pairs(plain), shared_pairs(influences, skeleton))
