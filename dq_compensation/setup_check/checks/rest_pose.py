"""Check: the rest pose is like some pose of the actions.

Weights are painted for the rest pose. A joint that is bent far from it in every frame, or pulled
off the bone before it, never shows the shape that was modelled. It comes from files whose rest pose
is a frame of another motion, or whose bones have other axes than those that were keyed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np

from ...arrays import Float64s, Floats
from ...scene.blender.animation_curves import PlayedAction, all_actions, bone_curves, key_points
from ...scene.blender.scenes import length_words, object_millimetres
from ...wording import counted, listed
from ..fixes.bone_motion import BoneMotion
from ..issue import Check, Issue
from ..subject import Subject

# Rotations from rest in degrees: arms of a T-pose hang at 90, knees of somebody who sits have up to
# 110. Beyond the second no limb bends: skin goes through itself.
_FAR, _TOO_FAR = 110.0, 140.0
# Ways off the bone before, in radii of the skin at the joint, likewise.
_OFF, _TOO_FAR_OFF = 1.0, 2.0
# So many keyed frames of an action are looked at, where the first ones are far from rest.
_MOST_FRAMES = 200


@dataclass(frozen=True)
class _Apart:
    """How far a bone is from rest, against the bone before: degrees, and armature space."""

    angle: float
    way: float
    radius: float

    @property
    def amount(self) -> float:
        """Above 1 where it is far."""
        return max(self.angle / _FAR, self.way / (_OFF * self.radius))

    @property
    def is_too_far(self) -> bool:
        """Whether no limb is like that."""
        return self.angle > _TOO_FAR or self.way > _TOO_FAR_OFF * self.radius


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for the bones that no frame of any action brings near to the rest pose."""
    armature = subject.find_rig()
    if armature is None or armature.pose is None or subject.rest_in_armature is None:
        return
    actions = all_actions(armature)
    radii = _radii(subject, armature) if actions and subject.misplacement is None else {}
    nearest = {bone: _Apart(np.inf, np.inf, radius) for bone, radius in radii.items()}
    for played in actions:
        nearest = _nearest(armature, played, nearest)
        if not nearest:
            return
    if not nearest:
        return
    scene = bpy.context.scene
    unit = object_millimetres(armature, scene)
    bones = sorted(nearest, key=lambda bone: -nearest[bone].amount)
    described = []
    for bone, apart in ((bone, nearest[bone]) for bone in bones):
        measures = [f"{apart.angle:.0f} degrees"] if apart.angle > _FAR else []
        if apart.way > _OFF * apart.radius:
            measures.append(length_words(apart.way * unit, scene))
        described.append(f"{bone} ({' and '.join(measures)})")
    message = (
        f"In every frame of {listed([each.action.name for each in actions])}, "
        f"{counted(len(bones), 'bone')} of {armature.name} {'is' if len(bones) == 1 else 'are'} "
        f"far from the rest pose, at least so far: {listed(described)}. Skin that is always bent "
        "or pulled like that never has the shape that was modelled. See whether the rest pose is "
        "the one that was skinned, and whether the actions were made for these bones."
    )
    severity = "WARNING" if any(each.is_too_far for each in nearest.values()) else "INFORMATION"
    yield Issue("unlike", severity, message, tuple(bones), amount=nearest[bones[0]].amount)


def _radii(subject: Subject, armature: bpy.types.Object) -> dict[str, float]:
    """The bones that channels alone move against the bone before, with the radius of their skin."""
    skinned, names = subject.skinned_joints, subject.skeleton.names
    found = {}
    for bone, radius in zip(skinned.bones.tolist(), skinned.radii.tolist(), strict=True):
        posed = armature.pose.bones[names[bone]]
        before = posed.parent
        moved = before is not None and before.name in subject.moving_bones
        if moved and not len(posed.constraints) and posed.bone.use_inherit_rotation:
            found[posed.name] = radius
    return found


def _nearest(
    armature: bpy.types.Object, played: PlayedAction, before: dict[str, _Apart]
) -> dict[str, _Apart]:
    """The bones that stay far in an action, too; how near they come in it, or in others before."""
    keys: dict[str, list[Floats]] = {}
    for curve in bone_curves([played]):
        if curve.bone in before:
            keys.setdefault(curve.bone, []).append(key_points(curve.curve)[:, 0])
    found = {}
    for bone, times in keys.items():
        frames = np.unique(np.concatenate(times))
        # One frame of most is near.
        for some in (frames[:1], frames[:: len(frames) // _MOST_FRAMES + 1]):
            apart = _least(BoneMotion(armature, some, played).basis(bone), before[bone])
            if apart.amount <= 1.0:
                break
        else:
            found[bone] = apart
    return found


def _least(matrices: Float64s, before: _Apart) -> _Apart:
    """The pose that is nearest to rest, of matrices (f, 4, 4) in a bone's own space, or before."""
    linear = matrices[:, :3, :3]
    turned = linear / np.maximum(np.linalg.norm(linear, axis=1, keepdims=True), 1e-30)
    cosines = (np.trace(turned, axis1=1, axis2=2) - 1.0) / 2.0
    angles = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    ways = np.linalg.norm(matrices[:, :3, 3], axis=1)
    each = [
        _Apart(*both, before.radius) for both in zip(angles.tolist(), ways.tolist(), strict=True)
    ]
    return min((before, *each), key=lambda apart: apart.amount)


CHECK = Check("rest_pose", find, about_bones=True)
