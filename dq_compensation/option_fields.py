"""Declares options: what dialogs, scripts and the command line offer is read from one field.

The options of a task are a frozen dataclass. A field that is an option says its label, its tooltip,
its default, and which values it can have:

    helpers: int = option("Helper bones for each joint", 0, minimum=0, maximum=4)

This module is plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import inf
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_Value = TypeVar("_Value")

Choices = tuple[tuple[str, str, str], ...]
"""Identifier, label and tooltip of each choice."""


@dataclass(frozen=True)
class Option:
    """An option of a task.

    Attributes:
        text: the tooltip; Blender adds the full stop.
        look: more arguments of the operator's property, such as `soft_max`.
        label: in the dialog, where it is not the name.
        unit: of numbers, ``mm`` or ``°``; empty: none.
        minimum, maximum: of numbers.
        choices: those of the dialog. Scripts can have more of them: what the type of the field is.
        noun: for the value, in errors; empty: the name.
        property_name: of the operator's property; empty: the name.
        name, type, default: those of the field.
    """

    text: str
    look: dict[str, Any]
    label: str = ""
    unit: str = ""
    minimum: float = -inf
    maximum: float = inf
    choices: Choices = ()
    noun: str = ""
    property_name: str = ""
    name: str = ""
    type: Any = None
    default: Any = None

    @property
    def title(self) -> str:
        """The label in the dialog, with the unit."""
        label = self.label or self.name.replace("_", " ").title()
        return f"{label} ({self.unit})" if self.unit else label

    @property
    def sentence(self) -> str:
        """The tooltip, to go on with behind a colon."""
        return self.text[0].lower() + self.text[1:]

    @property
    def several(self) -> bool:
        """Whether it is several values, such as the names of bones."""
        return get_origin(self.type) is Iterable

    @property
    def value_type(self) -> Any:
        """The type of the value, or of each of several: bool, int, float or str."""
        return get_args(self.type)[0] if self.several else type(self.default)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The identifiers of all choices; empty where there is no choice."""
        return () if self.several else identifiers_of(self.type)


def identifiers_of(choices: Any) -> tuple[str, ...]:
    """The values of a `Literal`, or of a union of them; empty for another type."""
    return tuple(each for part in get_args(choices) for each in get_args(part) or (part,))


def option(text: str, default: _Value, **more: Any) -> _Value:
    """A field of a dataclass that is an option.

    Args:
        more: attributes of `Option`, or of its `look`.
    """
    own = {name: more.pop(name) for name in Option.__annotations__ if name in more}
    return field(default=default, metadata={"option": Option(text, more, **own)})


@cache
def options_of(task: Any) -> tuple[Option, ...]:
    """The options of a dataclass, in the order of its fields."""
    types = get_type_hints(task)
    return tuple(
        replace(
            each.metadata["option"], name=each.name, type=types[each.name], default=each.default
        )
        for each in fields(task)
        if "option" in each.metadata
    )


def tolerance_option(text: str, default: float, minimum: float = 0.0, **look: Any) -> float:
    """An option that is a distance of vertices, in millimetres."""
    look = {"soft_max": 10.0, "precision": 3} | look
    return option(text, default, unit="mm", minimum=minimum, **look)
