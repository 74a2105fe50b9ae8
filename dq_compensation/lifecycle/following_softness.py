"""Keeps the soft weights of enabled objects up to date: `Object.dq_compensation.softness`.

What makes them old is seen where objects are reconciled. Computing takes a second and more: where
there is a window it waits until a drag or a stroke rests, and the last result stays meanwhile. What
must not wait, as renders, files and bakes, settles them first.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import bpy

from ..errors import UserError
from ..modifier.soft_copy_object import ensure_soft_copy
from ..scene.binding.content import keeps_soft_weights, record_of
from ..scene.blender.rigging import deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import settings_of
from ..session.changes import Followers, is_new, remember_new
from ..session.known_objects import enabled_objects
from ..session.memory import memories
from ..session.status import Status, check_soon, status_of
from ..softness.softening import (
    content_digests,
    forget_soft_weights,
    recorded_softness,
    soften_copy,
    softness_refusal,
    wanted_record,
)
from ..steps import Progress, run_through
from .replacement import has_linked_mesh

SOFTNESS_IS_OLD: Followers = []
"""Soft weights are old, and nothing computes them yet."""

_FIXED = (
    "The mesh of {obj} is linked from another file, and its soft weights are made there. Set the "
    "Softness there, or make the mesh local."
)


def follow_softness(skinned: SkinnedObject, *, edited: bool, at_once: bool) -> None:
    """Look whether the soft weights of an object are old; compute them `at_once` or leave them.

    Args:
        edited: its mesh or its weights may have changed.
    """
    obj = skinned.obj
    known = status_of(obj).softness
    known.is_old, known.problem = False, None
    if not keeps_soft_weights(skinned) or obj.library is not None or deformation_refusal(skinned):
        return
    if has_linked_mesh(skinned):
        if record_of(skinned).get("softness") != recorded_softness(skinned):
            known.problem = _FIXED.format(obj=obj.name)
        return
    if reason := softness_refusal(skinned):
        _refuse(obj, reason)
        return
    _reattach_soft_copy(obj)
    if edited or known.content is None:
        known.content = content_digests(skinned)
    wanted = _wanted(obj)
    if record_of(skinned) == wanted:
        known.stopped = None
        return
    if known.failure and known.stopped == wanted:
        _refuse(obj, known.failure)
        return
    ensure_soft_copy(skinned)
    known.is_old = True
    if not at_once:
        check_soon()
        return
    try:
        run_through(soften_copy(obj, wanted))
        known.is_old = False
    except UserError as error:
        _fail(obj, wanted, error)


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


def _refuse(obj: bpy.types.Object, reason: str) -> None:
    """Let the painted weights act, and say why."""
    forget_soft_weights(SkinnedObject(obj))
    status_of(obj).softness.problem = reason


def _fail(obj: bpy.types.Object, wanted: dict[str, Any], error: UserError) -> None:
    """The same after an error, until something changes."""
    known = status_of(obj).softness
    known.is_old, known.stopped, known.failure = False, wanted, str(error)
    _refuse(obj, known.failure)


def waiting_objects() -> list[bpy.types.Object]:
    """The enabled objects whose soft weights are old, but for those that the user has stopped."""
    return [
        obj
        for obj in enabled_objects()
        if status_of(obj).softness.is_old
        and not deformation_refusal(SkinnedObject(obj))
        and status_of(obj).softness.stopped != _wanted(obj)
    ]


def _wanted(obj: bpy.types.Object) -> dict[str, Any]:
    return wanted_record(SkinnedObject(obj), *(status_of(obj).softness.content or ("", "")))


def soften_waiting() -> Generator[Progress, None, int]:
    """Compute the soft weights that are old, one object after the other.

    It ends where something changes meanwhile; the next check begins anew.

    Yields:
        progress, between two pieces of work.

    Returns:
        how many objects have new ones.
    """
    done = 0
    while waiting := waiting_objects():
        uid, wanted = waiting[0].session_uid, _wanted(waiting[0])
        steps = soften_copy(waiting[0], wanted)
        try:
            for progress in steps:
                yield progress
                if not any(
                    obj.session_uid == uid and _wanted(obj) == wanted for obj in waiting_objects()
                ):
                    check_soon()
                    return done
        except UserError as error:
            _fail(waiting[0], wanted, error)  # it was bound in the first step
        else:
            memories(Status)[uid].softness.is_old = False
            done += 1
            check_soon(0.0)
        finally:
            steps.close()
    return done


def stop_waiting() -> None:
    """Keep the last soft weights until something changes again."""
    for obj in waiting_objects():
        status_of(obj).softness.stopped = _wanted(obj)


def resume() -> None:
    """Forget that the user has stopped any."""
    for status in memories(Status).values():
        status.softness.stopped = status.softness.failure = None
