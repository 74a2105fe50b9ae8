"""The status of each enabled object, and the check that brings it up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..scene.binding.bind import bind, renamed
from ..scene.binding.binding import Binding
from ..scene.binding.content import structure_of
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import find_rig
from ..scene.settings.object_settings import settings_of
from .changes import DelayedCall
from .memory import memories, memory_of

_log = logging.getLogger(__name__)

# Seconds from the last change to the check: long enough to check once for a burst of changes, and
# never while a bone is being dragged; short enough to look immediate.
CHECK_AFTER = 0.1

FAILED = "{what} failed: {error}. Press Refresh to try again; the console says more."


@dataclass
class Softness:
    """What is known of the soft weights of an object.

    Attributes:
        content: the digests of what they are made from; None before the first look.
        is_old: whether those that act are of an earlier state.
        problem: why none act, a sentence for the panel.
        stopped: what they were to be made from when the user stopped them, or when they failed.
        failure: why they failed, a sentence.
        parted: name and session_uid of the soft copy that was taken from it before an undo.
    """

    content: tuple[str, str] | None = None
    is_old: bool = False
    problem: str | None = None
    stopped: dict[str, Any] | None = None
    failure: str | None = None
    parted: tuple[str, int] | None = None


@dataclass
class Status:
    """The status of one enabled object.

    Attributes:
        binding: the last one that was true; None before the first and after a failure.
        waits: whether something was left for later, until a drag or a stroke rests.
        compared: whether what was read from the mesh has been compared with what the modifier was
            made from, in this session.
        problem: why the object is not deformed by us, a sentence for the panel.
        failure: an error of drawing it; it is not tried again before a refresh.
        pose_problem: why the picture does not follow the pose.
        overlay_failure: an error of colouring it; it is not tried again before a refresh.
        overlay_maximum: the upper end of the colours as drawn last, in millimetres; 0 before.
        notes: what our deformation leaves out.
        example_values: how much of each example pose acts now, 0 to 1, in the order of the list;
            -1 for one that cannot act. Empty before the first look.
        example_result: what came of the shape that was applied last, a sentence for the panel.
        key_values: shape (m,), the shape keys' values at the last check.
        misfit: the frame and the surplus of vertices for which followed modifiers were read last.
        changes_with_frames: whether a frame may change how it is to be deformed, or move it by its
            armature.
        frame_place: shape (4, 4), A^-1 O in the last frame that moved the object by its armature.
        last_place: shape (4, 4), A^-1 O at the last check, if the object had moved by its armature.
        softness: of its soft weights.
    """

    binding: Binding | None = None
    waits: bool = False
    compared: bool = False
    problem: str | None = None
    failure: str | None = None
    pose_problem: str | None = None
    overlay_failure: str | None = None
    overlay_maximum: float = 0.0
    notes: list[str] = field(default_factory=list)
    example_values: tuple[float, ...] = ()
    example_result: str | None = None
    key_values: NDArray[np.float32] | None = None
    misfit: tuple[float, int] | None = None
    changes_with_frames: bool = True
    frame_place: NDArray[np.float64] | None = None
    last_place: NDArray[np.float64] | None = None
    softness: Softness = field(default_factory=Softness)


_check: Callable[[], float | None] | None = None


def status_of(obj: bpy.types.Object) -> Status:
    """The status of an object; an empty one if it has none."""
    return memory_of(obj, Status)


def forget_status(obj: bpy.types.Object) -> None:
    """Drop the status of an object."""
    memories(Status).pop(obj.session_uid, None)


def is_drawn(obj: bpy.types.Object) -> bool:
    """Whether we draw an enabled object: GPU display, Object Mode, nothing wrong, not linked."""
    return settings_of(obj).display == "GPU" and obj.library is None and _is_sound(obj)


def is_coloured(obj: bpy.types.Object) -> bool:
    """Whether an enabled object gets the overlay: it is on, Object Mode, nothing wrong."""
    is_on = settings_of(obj).overlay != "NONE"
    return is_on and _is_sound(obj) and status_of(obj).overlay_failure is None


def _is_sound(obj: bpy.types.Object) -> bool:
    """Whether an enabled object is in Object Mode, bound, and nothing is wrong with it."""
    status = status_of(obj)
    wrong = status.failure or status.problem
    return obj.mode == "OBJECT" and status.binding is not None and wrong is None


def fail(obj: bpy.types.Object, error: Exception) -> None:
    """Leave an object alone after an error; the panel says so."""
    status_of(obj).failure = _logged(f"Deforming {obj.name}", error)


def fail_overlay(obj: bpy.types.Object, error: Exception) -> None:
    """Leave an object without its overlay after an error; the panel says so."""
    status_of(obj).overlay_failure = _logged(f"The overlay of {obj.name}", error)


def _logged(what: str, error: Exception) -> str:
    _log.exception("%s failed", what)
    return FAILED.format(what=what, error=str(error).rstrip("."))


def set_check(check: Callable[[], float | None] | None) -> None:
    """Set the function that `check_soon` calls. It returns the seconds to the next call, or None.

    None takes it back, with a check that is due.
    """
    global _check
    _delayed_check.cancel()
    _check = check


def check_soon(seconds: float = CHECK_AFTER) -> None:
    """Check every enabled object when nothing has changed for so many seconds."""
    _delayed_check.request(seconds)


def seconds_since_change() -> float:
    """How long ago `check_soon` was called."""
    return _delayed_check.seconds_since_request()


_delayed_check = DelayedCall(lambda: _check() if _check else None, CHECK_AFTER, "QUIET")


def tag_redraw() -> None:
    """Ask every 3D viewport and its sidebar to draw again."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


# The bindings of the session: an object without a current binding is bound.


def current_binding(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None, *, edited: bool = False
) -> Binding:
    """The binding of an object; a new one if there is none or its structure has changed.

    The same `Binding` object comes back as long as it is true: compare with `is`.

    Args:
        edited: whether its mesh may be another one. Painted weights and moved vertices are not
            seen without.

    Raises:
        BindingError: it cannot be bound (any more); nothing is kept of it.
    """
    obj = cast("bpy.types.Object", obj.original)
    known, found = memories(Binding).get(obj.session_uid), None
    if known is not None and not _is_of(known, obj):
        known = None
    if known is not None and not edited:
        structure = structure_of(obj)
        if known.structure == structure:
            return known
        found = renamed(known, obj, structure)
    discard_binding(obj)
    found = found or bind(obj, depsgraph, known)
    memories(Binding)[obj.session_uid] = found
    return found


def discard_binding(obj: bpy.types.Object) -> None:
    """Forget the binding of an object."""
    memories(Binding).pop(obj.session_uid, None)


def _is_of(binding: Binding, obj: bpy.types.Object) -> bool:
    """Whether a binding is of the mesh and the armature of an object."""
    rig = find_rig(obj)
    return (
        rig is not None
        and binding.armature_uid == rig.session_uid
        and binding.mesh_uid == mesh_of(obj).session_uid
    )
