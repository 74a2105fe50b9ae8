"""Files of a bake: point caches (PC2, MDD) and Alembic, each complete or not there."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Literal
from uuid import uuid4

import bpy
import numpy as np

from ...bake.bake_reports import remember_report
from ...bake.bake_source import Source
from ...errors import FileError, UserError, raise_refusal
from ...scene.blender.scenes import frame_kept, frames_of_range
from ...scene.settings.object_settings import is_enabled
from ...steps import Progress, with_progress
from ...wording import counted, listed, sized
from ..correctives.baked_keys import acting_keys_refusal

# Writes a file completely or not at all: a stop half-way leaves the old file.


# A disk with less is full, for people.
_LITTLE_SPACE = 1_000_000


@contextmanager
def written_whole(path: Path) -> Generator[BinaryIO]:
    """A new file beside a path. It takes the path's place when the block ends; see `beside`.

    Raises:
        FileError: the file cannot be written.
    """
    # Read and write: into a file for writing alone, NumPy writes with C's buffer, and does not hear
    # when the last part of it fails.
    with beside(path) as unfinished, unfinished.open("x+b") as file:
        yield file


@contextmanager
def beside(path: Path) -> Generator[Path]:
    """A name to write to, in the folder of a path. The file takes the path's place at the end.

    A block that fails leaves no trace. A process that is killed leaves the file beside, whose name
    begins with a full stop and ends with ``.part``. Two processes that write one path do not meet:
    the last one's file stays.

    Raises:
        FileError: the file cannot be written.
    """
    # What a link leads to is written, not the link.
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
    try:
        if (reason := read_only_refusal(path)) is not None:
            raise reason
        yield unfinished
        if target.exists():
            _take_over(target, unfinished)
        # Before the name: otherwise a crash of the machine can leave an empty file.
        _sync(unfinished)
        os.replace(unfinished, target)
        # The file is there; some disks of networks cannot do this with folders.
        with suppress(OSError):
            _sync(target.parent)
    except OSError as error:
        needed = sys.maxsize if error.errno == errno.ENOSPC else 0
        raise FileError(cannot_write(path, error.strerror or str(error), needed)) from error
    finally:
        # What made the name or its folder impossible is the error to tell.
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def read_only_refusal(path: Path) -> FileError | None:
    """Why a file is not replaced, or None. Blender does not write read-only files, either."""
    if path.exists() and not may_write(path):
        return FileError(f"{path} cannot be written: it is read-only.")
    return None


def may_write(path: Path) -> bool:
    """Whether the user of this process may write a file, or in a folder."""
    effective = os.access in os.supports_effective_ids
    return os.access(path.resolve(), os.W_OK, effective_ids=effective)


def _take_over(old: Path, new: Path) -> None:
    """Give a new file the permissions of the old one, and its owner and group where allowed."""
    if sys.platform != "win32":
        was = old.stat()
        for owner in (was.st_uid, -1):
            with suppress(OSError):
                os.chown(new, owner, was.st_gid)
                break
    shutil.copymode(old, new)


def cannot_write(path: Path, reason: str, needed: int = 0) -> str:
    """Why a file could not be written.

    Args:
        needed: about how many bytes it would have.
    """
    free = _free_space(path)
    if free is not None and free < max(needed, _LITTLE_SPACE):
        return f"{path} cannot be written: its disk is full, {sized(free)} are left."
    return f"{path} cannot be written: {reason}."


def _free_space(path: Path) -> int | None:
    """The bytes that are left on the disk of a file; None where the system does not say."""
    try:
        return shutil.disk_usage(path.resolve().parent).free
    except OSError:
        return None


def _sync(path: Path) -> None:
    """Let the disk have a file, or the names in a folder, before anything else happens."""
    if path.is_dir() and os.name == "nt":
        # Windows has no descriptors of folders.
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Writes the positions of every frame for programs that play point caches: PC2 and MDD.
#
# Both hold positions in object space, in the axes of Blender, after the Armature modifier and
# before whatever follows it. Blender's own Mesh Cache modifier plays them.
#
# PC2: "POINTCACHE2" and a zero byte; version 1, points, first frame, frames per sample, samples as
# int32 or float32; then the samples, float32, all little-endian. MDD: frames and points as int32,
# the time of each frame in seconds, then the frames, float32, all big-endian.


CacheFormat = Literal["PC2", "MDD"]

_REFUSAL_STEP = "PC2 has one step between all frames: choose a range that the step divides."


def write_cache(
    source: Source,
    scene: bpy.types.Scene,
    frames: tuple[int, ...],
    path: Path,
    cache_format: CacheFormat,
) -> Generator[float, None, None]:
    """Write a cache frame by frame; yields the part that is done.

    It is written beside the file and takes its place at the end (`written_whole`); closed before
    that, it leaves no trace, and the scene in its frame.

    Args:
        frames: rising.
        path: of the file; its folder exists.
        cache_format: PC2, with one step between all frames, or MDD.

    Raises:
        UserError: a pose cannot be evaluated, or the file cannot be written.
    """
    rate = scene.render.fps / scene.render.fps_base
    header = _header(source.vertex_count, frames, rate, cache_format)
    kind = np.dtype(">f4" if cache_format == "MDD" else "<f4")
    with frame_kept(scene), written_whole(path) as file:
        file.write(header)
        for done, frame in enumerate(frames, 1):
            scene.frame_set(frame)
            posed = source.posed(bpy.context.evaluated_depsgraph_get())
            file.write(posed.wanted.astype(kind).tobytes())
            yield done / len(frames)


def _header(points: int, frames: tuple[int, ...], rate: float, cache_format: CacheFormat) -> bytes:
    if cache_format == "PC2":
        steps = {after - before for before, after in pairwise(frames)}
        if len(steps) > 1:
            raise UserError(_REFUSAL_STEP)
        step = float(steps.pop()) if steps else 1.0
        return struct.pack(
            "<12siiffi", b"POINTCACHE2\0", 1, points, float(frames[0]), step, len(frames)
        )
    times = np.array(frames, np.float64) / rate
    return struct.pack(">ii", len(frames), points) + times.astype(">f4").tobytes()


# The evaluated mesh as an Alembic file, by Blender's own exporter.


# Bytes for custom properties, parents, and the file itself.
_AROUND = 100_000


def _write_alembic(objects: Sequence[bpy.types.Object], path: Path, first: int, last: int) -> None:
    """Export objects as they are rendered, with every modifier; the selection is as before then.

    Args:
        objects: in the current view layer.
        path: of the file; its folder exists.
        first, last: frames.

    Raises:
        UserError: this Blender has no Alembic.
        FileError: the file cannot be written.
    """
    if not bpy.app.build_options.alembic:
        raise UserError("This Blender was built without Alembic. Choose PC2 or MDD.")
    # Blender's exporter ends Blender when the disk is full, and what is not saved is lost.
    needed = sum(size_at_most(obj, last - first + 1) for obj in objects)
    free = _free_space(path)
    if free is not None and free < needed:
        raise FileError(
            f"{path} cannot be written: it can take {sized(needed)}, and its disk has "
            f"{sized(free)} left. Choose another disk or fewer frames."
        )
    try:
        with selected_alone(objects), beside(path) as unfinished:
            bpy.ops.wm.alembic_export(
                "EXEC_DEFAULT",
                filepath=str(unfinished),
                start=first,
                end=last,
                selected=True,
                evaluation_mode="RENDER",
                as_background_job=False,
            )
    except RuntimeError as error:
        raise FileError(cannot_write(path, str(error).strip())) from error


@contextmanager
def selected_alone(objects: Sequence[bpy.types.Object]) -> Generator[None]:
    """Select these objects alone, for an exporter; selection and frame are as before then."""
    layer = bpy.context.view_layer
    active = layer.objects.active
    selected = [obj for obj in layer.objects if obj.select_get()]
    try:
        with frame_kept(bpy.context.scene):
            for obj in layer.objects:
                obj.select_set(obj in objects)
            yield
    finally:
        for obj in layer.objects:
            obj.select_set(obj in selected)
        layer.objects.active = active


def size_at_most(obj: bpy.types.Object, frames: int) -> int:
    """About how many bytes an object takes in a file, where it moves in every frame."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert isinstance(mesh, bpy.types.Mesh)
    vertices, edges = len(mesh.vertices), len(mesh.edges)
    faces, corners = len(mesh.polygons), len(mesh.loops)
    more = _further_subdivisions(obj)
    for _ in range(more):
        vertices, edges = vertices + edges + faces, 2 * edges + corners
        faces, corners = corners, 4 * corners
    # float32: positions, those before the modifiers (again in each frame where nodes deform the
    # mesh), and normals of corners where the mesh has such.
    moving = 24 * vertices + (0 if mesh.normals_domain == "POINT" else 12 * corners)
    # Faces and their corners; place and index of each corner in each UV map.
    still = 4 * faces + 4 * corners + 12 * corners * len(mesh.uv_layers)
    return int((moving * frames + still) * 4.0 ** min(more, 0)) + 1000 * frames + _AROUND


def _further_subdivisions(obj: bpy.types.Object) -> int:
    """How many times more often than the viewport an export subdivides a mesh.

    A Subdivision Surface at the end of the stack is not written as vertices.
    """
    more, at_the_end = 0, True
    for modifier in reversed(obj.modifiers):
        if isinstance(modifier, bpy.types.SubsurfModifier | bpy.types.MultiresModifier):
            rendered = modifier.render_levels if modifier.show_render else 0
            if at_the_end and _is_subdivision_surface(modifier):
                rendered = 0
            more += rendered - (modifier.levels if modifier.show_viewport else 0)
        elif modifier.type in {"DISPLACE", "PARTICLE_SYSTEM"}:
            continue
        at_the_end = at_the_end and not modifier.show_render
    return more


def _is_subdivision_surface(modifier: bpy.types.Modifier) -> bool:
    if not isinstance(modifier, bpy.types.SubsurfModifier):
        return False
    return modifier.subdivision_type == "CATMULL_CLARK"


# Bakes characters to files that other programs play: PC2, MDD and Alembic.


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
        remember_report(obj, report.sentence())
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
    disabled = [obj.name for obj in objects if not is_enabled(obj)]
    if disabled:
        raise UserError(REFUSAL_NOT_ENABLED.format(objects=listed(disabled)))
    yield Progress(0.0, f"Writing {path.name}")
    _write_alembic(objects, path, first, last)
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
