"""Registering in order, undoing in reverse, and taking back what was done when a step fails."""

import logging
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

_log = logging.getLogger(__name__)
_Item = TypeVar("_Item")


class Registrable(Protocol):
    """What a registration module offers: ``register`` and ``unregister``, each other's opposite."""

    def register(self) -> None:
        """Register; on failure leave nothing of this module registered."""

    def unregister(self) -> None:
        """Undo `register`."""


def register_modules(modules: Iterable[Registrable]) -> None:
    """Call ``register`` of each module in order.

    When one raises, those before it are unregistered in reverse and the error is raised again, so
    that Blender shows it and nothing of the add-on stays behind.
    """
    apply_in_order(modules, lambda module: module.register(), lambda module: module.unregister())


def unregister_modules(modules: Iterable[Registrable]) -> None:
    """Call ``unregister`` of each module in reverse order.

    A module that raises does not keep the others registered; the first error is raised at the end.
    """
    undo_in_reverse(modules, lambda module: module.unregister())


def apply_in_order(
    items: Iterable[_Item], apply: Callable[[_Item], object], undo: Callable[[_Item], object]
) -> None:
    """Apply a step to each item; when one raises, undo those before it and raise the error again.

    For the classes of one module: ``apply_in_order(CLASSES, register_class, unregister_class)``.
    """
    applied: list[_Item] = []
    for item in items:
        try:
            apply(item)
        except BaseException:
            _undo_logging_errors(applied, undo)
            raise
        applied.append(item)


def undo_in_reverse(items: Iterable[_Item], undo: Callable[[_Item], object]) -> None:
    """Undo a step for each item, the last first; the first error is raised when all are done."""
    errors = _undo_logging_errors(items, undo)
    if errors:
        raise errors[0]


def _undo_logging_errors(
    items: Iterable[_Item], undo: Callable[[_Item], object]
) -> list[Exception]:
    errors: list[Exception] = []
    for item in reversed(tuple(items)):
        try:
            undo(item)
        except Exception as error:  # noqa: BLE001 - the rest must be undone too
            _log.exception("Could not unregister %s", getattr(item, "__name__", item))
            errors.append(error)
    return errors
