"""Random actions of users, with a fixed seed, and what has to be true after each of them.

The same seed does the same on each Blender: hashes of texts are fixed by `scripts/soak.py`, and
nothing waits for a clock.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr
from random import Random

import bpy

from dq_compensation.errors import UserError
from tests.soak.actions import ACTIONS
from tests.soak.file_actions import NO_STEP, start
from tests.soak.invariants import Seen, disable_everything, faults, leftovers


class SoakError(AssertionError):
    """What is wrong, and the last actions before it."""


class _Errors(logging.Handler):
    """Collects what the add-on logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


class _Printed(io.StringIO):
    """Passes on what is printed as an error, and remembers tracebacks: those of handlers."""

    def __init__(self, errors: _Errors) -> None:
        super().__init__()
        self._errors, self._shown = errors, sys.stderr

    def write(self, text: str) -> int:
        if "Traceback" in text:
            self._errors.found.append("a traceback was printed")
        return self._shown.write(text)


@contextmanager
def errors_of_the_addon() -> Generator[_Errors, None, None]:
    """Collects what the add-on logs as an error, and tracebacks of handlers."""
    errors, log = _Errors(), logging.getLogger("dq_compensation")
    log.addHandler(errors)
    try:
        with redirect_stderr(_Printed(errors)):
            yield errors
    finally:
        log.removeHandler(errors)


def soak(
    count: int,
    seed: int,
    *,
    skipped: frozenset[int] = frozenset(),
    tell: Callable[[str], None] | None = None,
) -> Seen:
    """Do random actions in an empty file. The add-on is registered.

    Args:
        count: of the actions.
        seed: each action has random numbers of its own, by this and its number.
        skipped: the numbers of actions that are left out; the others stay the same.
        tell: is called with each action, before what it leaves is looked at: a crash says nothing.

    Raises:
        SoakError: something is wrong after an action.
    """
    done = list[str]()
    weights, actions = zip(*ACTIONS, strict=True)
    start()
    seen = Seen()
    bpy.ops.ed.undo_push(message="start")
    with errors_of_the_addon() as errors:
        for number in range(count):
            if number in skipped:
                continue
            rng = Random(f"{seed} {number}")
            (action,) = rng.choices(actions, weights)
            what = _done(action, rng, errors)
            if what is None:
                continue
            done.append(f"{number} {what}")
            seen.done[what.split()[0]] += 1
            if tell is not None:
                tell(done[-1])
            # As in a window: the step is kept when the operator ends, then the scene is evaluated.
            if not what.startswith(NO_STEP):
                bpy.ops.ed.undo_push(message=what)
            _require_none([*errors.found, *faults(seen)], seed, done)
        disable_everything()
        _require_none([*errors.found, *leftovers()], seed, [*done, "disable everything"])
    return seen


def _done(action: Callable[[Random], str | None], rng: Random, errors: _Errors) -> str | None:
    """What an action did; a refusal is something, too."""
    try:
        return action(rng)
    except UserError as error:
        return f"refused: {error}"
    except AssertionError as error:
        errors.found.append(str(error))
        return "found"
    except RuntimeError as error:
        # Blender's operators refuse like this.
        what = f"refused: {str(error).strip()}"
        if "Traceback" in what:
            errors.found.append(what)
        return what


def _require_none(wrong: list[str], seed: int, done: list[str]) -> None:
    if wrong:
        listed, last = "\n".join(wrong), "\n".join(done[-20:])
        raise SoakError(f"Seed {seed}, after action {done[-1]}:\n{listed}\n{last}")
