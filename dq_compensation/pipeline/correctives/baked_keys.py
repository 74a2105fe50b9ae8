"""Finds the shape keys of a mesh that come from a bake and move by themselves.

Correctives are known by their drivers, keys of a range of frames by their animation: each rises
while the one before it falls. Names do not count, because users change them. Keys of single poses
are not found: they are off until somebody sets their value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import bpy
import numpy as np

from ...scene.blender.animation_curves import key_points, played_actions
from ...scene.blender.mesh import mesh_of
from ...scene.blender.property_drivers import PROPERTY
from ...scene.key_animation import value_path
from ...wording import listed
from .corrective_drivers import ANGLE
from .corrective_joints import AxisJoint, CorrectiveJoint, ScatteredJoint

_PROPERTY_START = f'["{PROPERTY.split("{", maxsplit=1)[0]}'

# How far a frame may be off for float32.
_FRAME_TOLERANCE = 1e-3


def baked_keys(obj: bpy.types.Object) -> list[str]:
    """The correctives and the keys of ranges, muted ones, too."""
    return [*corrective_keys(obj), *played_keys(obj)]


def corrective_keys(obj: bpy.types.Object, joint: CorrectiveJoint | None = None) -> list[str]:
    """The keys that `drive_keys` lets follow bones.

    Args:
        joint: only those of the same bone, for the same kind of motion: twist is one kind, bending
            another; scattered poses are both.
    """
    key = mesh_of(obj).shape_keys
    animation = key.animation_data if key is not None else None
    if key is None or animation is None:
        return []
    found = []
    for block in key.key_blocks:
        curve = animation.drivers.find(value_path(block.name))
        bones = _bones_followed(curve) if curve is not None else set()
        if bones and (joint is None or (joint.bone in bones and _is_alike(curve, joint))):
            found.append(block.name)
    return found


def played_keys(obj: bpy.types.Object) -> dict[str, tuple[float, float]]:
    """The keys that `key_animation.animate_in_turn` has animated: two or more, one after another.

    Returns:
        their names, with the frames between which they are on; any frame where an NLA strip plays
        them.
    """
    key = mesh_of(obj).shape_keys
    if key is None:
        return {}
    block_of_path = {value_path(block.name): block.name for block in key.key_blocks}
    found: dict[str, tuple[float, float]] = {}
    for played in played_actions(key):
        turns = {
            block_of_path[curve.data_path]: key_points(curve)
            for curve in played.curves
            if curve.data_path in block_of_path and _is_one_turn(curve)
        }
        order = sorted(turns, key=lambda name: turns[name][turns[name][:, 1].argmax(), 0])
        for name, after in pairwise(order):
            if np.allclose(turns[name][-2:, 0], turns[after][:2, 0], atol=_FRAME_TOLERANCE):
                for each in (name, after):
                    (first, at_first), (last, at_last) = turns[each][[0, -1]].tolist()
                    starts = -np.inf if at_first or played.source == "NLA" else first
                    ends = np.inf if at_last or played.source == "NLA" else last
                    found[each] = (starts, ends)
    return found


def _is_one_turn(curve: Any) -> bool:
    """Whether the keys of a curve are 0-1-0; linear ones at the ends of a range 1-0 or 0-1."""
    values = key_points(curve)[:, 1].round(4).tolist()
    is_end = values in ([1.0, 0.0], [0.0, 1.0])
    # Others fade from one key to another, too, but with Blender's own interpolation.
    return values == [0.0, 1.0, 0.0] or (
        is_end and all(point.interpolation == "LINEAR" for point in curve.keyframe_points)
    )


def _bones_followed(curve: Any) -> set[str]:
    """The bones that the driver of a corrective reads; none where it is not of our making."""
    driver = curve.driver
    if _reads_properties(driver):
        return _bones_behind(driver)
    return _bones_read(driver) if driver.expression.startswith(ANGLE) else set()


def _reads_properties(driver: Any) -> bool:
    variables = list(driver.variables)
    return bool(variables) and all(variable.type == "SINGLE_PROP" for variable in variables)


def _bones_behind(driver: Any, depth: int = 2) -> set[str]:
    """The bones behind the drivers of the array properties that a driver reads.

    Read where they lead: the bone may have another name by now than the property has.
    """
    targets = [variable.targets[0] for variable in driver.variables]
    paths = {target.data_path.rpartition("[")[0] for target in targets}
    paths = {path for path in paths if path.startswith(_PROPERTY_START)}
    animation = getattr(targets[0].id, "animation_data", None)
    found: set[str] = set()
    for inner in animation.drivers if animation is not None else ():
        if inner.data_path in paths:
            deeper = depth > 1 and _reads_properties(inner.driver)
            found |= _bones_behind(inner.driver, depth - 1) if deeper else _bones_read(inner.driver)
    return found


def _bones_read(driver: Any) -> set[str]:
    return {
        target.bone_target
        for variable in driver.variables
        if variable.type == "TRANSFORMS"
        for target in variable.targets
        if target.rotation_mode in {"SWING_TWIST_Y", "QUATERNION"}
    }


def remove_properties(obj: bpy.types.Object) -> None:
    """Remove the properties of an object that its corrective keys have read, with their drivers."""
    names = [name for name in list(obj.keys()) if f'["{name}"]'.startswith(_PROPERTY_START)]
    paths = {f'["{bpy.utils.escape_identifier(name)}"]' for name in names}
    drivers: Any = obj.animation_data.drivers if obj.animation_data is not None else ()
    for curve in [each for each in drivers if each.data_path in paths]:
        drivers.remove(curve)
    for name in names:
        del obj[name]


def _is_alike(curve: Any, joint: CorrectiveJoint) -> bool:
    """Whether a corrective is for the kind of motion that a joint has."""
    twists = any(variable.name == "y" for variable in curve.driver.variables)
    either = isinstance(joint, ScatteredJoint)
    return either or twists == (isinstance(joint, AxisJoint) and joint.twists)


_REFUSAL_ACTING = (
    "Shape keys of an earlier bake act on {obj}: {names}. A bake would correct the same twice. "
    "Mute or remove them, or bake the object that they were baked from."
)


def acting_keys(obj: bpy.types.Object) -> list[str]:
    """The correctives and the keys of ranges that are not muted, in their order."""
    key = mesh_of(obj).shape_keys
    if key is None or key.animation_data is None:
        return []
    baked = set(baked_keys(obj))
    return [block.name for block in key.key_blocks if block.name in baked and not block.mute]


def acting_keys_refusal(
    obj: bpy.types.Object, frames: Sequence[float], replaced: Collection[str] = ()
) -> str | None:
    """Why frames cannot be baked, or None: keys that act already would be corrected once more.

    Args:
        frames: rising; keys of ranges that are off from the first to the last do no harm.
        replaced: the keys that the new bake replaces.
    """
    always, names = (-np.inf, np.inf), acting_keys(obj)
    spans = played_keys(obj) if names else {}
    names = [
        name
        for name, (start, end) in ((name, spans.get(name, always)) for name in names)
        if name not in replaced and start < frames[-1] and frames[0] < end
    ]
    return _REFUSAL_ACTING.format(obj=obj.name, names=listed(names)) if names else None
