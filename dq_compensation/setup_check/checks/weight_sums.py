"""Check: weights add up to 1. Others are right in Blender, wrong in some other programs."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from ...arrays import Booleans, Integers
from ...core.influences import WEAKEST_SHARE, Influences
from ...core.pose import Pose
from ...core.skinning import linear_blend
from ...core.vectors import extent
from ...errors import PoseError
from ...scene.blender.armature import pose_matrices, pose_order
from ...wording import counted
from ..fixes.weight_writing import sharing_question, write_weights
from ..issue import Check, Fix, Issue, Repair
from ..subject import Subject

# Game engines keep weights in 8 bits, which lose smaller differences.
_TOLERANCE = 1e-3
# From here on a program that does not divide by the sum shows a vertex visibly in a wrong place.
_VISIBLE = 0.02


def _find_weight_sums(subject: Subject) -> Iterator[Issue]:
    """One issue for all vertices whose deforming weights are off."""
    obj, deforming = subject.obj, subject.deforming_weights
    vertices = np.flatnonzero(deforming.moved & (np.abs(deforming.sums - 1.0) > _TOLERANCE))
    if not len(vertices):
        return
    sums = deforming.sums[vertices]
    least, most = f"{sums.min():.3f}", f"{sums.max():.3f}"
    found = f"from {least} to {most}" if least != most else f"the sum is {least}"
    message = (
        f"The weights of {counted(len(vertices), 'vertex')} of {obj.name} do not add up to 1 "
        f"({found}). Blender divides by the sum, as we do; some exporters and engines do not."
    )
    fix = Fix(
        "normalize",
        "Normalize",
        "Divides the weights of the deforming bones by their sum; other vertex groups "
        "stay, and so does the look",
        sharing_question(obj),
    )
    severity = "WARNING" if np.abs(sums - 1.0).max() > _VISIBLE else "INFORMATION"
    yield Issue("sums", severity, message, vertices=vertices, fixes=(fix,))


def normalize(subject: Subject, issue: Issue) -> Repair:
    """Divide the deforming weights of the vertices of an issue by their sums."""
    count = yield from _write_normalized(subject, issue.vertices)
    return (
        f"Normalized {counted(count, 'weight')} of {counted(len(issue.vertices), 'vertex')} of "
        f"{subject.obj.name}."
    )


def _write_normalized(
    subject: Subject, vertices: Integers, leave_out: Booleans | None = None
) -> Generator[None, None, int]:
    """Write the deforming weights of some vertices with a sum of 1; returns how many.

    Args:
        vertices: which; those that nothing moves stay as they are.
        leave_out: shape (m,), rows of the deforming weights that are taken out of their groups.

    Raises:
        FixError: groups are locked, or the mesh cannot be written. Nothing has changed then.
    """
    deforming = subject.deforming_weights
    chosen = np.zeros(len(deforming.sums), np.bool_)
    chosen[vertices] = True
    rows = np.flatnonzero((chosen & deforming.moved)[deforming.vertices])
    weights = deforming.weights[rows]
    if leave_out is not None:
        weights = np.where(leave_out[rows], 0.0, weights)
    of_vertices = deforming.vertices[rows]
    sums = np.bincount(of_vertices, weights=weights, minlength=len(deforming.sums))
    weights = np.minimum(weights / sums[of_vertices], 1.0)
    before = subject.weights.weights[deforming.rows[rows]]
    # A weight of 0 that stays 0 is still taken out; others only where float32 can tell.
    changed = (weights.astype(np.float32) != before) | (weights == 0.0)
    rows, weights = rows[changed], weights[changed]
    yield from write_weights(subject.obj, deforming.vertices[rows], deforming.groups[rows], weights)
    return len(rows)


WEIGHT_SUMS = Check("weight_sums", _find_weight_sums, {"normalize": normalize})


# How far the surface may move when they go, in parts of the object's size, before it is asked.
_UNSEEN = 0.5e-5


def _find_tiny_influences(subject: Subject) -> Iterator[Issue]:
    """Influences too weak to see: they cost time, and exporters drop others for them.

    One issue for all below a ten-thousandth, those of exactly 0 included.
    """
    tiny = _tiny(subject)
    if not tiny.any():
        return
    obj, count = subject.obj, int(tiny.sum())
    vertices = np.unique(subject.deforming_weights.vertices[tiny])
    movement = ""
    if (moved := _largest_movement(subject, tiny)) > _UNSEEN:
        movement = (
            f"In this pose the surface of {obj.name} moves by up to {moved:.5%} of its size: "
            "bones far away from each other share these vertices."
        )
    message = (
        f"{counted(count, 'influence')} on {counted(len(vertices), 'vertex')} of {obj.name} "
        f"{'is' if count == 1 else 'are'} below {WEAKEST_SHARE:g}: too weak to see, but "
        f"{'it counts' if count == 1 else 'they count'} against the 4 or 8 that game engines keep."
    )
    fix = Fix(
        "clean",
        "Clean",
        "Takes these vertices out of the groups in which they have next to no weight, and "
        "normalizes their other weights",
        sharing_question(obj, movement),
    )
    key = "seen" if movement else "tiny"
    yield Issue(key, "INFORMATION", message, vertices=vertices, fixes=(fix,))


def clean(subject: Subject, issue: Issue) -> Repair:
    """Take the influences away and normalise the vertices' other ones."""
    tiny = _tiny(subject)
    yield from _write_normalized(subject, issue.vertices, tiny)
    return (
        f"Cleaned {counted(int(tiny.sum()), 'influence')} from "
        f"{counted(len(issue.vertices), 'vertex')} of {subject.obj.name}."
    )


def _tiny(subject: Subject) -> Booleans:
    """Shape (m,), rows of the deforming weights."""
    deforming = subject.deforming_weights
    # A little less, for a weight of exactly that much is below it in float32.
    shares = (1.0 - 1e-4) * WEAKEST_SHARE * deforming.sums[deforming.vertices]
    return (deforming.weights < shares) & deforming.moved[deforming.vertices]


def _largest_movement(subject: Subject, tiny: Booleans) -> float:
    """How far the surface moves in the current pose without them, in parts of the object's size.

    0 where the pose cannot be read. Linear skinning tells: no other method makes more of a
    ten-thousandth.
    """
    to_armature, rest = subject.object_to_armature, subject.rest_in_armature
    if to_armature is None or rest is None:
        return 0.0
    skeleton, deforming = subject.skeleton, subject.deforming_weights
    try:
        evaluated = subject.rig.evaluated_get(subject.depsgraph)
        matrices = pose_matrices(evaluated, pose_order(subject.rig, skeleton))
        pose = Pose.from_matrices(matrices, skeleton)
    except PoseError:
        return 0.0
    bone_of_name = {name: bone for bone, name in enumerate(skeleton.names)}
    bone_of_group = np.array([bone_of_name.get(name, -1) for name in subject.group_names], np.int32)
    vertices = np.unique(deforming.vertices[tiny])
    rows = np.flatnonzero(np.isin(deforming.vertices, vertices))
    places = np.searchsorted(vertices, deforming.vertices[rows])
    bones, weights = bone_of_group[deforming.groups[rows]], deforming.weights[rows]
    before, after = (
        linear_blend(
            rest[vertices], None, Influences.from_triples(places, bones, kept, len(vertices)), pose
        )[0]
        for kept in (weights, np.where(tiny[rows], 0.0, weights))
    )
    size = extent(subject.rest) * float(np.cbrt(abs(np.linalg.det(to_armature[:3, :3]))))
    return float(np.linalg.norm(after - before, axis=1).max(initial=0.0)) / max(size, 1e-30)


TINY_INFLUENCES = Check("tiny_influences", _find_tiny_influences, {"clean": clean})
