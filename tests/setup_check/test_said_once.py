"""A character of several meshes: what concerns all of them is said once, and fixed for all."""

from __future__ import annotations

from collections.abc import Callable

import bmesh
import bpy
import pytest

from dq_compensation import api
from tests.blender.enabled_scenes import select
from tests.limb import build_limb
from tests.setup_check.moving_rigs import turn_bones
from tests.setup_check.test_check_panel import draw

pytestmark = pytest.mark.usefixtures("addon")

COUNT = 25


@pytest.fixture
def meshes() -> list[bpy.types.Object]:
    """Copies of the limb, far enough from each other to be no seams, all on one armature."""
    first, _ = build_limb()
    found = [first]
    for number in range(1, COUNT):
        other = first.copy()
        other.data, other.name = first.data.copy(), f"Part {number}"
        bpy.context.collection.objects.link(other)
        found.append(other)
    select(*found)
    return found


def rig(meshes: list[bpy.types.Object]) -> bpy.types.Object:
    return meshes[0].modifiers[0].object


def of_check(issues: list[api.Issue], check: str) -> list[api.Issue]:
    return [issue for issue in issues if issue.check == check]


def scale_a_bone(meshes: list[bpy.types.Object]) -> None:
    rig(meshes).pose.bones["Lower"].scale = (1.0, 1.5, 1.0)
    bpy.context.view_layer.update()


def move_twice(meshes: list[bpy.types.Object]) -> None:
    """Each mesh is parented with the parent type Armature, too."""
    for obj in meshes:
        obj.parent, obj.parent_type = rig(meshes), "ARMATURE"
    bpy.context.view_layer.update()


@pytest.mark.parametrize(
    ("plant", "check"), [(scale_a_bone, "bone_scale"), (move_twice, "parenting")]
)
def test_25_meshes_have_one_finding(
    meshes: list[bpy.types.Object],
    plant: Callable[[list[bpy.types.Object]], None],
    check: str,
) -> None:
    plant(meshes)
    (issue,) = of_check(api.check(rig(meshes)), check)
    assert set(issue.meshes) == {obj.name for obj in meshes}
    assert f"and {COUNT - 3} more" in issue.message
    bpy.ops.dqc.check()
    layout = draw()
    buttons = [each for name, _, each in layout.buttons if name == "dqc.fix"]
    (button,) = [each for each in buttons if each.check == check]
    assert bpy.ops.dqc.fix(**vars(button)) == {"FINISHED"}
    assert not of_check(api.check(rig(meshes)), check)
    assert not any(of_check(api.check(obj), check) for obj in meshes)


def test_bones_of_another_mesh_that_are_a_part_of_them_are_not_said_again(
    meshes: list[bpy.types.Object],
) -> None:
    for obj in meshes[1:]:
        bpy.data.objects.remove(obj)
    body, small = meshes[0], meshes[0].copy()
    small.data, small.name = body.data.copy(), "Small"
    bpy.context.collection.objects.link(small)
    small.vertex_groups.remove(small.vertex_groups["Hand"])
    for name in ("Lower", "Hand"):
        rig([body]).pose.bones[name].scale = (1.0, 1.5, 1.0)
    bpy.context.view_layer.update()
    (issue,) = of_check(api.check(rig([body])), "bone_scale")
    assert set(issue.bones) == {"Lower", "Hand"}
    assert issue.meshes == (body.name, "Small")


def test_what_one_mesh_has_alone_is_said_of_that_mesh(meshes: list[bpy.types.Object]) -> None:
    meshes[3].vertex_groups["Upper"].add(list(range(20)), 0.4, "REPLACE")
    (issue,) = of_check(api.check(rig(meshes)), "weight_sums")
    assert issue.meshes == (meshes[3].name,)
    assert "concerns" not in issue.message


def test_a_mesh_has_what_it_had(meshes: list[bpy.types.Object]) -> None:
    scale_a_bone(meshes)
    (issue,) = of_check(api.check(meshes[7]), "bone_scale")
    assert issue.meshes == ()
    assert "concerns" not in issue.message


def test_the_panel_names_no_mesh_of_one_character(meshes: list[bpy.types.Object]) -> None:
    bpy.ops.dqc.check()
    words = draw().words
    assert words == ["Setup Check", "Nothing to fix"]
    assert not {obj.name for obj in meshes} & set(words)


def two_halves() -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """The limb cut across at its elbow, one vertex of the seam a tenth of a millimetre off."""
    low, armature = build_limb("Low")
    high = low.copy()
    high.data, high.name = low.data.copy(), "High"
    bpy.context.collection.objects.link(high)
    for obj, keeps in ((low, lambda x: x < 0.76), (high, lambda x: x > 0.73)):
        cage = bmesh.new()
        cage.from_mesh(obj.data)
        others = [vertex for vertex in cage.verts if not keeps(vertex.co.x)]
        bmesh.ops.delete(cage, geom=others, context="VERTS")
        cage.to_mesh(obj.data)
        cage.free()
    nearest = min(high.data.vertices, key=lambda vertex: vertex.co.x)
    nearest.co.x -= 1e-4
    bpy.context.view_layer.update()
    return low, high, armature


def test_a_seam_that_opens_is_one_finding() -> None:
    low, high, armature = two_halves()
    (issue,) = of_check(api.check(armature), "open_seams")
    assert set(issue.meshes) == {"Low", "High"}
    assert issue.message.endswith("1 vertex lies up to 0.1 mm apart: it opens when it is posed.")
    assert "1 vertex is moved by" in issue.fixes[0].question
    results = api.fix(armature, "open_seams", agree=True)
    assert [each.state for of_mesh in results for each in of_mesh] == ["FIXED"]
    assert not of_check(api.check(low) + api.check(high), "open_seams")


def test_what_is_left_of_a_character_is_said_once(
    meshes: list[bpy.types.Object], capfd: pytest.CaptureFixture[str]
) -> None:
    """A scale by a driver has no fix, one of the pose asks before it is cleared."""
    for obj in meshes[4:]:
        bpy.data.objects.remove(obj)
    scale_a_bone(meshes)
    rig(meshes).pose.bones["Hand"].driver_add("scale", 0).driver.expression = "1.2"
    bpy.context.view_layer.update()
    results = api.fix(rig(meshes), "bone_scale")
    assert [len(of_mesh) for of_mesh in results] == [2, 0, 0, 0]
    assert {each.state for each in results[0]} == {"ASKS", "BY_HAND"}
    (by_hand,) = [each for each in results[0] if each.state == "BY_HAND"]
    assert "and 1 more" in by_hand.sentence
    bpy.ops.dqc.fix_all()
    said = capfd.readouterr().out
    asked = [each for each in of_check(api.check(rig(meshes)), "bone_scale") if each.fixes]
    assert len(asked) == 1
    assert "1 with a question" in said


def turned_limbs() -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """Two meshes on one armature: the bones of the one have Y along their limbs, of the other X."""
    straight, armature = build_limb("Straight")
    across, other = build_limb("Across")
    turn_bones(other, "X")
    for bone in other.data.bones:
        bone.name = f"{bone.name} across"
    select(other, armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.join()
    across.modifiers[0].object = across.parent = armature
    bpy.context.view_layer.update()
    return straight, across, armature


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("axis", ["Z", "X"])
def test_limb_axis_is_decided_once_for_a_character(enabled: bool, axis: str) -> None:
    """The meshes want different axes: both get the one that is wrong for the fewest bones."""
    straight, across, armature = turned_limbs()
    for each in (straight, across):
        each.dq_compensation.limb_axis = axis
    if enabled:
        api.enable([straight, across])
    (issue,) = [i for i in of_check(api.check(armature), "bone_orientation") if i.fixes]
    assert set(issue.meshes) == {"Straight", "Across"}
    results, now = [], set[str]()
    for _ in range(2):
        results = api.fix(armature, "bone_orientation", fix="set_limb_axis", agree=True)
        now = {each.dq_compensation.limb_axis for each in (straight, across)}
        assert len(now) == 1
    assert results
    assert not [each for of_mesh in results for each in of_mesh if each.state == "FIXED"]
    assert not enabled or armature.dq_compensation.limb_axis in now
