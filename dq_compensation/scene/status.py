"""What is known of each enabled object, and the check that brings it up to date."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from .binding import Binding
from .object_settings import settings_of

_log = logging.getLogger(__name__)

# Seconds from the last change to the check: long enough to check once for a burst of changes, and
# never while a bone is being dragged; short enough to look immediate.
CHECK_AFTER = 0.1

FAILED = "Deforming {name} failed: {error}. Press Refresh to try again; the console says more."

OVERLAY_FAILED = (
    "The overlay of {name} failed: {error}. Press Refresh to try again; the console says more."
)


@dataclass
class Status:
    """What is known of one enabled object.

    Attributes:
        binding: the last one that was true; None before the first and after a failure.
        installed: the binding that the node modifier was made from in this session.
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
        carried_to: shape (4, 4), A^-1 O at the last check, if the object had moved by its armature.
    """

    binding: Binding | None = None
    installed: Binding | None = None
    problem: str | None = None
    failure: str | None = None
    pose_problem: str | None = None
    overlay_failure: str | None = None
    overlay_maximum: float = 0.0
    notes: list[str] = field(default_factory=list)
    example_values: tuple[float, ...] = ()
    example_result: str | None = None
    key_values: NDArray[np.float32] | None = None
    carried_to: NDArray[np.float64] | None = None


# By session_uid, so that no reference to Blender's data outlives an undo.
_statuses: dict[int, Status] = {}
_check: Callable[[], float | None] | None = None
_changed_at = 0.0


def status_of(obj: bpy.types.Object) -> Status:
    """What is known of an object; empty where nothing is."""
    return _statuses.setdefault(obj.session_uid, Status())


def keep_statuses(object_uids: set[int]) -> None:
    """Drop what is known of other objects than these."""
    for uid in [uid for uid in _statuses if uid not in object_uids]:
        del _statuses[uid]


def forget_status(obj: bpy.types.Object) -> None:
    """Drop what is known of an object."""
    _statuses.pop(obj.session_uid, None)


def forget_statuses() -> None:
    """Drop what is known of every object."""
    _statuses.clear()


def is_drawn(obj: bpy.types.Object) -> bool:
    """Whether we draw an enabled object: GPU display, Object Mode, nothing wrong, not linked."""
    status = status_of(obj)
    return (
        obj.mode == "OBJECT"
        and status.binding is not None
        and status.failure is None
        and status.problem is None
        and settings_of(obj).display == "GPU"
        and obj.library is None
    )


def is_coloured(obj: bpy.types.Object) -> bool:
    """Whether an enabled object gets the overlay: it is on, Object Mode, nothing wrong."""
    status = status_of(obj)
    return (
        settings_of(obj).overlay != "NONE"
        and obj.mode == "OBJECT"
        and status.binding is not None
        and status.failure is None
        and status.problem is None
        and status.overlay_failure is None
    )


def fail(obj: bpy.types.Object, error: Exception) -> None:
    """Leave an object alone after an error; the panel says so."""
    _log.exception("Deforming %s failed", obj.name)
    status_of(obj).failure = FAILED.format(name=obj.name, error=str(error).rstrip("."))


def fail_overlay(obj: bpy.types.Object, error: Exception) -> None:
    """Leave an object without its overlay after an error; the panel says so."""
    _log.exception("The overlay of %s failed", obj.name)
    status_of(obj).overlay_failure = OVERLAY_FAILED.format(
        name=obj.name, error=str(error).rstrip(".")
    )


def set_check(check: Callable[[], float | None] | None) -> None:
    """Say what `check_soon` calls: it returns after how many seconds to be called again, or None.

    None takes it back, with a check that is due.
    """
    global _check
    if bpy.app.timers.is_registered(_run_check):
        bpy.app.timers.unregister(_run_check)
    _check = check


def check_soon(seconds: float = CHECK_AFTER) -> None:
    """Check every enabled object when nothing has changed for so many seconds."""
    global _changed_at
    _changed_at = time.monotonic() + seconds - CHECK_AFTER
    if not bpy.app.background and not bpy.app.timers.is_registered(_run_check):
        bpy.app.timers.register(_run_check, first_interval=seconds)


def seconds_since_change() -> float:
    """How long ago `check_soon` was called."""
    return time.monotonic() - _changed_at


def _run_check() -> float | None:
    still_to_wait = CHECK_AFTER - seconds_since_change()
    if still_to_wait > 0.0:
        return still_to_wait
    return _check() if _check is not None else None


def tag_redraw() -> None:
    """Ask every 3D viewport and its sidebar to draw again."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
