"""*Solve Folds* on other rigs: crossings, volume and stretch of each joint, and how it looks.

    .venv-5.2/bin/python scripts/run.py quality.rig_folds cmu_mb dressed rigify [--sheet]

Each character has the look *Soft with Twist*, and some joints of its left side are solved as in the
panel; the figures are those of the proof, of all poses and half way between them. `--sheet` renders
the base and what is played, at the end of the longest way of each joint, side by side into
`build/quality/folds_<character>.png`; what was left out is shown as it was.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import dq_compensation
from demos.before_after import AWAY, light, render
from demos.drawing import Camera, font
from dq_compensation import api
from dq_compensation.analysis.flesh.region import FleshRegion
from dq_compensation.analysis.folding_joints import FoldingJoint, folding_joints, way_matrices
from dq_compensation.errors import UserError
from dq_compensation.folds.joined_body import JoinedBody
from dq_compensation.folds.motion import known_motion
from environments import PROJECT
from human.dressed import GLOVES, SHIRT, TROUSERS, add_mesh, garment
from human.model import build_human, load_human_arrays
from leaving import leave
from tests.four_legged import new_file_with_horse
from tests.rigify_human import new_file_with_rigify_human

Array = NDArray[np.float64]
Pair = tuple[bpy.types.Object, bpy.types.Object]
_SIZE, _SAMPLES, _MARGIN, _CAPTION, _COLUMNS = 260, 8, 4, 22, 3


def _dressed() -> Pair:
    body, rig = build_human("default")
    arrays = load_human_arrays()
    for name, covers in (("Shirt", SHIRT), ("Trousers", TROUSERS), ("Gloves", GLOVES)):
        add_mesh(name, garment(arrays, covers, 0.006), rig)
    return body, rig


@dataclass(frozen=True)
class Character:
    """A character.

    Attributes:
        build: adds it to an empty file, or opens one of its own.
        joints: bones at whose heads joints are solved.
    """

    build: Callable[[], Pair]
    joints: tuple[str, ...]


CHARACTERS = {
    "game_engine": Character(
        lambda: build_human("game_engine"),
        ("upperarm_l", "lowerarm_l", "hand_l", "index_02_l", "thigh_l", "calf_l"),
    ),
    "cmu_mb": Character(
        lambda: build_human("cmu_mb"),
        ("LeftArm", "LeftForeArm", "LeftHand", "LeftUpLeg", "LeftLeg"),
    ),
    "dressed": Character(
        _dressed, ("upperarm01.L", "lowerarm01.L", "finger2-2.L", "upperleg01.L", "lowerleg01.L")
    ),
    "rigify": Character(
        new_file_with_rigify_human,
        (
            "DEF-upper_arm.L", "DEF-forearm.L", "DEF-hand.L", "DEF-f_index.02.L", "DEF-thigh.L",
            "DEF-shin.L", "DEF-spine.003",
        ),
    ),
    "trunk": Character(lambda: build_human("default"), ("spine02", "neck02", "clavicle.L")),
    "horse": Character(
        new_file_with_horse,
        ("thigh.L", "upper_arm.L", "tail.003", "neck.003"),
    ),
}  # fmt: skip


def shots(
    body: JoinedBody, joint: FoldingJoint, size: float
) -> tuple[Array, Array, NDArray[np.int64], Array, Array]:
    """The base and what is played (n, 3) at the end of a joint's longest way, and the view.

    Returns:
        also the triangles of all meshes, where the joint is, and the axis along which it is seen.
    """
    way = joint.longest
    (rows,) = body.rows_in([way_matrices(body.skin, joint.bone, way, way.degrees[-1])])
    base = body.base(rows)
    shapes = [mesh.editing.shapes() for mesh in body.meshes]
    faces = np.concatenate(
        [
            body.point_of_vertex[mesh.base.part.triangles + mesh.start].astype(np.int64)
            for mesh in body.meshes
        ]
    )
    joint_at = body.skeleton.heads[joint.bone]
    moved = rows[body.skeleton.start_rows[joint.bone]]
    at = moved[:3, :3] @ joint_at + moved[:3, 3]
    axis = np.array(way.axis)
    # From outside: what lies on the left is seen from the left.
    outside = axis if axis[0] * (1.0 if joint_at[0] > 0.01 * size else -1.0) > 0 else -axis
    return base, base + body.displaced(shapes, rows), faces, at, outside


def picture(
    positions: Array, faces: NDArray[np.int64], at: Array, along: Array, high: float
) -> Any:
    """A rendered picture of a skin, of which so much is seen above and below a place."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("Shown")
    mesh.from_pydata(positions.tolist(), [], faces.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), np.bool_))
    obj = bpy.data.objects.new("Shown", mesh)
    scene: Any = bpy.context.scene
    scene.collection.objects.link(obj)
    light(obj, scatters=True)
    obj.modifiers.clear()
    scene.render.resolution_x = scene.render.resolution_y = _SIZE
    scene.cycles.samples = _SAMPLES
    up = np.array((0.0, 0.0, 1.0) if abs(along[2]) < 0.8 else (0.0, 1.0, 0.0))
    view = Camera.looking_at(at, along, up, high, 2.0 * high).view
    scene.camera.matrix_world = Matrix(np.linalg.inv(view).tolist()) @ Matrix.Translation(
        (0, 0, AWAY)
    )
    scene.camera.data.ortho_scale = 2.0 * high
    scene.camera.data.clip_start, scene.camera.data.clip_end = AWAY - 2.5 * high, AWAY + 10.0
    with tempfile.TemporaryDirectory() as folder:
        return render(Path(folder))


def run(name: str, *, draws: bool) -> None:
    """Solve a character, print the table and render the sheet."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    character = CHARACTERS[name]
    obj, rig = character.build()
    for mesh in [each for each in rig.children if each.type == "MESH"]:
        api.enable(mesh, look="SOFT_WITH_TWIST")
    try:
        report: Any = api.solve_folds(obj, list(character.joints))
    except UserError as error:
        print(f"{name}: {error}")
        return
    print(f"{name}: {report.seconds:.0f} s")
    for line in report.details():
        print(f"  {line}", flush=True)
    if not draws:
        return
    depsgraph = bpy.context.evaluated_depsgraph_get()
    objects = [each for each in rig.children if each.type == "MESH"]
    body = JoinedBody.of(objects, depsgraph, anew=False)
    names = body.skeleton.names
    bones = [names.index(each) for each in character.joints]
    found = folding_joints(body.skin, known_motion(rig, body.skeleton), bones).joints
    size = float(np.ptp(body.skin.positions, axis=0).max())
    kept = list[tuple[str, tuple[Any, ...], float]]()
    for joint in found:
        reach = FleshRegion.of(body.skin, body.triangles, [joint.bone]).reaches[0]
        kept.append((names[joint.bone], shots(body, joint, size), 1.3 * float(reach)))
    wide, tall = 2 * _SIZE + 2 * _MARGIN, _SIZE + _CAPTION
    page = Image.new("RGB", (_COLUMNS * wide, -(-len(kept) // _COLUMNS) * tall), (255, 255, 255))
    pen = ImageDraw.Draw(page)
    for number, (bone, (base, played, faces, at, along), high) in enumerate(kept):
        x, y = (number % _COLUMNS) * wide, (number // _COLUMNS) * tall
        for side, positions in enumerate((base, played)):
            page.paste(picture(positions, faces, at, along, high), (x + side * (_SIZE + 2), y))
        pen.text((x + 4, y + _SIZE + 3), bone, (60, 60, 60), font(14))
    path = PROJECT / "build" / "quality" / f"folds_{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.save(path)
    print(path.relative_to(PROJECT))


def main() -> int:
    """All characters that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("characters", nargs="+", choices=CHARACTERS)
    parser.add_argument("--sheet", action="store_true", help="render pictures")
    options = parser.parse_args()
    dq_compensation.register()
    for name in options.characters:
        run(name, draws=options.sheet)
    return 0


if __name__ == "__main__":
    leave(main())
