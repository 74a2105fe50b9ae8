"""The functions for scripts do what the operators do, and leave everything else as it was."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import bpy
import gpu
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.modifier.palette_object import find_palette
from dq_compensation.scene.blender.rigging import rig_of
from dq_compensation.scene.settings.object_settings import settings_of
from environments import PROJECT
from tests.blender.bake_scenes import native
from tests.blender.scene_builders import all_weights, evaluated_positions
from tests.limb import build_limb, key_limb

# Of a limb of 1.5 units in float32.
EXACT = 1e-6
LAST = 5


@pytest.fixture
def limb(addon: None) -> bpy.types.Object:
    """A limb that bends and twists from frame 1 to frame 5."""
    obj, armature = build_limb()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    key_limb(armature, {1: 0.0, 3: 0.4, LAST: 1.0})
    scene.frame_set(2)
    return obj


def by_armature(obj: bpy.types.Object, frames: range) -> NDArray[np.float32]:
    """Shape (F, n, 3): what Blender's own modifiers make of the object in each frame."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        found.append(native(obj))
    bpy.context.scene.frame_set(2)
    return np.array(found)


def test_the_version_is_that_of_the_manifest() -> None:
    manifest = (PROJECT / "blender_manifest.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{".".join(map(str, api.VERSION))}"\n' in manifest


def test_frames_are_those_of_the_armature_modifier(limb: bpy.types.Object) -> None:
    found = api.evaluate_frames(limb, range(1, LAST + 1), method="LINEAR")
    assert np.abs(found - by_armature(limb, range(1, LAST + 1))).max() <= EXACT
    assert found.dtype == np.float32
    assert bpy.context.scene.frame_current == 2


@pytest.mark.parametrize("evaluator", ["NUMPY", "MODIFIER"])
def test_world_space_is_that_of_blender(limb: bpy.types.Object, evaluator: api.Evaluator) -> None:
    """The object and its rig move, turned and scaled unevenly."""
    limb.delta_scale = (1.0, 2.0, 0.5)
    limb.parent.rotation_euler = (0.3, 0.2, 0.1)
    for frame in (1, LAST):
        limb.parent.location = (0.5 * frame, 0.0, 3.0)
        limb.parent.keyframe_insert("location", frame=frame)
    frames = range(1, LAST + 1)
    wanted = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        evaluated = limb.evaluated_get(bpy.context.evaluated_depsgraph_get())
        matrix = evaluated.matrix_world
        wanted.append([matrix @ vertex.co for vertex in evaluated.data.vertices])
    found = api.evaluate_frames(limb, frames, method="LINEAR", evaluator=evaluator, space="WORLD")
    # Up to 5 units from the origin, in float32.
    np.testing.assert_allclose(found, np.array(wanted), atol=5 * EXACT)
    last = api.evaluate(limb, method="LINEAR", evaluator=evaluator, space="WORLD")
    assert np.array_equal(last, found[-1])
    assert found.dtype == last.dtype == np.float32


def test_frames_come_one_by_one_while_the_scene_is_in_them(limb: bpy.types.Object) -> None:
    scene = bpy.context.scene
    wanted = api.evaluate_frames(limb, [4, 1.5])
    each = api.iterate_frames(limb, [4, 1.5])
    assert scene.frame_current_final == 2
    assert np.array_equal(next(each), wanted[0])
    assert scene.frame_current_final == 4
    scene.frame_set(3)
    assert np.array_equal(next(each), wanted[1])
    assert scene.frame_current_final == 1.5
    with pytest.raises(StopIteration):
        next(each)
    assert scene.frame_current_final == 2


def test_a_loop_that_is_left_puts_the_frame_back(limb: bpy.types.Object) -> None:
    scene = bpy.context.scene
    for _ in api.iterate_frames(limb, [4, 5]):
        break
    assert scene.frame_current == 2
    with pytest.raises(api.UserError, match="nan is not a frame"):
        list(api.iterate_frames(limb, [4, float("nan")]))
    assert scene.frame_current == 2


def test_vertices_may_change_in_number_one_by_one(limb: bpy.types.Object) -> None:
    array = limb.modifiers.new("Array", "ARRAY")
    limb.modifiers.move(1, 0)
    for frame, count in ((1, 1), (LAST, 2)):
        array.count = count
        array.keyframe_insert("count", frame=frame)
    bpy.context.scene.frame_set(1)
    count = len(limb.data.vertices)
    assert [len(each) for each in api.iterate_frames(limb, [1, LAST])] == [count, 2 * count]
    with pytest.raises(api.UserError, match=r"in frame 5 .* with iterate_frames"):
        api.evaluate_frames(limb, [1, LAST])


def test_settings_are_read_and_changed_together(limb: bpy.types.Object) -> None:
    api.enable(limb, method="DUAL_QUATERNION", factor=0.5)
    found = api.settings(limb)
    assert (found.enabled, found.method, found.factor) == (True, "DUAL_QUATERNION", 0.5)
    limb.modifiers["Armature"].use_deform_preserve_volume = True
    preserved = native(limb)
    api.change_settings(limb, method="LINEAR")
    linear = native(limb)
    api.disable(limb)
    assert not api.settings(limb).enabled
    limb.modifiers["Armature"].use_deform_preserve_volume = False
    assert np.abs(native(limb) - linear).max() <= EXACT
    assert np.abs(preserved - linear).max() > 0.001


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"method": "WAX"}, "method cannot be 'WAX'. Choose one of COMPENSATED"),
        ({"factor": 1.5}, "factor 1.5 cannot be used. Give a number from 0 to 1"),
        ({"factor": float("nan")}, "factor nan cannot be used"),
        ({"vertex_group": "Nobody"}, "Limb has no vertex group Nobody"),
        ({"use_mesh_joints": "yes"}, "use_mesh_joints cannot be 'yes'. Give True or False"),
        ({"is_enabled": True}, "There is no setting is_enabled"),
    ],
)
def test_a_wrong_setting_changes_none(
    limb: bpy.types.Object, values: dict[str, object], message: str
) -> None:
    before = api.settings(limb)
    with pytest.raises(api.UserError, match=message):
        api.enable(limb, display="GPU", **values)
    assert api.settings(limb) == before
    assert [modifier.type for modifier in limb.modifiers] == ["ARMATURE"]


def test_joints_left_out_are_names_of_bones(limb: bpy.types.Object) -> None:
    api.enable(limb, joints_left_out="arm, hand", twist_left_out="hand")
    assert api.settings(limb).joints_left_out == "arm, hand"


def test_several_objects_are_enabled_changed_and_disabled(limb: bpy.types.Object) -> None:
    other, _ = build_limb("Other")
    both = [limb, other]
    api.enable(iter(both), factor=0.5)
    assert [api.settings(obj).enabled for obj in both] == [True, True]
    api.change_settings(both, method="LINEAR")
    assert [api.settings(obj).method for obj in both] == ["LINEAR", "LINEAR"]
    assert {api.settings(obj).factor for obj in both} == {0.5}
    api.soften_weights(both)
    api.restore_weights(both)
    with pytest.raises(api.UserError, match="Limb has no weights to put back"):
        api.restore_weights(both)
    api.disable(both)
    assert [api.settings(obj).enabled for obj in both] == [False, False]
    assert [len(obj.modifiers) for obj in both] == [1, 1]


def test_if_one_of_several_is_refused_none_has_changed(limb: bpy.types.Object) -> None:
    enabled, _ = build_limb("Enabled")
    api.enable(enabled)
    refused, _ = build_limb("Refused")
    refused.modifiers.new("Multires", "MULTIRES")
    new, _ = build_limb("New")
    several = [limb, enabled, refused, new]
    before = [api.settings(obj) for obj in several]
    for wrong in (refused, None):
        with pytest.raises(api.UserError):
            api.enable([limb, enabled, wrong, new], factor=0.25)
        assert [api.settings(obj) for obj in several] == before
        assert [modifier.type for modifier in limb.modifiers] == ["ARMATURE"]
        assert not settings_of(limb).is_property_set("is_enabled")
    limb.vertex_groups.new(name="Mask")
    with pytest.raises(api.UserError, match="Enabled has no vertex group Mask"):
        api.change_settings([limb, enabled], vertex_group="Mask")
    assert [api.settings(obj) for obj in several] == before
    api.soften_weights(limb)
    weights = all_weights(limb)
    with pytest.raises(api.UserError, match="Enabled has no weights to put back"):
        api.restore_weights([limb, enabled])
    assert all_weights(limb) == weights


def test_every_skinned_mesh_is_found_by_name(limb: bpy.types.Object) -> None:
    build_limb("Arm")
    bpy.data.objects["Arm"].modifiers["Armature"].object = None
    build_limb("Early")
    api.enable(limb)
    assert [obj.name for obj in api.skinned_meshes()] == ["Early", "Limb"]
    assert api.skinned_meshes(bpy.data.scenes.new("Other")) == []


BAKES: dict[str, Callable[[bpy.types.Object, Path], object]] = {
    "pose": lambda obj, _: api.bake_pose(obj),
    "frames": lambda obj, _: api.bake_frames(obj, 1, LAST),
    "correctives": lambda obj, _: api.bake_correctives(obj, ["Lower"], angles=[60.0]),
    "bones": lambda obj, _: api.bake_bones(obj, ["Lower"], budget=2),
    "cache": lambda obj, folder: api.bake_cache(obj, folder / "limb.pc2", 1, LAST),
    "take": lambda obj, _: api.cache_take(obj.parent, "Swing"),
}


@pytest.mark.parametrize("name", BAKES)
def test_a_bake_leaves_frame_mode_and_selection(
    limb: bpy.types.Object, tmp_path: Path, name: str
) -> None:
    layer = bpy.context.view_layer
    layer.objects.active = limb.parent
    bpy.ops.object.mode_set(mode="POSE")
    limb.parent.select_set(True)
    limb.select_set(False)
    api.enable(limb)
    report = BAKES[name](limb, tmp_path)
    assert report
    assert layer.objects.active == limb.parent
    assert limb.parent.mode == "POSE"
    assert [obj.name for obj in bpy.context.selected_objects] == [limb.parent.name]
    assert bpy.context.scene.frame_current == 2


def test_baked_frames_play_the_deformation(limb: bpy.types.Object) -> None:
    wanted = api.evaluate_frames(limb, range(1, LAST + 1))
    shares: list[float] = []
    report = api.bake_frames(limb, 1, LAST, progress=lambda share, _: shares.append(share))
    assert len(report.key_names) == LAST
    assert np.abs(by_armature(limb, range(1, LAST + 1)) - wanted).max() <= EXACT
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_issues_are_fixed_like_with_the_button(limb: bpy.types.Object) -> None:
    limb.parent.pose.bones["Hand"].scale = (1.0, 2.0, 1.0)
    limb.scale = (2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    issues = {issue.check: issue for issue in api.check(limb)}
    assert "object_scale" in issues
    found = api.fix(limb, "object_scale", agree=True)
    assert [each.state for each in found] == ["FIXED"]
    assert "object_scale" not in {issue.check for issue in api.check(limb)}
    assert settings_of(limb).enabled is False


def shape_of_file(obj: bpy.types.Object) -> tuple[object, ...]:
    """Everything that a bake may change."""
    layer = bpy.context.view_layer
    blocks = obj.data.shape_keys.key_blocks if obj.data.shape_keys else ()
    return (
        api.settings(obj),
        [(each.name, each.show_viewport, each.show_render) for each in obj.modifiers],
        [block.name for block in blocks],
        [group.name for group in obj.vertex_groups],
        sorted(each.name for each in bpy.data.objects),
        sorted(mesh.name for mesh in bpy.data.meshes),
        sorted(action.name for action in bpy.data.actions),
        [bone.name for bone in obj.parent.data.bones],
        [take.name for take in settings_of(obj.parent).takes],
        bpy.context.scene.frame_current,
        (layer.objects.active.name, layer.objects.active.mode),
        [each.name for each in layer.objects if each.select_get()],
    )


def ctrl_c(share: float, doing: str) -> None:
    signal.raise_signal(signal.SIGINT)


def out_of_patience(share: float, doing: str) -> None:
    raise KeyboardInterrupt


LONG: dict[str, Callable[[bpy.types.Object, Path, api.OnProgress], object]] = {
    "frames": lambda obj, _, told: api.bake_frames(obj, 1, LAST, progress=told),
    "evaluate": lambda obj, _, told: api.evaluate_frames(obj, [1, 2, 3], progress=told),
    "correctives": lambda obj, _, told: api.bake_correctives(obj, "Lower", progress=told),
    "bones": lambda obj, _, told: api.bake_bones(obj, "Lower", budget=2, progress=told),
    "copied": lambda obj, _, told: api.bake_frames(obj, 1, LAST, onto="COPY", progress=told),
    "cache": lambda obj, path, told: api.bake_cache(obj, path / "a.pc2", 1, LAST, progress=told),
    "take": lambda obj, _, told: api.cache_take(obj.parent, "Swing", progress=told),
}


def test_a_script_that_enables_every_object_leaves_palettes_alone(limb: bpy.types.Object) -> None:
    """A palette is a mesh with an Armature modifier, too."""
    api.enable(limb)
    palette = find_palette(rig_of(limb))
    assert palette is not None
    before = evaluated_positions(limb)
    with pytest.raises(api.BindingError, match="belongs to DQ Compensation"):
        api.enable(palette)
    assert not settings_of(palette).is_enabled
    assert np.array_equal(evaluated_positions(limb), before)


@pytest.mark.parametrize("interrupt", [ctrl_c, out_of_patience])
@pytest.mark.parametrize("name", LONG)
def test_interrupted_it_has_changed_nothing(
    limb: bpy.types.Object, tmp_path: Path, name: str, interrupt: api.OnProgress
) -> None:
    api.enable(limb)
    before, handler = shape_of_file(limb), signal.getsignal(signal.SIGINT)
    bakes = interrupt is ctrl_c and name != "evaluate"
    with pytest.raises(KeyboardInterrupt, match="Nothing has changed" if bakes else None):
        LONG[name](limb, tmp_path, interrupt)
    assert shape_of_file(limb) == before
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is handler


def test_interrupted_while_it_checks_the_result_the_bake_is_whole(limb: bpy.types.Object) -> None:
    wanted = api.evaluate_frames(limb, range(1, LAST + 1))

    def while_checking(_share: float, doing: str) -> None:
        if doing.startswith("Checking"):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="whole, but its result was not checked"):
        api.bake_frames(limb, 1, LAST, progress=while_checking)
    assert "the result was not checked" in str(last_report(limb))
    assert np.abs(by_armature(limb, range(1, LAST + 1)) - wanted).max() <= EXACT


def test_no_undo_step_is_added(limb: bpy.types.Object) -> None:
    for step in (1, 2):
        limb["step"] = step
        bpy.ops.ed.undo_push(message=str(step))
    api.enable(limb)
    api.fix(limb, agree=True)
    api.bake_bones(limb, "Lower", budget=2)
    api.bake_frames(limb, 1, LAST)
    bpy.ops.ed.undo()
    assert bpy.data.objects["Limb"]["step"] == 1


def removed_object() -> bpy.types.Object:
    obj = bpy.data.objects.new("Removed", None)
    bpy.data.objects.remove(obj)
    return obj


def removed_scene() -> bpy.types.Scene:
    scene = bpy.data.scenes.new("Removed")
    bpy.data.scenes.remove(scene)
    return scene


def test_an_object_in_no_scene_is_not_enabled(limb: bpy.types.Object) -> None:
    copy = limb.copy()
    copy.name = "Nowhere"
    with pytest.raises(api.UserError, match="Nowhere is in no scene"):
        api.enable(copy, factor=0.5)
    assert api.settings(copy) == api.settings(limb)
    assert [modifier.type for modifier in copy.modifiers] == ["ARMATURE"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: api.enable(None), "None is not an object"),
        (lambda _: api.bake_bones("Limb"), "'Limb' is not an object"),
        (lambda _: api.bake_bones([]), "No object is given"),
        (lambda obj: api.evaluate(obj, method="WAX"), "method cannot be 'WAX'"),
        (lambda obj: api.evaluate(obj, factor=-1.0), "factor -1.0 cannot be used"),
        (lambda obj: api.evaluate(obj, factor="0.5"), "factor '0.5' cannot be used"),
        (lambda obj: api.change_settings(obj, factor="0.5"), "factor '0.5' cannot be used"),
        (lambda obj: api.evaluate(obj, space="POSE"), "space cannot be 'POSE'"),
        (lambda obj: api.iterate_frames(obj, 5), "frames cannot be 5"),
        (lambda obj: api.iterate_frames(obj, [1], method="WAX"), "method cannot be 'WAX'"),
        (lambda obj: api.evaluate_frames(obj, []), "at least one frame"),
        (lambda obj: api.evaluate_frames(obj, 5), "frames cannot be 5"),
        (lambda obj: api.evaluate_frames(obj, "1-5"), "frames cannot be '1-5'"),
        (lambda obj: api.evaluate_frames(obj, [1, float("nan")]), "nan is not a frame"),
        (lambda obj: api.evaluate_frames(obj, [1_048_575]), "1048575 is not a frame"),
        (lambda obj: api.evaluate_frames(obj, range(10**12)), "more memory than there is"),
        (lambda obj: api.bake_frames(obj, 1.5, 3), "1.5 is not a whole frame"),
        (lambda obj: api.bake_frames(obj, 1, 10**13), "is not a frame"),
        (lambda obj: api.soften_weights(obj, 0.5), "too many positional arguments"),
        (lambda _: api.settings(removed_object()), "was removed from the file"),
        (lambda obj: api.bake_frames(obj, 5, 1), "ends with frame 1, before it begins"),
        (lambda obj: api.bake_frames(obj, 1, 5, step=0), "step 0 cannot be used"),
        (lambda obj: api.bake_frames(obj, 1, 5, target="WAX"), "target cannot be 'WAX'"),
        (lambda obj: api.bake_frames(obj, 1, 5, pattern="x"), 'key names "x" cannot be used'),
        (lambda obj: api.bake_pose(obj, onto="MOON"), "onto cannot be 'MOON'"),
        (lambda obj: api.bake_correctives(obj, "Nobody"), "no deforming bone Nobody"),
        (lambda obj: api.bake_correctives(obj, angles=[500.0]), 'angles "500" cannot be read'),
        (lambda obj: api.bake_correctives(obj, directions="UP"), "directions cannot be 'UP'"),
        (lambda obj: api.bake_bones(obj, influences=300), "influences 300 cannot be used"),
        (lambda obj: api.bake_cache(obj, "/nowhere/a.pc2", 1, 5), "There is no folder /nowhere"),
        (lambda obj: api.bake_cache(obj, "a.fbx", 1, 5), "format of a.fbx is not known"),
        (lambda obj: api.bake_cache(obj, "/a.abc", 1, 5), "Enable Limb first"),
        (lambda obj: api.bake_cache(obj, "//a.pc2", 1, 5), "never saved. Save it"),
        (lambda obj: api.cache_take(obj, "Swing"), "Limb is not an armature"),
        (lambda obj: api.cache_take(obj.parent, "Swing", 1, 5, tolerance=-1.0), "tolerance -1.0"),
        (
            lambda obj: api.fix(obj, fix="wax"),
            "There is no fix wax. The fixes are move_mesh",
        ),
        (lambda obj: api.fix(obj, agree="no"), "agree cannot be 'no'"),
        (lambda obj: api.fix(obj, ["weight_sums"]), r"There is no check \['weight_sums'\]"),
        (lambda _: api.skinned_meshes("Scene"), "scene cannot be 'Scene'"),
        (lambda _: api.crowds(5), "scene cannot be 5"),
        (lambda _: api.skinned_meshes(removed_scene()), "scene was removed"),
        (lambda obj: api.check(obj, depsgraph="x"), "depsgraph cannot be 'x'"),
        (lambda obj: api.evaluate(obj, depsgraph=5), "depsgraph cannot be 5"),
        (lambda obj: api.evaluate_frames(obj, [1], progress=5), "progress cannot be 5"),
        (lambda obj: api.report(obj, bones="Nobody"), "Limb Rig has no bone Nobody"),
        (lambda obj: api.report(obj, bones=None), "name of bones cannot be None"),
        (lambda obj: api.report(obj, bones=[["Lower"]]), r"cannot be \['Lower'\]. Give a text"),
        (lambda obj: api.report(obj, degrees=10**400), "angle 10+ cannot be used"),
        (lambda obj: api.report(obj, progress=5), "progress cannot be 5"),
        (lambda obj: api.evaluate_frames(obj, b"1"), "frames cannot be b'1'"),
        (lambda obj: api.bake_bones(obj, influences=10**29), "influences 10+ cannot be used"),
        (lambda obj: api.bake_bones(obj, progress=5), "progress cannot be 5"),
        (lambda obj: api.bake_bones(obj, [5]), "name of bones cannot be 5"),
        (lambda obj: api.bake_bones(obj, influences=1.5), "Give a whole number from 0 to 255"),
        (lambda obj: api.bake_pose(obj, 5), "name cannot be 5. Give a text"),
        (lambda obj: api.bake_cache(obj, None, 1, 5), "path cannot be None"),
        (lambda obj: api.bake_cache(obj, b"a.pc2", 1, 5), "path cannot be b'a.pc2'"),
        (lambda obj: api.bake_cache(obj, "", 1, 5, format="PC2"), "path cannot be ''"),
        (lambda obj: api.bake_cache(obj, "/a\0.pc2", 1, 5), "path cannot be"),
        (lambda obj: api.bake_cache(obj, "/\ud800.pc2", 1, 5), "path cannot be"),
        (lambda obj: api.bake_cache(obj, "/a.pc2", 1, 5, step=1.5), "step 1.5 cannot be used"),
        (lambda obj: api.bake_cache(obj, "/a.pc2", 1, 5, progress=5), "progress cannot be 5"),
        (lambda obj: api.change_settings(obj, vertex_group=None), "no vertex group None"),
        (lambda obj: api.fix(obj, key="wax"), "There is no issue wax. The issues are "),
        (lambda obj: api.bake_pose(obj, overwrite="no"), "overwrite cannot be 'no'"),
        (lambda obj: api.bake_bones(obj, influences=True), "influences True cannot be used"),
        (lambda obj: api.bake_bones(obj, tolerance=10**400), "tolerance 10+ cannot be used"),
        (lambda obj: api.bake_correctives(obj, angles="wax"), "angles 'wax' cannot be used"),
        (lambda obj: api.bake_cache(obj, f"/{'x' * 300}.pc2", 1, 5), "written: File name too long"),
        (lambda obj: api.fix(obj, "wax"), "There is no check wax. The checks are mesh_placement"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    limb: bpy.types.Object, call: Callable[[bpy.types.Object], object], message: str
) -> None:
    before = shape_of_file(limb)
    with pytest.raises(api.UserError, match=message):
        call(limb)
    assert shape_of_file(limb) == before


def test_what_blender_does_not_evaluate_is_refused(limb: bpy.types.Object) -> None:
    limb.hide_viewport = True
    bpy.context.view_layer.update()
    for call in (
        api.evaluate,
        lambda obj: api.evaluate_frames(obj, [1]),
        api.bake_pose,
        lambda obj: api.bake_frames(obj, 1, 2),
        api.bake_bones,
    ):
        with pytest.raises(api.UserError, match=r"Limb is (turned off|hidden)"):
            call(limb)


def has_gpu() -> bool:
    try:
        return gpu.platform.backend_type_get() != "NONE"
    except SystemError:
        return False


def test_without_a_gpu_it_says_so(limb: bpy.types.Object) -> None:
    if has_gpu():
        pytest.skip("This process has one")
    with pytest.raises(RuntimeError, match="no GPU"):
        api.evaluate(limb, evaluator="GPU")
