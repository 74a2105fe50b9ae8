"""Check: no bone that is blended with others is scaled, by its pose, its animation or a constraint.

Scale is outside of what dual quaternions blend: it is applied beside them, so a scaled limb changes
its size as linear skinning would have it, and the compensation keeps the width of the unscaled one.
A rest bone cannot have a scale: Blender stores a head, a tail and a roll.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import numpy as np

from ...scene.blender.animation_curves import (
    BoneCurve,
    PlayedAction,
    all_actions,
    bone_curves,
    bone_drivers,
    key_points,
)
from ...scene.blender.armature import armature_of
from ...scene.blender.bulk_arrays import read_property
from ...wording import counted, listed, verb
from ..fixes.bone_dependents import bones_that_move, inherits_scale
from ..fixes.followers import Followers
from ..fixes.requirements import require_own_action
from ..issue import Check, Fix, Issue, Repair, Severity
from ..subject import Subject

# What differs from 1 by less is left over from float32 matrices or an eye that slipped.
_TOLERANCE = 1e-3

_HARM = "Dual quaternions do not blend scale: volume may be lost there."
_HARM_NEGATIVE = (
    "A scale of zero or below flattens the mesh or turns it inside out. Between bones that are "
    "mirrored and others, vertices may turn either way round. The method Linear avoids that."
)


def find(subject: Subject) -> Iterator[Issue]:
    """The scaled bones, by the source of the scale.

    Vertices that one bone alone moves have nothing to blend, nor have those whose bones are scaled
    alike: a piece of a robot may be scaled, and so may a whole character.
    """
    armature = subject.find_rig()
    if armature is None or armature.pose is None or len(subject.blended_bones) < 2:
        return
    moving = bones_that_move(armature, subject.blended_bones, scaling=True)
    every_curve = bone_curves(all_actions(armature), "scale")
    every_curve = [curve for curve in every_curve if curve.bone in moving]
    common = _bones_above_all(subject, armature)
    keyed = tuple(
        dict.fromkeys(
            curve.bone
            for curve in every_curve
            if _leaves_one(curve)
            and not (curve.bone in common and _scale_alike(every_curve, curve.bone))
        )
    )
    curves = [curve for curve in every_curve if curve.bone in keyed]
    with_drivers = dict.fromkeys(curve.bone for curve in bone_drivers(armature, "scale"))
    driven = tuple(name for name in with_drivers if name in moving)
    own = moving.difference(driven, keyed)
    posed = tuple(
        bone.name
        for bone in armature.pose.bones
        if bone.name in own
        and np.abs(np.array(bone.scale) - 1.0).max() > _TOLERANCE
        and not (bone.name in common and _is_equal(bone.scale[:]))
    )
    if posed:
        yield _posed_issue(subject, posed)
    if curves:
        yield _keyed_issue(subject, keyed, curves)
    if driven:
        message = f"Drivers scale bones of {armature.name}: {listed(driven)}. {_HARM}"
        yield Issue("drivers", "INFORMATION", message, driven)
    yield from _constrained(subject, armature, {*posed, *keyed, *driven})


def _bones_above_all(subject: Subject, armature: bpy.types.Object) -> set[str]:
    """The bones that hand an equal scale on to all bones that are blended."""
    found: set[str] | None = None
    bones = armature_of(armature).bones
    for name in subject.blended_bones:
        bone: bpy.types.Bone | None = bones[name]
        lineage = set()
        while bone is not None:
            lineage.add(bone.name)
            bone = bone.parent if inherits_scale(bone) else None
        found = lineage if found is None else found & lineage
    return found or set()


def _scale_alike(curves: list[BoneCurve], bone: str) -> bool:
    """Whether the curves scale a bone by one positive number in each frame of each action."""
    by_action: dict[int, list[bpy.types.FCurve]] = {}
    for curve in curves:
        if curve.bone == bone:
            by_action.setdefault(id(curve.played), []).append(curve.curve)
    return all(map(_are_one_scale, by_action.values()))


def _are_one_scale(curves: list[bpy.types.FCurve]) -> bool:
    keys = [key_points(curve) for curve in curves]
    if len(keys) != 3 or any(len(curve.modifiers) for curve in curves):
        return False
    alike = all(k.shape == keys[0].shape and np.allclose(k, keys[0], atol=1e-4) for k in keys)
    return alike and bool((keys[0][:, 1] > 0.0).all())


def _is_equal(scale: Iterable[float]) -> bool:
    values = np.array(list(scale))
    return bool(np.ptp(values) <= _TOLERANCE and values.min() > 0.0)


def _leaves_one(curve: BoneCurve) -> bool:
    values = key_points(curve.curve)[:, 1]
    modified = any(m.type not in {"CYCLES", "STEPPED"} for m in curve.curve.modifiers)
    return modified or bool(np.abs(values - 1.0).max(initial=0.0) > _TOLERANCE)


def _posed_issue(subject: Subject, names: tuple[str, ...]) -> Issue:
    armature = subject.rig
    smallest = min(min(armature.pose.bones[name].scale[:]) for name in names)
    severity, harm = _harm(smallest)
    count = counted(len(names), "bone")
    message = f"The pose of {armature.name} scales {count}: {listed(names)}. {harm}"
    fix = Fix(
        "clear_pose_scale",
        "Clear Scale",
        "Set the scale of these bones to 1 in the pose",
        f"The pose will look different: the scale of {count} of {armature.name} is cleared."
        f"{_following(subject, names)}",
    )
    return Issue("pose", severity, message, names, fixes=(fix,))


def _keyed_issue(subject: Subject, keyed: tuple[str, ...], curves: list[BoneCurve]) -> Issue:
    armature = subject.rig
    every = [key_points(curve.curve)[:, 1] for curve in curves]
    scaling = [curve for curve in curves if _leaves_one(curve)]
    values = [key_points(curve.curve)[:, 1] for curve in scaling]
    severity, harm = _harm(min(float(each.min(initial=1.0)) for each in values))
    actions = _actions(curves)
    names = [played.action.name for played in actions]
    count, all_count = (sum(map(len, each)) for each in (values, every))
    keys = f"{counted(count, 'key')} {verb(count, 'scales', 'scale')}"
    removed = f"{counted(all_count, 'key')} of the scale of {counted(len(keyed), 'bone')}"
    played = [each.action.name for each in _actions(scaling)]
    message = (
        f"{keys} {counted(len(keyed), 'bone')} of {armature.name} ({listed(keyed)}) in "
        f"{listed(played)}. {harm}"
    )
    fix = Fix(
        "clear_scale_keys",
        "Remove Scale Keys",
        "Remove the animation of these bones' scale and set it to 1",
        f"The animation will look different: {removed} {verb(all_count, 'is', 'are')} removed "
        f"from {listed(names)}.{_shared(actions, armature)}{_following(subject, keyed)}",
    )
    return Issue("keys", severity, message, keyed, fixes=(fix,))


def _constrained(subject: Subject, armature: bpy.types.Object, known: set[str]) -> Iterator[Issue]:
    """The deforming bones that end up scaled without a scale of their own, and where from."""
    evaluated: Any = armature.evaluated_get(subject.depsgraph).pose
    if evaluated is None or not len(evaluated.bones):
        return
    bones = evaluated.bones
    matrices = read_property(bones, "matrix_channel", np.float32, (4, 4))[:, :3, :3]
    matrices[~np.isfinite(matrices).all(axis=(1, 2))] = np.eye(3)
    sizes = np.linalg.svd(matrices, compute_uv=False)
    scaled_rows = np.abs(sizes - 1.0).max(axis=1) > _TOLERANCE
    scaled = {bones[int(row)].name for row in np.flatnonzero(scaled_rows)}
    of_mesh = sizes[[bones.find(name) for name in subject.blended_bones]]
    flat = np.linalg.det(matrices) <= 1e-9
    if np.ptp(of_mesh) <= _TOLERANCE * of_mesh.max() and not flat.any():
        return
    inside_out = bool((scaled_rows & flat).any())
    sources: dict[str, str] = {}
    offenders: list[str] = []
    for name in sorted(scaled & subject.blended_bones):
        lineage = [bones[name], *bones[name].parent_recursive]
        if any(bone.name in known for bone in lineage):
            continue
        # The topmost scaled one brought it in.
        source = next(bone for bone in reversed(lineage) if bone.name in scaled)
        acting = [c.name for c in source.constraints if c.enabled and c.influence > 0.0]
        followed = {getattr(c, "subtarget", "") for c in source.constraints}
        if acting and not followed & known:
            offenders.append(name)
            sources[source.name] = acting[0]
    if not offenders:
        return
    by = listed([f"{constraint} of {bone}" for bone, constraint in sources.items()])
    message = (
        f"Constraints scale {counted(len(offenders), 'bone')} of {armature.name}: "
        f"{listed(offenders)}, by {by}. {_HARM_NEGATIVE if inside_out else _HARM}"
    )
    severity = "ERROR" if inside_out else "INFORMATION"
    yield Issue("constraints", severity, message, tuple(offenders))


def _harm(smallest: float) -> tuple[Severity, str]:
    return ("WARNING", _HARM) if smallest > 1e-6 else ("ERROR", _HARM_NEGATIVE)


def _following(subject: Subject, names: Iterable[str]) -> str:
    """The sentence on what hangs on these bones and those below them, outside of the armature."""
    bones = [subject.armature.bones[name] for name in names]
    below = {each.name for bone in bones for each in (bone, *bone.children_recursive)}
    return subject.once(Followers).sentence(subject.rig, below)


def _actions(curves: Iterable[BoneCurve]) -> list[PlayedAction]:
    return list({id(curve.played): curve.played for curve in curves if curve.played}.values())


def _shared(actions: list[PlayedAction], armature: bpy.types.Object) -> str:
    """The other users of these actions, as a sentence with a space before, or ''."""
    others = sorted({name for played in actions for name in played.other_users(armature)})
    if not others:
        return ""
    return f" {listed(others)} {'plays' if len(others) == 1 else 'play'} the same action."


def _clear_pose(subject: Subject, issue: Issue) -> Repair:
    armature = subject.rig
    yield
    for name in issue.bones:
        armature.pose.bones[name].scale = (1.0, 1.0, 1.0)
    return f"Cleared the scale of {counted(len(issue.bones), 'bone')} of {armature.name}."


def _clear_keys(subject: Subject, issue: Issue) -> Repair:
    curves = bone_curves(all_actions(subject.rig), "scale")
    curves = [curve for curve in curves if curve.bone in issue.bones]
    actions = _actions(curves)
    for played in actions:
        require_own_action(played.action)
    yield
    keys = 0
    for curve in curves:
        keys += len(curve.curve.keyframe_points)
        curve.played.curves.remove(curve.curve)
    yield from _clear_pose(subject, issue)
    return (
        f"Removed {counted(keys, 'key')} of the scale of {counted(len(issue.bones), 'bone')} from "
        f"{listed([played.action.name for played in actions])}."
    )


CHECK = Check(
    "bone_scale",
    find,
    {"clear_pose_scale": _clear_pose, "clear_scale_keys": _clear_keys},
    about_bones=True,
)
