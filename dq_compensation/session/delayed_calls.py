"""Calls a function a short time after a change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import bpy

from .activity import is_in_a_gesture, is_playing

WaitsFor = Literal["TIME", "QUIET", "REST"]
"""What a delayed call waits for: TIME, so many seconds since the first request; QUIET, so many
seconds without a request; REST, QUIET while no tool is dragged and no animation plays."""


class DelayedCall:
    """Calls a function once for any number of requests; without a window it never does.

    Args:
        function: called without arguments. It returns after how many seconds it wants to be called
            again, or None.
        waits_for: see `WaitsFor`.
    """

    def __init__(
        self, function: Callable[[], float | None], seconds: float, waits_for: WaitsFor
    ) -> None:
        self._function = function
        self._seconds = seconds
        self._waits_for = waits_for
        self._requested_at = 0.0
        # Blender knows a timer by the object: a bound method is another one at every access.
        self._timer = self._call_when_due

    def request(self, seconds: float | None = None) -> None:
        """Ask for a call, after so many seconds or the usual ones."""
        if seconds is None:
            seconds = self._seconds
        self._requested_at = time.monotonic() + seconds - self._seconds
        if not bpy.app.background and not self.is_due():
            bpy.app.timers.register(self._timer, first_interval=seconds)

    def seconds_since_request(self) -> float:
        """The seconds since the last request."""
        return time.monotonic() - self._requested_at

    def is_due(self) -> bool:
        """Whether a requested call is still to come."""
        return bpy.app.timers.is_registered(self._timer)

    def cancel(self) -> None:
        """Forget all requests."""
        if self.is_due():
            bpy.app.timers.unregister(self._timer)

    def _call_when_due(self) -> float | None:
        if self._waits_for != "TIME":
            still_to_wait = self._seconds - self.seconds_since_request()
            if still_to_wait > 0.0:
                return still_to_wait
            if self._waits_for == "REST" and (is_in_a_gesture() or is_playing()):
                return self._seconds
        return self._function()
