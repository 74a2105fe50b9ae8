"""Check: the supports of example poses do not overlap, and their shape keys stay off."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import bpy
import numpy as np

from ...wording import counted, listed, verb
from ..fixes.requirements import require_editable
from ..issue import Check, Fix, Issue, Repair
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """The problems of the shape keys and the supports of the example poses."""
    if not len(subject.settings.examples):
        return
    if shown := _shown_keys(subject):
        yield _shown_keys_issue(subject.obj, shown)
    yield from _overlaps(subject)


def _shown_keys(subject: Subject) -> list[bpy.types.ShapeKey]:
    """The shape keys of the examples that are not muted."""
    keys = subject.mesh.shape_keys
    names = {item.key for item in subject.settings.examples}
    shown = [block for block in keys.key_blocks if not block.mute] if keys is not None else []
    return [block for block in shown if block.name in names and block != keys.reference_key]


def _shown_keys_issue(obj: bpy.types.Object, shown: list[bpy.types.ShapeKey]) -> Issue:
    acting = [block.name for block in shown if block.value != 0.0]
    what, question = "Whoever moves their sliders adds the offsets twice.", ""
    if acting:
        what = (
            f"{listed(acting)} {'has' if len(acting) == 1 else 'have'} a value: the offsets are "
            "added twice, and show with other methods as well."
        )
        question = (
            f"{obj.name} will look different: {listed(acting)} no longer act by their values."
        )
    message = (
        f"The shape keys of example poses of {obj.name} are not muted: "
        f"{listed([block.name for block in shown])}. {what}"
    )
    fix = Fix(
        "mute_keys",
        "Mute Keys",
        "Mute these shape keys: the poses switch them on",
        question,
    )
    return Issue("shown_keys", "ERROR" if acting else "WARNING", message, fixes=(fix,))


def _overlaps(subject: Subject) -> Iterator[Issue]:
    """Vertices that are in the painted supports of two bones.

    Supports that are found from the weights overlap at neighbouring joints: that is no mistake.
    """
    obj, groups, settings = subject.obj, subject.group_names, subject.settings
    bones = {item.bone for item in settings.examples}
    moved = {
        each.name: subject.weights.of_group(groups.index(each.support)) > 0.0
        for each in settings.example_bones
        if each.name in bones and each.support in groups
    }
    pairs = [
        (one, other, both)
        for one, other in combinations(sorted(moved), 2)
        if (both := moved[one] & moved[other]).any()
    ]
    if not pairs:
        return
    vertices = np.flatnonzero(np.any([both for _, _, both in pairs], axis=0))
    offenders = sorted({bone for one, other, _ in pairs for bone in (one, other)})
    message = (
        f"{counted(len(vertices), 'vertex')} of {obj.name} "
        f"{verb(len(vertices), 'belongs', 'belong')} to the supports of several bones with example "
        f"poses: {listed([f'{one} and {other}' for one, other, _ in pairs])}. Where "
        "examples of both act, their offsets add up. Paint the supports apart if that is not "
        "wanted."
    )
    yield Issue("overlap", "INFORMATION", message, tuple(offenders), vertices)


def _mute_keys(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    require_editable(obj)
    yield
    shown = _shown_keys(subject)
    names = [block.name for block in shown]
    for block in shown:
        block.mute = True
    return f"Muted {counted(len(names), 'shape key')} of {obj.name}: {listed(names)}."


CHECK = Check("example_supports", find, {"mute_keys": _mute_keys})
