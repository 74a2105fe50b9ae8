"""Check: the deformation of an enabled character is up to date with its mesh and armature.

It follows edits by itself. It can fall behind after a failure, while something is dragged, and when
scripts change what Blender does not report.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ...errors import BindingError
from ...lifecycle import enabling
from ...lifecycle.reconcile import State, look
from ...scene.binding.bind import bind
from ...scene.binding.modifiers_before import modifiers_read
from ...scene.settings.object_settings import settings_of
from ...session import bindings
from ...session.status import status_of
from ..issue import Check, Fix, FixError, Issue
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """The outdated parts of an enabled character's deformation."""
    obj = subject.obj
    # The panel, and the check of what is wrong, say what cannot be deformed at all.
    if not settings_of(obj).is_enabled or obj.library is not None or enabling.refusal(obj):
        return
    if failure := status_of(obj).failure:
        yield _issue("failed", f"Deforming {obj.name} has failed. {failure}")
        return
    try:
        # To read modifiers again, Blender sorts out all dependencies of the scene anew.
        read = bindings.get if modifiers_read(obj) else bind
        found = look(obj, subject.depsgraph, read(obj, subject.depsgraph))
    except BindingError:
        return
    if found.state is State.MISSING:
        yield _modifier_missing(obj)
    elif found.state is State.PASSING:
        yield Issue("passing", "ERROR", str(found.reason))
    elif found.state is State.OUT_OF_DATE:
        what = ", ".join(found.parts) or "modifiers"
        message = f"{obj.name} has an outdated deformation. Changed since: {what}."
        yield _issue("stale", message)


def _issue(key: str, message: str) -> Issue:
    fix = Fix("refresh", "Refresh", "Read the mesh, its weights and its armature again")
    return Issue(key, "ERROR", message, fixes=(fix,))


def _modifier_missing(obj: bpy.types.Object) -> Issue:
    on_base = settings_of(obj).native.base_left_on
    deformed = "the Armature modifier alone deforms it" if on_base else "nothing deforms it"
    fix = Fix(
        "refresh",
        "Add It Again",
        "Add the modifier again and read the mesh, its weights and its armature",
        f"Adds the modifier DQ Compensation to {obj.name} again. If it was applied, the mesh has "
        "changed by the pose, which then acts twice: undo Apply instead.",
    )
    message = f"The modifier DQ Compensation of {obj.name} was applied or removed: {deformed}."
    return Issue("taken_away", "ERROR", message, fixes=(fix,))


def _refresh(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    try:
        binding = enabling.refresh(obj, subject.depsgraph)
    except BindingError as error:
        raise FixError(str(error)) from error
    bones = len(set(binding.influences.bones[binding.influences.weights > 0.0].tolist()))
    return f"{obj.name}: {binding.vertex_count} vertices follow {bones} bones"


CHECK = Check("stale_binding", find, {"refresh": _refresh})
