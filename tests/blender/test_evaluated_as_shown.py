"""What scripts evaluate is what the modifier display shows, or a sentence says why it is not.

Tolerance: 1e-4 of the size, what the evaluators may differ by.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of
from tests.blender.enabled_scenes import check, distance, enable, rest_of
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.limb import BONE_LENGTH, BONES, build_bendy_limb, limb_vertices, straighten_handles

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object
SIZE = BONE_LENGTH * len(BONES)
TOLERANCE = 1e-4


def bendy_limb(segments: int = 7, mapping: str = "STRAIGHT") -> tuple[Object, Object]:
    new_file()
    return build_bendy_limb(segments, mapping)


def add_blend_group(obj: Object, rng: np.random.Generator) -> None:
    group = obj.vertex_groups.new(name="Blend")
    for vertex, weight in enumerate(rng.uniform(-0.3, 1.3, len(obj.data.vertices)).clip(0, 1)):
        group.add([vertex], float(weight), "REPLACE")
    obj.dq_compensation.blend_group = "Blend"


def add_key(obj: Object) -> bpy.types.ShapeKey:
    """It moves vertices along the limb by up to 5 % of its size."""
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Longer")
    moved = limb_vertices() * (1.05, 1.2, 1.2)
    key.points.foreach_set("co", moved.astype(np.float32).ravel())
    key.value = 1.0
    return key


def assert_as_shown(obj: Object, evaluator: api.Evaluator = "NUMPY") -> None:
    bpy.context.view_layer.update()
    shown = evaluated_positions(obj)
    assert distance(shown, rest_of(obj), SIZE) > 0.1
    assert distance(api.evaluate(obj, evaluator=evaluator), shown, SIZE) <= TOLERANCE


def test_an_armature_modifier_that_is_turned_off() -> None:
    obj, _rig = bendy_limb()
    enable(obj)
    assert_as_shown(obj)
    obj.modifiers["Armature"].show_viewport = False
    check()
    for evaluator in ("NUMPY", "MODIFIER"):
        with pytest.raises(api.UserError, match="Armature is turned off in the viewport"):
            api.evaluate(obj, evaluator=evaluator)
    obj.modifiers["Armature"].show_viewport = True
    check()
    assert_as_shown(obj)


def test_an_armature_modifier_that_is_turned_off_in_a_frame() -> None:
    obj, _rig = bendy_limb()
    modifier = obj.modifiers["Armature"]
    for frame, shown in ((1, True), (2, False)):
        modifier.show_viewport = shown
        modifier.keyframe_insert("show_viewport", frame=frame)
    bpy.context.scene.frame_set(1)
    enable(obj)
    frames = api.iterate_frames(obj, (1, 2))
    next(frames)
    with pytest.raises(api.UserError, match="Armature is turned off in the viewport"):
        next(frames)


def test_softness_with_a_blend_bends_bendy_bones() -> None:
    obj, rig = bendy_limb()
    add_blend_group(obj, np.random.default_rng(0))
    obj.dq_compensation.softness = 0.5
    enable(obj)
    assert_as_shown(obj)
    assert_as_shown(obj, "MODIFIER")
    bent = evaluated_positions(obj)
    straighten_handles(rig)
    assert_as_shown(obj)
    assert distance(bent, evaluated_positions(obj), SIZE) > 0.01


def test_an_animated_preserve_volume_straightens_bendy_bones_unless_weights_are_soft() -> None:
    obj, _rig = bendy_limb()
    obj.modifiers["Armature"].keyframe_insert("use_deform_preserve_volume", frame=1)
    enable(obj)
    for evaluator in ("NUMPY", "MODIFIER"):
        with pytest.raises(api.BindingError, match="an animated Preserve Volume"):
            api.evaluate(obj, evaluator=evaluator)
    assert notes_of(obj) == [
        "Bendy bones of Limb Rig move as straight ones because Preserve Volume of Armature is set "
        "by the action LimbAction: Upper, Lower, Hand. Remove its keys or driver, or set Display "
        "to GPU."
    ]
    obj.dq_compensation.softness = 0.5
    check()
    assert_as_shown(obj)
    assert_as_shown(obj, "MODIFIER")
    assert not notes_of(obj)


def test_softness_bends_the_shape_of_shape_keys() -> None:
    obj, _ = bendy_limb()
    add_key(obj)
    obj.dq_compensation.softness = 0.5
    enable(obj)
    assert_as_shown(obj)
    assert_as_shown(obj, "MODIFIER")


def test_softness_follows_keys_of_bendy_bones_only_nearly_below_a_modifier_that_moves_them() -> (
    None
):
    obj, rig = bendy_limb()
    key = add_key(obj)
    displace = obj.modifiers.new("Displace", "DISPLACE")
    displace.strength = 0.0
    obj.modifiers.move(obj.modifiers.find("Displace"), 0)
    obj.dq_compensation.softness = 0.5
    enable(obj)
    with pytest.raises(api.BindingError, match="of Limb along bendy bones"):
        api.evaluate(obj)
    assert_as_shown(obj, "MODIFIER")
    key.value = 0.0
    assert_as_shown(obj)
    key.value = 1.0
    straighten_handles(rig)
    assert_as_shown(obj)


def test_softness_before_enable_is_what_enable_shows() -> None:
    obj, _rig = bendy_limb()
    obj.dq_compensation.softness = 0.5
    with pytest.raises(api.BindingError, match="Enable it"):
        api.evaluate(obj, evaluator="MODIFIER")
    found = api.evaluate(obj)
    enable(obj)
    assert distance(evaluated_positions(obj), found, SIZE) <= TOLERANCE


@pytest.mark.parametrize("seed", range(10))
def test_any_mixture_is_as_shown_or_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    obj, rig = bendy_limb(int(rng.choice([1, 2, 6])), str(rng.choice(["STRAIGHT", "CURVED"])))
    for bone in rig.pose.bones:
        bone.rotation_euler = rng.uniform(-1.0, 1.0, 3)
    settings, (blended, keyed, preserved, hidden, soft) = obj.dq_compensation, rng.random(5) < 0.5
    if blended:
        add_blend_group(obj, rng)
    if keyed:
        add_key(obj)
    obj.modifiers["Armature"].use_deform_preserve_volume = bool(preserved)
    settings.softness = 0.5 * soft
    settings.twist_spread, settings.use_ball_joints = rng.choice([0.0, 0.8]), bool(seed % 2)
    enable(obj)
    obj.modifiers["Armature"].show_viewport &= not hidden
    check()
    shown = evaluated_positions(obj)
    for evaluator in ("NUMPY", "MODIFIER"):
        refusal, found = "", shown
        try:
            found = api.evaluate(obj, evaluator=evaluator)
        except api.UserError as error:
            refusal = str(error)
        assert not refusal or "turned off" in refusal or "Softness" in refusal
        assert distance(shown, found, SIZE) <= TOLERANCE
