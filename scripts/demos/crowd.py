"""Renders a crowd of fifty: takes, roles, Bake Crowd, Cycles.

make demo-crowd        or        .venv-5.2/bin/python scripts/run.py demos.crowd

Three takes of the human on the rig `cmu_mb`: a jump from motion capture, a walk and standing idle.
Most figures walk; some stand, and walk on; some jump. What is rendered needs nothing of the add-on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix, Vector
from PIL import Image

import dq_compensation
from demos.before_after import save
from demos.crowd_look import dress, light_and_ground, place_camera
from dq_compensation.pipeline.crowds.known_crowds import baked_crowd
from dq_compensation.pipeline.crowds.settings import crowd_of
from environments import PROJECT
from human.gait import key_idle, key_walk
from human.model import build_human
from human.motion import key_motion
from leaving import leave

FOLDER = PROJECT / "build" / "demo"
RENDERED, PICTURE = FOLDER / "crowd.png", FOLDER / "crowd.jpg"

FIGURES = 50
# Takes: how each is keyed, and the tolerance of its keys in millimetres.
TAKES: dict[str, Callable[[bpy.types.Object], int]] = {
    "Walk": key_walk,
    "Idle": key_idle,
    "Jump": key_motion,
}
# The take, the one that follows, and the share of the figures.
ROLES = (("Walk", "", 7.0), ("Idle", "Walk", 2.0), ("Jump", "", 1.0))
FRAME = 40
TOLERANCE = 15.0


class DemoError(Exception):
    """The demo cannot run, or what it shows is not what it should be."""


def build_crowd(count: int = FIGURES) -> bpy.types.Object:
    """The human with its takes, hidden, and a crowd of it; nothing else may be in the scene."""
    body, rig = build_human("cmu_mb")
    _stand_on_the_ground(body, rig)
    dress(body)
    bpy.context.scene.render.fps = 30
    _select(body)
    bpy.ops.dqc.enable()
    for name, key in TAKES.items():
        rig.animation_data_clear()
        last = key(rig)
        bpy.ops.dqc.take_cache(take_name=name, first=1, last=last, tolerance=1.0)
    _select(body)
    bpy.ops.dqc.crowd_add(count=count, seed=12)
    crowd = cast("bpy.types.Object", bpy.context.active_object)
    settings: Any = crowd_of(crowd)
    for role, (take, then, share) in zip(settings.roles, ROLES, strict=True):
        role.take, role.then, role.share, role.fade_frames = take, then, share, 12.0
    for name, value in (
        ("spacing", 1.15),
        ("columns", 8),
        ("place_spread", 0.7),
        ("speed_spread", 0.15),
        ("scale_spread", 0.08),
        ("turn", 0.45),
        ("turn_spread", 0.25),
    ):
        setattr(settings, name, value)
    body.hide_render = rig.hide_render = True
    body.hide_set(True)
    rig.hide_set(True)
    return crowd


def bake(crowd: bpy.types.Object, tolerance: float = TOLERANCE) -> None:
    """Bake the crowd, which is active.

    Raises:
        DemoError: there is no bake.
    """
    bpy.ops.dqc.bake_crowd(tolerance=tolerance)
    if baked_crowd(crowd) is None:
        raise DemoError("the crowd was not baked")


def check_instances(count: int) -> None:
    """Hold that every figure is there.

    Raises:
        DemoError: one is missing.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    shown = sum(instance.is_instance for instance in depsgraph.object_instances)
    if shown != count:
        raise DemoError(f"{shown} of {count} figures are shown")


def render(path: Path, width: int = 1920, height: int = 1080, samples: int = 16) -> None:
    """Render the current frame with Cycles on the processor."""
    scene: Any = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples = "CPU", samples
    scene.cycles.use_adaptive_sampling = True
    scene.cycles.max_bounces = 4
    scene.cycles.use_denoising, scene.cycles.denoiser = True, "OPENIMAGEDENOISE"
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, 0.5
    scene.view_settings.view_transform = "AgX"
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)


def _stand_on_the_ground(body: bpy.types.Object, rig: bpy.types.Object) -> None:
    """Move the human up in its own space, so that its origin is between its feet."""
    mesh = cast("bpy.types.Mesh", body.data)
    lowest = min(vertex.co.z for vertex in mesh.vertices)
    up = Matrix.Translation(Vector((0.0, 0.0, -lowest)))
    mesh.transform(up)
    cast("bpy.types.Armature", rig.data).transform(up)


def _select(obj: bpy.types.Object) -> None:
    layer = cast("bpy.types.ViewLayer", bpy.context.view_layer)
    for each in layer.objects:
        each.select_set(each == obj)
    layer.objects.active = obj


def main() -> int:
    start = time.monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        dq_compensation.register()
        print(f"Three takes of the human, and a crowd of {FIGURES}", flush=True)
        crowd = build_crowd()
        light_and_ground()
        place_camera(np.array(crowd.matrix_world.translation))
        print("Baking it", flush=True)
        bake(crowd)
        cast("bpy.types.Scene", bpy.context.scene).frame_set(FRAME)
        check_instances(FIGURES)
        print("Rendering it", flush=True)
        render(RENDERED)
        with Image.open(RENDERED) as picture:
            save(picture.convert("RGB"), PICTURE, in_listing=True)
    except (DemoError, RuntimeError) as error:
        print(f"The demo failed: {error}.", file=sys.stderr, flush=True)
        return 1
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
