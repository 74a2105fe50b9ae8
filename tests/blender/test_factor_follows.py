"""A factor is left to its drivers, and hides nothing else that has changed in the same update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation.lifecycle import reconcile
from dq_compensation.lifecycle.reconcile import State
from dq_compensation.scene.binding import bind
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.session import changes, known_bindings, status
from dq_compensation.session.changes import Changes
from dq_compensation.session.known_bindings import in_character
from dq_compensation.session.memory import memories
from dq_compensation.session.status import Status, status_of
from tests.blender.enabled_scenes import enable, error, ours
from tests.blender.scene_builders import evaluated_positions, link, new_file
from tests.limb import build_limb, pose_limb

Object = bpy.types.Object
TOLERANCE = 1e-4  # of two evaluators, in parts of the size


@pytest.fixture
def limb(addon: None) -> tuple[Object, Object]:
    """A limb that is enabled and posed, and its armature."""
    new_file()
    obj, rig = build_limb()
    for name in ("Basis", "Thick"):
        obj.shape_key_add(name=name)
    enable(obj)
    pose_limb(rig, bend=1.2)
    bpy.context.view_layer.update()
    return obj, rig


@pytest.fixture
def calls(limb: tuple[Object, Object], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often objects are reconciled and bound."""
    found: Counter[str] = Counter()

    def count(owner: object, name: str) -> None:
        function: Callable[..., object] = getattr(owner, name)

        def counted(*arguments: object, **options: object) -> object:
            found[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)

    count(reconcile, "compare_with_file")
    count(known_bindings, "bind")
    return found


def is_current(obj: Object) -> bool:
    """Whether all that deforms an object was written for what it is now."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    now = reconcile.compare_with_file(
        SkinnedObject(obj), depsgraph, in_character(obj, bind.bind(obj))
    )
    return now.state is State.CURRENT


def weigh(obj: Object, _rig: Object) -> None:
    inside = [i for i, v in enumerate(obj.data.vertices) if 0.35 < v.co.x < 0.5]
    obj.vertex_groups["Lower"].add(inside, 1.0, "REPLACE")


def move_vertices(obj: Object, _rig: Object) -> None:
    for vertex in obj.data.vertices[300:500]:
        vertex.co.y *= 1.5
    obj.data.shape_keys.key_blocks[0].data.foreach_set("co", coordinates(obj))
    obj.data.update()


def move_vertices_in_silence(obj: Object, _rig: Object) -> None:
    """As a script that forgets `update`: Blender shows them with whatever is evaluated next."""
    there = coordinates(obj).reshape(-1, 3) * (1.0, 1.4, 1.4)
    for values in (obj.data.vertices, obj.data.shape_keys.key_blocks[0].data):
        values.foreach_set("co", there.ravel())


def coordinates(obj: Object) -> Any:
    found = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.vertices.foreach_get("co", found)
    return found


def move_a_key(obj: Object, _rig: Object) -> None:
    for point in obj.data.shape_keys.key_blocks[0].data[300:500]:
        point.co.z *= 1.5


def move(obj: Object, _rig: Object) -> None:
    obj.location.y += 0.05


def edit_a_bone(_obj: Object, rig: Object) -> None:
    rig.data.bones["Hand"].use_deform = False


def rename_a_bone(_obj: Object, rig: Object) -> None:
    rig.data.bones["Hand"].name = "Fist"


def pose(_obj: Object, rig: Object) -> None:
    rig.pose.bones["Hand"].rotation_euler.z = 0.4


def change_a_modifier(obj: Object, _rig: Object) -> None:
    obj.modifiers["Armature"].show_in_editmode = not obj.modifiers["Armature"].show_in_editmode


def mute_the_driver(obj: Object, _rig: Object) -> None:
    obj.animation_data.drivers[0].mute = True


def take_an_input(obj: Object, _rig: Object) -> None:
    obj.modifiers.move(obj.modifiers.find(ours(obj).name), 0)


def remove_an_attribute(obj: Object, _rig: Object) -> None:
    names = [each.name for each in obj.data.attributes if "dqc" in each.name]
    assert names
    obj.data.attributes.remove(obj.data.attributes[names[0]])


def choose_a_curve(obj: Object, _rig: Object) -> None:
    obj.dq_compensation.curve = "SMOOTH"


def choose_ball_joints(obj: Object, _rig: Object) -> None:
    obj.dq_compensation.use_ball_joints = not obj.dq_compensation.use_ball_joints


def spread_twists(obj: Object, _rig: Object) -> None:
    obj.dq_compensation.twist_spread = 0.5


EDITS = (
    *(weigh, move_vertices, move_vertices_in_silence, move_a_key, move, edit_a_bone),
    *(rename_a_bone, pose, change_a_modifier, mute_the_driver, take_an_input),
    *(remove_an_attribute, choose_a_curve, choose_ball_joints, spread_twists),
)


def test_a_factor_is_left_to_its_driver(limb: tuple[Object, Object], calls: Counter[str]) -> None:
    obj, _ = limb
    for factor in (0.7, 0.2, 0.9):
        before = evaluated_positions(obj)
        obj.dq_compensation.factor = factor
        assert error(obj) < TOLERANCE
        assert np.abs(evaluated_positions(obj) - before).max() > 1e-3
    assert not calls


@pytest.mark.parametrize("first", [True, False], ids=["factor first", "factor last"])
@pytest.mark.parametrize("edit", EDITS)
def test_what_changes_with_a_factor_is_followed(
    limb: tuple[Object, Object], edit: Callable[[Object, Object], None], first: bool
) -> None:
    obj, rig = limb
    obj.dq_compensation.factor = 0.9
    bpy.context.view_layer.update()
    if first:
        obj.dq_compensation.factor = 0.4
    edit(obj, rig)
    if not first:
        obj.dq_compensation.factor = 0.4
    bpy.context.view_layer.update()
    assert is_current(obj)
    assert error(obj) < TOLERANCE
    assert ours(obj) is not None
    assert obj.animation_data.drivers[0].mute is False


@pytest.mark.parametrize("shared", [True, False])
def test_of_two_objects_one_has_a_factor_and_one_an_edit(
    limb: tuple[Object, Object], shared: bool
) -> None:
    obj, rig = limb
    other = link(obj.copy())
    if not shared:
        other.data = obj.data.copy()
    enable(other)
    bpy.context.view_layer.update()
    obj.dq_compensation.factor = 0.4
    weigh(other, rig)
    other.dq_compensation.factor = 0.6
    bpy.context.view_layer.update()
    for each in (obj, other):
        assert is_current(each)
        assert error(each) < TOLERANCE


def test_a_factor_may_change_twice_in_one_update(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    obj, _ = limb
    obj.dq_compensation.factor = 0.4
    obj.dq_compensation.factor = 0.6
    assert error(obj) < TOLERANCE
    assert not calls


def test_a_driven_and_a_keyed_factor_act(limb: tuple[Object, Object], calls: Counter[str]) -> None:
    obj, _ = limb
    slider = link(bpy.data.objects.new("Slider", None))
    slider.location.x = 0.9
    driver = obj.driver_add("dq_compensation.factor").driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = slider, "location.x"
    driver.type = "SUM"
    bpy.context.view_layer.update()
    calls.clear()
    slider.location.x = 0.3
    bpy.context.view_layer.update()
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert Settings.of(evaluated).factor == pytest.approx(0.3)
    assert error(obj) < TOLERANCE
    assert calls["bind"] == 0
    obj.driver_remove("dq_compensation.factor")
    for frame, factor in ((1, 0.0), (11, 1.0)):
        obj.dq_compensation.factor = factor
        obj.keyframe_insert("dq_compensation.factor", frame=frame)
    bpy.context.scene.frame_set(1)
    calls.clear()
    for frame in (6, 11):
        bpy.context.scene.frame_set(frame)
        assert error(obj) < TOLERANCE
    assert not calls


def test_a_factor_before_a_frame_hides_no_edit(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    obj, rig = limb
    obj.dq_compensation.factor = 0.4
    bpy.context.scene.frame_set(5)
    assert not calls
    obj.dq_compensation.factor = 0.6
    weigh(obj, rig)
    bpy.context.scene.frame_set(6)
    assert is_current(obj)
    assert error(obj) < TOLERANCE


def test_a_setting_needs_one_look(limb: tuple[Object, Object], calls: Counter[str]) -> None:
    """The look that follows it at once; Blender names the object and its mesh after that."""
    obj, _ = limb
    obj.dq_compensation.use_ball_joints = not obj.dq_compensation.use_ball_joints
    bpy.context.view_layer.update()
    assert calls == {"compare_with_file": 1}
    assert is_current(obj)


def test_a_spread_that_begins_or_ends_is_no_factor(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    obj, _ = limb
    looks = []
    for spread in (0.5, 0.8, 0.0):
        calls.clear()
        obj.dq_compensation.twist_spread = spread
        bpy.context.view_layer.update()
        looks.append(calls["compare_with_file"])
        assert is_current(obj)
    assert looks == [1, 0, 1]


@pytest.mark.parametrize("overlay", ["NONE", "COMPENSATION"])
def test_viewports_are_drawn_again(
    limb: tuple[Object, Object], monkeypatch: pytest.MonkeyPatch, overlay: str
) -> None:
    """Also where the picture is all that changes: the GPU display, and the overlay."""
    obj, _ = limb
    obj.dq_compensation.display, obj.dq_compensation.overlay = "GPU", overlay
    bpy.context.view_layer.update()
    drawn: list[object] = []

    class Area:
        type = "VIEW_3D"

        def tag_redraw(self) -> None:
            drawn.append(self)

    class Screen:
        areas = (Area(),)

    class Window:
        screen = Screen()

    class Manager:
        windows = (Window(),)

    class Context:
        window_manager = Manager()

    monkeypatch.setattr(status.bpy, "context", Context())
    obj.dq_compensation.factor = 0.3
    monkeypatch.undo()
    assert len(drawn) == 1
    assert status_of(obj).binding is not None


def test_the_first_pose_after_enable_looks_at_no_mesh(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    obj, rig = limb
    bpy.ops.dqc.disable()
    enable(obj)
    calls.clear()
    pose_limb(rig, bend=0.4)
    assert not calls


def test_a_pose_looks_at_an_object_that_was_never_looked_at(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    """As where the add-on is turned on without a window: no timer comes."""
    obj, rig = limb
    other = link(obj.copy())
    other.data = obj.data.copy()
    enable(other)
    memories(Status).pop(obj.session_uid)
    calls.clear()
    pose_limb(rig, bend=0.4)
    assert calls["compare_with_file"] == 1
    calls.clear()
    pose_limb(rig, bend=0.5)
    assert not calls


def test_a_factor_after_an_undo_looks_again(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    """An undo may read one data-block and keep another as it is."""
    bpy.ops.ed.undo_push(message="Before")
    weigh(*limb)
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="Weights")
    calls.clear()
    assert bpy.ops.ed.undo() == {"FINISHED"}
    obj = bpy.data.objects["Limb"]
    obj.dq_compensation.factor = 0.4
    bpy.context.view_layer.update()
    assert calls["compare_with_file"] >= 1
    assert is_current(obj)
    assert error(obj) < TOLERANCE


def test_a_factor_is_no_edit_of_its_armature(limb: tuple[Object, Object]) -> None:
    """The armature has the settings, so Blender names it; a pose that comes with it is told."""
    obj, rig = limb
    obj.dq_compensation.factor = 0.5
    bpy.context.view_layer.update()
    told: list[Changes] = []
    changes.EDIT.append(told.append)
    try:
        for factor in (0.4, 0.3):
            obj.dq_compensation.factor = factor
            bpy.context.view_layer.update()
            rig.dq_compensation.factor = factor + 0.05
            bpy.context.view_layer.update()
        assert not told
        obj.dq_compensation.factor = 0.7
        pose(obj, rig)
        bpy.context.view_layer.update()
        assert len(told) == 1
    finally:
        changes.EDIT.remove(told.append)
    assert rig.dq_compensation.factor == pytest.approx(0.7)
    assert error(obj) < TOLERANCE
