"""Unapplied scale is found, and applying it moves nothing: in no frame, and no child."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.modifier.modifier_inputs import set_inputs
from dq_compensation.scene.blender.animation_curves import bone_curves, played_actions
from dq_compensation.setup_check.checks.object_scale import CHECK
from dq_compensation.setup_check.fixes.followers import modifiers_by_object
from dq_compensation.setup_check.issue import FixError
from tests.blender.conftest import Human
from tests.blender.scene_builders import add_armature, add_grid, link
from tests.limb import build_limb
from tests.replaced_functions import count_calls
from tests.setup_check.animated_human import (
    TOLERANCE,
    add_child,
    animate,
    find,
    fix,
    matrices_over_frames,
    moved,
    over_frames,
    place_somewhere,
    world_positions,
)
from tests.setup_check.plant_object_scale import PLANTED


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


def test_children_by_constraint_and_hooks_are_named_and_no_button_is_offered(
    human: Human,
) -> None:
    """A child, one of a bone of another armature, vertices hooked to the mesh, and its own."""
    obj = human.mesh_object
    obj.scale = (0.5, 0.5, 0.5)
    empty = link(bpy.data.objects.new("Empty", None))
    other, hooked = add_armature(("Bone",), name="Other"), add_grid(name="Hooked")
    bone = other.pose.bones["Bone"]
    named = {"Child Of of Empty": empty, "Child Of of Bone (Other)": bone}
    for owner in named.values():
        follow: Any = owner.constraints.new("CHILD_OF")
        follow.target = obj
        issue = find(CHECK, human)["mesh"]
        assert not issue.fixes
        assert next(name for name in named if named[name] == owner) in issue.message
        _refused(human, "mesh", "Child Of of ")
        owner.constraints.remove(follow)
    for owner, target in ((hooked, obj), (obj, empty)):
        hook: Any = owner.modifiers.new("Hook", "HOOK")
        hook.object = target
        assert not find(CHECK, human)["mesh"].fixes
        _refused(human, "mesh", f"Hook of {owner.name}")
        owner.modifiers.remove(hook)
    assert find(CHECK, human)["mesh"].fixes


def test_what_takes_the_scale_of_a_mesh_is_named_before(human: Human) -> None:
    human.mesh_object.scale = (2.0, 2.0, 2.0)
    hat = link(bpy.data.objects.new("Hat", None))
    follow = hat.constraints.new("COPY_TRANSFORMS")
    follow.target = human.mesh_object
    assert "Copy Transforms of Hat" in find(CHECK, human)["mesh"].message
    hat.constraints.remove(follow)
    fence = add_grid(name="Fence")
    array: Any = fence.modifiers.new("Array", "ARRAY")
    array.use_object_offset = True
    array.offset_object = human.mesh_object
    assert "of Fence." in find(CHECK, human)["mesh"].message
    fence.modifiers.remove(array)
    nodes: Any = fence.modifiers.new("Nodes", "NODES")
    nodes.node_group = tree = bpy.data.node_groups.new("Tree", "GeometryNodeTree")
    tree.interface.new_socket("Object", in_out="INPUT", socket_type="NodeSocketObject")
    set_inputs(nodes, {"Object": human.mesh_object})
    assert "of Fence." in find(CHECK, human)["mesh"].message


def test_a_child_in_part_is_named_where_the_scale_is_not_the_same_along_all_axes(
    human: Human,
) -> None:
    hat = link(bpy.data.objects.new("Hat", None))
    follow: Any = hat.constraints.new("CHILD_OF")
    follow.target, follow.use_rotation_x = human.mesh_object, False
    follow.use_scale_x = follow.use_scale_y = follow.use_scale_z = False
    named = []
    for scale in ((0.5, 0.5, 0.5), (1.0, 2.0, 0.7)):
        human.mesh_object.scale = scale
        named.append("Hat" in find(CHECK, human)["mesh"].message)
    assert named == [False, True]


@pytest.mark.parametrize("scale", [(0.5, 0.5, 0.5), (-1.0, 2.0, 0.7)])
def test_applying_a_meshs_scale_keeps_keys_normals_and_children(
    human: Human, scale: tuple[float, float, float]
) -> None:
    obj = human.mesh_object
    child = add_child(obj)
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
    place_somewhere(human)
    obj.scale = scale
    before, places = over_frames(obj), matrices_over_frames(child)
    facing = _world_normals(obj)
    summary = fix(CHECK, human, "mesh")
    assert "3 shape keys" in summary
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


def _play(rig: bpy.types.Object, action: Any) -> None:
    rig.animation_data.action = action
    if hasattr(action, "slots"):
        rig.animation_data.action_slot = action.slots[0]


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


def test_a_check_of_several_meshes_reads_the_modifiers_of_the_file_once(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A character of 12 meshes among 1,000 other objects took 13 seconds."""
    calls = count_calls(monkeypatch, modifiers_by_object)
    limb, rig = build_limb()
    for _ in range(2):
        link(limb.copy())
    rig.scale = (2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    found = [issue for issue in api.check(rig) if issue.check == CHECK.name]
    assert [len(each.meshes) for each in found] == [3]
    assert calls == {"modifiers_by_object": 1}
