"""Which shape keys of a mesh come from a bake and act by themselves.

Correctives are told by their drivers, which nobody writes like that by hand; the keys of a range of
frames by their animation, of which each rises while the one before it falls. Names do not count:
they may have been changed. Keys of single poses are not known: they are off until somebody sets
their value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import bpy
import numpy as np

from ..core.corrective_joints import AxisJoint, CorrectiveJoint, ScatteredJoint
from ..scene.animation_curves import key_points, played_actions
from ..scene.mesh import mesh_of
from ..wording import listed
from .drivers import ANGLE, PROPERTY
from .key_animation import value_path

_PROPERTY_START = f'["{PROPERTY.split("{", maxsplit=1)[0]}'
PROBLEM_ACTING = (
    "Shape keys of an earlier bake act on {obj}: {names}. What they correct would be corrected "
    "twice. Mute or remove them, or bake the object that they were baked from."
)

# Values of the three keys of a frame's curve, and how far a frame may be off for float32.
_OFF_ON_OFF = (0.0, 1.0, 0.0)
_FRAME_TOLERANCE = 1e-3


def acting_keys(obj: bpy.types.Object) -> list[str]:
    """The correctives and the keys of ranges that are not muted, in their order."""
    key = mesh_of(obj).shape_keys
    if key is None:
        return []
    baked = {*corrective_keys(obj), *played_keys(obj)}
    return [block.name for block in key.key_blocks if block.name in baked and not block.mute]


def acting_keys_problem(
    obj: bpy.types.Object, frames: Sequence[float], replaced: Collection[str] = ()
) -> str | None:
    """Why the shape in frames cannot be baked, or None: what acts would be corrected once more.

    Args:
        obj: the mesh object.
        frames: rising; keys of ranges that are off from the first to the last do no harm.
        replaced: the keys that the new bake replaces.
    """
    spans = played_keys(obj)
    always = (-np.inf, np.inf)
    names = [
        name
        for name, (start, end) in ((name, spans.get(name, always)) for name in acting_keys(obj))
        if name not in replaced and start < frames[-1] and frames[0] < end
    ]
    return PROBLEM_ACTING.format(obj=obj.name, names=listed(names)) if names else None


def corrective_keys(obj: bpy.types.Object, joint: CorrectiveJoint | None = None) -> list[str]:
    """The keys that `drivers.drive_keys` lets follow bones.

    Args:
        obj: the mesh object.
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
            block_of_path[curve.data_path]: points[:, 0]
            for curve in played.curves
            if curve.data_path in block_of_path
            and len(points := key_points(curve)) == len(_OFF_ON_OFF)
            and np.allclose(points[:, 1], _OFF_ON_OFF)
        }
        order = sorted(turns, key=lambda name: turns[name][1])
        for name, after in pairwise(order):
            if np.allclose(turns[name][1:], turns[after][:2], atol=_FRAME_TOLERANCE):
                for each in (name, after):
                    first, _, last = turns[each].tolist()
                    found[each] = (-np.inf, np.inf) if played.source == "NLA" else (first, last)
    return found


def _bones_followed(curve: Any) -> set[str]:
    """The bones that the driver of a corrective reads; none where it is not of our making."""
    driver = curve.driver
    targets = [variable.targets[0] for variable in driver.variables]
    if targets and all(variable.type == "SINGLE_PROP" for variable in driver.variables):
        paths = {target.data_path.rpartition("[")[0] for target in targets}
        animation = getattr(targets[0].id, "animation_data", None)
        # Read where they lead: the bone may have another name by now than the property has.
        return {
            bone
            for inner in (animation.drivers if animation is not None else ())
            if inner.data_path in paths and inner.data_path.startswith(_PROPERTY_START)
            for bone in _bones_read(inner.driver) | _bones_followed(inner)
        }
    return _bones_read(driver) if driver.expression.startswith(ANGLE) else set()


def _bones_read(driver: Any) -> set[str]:
    return {
        target.bone_target
        for variable in driver.variables
        if variable.type == "TRANSFORMS"
        for target in variable.targets
        if target.rotation_mode in {"SWING_TWIST_Y", "QUATERNION"}
    }


def _is_alike(curve: Any, joint: CorrectiveJoint) -> bool:
    """Whether a corrective is for the kind of motion that a joint has."""
    twists = all(variable.name == "y" for variable in curve.driver.variables)
    either = isinstance(joint, ScatteredJoint)
    return either or twists == (isinstance(joint, AxisJoint) and joint.axis is None)
