"""Bakes characters to shape keys: the current pose, frames, correctives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import bpy

from ..bake.bake_reports import CorrectiveReport, PoseReport, RangeReport
from ..bake.bake_targets import BakeOnto
from ..bake.corrective_baking import CorrectiveOptions
from ..bake.corrective_baking import bake_correctives as corrective_steps
from ..bake.corrective_poses import Directions, checked_angles
from ..bake.frame_baking import RangeOptions, bake_current_pose, bake_range
from ..core.rest_offsets import Target
from .arguments_of_scripts import (
    bone_names,
    mesh_object,
    require_choice,
    require_number,
    selection_kept,
)
from .steps_of_scripts import OnProgress, interrupts_wait, run_steps

CorrectiveDirections = Directions | Literal["ACTION", "EXAMPLES"]


def bake_pose(
    obj: bpy.types.Object,
    name: str = "Pose",
    *,
    target: Target = "LINEAR",
    onto: BakeOnto = "THIS",
    overwrite: bool = False,
) -> PoseReport:
    """Make the current pose a shape key, at value 0. The character stays enabled.

    Args:
        obj: a mesh object, enabled or not.
        name: of the key.
        target: 'LINEAR', for the plain Armature modifier, or 'DUAL_QUATERNION', for Preserve
            Volume.
        onto: 'THIS' object gets the key, or a 'COPY', which replaces the character in the viewport.
        overwrite: whether a key of this name gets the new shape; otherwise a new one is added.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    obj = mesh_object(obj)
    _require_target(target, onto)
    with interrupts_wait(), selection_kept():
        return bake_current_pose([obj], name, target, onto=onto, overwrite=overwrite)[0]


def bake_frames(
    obj: bpy.types.Object,
    first: int,
    last: int,
    *,
    step: int = 1,
    tolerance: float = 0.0,
    target: Target = "LINEAR",
    onto: BakeOnto = "THIS",
    pattern: str = "Frame {frame:04d}",
    overwrite: bool = True,
    much_memory: bool = False,
    progress: OnProgress | None = None,
) -> RangeReport:
    """Make each frame of a range a shape key with keyframes; the timeline plays the deformation.

    The object, or its copy, is disabled afterwards: its Armature modifier deforms it.

    Args:
        obj: a mesh object, enabled or not.
        first, last, step: frames; the last one is always baked.
        tolerance: millimetres; frames that interpolation gives to within it get no key.
        target, onto: as for `bake_pose`.
        pattern: the names of the keys, with {frame}.
        overwrite: whether keys of such names from earlier bakes are removed first.
        much_memory: whether to go on where it takes more than 1 GB.
        progress: called after each frame.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    obj = mesh_object(obj)
    _require_target(target, onto)
    require_number("step", step, 1)
    require_number("tolerance", tolerance, 0.0)
    options = RangeOptions(
        first, last, step, target, pattern, tolerance, onto, overwrite, much_memory
    )
    with selection_kept():
        return run_steps(bake_range([obj], options), progress)[0]


def bake_correctives(
    obj: bpy.types.Object,
    bones: str | Iterable[str] = (),
    *,
    directions: CorrectiveDirections = "LIMBS",
    angles: Iterable[float] = (45.0, 90.0),
    twists: Iterable[float] = (),
    both_ways: bool = True,
    mirror: bool = True,
    tolerance: float = 0.1,
    target: Target = "LINEAR",
    onto: BakeOnto = "THIS",
    pattern: str = "{bone} {angle}",
    overwrite: bool = True,
    much_memory: bool = False,
    progress: OnProgress | None = None,
) -> CorrectiveReport:
    """Give an object shape keys that follow its bones, by drivers.

    The object, or its copy, is disabled afterwards: its Armature modifier deforms it.

    Args:
        obj: a mesh object, enabled or not.
        bones: a name or several; none: all joints at which enough vertices follow two deforming
            bones.
        directions: 'LIMBS', 'X' or 'Z' for hinges, 'FOUR' or 'EIGHT' directions for ball joints,
            the poses of the 'ACTION', or the 'EXAMPLES' of the object.
        angles: of the bends, degrees.
        twists: of the twists, degrees, both ways.
        both_ways: whether hinges are bent backwards as well.
        mirror: whether the other side's bones are baked as well, by their names.
        tolerance: millimetres; poses in which no vertex needs a longer offset get no key.
        target, onto, much_memory, progress: as for `bake_frames`.
        pattern: the names of the keys, with {bone} and {angle}.
        overwrite: whether the correctives that these bones have are removed first.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    obj = mesh_object(obj)
    _require_target(target, onto)
    require_choice("directions", directions, CorrectiveDirections)
    require_number("tolerance", tolerance, 0.0)
    options = CorrectiveOptions(
        bones=bone_names(bones),
        directions=directions,
        angles=checked_angles(angles),
        twists=checked_angles(twists),
        both_ways=both_ways,
        mirror=mirror,
        target=target,
        pattern=pattern,
        tolerance=tolerance,
        onto=onto,
        overwrite=overwrite,
        much_memory=much_memory,
    )
    with selection_kept():
        return run_steps(corrective_steps([obj], options), progress)[0]


def _require_target(target: str, onto: str) -> None:
    require_choice("target", target, Target)
    require_choice("onto", onto, BakeOnto)
