"""The files of commands: opened, and saved so that a file is as it was before, or complete.

The structure of a .blend file tells whether all of it is there. A plain file is a header and
blocks, one behind the other: the head of a block says how long the block is, and the last head is
ENDB. A compressed file is frames of Zstandard, and at its end a table of their lengths (the
*seekable format*, contrib/seekable_format of Zstandard's repository). All numbers are
little-endian.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Generator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

import bpy

from ..errors import FileError, UserError
from ..pipeline.files.whole_files import beside, cannot_write
from ..wording import listed

PLAIN, ZSTANDARD = b"BLENDER", b"\x28\xb5\x2f\xfd"
"""How the bytes of a file begin: as they are, and compressed."""

# The head of a block: code, length, address, type, count; from Blender 5 on code, type, address,
# length, count.
_HEAD, _LARGE_HEAD = struct.Struct("<4siQii"), struct.Struct("<4siQqq")

# The table of frames: its own head (magic number, length), an entry for each frame (compressed and
# plain length), its end (count, flags, magic number).
_TABLE_HEAD, _TABLE_ENTRY, _TABLE_END = (
    struct.Struct("<II"),
    struct.Struct("<II"),
    struct.Struct("<IBI"),
)
_SKIPPED, _SEEKABLE = 0x184D2A5E, 0x8F92EAB1


def is_whole(path: Path) -> bool:
    """Whether a file of this Blender version is complete: nothing is missing at its end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        beginning = file.read(17)
        file.seek(0)
        try:
            if beginning.startswith(ZSTANDARD):
                return _frames_are_whole(file, size)
            return beginning.startswith(PLAIN) and _blocks_are_whole(file, size, beginning)
        except struct.error:
            return False


def _blocks_are_whole(file: BinaryIO, size: int, beginning: bytes) -> bool:
    # "BLENDER-v402" up to Blender 4, then "BLENDER17-01v0500", which begins with its length.
    large = beginning[7:9].isdigit()
    head, length_at = (_LARGE_HEAD, 3) if large else (_HEAD, 1)
    file.seek(int(beginning[7:9]) if large else 12)
    while True:
        found = head.unpack(file.read(head.size))
        if found[0] == b"ENDB":
            return file.tell() == size
        length = found[length_at]
        if not 0 <= length <= size:
            return False
        file.seek(length, 1)


def _frames_are_whole(file: BinaryIO, size: int) -> bool:
    file.seek(max(size - _TABLE_END.size, 0))
    count, _, magic = _TABLE_END.unpack(file.read())
    length = count * _TABLE_ENTRY.size + _TABLE_END.size
    begins = size - length - _TABLE_HEAD.size
    if magic != _SEEKABLE or begins < 0:
        return False
    file.seek(begins)
    table = file.read()
    entries = table[_TABLE_HEAD.size : -_TABLE_END.size]
    frames = [0, *accumulate(entry[0] for entry in _TABLE_ENTRY.iter_unpack(entries))]
    if _TABLE_HEAD.unpack_from(table) != (_SKIPPED, length) or frames.pop() != begins:
        return False
    return all(_begins_a_frame(file, place) for place in frames)


def _begins_a_frame(file: BinaryIO, place: int) -> bool:
    file.seek(place)
    return file.read(len(ZSTANDARD)) == ZSTANDARD


# How the bytes of a .blend file begin that is compressed as Blender 2 did it.
_GZIP = b"\x1f\x8b"

# More than a disk reserves at a time.
_MORE = 1_000_000

# "BLENDER-v402" up to Blender 4, "BLENDER17-01v0500" from 5 on.
_PLAIN_VERSION = re.compile(rb"BLENDER(?:[-_][vV](\d)(\d\d)|\d\d-\d\dv(\d\d)(\d\d))")


def open_file(path: Path) -> list[str]:
    """Open a .blend file.

    Returns:
        what the user should know of it: missing libraries, scripts that were not run, a newer
        version of Blender.

    Raises:
        FileError: it cannot be read.
    """
    beginning = _beginning(path)
    try:
        bpy.ops.wm.open_mainfile(filepath=os.path.abspath(path), load_ui=False)
    except RuntimeError as error:
        raise FileError(_reading_failure(path, beginning, str(error))) from error
    warnings = [f"{path} links {each}, which is missing." for each in _missing_libraries()]
    if bpy.app.autoexec_fail:
        warnings.append(
            f"{path} has scripts that were not run ({bpy.app.autoexec_fail_message}). Start "
            "Blender with --enable-autoexec if you trust the file."
        )
    if _is_newer():
        warnings.append(_newer(path))
    return warnings


@contextmanager
def in_scene(path: Path, name: str | None) -> Generator[None]:
    """Let a scene of the open file be the current one in the block; None: it stays.

    Raises:
        UserError: there is no such scene.
    """
    if name is None:
        yield
        return
    scene = bpy.data.scenes.get(name)
    if scene is None:
        names = listed([each.name for each in bpy.data.scenes])
        raise UserError(f"{path} has no scene {name}. Its scenes: {names}.")
    with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
        yield


def require_writable_version(path: Path) -> None:
    """Refuse to write what a newer Blender has made.

    Raises:
        FileError: saving the open file would lose data.
    """
    if _is_newer():
        raise FileError(f"{_newer(path)} To save it would lose data: use the newer Blender.")


def _is_newer() -> bool:
    """Whether a newer Blender has saved the open file."""
    return _saved_by() > bpy.app.version[:2]


def _missing_libraries() -> list[str]:
    """The paths of the libraries of the open file that are missing."""
    return [
        os.path.normpath(bpy.path.abspath(library.filepath))
        for library in bpy.data.libraries
        if library.is_missing
    ]


def missing_data_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot be worked on, where parts of it are in a missing library; or None."""
    rigs = [modifier.object for modifier in obj.modifiers if modifier.type == "ARMATURE"]  # type: ignore[attr-defined]
    armatures = [rig.data for rig in rigs if rig is not None]
    parts = [each for each in (obj, obj.data, *rigs, *armatures) if each is not None]
    missing = [each for each in parts if each.is_missing]
    if not missing:
        return None
    names = listed(list(dict.fromkeys(each.name for each in missing)))
    files = listed(
        sorted({bpy.path.abspath(each.library.filepath) for each in missing if each.library})
    )
    return f"{obj.name} needs {names} of {files}, which is missing."


@contextmanager
def saved_to(target: Path, source: Path) -> Generator[None]:
    """Save the open file to a path when the block ends; paths in it lead where they led before.

    It is compressed if the file was that it comes from.

    Raises:
        FileError: it cannot be written.
    """
    compress = _beginning(source).startswith((ZSTANDARD, _GZIP))
    yield
    with beside(target) as unfinished:
        try:
            bpy.ops.wm.save_as_mainfile(
                filepath=str(unfinished),
                check_existing=False,
                copy=True,
                # In place, paths stay as they are: the file may be opened by a symbolic link.
                relative_remap=target.resolve() != source.resolve(),
                compress=compress,
            )
        except RuntimeError as error:
            # Of a write that failed Blender reports what it did last, "No such file or directory".
            reason = f"Blender's message is {_reason(str(error))!r}"
            needed = source.stat().st_size
            raise FileError(cannot_write(target, reason, needed)) from error
        finally:
            # Blender writes under a name of its own first.
            unfinished.with_name(f"{unfinished.name}@").unlink(missing_ok=True)
        _require_whole(unfinished, target)


def _require_whole(written: Path, target: Path) -> None:
    """Blender reports success for compressed files of which a full disk took a part.

    Raises:
        OSError: the disk takes no more.
        FileError: it is not whole for another reason.
    """
    if is_whole(written):
        return
    # Another write that fails says why.
    with written.open("ab") as file:
        file.write(bytes(_MORE))
    raise FileError(cannot_write(target, "a part of what Blender has written is missing"))


def _beginning(path: Path) -> bytes:
    """The first bytes of a file; raises `FileError` where it is missing or cannot be read."""
    try:
        if not path.exists():
            raise FileError(f"There is no file {path}.")
        if not path.is_file():
            raise FileError(f"{path} is not a file.")
        with path.open("rb") as file:
            return file.read(32)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error


def _reading_failure(path: Path, beginning: bytes, message: str) -> str:
    """Why Blender cannot read a file."""
    if not beginning.startswith((PLAIN, ZSTANDARD, _GZIP)):
        return f"{path} is not a .blend file."
    written = _PLAIN_VERSION.match(beginning)
    if written is not None:
        version = tuple(int(part) for part in written.groups() if part is not None)
        if version > bpy.app.version[:2]:
            return (
                f"{path} was saved by Blender {_name(version)}, which Blender "
                f"{bpy.app.version_string} cannot read. Use the newer Blender."
            )
    elif "not a blend file" in message:
        return (
            f"Blender {bpy.app.version_string} cannot read {path}: it is damaged, or a newer "
            "Blender has saved it."
        )
    return f"{path} is damaged or incomplete: {_reason(message)}."


def _newer(path: Path) -> str:
    return (
        f"{path} was saved by Blender {_name(_saved_by())}, this is Blender "
        f"{bpy.app.version_string}."
    )


def _saved_by() -> tuple[int, ...]:
    """The version of Blender that has saved the open file."""
    version: Any = bpy.data.version
    return tuple(version)[:2]


def _name(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


def _reason(message: str) -> str:
    """The last part of a message of Blender's, which says why."""
    return message.strip().removeprefix("Error: ").rsplit(": ", 1)[-1].rstrip(".")
