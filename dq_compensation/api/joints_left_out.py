"""The joints that a report does not bend, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..analysis.joint_quality import JointBend
from ..core.body_tree import body_parents
from ..core.limb_joints import LimbJoints
from ..core.skeleton import Skeleton
from ..core.supports import limb_pieces
from ..scene.binding.binding import Binding
from ..scene.blender.bone_names import bone_side
from .character_report import LeftOut

_PIECES = "pieces of an arm or a leg"
_ANOTHER_PART = "another part of the body begins there"
_LITTLE_SKIN = "too little skin bends there"
_NO_JOINT = "they have no joint that moves skin"
# The confidence (`hinge_confidence`) below which a bone begins another part of the body.
_SURE = 0.5
# Of an arm or a leg, the length of its other half, in lengths of this one, is at least this.
_OTHER_HALF = 0.5


def without_twist_joints(bends: Sequence[JointBend]) -> tuple[list[JointBend], list[LeftOut]]:
    """The joints that bend, and the bones behind those between pieces of one half of a limb."""
    twists = [bend for bend in bends if _is_twist_joint(bend)]
    names = [bend.limbs.skeleton.names[bend.limbs.children[bend.joint]] for bend in twists]
    return [bend for bend in bends if bend not in twists], _reasons({_PIECES: names})


def bones_without_bends(
    binding: Binding, limbs: LimbJoints, bends: Sequence[JointBend], wanted: Iterable[str]
) -> list[LeftOut]:
    """The bones whose joints cannot be measured.

    Args:
        limbs: those of the compensation.
        bends: the joints that can be measured.
        wanted: names of bones; empty: all bones that have a joint.
    """
    skeleton = limbs.skeleton
    moves = binding.influences.moving_bones(skeleton.bone_count)
    parents = body_parents(skeleton, binding.influences, limbs.mesh_parents, binding.bone_sides)
    has_joint = moves & (parents >= 0)
    confidence = np.zeros(skeleton.bone_count)
    np.maximum.at(confidence, limbs.children, limbs.hinge_confidence)
    measured = {int(limbs.children[bend.joint]) for bend in bends}
    wanted = frozenset(wanted)
    found: dict[str, list[str]] = {_ANOTHER_PART: [], _LITTLE_SKIN: [], _NO_JOINT: []}
    for bone, name in enumerate(skeleton.names):
        if bone in measured or not (name in wanted if wanted else has_joint[bone]):
            continue
        reason = _LITTLE_SKIN if confidence[bone] >= _SURE else _ANOTHER_PART
        found[reason if has_joint[bone] else _NO_JOINT].append(name)
    return _reasons(found)


def _reasons(names: dict[str, list[str]]) -> list[LeftOut]:
    return [LeftOut(reason, tuple(bones)) for reason, bones in names.items() if bones]


def _is_twist_joint(bend: JointBend) -> bool:
    """Whether a joint is between two pieces of one half of an arm or a leg.

    The other half tells them from the two halves themselves, which may be called Leg1 and Leg2. The
    joints of fingers are alike, but nothing follows the last piece; a spine has no side.
    """
    skeleton, child = bend.limbs.skeleton, int(bend.limbs.children[bend.joint])
    pieces = limb_pieces(child, skeleton)
    if int(bend.limbs.parents[bend.joint]) not in pieces or not bone_side(skeleton.names[child]):
        return False
    below = {bone for bone, parent in enumerate(skeleton.parents) if parent in pieces} - pieces
    above = {int(skeleton.parents[bone]) for bone in pieces} - pieces - {-1}
    return bool(below) and any(
        bone_side(skeleton.names[bone]) == bone_side(skeleton.names[child])
        and _length(limb_pieces(bone, skeleton), skeleton)
        >= _OTHER_HALF * _length(pieces, skeleton)
        for bone in above | below
    )


def _length(pieces: set[int], skeleton: Skeleton) -> float:
    """How far the farthest end of pieces of a limb is from where the first one begins."""
    bones = sorted(pieces)
    return float(np.linalg.norm(skeleton.tails[bones] - skeleton.heads[bones[0]], axis=1).max())
