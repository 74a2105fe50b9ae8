"""Renders one human before and after: Blender's Armature modifier, and DQ Compensation, by Cycles.

make demo        or        .venv-5.2/bin/python scripts/run.py demos.before_after
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix, Vector
from PIL import Image, ImageDraw

import dq_compensation
from demos.closeups import FRAMINGS, Framing, camera_at, limb_axes
from demos.drawing import font
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.scene.binding.bind import bind
from environments import PROJECT
from human.model import build_human
from human.poses import NamedPose, apply_pose, named_poses, rotation, twist_about_parent
from leaving import leave

PICTURE = PROJECT / "build" / "demo" / "before_after.jpg"

# The whole is 1920 x 1080, as listings show it; the manual shows two thirds of it.
CELL_WIDTH, CELL_HEIGHT, LABEL_HEIGHT = 456, 444, 45
GAP, BETWEEN, HEADER = 12, 48, 102
IN_MANUAL = 2 / 3
SAMPLES = 24
PAGE, CELL, TEXT, ACCENT = (255, 255, 255), (236, 233, 228), (70, 66, 62), (0, 122, 90)
HEADINGS = (("Blender's Armature modifier", TEXT), ("DQ Compensation, as painted", ACCENT))
# In the camera's axes: from where two soft suns shine, how strong, how wide in degrees.
SUNS = (((-0.8, 0.9, 0.6), 4.2, 20.0), ((0.9, 0.2, -0.5), 1.2, 30.0))
# How strong the light from all around is; and how far red, green and blue go below skin, metres
# (Jensen et al., A Practical Model for Subsurface Light Transport, 2001: skin1).
SKY, SCATTERED = 0.3, (0.00367, 0.00137, 0.00068)
# From the camera to the joint, metres.
AWAY = 2.0


def close_ups() -> list[tuple[str, NamedPose, Framing]]:
    """The label, the pose and the framing of each close-up; those of the contact sheet, nearly."""
    poses = named_poses("default")
    arm = replace(poses["shoulder"], rotations={"upperarm01.L": rotation(0.0, 90.0, 20.0)})
    twist = twist_about_parent("default", "wrist.L", "lowerarm02.L", 130.0)
    hand = replace(poses["wrist"], rotations={"wrist.L": twist})
    elbow = replace(poses["elbow"], rotations={"lowerarm01.L": rotation(98.0, 0.0, 0.0)})
    return [
        ("Elbow bent", elbow, replace(FRAMINGS["elbow"], half_height=0.058, shift=(-0.1, 0.15))),
        ("Hand twisted", hand, replace(FRAMINGS["wrist"], half_height=0.085)),
        ("Knee bent", poses["knee"], FRAMINGS["knee"]),
        ("Arm twisted", arm, replace(FRAMINGS["shoulder"], half_height=0.14, shift=(0.35, -0.05))),
    ]


def light(body: bpy.types.Object, *, scatters: bool = False) -> None:
    """One colour for a body, soft light, a camera.

    Args:
        scatters: light goes some millimetres below the surface, and from skin to skin, as in real
            folds: clay is black there.
    """
    smooth = cast("bpy.types.SubsurfModifier", body.modifiers.new("Subdivision", "SUBSURF"))
    smooth.levels, smooth.render_levels = 0, 2
    material = _clay()
    cast("bpy.types.Mesh", body.data).materials.append(material)
    scene: Any = bpy.context.scene
    background = _sky(scene)
    lens = bpy.data.cameras.new("Camera")
    lens.type = "ORTHO"
    camera = bpy.data.objects.new("Camera", lens)
    scene.collection.objects.link(camera)
    scene.camera = camera
    for place, strength, width in SUNS:
        lamp = bpy.data.lights.new("Sun", "SUN")
        lamp.energy = strength
        cast("Any", lamp).angle = math.radians(width)
        sun = bpy.data.objects.new("Sun", lamp)
        sun.parent = camera
        sun.rotation_euler = Vector(place).to_track_quat("Z", "Y").to_euler()
        scene.collection.objects.link(sun)
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples = "CPU", SAMPLES
    scene.cycles.max_bounces = 3
    scene.cycles.use_denoising, scene.cycles.denoiser = True, "OPENIMAGEDENOISE"
    scene.render.resolution_x, scene.render.resolution_y = CELL_WIDTH, CELL_HEIGHT
    scene.render.film_transparent = True
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Medium High Contrast"
    if scatters:
        shader = cast("Any", material.node_tree).nodes["Principled BSDF"]
        shader.inputs["Subsurface Weight"].default_value = 1.0
        shader.inputs["Subsurface Radius"].default_value = SCATTERED
        shader.inputs["Subsurface Scale"].default_value = 1.0
        background.inputs["Strength"].default_value = 2.0 * SKY
        scene.cycles.max_bounces = scene.cycles.diffuse_bounces = 8
        scene.view_settings.look = "None"
    scene.render.image_settings.file_format = "PNG"
    scene.render.image_settings.color_mode = "RGBA"


def _clay() -> bpy.types.Material:
    material = bpy.data.materials.new("Clay")
    if material.node_tree is None:  # before Blender 5
        material.use_nodes = True
    shader = cast("Any", material.node_tree).nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (0.62, 0.30, 0.19, 1.0)
    shader.inputs["Roughness"].default_value = 0.7
    return material


def _sky(scene: bpy.types.Scene) -> Any:
    world = bpy.data.worlds.new("Sky")
    scene.world = world
    if world.node_tree is None:
        world.use_nodes = True
    background = cast("Any", world.node_tree).nodes["Background"]
    background.inputs["Color"].default_value = (0.93, 0.95, 1.0, 1.0)
    background.inputs["Strength"].default_value = SKY
    return background


def look(pose: NamedPose, framing: Framing, rig: bpy.types.Object, skeleton: Skeleton) -> None:
    """Pose the human, and aim the camera."""
    apply_pose(rig, pose.rotations)
    bpy.context.view_layer.update()
    bones = cast("bpy.types.Pose", rig.pose).bones
    before, after = (
        np.array(bones[name].matrix_channel, np.float64) for name in (pose.parent, pose.joint)
    )
    aimed = camera_at(framing, limb_axes(pose, framing, skeleton).posed(before, after))
    camera: Any = cast("bpy.types.Scene", bpy.context.scene).camera
    camera.matrix_world = Matrix(np.linalg.inv(aimed.view).tolist()) @ Matrix.Translation(
        (0.0, 0.0, AWAY)
    )
    camera.data.ortho_scale = 2.0 * framing.half_height * max(1.0, CELL_WIDTH / CELL_HEIGHT)
    camera.data.clip_start, camera.data.clip_end = AWAY - framing.depth, AWAY + framing.depth


def render(folder: Path) -> Image.Image:
    """The camera's picture, over the colour of a cell."""
    scene: Any = bpy.context.scene
    scene.render.filepath = str(folder / "cell.png")
    bpy.ops.render.render(write_still=True)
    with Image.open(scene.render.filepath) as picture:
        cell = Image.new("RGBA", picture.size, (*CELL, 255))
        return Image.alpha_composite(cell, picture.convert("RGBA")).convert("RGB")


def pictures(
    wanted: Sequence[tuple[str, NamedPose, Framing]], rig: bpy.types.Object, skeleton: Skeleton
) -> list[Image.Image]:
    """The close-ups of the human as it is now."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for _, pose, framing in wanted:
            look(pose, framing, rig, skeleton)
            found.append(render(Path(folder)))
    return found


def sheet(labels: list[str], halves: list[list[Image.Image]]) -> Image.Image:
    """Before on the left, after on the right, each in two rows of two pictures."""
    half = 2 * CELL_WIDTH + GAP
    height = HEADER + 2 * (CELL_HEIGHT + LABEL_HEIGHT)
    page = Image.new("RGB", (2 * (GAP + half) + BETWEEN, height), PAGE)
    pen = ImageDraw.Draw(page)
    for number, (pictures, (heading, colour)) in enumerate(zip(halves, HEADINGS, strict=True)):
        left = GAP + number * (half + BETWEEN)
        pen.text((left + half // 2, HEADER // 2), heading, colour, font(51), anchor="mm")
        for place, (label, picture) in enumerate(zip(labels, pictures, strict=True)):
            row, column = divmod(place, 2)
            x = left + column * (CELL_WIDTH + GAP)
            y = HEADER + row * (CELL_HEIGHT + LABEL_HEIGHT)
            page.paste(picture, (x, y))
            below = (x + CELL_WIDTH // 2, y + CELL_HEIGHT + LABEL_HEIGHT // 2)
            pen.text(below, label, TEXT, font(30), anchor="mm")
    return page


def save(page: Image.Image, path: Path, *, in_listing: bool = False) -> None:
    """Save a picture for the manual, smaller.

    Args:
        in_listing: whether the listing shows it: then it is saved as it is, too, in the folder
            `listing` beside it.
    """
    large = path.parent / "listing" / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if in_listing:
        large.parent.mkdir(exist_ok=True)
        page.save(large, quality=88, optimize=True)
    size = (round(page.width * IN_MANUAL), round(page.height * IN_MANUAL))
    page.resize(size, Image.Resampling.LANCZOS).save(path, quality=88, optimize=True)


def main() -> int:
    start = time.monotonic()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    print("One human before and after, by Cycles", flush=True)
    body, rig = build_human("default")
    light(body)
    skeleton = bind(body, bpy.context.evaluated_depsgraph_get()).skeleton
    wanted, halves = close_ups(), []
    for enabled in (False, True):
        if enabled:
            cast("bpy.types.ViewLayer", bpy.context.view_layer).objects.active = body
            body.select_set(True)
            bpy.ops.dqc.enable()
        halves.append(pictures(wanted, rig, skeleton))
    save(sheet([label for label, *_ in wanted], halves), PICTURE)
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
