"""Replaces or counts functions of the add-on, whichever of its modules call them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


def replace_everywhere(patch: pytest.MonkeyPatch, found: object, replacement: object) -> None:
    """Let every module of the add-on use another function, list or tuple until the test ends."""
    users = [
        (module, name)
        for path, module in list(sys.modules.items())
        if path.split(".")[0] == "dq_compensation"
        for name, value in vars(module).items()
        if value is found
    ]
    assert users, f"no module of the add-on has {found}"
    for module, name in users:
        patch.setattr(module, name, replacement)


class Calls(Counter[str]):
    """How often functions were called, by their names; the positional arguments of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.arguments: list[tuple[Any, ...]] = []

    def clear(self) -> None:
        super().clear()
        self.arguments.clear()


def count_calls(
    patch: pytest.MonkeyPatch, *functions: Callable[..., Any], within: ModuleType | None = None
) -> Calls:
    """Count the calls of functions from now on, by one module or all; they do what they did."""
    calls = Calls()

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            calls[function.__name__] += 1
            calls.arguments.append(arguments)
            return function(*arguments, **named)

        return call

    for function in functions:
        if within is None:
            replace_everywhere(patch, function, counted(function))
        else:
            patch.setattr(within, function.__name__, counted(function))
    return calls
