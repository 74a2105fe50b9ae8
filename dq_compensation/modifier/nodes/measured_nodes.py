"""Nodes of MEASURED compensation: skin keeps its distance from the limb; `core.measured_joints`.

Where limbs leave the body it goes along chords: `core.swing_joints`. Where twists of limbs are
spread, it turns: `core.twist_limbs`.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from ...core.limb_joints import BENT_AS_TURNED, LEAST_TURN, LOOSENED, SHORTEST_RAY
from ...core.pose import CURVED, STRAIGHT
from ...core.swing_joints import SWUNG_BACK
from ...core.twist_limbs import SWUNG_FAR
from ..attribute_names import (
    AMOUNT,
    JOINT_DISTANCE,
    JOINT_POINT,
    LEAST_HOLD,
    LIMB_HOLD,
    LIMB_JOINT,
    LIMB_STATE,
    PAIR,
    REST_DISTANCE,
    REST_HEAD,
    REST_RAY,
    SWING,
    SWING_AMOUNT,
    SWING_JOINT,
    TURN_AMOUNTS,
    TURN_LIMB,
    TWIST,
    numbered,
)
from .bone_nodes import state_of
from .node_values import Cloud, Field, Geometry, Integer, Matrix, Scalar, TreeBuilder, Vector


def rigid_limbs(build: TreeBuilder, palette: Geometry, length: Scalar) -> Vector:
    """The positions of `with_limbs` where no bone is scaled, bendy or away from its joint.

    Args:
        palette: with the points of `write_joints`, as its Armature modifier leaves it.
        length: of the skeleton, as `bone_nodes.palette_state`.
    """
    places, first = _points_of_joints(build, palette)
    is_ray = build.index.modulo(2.0)  # 0 at the points that are joints
    start, end = places.at("place", first), places.at("place", first + is_ray)
    return build.choose(is_ray, end, (end - start) * (1.0 / length))


def _points_of_joints(build: TreeBuilder, palette: Geometry) -> tuple[Cloud, Scalar]:
    """The points of a palette, `place`, and the number of the first one of each joint and ray."""
    # As in `bone_turns`.
    first: Integer = build.attribute(JOINT_POINT, Integer)
    known = palette.capture({"place": build.position, "first": first})
    return known, known.at("first", build.index)


def with_posed(
    build: TreeBuilder,
    palette: Geometry,
    points: Geometry,
    *,
    turns: bool,
    swings: bool,
    twists: bool,
) -> Geometry:
    """The points of `with_limbs` or `rigid_limbs` with what is made of several of them.

    What is on points that it is not made for means nothing.

    Args:
        palette: with LEAST_HOLD.
        turns: store LIMB_HOLD, what limbs that turn keep of their hold on the skin, 0 to 1.
        swings: store SWING, which takes v to s x (s x (v - J)) with the joint J and its swing s, on
            the first one of the points of the two rows that a swing has. One matrix, since every
            mesh fetches it.
        twists: store TWIST, the twists at the beginning and the end of a limb, radians, as x and y,
            on the first point of the limb's rows (`vertex_attributes`); `core.twist_limbs`.
    """
    # Of a row and the next three, as every point would see them.
    first, second, third, fourth = (
        points.sample(build.position, build.index.plus(number)) for number in (1, 3, 5, 7)
    )
    fields: dict[str, Field] = {}
    if turns:
        # Of the child's limb, and of the parent's, by the one bone and by the other.
        swing, turn = third.distance(fourth), first.distance(second)
        share = swing.times_plus(swing, LEAST_TURN) / turn.times_plus(turn, LEAST_TURN)
        least: Scalar = palette.sample(build.attribute(LEAST_HOLD, Scalar), build.index)
        fields[LIMB_HOLD] = share.mapped((0.0, 1.0 / BENT_AS_TURNED), (least, 1.0))
    if swings:
        # Of the child's limb, by the parent and by the child.
        ahead = (first.dot(second) * 2.0 + 2.0).maximum(2.0 * SWUNG_BACK)
        swing = first.cross(second) * ahead.inverse_square_root()
        (x, y, z), (p, q, r) = swing.components(), (swing * -1.0).components()
        across = ((0.0, z, q, 0.0), (r, 0.0, x, 0.0), (y, p, 0.0, 0.0))  # v to s x v
        from_joint = build.position.cross(swing).components()
        once = build.matrix((*across, (0.0, 0.0, 0.0, 1.0)))
        about_joint = build.matrix((*across, (*from_joint, 1.0)))
        fields[SWING] = once @ about_joint
    if twists:
        # The directions x and y across the limb, by the one bone and by the other.
        cosine = first.dot(third) + second.dot(fourth)
        sine = second.dot(third) - first.dot(fourth)
        size = build.vector(cosine, sine, 0.0).length()
        fields[TWIST] = sine.arctangent(cosine) * size.smooth_step(0.0, 2.0 * SWUNG_FAR)
        # All at once, so that each point is fetched once.
        known = points.capture(fields)
        points, fields = known.geometry, dict(known.fields)
        # From the rows of the bone before the limb and of its own, and from its own and the one
        # behind.
        starts, ends = (known.at(TWIST, build.index.plus(number)) for number in (2, 6))
        fields[TWIST] = build.vector(starts, ends, 0.0)
    for name, value in fields.items():
        points = points.store(name, value)
    return points


def with_bendy_limbs(
    build: TreeBuilder, palette: Geometry, points: Geometry, bone_rows: Scalar
) -> Geometry:
    """Points as of `with_limbs`, with LIMB_STATE, where there are bendy bones.

    These are scaled or curved in most poses; to make it of matrices takes longer.

    Args:
        palette: with the points of `write_joints`, as its Armature modifier leaves it.
        points: as many as there are to be.
        bone_rows: how many rows the bones have.
    """
    index = build.index
    places, first = _points_of_joints(build, palette)
    of_limb: Scalar = places.geometry.sample(build.attribute(LIMB_JOINT, Scalar), index)

    def moved(number: int) -> Vector:
        return places.at("place", first + float(number))

    spread, _, _ = places.at("place", bone_rows * 4.0 + 1.0).components()
    start, end = moved(0), moved(1)
    ray = end - start
    ray = ray.normalized() * (ray.length() > spread * SHORTEST_RAY)
    back = moved(9) - end
    back = back.normalized() * (back.length() > spread * SHORTEST_RAY)
    thickness = _thickness(moved(3) - moved(2), moved(4) - moved(2))
    chord, behind = moved(6) - moved(5), moved(5) - moved(7)
    cosine = chord.normalized().dot(behind.normalized())
    known = points.capture(
        {
            "place": build.choose(index.modulo(2.0), start, ray),
            "apart": (start - end + (moved(8) - end)) * of_limb,
            "back": back,
            "both": build.vector(thickness, cosine * -1.0, 0.0),
        }
    )
    place, apart, back, both = known.fields.values()
    ray, other = (known.at(name, index.plus(1)) for name in ("place", "both"))
    reach, gap = apart.dot(ray).maximum(0.0), _gap(apart, back)
    thick, curved, _ = both.maximum(other).components()
    size = thick.square_root() * (0.5**0.5 / spread)
    straight = (curved * -1.0).smooth_step(CURVED, STRAIGHT)
    posed = known.geometry.set_position(place - ray * reach)
    return posed.store(LIMB_STATE, build.vector(size, gap, straight))


def with_limbs(build: TreeBuilder, palette: Geometry, points: Geometry, length: Scalar) -> Geometry:
    """Points with each joint and one of its two limbs, in the pose: two for each of JOINT_ROWS.

    The very first point has `bone_nodes.state_of` as its position. Of the two points of a row
    the first one is at the joint, or where the limb begins beyond it (`PosedJoints.reaches`). The
    position of the second one is a ray, the direction of the limb. LIMB_STATE has how thick the
    limb is scaled, `PosedJoints.gaps`, and how straight the limb is: here all are.

    Args:
        palette: with the points of `write_joints`, as its Armature modifier leaves it.
        points: as many as there are to be.
        length: of the skeleton, as `bone_nodes.palette_state`.
    """
    index = build.index
    places, first = _points_of_joints(build, palette)
    of_limb: Scalar = places.geometry.sample(build.attribute(LIMB_JOINT, Scalar), index)
    start, end, one, other, ahead = (places.at("place", first + float(each)) for each in range(5))
    is_ray = index.modulo(2.0)
    # From where the child moves a joint to where the parent does; of a ray along the limb.
    way = end - start
    by_parent: Vector = places.at("place", first - 4.0)  # the joint of a ray
    middle = build.choose(is_ray, start, by_parent)
    along = build.choose(is_ray, ahead - end, way)
    known = points.capture(
        {
            "start": start,
            "way": way,
            "along": along.normalized() * (along.length() > length * SHORTEST_RAY),
            "thick": _thickness(one - middle, other - middle),
        }
    )
    start, way, along, thick = known.fields.values()
    ray, beside = (known.at(name, index.plus(1)) for name in ("along", "thick"))
    reach = way.dot(ray).minimum(0.0) * of_limb
    place = build.choose(is_ray, start + ray * reach, along)
    state = state_of(build, length, limb_states=True)
    posed = known.geometry.set_position(build.choose(index < 0.5, place, state))
    size = thick.maximum(beside).square_root() * (0.5**0.5 / length)
    return posed.store(LIMB_STATE, build.vector(size, _gap(way, along), 1.0))


def _thickness(one: Vector, other: Vector) -> Scalar:
    """Twice the square of the longest vector in the ellipse of two: cos t * one + sin t * other."""
    long, wide, slant = one.dot(one), other.dot(other), one.dot(other) * 2.0
    difference = long - wide
    root = slant.times_plus(slant, difference * difference).square_root()
    return long + wide + root


def _gap(apart: Vector, back: Vector) -> Scalar:
    """`PosedJoints.gaps` of joints that are apart, with the direction of the parent's limb."""
    along = apart.dot(back)
    gap = apart.distance(back * along)
    return gap.minimum(gap * 2.0 - along.absolute() * LOOSENED)


def onto_chords(
    build: TreeBuilder, palette: Geometry, slots: int, strength: Scalar, moved: Vector
) -> Vector:
    """How far vertices are to go from arcs to chords, where limbs leave the body.

    Args:
        slots: how many joints swing a vertex, at most.
        palette: evaluated, `with_posed`.
        strength: painted weight and factor of the vertex.
        moved: the vertex after skinning and `back_to_limb`.
    """
    parts: list[Vector] = []
    for slot in range(slots):
        row = build.attribute(numbered(SWING_JOINT, slot), Integer)
        amount = build.attribute(numbered(SWING_AMOUNT, slot), Scalar)
        swing: Matrix = palette.sample(build.attribute(SWING, Matrix), row)
        parts.append(swing.transform_point(moved) * amount)
    return reduce(add, parts) * strength


def back_to_limb(
    build: TreeBuilder,
    palette: Geometry,
    limb_states: Scalar | None,
    strength: Scalar,
    rest: Vector | None,
    moved: Vector,
    *,
    aside: bool,
) -> Vector:
    """How far vertices are to go after dual quaternion skinning, back to their limbs.

    Args:
        palette: evaluated, `with_limbs`.
        limb_states: whether there is LIMB_STATE; None where there is none.
        strength: painted weight and factor of the vertex.
        rest: the vertex before skinning, where shape keys change it; else its distances at rest
            are in attributes.
        moved: the vertex after skinning.
        aside: whether there is LIMB_HOLD.
    """
    joint: Integer = build.attribute(PAIR, Integer)
    head: Vector = palette.sample(build.position, joint)
    ray: Vector = palette.sample(build.position, joint.plus(1))
    back = _to_ray(head - moved, ray)
    distance = back.length()
    if rest is not None:
        to_joint = build.attribute(REST_HEAD, Vector) - rest
        rest_distance = _to_ray(to_joint, build.attribute(REST_RAY, Vector)).length()
        farthest = to_joint.length()
    else:
        rest_distance: Scalar = build.attribute(REST_DISTANCE, Scalar)
        farthest: Scalar = build.attribute(JOINT_DISTANCE, Scalar)

    amount: Scalar = build.attribute(AMOUNT, Scalar)
    if limb_states is not None:
        state: Vector = palette.sample(build.attribute(LIMB_STATE, Vector), joint)
        size, gap, straight = state.components()
        nearest, loosened = size.times_plus(rest_distance, gap.maximum(0.0)), gap.absolute()
        rest_distance = build.choose(limb_states, rest_distance, nearest)
        farthest = build.choose(limb_states, farthest, size.times_plus(farthest, loosened))
        amount = build.choose(limb_states, amount, amount * straight)
    if aside:
        amount = amount * palette.sample(build.attribute(LIMB_HOLD, Scalar), joint)
    # Blender divides by 0 without harm.
    too_far = distance.clamped(rest_distance, farthest) - rest_distance
    return back * (strength * amount * too_far / distance)


def _to_ray(to_joint: Vector, ray: Vector) -> Vector:
    """The vector to the nearest point of a ray."""
    return to_joint - ray * to_joint.dot(ray).minimum(0.0)


def along_limbs(
    build: TreeBuilder, palette: Geometry, slots: int, spread: Scalar, moved: Vector
) -> Vector:
    """How far vertices are to turn, where twists of limbs are spread.

    Args:
        palette: evaluated, `with_posed`.
        slots: how many limbs turn a vertex, at most.
        spread: how much of the twists is spread.
        moved: the vertex after skinning and compensation.
    """
    parts: list[Vector] = []
    for slot in range(slots):
        limb: Integer = build.attribute(numbered(TURN_LIMB, slot), Integer)
        amounts: Vector = build.attribute(numbered(TURN_AMOUNTS, slot), Vector)
        place = build.position
        centre, axis = palette.sample(place, limb), palette.sample(place, limb.plus(1))
        twists: Vector = palette.sample(build.attribute(TWIST, Vector), limb)
        angle = amounts.dot(twists) * spread
        # *Vector Rotate* takes longer.
        across = axis.cross(moved - centre)
        parts.append(across * angle.sine() + axis.cross(across) * (1.0 - angle.cosine()))
    return reduce(add, parts)
