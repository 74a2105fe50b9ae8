"""`core` against the deformation that Blender's own Armature modifier evaluates.

Distances are in parts of the object's size, its largest extent at rest. The modifier computes in
float32 from float32 bone matrices through chains of up to 15 bones: that explains 1e-6; a vertex
that goes elsewhere is wrong by 1e-3 and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Quaternion, Vector
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, Method, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from human.model import RIGS, HumanArrays, Rig, build_human, load_human_arrays
from human.poses import apply_pose, random_pose
from tests.blender.scene_builders import evaluated_positions

RIGID_TOLERANCE = 1e-5
SCALED_TOLERANCE = 1e-4
POSES_WITHIN_LIMITS = 6
WILD_POSES = 3
SCALED_POSES = 2

METHODS: tuple[Method, ...] = ("LINEAR", "DUAL_QUATERNION")
Scaling = Literal["uniform", "non-uniform", "negative"]


@dataclass(frozen=True, eq=False)
class Subject:
    """The human in Blender, and what `core` needs to know of it."""

    rig: Rig
    mesh_object: bpy.types.Object
    armature_object: bpy.types.Object
    positions: NDArray[np.float64]
    influences: Influences
    skeleton: Skeleton

    def largest_error(self, method: Method) -> float:
        """The largest distance between `core` and the modifier, in parts of the object's size."""
        expected = self.blender_positions(preserve_volume=method == "DUAL_QUATERNION")
        to_armature = np.array(
            self.armature_object.matrix_world.inverted() @ self.mesh_object.matrix_world
        )
        inside = self.positions @ to_armature[:3, :3].T + to_armature[:3, 3]
        pose = Pose.from_matrices(self._matrices(), self.skeleton)
        deformed, _ = deform(Deformation(method, self.influences), inside, None, pose)
        back = np.linalg.inv(to_armature)
        deformed = deformed @ back[:3, :3].T + back[:3, 3]
        size = np.ptp(self.positions, axis=0).max()
        return float(np.linalg.norm(deformed - expected, axis=1).max() / size)

    def blender_positions(self, preserve_volume: bool) -> NDArray[np.float32]:
        """Shape (n, 3), object space: what the Armature modifier makes of the body now."""
        self.mesh_object.modifiers["Armature"].use_deform_preserve_volume = preserve_volume
        bpy.context.view_layer.update()
        return evaluated_positions(self.mesh_object)

    def _matrices(self) -> NDArray[np.float64]:
        depsgraph = bpy.context.evaluated_depsgraph_get()
        bones = self.armature_object.evaluated_get(depsgraph).pose.bones
        columns = np.empty(16 * len(bones), np.float32)
        bones.foreach_get("matrix_channel", columns)
        matrices = columns.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
        places = {bone.name: place for place, bone in enumerate(bones)}
        return matrices[[places[name] for name in self.skeleton.names]]


def _skeleton(armature: bpy.types.Armature, arrays: HumanArrays) -> Skeleton:
    bones = [armature.bones[name] for name in arrays.names]
    return Skeleton(
        arrays.names,
        arrays.parents.astype(np.int32),
        np.array([bone.matrix_local for bone in bones], dtype=np.float64),
        np.array([bone.tail_local for bone in bones], dtype=np.float64),
    )


@pytest.fixture(scope="module", params=RIGS)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    rig: Rig = request.param
    mesh_object, armature_object = build_human(rig)
    arrays = load_human_arrays(rig)
    influences = Influences.from_triples(
        arrays.weight_vertex, arrays.weight_bone, arrays.weight, len(arrays.vertices)
    )
    yield Subject(
        rig,
        mesh_object,
        armature_object,
        arrays.vertices.astype(np.float64),
        influences,
        _skeleton(armature_object.data, arrays),
    )
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.fixture(autouse=True)
def at_rest(subject: Subject) -> None:
    apply_pose(subject.armature_object, {})
    subject.mesh_object.matrix_world = Matrix()
    subject.armature_object.matrix_world = Matrix()


def test_the_default_rig_has_vertices_with_nine_influences(subject: Subject) -> None:
    assert subject.influences.width == {"default": 9}.get(subject.rig, subject.influences.width)
    assert subject.influences.counts().min() >= 1


@pytest.mark.parametrize("method", METHODS)
def test_rest_pose_stays(subject: Subject, method: Method) -> None:
    assert subject.largest_error(method) <= 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_poses_within_anatomical_limits(subject: Subject, method: Method) -> None:
    rng = np.random.default_rng(2020)
    errors = []
    for _ in range(POSES_WITHIN_LIMITS):
        apply_pose(subject.armature_object, random_pose(rng, subject.rig))
        errors.append(subject.largest_error(method))
    assert max(errors) <= RIGID_TOLERANCE


@pytest.mark.parametrize("method", METHODS)
def test_every_bone_turned_anyhow(subject: Subject, method: Method) -> None:
    rng = np.random.default_rng(2005)
    errors = []
    for _ in range(WILD_POSES):
        apply_pose(subject.armature_object, random_pose(rng, subject.rig, wild=True))
        errors.append(subject.largest_error(method))
    assert max(errors) <= RIGID_TOLERANCE


def _scales(rng: np.random.Generator, scaling: Scaling) -> Vector:
    if scaling == "uniform":
        return Vector([rng.uniform(0.8, 1.25)] * 3)
    scale = Vector(rng.uniform(0.75, 1.3, 3))
    if scaling == "negative" and rng.random() < 0.15:
        scale[int(rng.integers(3))] *= -1.0
    return scale


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scaling", ["uniform", "non-uniform", "negative"])
def test_scaled_bones(subject: Subject, method: Method, scaling: Scaling) -> None:
    """Scales are inherited through the chains, so that bones get sheared too."""
    rng = np.random.default_rng(2008)
    errors = []
    for _ in range(SCALED_POSES):
        apply_pose(subject.armature_object, random_pose(rng, subject.rig))
        for bone in subject.armature_object.pose.bones:
            bone.scale = _scales(rng, scaling)
            # A bone that is mirrored along Y and only twists is turned by exactly 180 degrees
            # against its parent: then rounding decides which way round Blender blends them.
            bone.rotation_quaternion @= Euler(rng.uniform(-0.05, 0.05, 3)).to_quaternion()
        errors.append(subject.largest_error(method))
    assert max(errors) <= SCALED_TOLERANCE


@pytest.mark.parametrize("method", METHODS)
def test_one_bone_scaled_to_nothing(subject: Subject, method: Method) -> None:
    rng = np.random.default_rng(7)
    apply_pose(subject.armature_object, random_pose(rng, subject.rig))
    name = {"default": "finger2-2.L", "game_engine": "index_02_l", "cmu_mb": "LeftHand"}
    subject.armature_object.pose.bones[name[subject.rig]].scale = (0.0, 0.0, 0.0)
    assert subject.largest_error(method) <= SCALED_TOLERANCE


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mirrored", [False, True], ids=["moved and stretched", "mirrored"])
def test_object_and_armature_with_different_transforms(
    subject: Subject, method: Method, mirrored: bool
) -> None:
    rng = np.random.default_rng(11)
    apply_pose(subject.armature_object, random_pose(rng, subject.rig))
    subject.armature_object.matrix_world = Matrix.LocRotScale(
        Vector((3.0, -1.0, 0.5)), Euler((0.3, -0.7, 1.9)), Vector((1.2, 0.9, 1.1))
    )
    subject.mesh_object.matrix_world = Matrix.LocRotScale(
        Vector((2.5, -0.6, 0.9)),
        Quaternion((0.8, 0.1, -0.5, 0.3)).normalized(),
        Vector((-0.8 if mirrored else 0.8, 1.1, 0.7)),
    )
    bpy.context.view_layer.update()
    assert subject.largest_error(method) <= RIGID_TOLERANCE


def test_preserve_volume_and_plain_armature_are_distinguished(subject: Subject) -> None:
    """Guards the comparison itself: the two methods differ by far more than the tolerance."""
    apply_pose(subject.armature_object, random_pose(np.random.default_rng(3), subject.rig))
    preserved = subject.blender_positions(preserve_volume=True)
    plain = subject.blender_positions(preserve_volume=False)
    assert np.abs(preserved - plain).max() > 100 * RIGID_TOLERANCE
    assert np.abs(plain - subject.positions).max() > 0.1
