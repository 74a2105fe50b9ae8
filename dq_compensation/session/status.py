"""The status of each enabled object, and the check that brings it up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bpy

from ..arrays import Float32s, Float64s
from ..scene.binding.binding import Binding
from ..scene.binding.facts import Facts
from ..scene.settings.object_settings import settings_of
from .delayed_calls import DelayedCall
from .memory import memories, memory_of

_log = logging.getLogger(__name__)

# Seconds from the last change to the check: long enough to check once for a burst of changes, and
# never while a bone is being dragged; short enough to look immediate.
_CHECK_AFTER = 0.1

FAILED = "{what} failed: {error}. Press Refresh to try again; the console says more."


@dataclass
class Softness:
    """What is known of the soft weights of an object.

    Attributes:
        content: the digests of what they are made from; None before the first look.
        older_than: what has changed since those that act were made, for riggers.
        painted_since: whether a linked mesh has other painted weights than they were made from.
        problem: why none act, a sentence for the panel.
        stopped: what they were to be made from when the user stopped them, or when they failed.
        failure: why they failed, a sentence.
        to_prove: whether they were computed in this session, so that their proof belongs to it.
        proof_stopped: whether the user has stopped that.
        removed_for_undo: name and session_uid of the soft copy that the object had before an undo.
    """

    content: tuple[str, str] | None = None
    older_than: tuple[str, ...] = ()
    painted_since: bool = False
    problem: str | None = None
    stopped: dict[str, Any] | None = None
    failure: str | None = None
    to_prove: bool = False
    proof_stopped: bool = False
    removed_for_undo: tuple[str, int] | None = None


@dataclass
class Status:
    """The status of one enabled object.

    Attributes:
        binding: the last one that was true; None before the first and after a failure.
        waits: whether something was left for later, until a drag or a stroke rests.
        edits_read: the `edits_of` its mesh when that was read last; None before that.
        problem: why the object is not deformed by us, a sentence for the panel.
        failure: an error of drawing it; it is not tried again before a refresh.
        pose_problem: why the picture does not follow the pose.
        overlay_failure: an error of colouring it; it is not tried again before a refresh.
        overlay_maximum: the upper end of the colours as drawn last, in millimetres; 0 before.
        notes: what our deformation leaves out.
        twists: along which limbs twists are spread, sentences; empty where none is.
        example_values: how much of each example pose acts now, 0 to 1, in the order of the list;
            -1 for one that cannot act. Empty before the first look.
        linear_bones: the bones whose example poses blend linearly.
        example_result: what came of the shape that was applied last, a sentence for the panel.
        key_values: shape (m,), the shape keys' values at the last check.
        facts: of the object and of its mesh, as `scene.binding.edited_facts` has them, at the last
            look at each; empty before the first one.
        has_spread: whether any twist was spread then.
        changed: what has changed since the modifier of an object with a linked mesh was made, by
            names for riggers.
        misfit: the frame and the surplus of vertices for which followed modifiers were read last.
        changes_with_frames: whether a frame may change how it is to be deformed, or move it by its
            armature.
        places: A^-1 O, shape (4, 4), in the last frame, and at the last check, that asked whether
            the object had moved by its armature, if it had.
        softness: of its soft weights.
    """

    binding: Binding | None = None
    waits: bool = False
    edits_read: int | None = None
    problem: str | None = None
    failure: str | None = None
    pose_problem: str | None = None
    overlay_failure: str | None = None
    overlay_maximum: float = 0.0
    notes: list[str] = field(default_factory=list)
    twists: str = ""
    example_values: tuple[float, ...] = ()
    linear_bones: frozenset[str] = frozenset()
    example_result: str | None = None
    key_values: Float32s | None = None
    facts: tuple[Facts, Facts] = ({}, {})
    has_spread: bool = False
    changed: tuple[str, ...] = ()
    misfit: tuple[float, int] | None = None
    changes_with_frames: bool = True
    places: dict[str, Float64s] = field(default_factory=dict)
    softness: Softness = field(default_factory=Softness)


NOTES: list[Callable[[bpy.types.Object], str | None]] = []
"""What bakes have to say of an enabled object with shape keys or kept weights, or None; cheap."""

_check: Callable[[], float | None] | None = None


def status_of(obj: bpy.types.Object) -> Status:
    """The status of an object; an empty one if it has none."""
    return memory_of(obj, Status)


def forget_status(obj: bpy.types.Object) -> None:
    """Drop the status of an object."""
    memories(Status).pop(obj.session_uid, None)


compared: set[int] = set()
"""The session_uid of the objects that are shown as their Armature modifiers deform them.

Nothing is reconciled meanwhile: see `modifier.plain_view`."""


NEEDS_BINDING: list[Callable[[bpy.types.Object], bool]] = []
"""Say whether a feature draws the meshes on an armature object itself."""
RECONCILED: list[Callable[[], object]] = []
"""Follow that an enabled object was reconciled."""


def needs_binding(obj: bpy.types.Object, rig: bpy.types.Object | None) -> bool:
    """Whether an enabled object on an armature is drawn, by the GPU display or by a feature."""
    if settings_of(obj).display == "GPU":
        return True
    return rig is not None and any(needs(rig) for needs in NEEDS_BINDING)


def note_reconciled() -> None:
    """Tell all who follow that an enabled object was reconciled."""
    for follower in RECONCILED:
        follower()


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
    wrong = status.failure or status.problem or (obj.session_uid in compared or None)
    return obj.mode == "OBJECT" and status.binding is not None and wrong is None


class Edits:
    """How often a mesh was edited in this session."""

    count = 0


def mesh_edited(mesh: bpy.types.ID) -> None:
    """Note that a mesh has been edited: it is read again when its objects are reconciled."""
    memory_of(mesh, Edits).count += 1


def edits_of(obj: bpy.types.Object) -> int:
    """How often the mesh of an object was edited, as far as is known."""
    known = None if obj.data is None else memories(Edits).get(obj.data.session_uid)
    return 0 if known is None else known.count


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


def check_soon(seconds: float = _CHECK_AFTER) -> None:
    """Check every enabled object when nothing has changed for so many seconds."""
    _delayed_check.request(seconds)


def seconds_since_change() -> float:
    """How long ago `check_soon` was called."""
    return _delayed_check.seconds_since_request()


_delayed_check = DelayedCall(lambda: _check() if _check else None, _CHECK_AFTER, "QUIET")


def tag_redraw(*_about: object) -> None:
    """Ask every 3D viewport and its sidebar to draw again."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
