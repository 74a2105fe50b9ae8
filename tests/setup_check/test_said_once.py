"""A character of several meshes: what concerns all of them is said once, and fixed for all."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import pytest

from dq_compensation import api
from tests.blender.enabled_scenes import select
from tests.limb import build_limb
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
