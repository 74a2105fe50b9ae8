"""Drives corrective shape keys by how bones are turned: Blender's own drivers, no scripts.

Every expression is one that Blender evaluates without Python, so the keys follow in files that may
not run scripts. Rotations are read in Local Space, where a bone is against its parent, constraints
included, as swing and twist: nothing jumps where Euler angles would.

A key of a joint with one axis has the angle as its input and the curve of its weight as the
driver's own curve, to be seen and changed in the Drivers Editor. Other joints need numbers in
between: they are in an array property of the object for each bone, driven too, which the keys'
drivers read. They are not on the Key datablock: Blender's glTF exporter leaves out the animation of
keys that have other drivers beside those of their values.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ...arrays import Floats
from ...core.solved_shapes import FADE, FAR, OFF_PLANE, TURNED_ROUND, PoseHats
from ...scene.blender.mesh import mesh_of
from ...scene.blender.property_drivers import (
    SHARES,
    SUMS,
    TOTAL,
    drive_by_property,
    driven_property,
    emptied,
    rotations,
)
from ...scene.key_animation import value_path
from .corrective_joints import AxisJoint, BallJoint, CorrectiveJoint, ExampleJoint
from .pose_curves import SmoothCurve

# Every driver that reads a bone itself turns its angle into degrees.
ANGLE = "degrees("

# Beyond 0 to 1, which the weights leave by a fifth: else Blender would cut them off there.
_SLIDER_RANGE = (-1.0, 2.0)

_BEZIER, _FREE = 2, 0
_LETTERS: tuple[str, ...] = tuple(letter for letter in string.ascii_letters if letter not in "eE")
_LEAST_COEFFICIENT = 1e-4
# Of a sum in one expression.
_MOST_TERMS = 14


def drive_keys(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    joint: CorrectiveJoint,
    names: Sequence[str | None],
) -> None:
    """Let the keys of a joint's poses follow its bone.

    Args:
        obj: the mesh object that has the keys.
        joint: with k poses.
        names: k, of the keys; None for a pose without one.
    """
    if all(name is None for name in names):
        return
    if isinstance(joint, AxisJoint):
        for name, curve in zip(names, joint.curves, strict=True):
            if name is not None:
                driven = _driven_key(obj, name)
                _read(driven, armature, joint.bone, _angle_expression(joint), "QUATERNION")
                _draw(driven, curve)
        return
    if isinstance(joint, BallJoint):
        _fill_ball_property(obj, armature, joint)
        rings = len(joint.angles)
        for place, name in enumerate(names):
            if name is not None:
                factors = {"r": place % rings, "d": rings + place // rings}
                drive_by_property(_driven_key(obj, name), obj, joint.bone, factors, "r*d")
        return
    if isinstance(joint, ExampleJoint):
        _drive_by_example(obj, armature, joint, names)
        return
    _fill_scattered_property(obj, armature, joint.bone, joint.centres, joint.sigma)
    curves = [None if name is None else _driven_key(obj, name) for name in names]
    _read_sums(obj, joint.bone, curves, joint.basis.coefficients)


def _drive_by_example(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    joint: ExampleJoint,
    names: Sequence[str | None],
) -> None:
    """Gaussians in one property, what they give for each pose in another, at most 1 in the keys."""
    bone, count = joint.bone, len(joint.poses)
    if joint.hats is not None:
        _drive_by_hats(obj, armature, joint, joint.hats, names)
        return
    if joint.limb is None:
        _fill_scattered_property(obj, armature, bone, joint.centres, joint.sigma)
    else:
        for curve, form in zip(driven_property(obj, bone, count + 1), joint.forms, strict=True):
            rotations(curve.driver, armature, bone, "wxyz", "QUATERNION")
            angle = f"acos(min(1,max(-1,{_products(form)})))"
            curve.driver.expression = f"exp(-pow({angle}/{joint.sigma:.6g},2))"
    shares = driven_property(obj, bone, count, SHARES)
    _read_sums(obj, bone, shares, joint.basis.coefficients, "min(1,max(0,{}))")
    (total,) = driven_property(obj, bone, 1, TOTAL)
    drive_by_property(total, obj, bone, {f"s{place}": place for place in range(count)}, "", SHARES)
    total.driver.type = "SUM"
    for place, name in enumerate(names):
        if name is not None:
            curve = _driven_key(obj, name)
            drive_by_property(curve, obj, bone, {"total": 0}, "", TOTAL)
            drive_by_property(curve, obj, bone, {"share": place}, "share/max(1,total)", SHARES)


def _drive_by_hats(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    joint: ExampleJoint,
    hats: PoseHats,
    names: Sequence[str | None],
) -> None:
    """`PoseHats`: its x, y, z and w in one property, what is measured of them in another.

    These are the angle, the fade, and for each pose of a ball its hat of the azimuth.
    """
    bone, is_hinge = joint.bone, bool(hats.hinges[0])
    expressions = (*(_products(form) or "0" for form in joint.hat_forms), "w")
    for curve, expression in zip(driven_property(obj, bone, 4, SUMS), expressions, strict=True):
        _read(curve, armature, bone, expression, "QUATERNION")
    fade = f"smoothstep(0,{TURNED_ROUND:.7g},fabs(w))"
    if is_hinge:
        angle = "atan2(y,x)"
        fade += f"*smoothstep(0,{OFF_PLANE:.7g},x*x+y*y)*smoothstep(0,{FADE:.7g},pi-fabs({angle}))"
        beside = []
    else:
        angle = "atan2(sqrt(y*y+z*z),x)"
        ways = zip(hats.azimuths.tolist(), hats.widths.tolist(), strict=True)
        beside = [_beside(azimuth, *widths) for azimuth, widths in ways]
    measured = (angle, fade, *beside)
    curves = driven_property(obj, bone, len(measured))
    for curve, expression in zip(curves, measured, strict=True):
        places = {name: place for place, name in enumerate("xyzw") if name in _names(expression)}
        drive_by_property(curve, obj, bone, places, expression, SUMS)
    for kind in (SHARES, TOTAL):
        driven_property(obj, bone, 0, kind)
    for place, (name, angles) in enumerate(zip(names, hats.angles.tolist(), strict=True)):
        if name is not None:
            curve, expression = _driven_key(obj, name), f"f*clamp({_hat(*angles)})"
            read = {"f": 1, "a": 0}
            if not is_hinge:
                expression, read = f"{expression}*b", {**read, "b": 2 + place}
            drive_by_property(curve, obj, bone, read, expression)


def _hat(low: float, own: float, high: float) -> str:
    """The hat of an angle `a`, not yet cut off."""
    sides = []
    if low > -FAR:
        sides.append(f"(a-({low:.7g}))/{own - low:.7g}")
    if high < FAR:
        sides.append(f"({high:.7g}-a)/{high - own:.7g}")
    return f"min({','.join(sides)})" if len(sides) > 1 else sides[0]


def _beside(azimuth: float, below: float, above: float) -> str:
    """The hat of the azimuth of (y, z)."""
    c, s = f"{np.cos(azimuth):.7f}", f"{np.sin(azimuth):.7f}"
    apart = f"atan2({c}*z-({s})*y,{c}*y+({s})*z)"
    return f"clamp(1-max({apart}/{above:.7g},-{apart}/{below:.7g}))"


def _read_sums(
    obj: bpy.types.Object, bone: str, curves: Sequence[Any], coefficients: Floats, form: str = "{}"
) -> None:
    """Let drivers be weighted sums of the m numbers in a bone's property.

    Blender's expressions have 255 characters. Where that is too few, the sums are made of parts,
    which are in a property of their own.

    Args:
        obj: has the property.
        curves: k, of the drivers; None for one that is not needed.
        coefficients: shape (m, k).
        form: an expression with a place for the sum.
    """
    columns = [
        (curve, column, np.flatnonzero(np.abs(column) > _LEAST_COEFFICIENT).tolist())
        for curve, column in zip(curves, coefficients.T, strict=True)
        if curve is not None
    ]
    starts = [range(0, len(places), _MOST_TERMS) for _, _, places in columns]
    in_parts = max(map(len, starts), default=0) > 1
    count = sum(map(len, starts)) if in_parts else 0
    parts = driven_property(obj, bone, count, SUMS)
    first = 0
    for (curve, column, places), begins in zip(columns, starts, strict=True):
        for number, begin in enumerate(begins, first):
            variables = dict(zip(_LETTERS, places[begin : begin + _MOST_TERMS], strict=False))
            total = "".join(f"{column[place]:+.7g}*{name}" for name, place in variables.items())
            target, text = (parts[number], total) if in_parts else (curve, form.format(total))
            drive_by_property(target, obj, bone, variables, text)
        if in_parts:
            variables = dict(zip(_LETTERS, range(first, first + len(begins)), strict=False))
            drive_by_property(curve, obj, bone, variables, form.format("+".join(variables)), SUMS)
            first += len(begins)


def _products(form: Any) -> str:
    """q^T F q of a rotation's w, x, y, z."""
    parts = []
    for row, one in enumerate("wxyz"):
        for column in range(row, 4):
            value = form[row, column] * (1.0 if row == column else 2.0)
            if abs(value) > 1e-6:
                parts.append(f"{value:+.6f}*{one}*{'wxyz'[column]}")
    return "".join(parts)


def _driven_key(obj: bpy.types.Object, name: str) -> Any:
    """The driver's curve of a key's value, new and empty."""
    key = mesh_of(obj).shape_keys
    block = key.key_blocks[name]
    block.slider_min, block.slider_max = _SLIDER_RANGE
    animation = key.animation_data
    if animation is not None and animation.drivers.find(value_path(name)) is not None:
        block.driver_remove("value")
    return emptied(block.driver_add("value"))


def _angle_expression(joint: AxisJoint) -> str:
    """The angle about the joint's axis in degrees, of the rotation's w, x, y, z."""
    parts = zip("xyz", joint.axis, strict=True)
    along = "".join(f"{part:+.6g}*{name}" for name, part in parts if abs(part) > 1e-6)
    return f"{ANGLE}2*atan2({along},w))"


def _read(
    curve: Any, armature: bpy.types.Object, bone: str, expression: str, mode: str = "SWING_TWIST_Y"
) -> None:
    """Give a driver an expression of a bone's swing w, x, z and twist y in radians, or of others.

    Args:
        mode: of the rotation that is read.
    """
    names = sorted(_names(expression))
    rotations(curve.driver, armature, bone, names, mode)
    curve.driver.expression = expression


def _names(expression: str) -> set[str]:
    return set(re.findall(r"\b[wxyz]\b", expression))


def _draw(curve: Any, shape: SmoothCurve) -> None:
    """Give a driver's curve the shape of a curve."""
    knots, values, slopes = (np.array(row) for row in (shape.knots, shape.values, shape.slopes))
    thirds = np.diff(knots) / 3.0
    before, after = np.concatenate((thirds[:1], thirds)), np.concatenate((thirds, thirds[-1:]))
    count = len(knots)
    points = curve.keyframe_points
    points.add(count)
    points.foreach_set("interpolation", np.full(count, _BEZIER, np.int32))
    for side in ("handle_left_type", "handle_right_type"):
        points.foreach_set(side, np.full(count, _FREE, np.int32))
    for name, step in (("co", 0.0 * after), ("handle_left", -before), ("handle_right", after)):
        places = np.stack((knots + step, values + step * slopes), axis=1).astype(np.float32)
        points.foreach_set(name, places.reshape(-1))
    curve.extrapolation = "CONSTANT"
    curve.update()


def _fill_ball_property(
    obj: bpy.types.Object, armature: bpy.types.Object, joint: BallJoint
) -> None:
    """The weights of the rings, then those of the directions."""
    rings = len(joint.angles)
    curves = driven_property(obj, joint.bone, rings + joint.directions)
    for curve, shape in zip(curves[:rings], joint.ring_curves, strict=True):
        _read(curve, armature, joint.bone, "degrees(w)")
        _draw(curve, shape)
    for curve, azimuth in zip(curves[rings:], joint.azimuths, strict=True):
        c, s = f"{np.cos(azimuth):.6f}", f"{np.sin(azimuth):.6f}"
        expression = f"degrees(atan2({c}*sin(z/2)-({s})*sin(x/2),{c}*sin(x/2)+({s})*sin(z/2)))"
        _read(curve, armature, joint.bone, expression)
        _draw(curve, joint.direction_curve)


def _fill_scattered_property(
    obj: bpy.types.Object, armature: bpy.types.Object, bone: str, centres: Any, sigma: float
) -> None:
    """The Gaussians about rest and the poses."""
    for curve, centre in zip(driven_property(obj, bone, len(centres)), centres, strict=True):
        products = "".join(
            f"{value:+.6f}*{name}" for name, value in zip("wxyz", centre, strict=True)
        )
        rotations(curve.driver, armature, bone, "wxyz", "QUATERNION")
        angle = f"2*acos(min(1,fabs({products})))"
        curve.driver.expression = f"exp(-pow({angle}/{sigma:.6g},2))"
