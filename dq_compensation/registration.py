"""Registers what modules declare, and takes it back in reverse order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

_log = logging.getLogger(__name__)


class Step(NamedTuple):
    """One thing to register: what does it, and what takes it back."""

    name: str
    apply: Callable[[], object]
    undo: Callable[[], object]


def steps_of(module: ModuleType) -> Iterator[Step]:
    """The steps that register a module. It declares what it needs; all of it is optional.

    - ``CLASSES``: classes for `bpy.utils.register_class`, in order.
    - ``register()`` and ``unregister()``: everything else. ``register`` leaves nothing when it
      raises.
    - ``FOLLOWS``: pairs of a list and what it gets: an event of `session.changes` or
      `scene.settings.declaration` and a function, or another list that a module below declares.
    - ``HANDLERS``: pairs of an event of `bpy.app.handlers` and a function. The functions become
      persistent: they stay when another file is loaded.
    """
    for cls in getattr(module, "CLASSES", ()):
        yield _class_step(cls)
    yield Step(
        module.__name__,
        getattr(module, "register", _do_nothing),
        getattr(module, "unregister", _do_nothing),
    )
    for event, follower in getattr(module, "FOLLOWS", ()):
        yield _step(follower, event)
    for event, handler in getattr(module, "HANDLERS", ()):
        yield _handler_step(event, handler)


def apply_steps(steps: Sequence[Step]) -> None:
    """Apply the steps in order.

    When one raises, those before it are undone and its error is raised again, so that Blender shows
    it and nothing of the add-on stays behind.
    """
    for number, step in enumerate(steps):
        try:
            step.apply()
        except BaseException:
            _undo_logging_errors(steps[:number])
            raise


def undo_steps(steps: Sequence[Step]) -> None:
    """Undo the steps, the last first; the first error is raised when all are done."""
    errors = _undo_logging_errors(steps)
    if errors:
        raise errors[0]


def _undo_logging_errors(steps: Sequence[Step]) -> list[Exception]:
    errors: list[Exception] = []
    for step in reversed(steps):
        try:
            step.undo()
        except Exception as error:  # noqa: BLE001 - the rest must be undone too
            _log.exception("Could not unregister %s", step.name)
            errors.append(error)
    return errors


# Blender is imported where it is needed: `core` works without it.
def _class_step(cls: type) -> Step:
    import bpy

    return Step(
        cls.__name__,
        partial(bpy.utils.register_class, cls),
        partial(bpy.utils.unregister_class, cls),
    )


def _handler_step(event: str, handler: Callable[..., object]) -> Step:
    from bpy.app import handlers

    return _step(handlers.persistent(handler), getattr(handlers, event))


def _step(follower: object, followers: list[Any]) -> Step:
    return Step(
        getattr(follower, "__qualname__", str(follower)),
        partial(followers.append, follower),
        partial(_remove, followers, follower),
    )


def _remove(followers: list[Any], follower: object) -> None:
    # Another script may have cleared the list.
    if follower in followers:
        followers.remove(follower)


def _do_nothing() -> None:
    pass
