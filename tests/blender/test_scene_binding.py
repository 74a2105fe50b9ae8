"""Binding real objects: what is read, what is refused and in which words, what is noticed."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skinning import linear_blend
from dq_compensation.errors import BindingError
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.blender.placement import object_to_armature
from dq_compensation.scene.blender.rigging import deformation_refusal, notes
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from human.model import build_human, load_human_arrays
from tests.blender.scene_builders import (
    add_armature,
    add_grid,
    add_mesh,
    character,
    edit_mode,
    evaluated_positions,
    link,
    new_file,
    pose_at_random,
    skin,
)

pytestmark = pytest.mark.usefixtures("addon")


def assert_linear_is_blenders(obj: bpy.types.Object, armature: bpy.types.Object) -> Binding:
    """Binding and pose, put through LINEAR, give the positions of the Armature modifier."""
    binding = bind(obj)
    expected = evaluated_positions(obj)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    pose = Pose.from_matrices(
        binding.pose_matrices(armature.evaluated_get(depsgraph)), binding.skeleton
    )
    to_armature = object_to_armature(obj, armature)
    rest = binding.rest @ to_armature[:3, :3].T + to_armature[:3, 3]
    posed, _ = linear_blend(rest, None, binding.influences, pose)
    back = np.linalg.inv(to_armature)
    positions = posed @ back[:3, :3].T + back[:3, 3]
    size = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(positions, expected, atol=1e-5 * max(size, 1.0))
    return binding


def weights_by_bone(binding: Binding) -> dict[str, np.ndarray]:
    influences: Influences = binding.influences
    return {
        name: np.where(influences.bones == index, influences.weights, 0.0).sum(axis=1)
        for index, name in enumerate(binding.skeleton.names)
    }


# What is read


def test_linear_skinning_of_a_binding_is_the_armature_modifier() -> None:
    obj, armature = character()
    pose_at_random(armature)
    assert_linear_is_blenders(obj, armature)


def test_the_human_with_all_its_influences() -> None:
    new_file()
    obj, armature = build_human()
    arrays = load_human_arrays()
    binding = bind(obj)
    assert binding.skeleton.bone_count == 163
    assert binding.influences.width == 9
    np.testing.assert_array_equal(
        binding.influences.counts(), np.bincount(arrays.weight_vertex, minlength=13380)
    )
    np.testing.assert_allclose(binding.rest, arrays.vertices, atol=1e-7)
    pose_at_random(armature)
    assert_linear_is_blenders(obj, armature)


def test_groups_of_bones_that_do_not_deform_are_left_out_before_normalising() -> None:
    obj, armature = character()
    armature.data.bones["Upper"].use_deform = False
    pose_at_random(armature)
    weights = weights_by_bone(assert_linear_is_blenders(obj, armature))
    assert not weights["Upper"].any()
    np.testing.assert_allclose(weights["Root"] + weights["Lower"], 1.0, atol=1e-6)


def test_groups_without_a_bone_and_vertices_without_weight_stay_out() -> None:
    obj, armature = character()
    obj.vertex_groups.new(name="Pin").add(range(10), 1.0, "REPLACE")
    for name in ("Root", "Upper", "Lower"):
        obj.vertex_groups[name].add([0], 0.0, "REPLACE")
        obj.vertex_groups[name].add([1], 3e-5, "REPLACE")  # together less than 1e-4
        obj.vertex_groups[name].remove([2])
    pose_at_random(armature)
    binding = assert_linear_is_blenders(obj, armature)
    np.testing.assert_array_equal(binding.influences.counts()[:3], 0)
    assert binding.influences.counts()[3:].min() == 3


def test_mesh_and_armature_with_transforms_of_their_own() -> None:
    obj, armature = character()
    obj.location, obj.rotation_euler, obj.scale = (1, 2, 3), (0.3, 0.2, 0.1), (2, -1, 0.5)
    armature.location, armature.rotation_euler, armature.scale = (0, 1, 0), (0, 0.7, 0), (1, 3, 1)
    pose_at_random(armature)
    assert_linear_is_blenders(obj, armature)


def test_the_painted_weights_of_a_group() -> None:
    obj, _armature = character()
    group = obj.vertex_groups.new(name="DQ")
    group.add([3], 0.25, "REPLACE")
    group.add([5], 1.0, "REPLACE")
    painted = bind(obj).painted("DQ")
    assert painted.dtype == np.float32
    assert painted[3] == 0.25
    assert painted[5] == 1.0
    assert painted.sum() == 1.25


@pytest.mark.parametrize("name", ["", "Gone"])
def test_no_painted_group_means_everywhere(name: str) -> None:
    obj, _armature = character()
    np.testing.assert_array_equal(bind(obj).painted(name), 1.0)


def test_amounts_are_one_number_per_vertex_and_kept() -> None:
    obj, _armature = character()
    binding = bind(obj)
    amounts = binding.compensation(Settings(curve="FITTED")).amounts
    assert amounts.shape == (36,)
    assert amounts.any()
    assert binding.compensation(Settings(curve="FITTED")).amounts is amounts
    assert not np.array_equal(binding.compensation(Settings(curve="SLIDES")).amounts, amounts)
    measured = binding.measured(Settings())
    assert binding.compensation(Settings()) is measured
    assert measured.amounts.any()
    assert binding.measured(Settings()) is measured
    assert len(binding.sets.set_of_vertex) == 36


def test_names_beyond_ascii() -> None:
    new_file()
    names = ("Схема", "上腕", "Ärmel")
    obj, armature = add_grid(name="Körper"), add_armature(names, name="骨架")
    skin(obj, armature, groups=names)
    pose_at_random(armature)
    assert assert_linear_is_blenders(obj, armature).skeleton.names == names


def test_two_objects_that_share_a_mesh_and_have_rigs_of_their_own() -> None:
    obj, armature = character()
    twin = link(bpy.data.objects.new("Twin", obj.data))
    other = add_armature(name="Other Rig")
    twin.modifiers.new("Armature", "ARMATURE").object = other
    pose_at_random(armature, seed=1)
    pose_at_random(other, seed=2)
    first = assert_linear_is_blenders(obj, armature)
    second = assert_linear_is_blenders(twin, other)
    assert first.mesh_uid == second.mesh_uid
    assert first.object_uid != second.object_uid
    assert first.armature_uid != second.armature_uid


def test_linked_library_data_binds_without_being_changed(tmp_path: Path) -> None:
    obj, armature = character()
    bpy.data.libraries.write(str(tmp_path / "rig.blend"), {obj, armature}, fake_user=True)
    new_file()
    for name in ("Body", "Rig"):
        bpy.ops.wm.link(directory=str(tmp_path / "rig.blend" / "Object"), filename=name)
    bpy.context.view_layer.update()
    body, rig = (bpy.data.objects[name] for name in ("Body", "Rig"))
    assert body.library is not None
    assert deformation_refusal(SkinnedObject(body)) is None
    assert_linear_is_blenders(body, rig)


@pytest.mark.parametrize(
    ("vertices", "faces"),
    [([], []), ([(0.2, 0, 0)], []), ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (5, 5, 5)], [(0, 1, 2)])],
)
def test_small_meshes(vertices: list[tuple[float, ...]], faces: list[tuple[int, ...]]) -> None:
    new_file()
    obj, armature = add_mesh(vertices, faces), add_armature()
    skin(obj, armature)
    pose_at_random(armature)
    binding = assert_linear_is_blenders(obj, armature)
    assert binding.vertex_count == len(vertices)
    assert binding.topology.vertex_count == len(vertices)
    assert binding.compensation(Settings(curve="FITTED")).amounts.shape == (len(vertices),)
    assert len(binding.sets.set_of_vertex) == len(vertices)


def test_weights_of_groups_that_are_gone_are_no_influences() -> None:
    obj, armature = character()
    obj.vertex_groups.remove(obj.vertex_groups["Upper"])
    obj.data.update()  # 4.x goes on evaluating the old weights otherwise
    pose_at_random(armature)
    assert not weights_by_bone(assert_linear_is_blenders(obj, armature))["Upper"].any()


# What is refused


def test_nothing_is_wrong_with_a_character() -> None:
    obj, _armature = character()
    assert deformation_refusal(SkinnedObject(obj)) is None
    assert notes(SkinnedObject(obj)) == []


def refusal(obj: bpy.types.Object) -> str:
    """The sentence of `deformation_refusal`; `bind` says the same."""
    bpy.context.view_layer.update()
    sentence = deformation_refusal(SkinnedObject(obj))
    assert sentence is not None
    with pytest.raises(BindingError) as error:
        bind(obj)
    assert str(error.value) == sentence
    return sentence


def test_an_object_that_is_not_a_mesh() -> None:
    _obj, armature = character()
    assert refusal(armature).startswith("Rig is not a mesh.")


def test_no_armature_modifier() -> None:
    obj, _armature = character()
    obj.modifiers.clear()
    assert refusal(obj) == (
        "Body has no Armature modifier. Add one (Ctrl P, Armature Deform) and press Enable again."
    )


def test_an_armature_modifier_without_an_armature() -> None:
    obj, _armature = character()
    obj.modifiers["Armature"].object = None
    assert refusal(obj).startswith("Body has no armature in its modifier Armature.")


def test_an_armature_that_was_deleted() -> None:
    obj, armature = character()
    bpy.data.objects.remove(armature)
    assert refusal(obj).startswith("Body has no armature in its modifier Armature.")


def test_neither_groups_nor_envelopes() -> None:
    obj, _armature = character()
    obj.modifiers["Armature"].use_vertex_groups = False
    assert "uses neither vertex groups nor bone envelopes" in refusal(obj)


def test_no_bone_deforms() -> None:
    obj, armature = character()
    for bone in armature.data.bones:
        bone.use_deform = False
    assert refusal(obj).startswith("Rig has no bones that deform.")


def test_no_group_has_a_bones_name() -> None:
    new_file()
    obj = add_grid()
    skin(obj, add_armature(), groups=("Arm", "Leg"))
    assert refusal(obj).startswith("Body follows no bone: no vertex group has the name of")


def test_a_mesh_in_edit_mode() -> None:
    obj, _armature = character()
    with edit_mode(obj):
        assert refusal(obj).startswith("Body is in Edit Mode.")
    assert deformation_refusal(SkinnedObject(obj)) is None


@pytest.mark.parametrize("flat", ["Body", "Rig"])
def test_an_object_without_size(flat: str) -> None:
    obj, _armature = character()
    bpy.data.objects[flat].scale = (1.0, 0.0, 1.0)
    assert refusal(obj).startswith(f"{flat} has a scale of zero")


def test_a_small_but_real_scale_is_fine() -> None:
    obj, armature = character()
    armature.scale = obj.scale = (0.001, 0.001, 0.001)
    pose_at_random(armature)
    assert deformation_refusal(SkinnedObject(obj)) is None
    assert_linear_is_blenders(obj, armature)


# What is noticed


def test_notes_name_what_does_not_show() -> None:
    obj, armature = character()
    obj.modifiers.new("Smooth", "SMOOTH")
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(obj.modifiers.find(mirror.name), 0)
    obj.modifiers.new("Second", "ARMATURE").object = armature
    obj.modifiers.new("Hidden", "SUBSURF").show_viewport = False
    armature.data.pose_position = "REST"
    message = "\n".join(notes(SkinnedObject(obj)))
    for words in (
        "Modifiers before Armature do not show: Mirror.",
        "Modifiers after Armature do not show: Smooth.",
        "more Armature modifiers: Second.",
        "Rig is in Rest Position",
    ):
        assert words in message
    assert "Hidden" not in message


def test_the_first_armature_modifier_with_an_armature_counts() -> None:
    obj, armature = character()
    empty = obj.modifiers.new("Empty", "ARMATURE")
    obj.modifiers.move(obj.modifiers.find(empty.name), 0)
    pose_at_random(armature)
    assert assert_linear_is_blenders(obj, armature).armature_name == armature.name


def test_notes_of_anything_else_are_empty() -> None:
    obj, armature = character()
    assert notes(SkinnedObject(armature)) == []
    obj.modifiers.clear()
    assert notes(SkinnedObject(obj)) == []
