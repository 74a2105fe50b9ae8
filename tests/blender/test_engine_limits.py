"""What *For* of Bake to Bones allows, and what exporters write of it: the table in docs/engines.md.

Files are written with the exporters' defaults and read again. Distances are in parts of the size of
the limb: files keep float32, and FBX keys of bones with fewer digits, 1e-4. What glTF loses of
seven influences by its default, four, is 6e-3.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest
from bpy.types import Object

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report, last_summary
from dq_compensation.pipeline.bones.options import ENGINES, BonesOptions
from dq_compensation.scene.settings.declaration import declared_in
from environments import PROJECT
from tests.blender.enabled_scenes import enable
from tests.blender.test_export_table import AFTER, FORMATS, LAST, SAME, apart, limb, world_points
from tests.kept_files import new_file

__all__ = ["limb"]

LABELS = {label: engine for engine, label, _ in declared_in(BonesOptions)["engine"].choices}
# So many helpers at so small a tolerance that vertices follow seven bones where they may.
NEAR = {"budget": 24, "tolerance": 0.01}

pytestmark = pytest.mark.usefixtures("addon")


def table() -> dict[str, dict[str, str]]:
    """The rows of the table in the page, by their engines; each by the heads of the columns."""
    page = (PROJECT / "docs" / "engines.md").read_text(encoding="utf-8")
    section = page.split("\n## Limits\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {LABELS[row[0]]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_the_page_has_the_limits_of_each_engine() -> None:
    def said(limit: int) -> str:
        return str(limit) if limit else "any number"

    shown = {
        engine: (row["bones of a vertex"], row["deforming bones"])
        for engine, row in table().items()
    }
    assert shown == {engine: tuple(map(said, limits)) for engine, limits in ENGINES.items()}


def most_influences(obj: Object) -> int:
    """The most bones that a vertex of a mesh object follows."""
    return max(sum(each.weight > 0.0 for each in vertex.groups) for vertex in obj.data.vertices)


def read_again(source: Path, name: str, **options: Any) -> Object:
    """Export a file in a format with the exporter's defaults and options; what is read from it."""
    kind = FORMATS[name]
    bpy.ops.wm.open_mainfile(filepath=str(source))
    path = source.with_suffix(kind.suffix)
    kind.export(filepath=str(path), **(kind.motion or {}), **options)
    new_file()
    kind.read(filepath=str(path))
    return next(obj for obj in bpy.data.objects if obj.type == "MESH" and "Limb" in obj.name)


@pytest.mark.parametrize("engine", ENGINES)
def test_exporters_write_what_the_page_says(limb: Object, tmp_path: Path, engine: str) -> None:
    enable(limb)
    (report,) = api.bake_bones(limb, engine=engine, **NEAR)
    baked, shown = most_influences(limb), world_points(limb, LAST)
    assert report.influences == baked
    limits = ENGINES[engine]
    assert baked == (limits.influences or 8) or 4 < baked < 8
    source = tmp_path / "baked.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    row = table()[engine]
    for column, names in {"glTF": ("glTF",), "FBX, USD": ("FBX", "USD")}.items():
        for name in names:
            found = read_again(source, name)
            off = apart(world_points(found, AFTER), shown)
            if row[column] == "the defaults":
                assert off < SAME
                assert most_influences(found) == baked
            else:
                assert row[column] == "*Bone Influences* as the report says"
                assert off > 10.0 * SAME
                found = read_again(source, name, export_influence_nb=report.influences)
                assert apart(world_points(found, AFTER), shown) < SAME
    to_set = f"Bone Influences to {report.influences};"
    assert (to_set in report.summary()) == (row["glTF"] != "the defaults")


def test_chosen_influences_come_before_those_of_the_engine(limb: Object) -> None:
    enable(limb)
    (report,) = api.bake_bones(limb, engine="UNREAL", influences=3, **NEAR)
    assert report.influences == most_influences(limb) == 3
    assert "Bone Influences" not in report.sentence()


def test_helpers_stay_within_the_bones_of_the_engine(
    limb: Object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three bones and two helpers, of four that come without a limit; a chosen number counts."""
    enable(limb)
    monkeypatch.setitem(ENGINES, "UNREAL", ENGINES["UNREAL"]._replace(bones=5))
    (free,) = api.bake_bones(limb, engine="BLENDER", estimate=True)
    (within,) = api.bake_bones(limb, engine="UNREAL", estimate=True)
    assert (free.bones, within.bones, within.deforming) == (4, 2, 5)
    assert "16-bit" not in within.sentence()
    (chosen,) = api.bake_bones(limb, engine="UNREAL", budget=4, estimate=True)
    assert chosen.deforming == 7
    assert "There are 7 deforming bones: turn on Support 16-bit Bone Index" in chosen.summary()


def test_the_panel_has_one_line_and_the_details_behind_it(limb: Object) -> None:
    enable(limb)
    (report,) = api.bake_bones(limb)
    assert report.summary() == last_summary(limb)
    worst = max(report.joints, key=lambda joint: joint.after.largest)
    assert report.summary().startswith("Baked Limb to 4 helper bones: worst ")
    assert report.summary().endswith(f" mm at {worst.bone}.")
    assert last_report(limb) == report.sentence()
    assert report.sentence().startswith(f"{report.summary()} The helpers are at 2 joints; ")
