"""Check: with SPHERICAL_JOINT, the bones of every vertex meet in one joint."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.spherical_joint import joint_sets
from ...scene.settings.object_settings import Settings
from ...wording import counted, listed
from ..issue import Check, Issue
from ..subject import Subject

_SETS_NAMED = 2


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for all vertices without a joint of their own."""
    obj = subject.obj
    if subject.armature is None or Settings.of(obj).acting_method != "SPHERICAL_JOINT":
        return
    names = subject.skeleton.names
    sets = joint_sets(subject.influences, subject.skeleton)
    if sets.shared.all():
        return
    free = np.append(~sets.shared, False)  # the last entry is for vertices without a set: -1
    vertices = np.flatnonzero(free[sets.set_of_vertex])
    counts = np.bincount(sets.set_of_vertex[vertices], minlength=sets.set_count)
    commonest = np.argsort(-counts, kind="stable")[:_SETS_NAMED]
    named = [
        " + ".join(names[bone] for bone in sets.bones[sets.offsets[s] : sets.offsets[s + 1]])
        for s in commonest
        if counts[s]
    ]
    bones = np.unique(sets.bones[np.repeat(~sets.shared, np.diff(sets.offsets))])
    share = len(vertices) / max(1, len(sets.set_of_vertex))
    do_not = "does" if len(vertices) == 1 else "do"
    message = (
        f"The bones of {counted(len(vertices), 'vertex')} of {obj.name} ({share:.0%}) "
        f"{do_not} not meet in one joint, mostly {listed(named)}. Spherical Joint turns them "
        "about the point that the bones' motions agree on best, which may drift in wide poses."
    )
    bones_named = tuple(names[bone] for bone in bones)
    yield Issue("no_shared_joint", "INFORMATION", message, bones_named, vertices)


CHECK = Check("shared_joints", find)
