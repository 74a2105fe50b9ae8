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
from tests.blender.enabled_scenes import check, distance, select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.blender.softness_scenes import MOVED, TOLERANCE, soft_limb
from tests.kept_files import new_file
from tests.limb import pose_limb

pytestmark = pytest.mark.usefixtures("addon")


def _save_shot(folder: Path, *, fully: bool) -> NDArray:
    """Save a character, and a shot with an override of it; returns its posed vertices."""
    obj, rig = soft_limb()
    collected("Character", obj, rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "character.blend"))
    new_file()
    linked = load_collection(folder / "character.blend", "Character")
    bpy.context.scene.collection.children.unlink(linked)
    body, rig = overridden(linked, fully=fully)
    pose_limb(rig, 0.9)
    check()
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


def test_what_still_fits_stays_on_and_the_panel_says_what_is_newer(tmp_path: Path) -> None:
    shown = _save_shot(tmp_path, fully=True)
    _change_character(tmp_path, lambda obj: obj.vertex_groups.new(name="Shirt") and None)
    body = _open_shot(tmp_path)
    assert problem_of(body) is None
    assert distance(evaluated_positions(body), shown) <= TOLERANCE
    (note,) = [note for note in notes_of(body) if "older than the linked file" in note]
    assert "vertex groups" in note


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
