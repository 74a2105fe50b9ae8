"""Bones of an armature in Pose Mode, over the picture that covers those that Blender draws."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.following import reconcile_now
from dq_compensation.viewport.draw_handler import is_visible
from dq_compensation.viewport.drawn_bones import lines_of_bones
from dq_compensation.viewport.gpu_objects import drawing_refusal
from tests.blender.scene_builders import add_mesh
from tests.gpu.regions import picture, region
from tests.limb import BONE_LENGTH, build_limb, pose_limb
from tests.replaced_functions import replace_everywhere

SIZE = 128
# World Z up on the screen, seen along +Y; the limb, 1.5 long from the origin, is in the middle.
FRONT = Matrix(((1, 0, 0, -1.5 * BONE_LENGTH), (0, 0, 1, 0), (0, -1, 0, -4), (0, 0, 0, 1)))
ORTHOGRAPHIC = Matrix(np.diag([1.0, 1.0, -0.1, 1.0]).tolist())


class Pose:
    """The limb in Pose Mode, In Front, and the region that shows it in the GPU display."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        replace_everywhere(patch, is_visible, lambda obj, _: obj.visible_get())
        replace_everywhere(patch, drawing_refusal, lambda: None)
        self.limb, self.rig = build_limb()
        api.enable(self.limb, display="GPU")
        reconcile_now([self.limb])
        self.rig.show_in_front = True
        bpy.context.view_layer.objects.active = self.rig
        bpy.ops.object.mode_set(mode="POSE")
        self.context = region(patch)
        bpy.ops.pose.select_all(action="DESELECT")

    def picture(self) -> NDArray[np.float32]:
        """What the region shows now, (SIZE, SIZE, 3)."""
        bpy.context.view_layer.update()
        for name in ("visible_pose_bones", "selected_pose_bones", "active_pose_bone"):
            setattr(self.context, name, getattr(bpy.context, name))
        return picture(FRONT, ORTHOGRAPHIC, size=SIZE)[..., :3]

    def colour(self, bone: str) -> NDArray[np.float32]:
        """The colour at the middle of a bone."""
        posed = self.rig.pose.bones[bone]
        at = ORTHOGRAPHIC @ FRONT @ self.rig.matrix_world @ ((posed.head + posed.tail) / 2.0)
        column, row = (int((each + 1.0) / 2.0 * SIZE) for each in at[:2])
        return self.picture()[row, column]


@pytest.fixture
def pose(addon: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    yield Pose(monkeypatch)
    bpy.ops.object.mode_set(mode="OBJECT")


def theme(name: str) -> NDArray[np.float32]:
    """A colour of the theme; lines are smooth at their edges and full in their middle."""
    return np.float32(getattr(bpy.context.preferences.themes[0].view_3d, name)[:3])


def select(pose: Pose, *names: str) -> None:
    """Select bones as a click does; the last one is active."""
    for name in names:
        posed = pose.rig.pose.bones[name]
        (posed if hasattr(posed, "select") else posed.bone).select = True
        pose.rig.data.bones.active = posed.bone


def test_bones_are_drawn_in_the_colours_of_the_theme(pose: Pose) -> None:
    select(pose, "Lower", "Hand")
    for bone, colour in (("Upper", "wire"), ("Lower", "bone_pose"), ("Hand", "bone_pose_active")):
        np.testing.assert_allclose(pose.colour(bone), theme(colour), atol=0.02)


def _hide(pose: Pose) -> None:
    posed = pose.rig.pose.bones["Lower"]
    (posed if hasattr(posed, "hide") else posed.bone).hide = True


def _hide_collection(pose: Pose) -> None:
    armature = pose.rig.data
    collection = armature.collections.new("Hidden")
    shown = armature.collections.new("Shown")
    for bone in armature.bones:
        if bone.name != "Lower":
            shown.assign(bone)
    collection.assign(armature.bones["Lower"])
    collection.is_visible = False


@pytest.mark.parametrize("hide", [_hide, _hide_collection])
def test_hidden_bones_and_collections_are_not_drawn(pose: Pose, hide: Any) -> None:
    pose.rig.show_in_front = False
    without = pose.colour("Lower")
    pose.rig.show_in_front = True
    assert np.abs(pose.colour("Lower") - without).max() > 0.1
    hide(pose)
    np.testing.assert_allclose(pose.colour("Lower"), without, atol=1e-6)
    np.testing.assert_allclose(pose.colour("Upper"), theme("wire"), atol=0.02)


def test_bones_are_there_where_blender_draws_them_over_surfaces(pose: Pose) -> None:
    """In Front or Bone X-Ray; not in Object Mode, with overlays off, or among wires."""
    space = pose.context.space_data

    def drawn() -> bool:
        return bool(np.abs(pose.colour("Lower") - theme("wire")).max() < 0.02)

    assert drawn()
    space.overlay.show_bones = False
    assert not drawn()
    space.overlay.show_bones, pose.rig.show_in_front = True, False
    assert not drawn()
    space.overlay.show_xray_bone = True
    assert drawn()
    space.overlay.show_overlays = False
    assert not drawn()
    space.overlay.show_overlays, pose.rig.show_in_front = True, True
    bpy.ops.object.mode_set(mode="OBJECT")
    assert not drawn()


def test_the_overlay_does_not_cover_bones(pose: Pose) -> None:
    pose.limb.dq_compensation.display = "MODIFIER"
    pose.limb.dq_compensation.overlay = "LINEAR"
    reconcile_now([pose.limb])
    select(pose, "Lower")
    np.testing.assert_allclose(pose.colour("Lower"), theme("bone_pose_active"), atol=0.02)


def test_lines_are_at_the_bones(pose: Pose) -> None:
    """Heads and tails as Blender has them, to float32; a stretched bone, too."""
    pose_limb(pose.rig)
    pose.rig.location, pose.rig.rotation_euler = (3.0, -2.0, 1.0), (1.0, 0.5, 2.0)
    pose.rig.pose.bones["Upper"].scale = (1.0, 1.4, 0.8)
    bpy.context.view_layer.update()
    bones = list(pose.rig.pose.bones)
    evaluated = pose.rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points, of = lines_of_bones(evaluated, bones)
    assert of.tolist() == np.repeat(np.arange(len(bones)), 2).tolist()
    for bone, ends in zip(bones, points.reshape(-1, 2, 3), strict=True):
        expected = [pose.rig.matrix_world @ end for end in (bone.head, bone.tail)]
        np.testing.assert_allclose(ends, expected, atol=1e-5)


@pytest.mark.parametrize("by_length", [True, False])
def test_custom_shapes_are_drawn_where_blender_has_them(pose: Pose, by_length: bool) -> None:
    """As its manual says: moved, turned and scaled in the space of the bone, or of another one."""
    widget = add_mesh([(0, 0, 0), (0, 1, 0), (0.5, 1, 0)], [], name="Widget")
    widget.data.clear_geometry()
    widget.data.from_pydata([(0, 0, 0), (0, 1, 0), (0.5, 1, 0)], [(0, 1), (1, 2)], [])
    bone = pose.rig.pose.bones["Lower"]
    bone.custom_shape, bone.use_custom_shape_bone_size = widget, by_length
    bone.custom_shape_translation = (0.1, 0.2, 0.3)
    bone.custom_shape_rotation_euler = (0.4, -0.5, 0.6)
    bone.custom_shape_scale_xyz = (2.0, 0.5, 1.5)
    bone.custom_shape_transform = pose.rig.pose.bones["Hand"]
    pose_limb(pose.rig)
    bpy.context.view_layer.update()
    evaluated = pose.rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points, of = lines_of_bones(evaluated, [bone, pose.rig.pose.bones["Upper"]])
    assert of.tolist() == [0] * 4 + [1] * 2
    size = Vector(bone.custom_shape_scale_xyz) * (bone.bone.length if by_length else 1.0)
    local = Matrix.LocRotScale(
        bone.custom_shape_translation, bone.custom_shape_rotation_euler, size
    )
    to_world = pose.rig.matrix_world @ pose.rig.pose.bones["Hand"].matrix @ local
    expected = [to_world @ widget.data.vertices[number].co for number in (0, 1, 1, 2)]
    np.testing.assert_allclose(points[:4], expected, atol=1e-5)
    pose.rig.data.show_bone_custom_shapes = False
    points, _ = lines_of_bones(evaluated, [bone])
    np.testing.assert_allclose(points[0], pose.rig.matrix_world @ bone.head, atol=1e-5)


def test_an_edited_custom_shape_is_read_anew(pose: Pose) -> None:
    """As many points and edges as before, elsewhere."""
    widget = add_mesh([(0, 0, 0), (0, 1, 0)], [], name="Widget")
    widget.data.clear_geometry()
    widget.data.from_pydata([(0, 0, 0), (0, 1, 0)], [(0, 1)], [])
    bone = pose.rig.pose.bones["Lower"]
    bone.custom_shape = widget
    before = pose.picture()
    assert np.array_equal(pose.picture(), before)
    widget.data.vertices[1].co = (0.0, 0.2, 0.0)
    widget.data.update_tag()
    bpy.context.view_layer.update()
    assert not np.array_equal(pose.picture(), before)
    widget.data.vertices[1].co = (0.0, 1.0, 0.0)
    widget.data.update_tag()
    bpy.context.view_layer.update()
    assert np.array_equal(pose.picture(), before)
