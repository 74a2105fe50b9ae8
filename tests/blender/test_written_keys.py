"""Shape keys whose points a driver writes: scripts and bakes give what the viewport shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from tests.blender.enabled_scenes import check, enable
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.limb import build_posed_limb
from tests.written_keys import written_key

pytestmark = pytest.mark.usefixtures("addon")

# Of a limb 1.5 long, metres: what all evaluators promise.
TOLERANCE = 1e-4


@pytest.fixture
def limb() -> Iterator[bpy.types.Object]:
    """The posed limb with a written key, enabled."""
    new_file()
    obj, _ = build_posed_limb()
    with written_key(obj):
        enable(obj)
        yield obj


@pytest.mark.parametrize("method", ["COMPENSATED", "LINEAR", "SPHERICAL_JOINT"])
def test_scripts_and_caches_give_what_the_viewport_shows(
    limb: bpy.types.Object, method: str, tmp_path: Path
) -> None:
    """The viewport is Blender's own evaluation; with LINEAR it is the Armature modifier alone."""
    limb.dq_compensation.method = method
    shown = []
    for frame, height in ((10, 0.2), (3, 0.06)):
        limb["height"] = height
        limb.keyframe_insert('["height"]', frame=frame)
    for frame in (10, 3):
        bpy.context.scene.frame_set(frame)
        shown.append(evaluated_positions(limb))
        np.testing.assert_allclose(api.evaluate(limb), shown[-1], atol=TOLERANCE)
    assert np.abs(shown[0] - shown[1]).max() > 0.1
    found = api.evaluate_frames(limb, (10, 3))
    np.testing.assert_allclose(found, shown, atol=TOLERANCE)
    path = tmp_path / "limb.pc2"
    api.bake_cache(limb, str(path), 10, 10)
    cached = np.frombuffer(path.read_bytes()[32:], "<f4").reshape(shown[0].shape)
    np.testing.assert_allclose(cached, shown[0], atol=TOLERANCE)


def test_what_a_driver_writes_goes_through_soft_weights(limb: bpy.types.Object) -> None:
    limb.dq_compensation.softness = 0.5
    check()
    np.testing.assert_allclose(api.evaluate(limb), evaluated_positions(limb), atol=TOLERANCE)


def test_a_pose_is_baked_on_what_a_driver_writes(limb: bpy.types.Object) -> None:
    """The baked key acts beside the written one: Blender's Armature modifier gives our result."""
    expected = evaluated_positions(limb)
    report = api.bake_pose(limb)
    api.disable(limb)
    limb.data.shape_keys.key_blocks[report.key_names[0]].value = 1.0
    np.testing.assert_allclose(evaluated_positions(limb), expected, atol=TOLERANCE)


def test_the_report_on_a_take_says_that_the_shapes_are_not_in_it(limb: bpy.types.Object) -> None:
    rig = limb.modifiers["Armature"].object
    rig.pose.bones["Lower"].keyframe_insert("rotation_euler", frame=1)
    rig.pose.bones["Lower"].rotation_euler = (0.0, 0.0, 0.2)
    rig.pose.bones["Lower"].keyframe_insert("rotation_euler", frame=5)
    report = api.cache_take(rig, first=1, last=5)
    assert report.leaves_shapes
    assert "drivers" in report.sentence()
