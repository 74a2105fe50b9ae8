"""The table of exports in docs/engines.md: each cell is measured in a file that was read again.

Distances are in parts of the size of the limb. Files keep float32, and FBX keys of bones with
fewer digits: 1e-4. What ours adds to the plain deformation of the limb is above 1e-3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Vector
from mathutils.kdtree import KDTree
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.examples.authoring import add_example, bone_settings, give_shape
from tests.blender.enabled_scenes import enable, rest_of
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.limb import BONES, build_limb, key_limb

SAME, OTHER = 1e-4, 1e-3
# Before the first key and after the last one, whatever frame an importer begins with.
BEFORE, AFTER, LAST = -50, 80, 4

pytestmark = pytest.mark.usefixtures("addon")


def _plainly(_obj: Object) -> None:
    pass


def _softness(obj: Object) -> None:
    obj.dq_compensation.softness = 0.5


def _spread_twist(obj: Object) -> None:
    obj.dq_compensation.twist_spread = 1.0


def _ball_joints(obj: Object) -> None:
    obj.dq_compensation.curve = "MEASURED"
    obj.dq_compensation.use_ball_joints = True


def _blend_group(obj: Object) -> None:
    obj.dq_compensation.blend_group = "Hand"


def _spherical_joint(obj: Object) -> None:
    obj.dq_compensation.method = "SPHERICAL_JOINT"


def _by_example(obj: Object) -> None:
    settings = obj.dq_compensation
    settings.method, settings.example_base = "SPHERICAL_JOINT_BY_EXAMPLE", "SPHERICAL_JOINT"
    group = obj.vertex_groups.new(name="Support")
    group.add(range(len(obj.data.vertices)), 1.0, "REPLACE")
    bone_settings(obj, "Lower").support = "Support"
    wanted = api.evaluate(obj).astype(np.float64)
    wanted[:, 2] += 0.05 * np.exp(-(((wanted[:, 0] - wanted[:, 0].mean()) / 0.3) ** 2))
    graph = bpy.context.evaluated_depsgraph_get()
    index, captured = add_example(obj, "Lower", graph, "bent")
    give_shape(obj, index, captured, wanted)


def _baked_bones(obj: Object) -> None:
    api.bake_bones(obj)


WAYS: dict[str, Callable[[Object], None]] = {
    "as painted": _plainly,
    "Softness": _softness,
    "Spread Twist": _spread_twist,
    "Ball Joints": _ball_joints,
    "Blend Group": _blend_group,
    "Spherical Joint": _spherical_joint,
    "By Example": _by_example,
    "after Bake to Bones": _baked_bones,
}


@dataclass(frozen=True)
class Format:
    """An exporter with its default options, and what reads its files."""

    suffix: str
    export: Callable[..., object]
    read: Callable[..., object]
    # That the default options do not write, for what is deformed how.
    motion: dict[str, Any] | None = None


FORMATS = {
    "glTF": Format(".glb", bpy.ops.export_scene.gltf, bpy.ops.import_scene.gltf),
    "FBX": Format(".fbx", bpy.ops.export_scene.fbx, bpy.ops.import_scene.fbx),
    "USD": Format(
        ".usdc", bpy.ops.wm.usd_export, bpy.ops.wm.usd_import, {"export_animation": True}
    ),
    "Alembic": Format(".abc", bpy.ops.wm.alembic_export, bpy.ops.wm.alembic_import),
    "OBJ": Format(".obj", bpy.ops.wm.obj_export, bpy.ops.wm.obj_import),
}


@pytest.fixture
def limb() -> Object:
    """The limb with a shape key, in the last frame of its motion."""
    new_file()
    obj, rig = build_limb()
    key_limb(rig, {1: 0.2, LAST: 1.0})
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Smile", from_mix=False).points[3].co.z += 0.05
    obj.data.shape_keys.key_blocks["Smile"].value = 0.0
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    scene.frame_set(LAST)
    return obj


def table() -> dict[str, dict[str, str]]:
    """The rows of the table in the page, by their first cells; each by the heads of the columns."""
    page = Path(__file__).parents[2].joinpath("docs", "engines.md").read_text(encoding="utf-8")
    section = page.split("\n## Export\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip().replace("*", "") for cell in line] for line in lines]
    head, _, *rows = cells
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def read_again(kind: Format, path: Path, **options: Any) -> Object:
    """Export everything, and read it into an empty file; the mesh object."""
    bpy.ops.object.select_all(action="DESELECT")
    kind.export(filepath=str(path), **options)
    new_file()
    more = {"as_background_job": False} if kind.suffix == ".abc" else {}
    kind.read(filepath=str(path), **more)
    return next(obj for obj in bpy.data.objects if obj.type == "MESH" and "Limb" in obj.name)


def world_points(obj: Object, frame: int) -> NDArray[np.float64]:
    bpy.context.scene.frame_set(frame)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    matrix = np.array(obj.evaluated_get(depsgraph).matrix_world)
    return evaluated_positions(obj) @ matrix[:3, :3].T + matrix[:3, 3]


def apart(points: NDArray[np.floating], others: NDArray[np.floating]) -> float:
    """How far a point is from the nearest of the others: files have vertices in another order."""
    tree = KDTree(len(others))
    for index, other in enumerate(others):
        tree.insert(Vector(other), index)
    tree.balance()
    return max(tree.find(Vector(point))[2] for point in points) / 1.5


def as_it_is(found: Object) -> dict[str, str]:
    """Skin, shape keys and motion of what was read."""
    skins = any(each.type == "ARMATURE" for each in found.modifiers)
    skins = skins and set(BONES) <= set(found.vertex_groups.keys())
    keys = found.data.shape_keys
    moves = apart(world_points(found, BEFORE), world_points(found, AFTER)) > OTHER
    return {
        "Skin": "yes" if skins else "no",
        "Shape keys": "yes" if keys is not None and "Smile" in keys.key_blocks else "no",
        "Motion": ("bones" if skins else "vertices") if moves else "no",
    }


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("way", WAYS)
def test_a_cell_says_what_is_in_the_file(limb: Object, way: str, name: str, tmp_path: Path) -> None:
    kind, cells = FORMATS[name], table()
    plain = evaluated_positions(limb)
    WAYS[way](limb)
    if way != "after Bake to Bones":
        enable(limb)
    bpy.context.scene.frame_set(LAST)
    shown = evaluated_positions(limb)
    assert apart(shown, plain) > OTHER, "otherwise nothing could be lost"
    path = tmp_path / f"limb{kind.suffix}"
    if kind.motion is not None:
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "limb.blend"))
    found = read_again(kind, path)
    measured = as_it_is(found)
    if kind.motion is not None:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "limb.blend"))
        found = read_again(kind, path, **kind.motion)
    points = world_points(found, AFTER)
    expected = {"as shown": shown, "plain": plain}
    row = way if way in cells else "with any settings"
    said, _, more = cells[row][name].partition(", ")
    assert apart(points, expected[said]) <= SAME
    said_of_all = {row: cells[row][name] for row in measured}
    if more == "with shape keys":
        said_of_all["Shape keys"] = "yes"
    assert measured == said_of_all


@pytest.mark.usefixtures("with_viewport")
@pytest.mark.parametrize("name", ["USD", "OBJ"])
def test_the_gpu_display_hides_the_deformation_from_exporters(
    limb: Object, name: str, tmp_path: Path
) -> None:
    """As the page says; *Export Plain* does not depend on the display."""
    enable(limb, "GPU")
    found = read_again(FORMATS[name], tmp_path / f"limb{FORMATS[name].suffix}")
    assert as_it_is(found)["Skin"] == "no"
    assert apart(world_points(found, AFTER), rest_of(found)) <= SAME
    assert as_it_is(found)["Motion"] == "no"
