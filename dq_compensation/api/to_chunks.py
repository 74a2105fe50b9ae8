"""Computes frames in chunks, for several processes, and merges them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..bake.cache_baking import CacheReport
from ..bake.chunk_making import make_chunk
from ..bake.chunk_merging import merge_files, write_frames
from ..bake.frames import frames_of_range
from ..bake.shape_key_bake import with_progress
from ..core.rest_offsets import Target
from ..wording import listed
from .arguments_of_scripts import (
    AnyPath,
    Objects,
    file_path,
    mesh_objects,
    require_choice,
    require_number,
)
from .steps_of_scripts import OnProgress, run_steps


def write_chunk(
    objects: Objects,
    path: AnyPath,
    first: int,
    last: int,
    *,
    step: int = 1,
    shape_keys_for: Target | None = None,
    pattern: str = "Frame {frame:04d}",
    progress: OnProgress | None = None,
) -> list[CacheReport]:
    """Compute some frames of characters and write them to a file; changes no character.

    `merge_chunks` makes one file of several, and `bake_frames` shape keys.

    Args:
        objects: a mesh object or several, enabled or not.
        path: of the file, ``//`` for the folder of the blend file. It ends with .npz; with .pc2 or
            .mdd positions are a point cache at once. It takes the place of an older one when it
            is complete.
        first, last, step: frames; the last one is always among them.
        shape_keys_for: the `target` of `bake_frames`; None for positions.
        pattern: the `pattern` of `bake_frames`.
        progress: called after each frame.

    Returns:
        a report for each object.

    Raises:
        UserError: one of them cannot be baked, or the file cannot be written.
    """
    found = mesh_objects(objects)
    require_number("step", step, 1)
    if shape_keys_for is not None:
        require_choice("target", shape_keys_for, Target)
    file = file_path(path)
    frames = frames_of_range(first, last, step)
    replaced = None if shape_keys_for is None else pattern
    steps = make_chunk(found, frames, shape_keys_for, pattern=replaced)
    doing = f"Computing frames of {listed([obj.name for obj in found])}"
    chunk = run_steps(with_progress(steps, doing), progress)
    return write_frames(replace(chunk, name=file.name), file)


def merge_chunks(
    paths: Iterable[AnyPath], output: AnyPath, *, frames: Iterable[int] | None = None
) -> list[CacheReport]:
    """Merge files of `write_chunk`, in any order; needs no blend file.

    Args:
        paths: they are of the same objects in the same state, and no frame is in two of them.
        output: .npz; .pc2 or .mdd for positions, with the object's name added for several objects.
        frames: those that have to be there; by default any, at even steps.

    Returns:
        a report for each object.

    Raises:
        UserError: a file cannot be read or does not fit the others; the message names it.
    """
    files = [file_path(path) for path in paths]
    wanted = None if frames is None else sorted(frames)
    return merge_files(files, file_path(output), wanted)
