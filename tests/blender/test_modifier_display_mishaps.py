"""Errors of enabled objects are reported, stay with one object, and deform nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.lifecycle.reconcile import compare_with_file
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.session.memory import memories
from dq_compensation.session.status import Status
from tests.blender.enabled_scenes import (
    check,
    datablocks,
    disable,
    enable,
    enabled_character,
    error,
    is_base,
    ours,
    select,
)
from tests.blender.scene_builders import (
    add_grid,
    character,
    evaluated_positions,
    linked_copy,
    pose_at_random,
    skin,
)
from tests.limb import build_limb, pose_limb
from tests.replaced_functions import replace_everywhere

# In parts of the size: node trees compute in float32.
TOLERANCE = 1e-4


pytestmark = pytest.mark.usefixtures("addon")


@pytest.mark.parametrize(
    ("method", "softness"), [("COMPENSATED", 0.0), ("COMPENSATED", 0.5), ("SPHERICAL_JOINT", 0.0)]
)
def test_without_ours_the_armature_modifier_deforms_again(method: str, softness: float) -> None:
    obj, armature = character()
    pose_at_random(armature, seed=3)
    plain = evaluated_positions(obj)
    obj.dq_compensation.method, obj.dq_compensation.softness = method, softness
    obj.modifiers.remove(enable(obj))
    check()
    assert "was applied or removed" in str(problem_of(obj))
    assert not any("twice" in note for note in notes_of(obj))
    np.testing.assert_allclose(evaluated_positions(obj), plain, atol=1e-6)
    select(obj)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert error(obj) <= TOLERANCE
    disable(obj)
    np.testing.assert_allclose(evaluated_positions(obj), plain, atol=1e-6)


def test_an_applied_modifier_is_not_added_again() -> None:
    obj, armature = enabled_character()
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    pose_at_random(armature, seed=3)
    shape = evaluated_positions(obj)
    select(obj)
    bpy.ops.object.modifier_apply(modifier=ours(obj).name)
    check()
    assert "was applied or removed" in str(problem_of(obj))
    np.testing.assert_allclose(evaluated_positions(obj), shape, atol=1e-6)
    select(obj)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert problem_of(obj) is None
    assert error(obj) <= TOLERANCE


def test_one_failure_leaves_the_other_objects_right(monkeypatch: pytest.MonkeyPatch) -> None:
    first, armature = enabled_character()
    second = add_grid(name="Shirt")
    skin(second, armature, seed=1)
    enable(second)

    def failing(skinned: SkinnedObject, *args: object, **options: object) -> object:
        if skinned.obj == first:
            raise RuntimeError("the moon is full")
        return compare_with_file(skinned, *args, **options)  # type: ignore[arg-type]

    replace_everywhere(monkeypatch, compare_with_file, failing)
    second.vertex_groups[0].add([0, 1, 2], 1.0, "REPLACE")
    check()
    assert "the moon is full" in str(problem_of(first))
    assert problem_of(second) is None
    pose_at_random(armature, seed=5)
    assert error(second) <= TOLERANCE


def test_nothing_is_kept_of_deleted_objects() -> None:
    obj, armature = enabled_character()
    for number in range(3):
        other = add_grid(name=f"Shirt {number}")
        skin(other, armature, seed=number)
        enable(other)
        bpy.data.objects.remove(other)
    check()
    assert set(memories(Status)) == {obj.session_uid}
    assert len(memories(Binding)) <= 1


def test_another_armature_modifier_takes_the_place_of_a_deleted_one() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature, seed=2)
    second = obj.modifiers.new("Second", "ARMATURE")
    second.object = armature
    obj.modifiers.move(2, 1)
    check()
    obj.modifiers.remove(obj.modifiers["Armature"])
    check()
    assert is_base(obj)
    assert error(obj) <= TOLERANCE
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    assert not second.show_viewport
    assert not second.show_render
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert second.show_viewport
    assert second.show_render
    assert not second.use_deform_preserve_volume


def test_a_renamed_armature_modifier_comes_back_as_it_was() -> None:
    obj, _armature = enabled_character()
    obj.modifiers["Armature"].name = "Rig"
    check()
    disable(obj)
    assert obj.modifiers["Rig"].show_viewport
    assert obj.modifiers["Rig"].show_render
    assert not obj.modifiers["Rig"].use_deform_preserve_volume


def test_objects_that_share_a_mesh_may_differ() -> None:
    obj, armature = enabled_character()
    twin = linked_copy(obj)
    check()
    pose_at_random(armature, seed=4)
    alike = how_many()
    for curve in ("FITTED", "MEASURED"):
        twin.dq_compensation.curve = curve  # type: ignore[attr-defined]
        assert problem_of(twin) is None
        assert error(obj) <= TOLERANCE
        assert error(twin) <= TOLERANCE
    assert how_many() == alike, "one set of attributes serves both again"


def how_many() -> dict[str, int]:
    """Of what enabling could add; a palette keeps what it was asked for, in groups of its tree."""
    return {
        kind: sum(not name.startswith(".") for name in names)
        for kind, names in datablocks().items()
    }


def with_envelopes(twin: bpy.types.Object) -> None:
    for group in twin.vertex_groups:
        group.remove(range(12))
    twin.modifiers["Armature"].use_bone_envelopes = True


def elsewhere(twin: bpy.types.Object) -> None:
    twin.location.y += 0.3


@pytest.mark.parametrize("change", [with_envelopes, elsewhere])
def test_objects_that_share_a_mesh_may_be_bound_otherwise(
    change: Callable[[bpy.types.Object], None],
) -> None:
    obj, armature = character()
    twin = linked_copy(obj)
    change(twin)
    bpy.context.view_layer.update()
    enable(obj)
    enable(twin)
    pose_at_random(armature, seed=4)
    assert error(obj) <= TOLERANCE
    assert error(twin) <= TOLERANCE


def with_another_curve(other: bpy.types.Object) -> None:
    other.dq_compensation.curve = "FITTED"  # type: ignore[attr-defined]


def on_another_rig(other: bpy.types.Object) -> None:
    """The tables of its palette begin with joints that the first one does not have."""
    rig = linked_copy(other.parent)
    other.modifiers["Armature"].object = other.parent = rig
    twin = linked_copy(other, own_data=True)
    twin.dq_compensation.limb_axis = "Z"  # type: ignore[attr-defined]
    bpy.context.view_layer.update()
    enable(twin)


@pytest.mark.parametrize("change", [elsewhere, with_another_curve, on_another_rig])
def test_a_mesh_that_was_written_for_another_object_is_written_anew(
    change: Callable[[bpy.types.Object], None],
) -> None:
    """An undo leaves it like this, too: it may read a shared mesh, and keep an object."""
    obj, armature = build_limb()
    other = linked_copy(obj, own_data=True)
    change(other)
    bpy.context.view_layer.update()
    enable(obj)
    enable(other)
    pose_limb(armature)
    obj.data = other.data
    check()
    assert error(obj) <= TOLERANCE
    assert error(other) <= TOLERANCE


def test_weights_of_a_shared_mesh_are_followed_by_all_who_share_it() -> None:
    obj, armature = build_limb()
    obj.dq_compensation.method = "SPHERICAL_JOINT"  # type: ignore[attr-defined]
    enable(obj)
    twin = linked_copy(obj)
    check()
    pose_at_random(armature, seed=4)
    # A set of bones that no vertex had: the tree is told how many sets there are.
    obj.vertex_groups["Hand"].add(range(0, 800, 7), 0.3, "REPLACE")
    obj.data.update()
    check()
    assert error(obj) <= TOLERANCE
    assert error(twin) <= TOLERANCE


def test_another_armature_is_followed_though_nobody_else_needs_its_palette() -> None:
    obj, _ = build_limb("Arm")
    enable(obj)
    linked_copy(obj, own_data=True)
    other, rig = build_limb("Other")
    enable(other)
    # What is in no scene is not evaluated, nor is the palette for it alone.
    bpy.context.scene.collection.objects.unlink(other)
    check()
    obj.modifiers["Armature"].object = rig
    check()
    pose_limb(rig)
    assert error(obj) <= TOLERANCE


def test_an_armature_whose_bones_the_file_has_lost_is_refused(tmp_path: Path) -> None:
    obj, armature = build_limb()
    enable(obj)
    path = str(tmp_path / "lost.blend")
    armature.data.user_clear()  # Blender saves what has a user
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    bpy.ops.wm.open_mainfile(filepath=path)
    check()
    obj = bpy.data.objects["Limb"]
    assert "has no armature" in str(problem_of(obj))
    select(obj)
    assert bpy.ops.dqc.check() == {"FINISHED"}
    disable(obj)


def test_a_pose_that_is_no_number_is_reported_with_the_bones_name() -> None:
    obj, armature = enabled_character()
    bone = armature.pose.bones[1]
    bone.location.x = float("nan")
    bpy.context.view_layer.update()
    check()
    assert bone.name in str(problem_of(obj))
    bone.location.x = 0.0
    bpy.context.view_layer.update()
    check()
    assert problem_of(obj) is None
