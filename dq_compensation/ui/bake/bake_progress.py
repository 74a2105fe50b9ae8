"""Runs a long bake: step by step with a progress bar while Blender stays alive, or in one go."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import bpy
from bpy.types import Context, Event, Operator, Timer, UILayout

from ...errors import UserError
from ...session.status import tag_redraw
from ...steps import Progress, run_through
from ..reporting import OperatorResult
from ..sentences import DIALOG_WIDTH

# Seconds of work between two looks at the keyboard: at least so many, and as many as Blender took
# to draw the last frame, so that drawing a heavy scene takes half of the time at most.
_SHORTEST_SLICE = 0.1
_LONGEST_SLICE = 1.0

# Before so much is done, nobody can say how long it will take.
_LEAST_SHARE = 0.02

Steps = Generator[Progress, None, list[str]]

_running: Progress | None = None
_started = 0.0


def is_running() -> bool:
    """Whether something runs in steps."""
    return _running is not None


def _time_left(progress: Progress) -> str:
    """About how long the running bake will still take, from how long its part took; for people."""
    if progress.share <= _LEAST_SHARE:
        return ""
    seconds = (time.monotonic() - _started) * (1.0 - progress.share) / progress.share
    return f"{seconds:.0f} s left" if seconds < 90.0 else f"{seconds / 60.0:.0f} min left"


def draw_running(layout: UILayout) -> bool:
    """Draw the progress of the running bake; False without one."""
    if _running is None:
        return False
    layout.progress(factor=_running.share, text=_running.doing)
    layout.label(text=f"{_time_left(_running)}   Esc stops", icon="INFO")
    return True


class RunsInSteps(Operator):
    """The base of operators that take long: they run steps, which return sentences to report.

    Attributes:
        stopped: the message when the user stops it after it has begun to write.
        gives_way: whether Blender can be used meanwhile: the steps see what changes.
    """

    stopped = ""
    gives_way = False
    _steps: Steps | None = None
    _timer: Timer | None = None
    _interactive = False
    _worked_until = 0.0

    def ask(self, context: Context, confirm: str = "Bake") -> OperatorResult:
        """Open the dialog; it then runs modally."""
        self._interactive = True
        return context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, confirm_text=confirm
        )

    def run(self, context: Context, steps: Steps) -> OperatorResult:
        """Run to the end from a script, else modally."""
        if bpy.app.background or not self._interactive or context.window is None:
            self._report(run_through(steps))
            return {"FINISHED"}
        global _started
        self._steps = steps
        self._worked_until = _started = time.monotonic()
        manager = context.window_manager
        self._timer = manager.event_timer_add(0.01, window=context.window)
        if not self.gives_way:
            manager.progress_begin(0, 1000)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: Context, event: Event) -> OperatorResult:
        if event.type == "ESC" and event.value == "PRESS":
            return self._stop(context)
        if event.type != "TIMER":
            # Nothing else may change the file meanwhile, unless the steps say so.
            return {"PASS_THROUGH"} if self.gives_way else {"RUNNING_MODAL"}
        try:
            ended = self._advance(context)
        except UserError as error:
            self._end(context)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except BaseException:
            self._end(context)
            raise
        if ended is None:
            return {"RUNNING_MODAL"}
        self._end(context)
        self._report(ended)
        return {"FINISHED"}

    def _report(self, sentences: list[str]) -> None:
        if sentences:
            self.report({"INFO"}, " ".join(sentences))

    def cancel(self, context: Context) -> None:
        """Blender ends the operator, as when its window is closed."""
        self._end(context)

    def _advance(self, context: Context) -> list[str] | None:
        """Work for a short time; returns the sentences to report after the last step."""
        global _running
        if self._steps is None:
            return []
        start = time.monotonic()
        drawn = start - self._worked_until
        until = start + min(max(drawn, _SHORTEST_SLICE), _LONGEST_SLICE)
        try:
            while time.monotonic() < until:
                _running = next(self._steps)
        except StopIteration as end:
            return end.value
        if _running is not None:
            text = f"{_running.doing}: {100.0 * _running.share:.0f} %"
            text += f"   {_time_left(_running)}   Esc: Stop"
            context.workspace.status_text_set(text)
            context.window_manager.progress_update(int(1000 * _running.share))
        tag_redraw()
        self._worked_until = time.monotonic()
        return None

    def _stop(self, context: Context) -> OperatorResult:
        untouched = _running is None or _running.stoppable
        self._end(context)
        if untouched:
            self.report({"WARNING"}, "Stopped. Nothing has changed")
            return {"CANCELLED"}
        self.report({"WARNING"}, self.stopped)
        return {"FINISHED"}

    def _end(self, context: Context) -> None:
        """Close what is still open."""
        global _running
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()
        _running = None
        manager: Any = context.window_manager
        if self._timer is not None:
            manager.event_timer_remove(self._timer)
            self._timer = None
            manager.progress_end()
            context.workspace.status_text_set(None)
        tag_redraw()
