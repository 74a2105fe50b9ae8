"""Settings are declared once: ``loop: bool = props.BoolProperty(...)``, with Blender's properties.

From such declarations come the property groups in the file (`property_group`), the frozen values
that are passed on (`frozen_values`), and the bounds, choices and help of scripts, of the command
line and of dialogs (`properties_of`). Where one with a description has no name, the words of its
attribute are its name: `limb_axis` is Limb Axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import bpy

# Functions that a change of a setting calls: layers above put them into lists, by `FOLLOWS`.
#
# Each function gets the property group and the context, as the `update` of a property of Blender.


Event = list[Callable[[Any, bpy.types.Context], object]]

SETTING_CHANGED: Event = []
"""A setting of an object, or of its example poses."""
EXAMPLE_BONE_CHOSEN: Event = []
TAKE_RENAMED: Event = []
CROWD_CHANGED: Event = []
ROLE_CHANGED: Event = []
SHOWN_CHANGED: Event = []
"""A setting that 3D viewports or their sidebars show."""


def calls(*events: Event) -> Callable[[Any, bpy.types.Context], None]:
    """The `update` of a property that calls all who follow these events."""

    def update(owner: Any, context: bpy.types.Context) -> None:
        for event in events:
            for follower in event:
                follower(owner, context)

    return update


# Settings are declared once: ``loop: bool = props.BoolProperty(...)``, with Blender's properties.


_Class = TypeVar("_Class", bound=type)

# To type checkers the value of the setting, which has the type that stands before it.
props: Any = bpy.props
FACTOR: dict[str, Any] = {"min": 0.0, "max": 1.0, "subtype": "FACTOR"}


@dataclass_transform(kw_only_default=True)
class Declaration:
    """The settings that several classes have: a property group, and frozen values."""


def properties_of(declaration: type) -> dict[str, Any]:
    """The properties that a class and those above it declare, by their names, its own first.

    Each has its `function`, such as `bpy.props.BoolProperty`, and its `keywords`.
    """
    found: dict[str, Any] = {}
    for each in declaration.__mro__:
        # Those of a property group are its annotations.
        for name, value in {**vars(each).get("__annotations__", {}), **vars(each)}.items():
            if hasattr(value, "keywords"):
                found.setdefault(name, value)
    return found


def property_group(cls: _Class) -> _Class:
    """Give Blender the properties that a class and those above it declare."""
    declared = properties_of(cls)
    for name, each in declared.items():
        if "description" in each.keywords:
            each.keywords.setdefault("name", name.replace("_", " ").title())
    for name in declared.keys() & vars(cls).keys():
        delattr(cls, name)
    cls.__annotations__ = declared
    return cls


def frozen_values(cls: _Class) -> _Class:
    """A frozen dataclass of the fields of a class and of all settings that those above it declare.

    They have the defaults of the properties, and their descriptions in the docstring.
    """
    declared, hints = properties_of(cls), get_type_hints(cls)
    described = []
    for name, each in declared.items():
        setattr(cls, name, each.keywords["default"])
        described.append(f"    {name}: {each.keywords['description']}")
    cls.__annotations__ = {**cls.__annotations__, **{name: hints[name] for name in declared}}
    cls.__doc__ = "\n".join((f"{cls.__doc__ or ''}\n\n    Settings:", *described))
    dataclass(frozen=True, kw_only=True)(cls)
    return cls


def same_property(declaration: type, name: str, **changes: Any) -> Any:
    """A declared property for an operator or the preferences: what it calls and allows is left out.

    Keywords of it that are other ones, such as `default`, are `changes`.
    """
    described = properties_of(declaration)[name]
    left_out = {"update", "override", "options"}
    kept = {word: value for word, value in described.keywords.items() if word not in left_out}
    return described.function(**kept | changes)
