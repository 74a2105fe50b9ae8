"""Helper bones of an armature: they deform, and constraints move them, without drivers or scripts.

A helper follows the blend of two bones by an *Armature* constraint. Three limits before that one
put the bone where it rests in the armature, so that neither its parent nor keyframes move it: any
parent will do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from ...scene.blender.armature import HELPER_PROPERTY, armature_of, is_helper_bone
from ...scene.blender.bone_editing import edited_bones
from .helper_bones import GAUGE_SHARE, MOST_BEND, Side

COLLECTION = "DQ Compensation Helpers"

# The length of a helper, in parts of that of the bone below its joint.
HELPER_LENGTH = 0.25
# How far it is from the joint, in the same parts: see `pipeline.bones.helper_bones.helper_heads`.
_BESIDE = 1e-3
_AXES = "xyz"


class Turn(NamedTuple):
    """How a helper bone turns about its Y axis with the twist of one bone against another.

    Attributes:
        gauge: the name of the bone that measures the twist.
        above, below: the two bones.
        factor: of the angle.
    """

    gauge: str
    above: str
    below: str
    factor: float


class Limb(NamedTuple):
    """A bone along a limb whose own bone lies elsewhere: it goes where that one goes.

    Attributes:
        bone: the own one.
        axes: at rest, armature space, 3 x 3 numbers row by row.
        length: in lengths of the own one.
    """

    bone: str
    axes: tuple[float, ...]
    length: float


@dataclass(frozen=True)
class HelperBone:
    """A helper bone at the joint of two bones, which it follows; or in a limb, which it twists.

    Attributes:
        parent, child: the bones above and below the joint.
        share: the weight of the child in the blend, 0 to 1; the parent has the rest.
        growth, shrink, along: see `pipeline.bones.helper_bones.Helper`.
        anchor: the name of the bone that takes the head along; empty without one.
        gauge: the name of the bone that measures how far the two bones are turned; empty without
            growth, shrink, narrowing and twisting. Helpers of one joint share one for growth and
            shrink, and one for narrowing and twisting.
        narrowing, side, twisting: see `pipeline.bones.helper_bones.Helper`.
        axes: at rest, armature space, 3 x 3 numbers row by row; empty: those of its `frame`.
        turns: the twists with which it turns about its Y axis.
        gauge_axes: those of the gauge, as `axes`.
        offset: of its head from that of the child, armature space, in lengths of the child; empty:
            where the anchor says, or beside the head of the child.
        length: in lengths of the child.
        limb: what the anchor follows, where it is no bone of the skeleton.
    """

    name: str
    parent: str
    child: str
    share: float
    growth: float = 0.0
    shrink: float = 0.0
    anchor: str = ""
    along: float = 0.0
    gauge: str = ""
    narrowing: float = 0.0
    side: Side = ""
    twisting: float = 0.0
    axes: tuple[float, ...] = ()
    turns: tuple[Turn, ...] = ()
    gauge_axes: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()
    length: float = HELPER_LENGTH
    limb: Limb | None = None

    @property
    def frame(self) -> str:
        """The bone whose rest axes it has; see `pipeline.bones.helper_bones.Helper.frame`."""
        return self.parent if self.side and self.share < 0.5 else self.child

    @property
    def measures(self) -> list[HelperBone]:
        """The gauges that it needs: they do not deform."""
        follows = [] if not self.gauge else [self._measuring()]
        if self.limb is not None:
            follows.append(self._along_limb(*self.limb))
        return follows + [
            HelperBone(turn.gauge, turn.above, turn.below, 1.0, axes=self.axes)
            for turn in self.turns
        ]

    def _measuring(self) -> HelperBone:
        share = 1.0 if self.side or self.twisting else GAUGE_SHARE
        return HelperBone(self.gauge, self.parent, self.child, share, axes=self.gauge_axes)

    def _along_limb(self, bone: str, axes: tuple[float, ...], length: float) -> HelperBone:
        at_head = (0.0, 0.0, 0.0)
        return HelperBone(self.anchor, bone, bone, 1.0, axes=axes, offset=at_head, length=length)


def helper_names(armature: bpy.types.Object) -> list[str]:
    """The helper bones of an armature."""
    return [bone.name for bone in armature_of(armature).bones if is_helper_bone(bone)]


def add_helpers(armature: bpy.types.Object, helpers: Sequence[HelperBone]) -> None:
    """Add helper bones, at rest at the heads of their children, in a hidden bone collection.

    Args:
        armature: of this file, not in Edit Mode; no bone of it has the name of a helper. Gauges
            that it has serve.

    Raises:
        UserError: it cannot go into Edit Mode; nothing has changed then.
    """
    gauges = _gauges(armature, helpers)
    with edited_bones(armature) as bones:
        for helper in helpers:
            # What a bone follows is there before it: a twist bone before the gauges of its joints.
            for each in (*helper.measures, helper):
                if each.name not in bones:
                    _new_bone(bones, each)
    collection = _collection(armature)
    for helper in (*gauges, *helpers):
        bone = armature_of(armature).bones[helper.name]
        bone[HELPER_PROPERTY] = b"1"  # bytes: glTF leaves them out
        bone.use_deform = helper not in gauges
        for other in list(bone.collections):
            other.unassign(bone)
        collection.assign(bone)
        pose_bone = armature.pose.bones[helper.name]
        pose_bone.rotation_mode = "QUATERNION"
        _keep_at_rest(pose_bone)
        _follow(pose_bone, armature, helper)
        if helper.side:
            _narrow(pose_bone, armature, helper)
        elif helper.twisting:
            twist = Turn(helper.gauge, helper.parent, helper.child, helper.twisting)
            _turn(pose_bone, armature, twist)
        elif helper.gauge:
            _scale(pose_bone, armature, helper)
        for turn in helper.turns:
            _turn(pose_bone, armature, turn)


def _gauges(armature: bpy.types.Object, helpers: Sequence[HelperBone]) -> list[HelperBone]:
    """The gauges that helpers need and an armature does not have."""
    needed = {gauge.name: gauge for helper in helpers for gauge in helper.measures}
    known = armature_of(armature).bones
    return [gauge for name, gauge in needed.items() if name not in known]


def _new_bone(bones: bpy.types.ArmatureEditBones, helper: HelperBone) -> None:
    """Add the bone of a helper, at rest."""
    frame = bones[helper.frame]
    bone = bones.new(helper.name)
    child = bones[helper.child]
    bone.tail = (0.0, helper.length * child.length, 0.0)
    bone.matrix = frame.matrix
    # As in `pipeline.bones.helper_bones.helper_heads`.
    axis = bones[helper.anchor] if helper.anchor else child
    head = axis.head + (helper.along if helper.anchor else _BESIDE) * (axis.tail - axis.head)
    if helper.axes:
        rows = [helper.axes[start : start + 3] for start in (0, 3, 6)]
        bone.matrix = Matrix.LocRotScale(bone.head.to_tuple(), Matrix(rows), None)
        head = child.head + _BESIDE * child.length * bone.y_axis
    if helper.offset:
        head = child.head + child.length * Vector(helper.offset)
    bone.translate(head - frame.head)
    bone.parent = bones[helper.parent]
    bone.use_connect = False


def remove_helpers(armature: bpy.types.Object, names: Collection[str]) -> None:
    """Remove helper bones, and their collection when it is empty then.

    Raises:
        UserError: the armature cannot go into Edit Mode; nothing has changed then.
    """
    if names:
        with edited_bones(armature) as bones:
            for name in names:
                bones.remove(bones[name])
    collections = armature_of(armature).collections
    collection = collections.get(COLLECTION)
    if collection is not None and not len(collection.bones):
        collections.remove(collection)


def gauges_of(armature: bpy.types.Object, helper: str) -> set[str]:
    """The names of the gauges of a helper bone."""
    found: list[Any] = list(armature.pose.bones[helper].constraints)
    kinds = ("COPY_SCALE", "TRANSFORM", "COPY_LOCATION")
    return {each.subtarget for each in found if each.type in kinds}


def _collection(armature: bpy.types.Object) -> bpy.types.BoneCollection:
    collections = armature_of(armature).collections
    known = collections.get(COLLECTION)
    if known is not None:
        return known
    collection = collections.new(COLLECTION)
    collection.is_visible = False
    return collection


def _constrain(bone: bpy.types.PoseBone, kind: str, name: str, **settings: object) -> Any:
    """A new constraint of a bone with these settings, which are made in their order."""
    constraint: Any = bone.constraints.new(cast("Any", kind))
    constraint.name = name
    for setting, value in settings.items():
        setattr(constraint, setting, value)
    return constraint


def _keep_at_rest(bone: bpy.types.PoseBone) -> None:
    """Let limits put a bone where it rests in the armature."""
    rest = cast("Any", bone.bone.matrix_local)
    for kind, name, use, values in (
        ("LIMIT_LOCATION", "Rest Location", "use_{bound}_{axis}", tuple(rest.translation)),
        ("LIMIT_ROTATION", "Rest Rotation", "use_limit_{axis}", tuple(rest.to_euler("XYZ"))),
        ("LIMIT_SCALE", "Rest Scale", "use_{bound}_{axis}", (1.0, 1.0, 1.0)),
    ):
        limit = _constrain(bone, kind, name, owner_space="POSE")
        if kind == "LIMIT_ROTATION":
            limit.euler_order = "XYZ"
        for axis, value in zip(_AXES, values, strict=True):
            for bound in ("min", "max"):
                setattr(limit, use.format(bound=bound, axis=axis), True)
                setattr(limit, f"{bound}_{axis}", value)


def _follow(bone: bpy.types.PoseBone, armature: bpy.types.Object, helper: HelperBone) -> None:
    """Let a bone that is kept at rest follow the blend of two bones, and its head an anchor."""
    blend = _constrain(bone, "ARMATURE", "Blend", use_deform_preserve_volume=bone.bone.use_deform)
    for name, weight in ((helper.parent, 1.0 - helper.share), (helper.child, helper.share)):
        target = blend.targets.new()
        target.target, target.subtarget, target.weight = armature, name, weight
    if helper.anchor:
        anchor = _constrain(bone, "COPY_LOCATION", "Anchor", target=armature)
        anchor.subtarget, anchor.head_tail = helper.anchor, helper.along


def _scale(bone: bpy.types.PoseBone, armature: bpy.types.Object, helper: HelperBone) -> None:
    """Let a bone shrink with its gauge, and grow as that shrinks, as the parent sees the gauge."""
    for name, power, uniform in (
        ("Shrink", helper.shrink, True),
        ("Growth", -helper.growth, False),
    ):
        if power:
            scale = _constrain(bone, "COPY_SCALE", name, target=armature, subtarget=helper.gauge)
            scale.use_make_uniform, scale.power = uniform, power
            scale.use_offset, scale.use_add = True, False
            scale.owner_space, scale.target_space = "WORLD", "CUSTOM"
            scale.space_object, scale.space_subtarget = armature, helper.parent


def _narrow(bone: bpy.types.PoseBone, armature: bpy.types.Object, helper: HelperBone) -> None:
    """Let a bone become narrower with the bend that its gauge measures, to one side."""
    axis, sign = helper.side[-1].lower(), -1.0 if helper.side[0] == "-" else 1.0
    found = _measured(bone, armature, helper.gauge, "Narrow", axis, (0.0, sign * MOST_BEND))
    # The skin between two bones turns about the axis of the whole turn, a twist included.
    found.from_rotation_mode = "QUATERNION"
    found.map_to, found.mix_mode_scale = "SCALE", "MULTIPLY"
    least, most = (1.0, 1.0 - helper.narrowing * MOST_BEND)
    if sign < 0.0:
        least, most = most, least
    for to in "xz":
        setattr(found, f"map_to_{to}_from", axis.upper())
        setattr(found, f"to_min_{to}_scale", least)
        setattr(found, f"to_max_{to}_scale", most)


def _turn(bone: bpy.types.PoseBone, armature: bpy.types.Object, turn: Turn) -> None:
    """Let a bone turn about its Y axis with the twist that a gauge measures."""
    name = f"Twist of {turn.below}"
    found = _measured(bone, armature, turn.gauge, name, "y", (-math.pi, math.pi))
    found.map_to, found.mix_mode_rot = "ROTATION", "AFTER"
    found.map_to_y_from = "Y"
    found.to_min_y_rot, found.to_max_y_rot = -turn.factor * math.pi, turn.factor * math.pi


def _measured(
    bone: bpy.types.PoseBone,
    armature: bpy.types.Object,
    gauge: str,
    name: str,
    axis: str,
    angles: tuple[float, float],
) -> Any:
    """A constraint that maps how far a gauge is turned against its parent, about one of its axes.

    Args:
        axis: "x" to "z".
        angles: radians, from which it maps.
    """
    found = _constrain(
        bone,
        "TRANSFORM",
        name,
        target=armature,
        subtarget=gauge,
        owner_space="POSE",
        target_space="LOCAL",
        map_from="ROTATION",
        from_rotation_mode="SWING_TWIST_Y",
    )
    setattr(found, f"from_min_{axis}_rot", min(angles))
    setattr(found, f"from_max_{axis}_rot", max(angles))
    return found
