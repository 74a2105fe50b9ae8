"""SPHERICAL_JOINT: vertices whose bones do not meet in one joint."""

from __future__ import annotations

import numpy as np

from ..core.spherical_joint import joint_sets
from ..scene.object_settings import settings_of
from .issue import Check, Issue, listed
from .subject import Subject
from .wording import counted

_SETS_NAMED = 2


def find(subject: Subject) -> list[Issue]:
    """One issue for all vertices that have no joint of their own to turn about."""
    obj, influences, skeleton = subject.obj, subject.influences, subject.skeleton
    if settings_of(obj).method != "SPHERICAL_JOINT" or influences is None or skeleton is None:
        return []
    sets = joint_sets(influences, skeleton)
    if sets.shared.all():
        return []
    free = np.append(~sets.shared, False)  # the last entry is for vertices without a set: -1
    vertices = np.flatnonzero(free[sets.set_of_vertex]).astype(np.int32)
    counts = np.bincount(sets.set_of_vertex[vertices], minlength=sets.set_count)
    commonest = np.argsort(-counts, kind="stable")[:_SETS_NAMED]
    named = [
        " + ".join(
            skeleton.names[bone] for bone in sets.bones[sets.offsets[s] : sets.offsets[s + 1]]
        )
        for s in commonest
        if counts[s]
    ]
    bones = np.unique(sets.bones[np.repeat(~sets.shared, np.diff(sets.offsets))])
    share = len(vertices) / max(1, len(sets.set_of_vertex))
    do_not = "does" if len(vertices) == 1 else "do"
    return [
        Issue(
            check=CHECK.name,
            key="no_shared_joint",
            severity="INFORMATION",
            message=f"The bones of {counted(len(vertices), 'vertex')} of {obj.name} ({share:.0%}) "
            f"{do_not} not meet in one joint, mostly {listed(named)}. Spherical Joint turns them "
            "about the point that the bones' motions agree on best, which may drift in wide poses.",
            bones=tuple(skeleton.names[bone] for bone in bones),
            vertices=vertices,
        )
    ]


CHECK = Check("shared_joints", find)
