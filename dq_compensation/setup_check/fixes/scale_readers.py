"""Finds what reads the scale of an object: applying the scale would change what it does."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

import bpy

from ...arrays import Float64s
from ...scene.blender.animation_curves import bone_channel, bone_drivers, drivers
from ...scene.blender.own_objects import is_hidden
from ...wording import listed
from ..issue import FixError
from ..subject import Subject
from .bone_dependents import LOCATION_TYPES, all_constraints, animated, modifiers_by_object
from .object_transforms import is_equal

_WORLD_SCALE = frozenset({"COPY_SCALE", "COPY_TRANSFORMS", "LIMIT_SCALE"})
# The lengths of a bone's constraints in the space of its owner.
_OWNER_LENGTHS = {
    "LIMIT_LOCATION": ("min_x", "min_y", "min_z", "max_x", "max_y", "max_z"),
    "LIMIT_DISTANCE": ("distance",),
    "FLOOR": ("offset",),
}
# Constraints of bones with a length in the armature's units, or a matrix, whatever the space.
_OWN_LENGTHS = frozenset({"CHILD_OF", "STRETCH_TO"})
# Modifiers that act by the scale of another object, or were bound to it with its scale.
_BY_SCALE_OF_OBJECT = frozenset(
    {"ARRAY", "CAST", "DISPLACE", "HOOK", "MESH_DEFORM", "NODES", "SURFACE_DEFORM", "UV_PROJECT"}
    | {"UV_WARP", "VERTEX_WEIGHT_PROXIMITY", "WARP", "WAVE"}
)
# Those that do by an unequal or negative scale alone.
_BY_UNEQUAL_SCALE = frozenset({"SHRINKWRAP", "SIMPLE_DEFORM"})


def is_plain(scale: Float64s) -> bool:
    """Whether a scale is positive and equal along all axes."""
    return is_equal(scale) and bool((scale > 0.0).all())


def require_unread_scale(
    subject: Subject, obj: bpy.types.Object, scale: Float64s, channels: Collection[str] = ()
) -> None:
    """See that nothing depends on the scale of an object.

    Args:
        subject: of the check or the fix.
        scale: shape (3,), that is to be applied.
        channels: those of an armature object's bones whose numbers change with the scale.

    Raises:
        FixError: constraints, drivers or modifiers do; it names them.
    """
    found = [
        *_constraints(subject, obj, is_plain(scale)),
        *subject.once(_drivers).get(obj.session_uid, ()),
        *(f"drivers of {each.bone}" for each in bone_drivers(obj) if each.channel in channels),
        *_modifiers(subject, obj, is_plain(scale)),
    ]
    if found:
        raise FixError(
            f"Its scale is read by {listed(list(dict.fromkeys(found)))}. Remove these first and "
            "add them again afterwards, or keep the scale."
        )


def _constraints(subject: Subject, obj: bpy.types.Object, plain: bool) -> Iterator[str]:
    """Constraints, with their owners."""
    for owner, constraint in subject.once(_every_constraint):
        if is_hidden(constraint.id_data):  # palettes are made anew
            continue
        if constraint.id_data == obj and constraint.path_from_id().startswith("pose."):
            reads = not plain or _has_armature_lengths(constraint)
        else:
            reads = _takes_scale(constraint, obj, plain)
        if reads:
            yield f"{constraint.name} of {owner}"


def _every_constraint() -> list[tuple[str, Any]]:
    return list(all_constraints())


def _has_armature_lengths(constraint: Any) -> bool:
    """Whether a bone's constraint depends on the scale of its own armature object."""
    kind, in_world = constraint.type, constraint.owner_space == "WORLD"
    if kind in _OWN_LENGTHS or (_reads(constraint, "LOCATION") and not _is_from_world(constraint)):
        return True
    if kind in _WORLD_SCALE:
        return in_world and getattr(constraint, "target", None) != constraint.id_data
    lengths = any(getattr(constraint, name) for name in _OWNER_LENGTHS.get(kind, ()))
    return not in_world and (lengths or getattr(constraint, "map_to", "") == "LOCATION")


def _takes_scale(constraint: Any, obj: bpy.types.Object, plain: bool) -> bool:
    """Whether a constraint that is not of its own bones depends on the scale of an object."""
    spaces = (constraint.owner_space, getattr(constraint, "target_space", ""))
    if "CUSTOM" in spaces and constraint.space_object == obj:
        return True
    # Transform Cache and the like have no target.
    if getattr(constraint, "target", None) != obj:
        return False
    if constraint.type == "CHILD_OF" and (not plain or _follows_scale(constraint)):
        return True
    by_scale = constraint.type in _WORLD_SCALE or _reads(constraint, "SCALE")
    return by_scale or not _is_from_world(constraint)


def _follows_scale(constraint: Any) -> bool:
    return any(getattr(constraint, f"use_scale_{axis}") for axis in "xyz")


def _reads(constraint: Any, channel: str) -> bool:
    """Whether an Action or Transformation constraint reads this channel of its target."""
    names = (getattr(constraint, name, "") for name in ("map_from", "transform_channel"))
    return any(name.startswith(channel) for name in names)


def _is_from_world(constraint: Any) -> bool:
    return getattr(constraint, "target_space", "WORLD") == "WORLD"


def _drivers() -> dict[int, list[str]]:
    """By the session_uid of objects: drivers that read their scale, or a length of their bones."""
    found: dict[int, list[str]] = {}
    for owner in animated():
        for curve in drivers(owner):
            for variable in curve.driver.variables:
                for target in variable.targets:
                    if target.id is not None and _is_length(variable, target):
                        found.setdefault(target.id.session_uid, []).append(
                            f"drivers of {owner.name}"
                        )
    return found


def _is_length(variable: Any, target: Any) -> bool:
    if variable.type == "SINGLE_PROP":
        path = re.sub(r"\[\d+\]$", "", target.data_path)
        place = bone_channel(path)
        return path in {"scale", "delta_scale"} or (place is not None and place[1] == "location")
    in_world = target.transform_space == "WORLD_SPACE"
    if variable.type == "TRANSFORMS" and target.transform_type.startswith("SCALE"):
        return in_world or not target.bone_target
    is_place = variable.type == "LOC_DIFF" or target.transform_type in LOCATION_TYPES
    return is_place and bool(target.bone_target) and not in_world


def _modifiers(subject: Subject, obj: bpy.types.Object, plain: bool) -> Iterator[str]:
    """Modifiers of other objects, and the hooks of its own, with their owners."""
    others = subject.once(modifiers_by_object).get(obj.session_uid, ())
    hooks = [(obj.name, modifier) for modifier in obj.modifiers if modifier.type == "HOOK"]
    for name, modifier in (*others, *hooks):
        kind: str = modifier.type
        # Shrinkwrap has its offset in units of its target.
        uneven = kind in _BY_UNEQUAL_SCALE and (not plain or getattr(modifier, "offset", 0.0))
        if kind in _BY_SCALE_OF_OBJECT or uneven:
            yield f"{modifier.name} of {name}"
