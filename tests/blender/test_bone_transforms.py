"""Bones scaled and turned anyhow: `core`, the node modifier and Blender's Preserve Volume agree.

The bones point nearly along -Y, where Blender rounds rest matrices most: they are 7e-5 off
orthonormal. Blender finds a scale in every pose then, and its rigid parts are off by as much: its
positions by that times the distance from the armature's origin, 3e-5 here. Distances are in parts
of the object's size; 1e-4 is what all evaluators promise. A bone that is split otherwise than by
Blender moves its vertices by more than 1e-3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix
from numpy.typing import NDArray

import dq_compensation
from dq_compensation.core.deform import METHODS
from dq_compensation.modifier.base import base_for
from dq_compensation.modifier.installation import install, uninstall
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from tests.blender.scene_builders import add_mesh, edit_mode, evaluated_positions, link, new_file
from tests.replaced_functions import replace_everywhere

TOLERANCE = 1e-4
POSES = 6
BONE_LENGTH = 0.25
DIRECTIONS = np.array(
    [
        (0.0033, -0.9939, 0.1102),
        (0.1101, -0.9939, 0.0069),
        (-0.1098, -0.9939, -0.0106),
        (0.0123, -0.9939, -0.1096),
        (0.0083, -0.9942, -0.1069),
    ]
)
VERTICES_PER_BONE = 40
# One pose scales these axes of one bone to nothing.
NOTHING = {"nothing": "XYZ", "no X": "X", "no Y": "Y", "a line": "XZ"}
TRANSFORMS = ("turned", "quarter turn", "uniform", "sheared", "mirrored", *NOTHING)


@dataclass(frozen=True, eq=False)
class Character:
    """Points around a chain of five bones, moved by the nearest bone and its neighbours."""

    obj: bpy.types.Object
    armature: bpy.types.Object
    binding: Binding

    def by_blender(self) -> NDArray[np.float32]:
        """Preserve Volume."""
        return evaluated_positions(self.obj)

    def by_nodes(self) -> NDArray[np.float32]:
        """The node modifier on its base, as it is installed."""
        return evaluated_positions(self.obj)

    def by_core(self, settings: Settings) -> NDArray[np.float32]:
        depsgraph = bpy.context.evaluated_depsgraph_get()
        mesh_object, armature = (o.evaluated_get(depsgraph) for o in (self.obj, self.armature))
        return evaluate(self.binding, settings, mesh_object, armature)

    def distance(self, one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
        size = np.ptp(self.binding.rest, axis=0).max()
        return float(np.linalg.norm(one - other, axis=1).max() / size)

    def pose(self, transform: str, rng: np.random.Generator) -> None:
        """Turn and move every bone, and scale all of them or one."""
        bones = self.armature.pose.bones
        most = 0.01 if transform == "quarter turn" else 0.8
        for bone in bones:
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = Euler(rng.uniform(-most, most, 3)).to_quaternion()
            bone.location = rng.uniform(-0.05, 0.05, 3)
            scale = np.ones(3)
            if transform == "uniform":
                scale[:] = rng.uniform(0.8, 1.25)
            elif transform in ("sheared", "mirrored"):
                scale = rng.uniform(0.75, 1.3, 3)
                scale[rng.integers(3)] *= -1.0 if transform == "mirrored" else 1.0
            bone.scale = scale
        if transform in NOTHING:
            chosen = bones[int(rng.integers(len(bones)))]
            chosen.scale = [float(axis not in NOTHING[transform]) for axis in "XYZ"]
        if transform == "quarter turn":  # about the armature's Y, where Euler angles lock
            turn = Matrix.Rotation(np.pi / 2, 4, "Y")
            bones[0].matrix = turn @ bones[0].bone.matrix_local @ bones[0].matrix_basis


@pytest.fixture(scope="module")
def character() -> Iterator[Character]:
    new_file()
    dq_compensation.register()
    rng = np.random.default_rng(3)
    armature = link(bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig")))
    points, end = [], np.array((0.7, 0.3, 1.0))
    with edit_mode(armature):
        for number, direction in enumerate(DIRECTIONS):
            bone = armature.data.edit_bones.new(f"Bone {number}")
            bone.head, bone.tail = end, end + BONE_LENGTH * direction
            bone.roll = rng.uniform(-3.0, 3.0)
            bone.parent = armature.data.edit_bones[number - 1] if number else None
            along = rng.uniform(0.0, BONE_LENGTH, (VERTICES_PER_BONE, 1)) * direction
            points.append(end + along + 0.05 * rng.normal(size=along.shape))
            end = end + BONE_LENGTH * direction
    obj = add_mesh(np.concatenate(points).tolist())
    groups = [obj.vertex_groups.new(name=bone.name) for bone in armature.data.bones]
    for vertex in range(len(obj.data.vertices)):
        nearest = vertex // VERTICES_PER_BONE
        for group in groups[max(0, nearest - 1) : nearest + 2]:
            group.add([vertex], float(rng.uniform(0.05, 1.0)), "REPLACE")
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object, modifier.use_deform_preserve_volume = armature, True
    bpy.context.view_layer.update()
    yield Character(obj, armature, bind(obj))
    dq_compensation.unregister()


def test_blender_holds_the_rest_bones_off_square(character: Character) -> None:
    rest = np.array([bone.matrix_local.to_3x3() for bone in character.armature.data.bones])
    assert np.abs(rest.transpose(0, 2, 1) @ rest - np.eye(3)).max() > 3e-5


@pytest.mark.parametrize("transform", TRANSFORMS[: TRANSFORMS.index("no X")])
def test_core_equals_preserve_volume(character: Character, transform: str) -> None:
    """Rounding decides what Blender does with a bone that lost one or two of its axes."""
    rng = np.random.default_rng(2008)
    for _ in range(POSES):
        character.pose(transform, rng)
        found = character.by_blender()
        expected = character.by_core(Settings(acting_method="DUAL_QUATERNION", curve="FITTED"))
        assert character.distance(found, expected) <= TOLERANCE


@pytest.fixture(scope="module", params=[*METHODS, "MEASURED", "MEASURED on Preserve Volume"])
def installed(request: pytest.FixtureRequest, character: Character) -> Iterator[Settings]:
    """The settings; but for the last one, our own tree computes the whole deformation."""
    method, curve = request.param, "FITTED"
    if method not in METHODS:
        method, curve = "COMPENSATED", "MEASURED"
    settings = Settings(acting_method=method, curve=curve)
    base = "OWN" if request.param in (*METHODS, "MEASURED") else "ARMATURE"
    with pytest.MonkeyPatch.context() as patch:
        replace_everywhere(patch, base_for, lambda *_args, **_options: base)
        install(SkinnedObject(character.obj), character.binding, settings)
    yield settings
    uninstall(SkinnedObject(character.obj))
    character.obj.modifiers["Armature"].show_viewport = True


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_nodes_equal_core(
    character: Character, installed: Settings, transform: str, request: pytest.FixtureRequest
) -> None:
    """Rounding decides what Blender does with a bone that lost one or two of its axes."""
    on_blenders = "Preserve Volume" in request.node.callspec.params["installed"]
    if on_blenders and transform in TRANSFORMS[TRANSFORMS.index("no X") :]:
        pytest.skip("Blender's own result differs there")
    rng = np.random.default_rng(2008)
    for _ in range(POSES):
        character.pose(transform, rng)
        found = character.by_nodes()
        assert character.distance(found, character.by_core(installed)) <= TOLERANCE
