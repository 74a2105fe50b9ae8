"""A delayed call waits for what it was made for; a stand-in for Blender's timers keeps the time."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from dq_compensation.session import delayed_calls
from dq_compensation.session.delayed_calls import DelayedCall, WaitsFor


class Timers:
    """`bpy.app.timers` with a clock that a test moves on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: dict[Callable[[], float | None], float] = {}

    def register(self, function: Callable[[], float | None], first_interval: float) -> None:
        self.due[function] = self.now + first_interval

    def unregister(self, function: Callable[[], float | None]) -> None:
        del self.due[function]

    def is_registered(self, function: Callable[[], float | None]) -> bool:
        return any(known is function for known in self.due)

    def pass_time(self, seconds: float) -> None:
        """Go on in steps of a hundredth of a second and call what is due."""
        for _ in range(round(seconds / 0.01)):
            self.now += 0.01
            for function in [one for one, when in self.due.items() if when <= self.now + 1e-6]:
                again = function()
                if again is None:
                    del self.due[function]
                else:
                    self.due[function] = self.now + again


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    timers = Timers()
    app = SimpleNamespace(background=False, timers=timers)
    monkeypatch.setattr(delayed_calls, "bpy", SimpleNamespace(app=app))
    monkeypatch.setattr(delayed_calls, "time", SimpleNamespace(monotonic=lambda: timers.now))
    monkeypatch.setattr(delayed_calls, "is_in_a_gesture", lambda: False)
    monkeypatch.setattr(delayed_calls, "is_playing", lambda: False)
    return timers


def call_that_notes(calls: list[float], timers: Timers, waits_for: WaitsFor) -> DelayedCall:
    return DelayedCall(lambda: calls.append(round(timers.now - 100.0, 2)), 0.1, waits_for)


@pytest.mark.parametrize(
    ("waits_for", "expected"), [("TIME", [0.1, 0.22]), ("QUIET", [0.28]), ("REST", [0.28])]
)
def test_many_requests_are_few_calls(
    timers: Timers, waits_for: WaitsFor, expected: list[float]
) -> None:
    calls: list[float] = []
    delayed = call_that_notes(calls, timers, waits_for)
    for _ in range(4):
        delayed.request()
        timers.pass_time(0.06)
    timers.pass_time(1.0)
    # The stand-in looks every 0.01 s.
    assert calls == pytest.approx(expected, abs=0.021)
    assert not delayed.is_due()


@pytest.mark.parametrize("busy", ["is_in_a_gesture", "is_playing"])
@pytest.mark.parametrize("waits_for", ["QUIET", "REST"])
def test_rest_waits_for_the_user(
    monkeypatch: pytest.MonkeyPatch, timers: Timers, busy: str, waits_for: WaitsFor
) -> None:
    calls: list[float] = []
    delayed = call_that_notes(calls, timers, waits_for)
    monkeypatch.setattr(delayed_calls, busy, lambda: True)
    delayed.request()
    timers.pass_time(1.0)
    assert len(calls) == (0 if waits_for == "REST" else 1)
    monkeypatch.setattr(delayed_calls, busy, lambda: False)
    timers.pass_time(1.0)
    assert len(calls) == 1


def test_a_request_without_delay_is_called_at_once(timers: Timers) -> None:
    calls: list[float] = []
    delayed = call_that_notes(calls, timers, "QUIET")
    delayed.request()
    delayed.request(0.0)
    timers.pass_time(0.11)
    assert len(calls) == 1


def test_a_cancelled_call_is_not_made(timers: Timers) -> None:
    calls: list[float] = []
    delayed = call_that_notes(calls, timers, "QUIET")
    delayed.request()
    delayed.cancel()
    delayed.cancel()
    timers.pass_time(1.0)
    assert not calls


def test_the_function_says_when_it_wants_to_be_called_again(timers: Timers) -> None:
    answers: list[float | None] = [0.5, None]
    delayed = DelayedCall(lambda: answers.pop(0), 0.1, "QUIET")
    delayed.request()
    timers.pass_time(0.3)
    assert answers == [None]
    timers.pass_time(1.0)
    assert not answers
    assert not delayed.is_due()


def test_nothing_is_called_in_background(timers: Timers) -> None:
    delayed_calls.bpy.app.background = True  # type: ignore[misc]
    delayed = call_that_notes([], timers, "TIME")
    delayed.request()
    assert not timers.due
