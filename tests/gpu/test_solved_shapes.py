"""Solved shapes on the GPU against `core`, to 1e-4 of the object's size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import METHODS, Deformation, Method, deform
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.spherical_joints import joint_sets
from dq_compensation.pipeline.crowds.crowd_stage import CrowdMesh
from dq_compensation.scene.binding.bind import bind
from dq_compensation.session.status import status_of
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.instance_poses import GivenPoses, InstanceList
from dq_compensation.viewport.kernels import wanted_layout
from dq_compensation.viewport.members import member_of
from tests.blender.solved_scenes import DEPTH, ELBOW, WRIST, limb_with_shapes, plain
from tests.gpu.one_instance import deform_in
from tests.gpu.test_batches import Drawing, assert_as_if_alone, positions, sizes
from tests.gpu.test_batches import pose as pose_arm
from tests.gpu.test_crowds import Scene
from tests.gpu.test_measured_compensation import TOLERANCE, UNEQUAL_SPACES
from tests.limb import build_limb
from tests.solved import solved_shapes

# A finger in a row, so that up to four neighbours combine; hinges and balls.
JOINTS = {"index_01_l": False, "index_02_l": True, "index_03_l": True, "calf_r": True}
SIZE = 0.02


def solved_deformation(human: Any, method: Method, combined: int = 1) -> Deformation:
    """A method with shapes, scaled by all that is painted."""
    rng, count = np.random.default_rng(1), len(human.rest)
    at_rest = SkinAtRest(human.rest.astype(np.float64), human.influences, human.skeleton)
    painted, blend, mask = rng.uniform(0.3, 1.0, (3, count))
    return Deformation(
        method,
        human.influences,
        MeasuredJoints.of(at_rest) if method == "COMPENSATED" else None,
        painted,
        0.7,
        joint_sets(human.influences, human.skeleton),
        blend,
        mask,
        solved=solved_shapes(human.skeleton, human.influences, JOINTS, SIZE, combined),
    )


@pytest.mark.parametrize("scale", [0.0, 0.3], ids=["rigid", "scaled"])
@pytest.mark.parametrize("method", METHODS)
def test_positions_equal_core(
    humans: dict[str, Any], make_pose: Callable[..., Pose], method: Method, scale: float
) -> None:
    human = humans["game_engine"]
    matrix = UNEQUAL_SPACES
    inverse = np.linalg.inv(matrix)
    shape = (human.rest.astype(np.float64) - matrix[:3, 3]) @ inverse[:3, :3].T
    deformed = DeformedMesh(GpuMesh(shape.astype(np.float32), human.influences), human.skeleton)
    whole = solved_deformation(human, method, 3)
    plain = replace(whole, blend=None, mask=None, painted=None, factor=1.0)
    for number, deformation in enumerate((whole, plain, replace(plain, factor=0.0))):
        pose = make_pose(human.skeleton, number, 0.9, scale)
        found = deform_in(deformed, deformation, pose, matrix)
        expected, _ = deform(deformation, human.rest.astype(np.float64), None, pose)
        expected = expected @ inverse[:3, :3].T + inverse[:3, 3]
        assert np.abs(found - expected).max() / human.size <= TOLERANCE
        without = deform_in(deformed, replace(deformation, solved=None), pose, matrix)
        acts = deformation.factor > 0.0 or method != "COMPENSATED"
        assert (np.abs(found - without).max() > 0.2 * SIZE) == acts


def test_each_instance_has_its_own_weights(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    """Also where a list chooses some of them, and factors differ."""
    human = humans["game_engine"]
    at_rest = SkinAtRest(human.rest.astype(np.float64), human.influences, human.skeleton)
    deformation = Deformation(
        "COMPENSATED",
        human.influences,
        PublishedCompensation.of(at_rest),
        solved=solved_shapes(human.skeleton, human.influences, JOINTS, SIZE),
    )
    poses = [make_pose(human.skeleton, seed, 0.9) for seed in range(3)]
    shares = np.array([(1.0, 0.0), (0.5, 0.0), (0.2, 0.0)])
    given = GivenPoses(human.skeleton, 3, wanted_layout(deformation))
    given.upload(np.concatenate([pose.matrices for pose in poses]))
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton, 3)
    for chosen in (None, InstanceList(np.array([0, 2])).part(0, 3)):
        deformed.deform(deformation, given, given.groups[0], shares=shares, chosen=chosen)
        found = deformed.read_positions()
        for pose, (factor, _), moved in zip(poses, shares.tolist(), found, strict=True):
            rest = human.rest.astype(np.float64)
            expected, _ = deform(replace(deformation, factor=factor), rest, None, pose)
            assert np.abs(moved - expected).max() / human.size <= TOLERANCE


def test_they_cost_nothing_where_there_are_none(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    human = humans["game_engine"]
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    solved = solved_shapes(human.skeleton, human.influences, JOINTS, SIZE)
    none = replace(solved, blocks=())
    deformation = Deformation("LINEAR", human.influences, solved=none)
    pose = make_pose(human.skeleton, 0, 0.9)
    found = deform_in(deformed, deformation, pose)
    np.testing.assert_array_equal(
        found, deform_in(deformed, replace(deformation, solved=None), pose)
    )
    assert "shape_weights" not in deformed._posed


def limb_that_folds() -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, rig = build_limb()
    limb_with_shapes(obj, rig)
    return obj, rig


def test_copies_are_one_batch(addon: None) -> None:
    """Until another joint is left out on one of them."""
    pairs = [limb_that_folds()]
    for number in range(1, 3):
        obj, rig = (each.copy() for each in pairs[0])
        for each in (obj, rig):
            bpy.context.scene.collection.objects.link(each)
        obj.parent = obj.modifiers[0].object = rig
        rig.location.x = 2.0 * number
        pairs.append((obj, rig))
    for number, (_, rig) in enumerate(pairs):
        pose_arm(rig, 0.3 + 0.4 * number)
        rig.pose.bones["Hand"].rotation_euler.z = 0.8
    bpy.context.view_layer.update()
    for obj, _ in pairs:
        status_of(obj).binding = bind(obj)
    draw = Drawing([obj for obj, _ in pairs])
    found = draw()
    assert sizes(found) == [3]
    assert_as_if_alone(found)
    last = pairs[-1][0]
    moved = np.linalg.norm(positions(found)[last.name] - plain(last), axis=1).max()
    assert moved > 0.1 * DEPTH
    last.dq_compensation.shapes_left_out = "Lower"
    found = draw()
    assert sizes(found) == [1, 2]
    assert_as_if_alone(found)


@pytest.mark.parametrize("method", ["COMPENSATED", "LINEAR"])
def test_figures_that_play_takes_have_them(
    addon: None, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def build() -> tuple[bpy.types.Object, bpy.types.Object]:
        obj, rig = build_limb()
        obj.dq_compensation.method = method
        limb_with_shapes(obj, rig)
        return obj, rig

    scene = Scene(monkeypatch, build)
    for scene.frame in (1.0, 8.3, 14.0):
        scene.assert_as_in_core(scene.draw())
    with_shapes = scene.expected(14.0)
    scene.obj.dq_compensation.shapes_left_out = f"{ELBOW}, {WRIST}"
    assert np.abs(with_shapes - scene.expected(14.0)).max() > 0.1 * DEPTH


def test_spheres_of_figures_are_as_large_as_they_reach(addon: None) -> None:
    obj, _ = limb_that_folds()
    bpy.context.view_layer.update()
    member = member_of(obj, bind(obj), bpy.context.evaluated_depsgraph_get())
    mesh = CrowdMesh(member)
    solved = mesh.deformation.solved
    assert solved is not None
    assert solved.reach.max() >= 0.9 * DEPTH
    with_shapes = mesh.balls().radii
    mesh.deformation = replace(mesh.deformation, solved=None)
    grown = with_shapes - mesh.balls().radii
    assert 0.0 < grown.max() <= solved.reach.max() + 1e-9
