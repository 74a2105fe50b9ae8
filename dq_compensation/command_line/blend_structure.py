"""Recognises from its own structure whether all of a .blend file is there.

A plain file is a header and blocks, one behind the other: the head of a block says how long the
block is, and the last head is ENDB. A compressed file is frames of Zstandard, and at its end a
table of their lengths (the *seekable format*, contrib/seekable_format of Zstandard's repository).
All numbers are little-endian.
"""

from __future__ import annotations

import struct
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

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
    """Whether a file that this Blender has written ends where it says that it ends."""
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
