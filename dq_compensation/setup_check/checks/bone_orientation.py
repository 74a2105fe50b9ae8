"""Check: the bones that deform point along their limbs, or the Limb Axis setting makes up for it.

FBX and glTF files of other programs often have bones whose Y lies across the limb. With Limb Axis
Automatic the limb of a bone runs to its children, whatever its Y. A bone without children has only
its skin, which tells it to some degrees, or its own Y.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.bone_axes import LimbAxes
from ...arrays import Booleans
from ...scene.settings.object_settings import Settings, setting_label
from ...wording import counted, listed
from ..fixes.reorient import planned_turns, reorient_bones
from ..issue import Check, Fix, Issue, Repair
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
        do_not = "does not" if len(names) == 1 else "do not"
        message = (
            f"{counted(len(names), 'bone')} of {subject.rig.name} {do_not} point along the "
            f"limb: {listed(names)}. Limb Axis {setting_label(subject.obj, 'limb_axis')} takes "
            "limbs from the hierarchy, so the deformation is right."
        )
        yield Issue("own_axes", "INFORMATION", message, names, fixes=reorient)


def _limb_axes(subject: Subject) -> LimbAxes:
    """The limb axes of the bones that move any vertex of the mesh."""
    used = np.zeros(subject.skeleton.bone_count, np.bool_)
    influences = subject.influences
    used[influences.bones[influences.weights > 0.0]] = True
    return LimbAxes.of(subject.skeleton, used)


def _set_axis_fix(subject: Subject, axis: str, axes: LimbAxes, wrong: Booleans) -> Fix:
    label = setting_label(subject.obj, "limb_axis", axis)
    return Fix(
        "set_limb_axis",
        f"Limb Axis {label}",
        f"Set Limb Axis to {label}, which follows the limbs best; no bone is changed",
        f"Limb Axis of {subject.obj.name} is set from {setting_label(subject.obj, 'limb_axis')} to "
        f"{label}. The compensated shape changes where joints bend, above all at "
        f"{listed(_names(axes, wrong), 6)}.",
    )


def _reorient_fix(axes: LimbAxes, armature: str) -> Fix:
    names = _names(axes, axes.y_off())
    bones = counted(len(names), "bone")
    return Fix(
        "reorient_bones",
        "Reorient Bones",
        f"Turn {bones} at rest so that Y runs along the limb: {listed(names)}. Heads, pose and "
        "animation stay",
        f"{bones} of {armature} are turned at rest, for every mesh that it deforms: "
        f"{listed(names, 6)}. Their pose channels and all keys in its actions are rewritten so "
        "that the motion stays; numbers in the channels, Euler orders and locks change with the "
        "axes. A channel whose keys are not at the same frames is keyed on every frame. The "
        "compensated shape changes where the limb was taken for another direction.",
    )


def _message(subject: Subject, axes: LimbAxes, off: Booleans, ends_off: Booleans) -> str:
    label = setting_label(subject.obj, "limb_axis")
    parts = []
    if off.any():
        names = _names(axes, off)
        parts.append(
            f"Limb Axis {label} does not point along the limb of {counted(len(names), 'bone')} "
            f"({listed(names)}): compensation goes the wrong way there."
        )
    if ends_off.any():
        names = _names(axes, ends_off)
        automatic = subject.settings.limb_axis == "AUTO"
        used = "goes by their skin or their Y" if automatic else f"follows their {label}"
        runs = f"runs along {axes.own_axis}" if axes.own_axis is not None else "runs elsewhere"
        parts.append(
            f"{counted(len(names), 'bone')} at the ends of limbs ({listed(names)}): Limb Axis "
            f"{label} {used} axis, but in this armature the limb {runs}."
        )
    return " ".join(parts)


def _names(axes: LimbAxes, bones: Booleans) -> tuple[str, ...]:
    return tuple(axes.skeleton.names[int(bone)] for bone in np.flatnonzero(bones))


def _set_limb_axis(subject: Subject, issue: Issue) -> Repair:
    """Set Limb Axis to the one that follows the most limbs."""
    before = setting_label(subject.obj, "limb_axis")
    yield
    subject.settings.limb_axis = _limb_axes(subject).best_axis()
    return (
        f"Limb Axis is {setting_label(subject.obj, 'limb_axis')} now, it was {before}: "
        f"{counted(len(issue.bones), 'bone')}"
    )


def _reorient(subject: Subject, _issue: Issue) -> Repair:
    axes = _limb_axes(subject)
    planned_turns(subject.rig, axes, axes.y_off())
    yield
    return reorient_bones(subject.rig, axes, axes.y_off())


CHECK = Check(
    "bone_orientation",
    find,
    {"set_limb_axis": _set_limb_axis, "reorient_bones": _reorient},
    about_bones=True,
)
