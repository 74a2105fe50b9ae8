"""What Bake to Bones leaves on the human, in poses that were not fitted, and what helpers could.

    .venv-5.2/bin/python scripts/run.py quality.bakes [RIG]

In parts of plain linear skinning's error. The bound: the same helpers, their motions fitted freely
in each test pose, and weights to these poses, four influences a vertex, in turn. It is that of
helpers that nothing has to move. A figure that misses its target has a star; one that is worse than
what was reached has two, and then the exit status is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

import dq_compensation
from dq_compensation.analysis.helper_fitting import (
    Fitting,
    candidates_of,
    fit_weights,
    moving_matrices,
)
from dq_compensation.bake.bones_check import distances
from dq_compensation.bake.bones_fitting import Fitted, fit_bones, pairs_to_help
from dq_compensation.bake.bones_poses import BonesOptions
from dq_compensation.bake.bones_source import RigSource
from dq_compensation.core.dual_quaternion import quaternions_from_axis_angle
from dq_compensation.core.helper_bones import HelperSkinning
from dq_compensation.lifecycle.enabling import enable
from dq_compensation.steps import run_through
from human.model import RIGS, Rig, build_human
from human.poses import Rotations, random_pose
from leaving import leave
from quality.human import Human

Array = NDArray[np.float64]

# The settings of a character, and the most that may remain: root mean square, largest.
SETTINGS: dict[str, tuple[dict[str, object], float, float]] = {
    "Ball Joints": ({"use_ball_joints": True}, 0.35, 0.36),
    "Soft with Twist": (
        {"use_ball_joints": True, "softness": 0.5, "twist_spread": 1.0},
        0.30,
        0.40,
    ),
}
POSES, SMALL_POSES, SEED = 30, 10, 99
MOST_SMALL = 0.6
# What was reached: root mean square and largest; root mean square of small bends. The fitted poses
# are a sample: with others of the kind the first differs by 0.02.
REACHED: dict[tuple[Rig, str], tuple[float, float, float]] = {
    ("default", "Ball Joints"): (0.43, 0.41, 0.82),
    ("default", "Soft with Twist"): (0.47, 0.52, 0.62),
    ("game_engine", "Ball Joints"): (0.44, 0.33, 0.7),
    ("game_engine", "Soft with Twist"): (0.35, 0.45, 0.28),
    ("cmu_mb", "Ball Joints"): (0.43, 0.35, 0.78),
    ("cmu_mb", "Soft with Twist"): (0.38, 0.52, 0.37),
}
# Of the alternation: four more gain an eighth.
ROUNDS = 4


def small_bends(rng: np.random.Generator, names: Sequence[str]) -> Rotations:
    """Every bone but the root by 5 to 20 degrees about a random axis."""
    found: Rotations = {}
    for name in names[1:]:
        axis = rng.normal(size=3)
        angle = np.radians(rng.uniform(5.0, 20.0, 1))
        turned = quaternions_from_axis_angle((axis / np.linalg.norm(axis))[None], angle)
        w, x, y, z = turned[0].tolist()
        found[name] = (w, x, y, z)
    return found


def fitted(rig: Rig, settings: dict[str, object]) -> tuple[RigSource, Fitted]:
    """A bake with its defaults, not written."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    obj, _ = build_human(rig)
    enable(obj, bpy.context.evaluated_depsgraph_get())
    for name, value in settings.items():
        setattr(obj.dq_compensation, name, value)
    source = RigSource.of([obj], bpy.context.evaluated_depsgraph_get())
    pairs = pairs_to_help(source, BonesOptions())
    return source, run_through(fit_bones(source, pairs, BonesOptions(), (0.0, 1.0)))


def free_motions(
    matrices: Array, count: int, skinning: HelperSkinning, rest: Array, live: Array
) -> Array:
    """Matrices of bones and helpers, those of helpers the affine maps that fit best in each pose.

    Args:
        matrices: shape (P, B + H, 3, 4).
        count: B.
        live: shape (P, n, 3), where the vertices should be.
    """
    points = np.concatenate((rest, np.ones((len(rest), 1))), axis=1)
    weights = np.zeros((len(rest), matrices.shape[1]))
    np.add.at(weights, (np.arange(len(rest))[:, None], skinning.indices), skinning.weights)
    design = (weights[:, count:, None] * points[:, None]).reshape(len(rest), -1)
    bones = np.einsum("nb,pbij->pnij", weights[:, :count], matrices[:, :count])
    lacking = live - np.einsum("pnij,nj->pni", bones, points)
    old = matrices[:, count:].transpose(1, 3, 0, 2)
    normal = design.T @ design
    ridge = 1e-6 * np.trace(normal) / len(normal)
    wanted = design.T @ lacking.transpose(1, 0, 2).reshape(len(rest), -1)
    wanted += ridge * old.reshape(len(normal), -1)
    found = np.linalg.solve(normal + ridge * np.eye(len(normal)), wanted).reshape(old.shape)
    return np.concatenate((matrices[:, :count], found.transpose(2, 0, 3, 1)), axis=1)


def lower_bound(source: RigSource, bake: Fitted, poses: Array, live: Array) -> Array:
    """The errors (P, n) with free motions of the helpers of a bake, and weights for these poses."""
    rig, helpers, count = bake.rig, bake.skinning.helpers, bake.rig.skeleton.bone_count
    weights = np.zeros((len(source.rest), count))
    for rows, bones, values in rig.influences.slots():
        weights[np.arange(len(weights))[rows], bones] = values
    each = np.full(len(poses), 1.0 / len(poses))
    of = (rig.skeleton, weights, source.rest, rig.poses(poses), live, each, ())
    fitting = Fitting(*of, BonesOptions().influences, 1e-6)
    candidates = candidates_of(fitting, helpers)
    matrices = moving_matrices(slice(count), helpers, fitting.poses, rig.skeleton)
    points = np.concatenate((source.rest, np.ones((len(weights), 1))), axis=1)
    for _ in range(ROUNDS):
        skinning = HelperSkinning(helpers, *run_through(fit_weights(fitting, candidates, matrices)))
        matrices = free_motions(matrices, count, skinning, source.rest, live)
    posed = np.zeros_like(live)
    for column in range(skinning.indices.shape[1]):
        moved = np.einsum("pnij,nj->pni", matrices[:, skinning.indices[:, column]], points)
        posed += skinning.weights[None, :, column, None] * moved
    return np.linalg.norm(posed - live, axis=2)


def figures(rig: Rig, title: str) -> list[tuple[str, float, float, float]]:
    """For each kind of poses what remains: its name, root mean square, largest, and the bound's."""
    source, bake = fitted(rig, SETTINGS[title][0])
    human, rng = Human.with_rig(rig), np.random.default_rng(SEED)
    place = [human.skeleton.names.index(name) for name in source.skeleton.names]
    kinds = {
        "anatomical": [random_pose(rng, rig) for _ in range(POSES)],
        "small": [small_bends(rng, human.skeleton.names) for _ in range(SMALL_POSES)],
    }
    found = []
    for kind, rotations in kinds.items():
        poses = np.array([human.pose(each).matrices[place] for each in rotations])
        live = np.array([source.live(each) for each in poses])
        pairs = zip(poses, live, strict=True)
        both = [distances(source, bake.rig, bake.skinning, *each) for each in pairs]
        before, after = (np.array(some) for some in zip(*both, strict=True))
        bound = lower_bound(source, bake, poses, live)
        plain = np.sqrt(np.mean(before**2))
        rms, least = (float(np.sqrt(np.mean(some**2)) / plain) for some in (after, bound))
        found.append((kind, rms, float(after.max() / before.max()), least))
    return found


def marked(pairs: Sequence[tuple[float, float, float]]) -> tuple[str, bool]:
    """A star for figures that miss a target, two for what is worse than was reached.

    Args:
        pairs: figures, each with what is wanted and what was reached.
    """
    worse = any(figure > max(most, reached) + 0.0005 for figure, most, reached in pairs)
    misses = any(figure > most for figure, most, _ in pairs)
    return (" **" if worse else " *" if misses else ""), worse


def main() -> int:
    dq_compensation.register()
    worse = False
    for rig in sys.argv[1:] or RIGS:
        for title, (_, most_rms, most_largest) in SETTINGS.items():
            reached = REACHED[cast("Rig", rig), title]
            for kind, rms, largest, bound in figures(cast("Rig", rig), title):
                found = [(rms, most_rms, reached[0]), (largest, most_largest, reached[1])]
                if kind == "small":
                    found = [(rms, MOST_SMALL, reached[2])]
                star, is_worse = marked(found)
                worse |= is_worse
                limits = ", ".join(f"{most:g} wanted, {now:g} reached" for _, most, now in found)
                print(
                    f"{rig}, {title}, {kind}: rms {rms:.3f}, largest {largest:.3f} ({limits}), "
                    f"bound {bound:.3f}{star}",
                    flush=True,
                )
    return int(worse)


if __name__ == "__main__":
    leave(main())
