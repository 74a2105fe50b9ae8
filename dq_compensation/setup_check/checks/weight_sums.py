"""Check: weights add up to 1. Others are right in Blender, wrong in some other programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...wording import counted
from ..fixes.weight_changes import sharing_question, write_weights
from ..issue import Check, Fix, Issue
from ..subject import Subject

# Game engines keep weights in 8 bits, which lose smaller differences.
_TOLERANCE = 1e-3
# From here on a program that does not divide by the sum shows a vertex visibly in a wrong place.
_VISIBLE = 0.02


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for all vertices whose deforming weights are off."""
    obj, deforming = subject.obj, subject.deforming_weights
    vertices = np.flatnonzero(deforming.moved & (np.abs(deforming.sums - 1.0) > _TOLERANCE))
    if not len(vertices):
        return
    sums = deforming.sums[vertices]
    least, most = f"{sums.min():.3f}", f"{sums.max():.3f}"
    found = f"from {least} to {most}" if least != most else f"the sum is {least}"
    do_not = "does not" if len(vertices) == 1 else "do not"
    message = (
        f"The weights of {counted(len(vertices), 'vertex')} of {obj.name} {do_not} add up to 1 "
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


def normalize(subject: Subject, issue: Issue) -> str:
    """Divide the deforming weights of the vertices of an issue by their sums."""
    count = write_normalized(subject, issue.vertices)
    return (
        f"Normalized {counted(count, 'weight')} of {counted(len(issue.vertices), 'vertex')} of "
        f"{subject.obj.name}."
    )


def write_normalized(
    subject: Subject, vertices: NDArray[np.integer], leave_out: NDArray[np.bool_] | None = None
) -> int:
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
    write_weights(subject.obj, deforming.vertices[rows], deforming.groups[rows], weights)
    return len(rows)


CHECK = Check("weight_sums", find, {"normalize": normalize})
