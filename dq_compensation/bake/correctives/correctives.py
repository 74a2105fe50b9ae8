"""Corrective shape keys: our deformation in poses of single bones, driven by these bones.

In three parts, as for a range of frames: `gather` only reads, `write` changes the object at once,
`verify` looks at the result. A key holds what Blender's Armature modifier lacks with one bone
turned and every other at rest, on the basis shape. Keys of several bones add up, which is exact
where their joints share no vertices; where they do, `verify` says how far it is off.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.corrective_joints import CorrectiveJoint, Quaternion
from ...analysis.forward_kinematics import posed_matrices
from ...core.radial_basis import PosesTooClose
from ...errors import UserError
from ...scene.blender.rigging import rig_of
from ...scene.blender.units import object_millimetres
from ...scene.copies.free_copies import FreeCopies, free_copies
from ...scene.shape_keys.corrective_drivers import drive_keys
from ...scene.shape_keys.key_animation import remove_curves
from ...scene.shape_keys.key_writing import remove_keys, write_key
from ...wording import listed
from ..acting_keys import corrective_keys
from ..bake_reports import Verdict
from ..bake_source import Source
from ..key_names import corrective_name
from ..verification import Deviation, deviation_from
from .verification_poses import poses_at_once, poses_of_joint

REFUSAL_CLOSE = "{first} and {second} of {bone} are nearly the same pose. Leave one of them out."


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


def correctives_refusal(
    onto: bpy.types.Object, joints: Sequence[CorrectiveJoint], pattern: str, *, overwrite: bool
) -> str | None:
    """Why these joints cannot get keys on an object, apart from `keys_refusal`, or None.

    Raises:
        UserError: the pattern cannot be used, or two poses are the same.
    """
    for joint in joints:
        for pose in joint.poses:
            corrective_name(pattern, joint.bone, pose.label)
        try:
            joint.weights(np.array([pose.rotation for pose in joint.poses]))
        except PosesTooClose as error:
            labels = ("Rest", *(pose.label for pose in joint.poses))
            raise UserError(
                REFUSAL_CLOSE.format(
                    first=labels[error.first], second=labels[error.second], bone=joint.bone
                )
            ) from error
        known = corrective_keys(onto, joint)
        if known and not overwrite:
            return (
                f"The shape keys {listed(known)} of {onto.name} correct {joint.bone} already. Turn "
                "on Replace Earlier Bake, or remove them."
            )
    return None


def gather(
    source: Source, joints: Sequence[CorrectiveJoint], tolerance: float = 0.0
) -> Generator[float, None, list[GatheredJoint]]:
    """The offsets of every pose of every joint; yields the part that is done. Changes nothing.

    Args:
        tolerance: in millimetres; poses in which no vertex needs a longer offset get no key.

    Raises:
        UserError: a pose cannot be evaluated.
    """
    skeleton = source.binding.skeleton
    place = {name: index for index, name in enumerate(skeleton.names)}
    least = tolerance / object_millimetres(source.obj, bpy.context.scene)
    gathered: list[GatheredJoint] = []
    done, count = 0, sum(len(joint.poses) for joint in joints)
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
            yield done / count
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
        onto: a mesh object without a `correctives_refusal` and a `keys_refusal`.
        pattern: of the names; see `corrective_name`.
        overwrite: remove the correctives that these bones have first.

    Returns:
        the names of the keys.
    """
    armature = rig_of(onto)
    if overwrite:
        old = {name: None for found in gathered for name in corrective_keys(onto, found.joint)}
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
) -> Generator[float, None, Verdict]:
    """Pose copies of the baked character and compare Blender's own modifier with our deformation.

    The copies are gone when the generator ends or is closed. Yields the part that is done.
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
            yield (done + 1) / (len(singles) + len(together))
    return Verdict(before[0], after[0], before[1], after[1])


def _compare(
    copies: FreeCopies, source: Source, rotations: Mapping[str, Quaternion], scene: bpy.types.Scene
) -> tuple[Deviation, Deviation]:
    """The deviations of the copies without and with keys from ours, in one pose."""
    copies.pose(rotations)
    matrices = source.binding.pose_matrices(copies.armature.evaluated_get(copies.depsgraph))
    _, wanted = source.wanted(bpy.context.evaluated_depsgraph_get(), matrices)
    return (
        deviation_from(wanted, copies.plain, copies.depsgraph, scene),
        deviation_from(wanted, copies.corrected, copies.depsgraph, scene),
    )
