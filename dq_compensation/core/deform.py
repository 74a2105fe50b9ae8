"""The needs of each method, and one function that evaluates all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from ..arrays import Floats
from .compensation import Compensation, compensated_skinning
from .influences import Influences
from .pose import Pose
from .skinning import dual_quaternion_skinning, linear_blend
from .solved_shapes import SolvedShapes
from .spherical_joints import JointSets, spherical_joint_skinning
from .twist_limbs import TwistLimbs, spread_twists
from .vectors import unit_or

Method = Literal["LINEAR", "DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"]
METHODS: tuple[Method, ...] = get_args(Method)

# Deformed positions and unit normals, both (n, 3); None where no normals were given.
Surface = tuple[Floats, Floats | None]


@dataclass(frozen=True, eq=False)
class Deformation:
    """How the vertices of one object follow their bones: a method and what it needs at rest.

    It does not change with the pose. Every evaluator takes it.

    Attributes:
        influences: of the bones.
        compensation: for COMPENSATED.
        painted: shape (n,), 0 to 1, how much of the compensation acts on each vertex; None: 1.
        factor: how much of the compensation acts on all of them.
        sets: for SPHERICAL_JOINT.
        blend: shape (n,), 0 to 1, for `BLENDED_METHODS`: 1 is the method, 0 is LINEAR. None: 1.
        mask: shape (n,), 0 to 1, how far vertices go from where they are at rest; None: 1.
        segments: gives the influences of the rows of a pose, where bendy bones deform; None without
            them.
        twist_limbs: for COMPENSATED, the limbs whose twists are spread along them; None for none.
        twist_spread: how much of these twists is spread, 0 to 1.
        solved: the solved shapes that act; None for none. Of COMPENSATED as much of them acts as
            of the compensation, by `painted` and `factor`.

    Raises:
        ValueError: the method is unknown or lacks what it needs, or shapes do not agree.
    """

    method: Method
    influences: Influences
    compensation: Compensation | None = None
    painted: Floats | None = None
    factor: float = 1.0
    sets: JointSets | None = None
    blend: Floats | None = None
    mask: Floats | None = None
    segments: Callable[[], Influences] | None = None
    twist_limbs: TwistLimbs | None = None
    twist_spread: float = 1.0
    solved: SolvedShapes | None = None

    def __post_init__(self) -> None:
        rules = RULES.get(self.method)
        if rules is None:
            raise ValueError(f"Deformation: unknown method {self.method!r}")
        if rules.needs is not None and getattr(self, rules.needs) is None:
            raise ValueError(f"Deformation: {self.method} needs {rules.needs}")
        for name in ("painted", "blend", "mask"):
            weights, count = getattr(self, name), self.influences.vertex_count
            if weights is not None and weights.shape != (count,):
                raise ValueError(f"Deformation: {name} of shape {weights.shape} for {count}")
        if self.solved is not None and self.solved.vertex_count != self.influences.vertex_count:
            count = self.influences.vertex_count
            raise ValueError(f"Deformation: solved of {self.solved.vertex_count} for {count}")

    @cached_property
    def skinning(self) -> Influences:
        """The influences that move the vertices: of bones, or of segments of bendy bones."""
        if self.segments is None or RULES[self.method].straightens:
            return self.influences
        return self.segments()

    @cached_property
    def without_idle_parts(self) -> Deformation:
        """The same, as DUAL_QUATERNION where COMPENSATED moves no vertex, as of rigid pieces."""
        compensation, twists = self.compensation, self.twist_limbs
        if compensation is None or compensation.amounts.any() or self.solved is not None:
            return self
        swings = compensation.swings
        if (swings is not None and swings.acts) or (twists is not None and len(twists.rows)):
            return self
        plain = {"compensation": None, "painted": None, "twist_limbs": None}
        return replace(self, method="DUAL_QUATERNION", **plain)

    @cached_property
    def compensated_amounts(self) -> Floats:
        """Shape (n,), of COMPENSATED: amounts times what is painted times the factor."""
        assert self.compensation is not None
        amounts = self.compensation.amounts * self.factor
        return amounts if self.painted is None else amounts * self.painted

    @cached_property
    def swing_amounts(self) -> Floats | None:
        """Shape (n, s), likewise of the `SwingJoints` of COMPENSATED; None without them."""
        swings = None if self.compensation is None else self.compensation.swings
        if swings is None:
            return None
        amounts = swings.amounts * self.factor
        return amounts if self.painted is None else amounts * self.painted[:, None]

    @cached_property
    def solved_shares(self) -> Floats | None:
        """Shape (n,), how much of the solved shapes acts on each vertex; None: all of it."""
        if self.compensation is None or (self.painted is None and self.factor == 1.0):
            return None
        painted = np.ones(self.influences.vertex_count) if self.painted is None else self.painted
        return painted * self.factor


@dataclass(frozen=True)
class MethodRules:
    """One method: what it computes and what it needs.

    Attributes:
        skin: deforms positions and normals, both (n, 3), as a `Deformation` says.
        needs: the attribute of `Deformation` that must be there; None: no other than influences.
        blends: whether blend weights take it back to LINEAR, vertex by vertex.
        armature_modifier: the part that Blender's Armature modifier can do: ALL of it, the BASE
            that compensation is added to, or NONE of it.
        straightens: whether bendy bones move vertices as straight ones: its joints are of whole
            bones.
        by_bones: whether a node tree can blend it bone by bone, without sets of bones.
    """

    skin: Callable[[Deformation, Floats, Floats | None, Pose], Surface]
    needs: Literal["compensation", "sets"] | None = None
    blends: bool = False
    armature_modifier: Literal["ALL", "BASE", "NONE"] = "NONE"
    straightens: bool = False
    by_bones: bool = False


def _compensated(
    deformation: Deformation, positions: Floats, normals: Floats | None, pose: Pose
) -> Surface:
    compensation, swing_amounts = deformation.compensation, deformation.swing_amounts
    assert compensation is not None
    deformed, normals = compensated_skinning(
        positions,
        normals,
        deformation.skinning,
        pose,
        compensation,
        deformation.compensated_amounts,
    )
    if compensation.swings is not None and swing_amounts is not None:
        rows, offsets = compensation.swings.displacements(deformed, pose, swing_amounts)
        deformed[rows] += offsets
    if deformation.twist_limbs is None or not deformation.twist_spread:
        return deformed, normals
    spread = deformation.twist_spread
    return spread_twists(deformation.twist_limbs, deformed, normals, pose, spread)


def _spherical_joint(
    deformation: Deformation, positions: Floats, normals: Floats | None, pose: Pose
) -> Surface:
    assert deformation.sets is not None
    return spherical_joint_skinning(
        positions, normals, deformation.influences, pose, deformation.sets
    )


# The table of methods: what is asked about a method is asked here.
RULES: dict[Method, MethodRules] = {
    "LINEAR": MethodRules(
        lambda of, v, n, pose: linear_blend(v, n, of.skinning, pose), armature_modifier="ALL"
    ),
    "DUAL_QUATERNION": MethodRules(
        lambda of, v, n, pose: dual_quaternion_skinning(v, n, of.skinning, pose),
        blends=True,
        armature_modifier="ALL",
        by_bones=True,
    ),
    "COMPENSATED": MethodRules(
        _compensated, "compensation", blends=True, armature_modifier="BASE", by_bones=True
    ),
    "SPHERICAL_JOINT": MethodRules(_spherical_joint, "sets", straightens=True),
}

BLENDED_METHODS = frozenset(method for method in METHODS if RULES[method].blends)


def deform(
    deformation: Deformation, positions: Floats, normals: Floats | None, pose: Pose
) -> Surface:
    """Deform vertices.

    What `solved` adds comes after the method and before `blend` and `mask`. Normals are those
    without it.

    With `blend`, v' = v_linear + blend (v_method - v_linear), and likewise the normals, which are
    normalised then. With `mask`, v' is likewise between v and the result of all this.

    Args:
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.

    Returns:
        positions and unit normals (None without normals), of the dtype of `positions`. The
        arguments are not changed.

    Raises:
        ValueError: shapes do not agree.
    """
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise ValueError(f"deform: positions of shape {positions.shape}, expected (n, 3)")
    count = deformation.influences.vertex_count
    if count != len(positions):
        raise ValueError(f"deform: influences of {count} vertices for {len(positions)}")
    if normals is not None and normals.shape != positions.shape:
        raise ValueError(f"deform: normals of shape {normals.shape} for {positions.shape}")
    if not len(pose.matrices) or not len(positions):
        return positions.copy(), None if normals is None else normals.copy()
    if normals is not None:
        normals = normals.astype(positions.dtype, copy=False)
    deformed = RULES[deformation.method].skin(deformation, positions, normals, pose)
    _add_solved(deformation, deformed[0], pose)
    if deformation.blend is not None and deformation.method in BLENDED_METHODS:
        linear = linear_blend(positions, normals, deformation.skinning, pose)
        deformed = _blended(linear, deformed, deformation.blend)
    if deformation.mask is not None:
        deformed = _blended((positions, normals), deformed, deformation.mask)
    return deformed


def _add_solved(deformation: Deformation, deformed: Floats, pose: Pose) -> None:
    """Move deformed positions (n, 3) in place as solved shapes ask."""
    if deformation.solved is None:
        return
    rows, offsets = deformation.solved.displacements(pose)
    if (shares := deformation.solved_shares) is not None:
        offsets *= shares[rows, None]
    deformed[rows] += offsets.astype(deformed.dtype, copy=False)


def _blended(linear: Surface, whole: Surface, blend: Floats) -> Surface:
    """Positions and unit normals between two results; at 0 and 1 they are exactly those."""
    share = blend.astype(whole[0].dtype, copy=False)[:, None]
    positions = (1.0 - share) * linear[0] + share * whole[0]
    if linear[1] is None or whole[1] is None:
        return positions, None
    return positions, unit_or((1.0 - share) * linear[1] + share * whole[1], whole[1])
