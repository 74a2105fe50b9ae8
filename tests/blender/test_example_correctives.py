"""Corrective shape keys become example poses with the same look, and examples become correctives.

Distances are in parts of the character's size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.example_poses import ExampleError
from dq_compensation.core.pose import Pose
from dq_compensation.pipeline.correctives.corrective_baking import bake_correctives
from dq_compensation.pipeline.correctives.corrective_keys import (
    Drivers,
    TakenOver,
    examples_from_correctives,
)
from dq_compensation.pipeline.correctives.options import CorrectiveOptions
from dq_compensation.scene.binding.bind import bind
from human.model import Rig
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, enable
from tests.blender.example_scenes import (
    ELBOW,
    add_example,
    bulged,
    flexing,
    largest,
    settings_for,
    size_of,
    turn,
)

BONE = ELBOW["game_engine"]
# What `examples` promise; the solver of the capture ends at 2e-7.
TOLERANCE = 1e-5


@pytest.fixture
def arm(addon: None, body_with_rig: Callable[[Rig], Human]) -> Human:
    """The human with the smallest rig, by example on spherical joints."""
    human = body_with_rig("game_engine")
    settings_for(human, "SPHERICAL_JOINT")
    return human


def corrective(human: Human, name: str, height: float = 0.02) -> bpy.types.ShapeKey:
    """A key that swells the forearm, as an artist would have made it for Blender's modifier."""
    obj = human.mesh_object
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    key = obj.shape_key_add(name=name, from_mix=False)
    key.value = 0.0
    rest = human.arrays.vertices
    heads = human.armature_object.data.bones[BONE].head_local
    apart = np.linalg.norm(rest - np.array(heads), axis=1)
    points = rest.copy()
    points[:, 1] -= (height * np.exp(-((apart / 0.06) ** 2))).astype(np.float32)
    key.points.foreach_set("co", points.ravel())
    return key


def drive(key: bpy.types.ShapeKey, expression: str = "") -> Any:
    """A driver without variables."""
    curve = key.driver_add("value")
    while len(curve.modifiers):
        curve.modifiers.remove(curve.modifiers[0])
    curve.driver.type = "SCRIPTED" if expression else "AVERAGE"
    if expression:
        curve.driver.expression = expression
    return curve


def transform(curve: Any, human: Human, channel: str = "ROT_X", bone: str = BONE) -> Any:
    """Add a Transform Channel variable in local space, swing and twist."""
    variable = curve.driver.variables.new()
    variable.name, variable.type = "var", "TRANSFORMS"
    target = variable.targets[0]
    target.id, target.bone_target = human.armature_object, bone
    target.transform_type, target.transform_space = channel, "LOCAL_SPACE"
    target.rotation_mode = "SWING_TWIST_Y" if channel.startswith("ROT") else "AUTO"
    return target


def take_over(human: Human, drivers: Drivers = "MUTE") -> TakenOver:
    taken = examples_from_correctives(human.mesh_object, drivers=drivers)
    bpy.context.view_layer.update()
    return taken


def native(human: Human, degrees: float, axis: str = "X", preserve: bool = False) -> NDArray:
    """What Blender's own Armature modifier shows in a pose, with the driven keys."""
    human.mesh_object.modifiers["Armature"].use_deform_preserve_volume = preserve
    turn(human, BONE, degrees, axis)
    return human.evaluated_positions()


@pytest.mark.parametrize("preserve", [False, True])
@pytest.mark.parametrize("base", ["SPHERICAL_JOINT", "COMPENSATED"])
def test_in_the_pose_of_the_driver_the_look_is_what_blender_showed(
    arm: Human, base: str, preserve: bool
) -> None:
    settings_for(arm, base)
    transform(drive(corrective(arm, "Elbow 80"), "var / radians(80)"), arm)
    looked = native(arm, 80.0, preserve=preserve)
    turn(arm, BONE, 0.0)
    taken = take_over(arm)
    assert (taken.examples, taken.keys, taken.refused) == (("Elbow 80",), ("Elbow 80",), ())
    item = arm.mesh_object.dq_compensation.examples[0]
    assert item.bone == BONE
    turn(arm, BONE, 80.0)
    size = size_of(arm)
    assert largest(api.evaluate(arm.mesh_object), looked) < TOLERANCE * size
    assert largest(api.evaluate(arm.mesh_object, method=base), looked) > 100 * TOLERANCE * size
    turn(arm, BONE, 0.0)
    assert largest(api.evaluate(arm.mesh_object), arm.arrays.vertices) < 1e-6 * size


def _euler_channel(human: Human, key: bpy.types.ShapeKey) -> None:
    human.armature_object.pose.bones[BONE].rotation_mode = "XYZ"
    variable = drive(key, "var*2/pi").driver.variables.new()
    variable.name = "var"
    variable.targets[0].id = human.armature_object
    variable.targets[0].data_path = f'pose.bones["{BONE}"].rotation_euler[0]'


def _rotational_difference(human: Human, key: bpy.types.ShapeKey) -> None:
    bones = human.armature_object.data.bones
    parent = bones[BONE].parent
    apart = parent.matrix_local.to_quaternion().rotation_difference(
        bones[BONE].matrix_local.to_quaternion()
    )
    curve = drive(key, f"(var - {apart.angle:.6f}) * 2/pi")
    variable = curve.driver.variables.new()
    variable.name, variable.type = "var", "ROTATION_DIFF"
    for target, bone in zip(variable.targets, (BONE, parent.name), strict=True):
        target.id, target.bone_target = human.armature_object, bone


def _drawn_curve(human: Human, key: bpy.types.ShapeKey) -> None:
    curve = drive(key)
    transform(curve, human)
    points = curve.keyframe_points
    points.clear()
    points.add(3)
    radians = np.radians([0.0, 90.0, 180.0])
    points.foreach_set("co", np.stack((radians, (0.0, 1.0, 0.0)), axis=1).ravel())
    curve.update()


@pytest.mark.parametrize("driver", [_euler_channel, _drawn_curve])
def test_the_pose_is_found_however_the_driver_reads_it(arm: Human, driver: Callable) -> None:
    driver(arm, corrective(arm, "Elbow 90"))
    taken = take_over(arm)
    assert taken.examples == ("Elbow 90",)
    arm.armature_object.pose.bones[BONE].rotation_mode = "QUATERNION"
    turn(arm, BONE, 90.0)
    assert alphas(arm) == pytest.approx([1.0], abs=1e-4)


def test_a_rotational_difference_is_followed_by_the_lower_bone(arm: Human) -> None:
    _rotational_difference(arm, corrective(arm, "Bent"))
    taken = take_over(arm)
    assert taken.examples == ("Bent",)
    assert arm.mesh_object.dq_compensation.examples[0].bone == BONE


def alphas(human: Human) -> NDArray[np.floating]:
    """How much of each example acts now."""
    binding = bind(human.mesh_object)
    graph = bpy.context.evaluated_depsgraph_get()
    matrices = binding.pose_matrices(human.armature_object.evaluated_get(graph))
    return binding.examples().poses.alphas(Pose.from_matrices(matrices, binding.skeleton))


def test_two_keys_of_a_bone_that_are_on_together_make_the_look_together(arm: Human) -> None:
    for degrees in (45, 90):
        key = corrective(arm, f"Elbow {degrees}", 0.01)
        transform(drive(key, f"min(1, var / radians({degrees}))"), arm)
    looked = {degrees: native(arm, degrees) for degrees in (45.0, 90.0)}
    taken = take_over(arm)
    assert taken.examples == ("Elbow 45", "Elbow 90")
    for degrees, look in looked.items():
        turn(arm, BONE, degrees)
        assert largest(api.evaluate(arm.mesh_object), look) < TOLERANCE * size_of(arm)


def test_a_twist_is_distinguished_by_the_full_rotation(arm: Human) -> None:
    transform(drive(corrective(arm, "Twisted"), "var / radians(70)"), arm, "ROT_Y")
    looked = native(arm, 70.0, "Y")
    assert take_over(arm).examples == ("Twisted",)
    assert arm.mesh_object.dq_compensation.example_bones[BONE].twists
    turn(arm, BONE, 70.0, "Y")
    assert largest(api.evaluate(arm.mesh_object), looked) < TOLERANCE * size_of(arm)


@pytest.mark.parametrize("drivers", ["MUTE", "REMOVE", "KEEP"])
def test_the_correctives_are_muted_removed_or_kept_as_asked(arm: Human, drivers: Drivers) -> None:
    transform(drive(corrective(arm, "Elbow 80"), "var / radians(80)"), arm)
    turn(arm, BONE, 40.0)
    take_over(arm, drivers)
    keys = arm.mesh_object.data.shape_keys
    assert ("Elbow 80" in keys.key_blocks) == (drivers != "REMOVE")
    turn(arm, BONE, 80.0)
    if drivers == "REMOVE":
        assert len(keys.animation_data.drivers) == 0
    else:
        assert keys.animation_data.drivers[0].mute == (drivers == "MUTE")
        value = (
            arm.mesh_object.evaluated_get(bpy.context.evaluated_depsgraph_get())
            .data.shape_keys.key_blocks["Elbow 80"]
            .value
        )
        assert value == pytest.approx(0.0 if drivers == "MUTE" else 1.0, abs=1e-5)


def test_what_is_not_recognised_is_refused_by_name_and_the_rest_taken(arm: Human) -> None:
    bones = arm.armature_object.pose.bones
    transform(drive(corrective(arm, "Good"), "var / radians(80)"), arm)
    transform(drive(corrective(arm, "Moved")), arm, "LOC_X")
    transform(drive(corrective(arm, "Half"), "0.4 * sin(var)"), arm)
    transform(drive(corrective(arm, "On"), "0.5 + var"), arm)
    curve = drive(corrective(arm, "Both"))
    transform(curve, arm)
    transform(curve, arm, bone=bones[BONE].parent.name)
    drive(corrective(arm, "Nothing"), "frame / 10")
    channel = drive(corrective(arm, "Channel")).driver.variables.new()
    channel.targets[0].id = arm.armature_object
    channel.targets[0].data_path = f'pose.bones["{BONE}"].rotation_euler[0]'
    taken = take_over(arm)
    assert taken.keys == ("Good",)
    message = " ".join(taken.refused)
    for part in (
        f"Moved is driven by the location of {BONE}",
        f"Half never gets to 1 by turning {BONE}: to 0.4 at most",
        "On is on at rest already, by 0.5",
        f"Both is driven by several bones: {BONE}, {bones[BONE].parent.name}",
        "The driver of Nothing reads nothing",
        f"Channel is driven by rotation_euler of {BONE}, whose rotation mode is QUATERNION",
    ):
        assert part in message


def test_without_any_that_serves_nothing_changes(arm: Human) -> None:
    with pytest.raises(ExampleError, match="Human has no shape keys with drivers"):
        examples_from_correctives(arm.mesh_object)
    transform(drive(corrective(arm, "Moved")), arm, "LOC_X")
    with pytest.raises(ExampleError, match="Moved is driven by the location"):
        examples_from_correctives(arm.mesh_object)
    obj = arm.mesh_object
    assert len(obj.data.shape_keys.key_blocks) == 2
    assert len(obj.dq_compensation.examples) == len(obj.dq_compensation.example_bones) == 0
    assert [scene.name for scene in bpy.data.scenes] == ["Scene"]


def bake(human: Human, target: str) -> Any:
    options = CorrectiveOptions(directions="EXAMPLES", target=target, onto="COPY")
    steps = bake_correctives([human.mesh_object], options)
    try:
        while True:
            next(steps)
    except StopIteration as ended:
        return ended.value[0]


@pytest.mark.parametrize("twists", [False, True])
@pytest.mark.parametrize("target", ["LINEAR", "DUAL_QUATERNION"])
def test_written_out_as_correctives_blenders_own_modifier_shows_the_examples(
    arm: Human, target: str, twists: bool
) -> None:
    poses = [("X", 50.0), ("X", 100.0), ("X", -40.0)] + twists * [("Y", 60.0)]
    for axis, degrees in poses:
        turn(arm, BONE, degrees, axis)
        wanted, _ = bulged(arm, BONE, 0.0002 * abs(degrees))
        add_example(arm, BONE, f"{axis}{degrees:g}", wanted)
        arm.mesh_object.dq_compensation.example_bones[BONE].twists = twists
    turn(arm, BONE, 0.0)
    report = bake(arm, target)
    copy = bpy.data.objects[report.onto_name]
    assert len(report.key_names) == len(poses)
    for axis, degrees in [*poses, ("X", 75.0), ("Z", 40.0), ("X", 150.0)]:
        turn(arm, BONE, degrees, axis)
        shown = Human(copy, arm.armature_object, arm.arrays).evaluated_positions()
        graph = bpy.context.evaluated_depsgraph_get()
        blocks = copy.evaluated_get(graph).data.shape_keys.key_blocks
        # Numbers in drivers' texts have six places.
        values = [blocks[name].value for name in report.key_names]
        assert values == pytest.approx(alphas(arm).tolist(), abs=2e-3)
        if (axis, degrees) in poses:
            wanted = api.evaluate(arm.mesh_object)
            assert largest(shown, wanted) < 1e-4 * size_of(arm)


def test_there_and_back_again_the_look_in_the_poses_is_the_same(arm: Human) -> None:
    wanted = flexing(arm, rig="game_engine")
    turn(arm, BONE, 0.0)
    report = bake(arm, "LINEAR")
    copy = bpy.data.objects[report.onto_name]
    for index in reversed(range(len(copy.dq_compensation.examples))):
        copy.dq_compensation.examples.remove(index)
    taken = examples_from_correctives(copy, report.key_names, "REMOVE")
    assert taken.keys == report.key_names
    enable(copy)
    check()
    turn(arm, BONE, 100.0)
    assert largest(api.evaluate(copy), wanted) < 1e-4 * size_of(arm)


def test_the_operators_take_over_and_write_out(arm: Human) -> None:
    obj = arm.mesh_object
    enable(obj)
    assert not bpy.ops.dqc.examples_from_correctives.poll()
    transform(drive(corrective(arm, "Elbow 80"), "var / radians(80)"), arm)
    transform(drive(corrective(arm, "Moved")), arm, "LOC_X")
    looked = native_of_copy(arm, 80.0)
    assert bpy.ops.dqc.examples_from_correctives(drivers="MUTE") == {"FINISHED"}
    check()
    # The key that was refused stays on as it was: the bone has not moved, so it is at 0.
    assert largest(arm.evaluated_positions(), looked) < 1e-4 * size_of(arm)
    assert bpy.ops.dqc.examples_to_correctives(target="LINEAR", onto="COPY") == {"FINISHED"}
    copy = bpy.data.objects["Human Baked"]
    shown = Human(copy, arm.armature_object, arm.arrays).evaluated_positions()
    assert largest(shown, looked) < 1e-4 * size_of(arm)


def native_of_copy(human: Human, degrees: float) -> NDArray:
    """What Blender's own Armature modifier makes of the enabled character in a pose."""
    turn(human, BONE, degrees)
    modifiers = human.mesh_object.modifiers
    # By name: modifiers that are not needed meanwhile are removed.
    shown = {each.name: each.show_viewport for each in modifiers}
    for each in modifiers:
        each.show_viewport = each.name == "Armature"
    positions = human.evaluated_positions()
    for each in modifiers:
        each.show_viewport = shown.get(each.name, each.show_viewport)
    return positions


def test_examples_are_not_written_out_by_another_method(arm: Human) -> None:
    flexing(arm, rig="game_engine")
    arm.mesh_object.dq_compensation.method = "COMPENSATED"
    with pytest.raises(RuntimeError, match="Choose the method By Example"):
        bpy.ops.dqc.examples_to_correctives()
    assert len(bpy.data.objects) == 2
