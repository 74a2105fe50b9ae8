"""The solver of folds on the human: crossings, volume, stretch, thigh, kneecap; before and after.

    .venv-5.2/bin/python scripts/run.py quality.folds [elbow knee ...] [--rig default] [--sheet]

The base is *Soft with Twist*. Joints that bend together, as in the squat, are as *Solve Folds*
plays them; of others it is the solution itself. Figures of each pose are printed, those that miss
a target with a star; then the exit status is 1. `--sheet` renders the base and the solution side by
side into `build/quality/folds.png`. Times are wall clock: set OMP_NUM_THREADS=1, and leave the
machine alone.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import dq_compensation
from demos.before_after import AWAY, light, render
from demos.closeups import Framing
from demos.drawing import Camera, font
from dq_compensation import api
from dq_compensation.analysis.flesh.measures import SkinMeasures
from dq_compensation.analysis.flesh.region import FleshRegion
from dq_compensation.analysis.flesh.solving import KeptPose, SolvedReport, solve_folds
from dq_compensation.analysis.flesh.way import WayToPose
from dq_compensation.core.pose import Pose
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.scene.blender.triangle_trees import SurfaceTree
from dq_compensation.steps import run_through
from environments import PROJECT
from human.model import build_human
from human.poses import Rotations, apply_pose, mirrored, rotation
from leaving import leave
from quality.body import triangles_of
from quality.human import Human
from quality.measures import SurfaceRegion

Array = NDArray[np.float64]

SHEET = PROJECT / "build" / "quality" / "folds.png"
# Stretch, in parts of that of the base.
MOST_STRETCH = 1.05
_SIZE, _SAMPLES, _MARGIN, _CAPTION = 360, 16, 6, 24


@dataclass(frozen=True)
class Study:
    """A walk to a pose, and what is kept on the way.

    Attributes:
        joints: bones at whose heads the joints are.
        rotations: the last pose.
        angles: in degrees, of the pose that are kept; the last one is that of the last pose.
        least_volume: by angle, in parts of that at rest.
        more_stretch: how much more stretch is allowed.
        together: whether *Solve Folds* solves the joints, and the poses are played.
        framing: of the picture, round the first joint.
    """

    joints: tuple[str, ...]
    rotations: Rotations
    angles: tuple[float, ...]
    least_volume: tuple[float, ...]
    framing: Framing
    more_stretch: float = MOST_STRETCH
    together: bool = False

    @property
    def shares(self) -> list[float]:
        """Of the way."""
        return [angle / self.angles[-1] for angle in self.angles]


def _both(rotations: Rotations) -> Rotations:
    right = {name[:-1] + "R": mirrored(turned) for name, turned in rotations.items()}
    return {**rotations, **right}


_UP = (0.0, 0.0, 1.0)
# Of the elbow the angle at rest is 47 degrees. Volumes are a little below what is found: flesh that
# keeps more of it looks swollen beside the fold; what a base has twice counts as volume there.
STUDIES: dict[str, Study] = {
    "elbow": Study(
        ("lowerarm01.L",), {"lowerarm01.L": rotation(80.0)}, (20.0, 43.0, 60.0, 80.0),
        (0.95, 0.94, 0.91, 0.88), Framing(0.1, 0.0, 0.13, (0.55, 0.75, 0.15), _UP),
    ),
    "knee": Study(
        ("lowerleg01.L",), {"lowerleg01.L": rotation(125.0)}, (45.0, 90.0, 125.0),
        (0.95, 0.92, 0.86), Framing(0.15, 0.0, 0.25, (1.0, 0.12, 0.08), _UP, (0.35, -0.1)),
    ),
    "hip": Study(
        ("upperleg01.L",), {"upperleg01.L": rotation(-105.0)}, (35.0, 70.0, 105.0),
        (0.95, 0.95, 0.94), Framing(0.26, 0.0, 0.8, (1.0, 0.3, -0.1), _UP, (-0.25, 0.0)), 1.15,
    ),
    "squat": Study(
        ("upperleg01.L", "upperleg01.R", "lowerleg01.L", "lowerleg01.R"),
        _both({"upperleg01.L": rotation(-105.0), "lowerleg01.L": rotation(125.0)}), (52.5, 105.0),
        (0.95, 0.86), Framing(0.36, 0.0, 0.8, (0.75, -1.0, 0.3), _UP, (0.1, -0.3)), together=True,
    ),
    "hips": Study(
        ("upperleg01.L", "upperleg01.R"), _both({"upperleg01.L": rotation(-105.0)}), (52.5, 105.0),
        (0.95, 0.86), Framing(0.36, 0.0, 0.8, (0.75, -1.0, 0.3), _UP, (0.1, -0.3)), together=True,
    ),
    "hip_knee": Study(
        ("upperleg01.L", "lowerleg01.L"),
        {"upperleg01.L": rotation(-105.0), "lowerleg01.L": rotation(125.0)}, (52.5, 105.0),
        (0.95, 0.90), Framing(0.3, 0.0, 0.8, (1.0, 0.1, 0.1), _UP, (-0.5, -0.2)), together=True,
    ),
    "finger": Study(
        ("finger2-2.L",), {"finger2-2.L": rotation(90.0)}, (90.0,), (0.93,),
        Framing(0.05, 0.0, 0.03, (1.0, -0.2, 0.2), _UP),
    ),
    "fist": Study(
        ("finger2-1.L", "finger2-2.L", "finger2-3.L"),
        {
            "finger2-1.L": rotation(70.0), "finger2-2.L": rotation(90.0),
            "finger2-3.L": rotation(60.0),
        },
        (90.0,), (0.0,), Framing(0.05, 0.0, 0.1, (0.2, -1.0, -0.3), _UP), together=True,
    ),
    "arm": Study(
        ("upperarm01.L",), {"upperarm01.L": rotation(0.0, 0.0, 100.0)}, (50.0, 100.0),
        (0.95, 0.95), Framing(0.19, 0.0, 0.5, (0.35, -1.0, -0.1), _UP, (0.0, -0.15)), 1.15,
    ),
    "wrist": Study(
        ("wrist.L",), {"wrist.L": rotation(60.0)}, (60.0,), (0.95,),
        Framing(0.08, 0.0, 0.3, (1.0, 0.2, 0.5), _UP),
    ),
}  # fmt: skip
# Crossings that may be left.
MOST_CROSSINGS = {"fist": 3}
# How far in the front of the thigh is, mm, at parts of its length, in the squat; and the largest
# angle between faces at the kneecap.
STATIONS, MOST_IN = (0.14, 0.27, 0.42), (40.0, 16.0, 7.0)
MOST_KNEECAP = {90.0: 40.0, 125.0: 50.0}
# The names of the same bones in another rig.
OTHER_RIG = {
    "game_engine": {
        "lowerarm01.": "lowerarm_", "lowerleg01.": "calf_", "upperleg01.": "thigh_",
        "upperarm01.": "upperarm_", "wrist.": "hand_", "finger2-1.": "index_01_",
        "finger2-2.": "index_02_", "finger2-3.": "index_03_",
    }
}  # fmt: skip


def in_rig(rig: str, name: str) -> str:
    """The name of a bone of the default rig in another one."""
    if rig == "default":
        return name
    return OTHER_RIG[rig][name[:-1]] + name[-1].lower()


class Studio:
    """The human with a rig, its base, and the camera."""

    def __init__(self, rig: str) -> None:
        self.rig = rig
        dq_compensation.register()
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.human = Human.with_rig(cast("Any", rig))
        self.mesh_object, self.armature_object = build_human(cast("Any", rig))
        api.enable(self.mesh_object, look="SOFT_WITH_TWIST")
        skeleton = self.human.skeleton
        self.skin = SkinAtRest(self.human.rest, self.human.influences, skeleton)
        self.triangles = triangles_of(self.human.faces)

    def base(self, pose: Pose) -> Array:
        """*Soft with Twist* in a pose, shape (n, 3)."""
        joints = sorted({each.poses[0].bone for each in api.solved_shapes(self.mesh_object)})
        api.change_settings(self.mesh_object, shapes_left_out=", ".join(joints))
        base = self.played(pose)
        api.change_settings(self.mesh_object, shapes_left_out="")
        return base

    def played(self, pose: Pose) -> Array:
        """With the solved shapes that there are."""
        skeleton = self.human.skeleton
        rotations: Rotations = {}
        for bone, parent in enumerate(skeleton.parents.tolist()):
            above = np.eye(4) if parent < 0 else pose.matrices[parent]
            rest = skeleton.rest[bone]
            local = np.linalg.inv(above @ rest) @ pose.matrices[bone] @ rest
            turned = Matrix(local.tolist()).to_quaternion()
            if abs(turned.w) < 1.0 - 1e-12:
                rotations[skeleton.names[bone]] = cast("Any", tuple(turned))
        apply_pose(self.armature_object, rotations)
        bpy.context.view_layer.update()
        return np.asarray(api.evaluate(self.mesh_object), np.float64)

    def named(self, rotations: Rotations) -> Rotations:
        """Rotations of bones of this rig."""
        return {in_rig(self.rig, name): turned for name, turned in rotations.items()}


@dataclass(frozen=True)
class Solved:
    """One kept pose of a study.

    Attributes:
        study: its name.
        angle: of the pose.
        report: of the solver.
        more: other figures before and after, by their names, and what they may be at most.
        positions: shape (n, 3), of the base and with the offsets.
        pose: the pose.
    """

    study: str
    angle: float
    report: SolvedReport
    more: Mapping[str, tuple[float, float, float]]
    positions: tuple[Array, Array]
    pose: Pose

    @property
    def missed(self) -> list[str]:
        """The names of the figures that miss their targets."""
        study, before, after = STUDIES[self.study], self.report.before, self.report.after
        volume = study.least_volume[study.angles.index(self.angle)]
        found = {
            "crossings": after.crossings > MOST_CROSSINGS.get(self.study, 0),
            "volume": after.volume < volume,
            "stretch": after.stretch > max(1.1, study.more_stretch * before.stretch),
            **{name: now > most for name, (_, now, most) in self.more.items()},
        }
        return [name for name, is_missed in found.items() if is_missed]

    def line(self) -> str:
        """A row of the table."""
        before, after = self.report.before, self.report.after
        parts = [
            f"{self.study:7} {self.angle:4.0f}",
            f"crossings {before.crossings:3} -> {after.crossings:2}",
            f"volume {100 * before.volume:5.1f} -> {100 * after.volume:5.1f} %",
            f"stretch {before.stretch:.2f} -> {after.stretch:.2f}",
            f"roughness {before.roughness:4.1f} -> {after.roughness:4.1f}",
            *(f"{name} {was:.1f} -> {now:.1f}" for name, (was, now, _) in self.more.items()),
            f"{self.report.iterations} steps{'' if self.report.converged else ', not at rest'}",
            f"{self.report.seconds:.1f} s",
        ]
        star = f"  * {', '.join(self.missed)}" if self.missed else ""
        return "  ".join(parts) + star


def solve(studio: Studio, name: str) -> list[Solved]:
    """Solve a study."""
    study, human = STUDIES[name], studio.human
    pose = human.pose(studio.named(study.rotations))
    way = WayToPose(human.skeleton, pose)
    poses = [way.pose_at(share) for share in study.shares]
    bases = [studio.base(each) for each in poses]
    joints = [human.skeleton.names.index(in_rig(studio.rig, each)) for each in study.joints]
    if study.together:
        reports, places = _played(studio, joints, poses, bases)
    else:
        kept = [KeptPose(*each) for each in zip(study.shares, bases, strict=True)]
        steps = solve_folds(studio.skin, studio.triangles, joints, pose, kept, SurfaceTree)
        found = run_through(steps)
        reports, places = found.reports, [base.copy() for base in bases]
        for positions, offsets in zip(places, found.offsets, strict=True):
            positions[found.vertices] += offsets
    solved = []
    for number, report in enumerate(reports):
        base, positions = bases[number], places[number]
        angle = study.angles[number]
        more = _more(studio, name, angle, poses[number], (base, positions))
        solved.append(Solved(name, angle, report, more, (base, positions), poses[number]))
    return solved


def _played(
    studio: Studio, joints: Sequence[int], poses: Sequence[Pose], bases: Sequence[Array]
) -> tuple[list[SolvedReport], list[Array]]:
    """Joints as *Solve Folds* has them, in poses: figures, and positions (n, 3)."""
    start, names = time.monotonic(), {studio.human.skeleton.names[joint] for joint in joints}
    known = {each.poses[0].bone for each in api.solved_shapes(studio.mesh_object)}
    if not names <= known:
        for line in api.solve_folds(studio.mesh_object, sorted(names)).details():
            print(f"  {line}")
    region = FleshRegion.of(studio.skin, studio.triangles, joints)
    measures, reports = SkinMeasures(region, SurfaceTree), list[SolvedReport]()
    places = [studio.played(pose) for pose in poses]
    for base, place in zip(bases, places, strict=True):
        before, after = (measures.of(each[region.vertices]) for each in (base, place))
        reports.append(SolvedReport(before, after, 0, True, time.monotonic() - start))
        start = time.monotonic()
    return reports, places


def _more(
    studio: Studio, name: str, angle: float, pose: Pose, positions: tuple[Array, Array]
) -> dict[str, tuple[float, float, float]]:
    found: dict[str, tuple[float, float, float]] = {}
    if studio.rig != "default":
        return found
    if name == "squat" and angle == STUDIES[name].angles[-1]:
        before, after = (thigh_in(studio.human, pose, each) for each in positions)
        for station, was, now, most in zip(STATIONS, before, after, MOST_IN, strict=True):
            found[f"thigh at {station}, mm in"] = was, now, most
    if name == "knee":
        before, after = (kneecap(studio.human, each) for each in positions)
        found["kneecap"] = before, after, MOST_KNEECAP.get(angle, math.inf)
    return found


def thigh_in(human: Human, pose: Pose, positions: Array) -> list[float]:
    """How much nearer to the thigh's axis its front is than at rest, mm, at the stations."""
    skeleton = human.skeleton
    bone, knee = (skeleton.names.index(name) for name in ("upperleg02.L", "lowerleg01.L"))
    head = skeleton.heads[skeleton.names.index("upperleg01.L")]
    way = skeleton.heads[knee] - head
    length = float(np.linalg.norm(way))
    along = way / length
    front = np.array([0.0, -1.0, 0.0])
    front -= (front @ along) * along
    front /= np.linalg.norm(front)
    away = human.rest - head
    across = away - (away @ along)[:, None] * along
    radius = np.linalg.norm(across, axis=1)
    back = np.linalg.inv(pose.matrices[bone])
    posed = positions @ back[:3, :3].T + back[:3, 3] - head
    posed -= (posed @ along)[:, None] * along
    nearer = (across - posed) @ front
    is_front = (across @ front > 0.8 * radius) & (radius < 0.16) & (human.rest[:, 0] > 0.02)
    return [
        1000.0 * float(nearer[is_front & (np.abs(away @ along / length - station) < 0.05)].mean())
        for station in STATIONS
    ]


def kneecap(human: Human, positions: Array) -> float:
    """The largest angle between two triangles at the front of the knee, degrees."""
    knee = human.skeleton.heads[human.skeleton.names.index("lowerleg01.L")]
    near = np.linalg.norm(human.rest - knee, axis=1) < 0.1
    triangles = triangles_of(human.faces[near[human.faces].all(axis=1)])
    front = human.rest[triangles][:, :, 1].mean(axis=1) < knee[1] - 0.01
    region = SurfaceRegion(positions, triangles[front])
    return float(np.degrees(np.abs(region.dihedrals(positions))).max())


def sheet(studio: Studio, solved: Sequence[Solved], path: Path) -> None:
    """The base and the solution of each pose, side by side."""
    mesh_object = bpy.data.objects.new("Shown", cast("Any", studio.mesh_object.data).copy())
    scene: Any = bpy.context.scene
    scene.collection.objects.link(mesh_object)
    studio.mesh_object.hide_render = True
    light(mesh_object, scatters=True)
    scene.render.resolution_x = scene.render.resolution_y = _SIZE
    scene.cycles.samples = _SAMPLES
    columns = max(1, math.ceil(math.sqrt(len(solved) / 2.0)))
    rows = math.ceil(len(solved) / columns)
    wide, high = 2 * _SIZE + 2 * _MARGIN, _SIZE + _CAPTION
    page = Image.new("RGB", (columns * (wide + _MARGIN), rows * high), (255, 255, 255))
    pen = ImageDraw.Draw(page)
    for number, each in enumerate(solved):
        x, y = (number % columns) * (wide + _MARGIN), (number // columns) * high
        for side, positions in enumerate(each.positions):
            mesh_object.data.vertices.foreach_set("co", positions.astype(np.float32).ravel())
            mesh_object.data.update()
            page.paste(_shot(studio, each), (x + side * (_SIZE + _MARGIN), y))
        report = each.report
        caption = f"{each.study} {each.angle:.0f}: crossings {report.before.crossings} and "
        pen.text(
            (x + 4, y + _SIZE + 4), f"{caption}{report.after.crossings}", (60, 60, 60), font(15)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    page.save(path)


def _shot(studio: Studio, solved: Solved) -> Image.Image:
    study, skeleton = STUDIES[solved.study], studio.human.skeleton
    joint = skeleton.names.index(in_rig(studio.rig, study.joints[0]))
    matrix = solved.pose.matrices[joint]
    target = matrix[:3, :3] @ skeleton.heads[joint] + matrix[:3, 3]
    framing = study.framing
    eye, up = (np.array(each, np.float64) for each in (framing.towards_eye, framing.up))
    view = Camera.looking_at(target, eye, up, framing.half_height, framing.depth).view
    right, above = view[0, :3], view[1, :3]
    target = target + framing.half_height * (framing.shift[0] * right + framing.shift[1] * above)
    view = Camera.looking_at(target, eye, up, framing.half_height, framing.depth).view
    scene: Any = bpy.context.scene
    camera = scene.camera
    camera.matrix_world = Matrix(np.linalg.inv(view).tolist()) @ Matrix.Translation((0, 0, AWAY))
    camera.data.ortho_scale = 2.0 * framing.half_height
    camera.data.clip_start, camera.data.clip_end = AWAY - framing.depth, AWAY + framing.depth + 0.3
    with tempfile.TemporaryDirectory() as folder:
        return render(Path(folder))


def main() -> int:
    """Print the table; 1 where a figure misses its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", metavar="NAME", help=", ".join(STUDIES))
    parser.add_argument("--rig", default="default", choices=("default", *OTHER_RIG))
    parser.add_argument("--sheet", action="store_true", help="render pictures")
    options = parser.parse_args()
    studio, solved = Studio(options.rig), []
    for name in options.studies or STUDIES:
        start = time.monotonic()
        joints = [in_rig(options.rig, each) for each in STUDIES[name].joints]
        found = solve(studio, name)
        region = FleshRegion.of(
            studio.skin, studio.triangles, [studio.human.skeleton.names.index(j) for j in joints]
        )
        reach = ", ".join(f"{each:.3f}" for each in region.reaches)
        print(
            f"{name}: reach {reach} m, cell {region.cell:.4f} m, {time.monotonic() - start:.1f} s"
        )
        for each in found:
            print(f"  {each.line()}", flush=True)
        solved += found
    if options.sheet:
        sheet(studio, solved, SHEET)
        print(SHEET.relative_to(PROJECT))
    return int(any(each.missed for each in solved))


if __name__ == "__main__":
    leave(main())
