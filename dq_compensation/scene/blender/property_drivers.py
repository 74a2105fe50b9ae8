"""Drivers that read a bone's rotation, and array properties of the object that other drivers read.

A joint whose keys need numbers in between has them in an array property of the object for its
bone, driven too. A joint with example poses has two more, and one with many poses the parts of
sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import bpy

PROPERTY = "Correctives {bone}"

SHARES = "Correctives {bone} Shares"

SUMS = "Correctives {bone} Sums"

TOTAL = "Correctives {bone} Total"

_KINDS = (PROPERTY, SHARES, SUMS, TOTAL)


def bone_of_property(data_path: str, bones: Iterable[str]) -> str | None:
    """The bone whose array property a driver reads, of these; None where it is no such property."""
    paths = ((bone, tuple(_property_path(bone, kind) for kind in _KINDS)) for bone in bones)
    return next((bone for bone, of_bone in paths if data_path.startswith(of_bone)), None)


def property_drivers(
    obj: bpy.types.Object, bones: Iterable[str]
) -> Iterator[tuple[str, int, list[Any]]]:
    """The array properties of these bones: the name, how many numbers it has, their drivers."""
    animation: Any = obj.animation_data
    if animation is None:
        return
    for bone in bones:
        for kind in _KINDS:
            path, name = _property_path(bone, kind), kind.format(bone=bone)
            if name in obj:
                curves = [curve for curve in animation.drivers if curve.data_path == path]
                yield name, len(obj[name]), curves


def _property_path(bone: str, name: str = PROPERTY) -> str:
    """The data path of a bone's array property, from the object."""
    return f'["{bpy.utils.escape_identifier(name.format(bone=bone))}"]'


def driven_property(
    obj: bpy.types.Object, bone: str, count: int, name: str = PROPERTY
) -> list[Any]:
    """The drivers of a bone's array property, made anew with `count` numbers; 0 removes it."""
    path = _property_path(bone, name)
    if obj.animation_data is not None:
        for curve in [curve for curve in obj.animation_data.drivers if curve.data_path == path]:
            obj.animation_data.drivers.remove(curve)
    obj.pop(name.format(bone=bone), None)
    if count:
        obj[name.format(bone=bone)] = [0.0] * count
    return [emptied(obj.driver_add(path, index)) for index in range(count)]


def drive_by_property(
    curve: Any,
    obj: bpy.types.Object,
    bone: str,
    places: dict[str, int],
    expression: str,
    property_name: str = PROPERTY,
) -> None:
    """Give a driver an expression of numbers of a bone's array property, by variable names."""
    path = _property_path(bone, property_name)
    for name, place in places.items():
        variable = curve.driver.variables.new()
        variable.name = name
        variable.type = "SINGLE_PROP"
        variable.targets[0].id = obj
        variable.targets[0].data_path = f"{path}[{place}]"
    curve.driver.expression = expression


def emptied(curve: Any) -> Any:
    """A driver's curve that passes its input on as it is."""
    while len(curve.modifiers):
        curve.modifiers.remove(curve.modifiers[0])
    curve.keyframe_points.clear()
    curve.driver.type = "SCRIPTED"
    return curve


def rotations(
    driver: Any, armature: bpy.types.Object, bone: str, names: Sequence[str], mode: str
) -> None:
    """Give a driver variables of these names, each that part of a bone's rotation in its parent."""
    for name in names:
        variable = driver.variables.new()
        variable.name = name
        variable.type = "TRANSFORMS"
        target = variable.targets[0]
        target.id = armature
        target.bone_target = bone
        target.transform_type = f"ROT_{name.upper()}"
        target.transform_space = "LOCAL_SPACE"
        target.rotation_mode = mode
