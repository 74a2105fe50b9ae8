"""Writes characters to point caches, and the motion of armatures to takes."""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..bake.files.cache_baking import SUFFIXES, CacheReport, FileFormat
from ..bake.files.cache_baking import bake_cache as cache_steps
from ..errors import UserError
from ..playback.caching import TakeOptions, TakeReport
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
from .options_of_scripts import takes_options
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


@dataclass(frozen=True, kw_only=True)
class _TakeArguments(TakeOptions):
    progress: OnProgress | None = None


@takes_options(_TakeArguments)
def cache_take(armature: bpy.types.Object, options: _TakeArguments) -> TakeReport:
    """Keep the motion of an armature over a range of frames as a take, which plays without it.

    Args:
        armature: an armature object.
        first, last: frames; by default the scene's.
        {options}
        progress: called after each step.

    Raises:
        UserError: it cannot be done; nothing has changed then.
    """
    armature = original(armature)
    if armature.type != "ARMATURE":
        raise UserError(f"{armature.name} is not an armature. Takes belong to an armature.")
    with selection_kept():
        return run_steps(take_steps(armature, options, bpy.context), options.progress)[0]
