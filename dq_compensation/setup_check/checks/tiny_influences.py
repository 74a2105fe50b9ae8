"""Influences too weak to see: they cost time, and exporters drop others for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.linear import linear_blend
from ...core.pose import Pose, PoseError
from ...core.vectors import extent
from ...scene.blender.armature import pose_matrices, pose_order
from ...wording import counted
from ..fixes.weight_changes import sharing_question
from ..issue import Check, Fix, Issue
from ..subject import Subject
from .weight_sums import write_normalized

# The share of a vertex's weights below which an influence is cleaned away.
SMALLEST_SHARE = 1e-4
# How far the surface may move when they go, in parts of the object's size, before it is asked.
_UNSEEN = 0.5e-5


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for all influences below a ten-thousandth, those of exactly 0 included."""
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
        f"{'is' if count == 1 else 'are'} below {SMALLEST_SHARE:g}: too weak to see, but "
        "they count against the 4 or 8 that game engines keep."
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


def clean(subject: Subject, issue: Issue) -> str:
    """Take the influences away and normalise the vertices' other ones."""
    tiny = _tiny(subject)
    write_normalized(subject, issue.vertices, tiny)
    return (
        f"Cleaned {counted(int(tiny.sum()), 'influence')} from "
        f"{counted(len(issue.vertices), 'vertex')} of {subject.obj.name}."
    )


def _tiny(subject: Subject) -> NDArray[np.bool_]:
    """Shape (m,), rows of the deforming weights."""
    deforming = subject.deforming_weights
    # A little less, for a weight of exactly that much is below it in float32.
    shares = (1.0 - 1e-4) * SMALLEST_SHARE * deforming.sums[deforming.vertices]
    return (deforming.weights < shares) & deforming.moved[deforming.vertices]


def _largest_movement(subject: Subject, tiny: NDArray[np.bool_]) -> float:
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


CHECK = Check("tiny_influences", find, {"clean": clean})
