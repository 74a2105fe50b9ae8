"""Nodes that spread the twists of limbs along them; `core.twist_limbs`."""

from __future__ import annotations

from functools import reduce
from operator import add

from ...core.twist_limbs import SWUNG_FAR
from .. import attribute_names as stored
from .node_builder import TreeBuilder
from .node_values import Geometry, Integer, Scalar, Vector


def with_twists(build: TreeBuilder, points: Geometry) -> Geometry:
    """Points with TWIST: the twists at the beginning and the end of a limb, radians, as x and y.

    It is on the first point of the limb's rows (`vertex_attributes`); on others it means nothing.

    Args:
        points: `measured_nodes.with_limbs` or `rigid_limbs`.
    """
    place, index = build.position(), build.index()
    # The directions x and y across the limb, by the one bone and by the other.
    x, y, turned_x, turned_y = (
        points.sample(place, index + number) for number in (1.0, 3.0, 5.0, 7.0)
    )
    cosine = x.dot(turned_x) + y.dot(turned_y)
    sine = y.dot(turned_x) - x.dot(turned_y)
    size = build.vector(cosine, sine, 0.0).length()
    twist = sine.arctangent(cosine) * size.smooth_step(0.0, 2.0 * SWUNG_FAR)
    # From the rows of the bone before the limb and of its own, and from its own and the one behind.
    known = points.capture({"twist": twist})
    both = build.vector(known.at("twist", index + 2.0), known.at("twist", index + 6.0), 0.0)
    return points.store(stored.TWIST, both)


def along_limbs(
    build: TreeBuilder, palette: Geometry, slots: int, spread: Scalar, moved: Vector
) -> Vector:
    """How far vertices are to turn, where twists of limbs are spread.

    Args:
        palette: evaluated, `with_twists`.
        slots: how many limbs turn a vertex, at most.
        spread: how much of the twists is spread.
        moved: the vertex after skinning and compensation.
    """
    parts: list[Vector] = []
    for slot in range(slots):
        limb: Integer = build.attribute(stored.numbered(stored.TURN_LIMB, slot), Integer)
        amounts: Vector = build.attribute(stored.numbered(stored.TURN_AMOUNTS, slot), Vector)
        place = build.position()
        centre, axis = palette.sample(place, limb), palette.sample(place, limb.plus(1))
        twists: Vector = palette.sample(build.attribute(stored.TWIST, Vector), limb)
        angle = amounts.dot(twists) * spread
        # *Vector Rotate* takes longer.
        across = axis.cross(moved - centre)
        parts.append(across * angle.sine() + axis.cross(across) * (1.0 - angle.cosine()))
    return reduce(add, parts)
