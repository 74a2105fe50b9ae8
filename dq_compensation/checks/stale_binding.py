"""Check: whether an enabled character is still deformed by what its mesh and armature are now.

It follows edits by itself; it can fall behind after a failure, in files that were edited where the
add-on was not installed, and when scripts change what Blender does not tell of.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..lifecycle import enabling
from ..lifecycle.movement import needs_measuring
from ..lifecycle.replacement import replaces_truly, was_taken_away
from ..modifier.installation import our_modifier
from ..modifier.vertex_attributes import holds_weights
from ..scene.attributes import read_property
from ..scene.binding import Binding
from ..scene.errors import BindingError
from ..scene.mesh import mesh_of
from ..scene.object_settings import settings_of
from ..scene.signature import signature
from ..scene.status import status_of
from .issue import Check, Fix, FixError, Issue
from .subject import Subject

NAME = "stale_binding"


def find(subject: Subject) -> list[Issue]:
    """What an enabled character is deformed by that is no longer true."""
    obj = subject.obj
    # What cannot be deformed at all is told by the panel, and by the check of what is wrong.
    if not settings_of(obj).is_enabled or obj.library is not None or enabling.refusal(obj):
        return []
    if status_of(obj).failure:
        return [_issue("failed", f"Deforming {obj.name} has failed. {status_of(obj).failure}")]
    if settings_of(obj).display == "MODIFIER" and was_taken_away(obj):
        return [_taken_away(subject)]
    reason = next(_what_has_changed(subject), None)
    if reason is None:
        return []
    message = f"{obj.name} is deformed by what it was before: {reason}."
    return [_issue("stale", message)]


def _what_has_changed(subject: Subject) -> Iterator[str]:
    """What is no longer as it was when it was bound, for riggers; the cheapest to see first."""
    obj, status = subject.obj, status_of(subject.obj)
    known = {id(binding): binding for binding in (status.installed, status.binding)}
    bindings = [binding for binding in known.values() if binding is not None]
    if any(binding.signature != signature(obj) for binding in bindings):
        yield "its vertex groups, its bones at rest or the counts of its mesh have changed since"
    if needs_measuring(obj):
        yield "it has moved by its armature since its compensation was measured"
    if settings_of(obj).display == "MODIFIER" and not replaces_truly(obj):
        yield "its modifier was made for other groups, bones or settings"
    if any(not np.array_equal(binding.rest, _rest(subject)) for binding in bindings):
        yield "vertices of its mesh have moved since"
    if any(not _same_influences(binding, subject) for binding in bindings):
        yield "its weights have changed since"
    if _modifier_has_other_weights(subject):
        yield "its weights have changed since its modifier was made"


def _rest(subject: Subject) -> NDArray[np.float32]:
    """Shape (n, 3): the shape that is taken for the one at rest, the basis where there are keys."""
    keys = mesh_of(subject.obj).shape_keys
    if keys is None or keys.reference_key is None:
        return subject.rest
    return read_property(keys.reference_key.points, "co", np.float32, (3,))


def _same_influences(binding: Binding, subject: Subject) -> bool:
    ours, now = binding.influences, subject.influences
    if now is None:
        return True
    return np.array_equal(ours.bones, now.bones) and np.array_equal(ours.weights, now.weights)


def _modifier_has_other_weights(subject: Subject) -> bool:
    """As in a file whose weights were painted where the add-on is not installed."""
    return (
        our_modifier(subject.obj) is not None
        and subject.influences is not None
        and not holds_weights(mesh_of(subject.obj), subject.influences)
    )


def _issue(key: str, message: str) -> Issue:
    fix = Fix("refresh", "Refresh", "Read the mesh, its weights and its armature again")
    return Issue(NAME, key, "ERROR", message, fixes=(fix,))


def _taken_away(subject: Subject) -> Issue:
    name = subject.obj.name
    fix = Fix(
        "refresh",
        "Add It Again",
        "Add the modifier again and read the mesh, its weights and its armature",
        f"Adds the modifier DQ Compensation to {name} again. If it was applied, the pose is in the "
        "mesh already and acts twice: undo the applying instead.",
    )
    message = f"The modifier DQ Compensation of {name} was applied or removed: nothing deforms it."
    return Issue(NAME, "taken_away", "ERROR", message, fixes=(fix,))


def _refresh(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    if reason := enabling.refusal(obj):
        raise FixError(reason)
    try:
        binding = enabling.refresh(obj, subject.depsgraph)
    except BindingError as error:
        raise FixError(str(error)) from error
    bones = len(set(binding.influences.bones[binding.influences.weights > 0.0].tolist()))
    return f"{obj.name}: {binding.vertex_count} vertices follow {bones} bones"


CHECK = Check(NAME, find, {"refresh": _refresh})
