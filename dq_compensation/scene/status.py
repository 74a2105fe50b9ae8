"""What is known of each enabled object, and the check that brings it up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from .binding import Binding

_log = logging.getLogger(__name__)

# Seconds from a change to the check: long enough to check once for a burst of changes, and short
# enough to look immediate.
CHECK_AFTER = 0.1

FAILED = "Drawing {name} failed: {error}. Press Refresh to try again; the system console says more."


@dataclass
class Status:
    """What is known of one enabled object.

    Attributes:
        binding: the last one that was true; None before the first and after a failure.
        problem: why the object is not deformed by us, a sentence for the panel.
        failure: an error of drawing it; it is not tried again before a refresh.
        pose_problem: why the picture does not follow the pose.
        notes: what our deformation leaves out.
        key_values: shape (m,), the shape keys' values at the last check.
    """

    binding: Binding | None = None
    problem: str | None = None
    failure: str | None = None
    pose_problem: str | None = None
    notes: list[str] = field(default_factory=list)
    key_values: NDArray[np.float32] | None = None


# By session_uid, so that no reference to Blender's data outlives an undo.
_statuses: dict[int, Status] = {}
_check: Callable[[], float | None] | None = None


def status_of(obj: bpy.types.Object) -> Status:
    """What is known of an object; empty where nothing is."""
    return _statuses.setdefault(obj.session_uid, Status())


def statuses() -> list[Status]:
    """Of every object that anything is known of."""
    return list(_statuses.values())


def forget_status(obj: bpy.types.Object) -> None:
    """Drop what is known of an object."""
    _statuses.pop(obj.session_uid, None)


def forget_statuses() -> None:
    """Drop what is known of every object."""
    _statuses.clear()


def is_drawn(obj: bpy.types.Object) -> bool:
    """Whether the picture of an enabled object comes from us: in Object Mode, nothing wrong."""
    status = status_of(obj)
    return (
        obj.mode == "OBJECT"
        and status.binding is not None
        and status.failure is None
        and status.problem is None
    )


def fail(obj: bpy.types.Object, error: Exception) -> None:
    """Stop drawing an object after an error; the panel says so."""
    _log.exception("Drawing %s failed", obj.name)
    status_of(obj).failure = FAILED.format(name=obj.name, error=str(error).rstrip("."))


def set_check(check: Callable[[], float | None] | None) -> None:
    """Say what `check_soon` calls: it returns after how many seconds to be called again, or None.

    None takes it back, with a check that is due.
    """
    global _check
    if bpy.app.timers.is_registered(_run_check):
        bpy.app.timers.unregister(_run_check)
    _check = check


def check_soon(seconds: float = CHECK_AFTER) -> None:
    """Check every enabled object a moment from now; calls in between cost nothing."""
    if not bpy.app.background and not bpy.app.timers.is_registered(_run_check):
        bpy.app.timers.register(_run_check, first_interval=seconds)


def _run_check() -> float | None:
    return _check() if _check is not None else None


def tag_redraw() -> None:
    """Ask every 3D viewport and its sidebar to draw again."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
