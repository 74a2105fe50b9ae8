"""Check: bones that continue one another on the mesh do so in the hierarchy.

Compensation acts between a bone and its descendants. Where a bone has no parent, as in flat
skeletons, and where all bones of a finger hang on the hand, joints are found from the mesh, unless
that is switched off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...analysis.limbs import Gap, Limbs, find_gaps, joints_of
from ...arrays import Float64s
from ...scene.blender.animation_curves import (
    PlayedAction,
    bone_curves,
    bone_drivers,
    key_linearly,
    key_points,
)
from ...scene.blender.armature import armature_of, is_helper_bone
from ...scene.blender.bone_editing import edited_bones
from ...scene.settings.object_settings import Settings, settings_of
from ...scene.stack import find_rig
from ...wording import counted, listed, listed_bones
from ..fixes.armature_actions import actions_of, objects_with
from ..fixes.bone_dependents import (
    all_constraints,
    bones_that_move,
    chain_reasons,
    driver_reasons,
    inherits_as_usual,
    require_no_reasons,
    scaled_bones,
)
from ..fixes.bone_motion import BoneMotion, curves_by_channel, every_frame, rotation_channel
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject

_ENDS_MEET, _BY_WEIGHTS = "ends_meet", "by_weights"
# Bones of a control rig: constraints place the first kind, control bones carry the second kind.
_CONTROLLED, _CARRIED = "controlled", "carried"


def find(subject: Subject) -> Iterator[Issue]:
    """Bones without their parent, by the evidence for it; compensation needs the parent."""
    settings = Settings.of(subject.obj)
    if (
        subject.rest_in_armature is None
        or not settings.compensates
        or subject.misplacement is not None
    ):
        return
    gaps, limbs = _gaps(subject)
    closes = settings.use_mesh_joints and settings.acts("use_mesh_joints")
    for key in _REASONS:
        if key in gaps:
            joints = joints_of(gaps[key], limbs) if closes else []
            yield _issue(subject, key, gaps[key], len(joints))


def _gaps(subject: Subject) -> tuple[dict[str, list[Gap]], Limbs]:
    """The gaps of the hierarchy by how they were found, without helper bones of a bake."""
    names, bones = subject.skeleton.names, armature_of(subject.rig).bones
    limbs, found = Limbs.of(subject.skin.with_whole_limbs), dict[str, list[Gap]]()
    for gap in find_gaps(limbs):
        if not any(is_helper_bone(bones[names[bone]]) for bone in (gap.parent, gap.child)):
            found.setdefault(_key_of(subject, gap), []).append(gap)
    return found, limbs


def _key_of(subject: Subject, gap: Gap) -> str:
    """How the gap was found. A control rig has its own reasons for the parents of its bones."""
    bone = subject.rig.pose.bones.get(subject.skeleton.names[gap.child])
    if bone is not None and len(bone.constraints):
        return _CONTROLLED
    while bone is not None and bone.parent is not None and not bone.parent.bone.use_deform:
        bone = bone.parent
        if len(bone.constraints):
            return _CARRIED
    return _ENDS_MEET if gap.touches else _BY_WEIGHTS


def _issue(subject: Subject, key: str, gaps: list[Gap], joints: int) -> Issue:
    """The issue of gaps, of which compensation closes so many by joints of the mesh."""
    names, armature = subject.skeleton.names, subject.rig.name
    pairs = [f"{names[gap.child]} to {names[gap.parent]}" for gap in gaps]
    vertices = np.unique(np.concatenate([gap.vertices for gap in gaps]))
    bones = tuple(names[gap.child] for gap in gaps)
    joined = [f"{names[gap.parent]} and {names[gap.child]}" for gap in gaps]
    between = listed_bones(bones, joined)
    message = (
        f"{'Between' if joints else 'No compensation between'} {between}: they share "
        f"{len(vertices)} vertices, but neither is above the other in {armature}. {_REASONS[key]}"
    )
    if joints:
        where = "" if joints == len(gaps) else f" at {joints} of these {len(gaps)}"
        message += f" Joints are found from the mesh{where}: new parents are optional."
    fixes: tuple[Fix, ...] = ()
    if key in _QUESTIONS:
        question = (
            f"{_QUESTIONS[key]} {listed_bones(bones, pairs)}. Every bone moves as it did on every "
            f"frame, but the bones are keyed on every frame in the actions of {armature} and "
            "between frames they may differ a little. Afterwards they follow their new parents."
        )
        tooltip = "Parent each bone to the one that it continues, keeping pose and animation"
        fixes = (Fix("parent_bones", "Parent Bones", tooltip, question),)
    severity = "INFORMATION" if joints or key in {_CONTROLLED, _CARRIED} else "WARNING"
    return Issue(key, severity, message, bones, vertices, fixes)


_REASONS = {
    _ENDS_MEET: "One starts where the other ends.",
    _BY_WEIGHTS: "Their weights meet at the head of one.",
    _CONTROLLED: "Constraints of a control rig move them together.",
    _CARRIED: "Control bones carry them: parent them in the control rig, if it allows that.",
}
_QUESTIONS = {
    _ENDS_MEET: "Bones get new parents:",
    _BY_WEIGHTS: "The weights suggest new parents; check that they are right:",
    _CONTROLLED: "Bones of a control rig get new parents until it is generated again:",
}


def _parents(subject: Subject, issue: Issue) -> dict[str, str]:
    names = subject.skeleton.names
    gaps = _gaps(subject)[0][issue.key]
    return {names[gap.child]: names[gap.parent] for gap in gaps}


def _parent_bones(subject: Subject, issue: Issue) -> Repair:
    parents = _parents(subject, issue)
    require_parentable(subject.rig, parents)
    yield
    return parent_bones(subject.rig, parents)


# Axes that are less square than this are sheared: no rotation and scale could give them. Rest bones
# that point against Y come out of Blender up to 6e-5 from square.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class _Rewrite:
    """The new channels of one bone of one armature object: at keys of an action, or in its pose."""

    owner: bpy.types.Object
    bone: str
    played: PlayedAction | None
    frames: Float64s
    channels: dict[str, Float64s]


def parent_bones(armature: bpy.types.Object, parents: dict[str, str]) -> str:
    """Give bones new parents, keeping where every bone is in the pose and on whole frames.

    Returns what was done, with numbers.
    A bone that moves itself or whose old or new parents are keyed in an action is keyed there on
    every frame. A bone that a constraint puts to where another one is keeps its channels.

    Args:
        parents: the names of the new parents by the names of the bones; no cycles.

    Raises:
        FixError: the motion of a bone could not be kept; nothing has changed.
    """
    owners = objects_with(armature_of(armature))
    actions = actions_of(owners)
    moved = require_parentable(armature, parents)
    rewrites = [rewrite for owner in owners for rewrite in _rewrites(owner, moved, actions)]
    with edited_bones(armature) as bones:
        for name, parent in parents.items():
            bone = bones[name]
            bone.use_connect = False
            bone.parent = bones[parent]
            if name in moved:  # their channels are rewritten for the usual inheritance
                bone.use_inherit_rotation = bone.use_local_location = True
                bone.inherit_scale = "FULL"
    for rewrite in rewrites:
        _write(rewrite)
    keyed = {(rewrite.bone, rewrite.played.action.name) for rewrite in rewrites if rewrite.played}
    pairs = listed_bones(
        list(parents), [f"{child} to {parent}" for child, parent in parents.items()]
    )
    parts = [f"Parented {counted(len(parents), 'bone')} ({pairs})"]
    if keyed:
        names = sorted({action for _bone, action in keyed})
        count = len({bone for bone, _action in keyed})
        parts.append(f"{counted(count, 'bone')} keyed on every frame in {listed(names)}")
    return "; ".join(parts)


def require_parentable(armature: bpy.types.Object, parents: dict[str, str]) -> dict[str, str]:
    """The new parents whose bones are moved by their channels; FixError if one is not.

    Args:
        parents: the names of the new parents by the names of the bones.
    """
    owners = objects_with(armature_of(armature))
    led = {name for name in parents if all(_is_led(owner, name) for owner in owners)}
    moved = {name: parent for name, parent in parents.items() if name not in led}
    played = [each for each, _player in actions_of(owners)]
    reasons = [
        pair for owner in owners for pair in _parenting_reasons(owner, parents, moved, played)
    ]
    require_no_reasons(reasons, "cannot get another parent")
    return moved


def _parenting_reasons(
    owner: bpy.types.Object,
    parents: dict[str, str],
    moved: dict[str, str],
    played: list[PlayedAction],
) -> Iterator[tuple[str, str]]:
    """Why bones cannot get these parents: names of bones, each with the reason.

    Args:
        parents: the names of the new parents by the names of the bones.
        moved: those of them whose channels move them; the rest is led, see `_is_led`.
    """
    for name, parent in parents.items():
        if name in bones_that_move(owner, [parent], poles=True):
            yield name, f"{parent} follows it by constraints"
    scaled = scaled_bones(owner)
    for name, parent in moved.items():
        chain = _chain_of(owner, name, parent)
        for each in sorted(chain):
            if owner.pose.bones[each].constraints:
                yield name, f"{each} has constraints"
            elif not inherits_as_usual(armature_of(owner).bones[each], scaled):
                yield name, f"{each} inherits in another way than usual (Relations)"
        driven = {curve.bone for curve in bone_drivers(owner) if curve.channel}
        modified = {curve.bone for curve in bone_curves(played) if len(curve.curve.modifiers)}
        yield from ((name, f"a driver moves {each}") for each in sorted(chain & driven))
        yield from ((name, f"the curves of {each} have modifiers") for each in chain & modified)
    yield from chain_reasons(owner, set(parents))
    yield from _reader_reasons(owner, set(moved))
    yield from _example_reasons(owner, set(parents))


def _chain_of(owner: bpy.types.Object, name: str, parent: str) -> set[str]:
    """The bones that move a bone by the hierarchy, before and with its new parent."""
    bones = armature_of(owner).bones
    above = [*bones[name].parent_recursive, *bones[parent].parent_recursive]
    return {name, parent, *(bone.name for bone in above)}


def _is_led(owner: bpy.types.Object, name: str) -> bool:
    """Whether constraints alone say where a bone is: its parent then does not matter."""
    constraints: Any = owner.pose.bones[name].constraints
    return any(
        constraint.type == "COPY_TRANSFORMS"
        and constraint.influence == 1.0
        and not constraint.mute
        and constraint.mix_mode == "REPLACE"
        and constraint.owner_space == constraint.target_space == "WORLD"
        and constraint.target is not None
        for constraint in constraints
    )


def _reader_reasons(owner: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Constraints and drivers that read the channels of bones."""
    for who, constraint in all_constraints():
        in_world = getattr(constraint, "target_space", "WORLD") == "WORLD"
        bone = getattr(constraint, "subtarget", "")
        if getattr(constraint, "target", None) == owner and bone in names and not in_world:
            yield bone, f"the constraint {constraint.name} of {who} reads its channels"
    yield from driver_reasons(owner, names)


def _example_reasons(owner: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Bones with example poses, which say how a bone is turned against its parent."""
    for obj in bpy.data.objects:
        rig = find_rig(obj) if obj.type == "MESH" else None
        if rig is not None and rig.data == owner.data:
            for example in settings_of(obj).examples:
                if example.bone in names:
                    yield example.bone, f"the example pose {example.name} depends on its parent"


def _rewrites(
    owner: bpy.types.Object,
    moved: dict[str, str],
    actions: list[tuple[PlayedAction, bpy.types.Object]],
) -> Iterator[_Rewrite]:
    """The channels for the new parents, computed while the old ones are in place."""
    for name, parent in moved.items():
        for played, player in actions:
            if player == owner and len(frames := _frames(owner, played, name, parent)):
                yield _rewrite(owner, name, parent, played, frames)
        yield _rewrite(owner, name, parent, None, np.zeros(1))


def _rewrite(
    owner: bpy.types.Object, name: str, parent: str, played: PlayedAction | None, frames: Float64s
) -> _Rewrite:
    """M' = (D_new A)^-1 B: the bone stays where it is, below another parent."""
    motion, bone = BoneMotion(owner, frames, played), owner.pose.bones[name]
    rest = np.array(armature_of(owner).bones[name].matrix_local, np.float64)
    matrices = np.linalg.solve(motion.skinning(parent) @ rest, motion.pose(name))
    scales = np.linalg.norm(matrices[:, :3, :3], axis=1)
    scales[np.linalg.det(matrices[:, :3, :3]) < 0.0] *= -1.0
    rotations = matrices[:, :3, :3] / scales[:, None, :]
    skew = np.abs(rotations.transpose(0, 2, 1) @ rotations - np.eye(3)).max(initial=0.0)
    if skew > _TOLERANCE:
        raise FixError(
            f"{name} cannot follow {parent}, which has an unequal scale. Clear the scale first."
        )
    turned = {rotation_channel(bone): _rotation_values(bone, rotations)}
    channels = {"location": matrices[:, :3, 3], **turned, "scale": scales}
    return _Rewrite(owner, name, played, frames, channels)


def _frames(owner: bpy.types.Object, played: PlayedAction, name: str, parent: str) -> Float64s:
    """Every frame and every key of what moves the bone, before or afterwards, in an action."""
    moving = _chain_of(owner, name, parent)
    keys = [
        key_points(curve)[:, 0]
        for (bone, _channel, _index), curve in curves_by_channel(played).items()
        if bone in moving and len(curve.keyframe_points)
    ]
    return every_frame(np.concatenate(keys, dtype=np.float64)) if keys else np.zeros(0)


def _write(rewrite: _Rewrite) -> None:
    if rewrite.played is None:
        for channel, values in rewrite.channels.items():
            setattr(rewrite.owner.pose.bones[rewrite.bone], channel, values[0].tolist())
        return
    known = curves_by_channel(rewrite.played)
    has_scale = any((rewrite.bone, "scale", index) in known for index in range(3))
    for channel, values in rewrite.channels.items():
        if channel == "scale" and not has_scale and np.allclose(values, 1.0, atol=1e-5):
            continue
        for index in range(values.shape[1]):
            curve = known.get((rewrite.bone, channel, index))
            if curve is None:
                curve = _new_curve(rewrite.played, rewrite.bone, channel, index)
            key_linearly(curve, rewrite.frames, values[:, index])


def _rotation_values(bone: Any, rotations: Float64s) -> Float64s:
    """Shape (f, 3) or (f, 4): in the bone's rotation mode, each near the one before."""
    mode = bone.rotation_mode
    found: list[Any] = []
    before: Any = None
    for matrix in rotations:
        rotation: Any = Matrix(matrix.tolist())
        if mode in {"QUATERNION", "AXIS_ANGLE"}:
            value: Any = rotation.to_quaternion()
            if before is not None:
                value.make_compatible(before)
        else:
            value = rotation.to_euler(mode, before) if before else rotation.to_euler(mode)
        before = value
        found.append(tuple(value))
    return _axis_angles(np.array(found)) if mode == "AXIS_ANGLE" else np.array(found)


def _axis_angles(quaternions: Float64s) -> Float64s:
    """Shape (f, 4): angle and axis, the axis on the side of the one before."""
    lengths = np.linalg.norm(quaternions[:, 1:], axis=1)
    angles = 2.0 * np.arctan2(lengths, quaternions[:, 0])
    axes = np.tile([0.0, 1.0, 0.0], (len(quaternions), 1))
    turned = lengths > 1e-7
    axes[turned] = quaternions[turned, 1:] / lengths[turned, None]
    for frame in range(1, len(axes)):
        if not turned[frame]:
            axes[frame] = axes[frame - 1]
        elif axes[frame] @ axes[frame - 1] < 0.0:
            axes[frame], angles[frame] = -axes[frame], -angles[frame]
    return np.column_stack([angles, axes])


def _new_curve(played: PlayedAction, bone: str, channel: str, index: int) -> bpy.types.FCurve:
    path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}'
    curve = played.curves.new(path, index=index)
    curve.group = played.groups.get(bone) or played.groups.new(bone)
    return curve


CHECK = Check(
    "bone_hierarchy",
    find,
    {"parent_bones": _parent_bones},
    about_bones=True,
)
