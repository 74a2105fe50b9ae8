"""Shared by operators: their result, their refusals, and how they show an error.

Keeps what the user has chosen in a dialog that ends with an error: Blender keeps the values of
operators that finish, and no others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, cast

import blf
import bpy
from bpy.types import Context, Event, Operator, Timer, UILayout

from ..errors import UserError
from ..holding import operation
from ..session.changes import LOADED, RESTORED
from ..session.known_objects import enabled_objects
from ..session.status import tag_redraw
from ..steps import Progress, run_through
from .sentences import DIALOG_WIDTH

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    OperatorResult = set[OperatorReturnItems]
else:
    OperatorResult = set[str]

Outcome = str | tuple[str, bool]
"""What an operator has done, in a sentence; False with it: something was left out."""


def reports_errors(
    execute: Callable[..., OperatorResult | Outcome],
) -> Callable[..., OperatorResult]:
    """Decorate an operator's ``execute`` or ``invoke``: report its outcome, or a `UserError`.

    After an error it is cancelled.
    """

    @wraps(execute)
    def reported(self: Any, context: Context, *event: Event) -> OperatorResult:
        try:
            with operation():
                outcome = execute(self, context, *event)
        except UserError as error:
            keep_values(self)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if isinstance(outcome, set):
            return outcome
        summary, is_complete = (outcome, True) if isinstance(outcome, str) else outcome
        tag_redraw()
        report_all(self, "INFO" if is_complete else "WARNING", summary)
        return {"FINISHED"}

    # Blender counts the arguments.
    @wraps(execute)
    def reported_event(self: Any, context: Context, event: Event) -> OperatorResult:
        return reported(self, context, event)

    return reported if execute.__code__.co_argcount == 2 else reported_event


class Acting:
    """An operator that reports what it has done, or a `UserError`."""

    @reports_errors
    def execute(self, context: Context) -> OperatorResult | Outcome:
        return self.act(context)

    def act(self, context: Context) -> OperatorResult | Outcome:
        """Do it; returns what was done.

        Raises:
            UserError: it cannot be done; nothing has changed then.
        """
        label = cast("Operator", self).bl_label
        raise UserError(f"{label} needs a window. Press its button there.")


class Refusing(Acting):
    """An operator that cannot be pressed while it has a `refusal`; its tooltip shows the reason.

    It changes the file, unless its options say otherwise.
    """

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        with operation():
            reason = cls.refusal(context)
        if reason is not None:
            cast("type[Operator]", cls).poll_message_set(reason.rstrip("."))
        return reason is None

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        """Why the operator cannot be pressed now, or None; cheap."""
        raise NotImplementedError


# The last report of several sentences, as the status bar has room for one, or of no operator. It is
# old news once objects are enabled or disabled.
_last_report = ""
_enabled_then = frozenset[int]()


def report_all(operator: Any, level: Literal["INFO", "WARNING"], text: str) -> None:
    """Report sentences: the first is shown in the status bar, the panel has all of them."""
    first, dot, others = text.partition(". ")
    report_in_panel(text if others else "")
    if others:
        operator.report({level}, others)
    operator.report({level}, first + dot.rstrip())


def report_in_panel(text: str) -> None:
    """Report sentences where no operator can; empty: forget those that are shown."""
    global _last_report, _enabled_then
    _last_report, _enabled_then = text, _enabled_now()


def _forget_report() -> None:
    global _last_report
    _last_report = ""


FOLLOWS = ((LOADED, _forget_report), (RESTORED, _forget_report))
unregister = _forget_report


def last_report(names: Iterable[str]) -> str:
    """The last report that the panel has, if it named one of these objects; else empty."""
    if not _last_report or _enabled_then != _enabled_now():
        return ""
    return _last_report if any(name in _last_report for name in names) else ""


def _enabled_now() -> frozenset[int]:
    return frozenset(obj.session_uid for obj in enabled_objects())


_kept_values: dict[tuple[str, bool], dict[str, Any]] = {}


class Asks(Acting, Operator):
    """The base of operators with a dialog, which shows the same values again after an error."""

    _interactive = False

    def ask(
        self, context: Context, confirm: str = "Bake", width: int = DIALOG_WIDTH
    ) -> OperatorResult:
        """Open the dialog. What `execute` runs in steps then runs modally."""
        self._interactive = True
        for name, value in _kept_values.pop(_dialog(self), {}).items():
            if not self.properties.is_property_set(name):
                setattr(self, name, value)
        return context.window_manager.invoke_props_dialog(self, width=width, confirm_text=confirm)


def keep_values(operator: Any) -> None:
    """Keep the values of an operator whose dialog was open; those of scripts are not kept."""
    if getattr(operator, "_interactive", False):
        every = list(operator.properties.bl_rna.properties.keys())
        names = [name for name in every if name != "rna_type"]
        _kept_values[_dialog(operator)] = {name: getattr(operator, name) for name in names}


def _dialog(operator: Any) -> tuple[str, bool]:
    """What tells dialogs apart: an estimate has one of its own."""
    return operator.bl_idname, getattr(operator, "estimate", False)


# Seconds of work between two looks at the keyboard: at least so many, and as many as Blender took
# to draw the last frame, so that drawing a heavy scene takes half of the time at most.
_SHORTEST_SLICE = 0.1
_LONGEST_SLICE = 1.0

# Before so much is done, nobody can say how long it will take.
_LEAST_SHARE = 0.02

# What turns, moves and zooms views.
_VIEW_EVENTS = ("MIDDLEMOUSE", "WHEEL", "TRACKPAD", "NDOF_MOTION")

Steps = Generator[Progress, None, Sequence[Any]]
"""What takes long. It returns sentences, or reports that have a `sentence` each."""

# What has begun and not ended. The last one goes on, and is shown.
_works: list[Work] = []


class Work:
    """Steps that are taken slice by slice; Blender draws in between."""

    def __init__(self, steps: Steps, doing: str) -> None:
        self.progress = Progress(0.0, doing)
        self._steps = steps
        self._worked_until = self._started = time.monotonic()
        _works.append(self)

    @property
    def goes_on(self) -> bool:
        """Whether nothing that has begun later still runs."""
        return _works[-1] is self

    def advance(self) -> Sequence[Any] | None:
        """Work for a short time; returns what to report after the last step."""
        start = time.monotonic()
        drawn = start - self._worked_until
        until = start + min(max(drawn, _SHORTEST_SLICE), _LONGEST_SLICE)
        try:
            while time.monotonic() < until:
                self.progress = next(self._steps)
        except StopIteration as end:
            return end.value
        text = f"{self.progress.doing}: {100.0 * self.progress.share:.0f} %"
        _show_in_status_bar(f"{text}   {self.time_left()}   Esc: Stop")
        tag_redraw()
        self._worked_until = time.monotonic()
        return None

    def time_left(self) -> str:
        """About how long it will still take, from how long its part took; for people."""
        share = self.progress.share
        if share <= _LEAST_SHARE:
            return ""
        seconds = (time.monotonic() - self._started) * (1.0 - share) / share
        return f"{seconds:.0f} s left" if seconds < 90.0 else f"{seconds / 60.0:.0f} min left"

    def end(self) -> None:
        """Close what is still open, and show it no more."""
        _works.remove(self)
        _show_in_status_bar(None)
        tag_redraw()
        self._steps.close()


def _show_in_status_bar(text: str | None) -> None:
    """Show a text in the status bar, None for Blender's own; timers have no window."""
    window = bpy.context.window or next(iter(bpy.context.window_manager.windows), None)
    if window is not None:
        with bpy.context.temp_override(window=window):
            window.workspace.status_text_set(text)


def is_running() -> bool:
    """Whether something runs in steps."""
    return bool(_works)


def draw_running(layout: UILayout) -> bool:
    """Draw the progress of what runs in two rows; False where nothing runs."""
    if not _works:
        return False
    progress = _works[-1].progress
    layout.progress(factor=progress.share, text=progress.doing)
    layout.label(text=". ".join(filter(None, (_works[-1].time_left(), "Esc stops"))))
    return True


class RunsInSteps(Asks):
    """The base of long operators: they run their `steps` and report what these return.

    Nothing else may change the file meanwhile.

    Attributes:
        stopped: the message when the user stops it after it has begun to write.
    """

    stopped = ""
    _work: Work | None = None
    _timer: Timer | None = None

    def steps(self, context: Context) -> Steps:
        """What the operator does, with the options that are chosen in it.

        Raises:
            UserError: it cannot be done; nothing has changed then.
        """
        raise NotImplementedError

    def act(self, context: Context) -> OperatorResult:
        return self.run(context, self.steps(context))

    def run(self, context: Context, steps: Steps) -> OperatorResult:
        """Run to the end from a script, else modally."""
        if bpy.app.background or not self._interactive or context.window is None:
            self._report(run_through(steps))
            return {"FINISHED"}
        self._work = Work(steps, self.bl_label)
        manager = context.window_manager
        self._timer = manager.event_timer_add(0.01, window=context.window)
        manager.progress_begin(0, 1000)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: Context, event: Event) -> OperatorResult:
        if event.type == "ESC" and event.value == "PRESS":
            return self._stop(context)
        if event.type != "TIMER":
            # With Ctrl a wheel changes the value below the mouse.
            turns_view = event.type.startswith(_VIEW_EVENTS) and not event.ctrl
            return {"PASS_THROUGH"} if turns_view else {"RUNNING_MODAL"}
        if self._work is None:
            return {"FINISHED"}
        try:
            ended = self._work.advance()
        except UserError as error:
            self._end(context)
            keep_values(self)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except BaseException:
            self._end(context)
            raise
        if ended is None:
            context.window_manager.progress_update(int(1000 * self._work.progress.share))
            return {"RUNNING_MODAL"}
        self._end(context)
        self._report(ended)
        return {"FINISHED"}

    def _report(self, reports: Sequence[Any]) -> None:
        tag_redraw()
        sentences = [each if isinstance(each, str) else each.sentence() for each in reports]
        if sentences:
            report_all(self, "INFO", " ".join(sentences))

    def cancel(self, context: Context) -> None:
        """Blender ends the operator, as when its window is closed."""
        self._end(context)

    def _stop(self, context: Context) -> OperatorResult:
        untouched = self._work is None or self._work.progress.stoppable
        self._end(context)
        if untouched:
            self.report({"WARNING"}, "Stopped. Nothing has changed")
            return {"CANCELLED"}
        self.report({"WARNING"}, self.stopped)
        return {"FINISHED"}

    def _end(self, context: Context) -> None:
        """Close what is still open."""
        work, self._work = self._work, None
        if work is not None:
            work.end()
        manager: Any = context.window_manager
        if self._timer is not None:
            manager.event_timer_remove(self._timer)
            self._timer = None
            manager.progress_end()


def draw_words(*lines: str) -> None:
    """Write lines over the current region, above its middle; called by a draw handler."""
    region, scale = bpy.context.region, bpy.context.preferences.system.ui_scale
    if region is None:
        return
    blf.color(0, 1.0, 1.0, 1.0, 1.0)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 5, 0.0, 0.0, 0.0, 1.0)
    top = region.height - 60.0 * scale
    for number, text in enumerate(lines):
        blf.size(0, (14.0 if number else 20.0) * scale)
        width, height = blf.dimensions(0, text)
        top -= height + (8.0 * scale if number else 0.0)
        blf.position(0, (region.width - width) / 2, top, 0)
        blf.draw(0, text)
    blf.disable(0, blf.SHADOW)
