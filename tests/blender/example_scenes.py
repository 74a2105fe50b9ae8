"""What tests of example poses share: bones turned, shapes with a bell, examples added."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Quaternion
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.examples import authoring
from dq_compensation.examples.authoring import bone_settings, give_shape
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.capture import support_weights
from dq_compensation.scene.settings.object_settings import Settings
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import character

ELBOW = {"default": "lowerarm01.L", "game_engine": "lowerarm_l", "cmu_mb": "LeftForeArm"}
SHOULDER = "upperarm01.L"
# At the poses of `add_examples`, between them and beyond: degrees of the elbow, about which axis,
# and of the shoulder.
IN_AND_BETWEEN = (
    (0.0, "X", 0.0),
    (50.0, "X", 60.0),
    (75.0, "X", 20.0),
    (100.0, "X", -70.0),
    (120.0, "X", -70.0),
    (40.0, "Y", 10.0),
    (60.0, "Z", 60.0),
)


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
    """The current character with a smooth bell pushed out along the normals, inside the support.

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
    weights = support_weights(binding, bone) >= 1.0
    centre = plain[weights].mean(axis=0)
    apart = np.linalg.norm(plain - centre, axis=1)
    bell = height * np.exp(-((apart / 0.08) ** 2)) * weights
    return plain + bell[:, None] * normals, plain


def add_example(human: Human, bone: str, name: str, wanted: NDArray) -> float:
    """An example of the current pose with a shape; returns the error that remains, in metres."""
    graph = bpy.context.evaluated_depsgraph_get()
    index, captured = authoring.add_example(human.mesh_object, bone, graph, name)
    found = give_shape(human.mesh_object, index, captured, wanted)
    bpy.context.view_layer.update()
    return found.error


def add_examples(human: Human, *, twists: bool = False) -> None:
    """Two or three poses of the elbow, one of the shoulder; at rest afterwards."""
    bone = ELBOW["default"]
    bone_settings(human.mesh_object, bone).twists = twists
    for degrees, axis in ((50.0, "X"), (100.0, "X"), (70.0, "Y"))[: 3 if twists else 2]:
        turn(human, bone, degrees, axis)
        wanted, _ = bulged(human, bone, 0.0002 * degrees)
        add_example(human, bone, f"{axis}{degrees:.0f}", wanted)
    turn(human, bone, 0.0)
    turn(human, SHOULDER, 60.0, "Z")
    wanted, _ = bulged(human, SHOULDER, 0.01)
    add_example(human, SHOULDER, "raised", wanted)
    turn(human, SHOULDER, 0.0)


def add_rows(human: Human, twists: bool = False) -> None:
    """Poses with linear weights: three of the elbow in a row, two rows of the shoulder."""
    bone = ELBOW["default"]
    bone_settings(human.mesh_object, bone).twists = twists
    for number, degrees in enumerate((45.0, 90.0, 125.0)):
        turn(human, bone, degrees)
        wanted, _ = bulged(human, bone, (0.02, -0.01, 0.015)[number])
        add_example(human, bone, f"X{degrees:.0f}", wanted)
    turn(human, bone, 0.0)
    bone_settings(human.mesh_object, SHOULDER).weights = "LINEAR"
    for degrees, axis in ((40.0, "Z"), (80.0, "Z"), (60.0, "X")):
        turn(human, SHOULDER, degrees, axis)
        wanted, _ = bulged(human, SHOULDER, 0.0002 * degrees)
        add_example(human, SHOULDER, f"{axis}{degrees:.0f}", wanted)
    turn(human, SHOULDER, 0.0)


def size_of(human: Human) -> float:
    return float(np.ptp(human.arrays.vertices, axis=0).max())


def largest(one: NDArray, other: NDArray) -> float:
    return float(np.linalg.norm(one - other, axis=1).max())


def flexing(human: Human, base: str = "SPHERICAL_JOINT", rig: str = "default") -> NDArray:
    """An example of the bent elbow, in whose pose the character is left; its shape, (n, 3)."""
    settings_for(human, base)
    turn(human, ELBOW[rig], 100.0)
    wanted, _ = bulged(human, ELBOW[rig])
    add_example(human, ELBOW[rig], "flexed", wanted)
    return wanted


def small_character() -> tuple[bpy.types.Object, bpy.types.Object, NDArray]:
    """A new file with the small character, enabled, in the pose of its only example.

    Returns:
        the mesh object, the armature object, and the example's shape, (n, 3).
    """
    obj, armature = character()
    settings = obj.dq_compensation
    settings.method, settings.example_base = "SPHERICAL_JOINT_BY_EXAMPLE", "SPHERICAL_JOINT"
    group = obj.vertex_groups.new(name="Support")
    group.add(range(len(obj.data.vertices)), 1.0, "REPLACE")
    bone_settings(obj, "Lower").support = "Support"
    bend(armature, 40.0)
    wanted = api.evaluate(obj).astype(np.float64)
    wanted[:, 2] += 0.08 * np.exp(-(((wanted[:, 0] - wanted[:, 0].mean()) / 0.3) ** 2))
    graph = bpy.context.evaluated_depsgraph_get()
    index, captured = authoring.add_example(obj, "Lower", graph, "bent")
    give_shape(obj, index, captured, wanted)
    bpy.context.view_layer.update()
    enable(obj)
    return obj, armature, wanted


def bend(armature: bpy.types.Object, degrees: float, bone: str = "Lower") -> None:
    """Turn a bone of the small character about Z."""
    pose_bone = armature.pose.bones[bone]
    pose_bone.rotation_mode = "QUATERNION"
    pose_bone.rotation_quaternion = Quaternion((0.0, 0.0, 1.0), np.radians(degrees))
    bpy.context.view_layer.update()
