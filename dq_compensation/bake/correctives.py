"""Corrective shape keys: our deformation in poses of single bones, driven by these bones.

In three parts, as for a range of frames: `gather` only reads, `write` changes the object at once,
`verify` looks at the result. A key holds what Blender's Armature modifier lacks with one bone
turned and every other at rest, on the basis shape. Keys of several bones add up, which is exact
where their joints share no vertices; where they do, `verify` says how far it is off.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.corrective_joints import CorrectiveJoint, Quaternion
from ..core.forward_kinematics import posed_matrices
from ..core.pose_interpolation import PosesTooClose
from ..scene.setup import rig_of
from .corrective_names import corrective_name
from .drivers import drive_keys, keys_alike, release_key
from .errors import BakeError
from .free_copies import FreeCopies, free_copies, pose_of
from .key_animation import remove_curves
from .shape_keys import remove_keys, write_key
from .source import Source, millimetres
from .trial_motion import poses_at_once, poses_of_joint
from .verification import Deviation, deviation_from

PROBLEM_DOUBLE = (
    "The shape keys {names} of {obj} correct {bone} already. Turn on Replace Earlier Bake, or "
    "remove them."
)
PROBLEM_CLOSE = "{first} and {second} of {bone} are nearly the same pose. Leave one of them out."


@dataclass(frozen=True, eq=False)
class GatheredJoint:
    """The offsets of one joint's poses, before anything is written.

    Attributes:
        joint: with k poses.
        offsets: k arrays of shape (n, 3), float32, object space; None where too little moves.
        unreached: shape (n,), bool; vertices that do not get where they should in some pose.
    """

    joint: CorrectiveJoint
    offsets: tuple[NDArray[np.float32] | None, ...]
    unreached: NDArray[np.bool_]


@dataclass(frozen=True)
class Verdict:
    """How far Blender's own Armature modifier is from our deformation in a test motion.

    Attributes:
        before, after: without and with the keys, one bone at a time, between the poses of the keys.
        before_at_once, after_at_once: all of the bones turned together, at random in their ranges.
    """

    before: Deviation = field(default_factory=Deviation)
    after: Deviation = field(default_factory=Deviation)
    before_at_once: Deviation = field(default_factory=Deviation)
    after_at_once: Deviation = field(default_factory=Deviation)


def correctives_problem(
    onto: bpy.types.Object, joints: Sequence[CorrectiveJoint], pattern: str, *, overwrite: bool
) -> str | None:
    """Why these joints cannot get keys on an object, apart from `keys_problem`, or None.

    Raises:
        BakeError: the pattern cannot be used, or two poses are the same.
    """
    for joint in joints:
        for pose in joint.poses:
            corrective_name(pattern, joint.bone, pose.label)
        try:
            joint.weights(np.array([pose.rotation for pose in joint.poses]))
        except PosesTooClose as error:
            labels = ("Rest", *(pose.label for pose in joint.poses))
            raise BakeError(
                PROBLEM_CLOSE.format(
                    first=labels[error.first], second=labels[error.second], bone=joint.bone
                )
            ) from error
        known = keys_alike(onto, joint)
        if known and not overwrite:
            return PROBLEM_DOUBLE.format(names=", ".join(known[:3]), obj=onto.name, bone=joint.bone)
    return None


def gather(
    source: Source, joints: Sequence[CorrectiveJoint], tolerance: float = 0.0
) -> Generator[int, None, list[GatheredJoint]]:
    """The offsets of every pose of every joint; yields how many poses are done. Changes nothing.

    Args:
        source: the character.
        joints: on its bones.
        tolerance: in millimetres; poses in which no vertex needs a longer offset get no key.

    Raises:
        BakeError: a pose cannot be evaluated.
    """
    skeleton = source.binding.skeleton
    place = {name: index for index, name in enumerate(skeleton.names)}
    least = tolerance / millimetres(source.obj, bpy.context.scene)
    gathered: list[GatheredJoint] = []
    done = 0
    for joint in joints:
        offsets: list[NDArray[np.float32] | None] = []
        unreached = np.zeros(source.vertex_count, np.bool_)
        for pose in joint.poses:
            matrices = posed_matrices(skeleton, {place[joint.bone]: pose.rotation})
            found = source.offsets(bpy.context.evaluated_depsgraph_get(), matrices)
            longest = float(np.linalg.norm(found.offsets, axis=1).max(initial=0.0))
            offsets.append(found.offsets if longest > least else None)
            unreached |= found.unreached
            done += 1
            yield done
        gathered.append(GatheredJoint(joint, tuple(offsets), unreached))
    return gathered


def write(
    onto: bpy.types.Object,
    gathered: Sequence[GatheredJoint],
    pattern: str,
    *,
    overwrite: bool = False,
) -> list[str]:
    """Write the keys and their drivers.

    Args:
        onto: a mesh object to which `correctives_problem` and `keys_problem` have nothing to
            say.
        gathered: from `gather`.
        pattern: of the names; see `corrective_name`.
        overwrite: remove the correctives that these bones have first.

    Returns:
        the names of the keys.
    """
    armature = rig_of(onto)
    if overwrite:
        old = {name: None for found in gathered for name in keys_alike(onto, found.joint)}
        for name in old:
            release_key(onto, name)
        remove_curves(onto, old)
        remove_keys(onto, old)
    written: list[str] = []
    for found in gathered:
        names = [
            write_key(onto, corrective_name(pattern, found.joint.bone, pose.label), offsets).name
            if offsets is not None
            else None
            for pose, offsets in zip(found.joint.poses, found.offsets, strict=True)
        ]
        drive_keys(onto, armature, found.joint, names)
        written.extend(name for name in names if name is not None)
    return written


def verify(
    onto: bpy.types.Object,
    source: Source,
    joints: Sequence[CorrectiveJoint],
    key_names: Sequence[str],
    scene: bpy.types.Scene,
) -> Generator[int, None, Verdict]:
    """Pose copies of the baked character and compare Blender's own modifier with our deformation.

    The copies are gone when the generator ends or is closed. Yields how many per cent are
    done.

    Args:
        onto: the baked object.
        source: what was baked.
        joints: the baked ones.
        key_names: of the keys.
        scene: the current one.
    """
    singles = [pose for joint in joints for pose in poses_of_joint(joint)]
    together = poses_at_once(joints)
    before, after = [Deviation(), Deviation()], [Deviation(), Deviation()]
    with free_copies(onto, key_names, source.target, scene) as copies:
        for done, rotations in enumerate((*singles, *together)):
            one, other = _compare(copies, source, rotations, scene)
            at_once = int(done >= len(singles))
            before[at_once] = before[at_once].and_also(one)
            after[at_once] = after[at_once].and_also(other)
            yield round(100 * (done + 1) / (len(singles) + len(together)))
    return Verdict(before[0], after[0], before[1], after[1])


def _compare(
    copies: FreeCopies,
    source: Source,
    rotations: Mapping[str, Quaternion],
    scene: bpy.types.Scene,
) -> tuple[Deviation, Deviation]:
    """The deviations of the copies without and with keys from ours, in one pose."""
    copies.pose(rotations)
    matrices = pose_of(copies, source.binding.pose_order)
    _, wanted = source.wanted(bpy.context.evaluated_depsgraph_get(), matrices)
    return (
        deviation_from(wanted, copies.plain, copies.depsgraph, scene),
        deviation_from(wanted, copies.corrected, copies.depsgraph, scene),
    )
