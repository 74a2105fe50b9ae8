"""Bakes characters to shape keys: the current pose, frames, correctives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy

from ..bake.bake_reports import CorrectiveReport, PoseReport, RangeReport
from ..bake.correctives.corrective_baking import bake_correctives as corrective_steps
from ..bake.correctives.corrective_poses import checked_angles
from ..bake.key_options import CorrectiveOptions, PoseOptions, RangeOptions
from ..bake.shape_keys.frame_baking import bake_range
from ..bake.shape_keys.pose_key import bake_current_pose
from .arguments_of_scripts import mesh_object, selection_kept
from .options_of_scripts import takes_options
from .steps_of_scripts import OnProgress, interrupts_wait, run_steps


@dataclass(frozen=True, kw_only=True)
class _RangeArguments(RangeOptions):
    progress: OnProgress | None = None


@dataclass(frozen=True, kw_only=True)
class _CorrectiveArguments(CorrectiveOptions):
    progress: OnProgress | None = None


@takes_options(PoseOptions)
def bake_pose(obj: bpy.types.Object, options: PoseOptions) -> PoseReport:
    """Make the current pose a shape key, at value 0. The character stays enabled.

    Args:
        obj: a mesh object, enabled or not.
        {options}

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    obj = mesh_object(obj)
    with interrupts_wait(), selection_kept():
        return bake_current_pose([obj], options)[0]


@takes_options(_RangeArguments)
def bake_frames(obj: bpy.types.Object, options: _RangeArguments) -> RangeReport:
    """Make each frame of a range a shape key with keyframes; the timeline plays the deformation.

    The object, or its copy, is disabled afterwards: its Armature modifier deforms it.

    Args:
        obj: a mesh object, enabled or not.
        first, last: frames.
        {options}
        progress: called after each frame.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    obj = mesh_object(obj)
    with selection_kept():
        return run_steps(bake_range([obj], options), options.progress)[0]


@takes_options(_CorrectiveArguments)
def bake_correctives(obj: bpy.types.Object, options: _CorrectiveArguments) -> CorrectiveReport:
    """Give an object shape keys that follow its bones, by drivers.

    The object, or its copy, is disabled afterwards: its Armature modifier deforms it.

    Args:
        obj: a mesh object, enabled or not.
        {options}
        progress: called after each frame.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    obj = mesh_object(obj)
    angles, twists = checked_angles(options.angles), checked_angles(options.twists)
    options = replace(options, angles=angles, twists=twists)
    with selection_kept():
        return run_steps(corrective_steps([obj], options), options.progress)[0]
