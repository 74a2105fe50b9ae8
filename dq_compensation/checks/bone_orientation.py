"""Check: the bones that deform point along their limbs, or the Limb Axis setting makes up for it.

FBX and glTF files of other programs often come with bones whose Y lies across the limb. With Limb
Axis AUTO the limb of a bone runs to its children, whatever its Y; only bones without children have
nothing but their own Y.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.limb_axes import LimbAxes
from ..core.skeleton import Skeleton
from ..scene.object_settings import settings_of
from ..wording import counted, limb_axis_word, listed
from .fixes.reorient import reorient_bones
from .issue import Check, Fix, Issue
from .subject import Subject

_REORIENT = Fix(
    "reorient_bones",
    "Reorient Bones",
    "Turn the rest bones so that their Y runs along the limb; heads, pose and animation stay",
    "Rest bones are turned in {armature}, for every mesh that it deforms. Their pose channels and "
    "all keys in its actions are rewritten so that the motion stays; numbers in the channels, "
    "Euler orders and locks change with the axes. Where the keys of a channel are not at the same "
    "frames, it is keyed on every frame. Where compensation took the limb for another direction, "
    "the compensated shape becomes the right one.",
)


def find(subject: Subject) -> list[Issue]:
    """Bones whose limb is taken to run elsewhere; else, for information, bones that are off."""
    axes = limb_axes_of(subject)
    if axes is None or subject.armature is None:
        return []
    setting = settings_of(subject.obj).limb_axis
    skeleton, armature = axes.skeleton, subject.armature.name
    reorient = Fix(
        _REORIENT.name,
        _REORIENT.label,
        _REORIENT.description,
        _REORIENT.question.format(armature=armature),
    )
    off, ends_off = axes.off(setting), axes.ends_off(setting)
    harmed = off | ends_off
    if harmed.any():
        fixes = (reorient,) if axes.y_off().any() else ()
        best = axes.best_axis()
        if (axes.off(best) | axes.ends_off(best)).sum() < harmed.sum():
            fixes = (_set_axis(best), *fixes)
        severity = "ERROR" if harmed.sum() * 2 > axes.concerned.sum() else "WARNING"
        message = _message(axes, setting, off, ends_off)
        return [
            Issue(
                "bone_orientation",
                "limb_axis",
                severity,
                message,
                _names(skeleton, harmed),
                fixes=fixes,
            )
        ]
    turned = axes.y_off()
    if setting != "AUTO" or not turned.any():
        return []
    names = _names(skeleton, turned)
    message = (
        f"Not along their limbs in {armature}: {listed(names)}. "
        "Limb Axis Automatic takes the limbs from the hierarchy, so the deformation is right."
    )
    return [Issue("bone_orientation", "own_axes", "INFORMATION", message, names, fixes=(reorient,))]


def limb_axes_of(subject: Subject) -> LimbAxes | None:
    """How the bones that deform the mesh point; None without an armature."""
    if subject.skeleton is None or subject.influences is None:
        return None
    return LimbAxes.of(subject.skeleton, used_bones(subject, subject.skeleton))


def used_bones(subject: Subject, skeleton: Skeleton) -> NDArray[np.bool_]:
    """Shape (B,): the bones that move any vertex of the mesh."""
    used = np.zeros(skeleton.bone_count, np.bool_)
    if subject.influences is not None:
        moving = subject.influences.weights > 0.0
        used[subject.influences.bones[moving]] = True
    return used


def _set_axis(axis: str) -> Fix:
    return Fix(
        "set_limb_axis",
        f"Limb Axis {axis}",
        f"Set Limb Axis to {axis}, which follows the limbs best; no bone is changed",
    )


def _message(
    axes: LimbAxes, setting: str, off: NDArray[np.bool_], ends_off: NDArray[np.bool_]
) -> str:
    parts = []
    if off.any():
        names = _names(axes.skeleton, off)
        parts.append(
            f"Limb Axis {setting} does not follow the limb of {counted(len(names), 'bone')} "
            f"({listed(names)}): compensation goes the wrong way there."
        )
    if ends_off.any():
        names = _names(axes.skeleton, ends_off)
        used = "Y" if setting == "AUTO" else setting
        along = f"along their {axes.own_axis}" if axes.own_axis is not None else "elsewhere"
        parts.append(
            f"Limb Axis {limb_axis_word(setting)} takes {used} of {counted(len(names), 'bone')} "
            f"at the ends of limbs ({listed(names)}) for the limb, but the limbs of these bones "
            f"run {along}."
        )
    return " ".join(parts)


def _names(skeleton: Skeleton, bones: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(skeleton.names[int(bone)] for bone in np.flatnonzero(bones))


def _set_limb_axis(subject: Subject, issue: Issue) -> str:
    """Set Limb Axis to the one that follows the most limbs."""
    axes = limb_axes_of(subject)
    settings = settings_of(subject.obj)
    before = settings.limb_axis
    settings.limb_axis = axes.best_axis() if axes is not None else "AUTO"
    count = counted(len(issue.bones), "bone")
    return (
        f"Limb Axis is {limb_axis_word(settings.limb_axis)} now, it was {limb_axis_word(before)}: "
        f"{count}"
    )


def _reorient(subject: Subject, _issue: Issue) -> str:
    """Turn the bones that do not point along their limbs."""
    axes = limb_axes_of(subject)
    if axes is None or subject.armature is None:
        return "There are no bones"
    return reorient_bones(subject.armature, axes, axes.y_off())


CHECK = Check(
    "bone_orientation", find, {"set_limb_axis": _set_limb_axis, "reorient_bones": _reorient}
)
