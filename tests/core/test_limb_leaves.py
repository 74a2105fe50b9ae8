"""Leaves on limbs: which bones they are, and that joints do not see them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bodies import deformation_of, posed, skeleton_of_points, turn
from numpy.typing import NDArray

from dq_compensation.analysis.limbs import with_limbs
from dq_compensation.core.compensation import Curve
from dq_compensation.core.deform import deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.skeleton import BoneKinds, Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.twist_limbs import TwistLimbs
from tests.core.random_skins import RandomSkin

UPPER, LOWER, HAND, LEAF = range(4)
# The limb lies along Z: elbow at 4, wrist at 8; the radius is 1.
HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 4.0], [0.0, 0.0, 8.0]])
ALONG, ACROSS = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
RINGS, SIDES = 101, 24


def arm(*leaves: tuple[int, tuple[float, float, float]], tail: tuple[float, ...]) -> Skeleton:
    """Upper arm, forearm and hand, and leaves: the bone on which each hangs, and its head."""
    heads = np.vstack((HEADS, *(head for _, head in leaves)))
    tails = np.vstack((HEADS + (0.0, 0.0, 4.0), heads[3:] + tail))
    return skeleton_of_points(heads, tails, [-1, UPPER, LOWER, *(bone for bone, _ in leaves)])


def tube() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions (n, 3), from 0 to 10 along Z, and the weights (n, 3) of the three bones."""
    z, angles = np.meshgrid(
        np.linspace(0.0, 10.0, RINGS), 2.0 * np.pi * np.arange(SIDES) / SIDES, indexing="ij"
    )
    positions = np.stack((np.cos(angles), np.sin(angles), z), axis=-1).reshape(-1, 3)
    behind = np.clip((positions[:, 2:] - (4.0, 8.0)) / 2.4 + 0.5, 0.0, 1.0)
    return positions, np.stack((1.0 - behind[:, 0], behind[:, 0] - behind[:, 1], behind[:, 1]), 1)


def shared(
    weights: NDArray[np.float64], bone: int, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weights with one bone more, to which a bone gives these shares of its own."""
    given = weights[:, bone] * shares
    weights = weights.copy()
    weights[:, bone] -= given
    return np.column_stack((weights, given))


def influences_of(weights: NDArray[np.float64]) -> Influences:
    vertices, bones = np.nonzero(weights)
    return Influences.from_triples(vertices, bones, weights[vertices, bones], len(weights))


def _leaf_scene(kind: str, tail: tuple[float, ...]) -> tuple[Skeleton, Influences]:
    positions, weights = tube()
    x, z = positions[:, 0], positions[:, 2]
    if kind == "twist above":
        return arm((UPPER, (0.0, 0.0, 2.0)), tail=tail), influences_of(
            shared(weights, UPPER, np.clip((z - 2.0) / 1.5, 0.0, 1.0))
        )
    if kind == "twist below":
        return arm((LOWER, (0.0, 0.0, 7.0)), tail=tail), influences_of(
            shared(weights, LOWER, np.clip((z - 4.0) / 4.0, 0.0, 0.9))
        )
    if kind == "share":
        return arm((LOWER, (0.0, 0.0, 4.0)), tail=tail), influences_of(
            shared(weights, LOWER, np.clip(5.5 - z, 0.0, 0.8))
        )
    assert kind == "corrective"
    return arm((LOWER, (-0.9, 0.0, 4.0)), tail=tail), influences_of(
        shared(weights, LOWER, np.clip(-x, 0.0, 1.0) * np.clip(5.5 - z, 0.0, 1.0))
    )


KINDS = ("twist above", "twist below", "share", "corrective")


@pytest.mark.parametrize("tail", [ALONG, ACROSS, (0.3, -0.5, -0.9)])
@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_leaf_that_rests_in_its_parent_changes_nothing(
    kind: str, curve: Curve, tail: tuple[float, ...]
) -> None:
    """The independent answer: the three bones alone."""
    positions, weights = tube()
    skeleton, influences = _leaf_scene(kind, tail)
    rotations = np.array([turn(ACROSS, 20.0), turn(ACROSS, 80.0), turn(ALONG, 60.0)])
    rest = np.array([[1.0, 0.0, 0.0, 0.0]])
    alone = skeleton_of_points(HEADS, HEADS + (0.0, 0.0, 4.0), [-1, UPPER, LOWER])
    skin = SkinAtRest(positions, influences, skeleton).with_whole_limbs
    with_leaf = replace(
        deformation_of("COMPENSATED", positions, skin.influences, skin.skeleton, curve),
        influences=influences,
    )
    found, _ = deform(with_leaf, positions, None, posed(skeleton, np.vstack((rotations, rest))))
    without = deformation_of("COMPENSATED", positions, influences_of(weights), alone, curve)
    expected, _ = deform(without, positions, None, posed(alone, rotations))
    plain = replace(without, method="DUAL_QUATERNION")
    bulging, _ = deform(plain, positions, None, posed(alone, rotations))
    assert np.abs(expected - bulging).max() > 0.05
    # Weights are float32: they add up to 1 within 1e-7.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_an_end_whose_tail_points_aside_of_its_skin_goes_on_with_the_limb() -> None:
    """Most tails tell; that of the hand lies across. The independent answer: a tail along it."""
    positions, weights = tube()
    influences, turns = influences_of(weights), [turn(ACROSS, a) for a in (20.0, 60.0, 60.0)]
    found = {}
    for tail in (ALONG, ACROSS, (0.1, -0.5, -0.9)):
        tails = np.vstack((HEADS[1:], HEADS[2] + 2.0 * np.array(tail)))
        skeleton = skeleton_of_points(HEADS, tails, [-1, UPPER, LOWER])
        skin = SkinAtRest(positions, influences, skeleton, sides=np.zeros(3, np.int8))
        limbs = with_limbs(skin, use_mesh_joints=True).skeleton
        ours = deformation_of("COMPENSATED", positions, influences, limbs, "MEASURED")
        found[tail] = deform(ours, positions, None, posed(limbs, np.array(turns)))[0]
    along, *others = found.values()
    plain = replace(ours, method="DUAL_QUATERNION")
    bulging, _ = deform(plain, positions, None, posed(limbs, np.array(turns)))
    assert np.abs(along - bulging)[positions[:, 2] > 7.0].max() > 0.05
    for other in others:  # to 1 % of the radius
        assert np.abs(other - along).max() < 0.01
    # A foot: skin and tail both point aside, and the tail counts.
    foot = np.where(positions[:, 2:] > 8.0, positions[:, [2, 1, 0]] + (-8.0, 0.0, 8.0), positions)
    tails = np.vstack((HEADS[1:], HEADS[2] + ACROSS))
    skeleton = skeleton_of_points(HEADS, tails, [-1, UPPER, LOWER])
    skin = replace(skin, positions=foot, skeleton=skeleton)
    assert with_limbs(skin, use_mesh_joints=False).skeleton is skin.skeleton


def test_bones_below_a_leaf_are_of_the_limb_too() -> None:
    """As Unreal's: a bone without skin that carries correctives."""
    positions, weights = tube()
    skeleton = arm(
        (LOWER, (0.0, 0.0, 4.0)), (3, (-0.9, 0.0, 4.2)), (3, (0.9, 0.0, 4.2)), tail=ACROSS
    )
    weights = np.column_stack((weights, np.zeros(len(weights))))
    for side in (-1.0, 1.0):
        near = np.clip(side * positions[:, 0], 0.0, 1.0) * np.clip(5.5 - positions[:, 2], 0.0, 0.5)
        weights = shared(weights, LOWER, near)
    found = SkinAtRest(positions, influences_of(weights), skeleton).limbs_of_bones
    assert found.tolist() == [UPPER, LOWER, HAND, LOWER, LOWER, LOWER]


def test_a_limb_whose_own_bone_has_no_skin() -> None:
    """As Character Creator's: two twist bones have all of it."""
    positions, weights = tube()
    skeleton = arm((LOWER, (0.0, 0.0, 4.0)), (LOWER, (0.0, 0.0, 6.0)), tail=ALONG)
    heads = np.vstack((skeleton.heads, (0.0, 0.0, 9.5)))  # a finger
    skeleton = skeleton_of_points(
        heads, np.vstack((skeleton.tails, (0.0, 0.0, 10.0))), [*skeleton.parents.tolist(), HAND]
    )
    weights = shared(weights, LOWER, np.clip(positions[:, 2] / 2.0 - 2.5, 0.0, 1.0))
    weights = shared(weights, LOWER, np.ones(len(weights)))[:, [0, 1, 2, 4, 3]]
    found = SkinAtRest(positions, influences_of(weights), skeleton).limbs_of_bones
    assert found.tolist() == [UPPER, LOWER, HAND, LOWER, LOWER, 5]


def test_a_bone_on_the_side_of_the_skin_is_no_leaf() -> None:
    """A bag at the hip: its skin lies farther out than the limb is thick."""
    positions, weights = tube()
    bag = np.tile((2.0, 0.0, 2.0), (30, 1)) + np.random.default_rng(3).uniform(-0.5, 0.5, (30, 3))
    skeleton = arm((UPPER, (0.9, 0.0, 2.0)), tail=ACROSS)
    all_weights = np.zeros((len(weights) + 30, 4))
    all_weights[: len(weights), :3], all_weights[len(weights) :, 3] = weights, 1.0
    found = SkinAtRest(
        np.vstack((positions, bag)), influences_of(all_weights), skeleton
    ).limbs_of_bones
    assert found[LEAF] == LEAF


def test_fingers_that_all_hang_on_the_hand_are_no_leaves() -> None:
    """The flat hand of a headset: a finger's bones lie on one line from the wrist."""
    positions, weights = tube()
    skeleton = skeleton_of_points(HEADS, HEADS + (0.0, 0.0, 1.0), [-1, 0, 0])
    found = SkinAtRest(positions, influences_of(weights), skeleton).limbs_of_bones
    assert found.tolist() == [0, 1, 2]


def test_a_short_limb_has_no_leaves() -> None:
    """A head: its bones of a face lie within it as leaves do on a limb."""
    positions, weights = tube()
    skeleton = arm((UPPER, (0.0, 0.0, 2.0)), tail=ACROSS)
    weights = shared(weights, UPPER, np.clip((positions[:, 2] - 2.0) / 1.5, 0.0, 1.0))
    thick = positions * (1.7, 1.7, 1.0)
    assert SkinAtRest(positions, influences_of(weights), skeleton).limbs_of_bones[LEAF] == UPPER
    assert SkinAtRest(thick, influences_of(weights), skeleton).limbs_of_bones[LEAF] == LEAF


@pytest.mark.parametrize("seed", [771, 967, 1565, 2595])
def test_leaves_of_ropes_are_found_beyond_the_end_of_their_limb(seed: int) -> None:
    """Two or three, with most of the skin there: the middle of it lies up to 2.2 lengths along."""
    rope = RandomSkin.of(seed)
    found = SkinAtRest(rope.points, rope.influences, rope.skeleton).limbs_of_bones
    row = len(rope.ends) - 1
    assert len(found) > row + 1
    np.testing.assert_array_equal(found[:row], np.arange(row))
    np.testing.assert_array_equal(found[row:], rope.skeleton.parents[row:])


def test_a_second_end_of_a_limb_with_skin_of_its_own_is_no_leaf() -> None:
    """Half of a hand: both halves begin at the wrist, within the limb."""
    positions, weights = tube()
    skeleton = arm((LOWER, (0.1, 0.0, 7.9)), tail=ALONG)
    weights = shared(weights, HAND, np.where(positions[:, 0] > 0.0, 1.0, 0.0))
    assert SkinAtRest(positions, influences_of(weights), skeleton).limbs_of_bones[LEAF] == LEAF


def test_ends_without_skin_do_not_bend_the_limb() -> None:
    """A socket beside the forearm: the limb still leads to the hand."""
    positions, weights = tube()
    skeleton = arm((LOWER, (0.8, 0.0, 6.0)), tail=ACROSS)
    whole = SkinAtRest(positions, influences_of(weights), skeleton).with_whole_limbs
    np.testing.assert_allclose(whole.skeleton.limb_directions()[LOWER], ALONG, atol=1e-12)


def test_what_the_user_takes_bones_for_counts_first() -> None:
    positions, weights = tube()
    skeleton = arm(
        (LOWER, (0.0, 0.0, 6.0)), (UPPER, (0.0, 3.0, 6.0)), (LEAF, (0.0, 0.0, 7.0)), tail=ALONG
    )
    weights = shared(weights, LOWER, np.clip((positions[:, 2] - 5.0) / 2.0, 0.0, 0.6))
    weights = shared(weights, UPPER, np.full(len(weights), 0.1))
    weights = shared(weights, LOWER, np.clip((positions[:, 2] - 5.0) / 2.0, 0.0, 0.5))
    bones = positions, influences_of(weights), skeleton
    assert SkinAtRest(*bones).limbs_of_bones.tolist() == [UPPER, LOWER, HAND, LOWER, 4, LOWER]
    # A limb is none, and neither is what carries it.
    found = SkinAtRest(*bones, kinds=((5, "LIMB"),)).limbs_of_bones
    assert found.tolist() == [UPPER, LOWER, HAND, LEAF, 4, 5]
    # A twist bone lies on the limb of its parent, wherever it is; a root on none.
    found = SkinAtRest(*bones, kinds=((UPPER, "TWIST_BONE"), (4, "TWIST_BONE"))).limbs_of_bones
    assert found.tolist() == [UPPER, LOWER, HAND, LOWER, UPPER, LOWER]


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
@pytest.mark.parametrize(
    ("name", "kinds"),
    [("bone", ((1, "TWIST_BONE"),)), ("LeftArmTwist", ()), ("arm_roll", ((1, "LIMB"),))],
)
def test_a_twist_bone_in_the_row_of_a_limb_is_a_part_of_it(
    curve: Curve, name: str, kinds: BoneKinds
) -> None:
    """The forearm hangs on the twist bone. The independent answer: the three bones alone."""
    positions, weights = tube()
    alone = skeleton_of_points(HEADS, HEADS + (0.0, 0.0, 4.0), [-1, UPPER, LOWER])
    heads = np.vstack((HEADS[:1], (0.0, 0.0, 2.0), HEADS[1:]))
    skeleton = skeleton_of_points(heads, heads + (0.0, 0.0, 2.0), [-1, 0, 1, 2])
    skeleton = replace(skeleton, names=("arm", name, "forearm", "hand"))
    shares = np.clip((positions[:, 2] - 2.0) / 1.5, 0.0, 1.0)[:, None] * weights[:, :1]
    split = np.hstack((weights[:, :1] - shares, shares, weights[:, 1:]))
    influences = influences_of(split)
    skin = SkinAtRest(positions, influences, skeleton, kinds=kinds)
    slender = replace(skin, positions=positions * (0.5, 0.5, 1.0))
    assert TwistLimbs.of(slender).left_out[UPPER] == "TWIST_BONES"
    skin = skin.with_whole_limbs
    assert skin.skeleton.parents.tolist() == [-1, -1, 0, 2]
    turns = np.array([turn(ACROSS, 20.0), turn(ACROSS, 80.0), turn(ALONG, 60.0)])
    rest = np.array([[1.0, 0.0, 0.0, 0.0]])
    with_leaf = replace(
        deformation_of("COMPENSATED", positions, skin.influences, skin.skeleton, curve),
        influences=influences,
    )
    pose = posed(skeleton, np.vstack((turns[:1], rest, turns[1:])))
    found, _ = deform(with_leaf, positions, None, pose)
    without = deformation_of("COMPENSATED", positions, influences_of(weights), alone, curve)
    expected, _ = deform(without, positions, None, posed(alone, turns))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_a_name_alone_makes_no_twist_bone() -> None:
    """It bends at rest, carries nothing, or is a controller's; or the user knows better."""
    positions, weights = tube()
    influences = influences_of(weights)

    def limbs(name: str, heads: NDArray[np.float64] = HEADS, kinds: BoneKinds = ()) -> list[int]:
        skeleton = skeleton_of_points(heads, heads + (0.0, 0.0, 4.0), [-1, UPPER, LOWER])
        skeleton = replace(skeleton, names=("arm", name, "hand"))
        return SkinAtRest(positions, influences, skeleton, kinds=kinds).limbs_of_bones.tolist()

    assert limbs("forearm_twist") == [UPPER, UPPER, HAND]
    assert limbs("forearm_twist", HEADS + [[0, 0, 0], [2, 0, 0], [0, 0, 0]]) == [UPPER, LOWER, HAND]
    assert limbs("forearm_controller") == [UPPER, LOWER, HAND]
    assert limbs("tail_twist", kinds=((LOWER, "ROW"),)) == [UPPER, LOWER, HAND]
