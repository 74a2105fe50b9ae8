"""Modifiers before the Armature modifier that move vertices belong to the shape at rest.

Positions are compared in parts of the size. 1e-4: the nodes and Blender's modifiers count in 32
bits, and distances of 1 have steps of 1e-7 there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.errors import BindingError
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.modifier.installation import replace_armature_modifier
from dq_compensation.scene.stack import record_of_tree
from dq_compensation.session.activity import is_playing
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, description, disable, enable, ours
from tests.blender.example_scenes import ELBOW, flexing, turn
from tests.blender.scene_builders import add_mesh, evaluated_positions, linked_copy
from tests.blender.test_modifiers_before import (
    distance,
    fat_key,
    mirror,
    node_tree,
    put_first,
    rendered,
    subdivision,
)
from tests.limb import build_bendy_limb, build_limb, pose_limb
from tests.replaced_functions import count_calls, replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object
Pair = tuple[Object, Object]
TOLERANCE = 1e-4


@pytest.fixture
def limb() -> Pair:
    return build_limb()


def put_object(name: str, data: Any, **settings: object) -> Object:
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    for setting, value in settings.items():
        setattr(obj, setting, value)
    bpy.context.view_layer.update()
    return obj


def displace(obj: Object) -> Any:
    return put_first(obj, "DISPLACE", strength=0.05, mid_level=0.0)


def cast(obj: Object) -> Any:
    return put_first(obj, "CAST", factor=0.2)


def simple_deform(obj: Object) -> Any:
    return put_first(obj, "SIMPLE_DEFORM", deform_method="TAPER", factor=0.4)


def lattice(obj: Object) -> Any:
    cage = put_object("Cage", bpy.data.lattices.new("Cage"), location=(0.7, 0.0, 0.0))
    cage.scale = (1.6, 0.4, 0.4)
    for point in list(cage.data.points)[:4]:
        point.co_deform.z += 0.3
    return put_first(obj, "LATTICE", object=cage)


def hook(obj: Object) -> Any:
    empty = put_object("Handle", None, location=(0.5, 0.0, 0.1))
    found = put_first(obj, "HOOK", object=empty, falloff_type="NONE")
    found.vertex_indices_set(list(range(200, 600)))
    empty.location.z += 0.06
    obj.update_tag()
    bpy.context.view_layer.update()
    return found


def shrinkwrap(obj: Object) -> Any:
    side = [(0.0, y, 0.14) for y in (-1.0, 1.0)] + [(2.0, y, 0.14) for y in (1.0, -1.0)]
    target = add_mesh(side, [(0, 1, 2, 3)], name="Wall")
    return put_first(obj, "SHRINKWRAP", target=target, vertex_group="Lower")


def wave(obj: Object) -> Any:
    return put_first(obj, "WAVE", height=0.05, width=0.4, narrowness=3.0, time_offset=-20.0)


def along_curve(obj: Object) -> Any:
    path = bpy.data.curves.new("Path", "CURVE")
    path.dimensions = "3D"
    points = path.splines.new("POLY").points
    points.add(2)
    for point, place in zip(points, ((0, 0, 0, 1), (0.8, 0, 0.05, 1), (1.6, 0, 0, 1)), strict=True):
        point.co = place
    return put_first(obj, "CURVE", object=put_object("Path", path))


def cube() -> Object:
    corners = [(x, y, z) for x in (-0.3, 1.8) for y in (-0.3, 0.3) for z in (-0.3, 0.3)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return add_mesh(corners, faces, name="Cage")


def bound_to(kind: str, bind: str) -> Callable[[Object], Any]:
    def put(obj: Object) -> Any:
        cage = cube()
        found = put_first(obj, kind, **{"object" if kind == "MESH_DEFORM" else "target": cage})
        with bpy.context.temp_override(object=obj, active_object=obj):
            assert getattr(bpy.ops.object, bind)(modifier=found.name) == {"FINISHED"}
        assert found.is_bound
        for vertex in cage.data.vertices[4:]:
            vertex.co.z += 0.1
        cage.data.update()
        bpy.context.view_layer.update()
        return found

    return put


def moving_nodes(obj: Object) -> Any:
    _, node, _ = node_tree("GeometryNodeSetPosition")(obj)
    node.inputs["Offset"].default_value = (0.0, 0.04, 0.02)
    bpy.context.view_layer.update()
    return obj.modifiers[0]


CHANGES: dict[str, Callable[[Object], Any]] = {
    "displace": displace,
    "cast": cast,
    "simple_deform": simple_deform,
    "lattice": lattice,
    "hook": hook,
    "shrinkwrap": shrinkwrap,
    "wave": wave,
    "curve": along_curve,
    "mesh_deform": bound_to("MESH_DEFORM", "meshdeform_bind"),
    "surface_deform": bound_to("SURFACE_DEFORM", "surfacedeform_bind"),
    "nodes": moving_nodes,
}
assert rendered  # a fixture
OTHERS = {"alone": None, "mirror": mirror, "subdivision": subdivision}


def applied(obj: Object, rig: Object, shape: NDArray[np.float32]) -> NDArray[np.float32]:
    """What COMPENSATED makes of an object whose mesh has this shape, without the modifier."""
    twin = linked_copy(obj, own_data=True)
    for modifier in [each for each in twin.modifiers if each.type != "ARMATURE"]:
        twin.modifiers.remove(modifier)
    twin.data.vertices.foreach_set("co", shape.ravel())
    twin.data.update()
    found = api.evaluate(twin, method="COMPENSATED")
    bpy.data.objects.remove(twin)
    return found


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_is_compensated_as_if_the_modifier_were_applied(
    limb: Pair, change: Callable[[Object], Any], other: Callable[[Object], None] | None
) -> None:
    obj, rig = limb
    own = evaluated_positions(obj)
    change(obj)
    shape = evaluated_positions(obj)
    assert distance(own, shape) > 5e-3, "otherwise this tests nothing"
    if other is not None:
        other(obj)
    rest = evaluated_positions(obj)
    enable(obj)
    assert distance(evaluated_positions(obj), rest) < TOLERANCE, "at rest Enable moves nothing"
    pose_limb(rig)
    shown = evaluated_positions(obj)
    if other is None:
        assert distance(shown, applied(obj, rig, shape)) < TOLERANCE
    assert distance(shown, api.evaluate(obj)) < TOLERANCE
    obj.dq_compensation.method = "DUAL_QUATERNION"
    bpy.context.view_layer.update()
    assert distance(shown, evaluated_positions(obj)) > 2e-3, "it acts"
    disable(obj)


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_on_a_human(body_with_rig: Callable[[str], Human], curve: str) -> None:
    human = body_with_rig("game_engine")
    obj, rig = human.mesh_object, human.armature_object
    displace(obj).strength = 0.02
    bpy.context.view_layer.update()
    rest = evaluated_positions(obj)
    obj.dq_compensation.curve = curve
    enable(obj)
    assert distance(evaluated_positions(obj), rest) < TOLERANCE
    for name in ("lowerarm_l", "calf_r"):
        rig.pose.bones[name].rotation_mode = "XYZ"
        rig.pose.bones[name].rotation_euler = (1.2, 0.2, 0.0)
    bpy.context.view_layer.update()
    assert distance(evaluated_positions(obj), applied(obj, rig, rest)) < TOLERANCE
    disable(obj)


@pytest.mark.parametrize("playing", [False, True])
@pytest.mark.parametrize("first", ["alone", "mirror"])
def test_an_animated_modifier_is_right_in_each_frame(
    limb: Pair, monkeypatch: pytest.MonkeyPatch, first: str, playing: bool
) -> None:
    """At rest each frame is what Blender makes of it; nothing is read again for it."""
    obj, rig = limb
    modifier = hook(obj)
    strong = displace(obj)
    handle = modifier.object
    for frame, height in ((1, 0.1), (20, 0.3)):
        handle.location.z = height
        handle.keyframe_insert("location", frame=frame)
        strong.strength = 0.1 * height
        strong.keyframe_insert("strength", frame=frame)
    if other := OTHERS[first]:
        other(obj)
    bpy.context.scene.frame_set(1)
    expected = {}
    for frame in (10, 20):
        bpy.context.scene.frame_set(frame)
        expected[frame] = evaluated_positions(obj)
    assert distance(expected[10], expected[20]) > 0.02, "otherwise this tests nothing"
    bpy.context.scene.frame_set(1)
    enable(obj)
    check()
    replace_everywhere(monkeypatch, is_playing, lambda: playing)
    written = count_calls(monkeypatch, replace_armature_modifier)
    for frame, wanted in expected.items():
        bpy.context.scene.frame_set(frame)
        assert distance(evaluated_positions(obj), wanted) < TOLERANCE
        assert problem_of(obj) is None
    # Bent, the distances are those of the frame; the joints were chosen at the first one.
    pose_limb(rig)
    bpy.context.view_layer.update()
    assert distance(evaluated_positions(obj), api.evaluate(obj)) < 0.01
    assert not written
    monkeypatch.undo()
    disable(obj)


def test_edits_of_the_modifier_are_followed(limb: Pair) -> None:
    """Its settings, and data that it uses; then joints and amounts are those of the new shape."""
    obj, rig = limb
    enable(obj)
    pose_limb(rig)
    strong = displace(obj)
    cage = lattice(obj).object

    def is_right() -> None:
        bpy.context.view_layer.update()
        check()
        assert distance(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE

    is_right()
    assert record_of_tree(ours(obj).node_group)["shape"]
    strong.strength = -0.03
    is_right()
    for point in cage.data.points:
        point.co_deform.y *= 0.6
    cage.data.update_tag()
    is_right()
    for modifier in list(obj.modifiers)[:2]:
        modifier.show_viewport = modifier.show_render = False
    is_right()
    assert not record_of_tree(ours(obj).node_group)["shape"]
    disable(obj)


def test_renders_show_a_modifier_that_the_viewport_does_not(
    limb: Pair, rendered: Callable[[], NDArray[np.float32]]
) -> None:
    obj, _ = limb
    displace(obj).show_viewport = False
    expected = rendered()
    assert distance(expected, evaluated_positions(obj)) > 0.01, "otherwise this tests nothing"
    enable(obj)
    check()
    assert distance(rendered(), expected) < TOLERANCE
    disable(obj)


@pytest.mark.parametrize("evaluator", ["NUMPY", "MODIFIER"])
def test_scripts_get_the_modifier_too(limb: Pair, evaluator: api.Evaluator) -> None:
    obj, rig = limb
    change = lattice(obj)
    shape = evaluated_positions(obj)
    pose_limb(rig)
    found = api.evaluate(obj, method="COMPENSATED", evaluator=evaluator)
    assert distance(found, applied(obj, rig, shape)) < TOLERANCE
    frames = api.evaluate_frames(obj, [1, 2], method="COMPENSATED", evaluator=evaluator)
    assert distance(frames[1], found) < TOLERANCE
    assert change in obj.modifiers.values()


def test_shape_keys_go_through_the_modifier(limb: Pair) -> None:
    obj, rig = limb
    fat_key(obj).value = 0.6
    displace(obj)
    rest = evaluated_positions(obj)
    enable(obj)
    assert distance(evaluated_positions(obj), rest) < TOLERANCE
    pose_limb(rig)
    assert distance(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE
    disable(obj)


def test_examples_are_sculpted_and_shown_on_the_reshaped_mesh(
    body_with_rig: Callable[[str], Human],
) -> None:
    human = body_with_rig("game_engine")
    obj = human.mesh_object
    displace(obj).strength = 0.01
    wanted = flexing(human, "COMPENSATED", "game_engine")
    enable(obj)
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    bpy.context.view_layer.update()
    assert distance(evaluated_positions(obj), wanted) < TOLERANCE
    turn(human, ELBOW["game_engine"], 60.0)
    assert distance(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE
    disable(obj)


def test_the_gpu_display_says_as_of_when_it_shows_the_shape(
    with_viewport: None, limb: Pair
) -> None:
    obj, _ = limb
    displace(obj)
    enable(obj, "GPU")
    check()
    assert any("as Displace shaped it when it was read" in n for n in notes_of(obj))
    assert not any("do not show" in note for note in notes_of(obj))
    disable(obj)


def test_bendy_bones_go_with_it() -> None:
    obj, rig = build_bendy_limb(4)
    displace(obj)
    enable(obj)
    assert record_of_tree(ours(obj).node_group)["shape"]
    pose_limb(rig)
    assert distance(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE
    disable(obj)


def test_a_node_modifier_without_a_tree_is_nothing(limb: Pair) -> None:
    obj, rig = limb
    displace(obj)
    put_first(obj, "NODES", node_group=None)
    rest = evaluated_positions(obj)
    enable(obj)
    assert distance(evaluated_positions(obj), rest) < TOLERANCE
    pose_limb(rig)
    assert distance(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE
    disable(obj)


def test_objects_that_share_a_mesh_may_differ_in_it(limb: Pair) -> None:
    obj, rig = limb
    enable(obj)
    twin = linked_copy(obj)
    displace(twin)
    check()
    pose_limb(rig)
    for each in (obj, twin):
        assert distance(evaluated_positions(each), api.evaluate(each)) < TOLERANCE
    for each in (obj, twin):
        disable(each)


@pytest.mark.parametrize("kind", ["MULTIRES", "SOFT_BODY"])
def test_nothing_changes_where_blender_wants_original_data(limb: Pair, kind: str) -> None:
    """Blender lets no node modifier stand above these."""
    obj, _ = limb
    obj.modifiers.new("Below", kind)
    before = description(obj)
    with pytest.raises(BindingError, match=r"Below of Limb stands after the Armature modifier"):
        api.enable(obj)
    assert description(obj) == before
    obj.modifiers.move(1, 0)
    enable(obj)
    assert problem_of(obj) is None
    disable(obj)


@pytest.mark.parametrize("kind", ["MULTIRES", "SOFT_BODY"])
def test_one_that_is_added_later_is_said_and_leaves_cleanly(limb: Pair, kind: str) -> None:
    obj, rig = limb
    before = description(obj)
    enable(obj)
    obj.modifiers.new("Below", kind)
    bpy.context.view_layer.update()
    check()
    problem = problem_of(obj)
    assert problem is not None
    assert problem.startswith("The modifier Below of Limb stands after the Armature modifier")
    disable(obj)
    obj.modifiers.remove(obj.modifiers["Below"])
    assert description(obj) == before
    assert not [tree for tree in bpy.data.node_groups if "DQ" in tree.name]
    assert rig in bpy.data.objects.values()


def test_mixed_armature_modifiers_are_computed_or_refused(limb: Pair) -> None:
    obj, rig = limb
    other = linked_copy(rig)
    second = obj.modifiers.new("Second", "ARMATURE")
    second.object, second.use_multi_modifier = other, True
    pose_limb(rig)
    bpy.context.view_layer.update()
    with pytest.raises(BindingError, match=r"Second of Limb is mixed into the result of Armature"):
        api.evaluate(obj)
    obj.modifiers["Armature"].use_deform_preserve_volume = True
    second.use_deform_preserve_volume = True
    bpy.context.view_layer.update()
    found = api.evaluate(obj, method="DUAL_QUATERNION", evaluator="MODIFIER")
    assert distance(found, evaluated_positions(obj)) < TOLERANCE


@pytest.mark.parametrize("settings", [{}, {"softness": 0.5}, {"method": "SPHERICAL_JOINT"}])
def test_scripts_get_what_is_shown_behind_one_wave_and_before_another(
    limb: Pair, settings: dict[str, Any]
) -> None:
    obj, rig = limb
    pose_limb(rig)
    wave(obj)
    other = obj.modifiers.new("After", "WAVE")
    other.height, other.width, other.narrowness, other.time_offset = 0.1, 0.4, 3.0, -20.0
    api.enable(obj, **settings)
    frames, scene, found = (1, 7, 12), bpy.context.scene, []
    for frame in frames:
        scene.frame_set(frame)
        found.append(api.evaluate(obj))
        behind = evaluated_positions(obj)
        other.show_viewport = False
        shown = evaluated_positions(obj)
        assert distance(found[-1], shown) <= TOLERANCE
        assert distance(api.evaluate(obj, evaluator="MODIFIER"), shown) <= TOLERANCE
        other.show_viewport = True
        assert distance(behind, shown) > 0.01  # what follows acts
    assert distance(found[0], found[1]) > 0.01  # what comes before does
    scene.frame_set(1)
    for each, expected in zip(api.evaluate_frames(obj, frames), found, strict=True):
        assert distance(each, expected) <= TOLERANCE
