"""Gives operators the properties of declared options, and reads the options from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from bpy.types import Operator

from ..scene.settings.declaration import declared_in

_Class = TypeVar("_Class", bound=type)

_Options = TypeVar("_Options")


def with_option_properties(*tasks: type) -> Callable[[_Class], _Class]:
    """Decorate an operator: it has the properties of options, besides its own.

    Several values have none: the dialog asks for them in a way of its own.
    """
    options = [each for task in tasks for each in declared_in(task).values() if not each.several]
    return _with_properties({each.property_name: each.property() for each in options})


def with_setting_properties(
    declaration: type, names: Iterable[str], prefix: str = ""
) -> Callable[[_Class], _Class]:
    """Decorate an operator or the preferences: it has the properties of settings, and its own.

    They call nothing when they change.

    Args:
        prefix: before the names of the properties.
    """
    settings = declared_in(declaration)
    return _with_properties({prefix + name: settings[name].property_elsewhere() for name in names})


def _with_properties(properties: Mapping[str, Any]) -> Callable[[_Class], _Class]:
    def decorate(owner: _Class) -> _Class:
        owner.__annotations__ = {**properties, **owner.__annotations__}
        return owner

    return decorate


def options_from(operator: Operator, task: type[_Options], **others: Any) -> _Options:
    """The options that are chosen in an operator; `others` are not in its properties."""
    values = {
        name: getattr(operator, each.property_name)
        for name, each in declared_in(task).items()
        if not each.several and name not in others
    }
    return task(**values, **others)


def property_names(task: type) -> tuple[str, ...]:
    """The names of the properties that an operator has of options, in the order of the fields."""
    return tuple(each.property_name for each in declared_in(task).values() if not each.several)
