"""Checks: Enable does not refuse the object, and an enabled one is up to date.

What other checks find with a button is left to them, and so is Edit Mode, which is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import BindingError
from ...lifecycle.enabling import refresh, refusal
from ...lifecycle.reconcile import State, compare_with_file
from ...modifier.written_record import Origin, origin_of, origin_refusal
from ...scene.binding.bind import bind
from ...scene.binding.modifiers_before import modifiers_read
from ...session.known_bindings import current_binding, in_character
from ...session.status import status_of
from ..fixes.object_transforms import is_nothing, own_scale
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject


def _find_refusal(subject: Subject) -> Iterator[Issue]:
    """The sentence with which Enable refuses the object."""
    if subject.obj.library is not None or subject.is_current:
        return
    if (reason := refusal(subject.obj)) and not _is_found_elsewhere(subject):
        yield Issue("refused", "ERROR", reason)


def _is_found_elsewhere(subject: Subject) -> bool:
    obj, mesh, modifier = subject.obj, subject.mesh, subject.find_modifier()
    if modifier is None or modifier.object is None or mesh.is_editmode:
        return True
    if mesh.shape_keys is not None and not mesh.shape_keys.use_relative:
        return True
    if is_nothing(own_scale(obj)) or is_nothing(own_scale(modifier.object)):
        return True
    # A mesh without groups: its vertices are found, if it has any.
    is_skinned = not subject.deforming_bones.isdisjoint(subject.group_names)
    can_be = modifier.use_vertex_groups
    return bool(subject.deforming_bones) and can_be and not is_skinned and len(mesh.vertices) > 0


REFUSAL = Check("refusal", _find_refusal)


def _find_stale_binding(subject: Subject) -> Iterator[Issue]:
    """The outdated parts of an enabled character's deformation.

    It follows edits by itself. It can fall behind after a failure, while something is dragged, and
    when scripts change what Blender does not report.
    """
    obj = subject.obj
    if not subject.settings.is_enabled or obj.library is not None or subject.is_current:
        return
    # The panel, and the check of what is wrong, say what cannot be deformed at all.
    if refusal(obj):
        return
    if reason := origin_refusal(subject):
        is_ours = origin_of(obj) is Origin.DEVELOPMENT and not subject.has_linked_mesh
        yield _issue("version", reason) if is_ours else Issue("version", "ERROR", reason)
        return
    if failure := status_of(obj).failure:
        yield _issue("failed", f"Deforming {obj.name} has failed. {failure}")
        return
    try:
        # To read modifiers again, Blender sorts out all dependencies of the scene anew.
        read = current_binding if modifiers_read(subject) else bind
        binding = in_character(obj, read(obj, subject.depsgraph))
        found = compare_with_file(subject, subject.depsgraph, binding)
    except BindingError:
        return
    if found.state is State.MISSING:
        yield _modifier_missing(subject, str(found.reason))
    elif found.state is State.WRONG_VERTEX_COUNT:
        yield Issue("passing", "ERROR", str(found.reason))
    elif found.state is State.OUT_OF_DATE:
        what = ", ".join(found.parts) or "modifiers"
        message = f"{obj.name} has an outdated deformation. Changed since: {what}."
        yield _issue("stale", message)


def _issue(key: str, message: str) -> Issue:
    fix = Fix("refresh", "Refresh", "Read the mesh, its weights and its armature again")
    return Issue(key, "ERROR", message, fixes=(fix,))


def _modifier_missing(subject: Subject, reason: str) -> Issue:
    obj, on_base = subject.obj, not subject.before_enable.base_hidden
    deformed = "the Armature modifier alone deforms it" if on_base else "nothing deforms it"
    fix = Fix(
        "refresh",
        "Add It Again",
        "Add the modifier again and read the mesh, its weights and its armature",
        f"Adds the modifier DQ Compensation to {obj.name} again. If it was applied, the mesh has "
        "changed by the pose, which then acts twice: undo Apply instead.",
    )
    message = f"The modifier DQ Compensation of {obj.name} was applied or removed: {deformed}."
    message = message if subject.ours is None else reason
    return Issue("taken_away", "ERROR", message, fixes=(fix,))


def _refresh(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    yield
    try:
        binding = refresh(obj, subject.depsgraph)
    except BindingError as error:
        raise FixError(str(error)) from error
    bones = len(set(binding.influences.bones[binding.influences.weights > 0.0].tolist()))
    return f"{obj.name}: {binding.vertex_count} vertices follow {bones} bones"


STALE_BINDING = Check("stale_binding", _find_stale_binding, {"refresh": _refresh})
