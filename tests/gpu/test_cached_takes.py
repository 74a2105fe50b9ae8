"""From the operator to the picture: a cached take plays what Blender's own modifier showed.

Tolerance: 1e-4 of the size, for float32 and weights of 16 bits.
"""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation.scene.bind import bind
from dq_compensation.scene.object_settings import settings_of
from dq_compensation.session.status import status_of
from tests.gpu.test_batches import TOLERANCE, Drawing, positions
from tests.limb import build_limb, pose_limb

FRAMES = (1, 4, 7, 11)


def animate(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """A swing, and a shape key that bulges meanwhile."""
    obj.shape_key_add(name="Basis")
    bulge = obj.shape_key_add(name="Bulge")
    shape = np.array([vertex.co for vertex in obj.data.vertices], np.float32)
    shape[300:500, 1:] *= 1.4
    bulge.points.foreach_set("co", shape.ravel())
    for frame, share in ((1, -0.2), (6, 1.0), (FRAMES[-1], 0.3)):
        pose_limb(armature, 1.4 * share, 0.9 * share)
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_euler", frame=frame)
        bulge.value = max(share, 0.0)
        bulge.keyframe_insert("value", frame=frame)


def blender_positions(obj: bpy.types.Object) -> NDArray[np.float32]:
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    found = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.attributes["position"].data.foreach_get("vector", found.ravel())
    return found


def test_a_cached_take_is_drawn_as_blender_deforms(addon: None) -> None:
    scene = bpy.context.scene
    obj, armature = build_limb()
    animate(obj, armature)
    obj.modifiers[0].use_deform_preserve_volume = True
    settings_of(obj).method = "DUAL_QUATERNION"
    bpy.context.view_layer.objects.active = armature
    result = bpy.ops.dqc.take_cache(take_name="Swing", first=1, last=FRAMES[-1], tolerance=0.0)
    assert result == {"FINISHED"}
    expected = {}
    for frame in FRAMES:
        scene.frame_set(frame)
        expected[frame] = blender_positions(obj)
    playback = settings_of(armature).playback
    playback.playing, playback.loop = True, False
    status_of(obj).binding = bind(obj)
    # Nothing but the take moves it now.
    armature.animation_data_clear()
    obj.data.shape_keys.animation_data_clear()
    draw = Drawing([obj])
    for frame in FRAMES:
        scene.frame_set(frame)
        batches, alone = draw()
        assert not alone
        off = np.abs(positions(batches)[obj.name] - expected[frame]).max()
        assert off < TOLERANCE * 1.5, frame
