"""Export Plain: files as Blender's exporters write them without the add-on; nothing changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import bpy
import numpy as np
import pytest
from bpy.types import Object
from io_scene_fbx import parse_fbx  # pyright: ignore[reportMissingImports]

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.pipeline.files import plain_export
from dq_compensation.pipeline.files.operators import DQC_OT_export_plain
from dq_compensation.scene.blender.own_objects import text_in
from dq_compensation.scene.blender.rna_properties import plain_values
from tests.blender.command_runs import CommandLine, save_limb
from tests.blender.enabled_scenes import check, distance, enable, error, select
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.limb import build_posed_limb, key_limb

TOLERANCE = 1e-4
Limb = tuple[Object, Object]
Way = Callable[[Object], None]

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def limb() -> Limb:
    """A bending limb with a shape key that is keyed, a custom property, and another object."""
    new_file()
    obj, rig = build_posed_limb()
    key_limb(rig, {1: 0.2, 4: 1.0})
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Smile", from_mix=False)
    key.points[3].co.z += 0.05
    for frame in (1, 4):
        key.value = 0.2 * frame
        key.keyframe_insert("value", frame=frame)
    obj["wears"] = "a hat"
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 4
    scene.frame_set(2)
    select(other)
    return obj, rig


def compensated(_obj: Object) -> None:
    pass


def softness(obj: Object) -> None:
    obj.dq_compensation.softness = 0.5


def spread_twist(obj: Object) -> None:
    obj.dq_compensation.twist_spread = 1.0


def spherical_joint(obj: Object) -> None:
    obj.dq_compensation.method = "SPHERICAL_JOINT"


def moved_before(obj: Object) -> None:
    """Ours has a second modifier that keeps the shape."""
    obj.modifiers.new("Twist", "SIMPLE_DEFORM").angle = 0.4
    obj.modifiers.move(1, 0)


WAYS = (compensated, softness, spread_twist, spherical_joint)
# USD's exporter writes them by default.
CUSTOM_PROPERTIES = {
    ".fbx": {"use_custom_props": True},
    ".glb": {"export_extras": True},
    ".usda": {},
}


def by_blender(obj: Object, rig: Object, path: Path) -> None:
    """Export without anything of ours."""
    select(obj, rig)
    if path.suffix == ".fbx":
        bpy.ops.export_scene.fbx(filepath=str(path), use_selection=True, use_custom_props=True)
    elif path.suffix == ".glb":
        bpy.ops.export_scene.gltf(filepath=str(path), use_selection=True, export_extras=True)
    else:
        options = {"selected_objects_only": True, "export_animation": True}
        bpy.ops.wm.usd_export(filepath=str(path), **options)
    select(bpy.data.objects["Other"])


def content(path: Path) -> list[object]:
    """All that a file says, but for when it was written."""
    if path.suffix == ".fbx":
        return list(_fbx(parse_fbx.parse(str(path))[0]))
    return [path.read_bytes()]


def _fbx(element: Any) -> Iterator[object]:
    """What an element of FBX says, without times, and without numbers of data, which are hashes.

    Numbers are rounded: two exports of one scene differ in the last digits of bones.
    """
    yield element.id
    for value, kind in zip(element.props, element.props_type, strict=True):
        if isinstance(value, bytes):
            yield value
        elif chr(kind) in "FDfd":
            yield from (np.round(np.array(value), 3) + 0.0).ravel().tolist()
        elif chr(kind) != "L":
            yield np.array(value).tolist()
    for each in element.elems:
        if each.id not in {b"CreationTime", b"CreationTimeStamp", b"FileId", b"SceneInfo"}:
            yield from _fbx(each)


@pytest.mark.parametrize("suffix", [".fbx", ".glb", ".usda"])
@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_as_blender_writes_it_without_us(
    limb: Limb, way: Way, suffix: str, tmp_path: Path
) -> None:
    obj, rig = limb
    by_blender(obj, rig, tmp_path / f"plain{suffix}")
    expected = content(tmp_path / f"plain{suffix}")
    way(obj)
    enable(obj)
    select(bpy.data.objects["Other"])
    ours = tmp_path / f"ours{suffix}"
    (report,) = api.export_plain(obj, ours, **CUSTOM_PROPERTIES[suffix])
    assert content(ours) == expected
    assert report.object_name == obj.name
    assert str(ours) in report.sentence()
    by_blender(obj, rig, tmp_path / f"enabled{suffix}")
    if suffix == ".fbx":
        assert b"Smile" in ours.read_bytes()
        assert b"Smile" not in (tmp_path / "enabled.fbx").read_bytes(), "otherwise none needs this"


def state(obj: Object, rig: Object) -> Any:
    """What an export may change, of the objects and of the session."""
    layer = bpy.context.view_layer
    return (
        [{n: v for n, v in plain_values(each) if n != "execution_time"} for each in obj.modifiers],
        [sorted((k, text_in(o, k)) for k in o.keys()) for o in (obj, obj.data, rig, rig.data)],  # noqa: SIM118 - of an ID
        [
            (each.name, each.select_get(), each.hide_get(), each.hide_viewport)
            for each in layer.objects
        ],
        obj.animation_data and [curve.data_path for curve in obj.animation_data.drivers],
        layer.objects.active.name,
        bpy.context.scene.frame_current,
        rig.data.pose_position,
        dict(plain_values(obj.dq_compensation.native)),
        sorted(each.name for each in bpy.data.objects),
    )


@pytest.mark.parametrize("suffix", [".fbx", ".glb", ".usdc"])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("way", [softness, spherical_joint, moved_before])
def test_the_file_is_as_it_was(
    limb: Limb, way: Way, suffix: str, tmp_path: Path, *, fails: bool
) -> None:
    obj, rig = limb
    way(obj)
    enable(obj)
    select(bpy.data.objects["Other"])
    rig.hide_set(True)
    check()
    before, shown = state(obj, rig), evaluated_positions(obj)
    target = tmp_path / f"limb{suffix}"
    if fails:
        with pytest.raises(api.UserError, match=r"no_such_option|The exporter"):
            api.export_plain(obj, target, no_such_option=1)
    else:
        api.export_plain(obj, target)
        assert target.stat().st_size > 0
    assert state(obj, rig) == before
    # Blender's exporter of FBX leaves bones another rounding.
    assert distance(evaluated_positions(obj), shown) <= 1e-6
    check()
    assert problem_of(obj) is None
    assert state(obj, rig) == before
    bpy.context.scene.frame_set(3)
    assert error(obj) <= TOLERANCE


@pytest.mark.usefixtures("with_viewport")
def test_the_gpu_display_goes_on(limb: Limb, tmp_path: Path) -> None:
    obj, rig = limb
    by_blender(obj, rig, tmp_path / "plain.usda")
    spherical_joint(obj)
    enable(obj, "GPU")
    before = state(obj, rig)
    api.export_plain(obj, tmp_path / "ours.usda")
    assert content(tmp_path / "ours.usda") == content(tmp_path / "plain.usda")
    check()
    assert state(obj, rig) == before
    assert obj.display_type == "BOUNDS"
    assert not any("turned" in note for note in notes_of(obj))


def test_a_failing_exporter_is_told(
    limb: Limb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, rig = limb
    enable(obj)
    before = state(obj, rig)

    def fail(**_options: object) -> set[str]:
        raise RuntimeError("Error: it burns")

    monkeypatch.setattr(plain_export.Exporter, "export", property(lambda _self: fail))
    with pytest.raises(api.UserError, match="it burns"):
        api.export_plain(obj, tmp_path / "limb.fbx")
    assert state(obj, rig) == before


def test_what_cannot_be_exported_is_refused(limb: Limb, tmp_path: Path) -> None:
    obj, rig = limb
    with pytest.raises(api.UserError, match=r"format of limb\.obj is not known"):
        api.export_plain(obj, tmp_path / "limb.obj")
    with pytest.raises(api.UserError, match="There is no folder"):
        api.export_plain(obj, tmp_path / "nowhere" / "limb.fbx")
    bpy.context.scene.collection.objects.unlink(rig)
    apart = bpy.data.collections.new("Apart")
    bpy.context.scene.collection.children.link(apart)
    apart.objects.link(rig)
    bpy.context.view_layer.layer_collection.children["Apart"].exclude = True
    with pytest.raises(api.UserError, match="Limb Rig is in no collection"):
        api.export_plain(obj, tmp_path / "limb.fbx")


@pytest.mark.parametrize("animation", [False, True])
def test_motion_is_an_option(limb: Limb, tmp_path: Path, *, animation: bool) -> None:
    obj, _ = limb
    path = tmp_path / "limb.glb"
    api.export_plain(obj, path, animation=animation)
    length = int.from_bytes(path.read_bytes()[12:16], "little")
    assert ("animations" in json.loads(path.read_bytes()[20 : 20 + length])) == animation


def test_the_button_exports_what_is_selected_beside_the_character(
    limb: Limb, tmp_path: Path
) -> None:
    obj, _ = limb
    enable(obj)
    select(obj, bpy.data.objects["Other"])
    bpy.context.view_layer.objects.active = obj
    path = tmp_path / "limb"
    assert bpy.ops.dqc.export_plain(filepath=str(path), file_format=".glb") == {"FINISHED"}
    content_of_file = path.with_suffix(".glb").read_bytes()
    for name in (b"Limb Rig", b"Smile", b"Other"):
        assert name in content_of_file
    assert b"DQ Compensation" not in content_of_file


def test_the_command_exports_all_characters_to_one_file(
    command: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_limb(tmp_path / "limbs.blend", "Left", "Right")
    outcome = command("export", "--file", "limbs.blend", "--output", "x.glb", "--no-animation")
    assert outcome.code == 0
    written = (tmp_path / "x.glb").read_bytes()
    assert b"Left" in written
    assert b"Right" in written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["limbs.blend", "x.glb"]


@pytest.mark.parametrize(
    ("engine", "proposed"),
    [("GLTF", ".glb"), ("GODOT", ".glb"), ("UNITY", ".fbx"), ("UNREAL", ".fbx"), ("BLENDER", None)],
)
def test_the_dialog_proposes_the_format_that_the_bake_was_for(
    limb: Limb, engine: str, proposed: str | None
) -> None:
    """Beside what was exported last; a format that a script names stays."""
    obj, _ = limb
    enable(obj)
    select(obj)
    api.bake_bones(obj, engine=engine, poses="FRAMES", budget=1)
    for last in (".usdc", ".fbx", ".glb"):
        for chosen in (False, True):
            dialog: Any = SimpleNamespace(
                file_format=last,
                properties=SimpleNamespace(is_property_set=lambda _name, c=chosen: c),
                choose_file=lambda _context, _name: {"RUNNING_MODAL"},
            )
            DQC_OT_export_plain.invoke(dialog, bpy.context, cast("Any", None))
            assert dialog.file_format == (last if chosen or proposed is None else proposed)
