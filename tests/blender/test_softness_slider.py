"""While the slider of *Softness* moves, nothing is read or joined anew that it leaves as it is.

What is kept gives the same weights, bit by bit, as what is read anew.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation.analysis.face_features import feature_bones
from dq_compensation.analysis.soft_weights import smooth_radii
from dq_compensation.core import ropes as rope_signs
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import equality_digest
from dq_compensation.scene.blender.mesh import mesh_of, read_weights, write_first_weights
from dq_compensation.scene.settings.addon_preferences import soft_weights_are_proved
from dq_compensation.session.known_bindings import current_binding
from dq_compensation.session.memory import memories
from dq_compensation.softness.softening import ReadSkins
from tests.blender.enabled_scenes import check, disable, error
from tests.blender.scene_builders import edit_mode, evaluated_positions, linked_copy
from tests.blender.softness_scenes import TOLERANCE, Scene, copy_of, groups_of, soft_limb
from tests.replaced_functions import count_calls, replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")

Change = Callable[[bpy.types.Object, bpy.types.Object], object]


@pytest.fixture
def limb() -> Scene:
    return soft_limb()


def test_a_slider_that_moves_reads_no_mesh_and_joins_none(
    limb: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = limb
    before = evaluated_positions(obj)
    # The test of the weights looks for the joints of each.
    replace_everywhere(monkeypatch, soft_weights_are_proved, lambda: False)
    calls = count_calls(monkeypatch, bind, feature_bones, smooth_radii)
    ropes = count_calls(monkeypatch, rope_signs._alone, within=rope_signs)
    for softness in (0.8, 0.3, 1.0):
        obj.dq_compensation.softness = softness
    assert not calls
    assert not ropes
    assert np.abs(evaluated_positions(obj) - before).max() > 1e-3
    assert error(obj) <= TOLERANCE


def _nothing(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    """The slider alone."""


def _a_weight(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.vertex_groups["Lower"].add(range(300, 380), 0.5, "ADD")
    obj.data.update()


def _a_vertex(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.data.vertices[300].co *= 1.2
    obj.data.update()


def _a_face(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.quads_convert_to_tris()


def _a_bone(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    with edit_mode(rig):
        rig.data.edit_bones["Lower"].head.y += 0.05


def _a_name(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.data.bones["Lower"].name = "Lower.L"


def _the_place(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.scale.z = 2.0


def _a_lock(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.vertex_groups["Hand"].lock_weight = True


def _a_kind(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.bone_kinds = "Hand=RIGID"


def _an_axis(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.limb_axis = "X"


def _a_group(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="Here").add(range(200, 400), 0.5, "REPLACE")
    obj.dq_compensation.softness_group = "Here"


def _another_mesh(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    other = linked_copy(obj)
    other.data = obj.data.copy()
    other.dq_compensation.lies_on = obj


@pytest.mark.parametrize(
    "change",
    [
        _nothing,
        _a_weight,
        _a_vertex,
        _a_face,
        _a_bone,
        _a_name,
        _the_place,
        _a_lock,
        _a_kind,
        _an_axis,
        _a_group,
        _another_mesh,
    ],
)
def test_what_is_kept_gives_the_weights_of_what_is_read(limb: Scene, change: Change) -> None:
    obj, rig = limb
    change(obj, rig)
    check()
    obj.dq_compensation.softness = 1.0
    check()
    kept = groups_of(copy_of(obj))
    obj.dq_compensation.softness = 0.5
    memories(ReadSkins).clear()
    obj.dq_compensation.softness = 1.0
    check()
    assert groups_of(copy_of(obj)) == kept
    assert error(obj) <= TOLERANCE


def test_a_binding_gets_other_soft_weights_as_if_it_were_bound_anew(limb: Scene) -> None:
    obj, _ = limb
    settings = obj.dq_compensation
    for name, value in (
        ("softness", 0.8),
        ("as_painted", True),
        ("as_painted", False),
        ("softness", 0.0),
        ("softness", 0.3),
    ):
        setattr(settings, name, value)
        check()
        known, anew = current_binding(obj), bind(obj)
        assert equality_digest(known) == equality_digest(anew)
        assert known.structure == anew.structure
        assert known.content == anew.content


def test_what_is_kept_is_forgotten_with_the_character(limb: Scene) -> None:
    obj, _ = limb
    assert memories(ReadSkins)
    disable(obj)
    check()
    assert not memories(ReadSkins)


def test_weights_are_written_as_they_are_read(limb: Scene) -> None:
    """Whatever their order, beside what else the mesh has."""
    obj, _ = limb
    wanted = read_weights(mesh_of(obj))
    mesh = bpy.data.meshes.new("Points")
    mesh.vertices.add(wanted.vertex_count)
    kept = mesh.attributes.new("Kept", "INT", "POINT")
    kept.data.foreach_set("value", np.arange(wanted.vertex_count, dtype=np.int32))
    other = bpy.data.objects.new("Points", mesh)
    for group in obj.vertex_groups:
        other.vertex_groups.new(name=group.name)
    order = np.random.default_rng(0).permutation(len(wanted.vertices))
    write_first_weights(
        mesh, *(each[order] for each in (wanted.vertices, wanted.groups, wanted.weights))
    )
    assert groups_of(other) == groups_of(obj)
    values = np.empty(wanted.vertex_count, np.int32)
    mesh.attributes["Kept"].data.foreach_get("value", values)
    assert (values == np.arange(wanted.vertex_count)).all()


def test_what_is_kept_is_freed_at_once_when_weights_change(limb: Scene) -> None:
    """It may be large: no cycle may keep it until Python collects cycles."""
    obj, _ = limb
    (read,) = memories(ReadSkins).values()
    joined = list(map(weakref.ref, read.joined.values()))
    assert joined
    del read
    gc.disable()
    try:
        obj.vertex_groups[0].add([0], 0.4, "REPLACE")
        check()
        assert [each() for each in joined] == [None] * len(joined)
    finally:
        gc.enable()
