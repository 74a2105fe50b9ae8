"""Keeps the soft weights of enabled objects up to date: `Object.dq_compensation.softness`.

What makes them old is seen where objects are reconciled. Computing takes a second and more: where
there is a window it waits until a drag or a stroke rests. Meanwhile the last result stays, or the
painted weights act where the mesh has another shape. What must not wait, as renders, files and
bakes, settles them first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import Any

import bpy

from ..errors import UserError
from ..modifier.leftovers import remove_unused
from ..modifier.soft_copies import blend_softness, ensure_soft_copy
from ..modifier.written_record import Origin, origin_of
from ..scene.binding.binding import Binding
from ..scene.binding.character_skin import CharacterSkin
from ..scene.binding.facts import (
    FOLLOWED,
    OTHER_MESHES,
    changed_since,
    digest,
    digest_of_bones,
    digest_of_modifiers_before,
)
from ..scene.binding.soft_copy import (
    KEYS_IN_RECORD,
    PAINTED_WEIGHTS,
    RECORD_PROPERTY,
    keeps_soft_weights,
    less_soft_joints,
    record_of,
    soft_copy,
)
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.kept_weights import PAINTED, kept_record
from ..scene.settings.addon_preferences import soft_weights_are_proved
from ..scene.settings.object_settings import Settings, settings_of
from ..session.changes import Followers, is_new, remember_new
from ..session.character import character_of
from ..session.known_objects import enabled_objects
from ..session.memory import memories
from ..session.status import Status, check_soon, status_of
from ..softness.softening import (
    content_digests,
    forget_soft_weights,
    recorded_softness,
    rewrite_soft_copy,
    soften_copies,
    softness_refusal,
    wanted_record,
)
from ..steps import Progress, run_through
from ..wording import listed

SOFTNESS_IS_OLD: Followers = []
"""Soft weights are old, and nothing computes them yet."""

_FIXED = (
    "The mesh of {obj} is linked from another file, and its soft weights are made there. Set the "
    "Softness there, or make the mesh local."
)


# What of a record says which points a copy has: where no more has changed, its weights are right.
_OF_POINTS = frozenset(("shape", KEYS_IN_RECORD))

# The session_uid of objects that get their modifier together with their first soft weights.
_awaiting_first: frozenset[int] = frozenset()


def await_first(uids: frozenset[int] = frozenset()) -> None:
    """Add no modifier to these objects, and no others, before their first soft weights are there.

    Else one is made for the painted weights, and another one a moment later.

    Args:
        uids: their session_uid.
    """
    global _awaiting_first
    before, _awaiting_first = _awaiting_first, uids
    if before and not uids and waiting_objects():
        check_soon(0.0)


def awaits_first(skinned: SkinnedObject) -> bool:
    """Whether an object gets its modifier together with its first soft weights."""
    obj, acting = skinned.obj, Settings.of(skinned.obj)
    if obj.session_uid not in _awaiting_first or skinned.ours is not None:
        return False
    # Others have no other modifier with soft weights.
    return bool(status_of(obj).softness.older_than) and acting.compensates and not acting.by_example


def follow_softness(skinned: SkinnedObject, *, edited: bool) -> None:
    """Look whether the soft weights that an object keeps are old.

    Args:
        edited: its mesh or its weights may have changed.
    """
    obj = skinned.obj
    known = status_of(obj).softness
    if obj.library is not None or deformation_refusal(skinned):
        return
    if skinned.has_linked_mesh:
        record = record_of(skinned)
        if record.get("softness") != recorded_softness(skinned):
            known.problem = _FIXED.format(obj=obj.name)
        if edited and record:
            # The numbers of the bones count in both.
            same_bones = record.get("bones") == digest_of_bones(skinned.rig, named=False)
            painted, _ = content_digests(skinned)
            known.painted_since = same_bones and record.get(PAINTED_WEIGHTS) != painted
        return
    if reason := softness_refusal(skinned):
        _refuse(skinned, reason)
        return
    _reattach_soft_copy(obj)
    binding = memories(Binding).get(obj.session_uid)
    before = None if binding is None else binding.structure[FOLLOWED]
    if edited or before not in (None, digest_of_modifiers_before(skinned)):
        known.content = content_digests(skinned)
    wanted, record = _wanted(obj), record_of(skinned)
    changed = changed_since(record, wanted)
    if not changed or _takes_other_points(skinned, changed, wanted):
        known.stopped = None
        return
    if known.failure and known.stopped == wanted:
        _refuse(skinned, known.failure)
        return
    copy = ensure_soft_copy(skinned)
    if not _OF_POINTS.isdisjoint(changed):
        # Its points are numbered as the vertices were: until it is written anew it does not act.
        mesh_of(copy).pop(RECORD_PROPERTY, None)
    known.older_than = changed if record else ("the mesh",)


def show_dragged_softness(skinned: SkinnedObject) -> None:
    """Blend to the *Softness* that is set, where the soft weights are those of another one."""
    share, changed = 1.0, set(status_of(skinned.obj).softness.older_than)
    waits = "softness" in changed and changed <= {"softness", OTHER_MESHES}
    if waits and skinned.settings.display != "GPU" and not _is_stopped(skinned.obj):
        made_for = record_of(skinned).get("softness", 0.0)
        share = recorded_softness(skinned) / made_for if made_for > 0.0 else 1.0
    blend_softness(skinned, share)


def _takes_other_points(
    skinned: SkinnedObject, changed: tuple[str, ...], wanted: dict[str, Any]
) -> bool:
    """Let a soft copy keep its weights where nothing but its points has changed."""
    return _OF_POINTS.issuperset(changed) and rewrite_soft_copy(skinned, wanted)


def soften_now(obj: bpy.types.Object) -> None:
    """Compute and prove the soft weights of an object and of all that is softened with it."""
    records, proves = _records(obj), soft_weights_are_proved()
    try:
        run_through(soften_copies(records, _fixed_beside(obj), proves=proves))
    except UserError as error:
        _fail(obj, records[obj], error)
        return
    for each in records:
        known = status_of(each).softness
        known.older_than, known.to_prove, known.proof_stopped = (), True, False


def detach_new_soft_copy(obj: bpy.types.Object) -> None:
    """Before an undo: take its soft copy from an object, if the step before may not have it."""
    native = settings_of(obj).native
    copy = native.soft_copy
    if copy is not None and is_new(copy):
        status_of(obj).softness.removed_for_undo = copy.name, copy.session_uid
        native.soft_copy = None


def _reattach_soft_copy(obj: bpy.types.Object) -> None:
    """Give its soft copy back to an object after an undo, if the step has it.

    The steps before that may not have it, so it counts as new.
    """
    known, native = status_of(obj).softness, settings_of(obj).native
    name, uid = known.removed_for_undo or ("", 0)
    known.removed_for_undo = None
    copy = bpy.data.objects.get(name)
    if native.soft_copy is None and copy is not None and copy.session_uid == uid:
        remember_new(copy)
        native.soft_copy = copy


def _refuse(skinned: SkinnedObject, reason: str) -> None:
    """Let the painted weights act, and say why."""
    if soft_copy(skinned) is not None:
        forget_soft_weights(skinned)
        remove_unused()  # its modifier may have read the painted weights all the time
    status_of(skinned.obj).softness.problem = reason


def _fail(obj: bpy.types.Object, wanted: dict[str, Any], error: UserError) -> None:
    """The same after an error, until something changes."""
    known = status_of(obj).softness
    known.older_than, known.stopped, known.failure = (), wanted, str(error)
    _refuse(SkinnedObject(obj), known.failure)


def waiting_objects() -> list[bpy.types.Object]:
    """The enabled objects whose soft weights are old, but for those that the user has stopped."""
    return [
        obj
        for obj in enabled_objects()
        if status_of(obj).softness.older_than
        and not deformation_refusal(SkinnedObject(obj))
        and not _is_stopped(obj)
    ]


def unproved_objects() -> list[bpy.types.Object]:
    """The enabled objects whose soft weights are right, and were not proved yet.

    What was computed in another session is as it was saved: it looks the same everywhere.
    """
    if not soft_weights_are_proved():
        return []
    return [obj for obj in enabled_objects() if is_unproved(obj)]


def is_unproved(obj: bpy.types.Object) -> bool:
    """Whether the soft weights of an enabled object are still to be proved."""
    known, skinned = status_of(obj).softness, SkinnedObject(obj)
    waits = known.to_prove and not (known.older_than or known.proof_stopped)
    if not waits or not _is_softened(skinned):
        return False
    return soft_copy(skinned) is not None and less_soft_joints(skinned) is None


def _is_stopped(obj: bpy.types.Object) -> bool:
    """Whether the user has stopped the soft weights that an object needs now."""
    stopped = status_of(obj).softness.stopped
    return stopped is not None and stopped == _wanted(obj)


def _fixed_beside(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The meshes of a character beside this one that keep the weights of another file."""
    beside = character_of(obj).beside(obj)
    return [each.obj for each in beside if is_fixed(each) and not deformation_refusal(each)]


def about_linked_weights(skinned: SkinnedObject) -> list[str]:
    """The note that soft weights of a linked mesh may not fit those of meshes of this file.

    Args:
        skinned: whose weights are those of the file from which it is linked.
    """
    obj, bindings = skinned.obj, memories(Binding)
    binding = bindings.get(obj.session_uid)
    skin = memories(CharacterSkin).get(binding.armature_uid) if binding is not None else None
    if binding is None or skin is None:
        return []
    names = [
        other.obj.name
        for other in character_of(obj).beside(obj)
        # Softness, or Soften Weights, has changed its weights in this file.
        if (_is_softened(other) or (not is_fixed(other) and kept_record(other.obj, PAINTED)))
        and (known := bindings.get(other.obj.session_uid))
        and skin.rests_on(binding.part, known.part)
    ]
    if not names:
        return []
    return [
        f"{obj.name} keeps the weights of the file that it is linked from. It lies on or meets "
        f"{listed(names)}, softened in this file: where they part or crease, soften them "
        "together in one file."
    ]


def is_fixed(skinned: SkinnedObject) -> bool:
    """Whether the weights of an enabled object are those of another file, or of a newer version."""
    is_linked = skinned.obj.library is not None or skinned.has_linked_mesh
    return is_linked or origin_of(skinned.obj) is Origin.NEWER


def _is_softened(skinned: SkinnedObject) -> bool:
    return (
        keeps_soft_weights(skinned)
        and not is_fixed(skinned)
        and not (deformation_refusal(skinned) or softness_refusal(skinned))
    )


def _own_record(obj: bpy.types.Object) -> dict[str, Any]:
    known, skinned = status_of(obj).softness, SkinnedObject(obj)
    if known.content is None:
        known.content = content_digests(skinned)
    return wanted_record(skinned, *known.content)


def _records(obj: bpy.types.Object) -> dict[bpy.types.Object, dict[str, Any]]:
    """The records of the right soft weights of all meshes softened together with one, by name."""
    beside = (each.obj for each in character_of(obj).beside(obj) if _is_softened(each))
    members = sorted((obj, *beside), key=lambda each: each.name)
    own = [_own_record(each) for each in members]
    fixed = _fixed_beside(obj)
    texts = [_text_of_weights(record) for record in own]
    # Their records differ where their weights do.
    texts += [
        _text_of_weights(_own_record(each)) + json.dumps(record_of(SkinnedObject(each)))
        for each in fixed
    ]
    found = {}
    for number, (each, record) in enumerate(zip(members, own, strict=True)):
        others = sorted(texts[:number] + texts[number + 1 :])
        found[each] = record | {OTHER_MESHES: digest(others)}
    return found


def _text_of_weights(record: dict[str, Any]) -> str:
    """What of a record the weights of other meshes depend on."""
    return json.dumps({name: each for name, each in record.items() if name not in _OF_POINTS})


def _wanted(obj: bpy.types.Object) -> dict[str, Any]:
    """The record of the right soft weights of an object."""
    return _records(obj)[obj]


def soften_waiting() -> Generator[Progress, None, int]:
    """Compute the soft weights that are old, one character after the other.

    It ends where something changes meanwhile; the next check begins anew.

    Yields:
        progress, between two pieces of work.

    Returns:
        how many objects have new ones.
    """
    return (yield from _compute(waiting_objects, proves=False))


def prove_waiting() -> Generator[Progress, None, int]:
    """Likewise prove those that were computed in this session and are not proved yet."""
    return (yield from _compute(unproved_objects, proves=True))


def _compute(
    find: Callable[[], list[bpy.types.Object]], *, proves: bool
) -> Generator[Progress, None, int]:
    done = 0
    while waiting := find():
        uid, records = waiting[0].session_uid, _records(waiting[0])
        wanted = records[waiting[0]]
        uids = [each.session_uid for each in records]
        steps = soften_copies(records, _fixed_beside(waiting[0]), proves=proves)
        try:
            for progress in steps:
                yield progress
                if not any(obj.session_uid == uid and _wanted(obj) == wanted for obj in find()):
                    check_soon()
                    return done
        except UserError as error:
            _fail(waiting[0], wanted, error)  # it was bound in the first step
        else:
            for each in uids:
                known = memories(Status)[each].softness
                known.older_than, known.to_prove, known.proof_stopped = (), True, False
            for obj in enabled_objects():
                if obj.session_uid in uids:
                    blend_softness(SkinnedObject(obj))
            done += len(uids)
            check_soon(0.0)
        finally:
            steps.close()
    return done


def stop_waiting() -> None:
    """Keep the last soft weights until something changes again, and prove none."""
    for obj in waiting_objects():
        status_of(obj).softness.stopped = _wanted(obj)
        blend_softness(SkinnedObject(obj))
    for obj in unproved_objects():
        status_of(obj).softness.proof_stopped = True


def resume() -> None:
    """Forget that the user has stopped any."""
    for status in memories(Status).values():
        status.softness.stopped = status.softness.failure = None
        status.softness.proof_stopped = False
