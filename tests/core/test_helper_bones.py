"""Helper bones against dual quaternion skinning of points, their scale against its formula."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import chain, posed, random_influences, random_rotations, turn

from dq_compensation.core.dual_quaternion import concatenate_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skinning import dual_quaternion_skinning, linear_blend
from dq_compensation.pipeline.bones.helper_bones import (
    Helper,
    HelperSkinning,
    helper_heads,
    helper_transforms,
    skinned,
)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_a_rigid_helper_takes_points_where_dual_quaternions_take_them(
    rng: np.random.Generator, share: float
) -> None:
    """Of two bones that are related or not; shares are float32, as weights are."""
    skeleton = chain(4)
    pose = posed(skeleton, random_rotations(rng, 4, 100.0))
    points = rng.uniform(-2.0, 4.0, (50, 3))
    bones = np.tile(np.array([[1, 3]], np.int32), (50, 1))
    weights = np.tile(np.array([[1.0 - share, share]], np.float32), (50, 1))
    expected, _ = dual_quaternion_skinning(points, None, Influences(bones, weights), pose)
    [matrix] = helper_transforms([Helper(1, 3, share)], pose, skeleton)
    found = points @ matrix[:3, :3].T + matrix[:3, 3]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_scaled_bones_take_the_head_of_a_helper_where_they_take_such_a_vertex(
    rng: np.random.Generator,
) -> None:
    skeleton = chain(3)
    matrices = posed(skeleton, random_rotations(rng, 3, 60.0)).matrices.copy()
    matrices[2, :3, :3] *= 1.5
    pose = Pose.from_matrices(matrices, skeleton)
    helpers = [Helper(1, 2, 0.25)]
    heads = helper_heads(helpers, skeleton)
    weights = Influences(np.array([[1, 2]], np.int32), np.array([[0.75, 0.25]], np.float32))
    expected, _ = dual_quaternion_skinning(heads, None, weights, pose)
    [matrix] = helper_transforms(helpers, pose, skeleton)
    np.testing.assert_allclose(matrix[:3, :3] @ heads[0] + matrix[:3, 3], expected[0], atol=1e-12)
    # The blended scale: a quarter of the way from 1 to 1.5.
    size = np.cbrt(np.linalg.det(matrix[:3, :3]))
    assert size == pytest.approx(1.125, abs=1e-6)


@pytest.mark.parametrize("degrees", [0.0, 60.0, 120.0, 180.0])
def test_a_helper_grows_across_the_axis_of_a_turn(degrees: float) -> None:
    """Across it the gauge has sqrt(1 - 2 s (1 - s) (1 - cos t)) left, with s = 1/4."""
    skeleton = chain(2)
    left = np.sqrt(1.0 - 0.375 * (1.0 - np.cos(np.radians(degrees))))
    for column in 0, 1:  # a bend about the bone's X, a twist about the bone
        along = skeleton.rest[1, :3, column]
        about = turn((along[0], along[1], along[2]), degrees)
        pose = posed(skeleton, np.array([turn((3, 1, 2), 40.0), about]))
        rigid, grown = helper_transforms(
            [Helper(0, 1, 0.3), Helper(0, 1, 0.3, growth=0.4)], pose, skeleton
        )
        stretch = np.linalg.inv(rigid[:3, :3]) @ grown[:3, :3]
        expected = np.outer(along, along) * (1.0 - left**-0.4) + np.eye(3) * left**-0.4
        np.testing.assert_allclose(stretch, expected, rtol=0, atol=1e-12)
        head = np.append(helper_heads([Helper(0, 1, 0.3)], skeleton)[0], 1.0)
        np.testing.assert_allclose(grown @ head, rigid @ head, rtol=0, atol=1e-12)


def test_a_helper_shrinks_in_every_direction() -> None:
    """The gauge's volume is 1 - 2 s (1 - s) (1 - cos t), whatever the axis."""
    skeleton = chain(2)
    pose = posed(skeleton, np.array([turn((3, 1, 2), 40.0), turn((1, -2, 3), 100.0)]))
    rigid, shrunk = helper_transforms(
        [Helper(0, 1, 0.3), Helper(0, 1, 0.3, shrink=0.6)], pose, skeleton
    )
    volume = 1.0 - 0.375 * (1.0 - np.cos(np.radians(100.0)))
    expected = volume**0.2 * rigid[:3, :3]
    np.testing.assert_allclose(shrunk[:3, :3], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("degrees", [-60.0, 0.0, 30.0, 90.0, 150.0])
def test_a_bend_to_one_side_narrows_a_helper(share: float, degrees: float) -> None:
    """Across the limb with the larger share; by the axis of the whole turn, twist and all."""
    skeleton = chain(2)
    x, y, _ = skeleton.rest[1, :3, :3].T
    bent = concatenate_quaternions(turn(tuple(x), degrees), turn(tuple(y), 50.0))
    pose = posed(skeleton, np.array([turn((3, 1, 2), 40.0), bent]))
    sided = [Helper(0, 1, share, narrowing=0.4, side=side) for side in ("X", "-X", "Z", "-Z")]
    plain, *found = helper_transforms([Helper(0, 1, share), *sided], pose, skeleton)
    # (cos b + x sin b) (cos t + y sin t) = ... + x sin b cos t + z sin b sin t, of half angles.
    of_bend, of_twist = np.radians(degrees) / 2.0, np.radians(50.0) / 2.0
    about_x = 2.0 * np.arcsin(np.sin(of_bend) * np.cos(of_twist))
    about_z = 2.0 * np.arcsin(np.sin(of_bend) * np.sin(of_twist))
    for matrix, bend in zip(found, (about_x, -about_x, about_z, -about_z), strict=True):
        size = 1.0 - 0.4 * min(max(bend, 0.0), 2.0)
        axes = skeleton.rest[0 if share < 0.5 else 1, :3, :3]
        expected = axes @ np.diag([size, 1.0, size]) @ axes.T
        scale = np.linalg.inv(plain[:3, :3]) @ matrix[:3, :3]
        np.testing.assert_allclose(scale, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("degrees", [-150.0, 30.0, 170.0])
@pytest.mark.parametrize("swung", [0.0, 80.0])
def test_a_helper_that_twists_has_a_part_of_the_twist(degrees: float, swung: float) -> None:
    """With the parent, and with the child, whose twist it takes back; the swing does not count."""
    skeleton = chain(2)
    x, y, _ = skeleton.rest[1, :3, :3].T
    above = turn((3, 1, 2), 40.0)

    def turned(swung: float, degrees: float) -> Pose:
        both = concatenate_quaternions(turn(tuple(x), swung), turn(tuple(y), degrees))
        return posed(skeleton, np.array([above, both]))

    helpers = [Helper(0, 1, 0.0, twisting=0.3), Helper(0, 1, 1.0, twisting=-0.7)]
    found = helper_transforms(helpers, turned(swung, degrees), skeleton)
    expected = [turned(swing, 0.3 * degrees).matrices[1] for swing in (0.0, swung)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("bone", "along"), [(0, 0.75), (1, 0.25)])
def test_an_anchored_helper_turns_about_a_point_of_a_bone(bone: int, along: float) -> None:
    skeleton = chain(2)
    pose = posed(skeleton, np.array([turn((3, 1, 2), 40.0), turn((1, 0, 0), 90.0)]))
    free, anchored = (Helper(0, 1, 0.3), Helper(0, 1, 0.3, anchor=bone, along=along))
    point = skeleton.heads[bone] + along * (skeleton.tails[bone] - skeleton.heads[bone])
    np.testing.assert_allclose(helper_heads([anchored], skeleton)[0], point, atol=1e-12)
    plain, turned = helper_transforms([free, anchored], pose, skeleton)
    np.testing.assert_allclose(turned[:3, :3], plain[:3, :3], rtol=0, atol=1e-12)
    there = np.append(point, 1.0)
    np.testing.assert_allclose(turned @ there, pose.matrices[bone] @ there, rtol=0, atol=1e-12)


def test_the_scale_of_the_whole_character_does_not_count_as_a_turn() -> None:
    skeleton = chain(2)
    matrices = posed(skeleton, np.array([turn((1, 0, 0), 30.0), turn((0, 1, 0), 90.0)])).matrices
    helpers = [Helper(0, 1, 0.3, growth=0.3, shrink=0.2, anchor=0, along=0.9)]
    [plain] = helper_transforms(helpers, Pose.from_matrices(matrices, skeleton), skeleton)
    doubled = np.diag([2.0, 2.0, 2.0, 1.0]) @ matrices
    [larger] = helper_transforms(helpers, Pose.from_matrices(doubled, skeleton), skeleton)
    np.testing.assert_allclose(larger[:3], 2.0 * plain[:3], rtol=0, atol=1e-9)


def test_at_rest_helpers_are_at_rest() -> None:
    helpers = [Helper(0, 1, 0.3, growth=0.3, anchor=1, along=0.5), Helper(0, 2, 0.7)]
    found = helper_transforms(helpers, Pose.rest(chain(3)), chain(3))
    np.testing.assert_allclose(found, np.tile(np.eye(4), (2, 1, 1)), rtol=0, atol=1e-12)
    assert helper_transforms([], Pose.rest(chain(3)), chain(3)).shape == (0, 4, 4)


def test_the_skinning_is_linear_blending_of_bones_and_helpers(rng: np.random.Generator) -> None:
    """A helper counts as one more bone; a vertex without weights stays."""
    skeleton = chain(4)
    pose = posed(skeleton, random_rotations(rng, 4, 90.0))
    points = rng.uniform(-1.0, 4.0, (40, 3))
    influences = random_influences(rng, 40, 4, 3)
    weights = influences.weights.astype(np.float64)
    weights[0] = 0.0
    helpers = (Helper(1, 2, 0.5, growth=0.1),)
    # The helper stands in for the last bone.
    indices = np.where(influences.bones == 3, 4, influences.bones)
    matrices = helper_transforms(helpers, pose, skeleton)
    found = skinned(HelperSkinning(helpers, indices, weights), points, pose.matrices, matrices)
    blended = Pose.from_matrices(np.concatenate((pose.matrices[:3], matrices)), skeleton)
    expected, _ = linear_blend(points, None, influences, blended)
    np.testing.assert_allclose(found[1:], expected[1:], rtol=0, atol=1e-6)  # float32 weights
    np.testing.assert_array_equal(found[0], points[0])
