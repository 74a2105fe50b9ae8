"""The GPU's positions against `core`, which is the specification.

Tolerance: 1e-4 of the object's size; the GPU has float32 and weights of 16 bits, which together
stay below 4e-5 in the wildest of these poses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import METHODS, Deformation, Method, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.spherical_joints import joint_sets
from dq_compensation.viewport import deformed_mesh
from dq_compensation.viewport.array_textures import TEXTURE_WIDTH, array_from_texture, row_count
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.instance_poses import GivenPoses
from dq_compensation.viewport.kernels import wanted_layout
from tests.gpu.one_instance import deform_in, read_normals

TOLERANCE = 1e-4

# (angle of every bone in radians, spread of scales)
POSES = {"rest": (0.0, 0.0), "mild": (0.6, 0.0), "wild": (3.1, 0.0), "scaled": (0.6, 0.3)}

# The object is turned, moved and unevenly scaled against its armature.
UNEQUAL_SPACES = np.array(
    [[1.2, -0.5, 0.0, 0.3], [0.4, 0.9, 0.1, -0.2], [0.0, 0.2, 1.5, 0.7], [0.0, 0.0, 0.0, 1.0]]
)


def _transformed(points: NDArray[Any], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return points.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def _deformation(
    method: Method,
    rest: NDArray[Any],
    influences: Influences,
    skeleton: Skeleton,
    painted: NDArray[Any] | None = None,
    factor: float = 1.0,
) -> Deformation:
    """A method with what it needs; `rest` in armature space."""
    compensation = PublishedCompensation.of(SkinAtRest(rest, influences, skeleton))
    sets = joint_sets(influences, skeleton)
    return Deformation(method, influences, compensation, painted, factor, sets)


def _expected(
    deformation: Deformation, shape: NDArray[Any], pose: Pose, matrix: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Object space in, object space out, through float64 `core`."""
    moved, _ = deform(deformation, _transformed(shape, matrix), None, pose)
    return _transformed(moved, np.linalg.inv(matrix))


@pytest.mark.parametrize("pose_name", POSES)
def test_positions_equal_core_for_every_method_and_rig(
    human: Any, make_pose: Callable[..., Pose], pose_name: str
) -> None:
    angle, scale = POSES[pose_name]
    rng = np.random.default_rng(7)
    matrix = UNEQUAL_SPACES
    rest_in_armature = _transformed(human.rest, matrix)
    painted = rng.random(len(human.rest)).astype(np.float32)
    mesh = GpuMesh(human.rest, human.influences)
    deformed = DeformedMesh(mesh, human.skeleton)
    rest = (rest_in_armature, human.influences, human.skeleton)
    deformations = [_deformation(method, *rest, painted, 0.7) for method in METHODS]
    for seed in range(2):
        pose = make_pose(human.skeleton, seed, angle, scale)
        assert pose.any_scaled == (scale > 0.0)
        for deformation in deformations:
            found = deform_in(deformed, deformation, pose, matrix)
            expected = _expected(deformation, human.rest, pose, matrix)
            error = np.abs(found - expected).max() / human.size
            assert error <= TOLERANCE, (
                f"{deformation.method}, {human.name}, {pose_name}: {error:.2e}"
            )


def test_compensation_moves_what_it_should(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    """The comparison with core would also pass if neither compensated."""
    human = humans["default"]
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    pose = make_pose(human.skeleton, 0, 0.6)
    plain = deform_in(deformed, Deformation("DUAL_QUATERNION", human.influences), pose)
    compensated = _deformation("COMPENSATED", human.rest, human.influences, human.skeleton)
    nothing = deform_in(deformed, replace(compensated, factor=0.0), pose)
    np.testing.assert_array_equal(nothing, plain)
    full = np.linalg.norm(deform_in(deformed, compensated, pose) - plain, axis=1)
    assert 1e-3 < full.max() < 0.1
    found = deform_in(deformed, replace(compensated, factor=0.5), pose)
    half = np.linalg.norm(found - plain, axis=1)
    np.testing.assert_allclose(half, full / 2, atol=2e-6)


def test_shape_keys_come_before_skinning_and_only_when_they_change(
    humans: dict[str, Any], make_pose: Callable[..., Pose], monkeypatch: pytest.MonkeyPatch
) -> None:
    human = humans["game_engine"]
    rng = np.random.default_rng(3)
    offsets = 0.05 * rng.normal(size=(5, len(human.rest), 3)).astype(np.float32)
    # Keys are local: most leave most vertices alone, one leaves all.
    offsets[rng.random(offsets.shape[:2]) < 0.7] = 0.0
    offsets[2] = 0.0
    mesh = GpuMesh(human.rest, human.influences, shape_offsets=offsets)
    deformed = DeformedMesh(mesh, human.skeleton)
    keys = deformed.keys
    assert keys is not None
    dispatches: list[int] = []
    run = deformed_mesh.run_pass

    def counted(shader: Any, textures: Any, written: Any, *counts: int, **ints: int) -> None:
        dispatches.extend([1] * (written[0] == "shaped"))
        run(shader, textures, written, *counts, **ints)

    monkeypatch.setattr(deformed_mesh, "run_pass", counted)
    pose = make_pose(human.skeleton, 1, 0.6)
    linear = Deformation("LINEAR", human.influences)
    for values, changes in (
        (np.zeros(5, np.float32), False),
        (np.array([0.5, -0.7, 1.0, 1.8, 0.0], np.float32), True),
        (np.zeros(5, np.float32), True),
    ):
        assert keys.give(values) == changes
        assert not keys.give(values)
        dispatches.clear()
        found = deform_in(deformed, linear, pose)
        np.testing.assert_array_equal(deform_in(deformed, linear, pose), found)
        assert len(dispatches) == bool(values.any())
        shape = human.rest + np.einsum("k,kni->ni", values, offsets)
        expected, _ = deform(linear, shape.astype(np.float64), None, pose)
        error = np.abs(found - expected).max() / human.size
        assert error <= TOLERANCE, f"{values}: {error:.2e}"
    with pytest.raises(ValueError, match="3 shape key values for 5 keys"):
        keys.give(np.zeros(3))


def test_no_invocation_reads_shape_keys_past_their_texture(humans: dict[str, Any]) -> None:
    """Each reads where the next vertex's offsets begin, those behind the last vertex too."""
    human = humans["cmu_mb"]
    count = len(human.rest)
    offsets = np.ones((1, count, 3), np.float32)
    kept = GpuMesh(human.rest, human.influences, shape_offsets=offsets).key_offsets((0,))
    invocations = TEXTURE_WIDTH * row_count(count)
    assert invocations > count
    starts = array_from_texture(kept["key_starts"], invocations + 1)[:, 0]
    np.testing.assert_array_equal(starts, np.minimum(np.arange(invocations + 1), count))


def _chain(bone_count: int) -> Skeleton:
    rest = np.tile(np.eye(4), (bone_count, 1, 1))
    rest[:, 1, 3] = np.linspace(0.0, 1.0, bone_count)
    tails = rest[:, :3, 3] + [0.0, 1.0 / bone_count, 0.0]
    names = tuple(f"bone {number}" for number in range(bone_count))
    parents = np.arange(bone_count, dtype=np.int32) - 1
    return Skeleton(names, parents, rest, tails)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [0.0, 0.1])
def test_any_number_of_bones_and_influences(
    method: Method, scale: float, make_pose: Callable[..., Pose]
) -> None:
    """20 influences take five texels."""
    rng = np.random.default_rng(11)
    skeleton = _chain(1500)
    count = 3000
    vertices = np.repeat(np.arange(count), 20)
    first = rng.integers(0, 1480, count)
    bones = np.concatenate([start + rng.permutation(20) for start in first])
    influences = Influences.from_triples(vertices, bones, rng.random(len(bones)), count)
    assert influences.width == 20
    rest = rng.random((count, 3)).astype(np.float32)
    deformation = _deformation(method, rest, influences, skeleton)
    # Small turns, since a thousand of them add up along the chain.
    pose = make_pose(skeleton, 4, 0.05, scale / 10)
    assert pose.any_scaled == (scale > 0.0)
    deformed = DeformedMesh(GpuMesh(rest, influences), skeleton)
    found = deform_in(deformed, deformation, pose)
    expected = _expected(deformation, rest, pose, np.eye(4))
    size = max(1.0, float(np.ptp(expected, axis=0).max()))
    error = np.abs(found - expected).max() / size
    assert error <= TOLERANCE, f"{error:.2e}"


@pytest.mark.parametrize("method", METHODS)
def test_vertices_without_bones_stay(method: Method, make_pose: Callable[..., Pose]) -> None:
    skeleton = _chain(2)
    rest = np.random.default_rng(0).random((5, 3)).astype(np.float32)
    influences = Influences.from_triples(
        np.array([1, 3]), np.array([0, 1]), np.array([1.0, 0.5]), 5
    )
    mesh = GpuMesh(rest, influences)
    deformation, pose = (
        _deformation(method, rest, influences, skeleton),
        make_pose(skeleton, 0, 1.0),
    )
    result = deform_in(DeformedMesh(mesh, skeleton), deformation, pose, UNEQUAL_SPACES)
    np.testing.assert_array_equal(result[[0, 2, 4]], rest[[0, 2, 4]])
    assert (np.abs(result[[1, 3]] - rest[[1, 3]]).max(axis=1) > 0.01).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [0, 1])
def test_meshes_of_no_and_of_one_vertex(
    method: Method, count: int, make_pose: Callable[..., Pose]
) -> None:
    skeleton = _chain(1)
    rest = np.ones((count, 3), np.float32)
    influences = Influences.from_triples(
        np.zeros(count, int), np.zeros(count, int), np.ones(count), count
    )
    mesh = GpuMesh(rest, influences)
    deformed = DeformedMesh(mesh, skeleton)
    deformation = _deformation(method, rest, influences, skeleton)
    assert deform_in(deformed, deformation, make_pose(skeleton, 0, 1.0)).shape == (count, 3)
    assert deformed.normals is None


@pytest.mark.parametrize("method", METHODS)
def test_bones_scaled_to_nothing_give_finite_positions(
    method: Method, humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    human = humans["cmu_mb"]
    pose = make_pose(human.skeleton, 0, 0.5)
    matrices = pose.matrices.copy()
    matrices[5:9, :3, :3] = 0.0
    matrices[9, :3, 0] = 0.0
    mesh = GpuMesh(human.rest, human.influences, topology=human.topology)
    deformed = DeformedMesh(mesh, human.skeleton)
    deformation = _deformation(method, human.rest, human.influences, human.skeleton)
    pose = Pose.from_matrices(matrices, human.skeleton)
    assert np.isfinite(deform_in(deformed, deformation, pose)).all()
    (normals,) = read_normals(deformed)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=2e-3)


def test_an_object_scaled_to_nothing_is_refused(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    human = humans["cmu_mb"]
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    linear, pose = Deformation("LINEAR", human.influences), make_pose(human.skeleton, 0, 0.5)
    with pytest.raises(ValueError, match="scaled to nothing"):
        deform_in(deformed, linear, pose, np.diag([0.0, 1.0, 1.0, 1.0]))


def test_two_meshes_share_the_poses_of_one_armature(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    """Each with a method of its own, over several frames."""
    human = humans["game_engine"]
    mesh = GpuMesh(human.rest, human.influences)
    both = [DeformedMesh(mesh, human.skeleton) for _ in range(2)]
    deformations = (
        Deformation("LINEAR", human.influences),
        Deformation("SPHERICAL_JOINT", human.influences, sets=human.sets),
    )
    layouts = [wanted_layout(deformation) for deformation in deformations]
    poses = GivenPoses(human.skeleton, 1, layouts[0] | layouts[1])
    for frame in range(3):
        pose = make_pose(human.skeleton, frame, 0.6, 0.2 if frame == 1 else 0.0)
        poses.upload(pose.matrices)
        for deformed, deformation in zip(both, deformations, strict=True):
            deformed.deform(deformation, poses, poses.groups[0])
        for deformed, deformation in zip(both, deformations, strict=True):
            expected, _ = deform(deformation, human.rest.astype(np.float64), None, pose)
            assert np.abs(deformed.read_positions()[0] - expected).max() / human.size <= TOLERANCE
