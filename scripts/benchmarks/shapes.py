"""Times posed frames of a human with solved shapes against the same without, in turn.

    .venv-5.2/bin/python scripts/run.py benchmarks.shapes [--rounds 24] [--work]

The human has the settings of *Soft with Twist*, and three poses each at 40 joints: knees, elbows,
shoulders, hips and ankles, with 1,200 vertices each, and those of all fingers, with 300 each.
One frame is a new pose and `view_layer.update()`, without the Python of the add-on. Where other
processes keep all cores busy, `--work` compares the time that the processor spends. The targets
hold for 5.2 only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

import dq_compensation
from benchmarks.targets import record
from benchmarks.turns import Cast, copied, handlers_off, times_in_turn
from dq_compensation.core.solved_shapes import SolvedJoint
from dq_compensation.lifecycle.enabling import enable_all
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.kept_shapes import (
    KeptBlock,
    KeptShapes,
    keep_shapes,
)
from dq_compensation.scene.settings.bone_texts import text_of_names
from dq_compensation.scene.settings.object_settings import Settings, settings_of
from human.model import build_human

SIDES = "LR"
HINGES = [f"{name}.{side}" for side in SIDES for name in ("lowerarm01", "lowerleg01", "foot")]
BALLS = [f"{name}.{side}" for side in SIDES for name in ("upperarm01", "upperleg01")]
FINGERS = [f"finger{n}-{k}.{side}" for side in SIDES for n in range(1, 6) for k in (1, 2, 3)]
JOINTS = [*HINGES, *BALLS, *FINGERS]
OF_LIMB, OF_FINGER = 1200, 300
# Azimuths and angles, degrees.
HINGE_POSES = ((0, 45), (0, 90), (0, 125))
BALL_POSES = ((0, 60), (0, 110), (90, 60))

WITHOUT, WITH = "Soft with Twist", "with solved shapes"
POSES: dict[str, tuple[Sequence[str], float]] = {
    "no joint with shapes is bent": (("spine01", "head", "neck01"), 1.25),
    "four joints": (("lowerarm01.L", "upperarm01.L", "upperleg01.R", "lowerleg01.R"), 1.4),
    "all fingers": (FINGERS, 1.6),
}


def with_shapes(obj: bpy.types.Object) -> None:
    """Give the human shapes with offsets at random, up to a few millimetres."""
    binding, rng = bind(obj), np.random.default_rng(0)
    skeleton = binding.skeleton
    joints, blocks, names = list[SolvedJoint](), list[KeptBlock](), list[str]()
    for row, name in enumerate(JOINTS):
        bone = skeleton.names.index(name)
        before = int(skeleton.parents[bone])
        listed = BALL_POSES if name in BALLS else HINGE_POSES
        radians = tuple((float(way), float(angle)) for way, angle in np.radians(listed))
        ways = tuple(skeleton.rest[bone, :3, 1]), tuple(skeleton.rest[bone, :3, 2])
        # Its bones are numbers of names.
        joints.append(SolvedJoint(2 * row, 2 * row + 1, *ways, name not in BALLS, radians))
        names += [skeleton.names[before], name]
        far = np.linalg.norm(binding.rest - skeleton.heads[bone], axis=1)
        vertices = np.sort(np.argsort(far)[: OF_FINGER if name in FINGERS else OF_LIMB])
        offsets = 0.001 * rng.normal(size=(len(listed), len(vertices), 3))
        of_joint, poses = np.array([row], np.int32), np.arange(len(listed), dtype=np.int32)
        blocks.append(KeptBlock.of(of_joint, poses[:, None], vertices, offsets))
    softness, count = settings_of(obj).softness, binding.vertex_count
    rest = skeleton.rest[[skeleton.names.index(name) for name in names]]
    kept = KeptShapes("COMPENSATED", softness, count, rest, tuple(joints), tuple(blocks))
    keep_shapes(obj, kept, names)


def poses_of(armature: bpy.types.Object, bones: Sequence[str], count: int) -> NDArray[np.floating]:
    """Poses of every bone, shape (count, B, 4), of which these bend by up to 70 degrees."""
    names, rng = armature.pose.bones.keys(), np.random.default_rng(0)
    poses = np.tile((1.0, 0.0, 0.0, 0.0), (count, len(names), 1))
    rows = [names.index(name) for name in bones]
    half = rng.uniform(0.2, 0.6, (count, len(rows)))
    poses[:, rows, 0], poses[:, rows, 1] = np.cos(half), np.sin(half)
    return poses


def build_casts(clock: Callable[[], float]) -> dict[str, Cast]:
    """The human in a scene for each way, enabled."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    human, armature = build_human()
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    settings = settings_of(human)
    settings.use_ball_joints, settings.softness, settings.twist_spread = True, 0.5, 1.0
    settings.use_solved_shapes = True
    bpy.context.view_layer.update()
    with_shapes(human)
    casts = {}
    for way in (WITHOUT, WITH):
        settings.shapes_left_out = text_of_names(JOINTS) if way == WITHOUT else ""
        casts[way] = cast = copied(way, armature, [human], clock=clock)
        with bpy.context.temp_override(scene=cast.scene, view_layer=cast.view_layer):
            _, refused = enable_all(cast.meshes, bpy.context.evaluated_depsgraph_get())
        assert not refused, refused
        acting = bind(cast.meshes[0]).acting_shapes(Settings.of(cast.meshes[0]))
        assert (acting is None or not acting.blocks) == (way == WITHOUT)
    return casts


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--work", action="store_true", help="time spent by the processor")
    chosen = parser.parse_args()
    print(f"Blender {bpy.app.version_string}")
    dq_compensation.register()
    handlers_off()
    casts = build_casts(time.process_time if chosen.work else time.perf_counter)
    print(f"\nHuman with {len(JOINTS)} joints of 3 solved shapes")
    print(f"{'':30}{'ms':>8}{'ratio':>8}{'target':>8}")
    for title, (bones, target) in POSES.items():
        poses = poses_of(casts[WITH].armatures[0], bones, chosen.rounds)
        timing = times_in_turn(casts, {WITH: WITHOUT}, poses)[WITH]
        print(f"{title:30}{1e3 * timing.seconds:8.2f}{timing.ratio:8.2f}{target:8.2f}", flush=True)
        if bpy.app.version >= (5, 2):
            record(f"Solved shapes, {title}", timing.ratio, target)


if __name__ == "__main__":
    main()
