"""Bakes for scripts, which play without the add-on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy

from ..bake.bake_reports import PoseReport, RangeReport
from ..bake.options import PoseOptions, RangeOptions
from ..bake.pose_bake import bake_current_pose
from ..bake.range_bake import bake_range
from ..errors import UserError
from ..pipeline.bones.bakes_removal import RemovalReport, remove_bakes
from ..pipeline.bones.bones_baking import bake_bones as bones_steps
from ..pipeline.bones.bones_reports import BonesReport
from ..pipeline.bones.options import BonesOptions
from ..pipeline.correctives.corrective_baking import bake_correctives as corrective_steps
from ..pipeline.correctives.corrective_poses import checked_angles
from ..pipeline.correctives.corrective_reports import CorrectiveReport
from ..pipeline.correctives.options import CorrectiveOptions
from ..pipeline.files.files import SUFFIXES, CacheReport, FileFormat
from ..pipeline.files.files import bake_cache as cache_steps
from ..pipeline.files.plain_export import PlainExportReport
from ..pipeline.files.plain_export import export_plain as plain_export
from ..pipeline.takes.caching import TakeReport
from ..pipeline.takes.caching import cache_take as take_steps
from ..pipeline.takes.options import TakeOptions
from ..steps import OnProgress
from ..ui_shared.arguments import (
    AnyPath,
    Objects,
    file_path,
    mesh_objects,
    meshes_of,
    one_or_all,
    original,
    require_choice,
    require_number,
    selection_kept,
)
from ..ui_shared.option_arguments import with_option_arguments
from ..ui_shared.script_runs import interrupts_wait, run_steps


@with_option_arguments(PoseOptions)
def bake_pose(obj: bpy.types.Object, options: PoseOptions) -> PoseReport | list[PoseReport]:
    """Make the current pose a shape key. Its value is 0, and the character stays enabled.

    Args:
        obj: a mesh object, enabled or not, or an armature: a list for all its meshes then.
        {options}

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    with interrupts_wait(), selection_kept():
        return one_or_all(obj, bake_current_pose(meshes_of(obj), options))


@with_option_arguments(RangeOptions)
def bake_frames(obj: bpy.types.Object, options: RangeOptions) -> RangeReport | list[RangeReport]:
    """Make each frame of a range a shape key, with keyframes.

    The timeline then plays the deformation. The object, or its copy, is disabled afterwards: its
    Armature modifier deforms it.

    Args:
        obj: a mesh object, enabled or not, or an armature: a list for all its meshes then.
        first, last: frames.
        {options}

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    found = meshes_of(obj)
    with selection_kept():
        return one_or_all(obj, run_steps(bake_range(found, options), options.progress))


@with_option_arguments(CorrectiveOptions)
def bake_correctives(
    obj: bpy.types.Object, options: CorrectiveOptions
) -> CorrectiveReport | list[CorrectiveReport]:
    """Make corrective shape keys that follow the bones.

    Drivers read the bones. The object, or its copy, is disabled afterwards: its Armature modifier
    deforms it.

    Args:
        obj: a mesh object, enabled or not, or an armature: a list for all its meshes then.
        {options}

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    found = meshes_of(obj)
    angles, twists = checked_angles(options.angles), checked_angles(options.twists)
    options = replace(options, angles=angles, twists=twists)
    with selection_kept():
        return one_or_all(obj, run_steps(corrective_steps(found, options), options.progress))


@with_option_arguments(BonesOptions)
def bake_bones(objects: Objects, options: BonesOptions) -> list[BonesReport]:
    """Add helper bones and new weights for plain linear skinning.

    With them, it deforms characters like DQ Compensation.
    Give all meshes of an armature at once: they share the helpers. The objects, or their copies,
    are disabled afterwards: their plain Armature modifiers deform them.

    Args:
        objects: mesh objects, enabled or not, or armatures.
        {options}

    Returns:
        a report for each armature.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    with selection_kept():
        return run_steps(bones_steps(mesh_objects(objects), options), options.progress)


def remove_bake(objects: Objects) -> list[RemovalReport]:
    """Remove helper bones, with the weights that came with them, and shape keys of bakes.

    Shape keys of `bake_pose` stay.

    Args:
        objects: a mesh object or several, enabled or not.

    Returns:
        a report for each object that had a bake.

    Raises:
        UserError: none of them has a bake, or one cannot be changed; nothing has changed then.
    """
    found = mesh_objects(objects)
    with interrupts_wait():
        return remove_bakes(found)


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
    """Write the positions of every vertex in every frame for programs that play point caches.

    The characters stay as they are.

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
    require_number("step", step, 1, whole=True)
    file = file_path(path)
    if format is None:
        format = next(  # noqa: A001 - the word for it
            (name for name, suffix in SUFFIXES.items() if suffix == file.suffix.lower()), None
        )
    if format is None:
        endings = ", ".join(SUFFIXES.values())
        raise UserError(f"The format of {file.name} is not known. Let it end with {endings}.")
    require_choice("format", format, tuple(SUFFIXES))
    with selection_kept():
        return run_steps(cache_steps(found, file, format, (first, last, step)), progress)


def export_plain(
    objects: Objects, path: AnyPath, *, animation: bool = True, **options: Any
) -> list[PlainExportReport]:
    """Export characters as if DQ Compensation were not there.

    Their armatures come with them. Nothing changes.

    Args:
        objects: a mesh object or several, enabled or not; all come into one file.
        path: of the file, ``//`` for the folder of the blend file. It ends with .fbx, .glb, .usdc,
            .usda or .usd.
        animation: write the motion, too.
        options: of Blender's exporter for that format, in place of its defaults.

    Returns:
        a report for each object.

    Raises:
        UserError: one of them is not in the view layer, or the file cannot be written.
    """
    found, file = mesh_objects(objects), file_path(path)
    with interrupts_wait(), selection_kept():
        return plain_export(found, file, animation=bool(animation), options=options)


@with_option_arguments(TakeOptions)
def cache_take(armature: bpy.types.Object, options: TakeOptions) -> TakeReport:
    """Keep the motion of an armature over a range of frames as a take, which plays without it.

    Args:
        armature: an armature object.
        first, last: frames; by default the scene's.
        {options}

    Raises:
        UserError: it cannot be done; nothing has changed then.
    """
    armature = original(armature)
    if armature.type != "ARMATURE":
        raise UserError(f"{armature.name} is not an armature. Takes belong to an armature.")
    with selection_kept():
        return run_steps(take_steps(armature, options, bpy.context), options.progress)[0]
