"""MEASURED compensation against one vertex at a time, and what must not change or jump."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from bodies import chain, posed, random_influences, random_rotations, skeleton_of_points, turn
from numpy.typing import NDArray

from dq_compensation.core.compensation import compensated_skinning
from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.limb_joints import LimbJoints
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.skinning import dual_quaternion_skinning
from dq_compensation.core.vectors import smooth_step


def _bent(skeleton: Skeleton, degrees: float) -> Pose:
    """The second bone about Y, towards +X."""
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (skeleton.bone_count, 1))
    rotations[1] = turn((0, 1, 0), degrees)
    return posed(skeleton, rotations)


def _weighted(*rows: tuple[float, ...]) -> Influences:
    weights = np.array(rows)
    vertices, bones = np.nonzero(weights)
    return Influences.from_triples(vertices, bones, weights[vertices, bones], len(weights))


def _moved(
    points: NDArray[np.floating], influences: Influences, skeleton: Skeleton, pose: Pose
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """What dual quaternions make of the points, and what compensation takes away from that."""
    measured = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
    plain, _ = dual_quaternion_skinning(points, None, influences, pose)
    after, _ = compensated_skinning(points, None, influences, pose, measured, measured.amounts)
    return plain, plain - after


def _from_axis(point: NDArray[np.floating], ray: NDArray[np.floating]) -> NDArray[np.floating]:
    return point - max(float(point @ ray), 0.0) * ray


def test_the_displacement_of_each_vertex(rng: np.random.Generator) -> None:
    """Two limbs of length 1 that share the joint at (0, 0, 1), written out again."""
    skeleton, pose = chain(2), _bent(chain(2), 80.0)
    joint = np.array([0.0, 0.0, 1.0])
    points = joint + rng.uniform(-0.28, 0.28, (300, 3))  # nearer than half of a limb
    lower = rng.uniform(0.05, 0.95, 300)
    influences = _weighted(*np.column_stack((lower, 1.0 - lower)))
    plain, taken = _moved(points, influences, skeleton, pose)
    for v, share, p, t in zip(points, lower, plain, taken, strict=True):
        o = v - joint
        beside_upper = o[2] > 0.0
        rest_ray = np.array([0.0, 0.0, 1.0 if beside_upper else -1.0])
        ray = pose.matrices[1 if beside_upper else 0, :3, :3] @ rest_ray
        away, kept = _from_axis(p - joint, ray), np.linalg.norm(_from_axis(o, rest_ray))
        far = np.linalg.norm(away)
        expected = np.clip(far - kept, 0.0, np.linalg.norm(o) - kept)
        if (share < 0.5) != beside_upper:
            x = min(min(share, 1.0 - share) / 0.35, 1.0)
            expected *= x * x * (3.0 - 2.0 * x)
        np.testing.assert_allclose(t, expected * away / far, rtol=0, atol=1e-7)
    assert np.linalg.norm(taken, axis=1).max() > 0.05


@pytest.mark.parametrize("degrees", [30.0, 90.0, 150.0])
def test_half_and_half_far_from_the_joint_does_not_bulge(degrees: float) -> None:
    """Where the published curves are 0 and the bulge of dual quaternions is largest."""
    skeleton = chain(2)
    point = np.array([[-0.1, 0.0, 0.7]])  # on the outer side, 0.3 before the joint
    plain, taken = _moved(point, _weighted((0.5, 0.5)), skeleton, _bent(skeleton, degrees))
    assert -plain[0, 0] > 0.15  # from the axis of the lower limb
    assert -(plain - taken)[0, 0] == pytest.approx(0.1, abs=2e-4)


def test_nothing_moves_farther_than_the_bound(rng: np.random.Generator) -> None:
    """In any pose: at most the distance from the joint less the distance from the limb."""
    skeleton = chain(6)
    points = rng.uniform((-0.3, -0.3, 0.0), (0.3, 0.3, 6.0), (2000, 3))
    influences = random_influences(rng, 2000, 6, 4)
    measured = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
    limbs = measured.limbs
    o = points - limbs.heads[measured.joints]
    beside_child = measured.bones == measured.joints
    rays = np.where(
        beside_child[:, None], limbs.forth[measured.joints], limbs.back[measured.joints]
    )
    from_limb = np.array([_from_axis(*pair) for pair in zip(o, rays, strict=True)])
    bound = np.linalg.norm(o, axis=1) - np.linalg.norm(from_limb, axis=1)
    assert np.count_nonzero(measured.amounts) > 200
    assert measured.amounts.min() >= 0.0
    assert measured.amounts.max() <= 1.0 + 1e-6  # weights are float32
    for _ in range(5):
        pose = posed(skeleton, random_rotations(rng, 6, 180.0))
        _, taken = _moved(points, influences, skeleton, pose)
        assert np.all(np.linalg.norm(taken, axis=1) <= measured.amounts * bound + 1e-12)


def test_the_rest_pose_stays_whatever_shape_keys_have_done(rng: np.random.Generator) -> None:
    """Amounts belong to the basis shape; the current shape keeps its distance."""
    skeleton = chain(3)
    points = rng.uniform((-0.3, -0.3, 0.0), (0.3, 0.3, 3.0), (500, 3))
    influences = random_influences(rng, 500, 3, 3)
    measured = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
    fat = points * [3.0, 3.0, 1.0]
    moved, _ = compensated_skinning(
        fat, None, influences, Pose.rest(skeleton), measured, measured.amounts
    )
    np.testing.assert_allclose(moved, fat, rtol=0, atol=1e-12)


def _largest_step(path: list[NDArray[np.floating]]) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=-1).max())


@pytest.mark.parametrize("height", [0.8, 0.97, 1.0, 1.2])
def test_nothing_jumps_as_the_weight_goes_from_one_bone_to_the_other(height: float) -> None:
    """Through half and half, where the two bones swap places, and to where one bone has all."""
    skeleton = chain(2)
    pose = _bent(skeleton, 100.0)
    path = []
    for share in np.concatenate(([0.0], np.linspace(1e-4, 1.0 - 1e-4, 801), [1.0])):
        influences = _weighted((1.0 - share, share))
        point = np.array([[-0.1, 0.05, height]])
        path.append(_moved(point, influences, skeleton, pose)[1][0])
    assert _largest_step(path) < 2e-3


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_nothing_jumps_along_the_limbs(share: float) -> None:
    """Past the joint, where the nearer limb changes, and to where compensation ends."""
    skeleton = chain(2)
    influences = _weighted((1.0 - share, share))
    pose = _bent(skeleton, 100.0)
    points = [np.array([[-0.1, 0.05, z]]) for z in np.linspace(-0.2, 2.2, 1201)]
    path = [_moved(point, influences, skeleton, pose)[1][0] for point in points]
    assert np.linalg.norm(path, axis=1).max() > 0.05
    assert _largest_step(path) < 1e-2


@pytest.mark.parametrize("width", [0.25, 0.35])
@pytest.mark.parametrize("degrees", [60.0, 90.0])
def test_a_limb_of_two_bones_on_either_side_does_not_bulge(width: float, degrees: float) -> None:
    """Weights so wide that most skin near the joint has its two largest from bones of one limb."""
    skeleton, radius = chain(4), 0.4
    z, angle = np.meshgrid(np.linspace(0.5, 3.5, 61), np.linspace(0.0, 2.0 * np.pi, 17))
    points = np.stack((radius * np.cos(angle), radius * np.sin(angle), z), axis=-1).reshape(-1, 3)
    behind = [
        [
            0.5 + 0.5 * math.erf((height - head) / (width * math.sqrt(2.0)))
            for height in points[:, 2]
        ]
        for head in (1.0, 2.0, 3.0)
    ]
    weights = -np.diff(np.vstack((np.ones(len(points)), *behind, np.zeros(len(points)))), axis=0)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (4, 1))
    rotations[2] = turn((0, 1, 0), degrees)
    pose, influences = posed(skeleton, rotations), _weighted(*weights.T)
    plain, taken = _moved(points, influences, skeleton, pose)
    joint = np.array([0.0, 0.0, 2.0])
    rays = (np.array([0.0, 0.0, -1.0]), pose.matrices[2, :3, :3] @ [0.0, 0.0, 1.0])

    def bulge(deformed: NDArray[np.floating]) -> float:
        away = [[np.linalg.norm(_from_axis(p - joint, ray)) for ray in rays] for p in deformed]
        return float(np.min(away, axis=1).max()) / radius - 1.0

    assert bulge(plain) > 0.07
    assert bulge(plain - taken) < 0.03


def _hand() -> Skeleton:
    """A palm, and two fingers of two bones side by side."""
    heads = [[0, 0, 0], [0.1, 0, 1.0], [0.1, 0, 1.5], [-0.1, 0, 1.0], [-0.1, 0, 1.5]]
    tails = [[0, 0, 1.0], [0.1, 0, 1.5], [0.1, 0, 2.0], [-0.1, 0, 1.5], [-0.1, 0, 2.0]]
    return skeleton_of_points(np.array(heads), np.array(tails), [-1, 0, 1, 0, 3])


def test_it_fades_where_another_finger_takes_over() -> None:
    """Between two fingers of one hand: the one's joint counts, then the other's, none at half."""
    points = np.tile([[0.0, 0.1, 0.95]], (201, 1))
    share = np.linspace(0.0, 1.0, 201)
    none, palm = np.zeros(201), np.full(201, 0.8)
    weights = np.column_stack((palm, 0.2 * share, none, 0.2 - 0.2 * share, none))
    measured = MeasuredJoints.of(SkinAtRest(points, _weighted(*weights), _hand()))
    np.testing.assert_array_equal(measured.joints[[0, 70, 130, 200]], [3, 3, 1, 1])
    assert measured.amounts[[0, 200]].min() > 0.5
    assert measured.amounts[100] == pytest.approx(0.0, abs=1e-6)
    assert np.abs(np.diff(measured.amounts)).max() < 0.05


def test_joints_of_one_finger_do_not_fade_each_other() -> None:
    """Beside the first bone, between the knuckle and the next joint, is no other limb."""
    points = np.column_stack((np.full(21, 0.1), np.full(21, 0.05), np.linspace(1.15, 1.35, 21)))
    weights = np.tile([0.25, 0.5, 0.25, 0.0, 0.0], (21, 1))
    measured = MeasuredJoints.of(SkinAtRest(points, _weighted(*weights), _hand()))
    assert set(measured.joints.tolist()) == {1, 2}
    np.testing.assert_array_equal(measured.bones, 1)
    assert measured.amounts.min() > 0.9


def test_the_shares_of_all_bones_of_a_limb_add_up() -> None:
    """A limb that is split into bones is compensated as if it were one."""
    points = np.array([[-0.1, 0.0, 1.9], [-0.1, 0.0, 2.1]])
    split = _weighted((0.3, 0.3, 0.2, 0.2), (0.3, 0.3, 0.2, 0.2))
    whole = skeleton_of_points(
        np.array([[0.0, 0, 0], [0, 0, 2.0]]), np.array([[0, 0, 2.0], [0, 0, 4.0]]), [-1, 0]
    )
    found = MeasuredJoints.of(SkinAtRest(points, split, chain(4)))
    expected = MeasuredJoints.of(SkinAtRest(points, _weighted((0.6, 0.4), (0.6, 0.4)), whole))
    np.testing.assert_array_equal(found.joints, 2)
    np.testing.assert_array_equal(found.bones, [1, 2])
    np.testing.assert_allclose(found.amounts, expected.amounts, rtol=0, atol=1e-6)


def test_weights_of_another_part_of_the_body_fade_it() -> None:
    """Skin that a bone moves which does not hang on the joint; so little that it hardly does."""
    skeleton = skeleton_of_points(
        np.array([[0.0, 0, 0], [0, 0, 1.0], [0, 0, 0.5]]),
        np.array([[0, 0, 1.0], [0, 0, 2.0], [1.0, 0, 0.5]]),
        [-1, 0, 0],
    )
    others = np.linspace(0.0, 0.4, 41)
    half = 0.5 - 0.5 * others
    points = np.tile([[-0.1, 0.0, 0.9]], (41, 1))
    influences = _weighted(*np.column_stack((half, half, others)))
    amounts = MeasuredJoints.of(SkinAtRest(points, influences, skeleton)).amounts
    expected = (1.0 - others) * np.maximum(0.0, 1.0 - others / (0.5 * half + 0.05))
    np.testing.assert_allclose(amounts, expected, rtol=0, atol=1e-6)


def test_a_limb_of_several_bones_bends_at_the_nearest_of_their_joints() -> None:
    skeleton = chain(4)
    points = np.array([[-0.1, 0.0, 1.9], [-0.1, 0.0, 2.2], [-0.1, 0.0, 2.9]])
    far_apart = _weighted(*[(0.5, 0.0, 0.0, 0.5)] * 3)
    measured = MeasuredJoints.of(SkinAtRest(points, far_apart, skeleton))
    np.testing.assert_array_equal(measured.joints, [2, 2, 3])
    np.testing.assert_array_equal(measured.bones, [1, 2, 2])
    np.testing.assert_allclose(measured.amounts, 1.0)


def test_another_part_of_the_body_and_unrelated_bones_are_left_alone() -> None:
    skeleton = skeleton_of_points(
        np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, 1.0], [0, 0, 1.0]]),
        np.array([[0, 0, 1.0], [0, 0, 2.0], [1.0, 0, 1.0], [0, 0.5, 1.9]]),
        [-1, 0, 0, 0],
    )
    assert LimbJoints.of(skeleton).hinge_confidence == pytest.approx([0.0, 1.0, 0.0, 1.0])
    point = np.tile([[-0.1, 0.0, 0.9]], (3, 1))
    influences = _weighted((0.5, 0.5, 0, 0), (0.5, 0, 0.5, 0), (0, 0.5, 0, 0.5))
    amounts = MeasuredJoints.of(SkinAtRest(point, influences, skeleton)).amounts
    np.testing.assert_allclose(amounts, [1.0, 0.0, 0.0])


def test_skin_beyond_the_shorter_limb_is_left_alone() -> None:
    """A palm has weights of fingers, and is no part of their joints."""
    skeleton = skeleton_of_points(
        np.array([[0, 0, 0], [0, 0, 1.0]]), np.array([[0, 0, 1.0], [0, 0, 1.2]]), [-1, 0]
    )
    point = np.array([[-0.01, 0.0, 0.91], [-0.01, 0.0, 0.85], [-0.01, 0.0, 0.79]])
    amounts = MeasuredJoints.of(SkinAtRest(point, _weighted(*[(0.5, 0.5)] * 3), skeleton)).amounts
    assert amounts[0] == pytest.approx(1.0)
    assert 0.3 < amounts[1] < 0.7
    assert amounts[2] == 0.0


def test_a_limb_that_is_scaled_or_moved_away_is_not_squeezed(rng: np.random.Generator) -> None:
    skeleton = chain(2)
    points = np.array([0.0, 0.0, 1.0]) + rng.uniform(-0.25, 0.25, (200, 3))
    share = rng.random(200)
    influences = _weighted(*np.column_stack((share, 1.0 - share)))
    thick, moved = np.eye(4), np.eye(4)
    thick[:2] *= 2.0
    moved[:3, 3] = (0.2, -0.1, 0.05)
    for matrix in (thick, moved):
        pose = Pose.from_matrices(np.stack((np.eye(4), matrix)), skeleton)
        _, taken = _moved(points, influences, skeleton, pose)
        np.testing.assert_allclose(taken, 0.0, rtol=0, atol=1e-7)


@pytest.mark.parametrize("gap", [-0.05, -0.02, 0.02, 0.05])
@pytest.mark.parametrize("degrees", [45.0, 90.0, 120.0])
def test_a_gap_along_the_limb_brings_no_bulge_back(gap: float, degrees: float) -> None:
    """The skin is as far from the two limbs, which go on to each other's ends, as without a gap.

    1 % of the radius. Where no more went back than a turn can take away, up to 9 % stayed.
    """
    skeleton, pose, radius = chain(2), _bent(chain(2), degrees), 0.1
    angles, heights = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25), np.linspace(0.75, 1.25, 41))
    points = np.stack((radius * np.cos(angles), radius * np.sin(angles), heights), axis=-1)
    points = points.reshape(-1, 3)
    share = smooth_step(points[:, 2], 0.9, 1.1)
    influences = _weighted(*np.column_stack((1.0 - share, share)))
    matrices = pose.matrices.copy()
    matrices[1, 2, 3] += gap
    plain, taken = _moved(points, influences, skeleton, Pose.from_matrices(matrices, skeleton))
    joint = np.array([0.0, 0.0, 1.0])
    ends = joint + [0.0, 0.0, max(gap, 0.0)], joint + [0.0, 0.0, gap]
    rays = np.array([0.0, 0.0, -1.0]), matrices[1, :3, 2]
    far = [
        np.linalg.norm([_from_axis(p - end, ray) for p in plain - taken], axis=1)
        for end, ray in zip(ends, rays, strict=True)
    ]
    bulge = (np.minimum(*far) - radius).max()
    assert bulge < 0.01 * radius


def test_a_limb_that_is_scaled_slantwise_goes_through_its_posed_points() -> None:
    skeleton = chain(2)
    limbs = LimbJoints.of(skeleton, "X")  # across the bones
    stretched = np.eye(4)
    stretched[:3, :3] = [[1.5, 0.2, 0.0], [-0.3, 0.8, 0.1], [0.4, 0.0, -1.2]]
    pose = Pose.from_matrices(np.stack((np.eye(4), stretched)), skeleton)
    head, far = ((stretched @ [*point, 1.0])[:3] for point in _limb(limbs, 1))
    along = (far - head) / np.linalg.norm(far - head)
    np.testing.assert_allclose(limbs.posed(pose).rays[1, 0], along, rtol=0, atol=1e-12)


def _limb(limbs: LimbJoints, joint: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return limbs.heads[joint], limbs.heads[joint] + limbs.forth[joint]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_no_bones_or_vertices_are_no_error(dtype: type) -> None:
    skeleton = chain(2)
    for count in (0, 2):
        points = np.full((count, 3), 0.1, dtype)
        influences = Influences.from_triples(np.arange(0), np.arange(0), np.zeros(0), count)
        measured = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
        deformation = Deformation("COMPENSATED", influences, measured)
        moved, _ = deform(deformation, points, None, _bent(skeleton, 90.0))
        assert moved.dtype == dtype
        np.testing.assert_array_equal(moved, points)
    points = np.array([[-0.1, 0.0, 0.8]], dtype)
    assert _moved(points, _weighted((0.5, 0.5)), skeleton, _bent(skeleton, 90.0))[1].dtype == dtype


def test_joints_of_the_mesh_are_those_of_the_hierarchy_that_they_stand_for(
    rng: np.random.Generator,
) -> None:
    """Bones in any order: here children come before their parents."""
    skeleton = chain(4)
    order = np.array([3, 1, 0, 2])
    place = np.argsort(order)
    flat = skeleton_of_points(skeleton.heads[order], skeleton.tails[order], [-1] * 4)
    mesh_parents = np.array([place[b - 1] if b else -1 for b in order], np.int32)
    points = np.column_stack((rng.uniform(-0.3, 0.3, (400, 2)), rng.uniform(0.0, 4.0, 400)))
    influences = random_influences(rng, 400, 4, 3)
    renumbered = Influences(place[influences.bones].astype(np.int32), influences.weights)
    expected = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
    found = MeasuredJoints.of(SkinAtRest(points, renumbered, flat, mesh_parents=mesh_parents))
    assert found.joint_counts == (0, 3)
    assert expected.joint_counts == (3, 0)
    np.testing.assert_allclose(found.amounts, expected.amounts, rtol=0, atol=1e-12)
    rows = expected.rows
    np.testing.assert_array_equal(order[found.bones[rows]], expected.bones[rows])
    children = found.limbs.children[found.joints[rows]]
    np.testing.assert_array_equal(order[children], expected.joints[rows])
    rotations = random_rotations(rng, 4, 80.0)
    pose = posed(skeleton, rotations)
    same_pose = Pose.from_matrices(pose.matrices[order], flat)
    wanted, _ = deform(Deformation("COMPENSATED", influences, expected), points, None, pose)
    got, _ = deform(Deformation("COMPENSATED", renumbered, found), points, None, same_pose)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9)


def test_the_hierarchy_goes_before_the_mesh() -> None:
    """Two bones of the hierarchy keep its joint, whatever the mesh says of one of them."""
    skeleton = chain(3)
    points = np.array([[0.1, 0.0, 1.9]])
    influences = _weighted((0.0, 0.5, 0.5))
    expected = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
    found = MeasuredJoints.of(
        SkinAtRest(points, influences, skeleton, mesh_parents=np.array([-1, -1, 0], np.int32))
    )
    np.testing.assert_array_equal(found.joints, expected.joints)
    np.testing.assert_array_equal(found.amounts, expected.amounts)


def test_the_identity_of_joints_tells_limbs_apart() -> None:
    """Meshes of one armature share what is posed for equal ones; the skin may tell other limbs."""
    along = chain(3)
    turned = along.rest.copy()
    turned[2, :3, 1] = [1.0, 0.0, 0.0]  # no child shows where the last limb runs
    flat = [replace(along, parents=np.full(3, -1, np.int32), rest=r) for r in (along.rest, turned)]
    parents = np.array([-1, 0, 1], np.int32)
    one, other, again = (LimbJoints.of(flat[i], mesh_parents=parents) for i in (0, 1, 0))
    assert one.identity == again.identity
    assert one.identity != other.identity
    assert one.identity != LimbJoints.of(flat[0]).identity
