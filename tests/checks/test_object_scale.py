"""Unapplied scale is found, and applying it moves nothing: in no frame, and no child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation import api
from dq_compensation.checks.animation_curves import bone_curves, played_actions
from dq_compensation.checks.issue import FixError
from dq_compensation.checks.object_scale import CHECK
from dq_compensation.lifecycle import enabling
from human_model import Rig
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable, error
from tests.blender.scene_builders import evaluated_positions, link
from tests.checks.animated_human import (
    TOLERANCE,
    animate,
    find,
    fix,
    matrices_over_frames,
    moved,
    over_frames,
    world_positions,
)
from tests.checks.plant_object_scale import PLANTED


def _child(parent: bpy.types.Object, bone: str = "") -> bpy.types.Object:
    child = link(bpy.data.objects.new("Child", None))
    child.parent, child.location, child.rotation_euler = parent, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0)
    if bone:
        child.parent_type, child.parent_bone = "BONE", bone
    return child


def _place(human: Human) -> None:
    human.armature_object.location = (0.4, -0.3, 0.2)
    human.armature_object.rotation_euler = (0.3, 0.4, 0.5)
    human.mesh_object.location = (0.1, 0.0, 0.05)


def test_a_clean_human_has_no_finding(human: Human) -> None:
    assert not find(CHECK, human)


@pytest.mark.parametrize(
    ("variant", "key", "severity"),
    [
        ("as_imported", "armature", "INFORMATION"),
        ("mirrored", "armature", "WARNING"),
        ("unequal_mesh", "mesh", "WARNING"),
        ("flat", "armature", "ERROR"),
    ],
)
def test_a_scale_is_found_on_its_object(
    human: Human, variant: str, key: str, severity: str
) -> None:
    PLANTED[f"object_scale/{variant}"](human)
    found = find(CHECK, human)
    assert set(found) == {key}
    assert found[key].severity == severity
    owner = human.mesh_object if key == "mesh" else human.armature_object
    assert found[key].message.startswith(owner.name)
    assert bool(found[key].fixes) == (variant != "flat")


@pytest.mark.parametrize(
    ("rig", "scale"),
    [
        ("default", (2.0, 2.0, 2.0)),
        ("cmu_mb", (0.5, 0.5, 0.5)),
        ("cmu_mb", (-1.0, 1.0, 1.0)),
        ("game_engine", (-2.0, -2.0, -2.0)),
        ("cmu_mb", (2.0, -2.0, -2.0)),
    ],
)
def test_applying_the_armatures_scale_keeps_animation_and_children(
    human_with_rig: Callable[[Rig], Human], rig: Rig, scale: tuple[float, float, float]
) -> None:
    human = human_with_rig(rig)
    rig_object = human.armature_object
    bone = rig_object.pose.bones[8].name
    children = [_child(rig_object), _child(rig_object, bone), _child(human.mesh_object)]
    children[1].matrix_parent_inverse = Matrix.Translation((0.3, 0.1, 0.0))
    animate(rig_object)
    _place(human)
    rig_object.scale = scale
    before, places = over_frames(human.mesh_object), matrices_over_frames(*children)

    said = fix(CHECK, human, "armature")

    assert f"{len(rig_object.data.bones)} bones" in said
    assert not find(CHECK, human)
    assert tuple(rig_object.scale) == tuple(human.mesh_object.scale) == (1.0, 1.0, 1.0)
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE
    np.testing.assert_allclose(matrices_over_frames(*children), places, atol=TOLERANCE)
    # Heads and tails are where they were, and the mesh is no longer scaled by anything.
    assert np.allclose(human.mesh_object.matrix_parent_inverse, np.eye(4))


def test_an_import_in_centimetres_gets_metres(human: Human) -> None:
    PLANTED["object_scale/as_imported"](human)
    _place(human)
    before = world_positions(human.mesh_object)
    fix(CHECK, human, "armature")
    assert not find(CHECK, human)
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE
    height = np.ptp([bone.head_local.z for bone in human.armature_object.data.bones])
    assert 1.0 < height < 2.0


def test_rolls_and_tails_are_mirrored_with_the_armature(human: Human) -> None:
    rig = human.armature_object
    rig.scale = (-1.0, 1.0, 1.0)
    before = {b.name: (b.head_local.copy(), b.tail_local.copy(), b.z_axis) for b in rig.data.bones}
    axes = {b.name: b.matrix_local.to_3x3().col[2].copy() for b in rig.data.bones}
    fix(CHECK, human, "armature")
    flip = Matrix.Diagonal((-1.0, 1.0, 1.0))
    for bone in rig.data.bones:
        head, tail, _ = before[bone.name]
        # A small face bone's direction comes from positions in float32, a hundred lengths away.
        assert (flip @ head - bone.head_local).length < 1e-6
        assert (flip @ tail - bone.tail_local).length < 1e-6
        assert (flip @ axes[bone.name] - bone.matrix_local.to_3x3().col[2]).length < 1e-4


def test_modes_and_selection_are_as_before(human: Human) -> None:
    obj, rig = human.mesh_object, human.armature_object
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    for one in (obj, rig):
        one.select_set(True)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    rig.scale = (-1.0, 1.0, 1.0)
    fix(CHECK, human, "armature")
    assert (obj.mode, rig.mode) == ("WEIGHT_PAINT", "POSE")
    assert bpy.context.view_layer.objects.active == obj
    assert obj.select_get()
    assert rig.select_get()


def test_an_unequal_scale_keeps_the_rest_pose_and_asks_when_posed(human: Human) -> None:
    human.armature_object.scale = (1.0, 1.1, 1.3)
    assert find(CHECK, human)["armature"].fixes[0].question == ""
    before = world_positions(human.mesh_object)
    fix(CHECK, human, "armature")
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE
    human.armature_object.scale = (1.0, 1.1, 1.3)
    human.armature_object.pose.bones[3].rotation_quaternion = (0.9, 0.1, 0.3, 0.0)
    assert "look different" in find(CHECK, human)["armature"].fixes[0].question


def test_strips_stored_actions_and_constraint_actions_are_scaled_along(human: Human) -> None:
    rig = human.armature_object
    actions = []
    for seed in range(3):
        animate(rig, seed)
        actions.append(rig.animation_data.action)
        rig.animation_data.action = None
    _strip(rig, actions[0])
    actions[1].use_fake_user = True
    constraint: Any = rig.pose.bones[5].constraints.new("ACTION")
    constraint.action, constraint.influence = actions[2], 0.0
    rig.scale = (0.5, 0.5, 0.5)
    _play(rig, actions[1])
    stored = over_frames(human.mesh_object)
    rig.animation_data.action = None
    question = find(CHECK, human)["armature"].fixes[0].question
    assert all(action.name in question for action in actions)
    before = over_frames(human.mesh_object)
    fix(CHECK, human, "armature")
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE
    # Assigned again, the stored one is as large in the world as it was.
    rig.animation_data.nla_tracks[0].mute = True
    _play(rig, actions[1])
    assert moved(stored, over_frames(human.mesh_object)) < TOLERANCE


def _play(rig: bpy.types.Object, action: Any) -> None:
    rig.animation_data.action = action
    if hasattr(action, "slots"):
        rig.animation_data.action_slot = action.slots[0]


def _strip(rig: bpy.types.Object, action: Any) -> None:
    strip = rig.animation_data.nla_tracks.new().strips.new("walk", 1, action)
    if hasattr(action, "slots"):
        strip.action_slot = action.slots[0]


def _constrain(rig: bpy.types.Object) -> None:
    """Constraints with lengths in the units of the armature and of the world."""
    bones = rig.pose.bones
    names = [bone.name for bone in bones]
    for place, kind, settings in (
        (0, "LIMIT_LOCATION", {"owner_space": "LOCAL", "use_min_x": True, "min_x": 0.04}),
        (12, "STRETCH_TO", {"subtarget": names[2], "rest_length": 0.3}),
        (20, "CHILD_OF", {"subtarget": names[4]}),
        (30, "LIMIT_DISTANCE", {"subtarget": names[50], "distance": 0.1}),
        (
            40,
            "LIMIT_DISTANCE",
            {"subtarget": names[60], "distance": 0.1}
            | {"owner_space": "POSE", "target_space": "POSE"},
        ),
        (
            50,
            "TRANSFORM",
            {"subtarget": names[70], "map_from": "LOCATION", "map_to": "LOCATION"}
            | {"owner_space": "LOCAL", "target_space": "LOCAL"}
            | {f"{way}_min_{axis}": -0.02 for way in ("from", "to") for axis in "xyz"}
            | {f"{way}_max_{axis}": 0.03 for way in ("from", "to") for axis in "xyz"},
        ),
    ):
        constraint: Any = bones[place].constraints.new(kind)
        if hasattr(constraint, "target"):
            constraint.target = rig
        for name, value in settings.items():
            setattr(constraint, name, value)
        if kind == "LIMIT_DISTANCE":
            constraint.limit_mode = "LIMITDIST_ONSURFACE"
        if kind == "CHILD_OF":
            constraint.inverse_matrix = Matrix.Translation((0.02, 0.01, 0.03))


def test_constraints_and_hooks_in_armature_units_keep_their_effect(human: Human) -> None:
    rig = human.armature_object
    animate(rig)
    bone = rig.pose.bones[6].name
    follower = link(bpy.data.objects.new("Follower", None))
    follow: Any = follower.constraints.new("CHILD_OF")
    follow.target, follow.subtarget = rig, bone
    hooked = link(bpy.data.objects.new("Hooked", human.mesh_object.data.copy()))
    hook: Any = hooked.modifiers.new("Hook", "HOOK")
    hook.object, hook.subtarget = rig, bone
    hook.vertex_indices_set(range(100))
    rig.location = (0.4, -0.3, 0.2)
    rig.scale = (3.0, 3.0, 3.0)
    free = over_frames(human.mesh_object)
    _constrain(rig)
    before, places = over_frames(human.mesh_object), matrices_over_frames(follower)
    pulled = over_frames(hooked)
    assert moved(free, before) > 0.1
    fix(CHECK, human, "armature")
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE
    np.testing.assert_allclose(matrices_over_frames(follower), places, atol=TOLERANCE)
    assert moved(pulled, over_frames(hooked)) < TOLERANCE


@pytest.mark.parametrize("scale", [(0.5, 0.5, 0.5), (-1.0, 2.0, 0.7)])
def test_applying_a_meshs_scale_keeps_keys_normals_and_children(
    human: Human, scale: tuple[float, float, float]
) -> None:
    obj = human.mesh_object
    child = _child(obj)
    obj.shape_key_add(name="Basis")
    for name in ("Smile", "Frown"):
        key = obj.shape_key_add(name=name)
        key.value = 0.5
        offsets = np.random.default_rng(len(name)).normal(0.0, 0.01, (len(key.points), 3))
        points = np.empty(3 * len(key.points), np.float32)
        key.points.foreach_get("co", points)
        key.points.foreach_set("co", (points + offsets.ravel()).astype(np.float32))
    normals = _corner_normals(obj.data)
    normals += np.random.default_rng(0).normal(0.0, 0.05, normals.shape)
    obj.data.normals_split_custom_set(normals.tolist())
    animate(human.armature_object)
    _place(human)
    obj.scale = scale
    before, places = over_frames(obj), matrices_over_frames(child)
    facing = _world_normals(obj)
    said = fix(CHECK, human, "mesh")
    assert "3 shape keys" in said
    assert not find(CHECK, human)
    assert moved(before, over_frames(obj)) < TOLERANCE
    np.testing.assert_allclose(matrices_over_frames(child), places, atol=TOLERANCE)
    # Blender keeps custom normals as two 16-bit angles: writing and reading them is as far off.
    assert np.abs(_world_normals(obj) - facing).max() < 0.02


def _corner_normals(mesh: bpy.types.Mesh) -> np.ndarray:
    normals = np.empty(3 * len(mesh.loops), np.float32)
    mesh.corner_normals.foreach_get("vector", normals)
    return normals.reshape(-1, 3).astype(np.float64)


def _world_normals(obj: bpy.types.Object) -> np.ndarray:
    """Shape (c, 3): where the surface's corners face in the world, by face and vertex."""
    bpy.context.view_layer.update()
    normals = _corner_normals(obj.data) @ np.linalg.inv(np.array(obj.matrix_world)[:3, :3])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    corners = np.array([(loop.vertex_index) for loop in obj.data.loops])
    faces = np.repeat(np.arange(len(obj.data.polygons)), [p.loop_total for p in obj.data.polygons])
    return normals[np.lexsort((corners, faces))]


def test_faces_still_face_outwards_after_a_mirroring_scale(human: Human) -> None:
    obj = human.mesh_object
    obj.scale = (-1.0, 1.0, 1.0)
    fix(CHECK, human, "mesh")
    obj.data.calc_loop_triangles()
    corners = np.array([tri.vertices[:] for tri in obj.data.loop_triangles])
    points = np.array([vertex.co for vertex in obj.data.vertices], np.float64)
    a, b, c = points[corners].transpose(1, 0, 2)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0.0  # six times the volume


def test_a_shared_mesh_is_copied_after_asking(human: Human) -> None:
    twin = link(bpy.data.objects.new("Twin", human.mesh_object.data))
    before = world_positions(twin)
    human.mesh_object.scale = (2.0, 2.0, 2.0)
    assert "own copy" in find(CHECK, human)["mesh"].fixes[0].question
    fix(CHECK, human, "mesh")
    assert twin.data != human.mesh_object.data
    assert moved(before, world_positions(twin)) == 0.0


def test_a_shared_armature_is_copied_after_asking(human: Human) -> None:
    twin = link(bpy.data.objects.new("Twin", human.armature_object.data))
    human.armature_object.scale = (2.0, 2.0, 2.0)
    before = world_positions(human.mesh_object)
    assert "own copy" in find(CHECK, human)["armature"].fixes[0].question
    fix(CHECK, human, "armature")
    assert twin.data != human.armature_object.data
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE


def test_keys_that_hold_the_scale_are_set_to_one(human: Human) -> None:
    rig = human.armature_object
    rig.scale = (0.5, 0.5, 0.5)
    rig.keyframe_insert("scale", frame=1)
    rig.keyframe_insert("scale", frame=9)
    before = over_frames(human.mesh_object)
    assert "6 keys" in find(CHECK, human)["armature"].fixes[0].question
    fix(CHECK, human, "armature")
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE
    bpy.context.scene.frame_set(5)
    assert tuple(rig.scale) == (1.0, 1.0, 1.0)


def _refused(human: Human, key: str, match: str) -> None:
    before = world_positions(human.mesh_object)
    with pytest.raises(FixError, match=match):
        fix(CHECK, human, key)
    assert moved(before, world_positions(human.mesh_object)) == 0.0


def test_an_animated_scale_is_refused_with_the_actions_name(human: Human) -> None:
    PLANTED["object_scale/refuses_animated"](human)
    _refused(human, "mesh", human.mesh_object.animation_data.action.name)


def test_an_action_that_others_play_is_refused_with_their_names(human: Human) -> None:
    animate(human.armature_object)
    twin = link(bpy.data.objects.new("Twin", bpy.data.armatures.new("Other")))
    twin.animation_data_create()
    _play(twin, human.armature_object.animation_data.action)
    human.armature_object.scale = (2.0, 2.0, 2.0)
    _refused(human, "armature", "Twin")


def test_location_keys_with_curve_modifiers_are_refused(human: Human) -> None:
    animate(human.armature_object)
    curve = next(bone_curves(played_actions(human.armature_object), "location")).curve
    curve.modifiers.new("NOISE")
    human.armature_object.scale = (2.0, 2.0, 2.0)
    _refused(human, "armature", "curve modifiers")


def test_an_enabled_character_stays_right(
    addon: None, human_with_rig: Callable[[Rig], Human]
) -> None:
    human = human_with_rig("game_engine")
    animate(human.armature_object)
    _place(human)
    human.armature_object.scale = (-2.0, 2.0, 2.0)
    bpy.context.scene.frame_set(5)
    enable(human.mesh_object)
    before = world_positions(human.mesh_object)
    fix(CHECK, human, "armature")
    enabling.refresh(human.mesh_object, bpy.context.evaluated_depsgraph_get())
    # Two evaluations of the compensation, each within the evaluators' 1e-4 of the specification.
    assert error(human.mesh_object) < 1e-4
    assert moved(before, world_positions(human.mesh_object)) < 1e-4
    assert len(api.evaluate(human.mesh_object)) == len(evaluated_positions(human.mesh_object))
