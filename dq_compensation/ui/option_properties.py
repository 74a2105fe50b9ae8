"""Gives operators the properties of declared options, and reads the options from them."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy.types import Operator

from ..option_fields import Option, options_of

_Operator = TypeVar("_Operator", bound=type[Operator])
_Options = TypeVar("_Options")

_KINDS = {bool: BoolProperty, int: IntProperty, float: FloatProperty, str: StringProperty}


def offers(*tasks: type) -> Callable[[_Operator], _Operator]:
    """Decorate an operator: it has the properties of options, besides its own.

    Several values have none: the dialog asks for them in a way of its own.
    """

    def decorate(operator: _Operator) -> _Operator:
        properties = {_name(each): _property(each) for task in tasks for each in _shown(task)}
        operator.__annotations__ = properties | operator.__annotations__
        return operator

    return decorate


def options_from(operator: Operator, task: type[_Options], **others: Any) -> _Options:
    """The options that are chosen in an operator; `others` are not in its properties."""
    names = {each.name: _name(each) for each in _shown(task) if each.name not in others}
    return task(**{name: getattr(operator, own) for name, own in names.items()}, **others)


def property_names(task: type) -> tuple[str, ...]:
    """The names of the properties that an operator has of options, in the order of the fields."""
    return tuple(map(_name, _shown(task)))


def _shown(task: type) -> list[Option]:
    return [each for each in options_of(task) if not each.several]


def _name(option: Option) -> str:
    return option.property_name or option.name


def _property(option: Option) -> Any:
    """The definition of a property for Blender."""
    described: dict[str, Any] = {"name": option.title, "description": option.text, **option.look}
    if option.choices:
        return EnumProperty(items=option.choices, default=option.default, **described)
    bounds = {"min": option.minimum, "max": option.maximum}
    described |= {name: bound for name, bound in bounds.items() if isfinite(bound)}
    return _KINDS[option.value_type](default=option.default, **described)
