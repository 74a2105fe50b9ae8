"""Example poses on the human: what the artist made is what the character shows in that pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.pose import Pose
from dq_compensation.scene.binding import bind
from dq_compensation.scene.evaluation import Settings
from dq_compensation.scene.example_capture import capture, support_weights
from dq_compensation.scene.example_poses import example_placement
from human_model import Rig
from tests.blender.conftest import Human

ELBOW = {"default": "lowerarm01.L", "game_engine": "lowerarm_l", "cmu_mb": "LeftForeArm"}


def turn(human: Human, bone: str, degrees: float, axis: str = "X") -> None:
    """Rotate one bone, the others as they are."""
    pose_bone = human.armature_object.pose.bones[bone]
    pose_bone.rotation_mode = "QUATERNION"
    vector = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}[axis]
    pose_bone.rotation_quaternion = Quaternion(vector, np.radians(degrees))
    bpy.context.view_layer.update()


def settings_for(human: Human, base: str) -> Settings:
    chosen = human.mesh_object.dq_compensation
    chosen.method, chosen.example_base = "SPHERICAL_JOINT_BY_EXAMPLE", base
    bpy.context.view_layer.update()
    return Settings.of(human.mesh_object)


def bulged(human: Human, bone: str, height: float = 0.02) -> tuple[NDArray, NDArray]:
    """The character of now with a smooth bell pushed out along the normals, inside the support.

    Returns:
        the positions and the positions without it, both (n, 3), object space.
    """
    obj = human.mesh_object
    binding = bind(obj)
    plain = api.evaluate(obj).astype(np.float64)
    mesh = bpy.data.meshes.new("posed")
    mesh.from_pydata(plain.tolist(), (), human.arrays.faces.tolist())
    normals = np.zeros((len(plain), 3), np.float32)
    mesh.vertex_normals.foreach_get("vector", normals.ravel())
    bpy.data.meshes.remove(mesh)
    weights = support_weights(binding, binding.skeleton.names.index(bone))
    centre = plain[weights > 0].mean(axis=0)
    apart = np.linalg.norm(plain - centre, axis=1)
    bell = height * np.exp(-((apart / 0.08) ** 2)) * weights
    return plain + bell[:, None] * normals, plain


def add_example(human: Human, bone: str, name: str, wanted: NDArray) -> float:
    """Store an example of the pose of now; returns the error that remains, in metres."""
    obj, graph = human.mesh_object, bpy.context.evaluated_depsgraph_get()
    armature = human.armature_object.evaluated_get(graph)
    settings = Settings.of(obj)
    binding = bind(obj)
    index = binding.skeleton.names.index(bone)
    found = capture(binding, settings, obj.evaluated_get(graph), armature, wanted, index)
    pose = Pose.from_matrices(binding.pose_matrices(armature), binding.skeleton)
    direction, rotation = example_placement(index, pose, binding.skeleton, settings.limb_axis)
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name=name, from_mix=False)
    key.value, key.mute = 0.0, True
    points = binding.rest + found.offsets
    key.points.foreach_set("co", points.astype(np.float32).ravel())
    chosen = obj.dq_compensation
    if bone not in chosen.example_bones:
        chosen.example_bones.add().name = bone
    item = chosen.examples.add()
    item.name, item.bone, item.key = name, bone, key.name
    item.direction, item.rotation = direction, rotation
    bpy.context.view_layer.update()
    return found.error


def size_of(human: Human) -> float:
    return float(np.ptp(human.arrays.vertices, axis=0).max())


def largest(one: NDArray, other: NDArray) -> float:
    return float(np.linalg.norm(one - other, axis=1).max())


@pytest.mark.parametrize("base", ["SPHERICAL_JOINT", "COMPENSATED"])
@pytest.mark.parametrize("rig", ["default", "game_engine", "cmu_mb"])
def test_at_an_example_pose_the_surface_is_the_artists(
    addon: None, human_with_rig: Callable[[Rig], Human], rig: Rig, base: str
) -> None:
    human = human_with_rig(rig)
    settings_for(human, base)
    rest = api.evaluate(human.mesh_object)
    turn(human, ELBOW[rig], 100.0)
    wanted, plain = bulged(human, ELBOW[rig])
    assert largest(wanted, plain) > 0.01
    error = add_example(human, ELBOW[rig], "flexed", wanted)
    # What the artist made comes back to a ten-thousandth of the size: float32 offsets in a key.
    assert error < 1e-5 * size_of(human)
    assert largest(api.evaluate(human.mesh_object), wanted) < 1e-4 * size_of(human)
    turn(human, ELBOW[rig], 0.0)
    assert largest(api.evaluate(human.mesh_object), rest) < 1e-6 * size_of(human)


def test_between_poses_the_surface_goes_smoothly_and_never_beyond_the_examples(
    addon: None, human: Human
) -> None:
    bone = ELBOW["default"]
    settings_for(human, "SPHERICAL_JOINT")
    turn(human, bone, 100.0)
    wanted, plain = bulged(human, bone)
    add_example(human, bone, "flexed", wanted)
    most = largest(wanted, plain)
    heights: list[float] = []
    for degrees in np.linspace(0.0, 180.0, 13):
        turn(human, bone, float(degrees))
        with_example = api.evaluate(human.mesh_object)
        without = api.evaluate(human.mesh_object, method="SPHERICAL_JOINT")
        heights.append(largest(with_example, without))
    assert max(heights) <= 1.001 * most
    assert heights[0] < 1e-6
    rising = np.diff(heights[:7])
    assert rising.min() > 0.0
    assert rising.max() < 0.5 * most


def test_the_gpu_settings_and_the_muted_key_do_not_show_without_the_method(
    addon: None, human: Human
) -> None:
    bone = ELBOW["default"]
    settings_for(human, "SPHERICAL_JOINT")
    turn(human, bone, 90.0)
    wanted, plain = bulged(human, bone)
    add_example(human, bone, "flexed", wanted)
    other = api.evaluate(human.mesh_object, method="SPHERICAL_JOINT")
    assert largest(other, plain) < 1e-6 * size_of(human)


def test_examples_that_have_lost_their_bone_or_key_say_so_and_the_rest_acts(
    addon: None, human: Human
) -> None:
    bone = ELBOW["default"]
    settings_for(human, "SPHERICAL_JOINT")
    turn(human, bone, 100.0)
    wanted, _ = bulged(human, bone)
    add_example(human, bone, "flexed", wanted)
    turn(human, bone, 50.0)
    half, _ = bulged(human, bone, 0.005)
    add_example(human, bone, "half", half)
    chosen = human.mesh_object.dq_compensation
    chosen.examples[1].key = "gone"
    assert _problems(human) == (
        "The example pose half of Human has lost its shape key gone. Choose the key again, or "
        "remove the pose.",
    )
    turn(human, bone, 100.0)
    assert largest(api.evaluate(human.mesh_object), wanted) < 1e-4 * size_of(human)
    chosen.examples[0].bone = "tail"
    assert "belongs to the bone tail, which is not there" in " ".join(_problems(human))


def _problems(human: Human) -> Sequence[str]:
    return bind(human.mesh_object).examples("AUTO").problems
