"""Writes characters to point caches, and the motion of armatures to takes."""

from __future__ import annotations

import bpy

from ..bake.cache_baking import SUFFIXES, CacheReport, FileFormat
from ..bake.cache_baking import bake_cache as cache_steps
from ..core.local_poses import Interpolation
from ..errors import UserError
from ..playback.caching import TakeOptions, TakeReport, default_name
from ..playback.caching import cache_take as take_steps
from .arguments_of_scripts import (
    AnyPath,
    Objects,
    file_path,
    mesh_objects,
    original,
    require_choice,
    require_number,
    selection_kept,
)
from .steps_of_scripts import OnProgress, run_steps


def bake_cache(
    objects: Objects,
    path: AnyPath,
    first: int,
    last: int,
    *,
    step: int = 1,
    format: FileFormat | None = None,  # noqa: A002 - the word for it
    progress: OnProgress | None = None,
) -> list[CacheReport]:
    """Write the positions of every vertex in every frame to a file; changes no character.

    Args:
        objects: a mesh object or several, enabled or not; enabled for Alembic, which stores the
            rendered result. Of several each gets a file with its name added, but Alembic has all
            of them in one.
        path: of the file, ``//`` for the folder of the blend file. It takes the place of an older
            one when it is complete.
        first, last, step: frames; Alembic has all of them.
        format: 'PC2', 'MDD' or 'ALEMBIC'; by default as the name ends: .pc2, .mdd or .abc.
        progress: called after each frame.

    Returns:
        a report for each object.

    Raises:
        UserError: one of them cannot be baked, or a file cannot be written.
    """
    found = mesh_objects(objects)
    require_number("step", step, 1)
    file = file_path(path)
    if format is None:
        format = next(  # noqa: A001 - the word for it
            (name for name, suffix in SUFFIXES.items() if suffix == file.suffix.lower()), None
        )
    if format is None:
        endings = ", ".join(SUFFIXES.values())
        raise UserError(f"The format of {file.name} is not known. Let it end with {endings}.")
    require_choice("format", format, FileFormat)
    with selection_kept():
        return run_steps(cache_steps(found, file, format, (first, last, step)), progress)


def cache_take(
    armature: bpy.types.Object,
    name: str = "",
    first: int | None = None,
    last: int | None = None,
    *,
    tolerance: float = 0.5,
    interpolation: Interpolation = "SLERP",
    progress: OnProgress | None = None,
) -> TakeReport:
    """Keep the motion of an armature over a range of frames as a take, which plays without it.

    Args:
        armature: an armature object.
        name: of the take; one of this name is replaced. Empty: the action's name.
        first, last: frames; by default the scene's.
        tolerance: millimetres by which the skin may be off between keys.
        interpolation: between keys: 'SLERP' or 'DUAL_QUATERNION'.
        progress: called after each step.

    Raises:
        UserError: it cannot be done; nothing has changed then.
    """
    armature = original(armature)
    if armature.type != "ARMATURE":
        raise UserError(f"{armature.name} is not an armature. Takes belong to an armature.")
    require_choice("interpolation", interpolation, Interpolation)
    require_number("tolerance", tolerance, 0.0)
    scene = bpy.context.scene
    options = TakeOptions(
        name or default_name(armature),
        scene.frame_start if first is None else first,
        scene.frame_end if last is None else last,
        tolerance,
        interpolation,
    )
    with selection_kept():
        return run_steps(take_steps(armature, options, bpy.context), progress)[0]
