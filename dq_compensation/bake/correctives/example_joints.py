"""The example poses of a character as the poses in which it gets corrective shape keys."""

from __future__ import annotations

import bpy

from ...analysis.corrective_joints import CorrectiveJoint, ExampleJoint, JointPose
from ...core.dual_quaternion import (
    concatenate_quaternions,
    quaternion_conjugate,
    quaternions_from_matrices,
)
from ...core.skeleton import Skeleton
from ...errors import UserError
from ...scene.binding.binding import Binding
from ...scene.binding.stored_examples import ExampleItem, example_bone
from ...scene.settings.object_settings import Settings, settings_of

REFUSAL_NOT_BY_EXAMPLE = "{obj} does not use its example poses now. Choose the method By Example."


def example_joints(obj: bpy.types.Object, binding: Binding) -> list[CorrectiveJoint]:
    """A joint for each bone with example poses that act, with the weights that they have.

    Raises:
        UserError: there are none, or the method is another one.
    """
    if not Settings.of(obj).by_example:
        raise UserError(REFUSAL_NOT_BY_EXAMPLE.format(obj=obj.name))
    limb_axis = settings_of(obj).limb_axis
    by_bone: dict[str, list[ExampleItem]] = {}
    for place in binding.examples(limb_axis).items:
        item = binding.example_items[int(place)]
        by_bone.setdefault(item.bone, []).append(item)
    if not by_bone:
        raise UserError(f"{obj.name} has no example poses that can act. Add some first.")
    skeleton = binding.skeleton
    limbs = skeleton.limb_directions(limb_axis)
    joints: list[CorrectiveJoint] = []
    for name, items in by_bone.items():
        bone = skeleton.names.index(name)
        x, y, z = (skeleton.rest[bone, :3, :3].T @ limbs[bone]).tolist()
        limb = None if items[0].twists else (x, y, z)
        joints.append(ExampleJoint(name, _poses(bone, items, skeleton), items[0].sigma, limb))
    return joints


def _poses(bone: int, items: list[ExampleItem], skeleton: Skeleton) -> tuple[JointPose, ...]:
    """The rotations of a bone in its rest axes."""
    rest = quaternions_from_matrices(skeleton.rest[bone : bone + 1, :3, :3])[0]
    turned = example_bone(bone, items, skeleton).rotations
    local = concatenate_quaternions(
        quaternion_conjugate(rest), concatenate_quaternions(turned, rest)
    )
    poses = []
    for item, (w, x, y, z) in zip(items, local.tolist(), strict=True):
        label = item.name.removeprefix(item.bone).strip() or item.name
        poses.append(JointPose(label, (w, x, y, z)))
    return tuple(poses)
