"""Bakes characters to files that other programs play: PC2, MDD and Alembic."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import bpy

from ...errors import FileError, UserError, raise_refusal
from ...scene.scene_frames import frames_of_range
from ...scene.settings.object_settings import settings_of
from ...scene.shape_keys.acting_keys import acting_keys_refusal
from ...steps import Progress, with_progress
from ...wording import counted, listed
from ..bake_reports import remember
from ..bake_source import Source
from .alembic import write_alembic
from .point_cache import CacheFormat, write_cache

FileFormat = Literal["PC2", "MDD", "ALEMBIC"]

SUFFIXES: dict[FileFormat, str] = {"PC2": ".pc2", "MDD": ".mdd", "ALEMBIC": ".abc"}

REFUSAL_NOT_ENABLED = "Alembic stores the rendered result: Enable {objects} first"


@dataclass(frozen=True)
class CacheReport:
    """The result of writing one object to a file.

    Attributes:
        frames: how many were written.
    """

    object_name: str
    path: Path
    frames: int

    def sentence(self) -> str:
        """For the status line and the panel."""
        return f"Wrote {counted(self.frames, 'frame')} of {self.object_name} to {self.path}."


def bake_cache(
    objects: Sequence[bpy.types.Object],
    path: Path,
    file_format: FileFormat,
    frames: tuple[int, int, int],
) -> Generator[Progress, None, list[CacheReport]]:
    """Write the positions of characters in every frame; the characters stay as they are.

    Args:
        objects: mesh objects; enabled or not, but for Alembic, which stores the rendered result.
        path: of the file. Of several objects each gets a file with its name added; Alembic keeps
            all of them in one.
        frames: the first, the last, and the step from one to the next; Alembic has all of them.

    Raises:
        UserError: one of them cannot be baked, or a file cannot be written.
    """
    first, last, step = frames
    wanted = frames_of_range(first, last, step)
    if not path.name or not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent}. Choose another")
    if file_format == "ALEMBIC":
        steps = _export(objects, path, first, last)
    else:
        steps = _write(objects, path, file_format, wanted)
    reports = yield from steps
    for obj, report in zip(objects, reports, strict=True):
        remember(obj, report.sentence())
    return reports


def _write(
    objects: Sequence[bpy.types.Object],
    path: Path,
    file_format: CacheFormat,
    frames: tuple[int, ...],
) -> Generator[Progress, None, list[CacheReport]]:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        raise_refusal(acting_keys_refusal(obj, frames))
    files = object_files(path, [obj.name for obj in objects])
    sources = [Source.of(obj, depsgraph) for obj in objects]
    reports: list[CacheReport] = []
    for number, (source, file) in enumerate(zip(sources, files, strict=True)):
        steps = write_cache(source, bpy.context.scene, frames, file, file_format)
        start, length = number / len(sources), 1.0 / len(sources)
        yield from with_progress(steps, f"Writing {file.name}", start, length)
        reports.append(CacheReport(source.obj.name, file, len(frames)))
    return reports


def _export(
    objects: Sequence[bpy.types.Object], path: Path, first: int, last: int
) -> Generator[Progress, None, list[CacheReport]]:
    disabled = [obj.name for obj in objects if not settings_of(obj).enabled]
    if disabled:
        raise UserError(REFUSAL_NOT_ENABLED.format(objects=listed(disabled)))
    yield Progress(0.0, f"Writing {path.name}")
    write_alembic(objects, path, first, last)
    return [CacheReport(obj.name, path, last - first + 1) for obj in objects]


def object_files(path: Path, names: Sequence[str]) -> list[Path]:
    """The file of each object: of several objects, each file has the object's name added.

    Args:
        names: of the objects.

    Raises:
        UserError: two objects would have one file. Signs that names of files cannot have, such as
            a slash, become underscores; some systems take large and small letters for the same.
    """
    if len(names) == 1:
        return [path]
    first_of: dict[str, str] = {}
    files: list[Path] = []
    for name in names:
        file = path.with_name(f"{path.stem} {bpy.path.clean_name(name)}{path.suffix}")
        first = first_of.setdefault(os.path.normcase(file), name)
        if len(first_of) == len(files):
            raise UserError(
                f"{first} and {name} would both be written to {file}. Rename one of them, or "
                "write them one by one."
            )
        files.append(file)
    return files
