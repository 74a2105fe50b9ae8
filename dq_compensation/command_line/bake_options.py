"""The options of the bakes, as they are declared."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Iterable
from typing import Any

from ..option_fields import Option, options_of
from .options import number_between

_METAVARS = {"mm": "MM", "°": "DEGREES"}


def add_bake_options(
    parser: ArgumentParser, task: type, without: Iterable[str] = (), title: str = "the bake"
) -> None:
    """Add the options of a bake, but those that the command has in a way of its own."""
    group = parser.add_argument_group(title)
    for each in options_of(task):
        if each.name not in without:
            name = f"--{each.name.replace('_', '-')}"
            text = f"{each.sentence}{_default(each)}".replace("%", "%%")
            group.add_argument(name, default=SUPPRESS, help=text, **_reading(each))


def chosen(arguments: Namespace, task: type) -> dict[str, Any]:
    """The options that were chosen, for the function of `api`."""
    names = [each.name for each in options_of(task)]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def _reading(option: Option) -> dict[str, Any]:
    """How the parser reads an option."""
    if option.value_type is bool:
        return {"action": BooleanOptionalAction}
    if option.allowed:
        return {"choices": option.allowed, "type": str.upper}
    several = {"nargs": "+"} if option.several else {}
    if option.value_type is str:
        return {"metavar": "NAME", **several}
    metavar = _METAVARS.get(option.unit, option.name.upper())
    read = number_between(option.minimum, option.maximum, option.value_type)
    return {"metavar": metavar, "type": read, **several}


def _default(option: Option) -> str:
    """The words for a default in the help."""
    if option.value_type is bool:
        return f" (default: {'yes' if option.default else 'no'})"
    if not option.several:
        return f" (default: {option.default})"
    values = " ".join(f"{each:g}" for each in option.default)
    return f" (default: {values})" if values else ""
