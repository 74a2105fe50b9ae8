"""Random actions of users, with a fixed seed, and what has to be true after each of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random

import bpy

from dq_compensation.lifecycle import enabling
from dq_compensation.scene.object_settings import settings_of
from tests.blender.enabled_scenes import select
from tests.soak.actions import ACTIONS, start
from tests.soak.invariants import Seen, faults


class SoakError(AssertionError):
    """What is wrong, and the last actions before it."""


class _Errors(logging.Handler):
    """Collects what the add-on logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


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
    errors, seen = _Errors(), Seen()
    log = logging.getLogger("dq_compensation")
    log.addHandler(errors)
    bpy.ops.ed.undo_push(message="start")
    try:
        for number in range(count):
            if number in skipped:
                continue
            rng = Random(f"{seed} {number}")
            (action,) = rng.choices(actions, weights)
            try:
                what = action(rng)
            except RuntimeError as error:
                # Blender's operators refuse like this.
                what = f"refused: {str(error).strip()}"
                if "Traceback" in what:
                    errors.found.append(what)
            if what is None:
                continue
            done.append(f"{number} {what}")
            if tell is not None:
                tell(done[-1])
            # As in a window: the step is kept when the operator ends, then the scene is evaluated.
            if not what.startswith(("undo", "save", "new file")):
                bpy.ops.ed.undo_push(message=what)
            wrong = [*errors.found, *faults(seen)]
            if wrong:
                last = "\n".join(done[-20:])
                raise SoakError(f"Seed {seed}, after action {number}:\n{wrong}\n{last}")
    finally:
        log.removeHandler(errors)
    _disable_everything()
    return seen


def _disable_everything() -> None:
    # Objects of ours come and go meanwhile.
    for name in [obj.name for obj in bpy.data.objects if obj.type == "MESH"]:
        obj = bpy.data.objects.get(name)
        if obj is None or obj.library is not None or not settings_of(obj).enabled:
            continue
        if obj.mode != "OBJECT":
            select(obj)
            bpy.ops.object.mode_set(mode="OBJECT")
        enabling.disable(obj)
