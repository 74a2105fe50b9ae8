"""Check: the bones that deform point along their limbs, or the Limb Axis setting makes up for it.

FBX and glTF files of other programs often have bones whose Y lies across the limb. With Limb Axis
Automatic the limb of a bone runs to its children, whatever its Y. A bone without children has only
its skin, which tells it to some degrees, or its own Y.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion, Vector

from ...analysis.bone_axes import LARGEST_ANGLE, LimbAxes, only_child_distances
from ...analysis.rest_rotations import RestRotation, nearest_axes, to_direction
from ...arrays import Booleans, Float64s, Int32s
from ...scene.blender.animation_curves import (
    PlayedAction,
    bone_curves,
    key_linearly,
    key_points,
    multiply_values,
)
from ...scene.blender.armature import armature_of
from ...scene.blender.bone_editing import edited_bones
from ...scene.blender.bulk_arrays import read_property
from ...scene.settings.object_settings import (
    Settings,
    armature_with_settings,
    setting_label,
    settings_of,
)
from ...scene.stack import armature_modifier
from ...wording import counted, listed, listed_bones, verb
from ..fixes.armature_actions import actions_of, objects_with
from ..fixes.bone_dependents import require_no_reasons, turning_reasons
from ..fixes.bone_motion import (
    VECTOR_CHANNELS,
    curves_by_channel,
    every_frame,
    rotation_channel,
    sampled,
)
from ..fixes.object_transforms import keep_children, require_children_can_follow
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """Bones whose limb differs from the setting; else, as information, bones along no limb."""
    if subject.find_rig() is None or not Settings.of(subject.obj).acts("limb_axis"):
        return
    axes, setting = _limb_axes(subject), subject.settings.limb_axis
    off, ends_off, turned = axes.off(setting), axes.ends_off(setting), axes.y_off()
    reorient = (_reorient_fix(axes, subject.rig.name),) if turned.any() else ()
    wrong = off | ends_off
    if wrong.any():
        best = axes.best_axis()
        fewer = (axes.off(best) | axes.ends_off(best)).sum() < wrong.sum()
        fixes = (_set_axis_fix(subject, best, axes, wrong), *reorient) if fewer else reorient
        severity = "ERROR" if wrong.sum() * 2 > axes.concerned.sum() else "WARNING"
        message = _message(subject, axes, off, ends_off)
        yield Issue("limb_axis", severity, message, _names(axes, wrong), fixes=fixes)
    elif setting == "AUTO" and turned.any():
        names = _names(axes, turned)
        do_not = verb(len(names), "does not", "do not")
        message = (
            f"{counted(len(names), 'bone')} of {subject.rig.name} {do_not} point along the "
            f"limb: {listed_bones(names)}. Limb Axis {setting_label(subject.obj, 'limb_axis')} "
            "takes limbs from the hierarchy, so the deformation is right."
        )
        yield Issue("own_axes", "INFORMATION", message, names, fixes=reorient)


def _limb_axes(subject: Subject) -> LimbAxes:
    """The limb axes of the bones that move any vertex of the meshes with the same setting."""
    count = subject.skeleton.bone_count
    moving = [each.influences.moving_bones(count) for each in subject.with_its_settings]
    return LimbAxes.of(subject.skeleton, np.logical_or.reduce(moving))


def _set_axis_fix(subject: Subject, axis: str, axes: LimbAxes, wrong: Booleans) -> Fix:
    label = setting_label(subject.obj, "limb_axis", axis)
    owner = subject.rig if len(subject.with_its_settings) > 1 else subject.obj
    return Fix(
        "set_limb_axis",
        f"Limb Axis {label}",
        f"Set Limb Axis to {label}, which follows the limbs best; no bone is changed",
        f"Limb Axis of {owner.name} is set from {setting_label(subject.obj, 'limb_axis')} to "
        f"{label}. The compensated shape changes where joints bend, above all at "
        f"{listed_bones(_names(axes, wrong))}.",
    )


def _reorient_fix(axes: LimbAxes, armature: str) -> Fix:
    names = _names(axes, axes.y_off())
    bones = counted(len(names), "bone")
    return Fix(
        "reorient_bones",
        "Reorient Bones",
        f"Turn {bones} at rest so that Y runs along the limb: {listed_bones(names)}. Heads, pose "
        "and animation stay",
        f"{bones} of {armature} {verb(len(names), 'is', 'are')} turned at rest, for every mesh "
        f"that it deforms: {listed_bones(names)}. Their pose channels and all keys in its actions "
        "are rewritten so that the motion stays; numbers in the channels, Euler orders and locks "
        "change with the axes. A channel whose keys are not at the same frames is keyed on every "
        "frame. The compensated shape changes where the limb was taken for another direction.",
    )


def _message(subject: Subject, axes: LimbAxes, off: Booleans, ends_off: Booleans) -> str:
    label = setting_label(subject.obj, "limb_axis")
    parts = []
    if off.any():
        names = _names(axes, off)
        parts.append(
            f"Limb Axis {label} does not point along the limb of {counted(len(names), 'bone')} "
            f"({listed_bones(names)}): compensation goes the wrong way there."
        )
    if ends_off.any():
        names = _names(axes, ends_off)
        automatic = subject.settings.limb_axis == "AUTO"
        used = "goes by their skin or their Y" if automatic else f"follows their {label}"
        runs = f"runs along {axes.own_axis}" if axes.own_axis is not None else "runs elsewhere"
        parts.append(
            f"{counted(len(names), 'bone')} at the ends of limbs ({listed_bones(names)}): Limb "
            f"Axis {label} {used} axis, but in this armature the limb {runs}."
        )
    return " ".join(parts)


def _names(axes: LimbAxes, bones: Booleans) -> tuple[str, ...]:
    return tuple(axes.skeleton.names[int(bone)] for bone in np.flatnonzero(bones))


def _set_limb_axis(subject: Subject, issue: Issue) -> Repair:
    """Set Limb Axis to the one that follows the most limbs."""
    before = setting_label(subject.obj, "limb_axis")
    yield
    best = _limb_axes(subject).best_axis()
    armature = armature_with_settings(subject.obj)
    every = [each.obj for each in subject.with_its_settings] if armature is None else [armature]
    for owner in every:
        settings_of(owner).limb_axis = best
    return (
        f"Limb Axis is {setting_label(subject.obj, 'limb_axis')} now, it was {before}: "
        f"{counted(len(issue.bones), 'bone')}"
    )


def _reorient(subject: Subject, _issue: Issue) -> Repair:
    axes = _limb_axes(subject)
    planned_turns(subject.rig, axes, axes.y_off())
    yield
    return reorient_bones(subject.rig, axes, axes.y_off())


def reorient_bones(armature: bpy.types.Object, axes: LimbAxes, off: Booleans) -> str:
    """Turn rest bones so that Y runs along the limb; returns a sentence with numbers.

    A bone whose channels are bound to its axes (keyed Euler angles, an unequal scale, locks) gets
    its axes in other places when that brings Y within 30 degrees of the limb; any other points
    along it exactly.

    Args:
        off: shape (B,); the bones to turn.

    Raises:
        FixError: a bone cannot be turned; nothing has changed.
    """
    owners = objects_with(armature_of(armature))
    actions = actions_of(owners)
    turns = planned_turns(armature, axes, off)
    lengths = {name: armature_of(armature).bones[name].length for name in turns}
    rest = {name: _rest_axes(armature, name) for name in turns}
    loosened = _turn_rest(armature, turns)
    turns = {name: _as_made(armature, turn, rest[name]) for name, turn in turns.items()}
    curves, sampled = 0, 0
    for played, owner in actions:
        changed, on_every_frame = _turn_curves(played, turns, owner)
        curves, sampled = curves + changed, sampled + on_every_frame
        for curve in list(bone_curves([played], "location")):
            # Blender plays no location of a connected bone: without the connection it must be zero.
            if curve.bone in loosened:
                multiply_values(curve.curve, 0.0)
    for owner in owners:
        for name in loosened:
            owner.pose.bones[name].location = (0.0, 0.0, 0.0)
        for name, turn in turns.items():
            _turn_pose(owner.pose.bones[name], turn)
        _turn_shapes(owner, turns)
        back = {
            name: (np.array(_back(turn).to_4x4()), lengths[name]) for name, turn in turns.items()
        }
        keep_children(owner, np.eye(4), back)
    reset = _reset_limb_axis(owners)
    return _summary(list(turns), curves, sampled, loosened, reset)


def _turn_shapes(armature: bpy.types.Object, turns: dict[str, RestRotation]) -> None:
    """Show custom shapes where they were: importers of glTF give each bone one."""
    for bone in armature.pose.bones:
        turn = turns.get((bone.custom_shape_transform or bone).name)
        if bone.custom_shape is not None and turn is not None:
            bone.custom_shape_translation = _turned(turn, bone.custom_shape_translation)
            rotation = _back(turn) @ bone.custom_shape_rotation_euler.to_matrix()
            bone.custom_shape_rotation_euler = rotation.to_euler("XYZ")


def _back(turn: RestRotation) -> Matrix:
    return Matrix(turn.rotation.T.tolist())


def planned_turns(
    armature: bpy.types.Object, axes: LimbAxes, off: Booleans
) -> dict[str, RestRotation]:
    """The rotations of the bones to turn, by their names.

    Raises:
        FixError: a bone cannot be turned, or none would turn.
    """
    owners = objects_with(armature_of(armature))
    actions = actions_of(owners)
    turns = _turns(armature, axes, off, [played for played, _owner in actions])
    turns = {name: turn for name, turn in turns.items() if turn.angle > _SMALLEST_ANGLE}
    if not turns:
        raise FixError("No bone would turn: where these limbs run, the children do not say.")
    _require_turnable(owners, actions, turns)
    return turns


def _turns(
    armature: bpy.types.Object, axes: LimbAxes, off: Booleans, actions: list[PlayedAction]
) -> dict[str, RestRotation]:
    skeleton, wanted = axes.skeleton, axes.wanted()
    distances = only_child_distances(skeleton)
    names = {skeleton.names[int(index)] for index in np.flatnonzero(off)}
    bound = dict(_bound_to_axes(armature, names, actions))
    turns, refused = {}, []
    for index in np.flatnonzero(off).tolist():
        name = skeleton.names[index]
        direction = skeleton.rest[index, :3, :3].T @ wanted[index]
        rotation = to_direction(direction)
        if name in bound:
            rotation = nearest_axes(direction)
            if np.arccos(np.clip(rotation[:, 1] @ direction, -1.0, 1.0)) > LARGEST_ANGLE:
                refused.append(f"{name} ({bound[name]})")
        bone = armature_of(armature).bones[name]
        shaped = armature.pose.bones[name].custom_shape is not None
        keeps_length = shaped or not distances[index]
        length = float(bone.length if keeps_length else distances[index])
        turns[name] = RestRotation(name, rotation, length)
    if refused:
        raise FixError(
            f"None of the axes of {listed(refused)} lies along the limb. "
            "Key rotations as quaternions, or clear the unequal scale and the locks."
        )
    return turns


def _bound_to_axes(
    armature: bpy.types.Object, names: set[str], actions: list[PlayedAction]
) -> Iterator[tuple[str, str]]:
    """The bones whose channels survive only if axes change places, and why."""
    for owner in objects_with(armature_of(armature)):
        for name in names:
            bone: Any = owner.pose.bones[name]
            if np.ptp(np.array(bone.scale)) > 1e-5:
                yield name, "unequal scale"
            locks = (bone.lock_location, bone.lock_rotation, bone.lock_scale)
            if any(len(set(each)) > 1 for each in locks):
                yield name, "locked channels"
    anything = {name: RestRotation(name, np.eye(3), 1.0) for name in names}
    for played in actions:
        for name, channel, components in _channels_of(played, anything):
            if channel == "rotation_euler" == rotation_channel(armature.pose.bones[name]):
                yield name, "keyed Euler rotation"
            elif channel == "scale" and _is_uneven(components):
                yield name, "unequal keyed scale"


def _require_turnable(
    owners: list[bpy.types.Object],
    actions: list[tuple[PlayedAction, bpy.types.Object]],
    turns: dict[str, RestRotation],
) -> None:
    """See that everything can follow the turned bones."""
    for owner in owners:
        require_children_can_follow(owner)
    names = set(turns)
    reasons = [pair for owner in owners for pair in turning_reasons(owner, names)]
    for played, _owner in actions:
        for curve in bone_curves([played]):
            if curve.bone not in names:
                continue
            if curve.channel == "rotation_mode":
                reasons.append((curve.bone, f"its rotation mode is keyed in {played.action.name}"))
            elif curve.channel and (
                _keeps_no_sum(curve.curve)
                or (turns[curve.bone].axes is None and len(curve.curve.modifiers))
            ):
                reasons.append((curve.bone, f"its {curve.channel} has curve modifiers"))
    for obj, modifier in _followers(owners):
        if modifier.use_bone_envelopes:
            raise FixError(
                f"{obj.name} is deformed by bone envelopes, which turn with the bones. "
                "Turn them off or make vertex groups of them first."
            )
    require_no_reasons(reasons, "cannot be turned")


def _followers(
    owners: list[bpy.types.Object],
) -> Iterator[tuple[bpy.types.Object, bpy.types.ArmatureModifier]]:
    """The objects that these armature objects deform, with their modifiers."""
    for obj in bpy.data.objects:
        modifier = armature_modifier(obj)
        if modifier is not None and modifier.object in owners:
            yield obj, modifier


def _turn_rest(armature: bpy.types.Object, turns: dict[str, RestRotation]) -> list[str]:
    """Turn the edit bones; returns the bones that could not stay connected to their parents."""
    loosened = []
    with edited_bones(armature) as bones:
        children = [
            bone
            for bone in bones
            if bone.use_connect and {bone.name, bone.parent.name} & set(turns)
        ]
        for bone in children:
            bone.use_connect = False
        for name, turn in turns.items():
            bone = bones[name]
            bone.matrix = bone.matrix @ Matrix(turn.rotation.tolist()).to_4x4()
            bone.length = turn.length
        for bone in children:
            near = 1e-5 * max(bone.parent.length, bone.length)
            if (bone.head - bone.parent.tail).length <= near:
                bone.use_connect = True
            else:
                loosened.append(bone.name)
    return loosened


def _as_made(armature: bpy.types.Object, turn: RestRotation, before: Float64s) -> RestRotation:
    """The rotation that Blender made of the wanted one: its bones are rounded at about 1e-5."""
    if turn.axes is not None:
        return turn
    left, _scales, right = np.linalg.svd(np.linalg.solve(before, _rest_axes(armature, turn.bone)))
    return RestRotation(turn.bone, left @ right, turn.length)


def _rest_axes(armature: bpy.types.Object, name: str) -> Float64s:
    return np.array(armature_of(armature).bones[name].matrix_local, np.float64)[:3, :3]


def _reset_limb_axis(owners: list[bpy.types.Object]) -> list[str]:
    """Limb Axis of the meshes that had one for the old axes; returns their names."""
    reset = []
    for obj, _modifier in _followers(owners):
        is_own = obj.type == "MESH" and obj.library is None
        if is_own and settings_of(obj).limb_axis not in {"AUTO", "Y"}:
            settings_of(obj).limb_axis = "AUTO"
            reset.append(obj.name)
    return reset


def _summary(
    bones: list[str], curves: int, sampled: int, loosened: list[str], reset: list[str]
) -> str:
    parts = [
        f"Turned {counted(len(bones), 'bone')} along the limb ({listed_bones(bones)}) and rewrote "
        f"{counted(curves, 'animation curve')}"
    ]
    if sampled:
        parts.append(f"{counted(sampled, 'channel')} keyed on every frame")
    if loosened:
        parts.append(f"no longer connected: {listed(loosened)}")
    if reset:
        parts.append(f"Limb Axis is Automatic now for {listed(reset)}")
    return "; ".join(parts)


# Between keys of these, the weighted sum of curves is the curve of the weighted sums.
_SUMMABLE = frozenset({"CONSTANT", "LINEAR", "BEZIER"})
# Free, vector, aligned. Blender computes others from the neighbouring keys: the sum has to hold
# its own, which are free then.
_KEPT_HANDLES, _FREE = (0, 2, 3), 0
# Modifiers of curves that a change of sign, or a sum, passes through.
_HARMLESS_MODIFIERS = frozenset({"CYCLES", "STEPPED"})

# Rest axes of bones are rounded at about 1e-5; radians.
_SMALLEST_ANGLE = 1e-4

Components = list[bpy.types.FCurve | None]


def _turn_pose(bone: bpy.types.PoseBone, turn: RestRotation) -> None:
    """Rewrite the channels of a pose bone for turned rest axes: M' = R^-1 M R.

    Args:
        turn: one whose axes only change places where the bone has an Euler rotation that is keyed
            or an unequal scale; `reorient_bones` sees to that.
    """
    channels: Any = bone
    channels.location = _turned(turn, channels.location)
    channels.rotation_quaternion = _turned_quaternion(turn, channels.rotation_quaternion)
    angle, *axis = channels.rotation_axis_angle
    channels.rotation_axis_angle = (angle, *_turned(turn, axis))
    mode = channels.rotation_mode
    if turn.axes is not None:
        euler = _turned(turn, channels.rotation_euler)
        if mode not in {"QUATERNION", "AXIS_ANGLE"}:
            channels.rotation_mode = turn.order(mode)
        channels.rotation_euler = euler
        places = turn.axes[0]
        # What belongs to an axis, without a sign.
        for name in ("scale", "lock_location", "lock_rotation", "lock_scale"):
            before = list(getattr(bone, name))
            setattr(bone, name, [before[places.index(axis)] for axis in range(3)])
    elif mode not in {"QUATERNION", "AXIS_ANGLE"}:
        before = Euler(channels.rotation_euler, mode)
        turned = _turned_quaternion(turn, before.to_quaternion())
        channels.rotation_euler = turned.to_euler(mode, before)


def _turn_curves(
    played: PlayedAction, turns: dict[str, RestRotation], armature: bpy.types.Object
) -> tuple[int, int]:
    """Rewrite the curves of turned bones in one action.

    Args:
        played: an editable action.
        turns: by the names of the bones.
        armature: the armature object, its pose not yet rewritten: it has the values of components
            without a curve.

    Returns:
        how many curves there were, and how many channels had to be keyed on every frame.
    """
    count, sampled = 0, 0
    for bone, channel, components in list(_channels_of(played, turns)):
        count += sum(curve is not None for curve in components)
        turn = turns[bone]
        if turn.axes is not None:
            _move_components(channel, components, turn.axes)
        elif channel in {"location", "rotation_quaternion", "rotation_axis_angle"}:
            sampled += _sum_components(played, channel, components, turn, armature)
    return count, sampled


def _channels_of(
    played: PlayedAction, bones: dict[str, RestRotation]
) -> Iterator[tuple[str, str, Components]]:
    """The vector channels of these bones in an action: bone, channel, curves of x, y and z."""
    found: dict[tuple[str, str], Components] = {}
    for (bone, channel, index), curve in curves_by_channel(played).items():
        component = index - VECTOR_CHANNELS[channel]
        if bone in bones and 0 <= component < 3:
            found.setdefault((bone, channel), [None, None, None])[component] = curve
    yield from ((*place, components) for place, components in found.items())


def _keeps_no_sum(curve: bpy.types.FCurve) -> bool:
    """Whether modifiers of a curve make something of its negative that is not its negative."""
    return any(m.type not in _HARMLESS_MODIFIERS and not m.mute for m in curve.modifiers)


def _is_uneven(components: Components) -> bool:
    """Whether three curves are not one and the same, as those of an equal scale are."""
    values = [_points(curve)[..., 1] for curve in components if curve is not None]
    return len(values) < 3 or any(
        one.shape != values[0].shape or not np.allclose(one, values[0], atol=1e-5)
        for one in values[1:]
    )


def _turned(turn: RestRotation, vector: Any) -> Vector:
    return Vector(turn.vectors(np.array(vector, np.float64)).tolist())


def _turned_quaternion(turn: RestRotation, quaternion: Quaternion) -> Quaternion:
    return Quaternion((quaternion.w, *_turned(turn, quaternion[1:])))


def _move_components(
    channel: str, components: Components, axes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """Give each curve the component that its axis has become: handles and all stay as they are."""
    for place, sign, curve in zip(*axes, components, strict=True):
        if curve is None:
            continue
        curve.array_index = VECTOR_CHANNELS[channel] + place
        if sign < 0 and channel != "scale":
            multiply_values(curve, -1.0)


def _sum_components(
    played: PlayedAction,
    channel: str,
    components: Components,
    turn: RestRotation,
    armature: bpy.types.Object,
) -> bool:
    """Make each curve the sum of the three; returns whether they had to be sampled for it."""
    curves = [curve for curve in components if curve is not None]
    is_sampled = not _have_common_keys(curves)
    keys = [key_points(curve)[:, 0] for curve in curves]
    frames = every_frame(np.concatenate(keys, dtype=np.float64))
    times = frames if is_sampled else _points(curves[0])[..., 0]
    kinds = _kinds(curves[0])

    def values(curve: bpy.types.FCurve) -> Float64s:
        return sampled(curve, frames) if is_sampled else _points(curve)[..., 1]

    rest = list(getattr(armature.pose.bones[turn.bone], channel))[VECTOR_CHANNELS[channel] :]
    stacked = [
        values(curve) if curve is not None else np.full(times.shape, value)
        for curve, value in zip(components, rest, strict=True)
    ]
    turned = turn.vectors(np.stack(stacked, axis=-1))
    for component in range(3):
        curve = components[component] or _new_curve(played, curves[0], channel, component)
        if is_sampled:
            key_linearly(curve, frames, turned[..., component])
        else:
            _write(curve, np.stack((times, turned[..., component]), axis=-1), *kinds)
    return is_sampled


def _new_curve(
    played: PlayedAction, sibling: bpy.types.FCurve, channel: str, component: int
) -> bpy.types.FCurve:
    curve = played.curves.new(sibling.data_path, index=VECTOR_CHANNELS[channel] + component)
    curve.group, curve.color_mode = sibling.group, sibling.color_mode
    curve.extrapolation = sibling.extrapolation
    return curve


def _have_common_keys(curves: list[bpy.types.FCurve]) -> bool:
    """Whether the weighted sum of the curves has its keys and handles where they have theirs."""
    if any(key.interpolation not in _SUMMABLE for key in curves[0].keyframe_points):
        return False
    times = _points(curves[0])[..., 0]
    kinds = _kinds(curves[0])[0]
    return all(
        len(other.keyframe_points) == len(times)
        and np.allclose(_points(other)[..., 0], times, atol=1e-3)
        and np.array_equal(_kinds(other)[0], kinds)
        and other.extrapolation == curves[0].extrapolation
        for other in curves[1:]
    )


def _points(curve: bpy.types.FCurve) -> Float64s:
    """Shape (k, 3, 2): key, left and right handle of each key: frame and value."""
    fields = ("co", "handle_left", "handle_right")
    points: Any = curve.keyframe_points
    return np.stack(
        [read_property(points, field, np.float32, (2,)) for field in fields], axis=1
    ).astype(np.float64)


def _kinds(curve: bpy.types.FCurve) -> tuple[Int32s, Int32s]:
    """Shapes (k,) and (k, 2): the interpolation and the two handle types of each key."""
    points: Any = curve.keyframe_points
    handles = [read_property(points, f"handle_{side}_type", np.int32) for side in ("left", "right")]
    return read_property(points, "interpolation", np.int32), np.stack(handles, axis=1)


def _write(
    curve: bpy.types.FCurve, values: Float64s, interpolation: Int32s, handles: Int32s
) -> None:
    """Give a curve keys, with `values` as of `_points` and the rest as of `_kinds`."""
    points: Any = curve.keyframe_points
    points.clear()
    points.add(len(values))
    handles = np.where(np.isin(handles, _KEPT_HANDLES), handles, _FREE).astype(np.int32)
    points.foreach_set("interpolation", interpolation)
    for column, side in enumerate(("left", "right")):
        points.foreach_set(f"handle_{side}_type", np.ascontiguousarray(handles[:, column]))
    for column, field in enumerate(("co", "handle_left", "handle_right")):
        points.foreach_set(field, values[:, column].astype(np.float32).reshape(-1))
    curve.update()


CHECK = Check(
    "bone_orientation",
    find,
    {"set_limb_axis": _set_limb_axis, "reorient_bones": _reorient},
    about_bones=True,
)
