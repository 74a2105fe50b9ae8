"""The custom properties in files for other programs are the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import bpy
import pytest
from bpy.types import Object

from dq_compensation import api
from dq_compensation.ui import panels
from tests.blender.enabled_scenes import enabled_limb, select
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import add_armature, add_grid, character, link, save_and_open
from tests.limb import build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

# The user's own.
WORN = {"wears": "a hat"}


def extras(folder: Path) -> dict[str, dict[str, Any]]:
    """The custom properties of each node of a glTF file of the scene."""
    path = folder / "scene.gltf"
    bpy.ops.export_scene.gltf(filepath=str(path), export_format="GLTF_SEPARATE", export_extras=True)
    nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    return {each["name"]: each["extras"] for each in nodes if "extras" in each}


def test_settings_do_not_go_into_gltf(tmp_path: Path) -> None:
    """The add-on is not in the preferences here: files are also exported where it is missing."""
    obj, rig = build_posed_limb()
    obj["wears"] = WORN["wears"]
    api.enable(obj, softness=0.5)
    assert rig.dq_compensation.softness == 0.5, "the armature has settings, too"
    assert extras(tmp_path) == {obj.name: WORN}
    api.disable(obj)
    assert extras(tmp_path) == {obj.name: WORN}
    api.enable(obj)
    assert obj.dq_compensation.softness == 0.5


def test_helper_bones_go_into_gltf_without_our_mark(tmp_path: Path) -> None:
    obj, rig = enabled_limb()
    api.bake_bones(obj)
    assert len(rig.data.bones) > 3
    assert extras(tmp_path) == {}


def never_characters() -> list[Object]:
    skinned, rig = character()
    modifier: Any = skinned.modifiers.new("Second", "ARMATURE")
    modifier.object = rig
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    others = (camera, bpy.data.objects.new("Empty", None))
    return [skinned, rig, add_grid(name="Crate"), add_armature(name="Alone"), *map(link, others)]


def test_objects_that_were_never_characters_get_nothing(tmp_path: Path) -> None:
    others = never_characters()
    names = [each.name for each in others]
    obj, _ = enabled_limb()
    for each in others:
        select(each)
        for name in dir(bpy.ops.dqc):
            getattr(bpy.ops.dqc, name).poll()
        panels.VIEW3D_PT_dq_compensation.fill(MagicMock(), RecordedLayout(), bpy.context)
    api.settings(others[0])
    bpy.context.scene.frame_set(3)
    api.check(obj)
    api.export_plain(obj, tmp_path / "limb.glb")
    bpy.ops.ed.undo_push(message="Something")
    save_and_open(tmp_path / "scene.blend")
    api.disable(bpy.data.objects["Limb"])
    found = [each for each in names if bpy.data.objects[each].is_property_set("dq_compensation")]
    assert not found
    assert extras(tmp_path) == {}
