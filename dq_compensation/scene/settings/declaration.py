"""Settings and options are declared once: ``loop: bool = props.BoolProperty(...)``.

From such declarations come the property groups in the file (`property_group`), the frozen values
that are passed on (`frozen_values`), and the properties of dialogs, the arguments of scripts and
the options of the command line (`declared_in`). Where a declaration with a description has no
name, the words of its attribute are its name: `limb_axis` is Limb Axis.

Besides Blender's keywords, a declaration can have four of our own:

- ``unit``: of numbers, ``mm`` or ``°``: it stands behind the name.
- ``noun``: for the value in errors, where it is not the words of the attribute.
- ``property_name``: of the operator's property, where it is not the attribute.
- ``of_character``: whether the meshes of a character have a setting in common.

An option of several values, such as names of bones, has a tuple as its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from math import inf
from typing import Any, TypeVar, dataclass_transform, get_args, get_type_hints

import bpy

_Class = TypeVar("_Class", bound=type)

# To type checkers the value of the setting, which has the type that stands before it.
props: Any = bpy.props
FACTOR: dict[str, Any] = {"min": 0.0, "max": 1.0, "subtype": "FACTOR"}
TOLERANCE: dict[str, Any] = {"unit": "mm", "soft_max": 10.0, "precision": 3}
"""Of an option that is a distance of vertices, in millimetres."""

_KINDS: dict[Any, type] = {
    bpy.props.BoolProperty: bool,
    bpy.props.IntProperty: int,
    bpy.props.FloatProperty: float,
    bpy.props.StringProperty: str,
    bpy.props.EnumProperty: str,
}


@dataclass_transform(kw_only_default=True)
class Declaration:
    """The settings that several classes have: a property group, and frozen values."""


@dataclass(frozen=True)
class Declared:
    """A declared setting or option.

    Attributes:
        name: of the attribute.
        function: that of Blender, such as `bpy.props.BoolProperty`.
        keywords: those for Blender; `name` is the label, with the unit.
        type: of the attribute.
        unit: of numbers; empty: none.
        noun: for the value in errors.
        property_name: of the operator's property.
        of_character: whether the meshes of a character have it in common.
    """

    name: str
    function: Any
    keywords: Mapping[str, Any]
    type: Any
    unit: str
    noun: str
    property_name: str
    of_character: bool

    @classmethod
    def of(cls, name: str, declared: Any, type_: Any) -> Declared:
        """Read what a class says of one attribute."""
        keywords, words = dict(declared.keywords), name.replace("_", " ")
        unit = keywords.pop("unit", "")
        noun, property_name = keywords.pop("noun", words), keywords.pop("property_name", name)
        of_character = keywords.pop("of_character", False)
        if "description" in keywords:
            keywords.setdefault("name", words.title())
        if unit:
            keywords["name"] += f" ({unit})"
        function = declared.function
        return cls(name, function, keywords, type_, unit, noun, property_name, of_character)

    @property
    def default(self) -> Any:
        """The value where nobody has chosen another one."""
        return self.keywords["default"]

    @property
    def description(self) -> str:
        """The tooltip; Blender adds the full stop."""
        return self.keywords["description"]

    @property
    def sentence(self) -> str:
        """The tooltip, to go on with behind a colon."""
        return self.description[0].lower() + self.description[1:]

    @property
    def several(self) -> bool:
        """Whether it is several values, such as the names of bones."""
        return isinstance(self.keywords.get("default"), tuple)

    @property
    def kind(self) -> type | None:
        """The type of the value, or of each of several: bool, int, float or str; else None."""
        return _KINDS.get(self.function)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number."""
        return self.keywords.get("min", -inf), self.keywords.get("max", inf)

    @property
    def choices(self) -> tuple[tuple[str, str, str], ...]:
        """Identifier, label and tooltip of each choice in the dialog."""
        return self.keywords.get("items", ())

    @property
    def allowed(self) -> tuple[str, ...]:
        """The identifiers of all choices, with those of scripts alone; else empty."""
        shown = (identifier for identifier, *_ in self.choices)
        return tuple(dict.fromkeys((*shown, *identifiers_of(self.type)))) if self.choices else ()

    def property(self, **changes: Any) -> Any:
        """The definition for Blender, with other keywords where there are `changes`."""
        return self.function(**{**self.keywords, **changes})

    def property_elsewhere(self, **changes: Any) -> Any:
        """The definition for an operator or the preferences: it calls nothing there."""
        left_out = {"update", "override", "options"}
        kept = {word: value for word, value in self.keywords.items() if word not in left_out}
        return self.function(**kept | changes)


def identifiers_of(choices: Any) -> tuple[str, ...]:
    """The values of a `Literal`, or of a union of them; empty for another type."""
    return tuple(each for part in get_args(choices) for each in get_args(part) or (part,))


@cache
def declared_in(declaration: type) -> dict[str, Declared]:
    """The settings or options of a class and of its bases, by their names.

    The own ones of a class come first; those of frozen values are in the order of the fields.
    """
    if "__dataclass_fields__" in vars(declaration):
        described = {each.name: each.metadata.get("declared") for each in fields(declaration)}
        return {name: each for name, each in described.items() if each is not None}
    return _properties_in(declaration)


def _properties_in(declaration: type) -> dict[str, Declared]:
    """Read the declarations in a class and in its bases."""
    hints = get_type_hints(declaration)
    found: dict[str, Declared] = {}
    for each in declaration.__mro__:
        # Those of a property group are its annotations.
        for name, value in {**vars(each).get("__annotations__", {}), **vars(each)}.items():
            if hasattr(value, "keywords") and name not in found:
                found[name] = Declared.of(name, value, hints[name])
    return found


def property_group(cls: _Class) -> _Class:
    """Give Blender the properties of a class and of its bases."""
    declared = _properties_in(cls)
    for name in declared.keys() & vars(cls).keys():
        delattr(cls, name)
    cls.__annotations__ = {name: each.property() for name, each in declared.items()}
    return cls


@dataclass_transform(frozen_default=True)
def frozen_values(cls: _Class) -> _Class:
    """Make a class a frozen dataclass of its fields and of the settings of its bases.

    They have the defaults of the properties, and their descriptions in the docstring.
    """
    declared, own = _properties_in(cls), cls.__annotations__
    for name, each in declared.items():
        setattr(cls, name, field(default=each.default, metadata={"declared": each}))
    texts = (f"    {name}: {each.description}" for name, each in declared.items())
    above = {name: each.type for name, each in declared.items() if name not in own}
    cls.__annotations__ = own | above
    cls.__doc__ = "\n".join((f"{cls.__doc__ or ''}\n\n    Settings:", *texts))
    dataclass(frozen=True)(cls)
    return cls
