"""Check: example poses do not get into each other's way, and their shape keys stay off."""

from __future__ import annotations

from itertools import combinations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.supports import support
from ..scene.mesh import mesh_of
from ..scene.object_settings import settings_of
from ..wording import counted, listed
from .fixes.object_transforms import require_editable
from .issue import Check, Fix, FixError, Issue
from .subject import Subject

_NAME = "example_supports"


def find(subject: Subject) -> list[Issue]:
    """What is wrong with the shape keys and the supports of the example poses."""
    if not len(settings_of(subject.obj).examples):
        return []
    found = (_shown_keys_issue(subject.obj), _overlap_issue(subject))
    return [issue for issue in found if issue is not None]


def _shown_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    """The shape keys of the examples that are not muted."""
    keys = mesh_of(obj).shape_keys
    if keys is None:
        return []
    names = {item.key for item in settings_of(obj).examples}
    return [
        block
        for block in keys.key_blocks
        if block.name in names and block != keys.reference_key and not block.mute
    ]


def _shown_keys_issue(obj: bpy.types.Object) -> Issue | None:
    shown = _shown_keys(obj)
    if not shown:
        return None
    acting = [block.name for block in shown if block.value != 0.0]
    severity = "ERROR" if acting else "WARNING"
    what = (
        f"{listed(acting)} {'has' if len(acting) == 1 else 'have'} a value: the offsets are added "
        "twice, and show with other methods as well."
        if acting
        else "Whoever moves their sliders adds the offsets twice."
    )
    return Issue(
        _NAME,
        "shown_keys",
        severity,
        f"The shape keys of example poses of {obj.name} are not muted: "
        f"{listed([block.name for block in shown])}. {what}",
        fixes=(
            Fix(
                "mute_keys",
                "Mute Keys",
                "Mute these shape keys: the poses switch them on",
                f"{obj.name} will look different: {listed(acting)} no longer act by their values."
                if acting
                else "",
            ),
        ),
    )


def _overlap_issue(subject: Subject) -> Issue | None:
    """Vertices that the examples of two bones move where one of the supports is painted.

    Bones with the same parent share the support that the weights say: that is nobody's mistake.
    """
    obj, influences, skeleton = subject.obj, subject.influences, subject.skeleton
    if influences is None or skeleton is None:
        return None
    groups = {each.name: each.support for each in settings_of(obj).example_bones}
    bones = sorted({item.bone for item in settings_of(obj).examples} & set(skeleton.names))
    painted = {bone for bone in bones if groups.get(bone) in subject.group_names}
    if not painted:
        return None
    moved: dict[str, NDArray[np.bool_]] = {}
    for bone in bones:
        if bone in painted:
            group = subject.group_names.index(groups[bone])
            moved[bone] = subject.weights.of_group(group) > 0.0
        else:
            moved[bone] = support(skeleton.names.index(bone), influences, skeleton)
    pairs = [
        (one, other, both)
        for one, other in combinations(bones, 2)
        if not painted.isdisjoint((one, other)) and (both := moved[one] & moved[other]).any()
    ]
    if not pairs:
        return None
    vertices = np.flatnonzero(np.any([both for _, _, both in pairs], axis=0)).astype(np.int32)
    culprits = {bone for one, other, _ in pairs for bone in (one, other)}
    return Issue(
        _NAME,
        "overlap",
        "INFORMATION",
        f"{counted(len(vertices), 'vertex')} of {obj.name} belong to the supports of several bones "
        f"with example poses: {listed([f'{one} and {other}' for one, other, _ in pairs])}. Where "
        "examples of both act, their offsets add up. Paint the supports apart if that is not "
        "wanted.",
        bones=tuple(bone for bone in bones if bone in culprits),
        vertices=vertices,
    )


def _mute_keys(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    require_editable(obj)
    shown = _shown_keys(obj)
    if not shown:
        raise FixError(f"The example poses of {obj.name} have no shown shape keys any more.")
    names = [block.name for block in shown]
    for block in shown:
        block.mute = True
    return f"Muted {counted(len(names), 'shape key')} of {obj.name}: {listed(names)}."


CHECK = Check(_NAME, find, {"mute_keys": _mute_keys})
