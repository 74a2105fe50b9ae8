"""Draws a human from glTF files: exported as it is, and after Bake to Bones.

make demo-exports        or        .venv-5.2/bin/python scripts/run.py demos.exports

The files are imported into an empty file and played by a plain Armature modifier, as engines do.
Below each picture: how far the skin is from the live deformation. `exports.js` plays the same files
in a browser.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpy

import addon_utils  # isort: skip  (bpy brings it)
import numpy as np
from mathutils.kdtree import KDTree
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import dq_compensation
from demos.closeups import FRAMINGS, bones_of, camera_at, limb_axes
from demos.drawing import Camera, Drawing, draw, font, picture
from demos.human import DemoError, start_gpu
from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.viewport.batches import deformed_object
from environments import PROJECT
from human.model import build_human
from human.poses import NamedPose, apply_pose, named_poses
from leaving import leave

FOLDER = PROJECT / "build" / "demo"
PICTURE = FOLDER / "exports.jpg"
MARKS = FOLDER / "poses.json"

RIG = "game_engine"
POSES = ("elbow", "wrist", "knee")
# A second from rest to each pose, and a second back.
POSE_FRAMES = (25, 73, 121)
LAST_FRAME = 145
COLUMNS = ("Live in Blender", "Exported as it is", "Exported after Bake to Bones")

CELL_WIDTH, CELL_HEIGHT = 336, 258
MARGIN, GAP, LABEL_WIDTH = 24, 8, 128
HEADER_HEIGHT, CAPTION_HEIGHT, FOOTER_HEIGHT = 104, 34, 8
PAGE, TEXT, QUIET, ORANGE = (30, 30, 30), (232, 232, 232), (165, 165, 165), (255, 160, 64)

Positions = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shot:
    """One pose by every column of `COLUMNS`.

    Attributes:
        title: what was done.
        drawings: the pictures.
        largest: of any vertex from the live deformation, in millimetres.
    """

    title: str
    drawings: tuple[Drawing, ...]
    largest: tuple[float, ...]


def take_shots(folder: Path) -> list[Shot]:
    """Key the poses, export them as they are and baked into a folder, read and draw the files."""
    addon_utils.enable("io_scene_gltf2")
    body, rig = build_human(RIG)
    poses = [named_poses(RIG)[key] for key in POSES]
    _key(poses, rig)
    rest = _positions(body.data)
    faces = np.zeros(4 * len(body.data.polygons), np.int32)
    body.data.polygons.foreach_get("vertices", faces)
    plain, baked = folder / "plain.glb", folder / "baked.glb"
    bpy.ops.export_scene.gltf(filepath=str(plain))
    body.select_set(True)
    bpy.context.view_layer.objects.active = body
    bpy.ops.dqc.enable()
    columns = [_per_frame(lambda: api.evaluate(body).astype(np.float64))]
    cameras = _per_frame(lambda: _camera(body, rig))
    bpy.ops.dqc.bake_bones(bones="ALL")
    bpy.ops.export_scene.gltf(filepath=str(baked))
    columns += [_played(path, rest) for path in (plain, baked)]
    shots = []
    for number, (pose, camera) in enumerate(zip(poses, cameras, strict=True)):
        shapes = [column[number] for column in columns]
        apart = [1000.0 * np.linalg.norm(shape - shapes[0], axis=1).max() for shape in shapes]
        drawings = tuple(_drawn(shape, faces.reshape(-1, 4), camera) for shape in shapes)
        shots.append(Shot(pose.title, drawings, tuple(map(float, apart))))
    return shots


def check_shots(shots: Sequence[Shot]) -> None:
    """Hold what the picture is meant to show.

    Raises:
        DemoError: it does not.
    """
    for shot in shots:
        _, plain, baked = shot.largest
        if not baked < plain / 2.0:
            raise DemoError(f"{shot.title}: {plain:.1f} mm plain, {baked:.1f} mm baked")
        if any(drawing.coverage < 0.1 for drawing in shot.drawings):
            raise DemoError(f"{shot.title}: a picture is empty")


def sheet(shots: Sequence[Shot]) -> Image.Image:
    """Lay out the pictures: a row for each pose, a column for each of `COLUMNS`."""
    width = 2 * MARGIN + LABEL_WIDTH + len(COLUMNS) * (CELL_WIDTH + GAP) - GAP
    height = HEADER_HEIGHT + len(shots) * (CELL_HEIGHT + CAPTION_HEIGHT) + FOOTER_HEIGHT
    image = Image.new("RGB", (width, height), PAGE)
    pen = ImageDraw.Draw(image)
    pen.text((MARGIN, 14), "Bake to Bones", TEXT, font(26))
    explained = "glTF files, played by a plain Armature modifier in an empty file"
    pen.text((MARGIN, 46), explained, QUIET, font(16))
    right, legend = width - MARGIN, "Outline of the live deformation"
    length = pen.textlength(legend, font(16))
    pen.text((right, 28), legend, QUIET, font(16), anchor="rm")
    pen.line((right - length - 44, 28, right - length - 12, 28), ORANGE, 3)
    for row, shot in enumerate(shots):
        y = HEADER_HEIGHT + row * (CELL_HEIGHT + CAPTION_HEIGHT)
        first, _, second = shot.title.partition(" ")
        pen.text((MARGIN, y + CELL_HEIGHT // 2 - 4), first, TEXT, font(20), anchor="ls")
        pen.text((MARGIN, y + CELL_HEIGHT // 2 + 20), second, QUIET, font(17), anchor="ls")
        for column, drawing in enumerate(shot.drawings):
            x = MARGIN + LABEL_WIDTH + column * (CELL_WIDTH + GAP)
            image.paste(picture(drawing, shot.drawings[0] if column else None), (x, y))
            if column:
                label = f"up to {shot.largest[column]:.1f} mm from live"
                place = (x + CELL_WIDTH // 2, y + CELL_HEIGHT + 14)
                pen.text(place, label, QUIET, font(16), anchor="mm")
    for column, name in enumerate(COLUMNS):
        middle = MARGIN + LABEL_WIDTH + column * (CELL_WIDTH + GAP) + CELL_WIDTH // 2
        pen.text((middle, HEADER_HEIGHT - 8), name, TEXT, font(18), anchor="ms")
    return image


def _key(poses: Sequence[NamedPose], rig: bpy.types.Object) -> None:
    """The poses at `POSE_FRAMES`, and rest before and after each."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST_FRAME
    middles = [(pose.rotations, frame) for pose, frame in zip(poses, POSE_FRAMES, strict=True)]
    rests = [({}, frame) for frame in (*(frame - 24 for frame in POSE_FRAMES), LAST_FRAME)]
    for rotations, frame in (*middles, *rests):
        apply_pose(rig, rotations)
        for bone in rig.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)


def write_marks(path: Path) -> None:
    """Write for `exports.js` when each pose is there, in seconds of the files, and its joint."""
    fps = bpy.context.scene.render.fps
    poses = named_poses(RIG)
    marks = [
        {
            "key": key,
            "title": poses[key].title,
            "joint": poses[key].joint,
            "seconds": frame / fps,
        }
        for key, frame in zip(POSES, POSE_FRAMES, strict=True)
    ]
    path.write_text(json.dumps(marks), encoding="utf-8")


def _per_frame(evaluate: Callable[[], Any]) -> list[Any]:
    found = []
    for frame in POSE_FRAMES:
        bpy.context.scene.frame_set(frame)
        found.append(evaluate())
    return found


def _camera(body: bpy.types.Object, rig: bpy.types.Object) -> Camera:
    """The camera of the current frame's pose."""
    key = POSES[POSE_FRAMES.index(bpy.context.scene.frame_current)]
    pose, framing = named_poses(RIG)[key], FRAMINGS[key]
    binding = bind(body)
    matrices = binding.pose_matrices(rig.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    before, after = (matrices[index] for index in bones_of(pose, binding.skeleton))
    return camera_at(framing, limb_axes(pose, framing, binding.skeleton).posed(before, after))


def _played(path: Path, rest: Positions) -> list[Positions]:
    """What Blender shows of a file, per frame, in the order of the vertices of `rest`."""
    fps = bpy.context.scene.render.fps
    bpy.ops.wm.read_factory_settings(use_empty=True)
    addon_utils.enable("io_scene_gltf2")
    bpy.context.scene.render.fps = fps
    bpy.ops.import_scene.gltf(filepath=str(path))
    (body,) = (obj for obj in bpy.data.objects if obj.type == "MESH" and obj.modifiers)
    # The importer numbers vertices anew.
    tree = KDTree(len(body.data.vertices))
    for index, place in enumerate(_positions(body.data)):
        tree.insert(place, index)
    tree.balance()
    order = np.array([tree.find(place)[1] for place in rest])

    def shown() -> Positions:
        return _positions(body.evaluated_get(bpy.context.evaluated_depsgraph_get()).data)[order]

    return _per_frame(shown)


def _positions(mesh: bpy.types.Mesh) -> Positions:
    positions = np.zeros(3 * len(mesh.vertices), np.float32)
    mesh.attributes["position"].data.foreach_get("vector", positions)
    return positions.reshape(-1, 3).astype(np.float64)


def _drawn(shape: Positions, faces: NDArray[np.integer], camera: Camera) -> Drawing:
    """Draw a shape: as a mesh that one bone at rest carries."""
    mesh = bpy.data.meshes.new("Shape")
    mesh.from_pydata(shape, [], faces.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), np.bool_))
    obj = bpy.data.objects.new("Shape", mesh)
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    for each in (obj, rig):
        bpy.context.scene.collection.objects.link(each)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.new("Bone").tail = (0.0, 0.0, 1.0)
    bpy.ops.object.mode_set(mode="OBJECT")
    obj.vertex_groups.new(name="Bone").add(range(len(shape)), 1.0, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    settings = replace(Settings.of(obj.evaluated_get(depsgraph)), acting_method="LINEAR")
    deformed = deformed_object(obj, bind(obj), depsgraph, settings)
    return draw(deformed, camera, np.eye(4), CELL_WIDTH, CELL_HEIGHT)


def main() -> int:
    start = time.monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        start_gpu()
        dq_compensation.register()
        shots = take_shots(FOLDER)
        sheet(shots).save(PICTURE, quality=85, optimize=True)
        check_shots(shots)
        write_marks(MARKS)
    except DemoError as error:
        print(f"The demo failed: {error}.", file=sys.stderr, flush=True)
        return 1
    for shot in shots:
        print(f"  {shot.title:24}" + "".join(f"{apart:8.1f} mm" for apart in shot.largest[1:]))
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
