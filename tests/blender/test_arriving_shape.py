"""The node modifier before the Armature modifier that keeps the shape for MEASURED compensation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import bpy
import pytest

from dq_compensation import api
from dq_compensation.modifier.nodes.shape_trees import SHAPE_NAME
from dq_compensation.scene.stack import modifiers_with, record_of_tree
from tests.blender.enabled_scenes import check, disable, distance, enable, ours
from tests.blender.scene_builders import evaluated_positions, link, new_file
from tests.blender.test_armature_base import plain_twin
from tests.limb import build_limb, pose_limb

Object = bpy.types.Object
# The evaluators agree within 1e-4 of an object's size.
TOLERANCE = 1e-4

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def keyed() -> Iterator[Object]:
    """A posed limb with a shape key that acts, enabled."""
    new_file()
    obj, rig = build_limb()
    add_key(obj)
    enable(obj)
    pose_limb(rig)
    yield obj
    disable(obj)
    assert names(obj) == ["Armature"]
    assert not [tree for tree in bpy.data.node_groups if record_of_tree(tree)]


def add_key(obj: Object) -> None:
    obj.shape_key_add(name="Basis")
    wide = obj.shape_key_add(name="Wide")
    for point in wide.points:
        point.co.y *= 1.5
    wide.value = 0.7


def names(obj: Object) -> list[str]:
    return [each.name for each in obj.modifiers]


def is_right(obj: Object) -> bool:
    return distance(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE


def test_stands_right_before_the_armature_modifier(keyed: Object) -> None:
    assert names(keyed) == [SHAPE_NAME, "Armature", ours(keyed).name]
    assert keyed.modifiers["Armature"].show_viewport
    assert is_right(keyed)


def test_goes_and_comes_with_what_changes_the_shape(keyed: Object) -> None:
    keyed.shape_key_clear()
    check()
    assert not modifiers_with(keyed, "SHAPE")
    assert is_right(keyed)
    keyed.modifiers.new("Displace", "DISPLACE").strength = 0.02
    keyed.modifiers.move(2, 0)
    check()
    assert names(keyed) == ["Displace", SHAPE_NAME, "Armature", ours(keyed).name]
    assert is_right(keyed)
    keyed.modifiers.remove(keyed.modifiers["Displace"])


def removed(obj: Object) -> None:
    obj.modifiers.remove(obj.modifiers[SHAPE_NAME])


def turned_off(obj: Object) -> None:
    obj.modifiers[SHAPE_NAME].show_viewport = False


def moved(obj: Object) -> None:
    obj.modifiers.move(0, 2)


def copied(obj: Object) -> None:
    copy = obj.modifiers.new("Copy", "NODES")
    copy.node_group = obj.modifiers[SHAPE_NAME].node_group


def edited(obj: Object) -> None:
    obj.modifiers[SHAPE_NAME].node_group.links.clear()


@pytest.mark.parametrize("mishap", [removed, turned_off, moved, copied, edited])
def test_is_put_right_again(keyed: Object, mishap: Callable[[Object], None]) -> None:
    mishap(keyed)
    check()
    assert names(keyed) == [SHAPE_NAME, "Armature", ours(keyed).name]
    assert is_right(keyed)


def test_without_it_nothing_is_measured() -> None:
    new_file()
    obj, rig = build_limb()
    add_key(obj)
    twin = plain_twin(obj, preserve_volume=True)
    obj.dq_compensation.use_ball_joints = False
    api.enable(obj, use_ball_joints=False)
    pose_limb(rig)
    assert distance(evaluated_positions(obj), evaluated_positions(twin)) > 1e-3
    left_alone = link(obj.copy())
    left_alone.dq_compensation.is_enabled = False
    removed(left_alone)
    assert distance(evaluated_positions(left_alone), evaluated_positions(twin)) < 1e-6


def test_the_object_may_stand_elsewhere(keyed: Object) -> None:
    keyed.location, keyed.rotation_euler = (0.3, -0.1, 0.2), (0.1, 0.2, 0.3)
    bpy.context.view_layer.update()
    check()
    assert is_right(keyed)


def test_the_active_modifier_stays_active() -> None:
    new_file()
    obj, _ = build_limb()
    add_key(obj)
    obj.modifiers.active = obj.modifiers["Armature"]
    enable(obj)
    assert obj.modifiers.active == obj.modifiers["Armature"]
    disable(obj)
    assert obj.modifiers.active == obj.modifiers["Armature"]
