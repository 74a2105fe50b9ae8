"""Example poses in files: saved, linked, duplicated, undone, baked and rendered.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.example_poses import ExampleError
from dq_compensation.examples.authoring import add_example
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.stack import armature_modifier
from human.model import Rig
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import (
    check,
    disable,
    distance,
    enable,
    error,
    rest_of,
    without_addon,
)
from tests.blender.example_scenes import ELBOW, bend, flexing, size_of, small_character, turn
from tests.blender.scene_builders import evaluated_positions, linked_copy, new_file

TOLERANCE = 1e-4

pytestmark = pytest.mark.usefixtures("addon")


def save(path: Path) -> str:
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return str(path)


@pytest.mark.parametrize("base", ["SPHERICAL_JOINT", "COMPENSATED"])
def test_a_saved_file_shows_the_examples_with_and_without_the_addon(
    body_with_rig: Callable[[Rig], Human], tmp_path: Path, base: str
) -> None:
    human = body_with_rig("game_engine")
    wanted, size = flexing(human, base, "game_engine"), size_of(human)
    enable(human.mesh_object)
    plain = api.evaluate(human.mesh_object, method="SPHERICAL_JOINT")
    assert distance(plain, wanted, size) > 100 * TOLERANCE
    file = save(tmp_path / "flexed.blend")
    assert distance(np.array(without_addon(Path(file), "shown('Human')")), wanted, size) < TOLERANCE
    new_file()
    bpy.ops.wm.open_mainfile(filepath=file)
    obj = bpy.data.objects["Human"]
    assert [item.name for item in obj.dq_compensation.examples] == ["flexed"]
    assert distance(api.evaluate(obj), wanted, size) < TOLERANCE
    assert error(obj) < TOLERANCE
    check()
    assert problem_of(obj) is None
    assert error(obj) < TOLERANCE


def test_undo_and_redo_bring_an_example_and_its_key_back() -> None:
    obj, armature, wanted = small_character()
    bpy.context.preferences.edit.use_global_undo = True
    bend(armature, -60.0)
    bpy.ops.ed.undo_push(message="Before")
    add_example(obj, "Lower", bpy.context.evaluated_depsgraph_get(), "other way")
    bpy.ops.ed.undo_push(message="Added")

    def keys() -> list[str]:
        return [key.name for key in bpy.data.meshes["Body"].shape_keys.key_blocks]

    both = keys()
    bpy.ops.ed.undo()
    check()
    obj = bpy.data.objects["Body"]
    assert [item.name for item in obj.dq_compensation.examples] == ["bent"]
    assert keys() == both[:-1]
    assert error(obj) < TOLERANCE
    bpy.ops.ed.redo()
    check()
    obj = bpy.data.objects["Body"]
    assert [item.name for item in obj.dq_compensation.examples] == ["bent", "other way"]
    assert keys() == both
    assert error(obj) < TOLERANCE
    bend(bpy.data.objects["Rig"], 40.0)
    assert distance(evaluated_positions(obj), wanted) < TOLERANCE


def test_a_duplicate_has_examples_of_its_own() -> None:
    obj, armature, wanted = small_character()
    twin = linked_copy(obj, own_data=True)
    check()
    assert distance(evaluated_positions(twin), wanted) < TOLERANCE
    obj.dq_compensation.examples[0].factor = 0.0
    check()
    assert distance(evaluated_positions(obj), wanted) > 0.03
    assert distance(evaluated_positions(twin), wanted) < TOLERANCE
    bend(armature, 30.0)
    assert error(obj) < TOLERANCE
    assert error(twin) < TOLERANCE


def test_a_linked_duplicate_shows_the_examples_and_cannot_change_them() -> None:
    obj, armature, wanted = small_character()
    twin = linked_copy(obj)
    check()
    assert distance(evaluated_positions(twin), wanted) < TOLERANCE
    assert distance(evaluated_positions(obj), wanted) < TOLERANCE
    bend(armature, 30.0)
    assert error(obj) < TOLERANCE
    assert error(twin) < TOLERANCE
    with pytest.raises(ExampleError, match="2 objects share the mesh of Body"):
        add_example(obj, "Lower", bpy.context.evaluated_depsgraph_get())
    assert len(obj.data.shape_keys.key_blocks) == 2


def test_linked_from_another_file_the_examples_show_and_are_not_changed(tmp_path: Path) -> None:
    _, _, wanted = small_character()
    file = save(tmp_path / "library.blend")
    new_file()
    with bpy.data.libraries.load(file, link=True) as (source, target):
        target.objects = list(source.objects)
    for linked in target.objects:
        if linked.name in {"Body", "Rig"}:
            bpy.context.scene.collection.objects.link(linked)
    body = bpy.data.objects["Body"]
    check()
    assert body.library is not None
    assert distance(evaluated_positions(body), wanted) < TOLERANCE
    assert distance(api.evaluate(body), wanted) < TOLERANCE
    with pytest.raises(ExampleError, match="linked from another file"):
        add_example(body, "Lower", bpy.context.evaluated_depsgraph_get())


@pytest.mark.parametrize("target", ["LINEAR", "DUAL_QUATERNION"])
def test_a_baked_pose_has_what_the_examples_add(target: str) -> None:
    obj, _, wanted = small_character()
    report = api.bake_pose(obj, "Baked", target=target)
    assert report.unreached == 0
    disable(obj)
    armature_modifier(obj).use_deform_preserve_volume = target == "DUAL_QUATERNION"
    bpy.context.view_layer.update()
    assert distance(evaluated_positions(obj), wanted) > 0.03
    obj.data.shape_keys.key_blocks["Baked"].value = 1.0
    assert distance(evaluated_positions(obj), wanted) < TOLERANCE


class _Recorder(bpy.types.RenderEngine):
    """A render engine whose picture is what it is given to draw."""

    bl_idname = "DQC_RECORDER"
    bl_label = "Recorder"
    seen: dict[str, NDArray[np.float32]] = {}  # noqa: RUF012 - Blender makes the instances

    def render(self, depsgraph: bpy.types.Depsgraph | None) -> None:
        """Keep the vertices of every mesh."""
        assert depsgraph is not None
        for instance in depsgraph.object_instances:
            if instance.object.type == "MESH":
                self.seen[instance.object.name] = rest_of(instance.object)


def test_a_render_shows_the_examples() -> None:
    obj, armature, wanted = small_character()
    scene = bpy.context.scene
    armature.pose.bones["Lower"].keyframe_insert("rotation_quaternion", frame=10)
    bend(armature, 0.0)
    armature.pose.bones["Lower"].keyframe_insert("rotation_quaternion", frame=1)
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.resolution_x = scene.render.resolution_y = 16
    bpy.utils.register_class(_Recorder)
    try:
        scene.render.engine = _Recorder.bl_idname
        for frame, shape in ((1, rest_of(obj)), (10, wanted)):
            scene.frame_set(frame)
            _Recorder.seen.clear()
            bpy.ops.render.render()
            assert distance(_Recorder.seen["Body"], shape) < TOLERANCE
    finally:
        bpy.utils.unregister_class(_Recorder)


def test_wherever_the_bone_points_no_vertex_goes_farther_than_the_largest_offset(
    body_with_rig: Callable[[Rig], Human],
) -> None:
    human = body_with_rig("game_engine")
    obj, bone = human.mesh_object, ELBOW["game_engine"]
    flexing(human, rig="game_engine")
    offsets = bind(obj).shape_keys.offsets[1]
    longest = float(np.linalg.norm(offsets, axis=1).max())
    assert longest > 0.01
    rng = np.random.default_rng(5)
    acting = 0
    for axis in rng.normal(size=(12, 3)):
        turn(human, bone, float(rng.uniform(20.0, 180.0)))
        pose_bone = human.armature_object.pose.bones[bone]
        pose_bone.rotation_quaternion = (float(rng.normal()), *axis.tolist())
        bpy.context.view_layer.update()
        moved = api.evaluate(obj) - api.evaluate(obj, method="SPHERICAL_JOINT")
        furthest = float(np.linalg.norm(moved, axis=1).max())
        acting += furthest > 0.1 * longest
        # What skinning does to an offset is a rotation; 1e-6 metres are float32's.
        assert furthest <= longest + 1e-6
    assert acting >= 3
