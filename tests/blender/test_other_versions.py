"""Files of other versions of the add-on: without a stamp, with a newer one, with an earlier one.

The reference for what is off is Blender's own Armature modifier on a copy that was never enabled.
Distances are in parts of the object's size; 1e-4 is what all evaluators promise, 1e-6 is rounding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.modifier.tree_kind import TREE_VERSION
from dq_compensation.modifier.written_record import STAMP, STATE_PROPERTY
from dq_compensation.scene.blender.own_objects import keep_record, record_in
from dq_compensation.scene.stack import is_own_modifier
from tests.blender.enabled_scenes import check, description, disable, distance, error, ours, select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import evaluated_positions
from tests.blender.softness_scenes import soft_limb
from tests.kept_files import new_file
from tests.limb import build_posed_limb, pose_limb

TOLERANCE = 1e-4
ROUNDING = 1e-6
# Saved by Blender 4.2 with an enabled, soft limb, whose hand is twisted: `soft_limb`.
STAMPED = Path(__file__).parent / "files" / "stamped_limb.blend"

pytestmark = pytest.mark.usefixtures("addon")


def stamp(obj: Object, version: int | None) -> None:
    """Let the record of an object be of another version; None: of a development build."""
    record = record_in(obj, STATE_PROPERTY)
    del record[STAMP]
    keep_record(obj, STATE_PROPERTY, record if version is None else record | {STAMP: version})


def save(version: int | None, path: Path) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """Write a file with a soft limb that another version has enabled.

    Returns:
        what a user sees of it, and its shown vertices.
    """
    obj, rig = soft_limb()
    obj.vertex_groups.new(name="Mine").add([1, 2, 3], 0.5, "REPLACE")
    obj.dq_compensation.vertex_group = "Mine"
    obj.dq_compensation.factor = 0.75
    check()
    collected("Character", obj, rig)
    check()
    found = described(obj), evaluated_positions(obj)
    dq_compensation.unregister()  # it would act on the record as it saves
    stamp(obj, version)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    dq_compensation.register()
    return found


def described(obj: Object) -> dict[str, Any]:
    """What a user sees of an object, in any session."""
    found = description(obj) | {"parent": obj.parent.name}
    for part in ("object", "mesh"):
        del found[part]["session_uid"]
    return found


def opened(path: Path) -> Object:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    check()
    return bpy.data.objects["Limb"]


def own_switches(obj: Object) -> list[tuple[bool, bool]]:
    """Whether each modifier of ours is on in the viewport and in renders."""
    return [(m.show_viewport, m.show_render) for m in obj.modifiers if is_own_modifier(m)]


def by_armature_modifier(obj: Object) -> NDArray[np.float32]:
    """The vertices of a limb that was never enabled, in the same pose."""
    copy = obj.copy()
    copy.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    copy.dq_compensation.is_enabled = False
    copy.modifiers.clear()
    copy.modifiers.new("Armature", "ARMATURE").object = obj.modifiers["Armature"].object
    bpy.context.view_layer.update()
    found = evaluated_positions(copy)
    bpy.data.meshes.remove(copy.data)
    bpy.context.view_layer.update()
    return found


def test_a_development_build_is_turned_off_and_nothing_of_the_user_is_touched(
    tmp_path: Path,
) -> None:
    before, shown = save(None, tmp_path / "development.blend")
    obj = opened(tmp_path / "development.blend")
    assert "development build" in str(problem_of(obj))
    assert set(own_switches(obj)) == {(False, False)}
    assert distance(evaluated_positions(obj), by_armature_modifier(obj)) <= ROUNDING
    assert distance(evaluated_positions(obj), shown) > 100 * TOLERANCE
    now = described(obj)
    assert [name for name in before if now[name] != before[name] and name != "modifiers"] == []
    assert obj.dq_compensation.factor == 0.75


def test_what_the_user_turns_on_after_that_stays_on(tmp_path: Path) -> None:
    save(None, tmp_path / "development.blend")
    obj = opened(tmp_path / "development.blend")
    obj.modifiers["Armature"].show_viewport = False
    ours(obj).show_viewport = True
    obj.data.vertices[0].co.x += 1e-3
    obj.data.update()
    check()
    assert not obj.modifiers["Armature"].show_viewport
    assert ours(obj).show_viewport


def test_refresh_deforms_what_a_development_build_has_enabled(tmp_path: Path) -> None:
    _, shown = save(None, tmp_path / "development.blend")
    obj = opened(tmp_path / "development.blend")
    select(obj)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    check()
    assert problem_of(obj) is None
    assert distance(evaluated_positions(obj), shown) <= TOLERANCE
    assert error(obj) <= TOLERANCE
    assert record_in(obj, STATE_PROPERTY)[STAMP] == TREE_VERSION
    pose_limb(bpy.data.objects["Limb Rig"], bend=0.7)
    check()
    assert error(obj) <= TOLERANCE


def test_setup_check_refreshes_what_a_development_build_has_enabled(tmp_path: Path) -> None:
    save(None, tmp_path / "development.blend")
    obj = opened(tmp_path / "development.blend")
    (issue,) = [each for each in api.check(obj) if each.key == "version"]
    (result,) = api.fix(obj, issue.check, key="version", fix="refresh")
    assert result.state == "FIXED"
    assert error(obj) <= TOLERANCE


def test_disable_leaves_nothing_of_a_development_build(tmp_path: Path) -> None:
    save(None, tmp_path / "development.blend")
    obj = opened(tmp_path / "development.blend")
    disable(obj)
    assert [m.type for m in obj.modifiers] == ["ARMATURE"]
    assert not [each for each in bpy.data.objects if each.name.startswith("DQ Compensation")]
    assert distance(evaluated_positions(obj), by_armature_modifier(obj)) <= ROUNDING


@pytest.mark.parametrize("is_override", [False, True])
@pytest.mark.parametrize("version", [None, TREE_VERSION + 1])
def test_a_linked_character_of_another_version_is_shown_as_it_was_saved(
    version: int | None, is_override: bool, tmp_path: Path
) -> None:
    _, shown = save(version, tmp_path / "library.blend")
    new_file()
    collection = load_collection(tmp_path / "library.blend", "Character")
    obj = collection.objects["Limb"]
    if is_override:
        obj, _ = overridden(collection)
    check()
    told = ["library.blend", "development build"] if version is None else ["newer version"]
    assert all(words in str(problem_of(obj)) for words in told)
    assert distance(evaluated_positions(obj), shown) <= ROUNDING


def test_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    before, shown = save(TREE_VERSION + 1, tmp_path / "newer.blend")
    obj = opened(tmp_path / "newer.blend")
    record = record_in(obj, STATE_PROPERTY)
    select(obj)
    with pytest.raises(RuntimeError, match="newer version"):
        bpy.ops.dqc.refresh()
    obj.dq_compensation.softness = 0.2
    check()
    obj.dq_compensation.softness = 0.5
    check()
    bpy.ops.wm.save_mainfile()
    assert "newer version" in str(problem_of(obj))
    assert described(obj) == before
    assert record_in(obj, STATE_PROPERTY) == record
    assert distance(evaluated_positions(obj), shown) <= ROUNDING
    disable(obj)
    assert [m.type for m in obj.modifiers] == ["ARMATURE"]


def test_an_instance_made_real_of_a_newer_version_follows_its_own_armature(tmp_path: Path) -> None:
    """What its modifier reads is linked, and follows the armature of the other file."""
    save(TREE_VERSION + 1, tmp_path / "library.blend")
    new_file()
    collection = load_collection(tmp_path / "library.blend", "Character")
    bpy.context.scene.collection.children.unlink(collection)
    empty = bpy.data.objects.new("Instance", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", collection
    bpy.context.scene.collection.objects.link(empty)
    bpy.context.view_layer.update()
    select(empty)
    bpy.ops.object.duplicates_make_real(use_base_parent=True, use_hierarchy=True)
    check()
    (obj,) = (each for each in bpy.context.scene.objects if each.type == "MESH")
    assert "newer version" in str(problem_of(obj))
    assert "The Armature modifier deforms it" in str(problem_of(obj))
    pose_limb(obj.modifiers["Armature"].object, bend=0.7)
    check()
    assert distance(evaluated_positions(obj), by_armature_modifier(obj)) <= ROUNDING


def test_nothing_is_enabled_beside_a_newer_version(tmp_path: Path) -> None:
    """The palette of the armature would be written in an older form."""
    _, shown = save(TREE_VERSION + 1, tmp_path / "newer.blend")
    obj = opened(tmp_path / "newer.blend")
    other = obj.copy()
    other.data, other.name = obj.data.copy(), "Other"
    bpy.context.scene.collection.objects.link(other)
    other.dq_compensation.is_enabled = False
    for modifier in [each for each in other.modifiers if is_own_modifier(each)]:
        other.modifiers.remove(modifier)
    select(other)
    with pytest.raises(RuntimeError, match=r"Limb, on the armature of Other, .* newer version"):
        bpy.ops.dqc.enable()
    assert not other.dq_compensation.enabled
    assert distance(evaluated_positions(obj), shown) <= ROUNDING


def test_an_earlier_version_is_brought_up_to_date_when_its_file_is_opened() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(STAMPED))
    check()
    obj = bpy.data.objects["Limb"]
    assert problem_of(obj) is None
    assert record_in(obj, STATE_PROPERTY)[STAMP] == TREE_VERSION
    assert error(obj) <= TOLERANCE
    expected, rig = build_posed_limb("Expected")
    select(expected)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    expected.dq_compensation.softness = obj.dq_compensation.softness
    check()
    assert rig.type == "ARMATURE"
    assert distance(evaluated_positions(obj), evaluated_positions(expected)) <= TOLERANCE
