"""Library overrides with Softness that are saved and opened again, also when their file changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.modifier.palette_object import nodes_of_palette
from dq_compensation.scene.blender.own_objects import is_palette
from tests.blender.character_scenes import limb_in_two
from tests.blender.enabled_scenes import check, distance, select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.blender.softness_scenes import MOVED, TOLERANCE, soft_limb
from tests.kept_files import new_file
from tests.limb import build_posed_limb, pose_limb

pytestmark = pytest.mark.usefixtures("addon")


def _in_a_shot(folder: Path, *objects: bpy.types.Object, fully: bool) -> bpy.types.Object:
    """Save a character; returns the mesh of its override, posed in a new file."""
    collected("Character", *objects)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "character.blend"))
    new_file()
    linked = load_collection(folder / "character.blend", "Character")
    bpy.context.scene.collection.children.unlink(linked)
    body, rig = overridden(linked, fully=fully)
    pose_limb(rig, 0.9)
    check()
    return body


def _save_shot(folder: Path, *, fully: bool) -> NDArray:
    """Save a character, and a shot with an override of it; returns its posed vertices."""
    body = _in_a_shot(folder, *soft_limb(), fully=fully)
    shown = evaluated_positions(body)
    assert distance(shown, api.evaluate(body, method="DUAL_QUATERNION")) > MOVED
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    return shown


def _open_shot(folder: Path) -> bpy.types.Object:
    bpy.ops.wm.open_mainfile(filepath=str(folder / "shot.blend"))
    found = (each for each in bpy.data.objects if each.override_library is not None)
    body = next(each for each in found if each.name.startswith("Limb") and each.users_collection)
    body = body if body.type == "MESH" else next(each for each in body.children)
    check()
    return body


def _change_character(folder: Path, change: Callable[[bpy.types.Object], None]) -> None:
    """Edit the character in its own file, without the add-on."""
    dq_compensation.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(folder / "character.blend"))
        change(bpy.data.objects["Limb"])
        bpy.ops.wm.save_mainfile()
    finally:
        dq_compensation.register()


@pytest.mark.parametrize("fully", [True, False])
def test_what_matched_when_it_was_saved_matches_when_it_is_opened(
    tmp_path: Path, *, fully: bool
) -> None:
    shown = _save_shot(tmp_path, fully=fully)
    body = _open_shot(tmp_path)
    assert problem_of(body) is None
    assert distance(evaluated_positions(body), shown) <= TOLERANCE
    assert "stale" not in {issue.key for issue in api.check(body)}
    select(body)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert distance(evaluated_positions(body), shown) <= TOLERANCE


@pytest.mark.parametrize(
    ("method", "preserved"), [("SPHERICAL_JOINT", False), ("COMPENSATED", True)]
)
def test_an_override_that_was_disabled_can_be_enabled_and_disabled_again(
    tmp_path: Path, method: str, *, preserved: bool
) -> None:
    """What was there before *Enable* is read from its file again."""
    obj, rig = build_posed_limb()
    api.enable(obj, method=method)
    check()
    body = _in_a_shot(tmp_path, obj, rig, fully=True)
    shown = evaluated_positions(body)
    api.disable(body)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    body = _open_shot(tmp_path)
    body.modifiers["Armature"].use_deform_preserve_volume = preserved
    plain = evaluated_positions(body)
    assert distance(plain, shown) > MOVED
    api.enable(body)
    assert problem_of(body) is None
    assert distance(evaluated_positions(body), shown) <= TOLERANCE
    api.disable(body)
    assert distance(evaluated_positions(body), plain) <= TOLERANCE


def test_what_still_fits_stays_on_and_the_panel_says_what_is_newer(tmp_path: Path) -> None:
    shown = _save_shot(tmp_path, fully=True)
    _change_character(tmp_path, lambda obj: obj.vertex_groups.new(name="Shirt") and None)
    body = _open_shot(tmp_path)
    assert problem_of(body) is None
    assert distance(evaluated_positions(body), shown) <= TOLERANCE
    (note,) = [note for note in notes_of(body) if "older than the linked file" in note]
    assert "vertex groups" in note


def weaken(obj: bpy.types.Object) -> None:
    """Let the lower bone have less of the vertices that two bones move."""
    group = obj.vertex_groups["Lower"]
    for vertex in obj.data.vertices:
        if len(vertex.groups) > 1:
            group.add([vertex.index], 0.5 * group.weight(vertex.index), "REPLACE")


def move_bone(obj: bpy.types.Object) -> None:
    rig = obj.modifiers["Armature"].object
    with edit_mode(rig):
        bones = rig.data.edit_bones
        bones["Lower"].roll += 0.1
        bones.new("More").tail.z = 1.0


def remove_bone(obj: bpy.types.Object) -> None:
    rig = obj.modifiers["Armature"].object
    with edit_mode(rig):
        rig.data.edit_bones.remove(rig.data.edit_bones["Lower"])


@pytest.mark.parametrize(("change", "part"), [(weaken, "weights"), (move_bone, "bones")])
def test_refresh_says_what_is_older_and_why_it_stays_so(
    tmp_path: Path, change: Callable[[bpy.types.Object], None], part: str
) -> None:
    _save_shot(tmp_path, fully=True)
    _change_character(tmp_path, change)
    body = _open_shot(tmp_path)
    assert problem_of(body) is None
    stack = [each.show_viewport for each in body.modifiers]
    assert not stack[0]
    assert stack[1]
    (note,) = [note for note in notes_of(body) if "older than the linked file" in note]
    assert f"character.blend. Changed there since: {part}. It" in note
    shown = evaluated_positions(body)
    select(body)
    with pytest.raises(RuntimeError, match="cannot be made anew here, because the mesh is linked"):
        bpy.ops.dqc.refresh()
    assert distance(evaluated_positions(body), shown) <= TOLERANCE
    # What the sentence says to do here.
    body.data = body.data.copy()
    check()
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert not [note for note in notes_of(body) if "older" in note]
    assert distance(evaluated_positions(body), api.evaluate(body)) <= TOLERANCE


def test_what_the_character_file_has_made_anew_is_followed(tmp_path: Path) -> None:
    before = _save_shot(tmp_path, fully=True)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "character.blend"))
    weaken(bpy.data.objects["Limb"])
    bpy.data.objects["Limb"].data.update()
    check()
    pose_limb(bpy.data.objects["Limb Rig"], 0.9)
    expected = evaluated_positions(bpy.data.objects["Limb"])
    bpy.ops.wm.save_mainfile()
    body = _open_shot(tmp_path)
    assert not [note for note in notes_of(body) if "older" in note]
    assert distance(before, expected) > MOVED
    assert distance(evaluated_positions(body), expected) <= TOLERANCE


def test_a_bone_that_is_gone_is_refused(tmp_path: Path) -> None:
    _save_shot(tmp_path, fully=True)
    _change_character(tmp_path, remove_bone)
    body = _open_shot(tmp_path)
    assert "does not fit any more. Changed since: bones" in str(problem_of(body))
    expected = api.evaluate(body, method="LINEAR")
    assert distance(evaluated_positions(body), expected) <= TOLERANCE


def test_another_number_of_vertices_is_refused_with_the_true_reason(tmp_path: Path) -> None:
    _save_shot(tmp_path, fully=True)

    def delete_some(obj: bpy.types.Object) -> None:
        with edit_mode(obj):
            bpy.ops.mesh.select_all(action="DESELECT")
            bpy.ops.object.mode_set(mode="OBJECT")
            for vertex in obj.data.vertices[:20]:
                vertex.select = True
            bpy.ops.object.mode_set(mode="EDIT")
            bpy.ops.mesh.delete(type="VERT")

    _change_character(tmp_path, delete_some)
    body = _open_shot(tmp_path)
    problem = str(problem_of(body))
    assert "does not fit any more. Changed since: mesh" in problem
    assert "other settings" not in problem
    expected = api.evaluate(body, method="LINEAR")
    assert distance(evaluated_positions(body), expected) <= TOLERANCE


def test_bones_of_an_override_are_computed_by_the_nodes_of_its_file(tmp_path: Path) -> None:
    """Its points are linked, too, and those of another version may lie in other places."""
    new_file()
    (near, far), rig = limb_in_two(0.52)
    api.enable([near, far], softness=0.0, twist_spread=0.0)
    api.enable(near, method="SPHERICAL_JOINT")
    api.enable(far, method="COMPENSATED")
    check()
    names = near.name, far.name
    _in_a_shot(tmp_path, near, far, rig, fully=True)
    near, far = (
        next(
            each
            for each in bpy.context.view_layer.objects
            if each.override_library is not None and each.override_library.reference.name == name
        )
        for name in names
    )
    before = evaluated_positions(far)
    bpy.data.objects.remove(near)
    check()
    assert distance(evaluated_positions(far), before) <= TOLERANCE
    (palette,) = [each for each in bpy.data.objects if is_palette(each) and not each.library]
    nodes = nodes_of_palette(palette)
    assert nodes is not None
    assert nodes.node_group.library is not None
