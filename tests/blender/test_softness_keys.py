"""With Softness, bendy bones move the shape that shape keys make, as with the weights painted in.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise. The key moves
vertices by up to 0.08 along bendy bones: taken for an affine map of each vertex, that would be
5e-3 off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation.modifier.installation import install
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.vertex_groups import write_groups
from tests.blender.enabled_scenes import (
    check,
    disable,
    distance,
    enable,
    error,
    rest_of,
    without_addon,
)
from tests.blender.scene_builders import edit_mode, evaluated_positions, linked_copy
from tests.blender.softness_scenes import (
    AMOUNT,
    TOLERANCE,
    Scene,
    copy_of,
    counted_computations,
    painted_in,
    size_of,
    soft_copies,
)
from tests.kept_files import new_file
from tests.limb import build_bendy_limb
from tests.replaced_functions import count_calls

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object
# What the key moves at least.
SEEN = 0.01


def blocks_of(obj: Object) -> bpy.types.bpy_prop_collection:
    return obj.data.shape_keys.key_blocks


def add_key(obj: Object, name: str, scale: tuple[float, float, float], relative: str = "") -> None:
    block = obj.shape_key_add(name=name, from_mix=False)
    shape = rest_of(obj) * np.float32(scale)
    block.points.foreach_set("co", shape.ravel())
    block.value = 0.0  # Blender 5.2 gives 1
    if relative:
        block.relative_key = blocks_of(obj)[relative]


@pytest.fixture
def keyed() -> Scene:
    """The limb, soft, its bones bendy and curved, with two keys, at 0."""
    new_file()
    obj, rig = build_bendy_limb(6)
    obj.shape_key_add(name="Basis")
    add_key(obj, "Longer", (1.08, 1.2, 1.2))
    add_key(obj, "Longer still", (1.12, 1.3, 1.3), relative="Longer")
    enable(obj)
    obj.dq_compensation.softness = AMOUNT
    check()
    assert copy_of(obj).data.shape_keys is not None
    return obj, rig


def _values(obj: Object, rig: Object) -> None:
    blocks_of(obj)["Longer"].value = 0.7
    blocks_of(obj)["Longer still"].value = 0.5


def _beyond(obj: Object, rig: Object) -> None:
    blocks_of(obj)["Longer"].slider_min = -2.0
    blocks_of(obj)["Longer"].value = -1.5


def _one_is_muted(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    blocks_of(obj)["Longer still"].mute = True


def _one_alone(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    obj.active_shape_key_index = 2
    obj.show_only_shape_key = True


def _its_group(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    obj.vertex_groups.new(name="Part")
    write_groups(obj, {"Part": rest_of(obj)[:, 0].clip(0.0, 1.0)})
    blocks_of(obj)["Longer"].vertex_group = "Part"


def _renamed(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    blocks_of(obj)["Longer"].name = 'The "long" one'


def _other_order(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    obj.active_shape_key_index = 1
    bpy.ops.object.shape_key_move(type="DOWN")


def _one_is_removed(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    obj.shape_key_remove(blocks_of(obj)["Longer still"])


def _another_shape(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    points = blocks_of(obj)["Longer"].points
    points.foreach_set("co", (rest_of(obj) * np.float32((0.95, 1.1, 1.3))).ravel())
    obj.data.update()


def _a_bone_drives_it(obj: Object, rig: Object) -> None:
    curve = blocks_of(obj)["Longer"].driver_add("value")
    variable = curve.driver.variables.new()
    variable.name, variable.type = "bend", "TRANSFORMS"
    target = variable.targets[0]
    target.id, target.bone_target, target.transform_type = rig, "Lower", "ROT_Z"
    target.transform_space = "LOCAL_SPACE"
    curve.driver.expression = "bend / 2"


def _blended(obj: Object, rig: Object) -> None:
    _values(obj, rig)
    obj.vertex_groups.new(name="Blend")
    write_groups(obj, {"Blend": rest_of(obj)[:, 0].clip(0.0, 1.0)})
    obj.dq_compensation.blend_group = "Blend"


CHANGES = (
    _values,
    _beyond,
    _one_is_muted,
    _one_alone,
    _its_group,
    _renamed,
    _other_order,
    _one_is_removed,
    _another_shape,
    _a_bone_drives_it,
    _blended,
)


@pytest.mark.parametrize("change", CHANGES)
def test_the_shape_of_keys_is_bent_as_painted_in(
    keyed: Scene, change: Callable[[Object, Object], None]
) -> None:
    obj, rig = keyed
    before = evaluated_positions(obj)
    change(obj, rig)
    check()
    assert distance(evaluated_positions(obj), before, size_of(obj)) > SEEN
    painted_in(obj)


def test_frames_and_sliders_bind_and_compute_nothing(
    keyed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = keyed
    block = blocks_of(obj)["Longer"]
    for frame, value in ((1, 0.0), (10, 1.0)):
        block.value = value
        block.keyframe_insert("value", frame=frame)
    check()
    computed: Counter[str] = counted_computations(monkeypatch)
    calls = count_calls(monkeypatch, bind, install)
    for frame in (1, 5, 10):
        bpy.context.scene.frame_set(frame)
        assert error(obj) <= TOLERANCE
    blocks_of(obj)["Longer still"].value = 0.5
    assert error(obj) <= TOLERANCE
    assert not computed
    assert not calls["install"]


def test_keys_come_and_go_with_what_needs_them(keyed: Scene) -> None:
    obj, rig = keyed
    _values(obj, rig)
    copy = copy_of(obj)
    displace = obj.modifiers.new("Displace", "DISPLACE")
    displace.strength = 0.01
    obj.modifiers.move(obj.modifiers.find("Displace"), 0)
    check()
    assert copy.data.shape_keys is None
    obj.modifiers.remove(obj.modifiers["Displace"])
    check()
    assert copy.data.shape_keys is not None
    painted_in(obj)
    for bone in rig.data.bones:
        bone.bbone_segments = 1
    check()
    assert copy_of(obj).data.shape_keys is None
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert soft_copies() == []
    assert [key.user for key in bpy.data.shape_keys] == [obj.data]


def test_a_duplicate_follows_its_own_keys(keyed: Scene) -> None:
    obj, _ = keyed
    twin = linked_copy(obj, own_data=True)
    check()
    blocks_of(twin)["Longer"].value = 1.0
    assert max(error(obj), error(twin)) <= TOLERANCE
    assert distance(evaluated_positions(obj), evaluated_positions(twin), size_of(obj)) > SEEN


def test_undo_and_redo_go_through_every_step() -> None:
    new_file()
    obj, _ = build_bendy_limb(6)
    enable(obj)
    shown = []

    def step() -> None:
        check()
        shown.append(evaluated_positions(bpy.data.objects["Limb"]))
        bpy.ops.ed.undo_push(message=f"{len(shown)}")

    step()
    obj.dq_compensation.softness = AMOUNT
    step()
    for name in ("Basis", "Longer"):
        add_key(bpy.data.objects["Limb"], name, (1.08, 1.2, 1.2) if name == "Longer" else (1, 1, 1))
        step()
    blocks_of(bpy.data.objects["Limb"])["Longer"].value = 1.0
    step()
    bpy.data.objects["Limb"].shape_key_clear()
    step()
    there, back = range(len(shown) - 2, -1, -1), range(1, len(shown))
    for places, go in ((there, bpy.ops.ed.undo), (back, bpy.ops.ed.redo), (there, bpy.ops.ed.undo)):
        for place in places:
            go()
            check()
            obj = bpy.data.objects["Limb"]
            assert distance(evaluated_positions(obj), shown[place], size_of(obj)) <= TOLERANCE
            assert error(obj) <= TOLERANCE


def test_an_undo_lets_go_of_what_a_script_has_caused_since_the_last_step(keyed: Scene) -> None:
    """Blender crashes where a mesh in memory points to keys that the step lacks."""
    obj, rig = keyed
    for place in (1.0, 2.0):
        bpy.ops.ed.undo_push(message="before")
        rig.location.x = place
        bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="moved")
    _another_shape(obj, rig)
    check()
    for restore in (bpy.ops.ed.undo, bpy.ops.ed.redo, bpy.ops.ed.undo):
        restore()
        obj = bpy.data.objects["Limb"]
        check()
        assert error(obj) <= TOLERANCE


def test_a_file_shows_them_without_the_addon(keyed: Scene, tmp_path: Path) -> None:
    obj, _ = keyed
    block = blocks_of(obj)["Longer"]
    for frame, value in ((1, 0.0), (10, 1.0)):
        block.value = value
        block.keyframe_insert("value", frame=frame)
    bpy.context.scene.frame_set(10)
    check()
    shown = evaluated_positions(obj)
    bpy.context.scene.frame_set(1)
    path = tmp_path / "keyed.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    expression = "(bpy.context.scene.frame_set(10), shown('Limb'))[1]"
    there = np.array(without_addon(path, expression))
    assert distance(there, shown, size_of(obj)) <= 1e-6


def test_an_edit_of_a_key_in_edit_mode(keyed: Scene) -> None:
    obj, _ = keyed
    obj.active_shape_key_index = 1
    blocks_of(obj)["Longer"].value = 1.0
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.transform.resize(value=(1.0, 1.0, 1.4))
    check()
    painted_in(obj)
