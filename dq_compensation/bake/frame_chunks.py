"""Chunks: some frames of characters, computed apart from the others, and what joins them.

A long range of frames is split over processes or machines. Each writes a chunk; the chunks are
joined, and equal then what one process computes for the whole range.

A file is an archive of NumPy arrays (.npz): `format`, `target` (empty for positions), `frame_rate`,
`frames` (F), `object_names` (k), and for each object i `values_i` (F, n, 3) float32, `unreached_i`
(n) and `made_from_i`, a JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from ..core.rest_offsets import Target
from ..errors import FileError, UserError
from ..wording import counted, listed
from .whole_files import written_whole

# The newest format of the files that this version reads.
_FORMAT = 1

# What reading another file, or a part of one, raises. A single array of NumPy's (.npy) is no
# context manager: TypeError or AttributeError.
_BROKEN = (KeyError, TypeError, AttributeError, ValueError, EOFError, OSError, BadZipFile)


@dataclass(frozen=True, eq=False)
class CharacterFrames:
    """The frames of one object.

    Attributes:
        values: shape (F, n, 3), float32, object space: positions, or offsets at rest.
        unreached: shape (n,), bool; with offsets, the vertices that do not get where they should
            in some frame.
        made_from: digests of what the values were computed from, by names for riggers.
    """

    object_name: str
    values: NDArray[np.float32]
    unreached: NDArray[np.bool_]
    made_from: dict[str, str]


@dataclass(frozen=True, eq=False)
class FrameChunk:
    """Some frames of several objects.

    Attributes:
        name: of the file, for messages.
        frames: the F frames, rising.
        frame_rate: frames per second.
        target: what the offsets of shape keys are for; None where the values are positions.
    """

    name: str
    frames: tuple[int, ...]
    frame_rate: float
    target: Target | None
    characters: tuple[CharacterFrames, ...]

    @property
    def object_names(self) -> tuple[str, ...]:
        """The objects, in their order."""
        return tuple(character.object_name for character in self.characters)

    def of(self, object_name: str) -> CharacterFrames:
        """The frames of one object.

        Raises:
            UserError: there is no such object.
        """
        for character in self.characters:
            if character.object_name == object_name:
                return character
        names = listed(self.object_names)
        raise UserError(f"{self.name} has no frames of {object_name}, but of {names}.")


def write_chunk(chunk: FrameChunk, path: Path) -> None:
    """Write a chunk; an old file stays until the new one is complete.

    Raises:
        FileError: the file cannot be written.
    """
    arrays: dict[str, Any] = {
        "format": np.int32(_FORMAT),
        "target": np.str_(chunk.target or ""),
        "frame_rate": np.float64(chunk.frame_rate),
        "frames": np.array(chunk.frames, np.int32),
        "object_names": np.array(chunk.object_names, np.str_),
    }
    for number, character in enumerate(chunk.characters):
        arrays[f"values_{number}"] = character.values
        arrays[f"unreached_{number}"] = character.unreached
        arrays[f"made_from_{number}"] = np.str_(json.dumps(character.made_from))
    # Not `numpy.savez`: where a disk is full, it leaves an archive open, which complains later.
    with written_whole(path) as file, ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.save(part, array, allow_pickle=False)


def read_chunk(path: Path) -> FrameChunk:
    """Read a chunk.

    Raises:
        FileError: there is no such file, or it is not a whole chunk.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if int(arrays["format"].item()) > _FORMAT:
            raise FileError(f"{path} was written by a newer version of DQ Compensation.")
        characters = tuple(
            CharacterFrames(
                name,
                arrays[f"values_{number}"],
                arrays[f"unreached_{number}"],
                json.loads(str(arrays[f"made_from_{number}"])),
            )
            for number, name in enumerate(arrays["object_names"].tolist())
        )
        frames = arrays["frames"]
        _require_whole(frames, characters)
        return FrameChunk(
            path.name,
            tuple(frames.tolist()),
            float(arrays["frame_rate"].item()),
            str(arrays["target"]) or None,  # type: ignore[arg-type]
            characters,
        )
    except FileNotFoundError as error:
        raise FileError(f"There is no file {path}.") from error
    except UserError:
        raise
    except _BROKEN as error:
        raise FileError(f"{path} does not contain frames of characters.") from error


def _require_whole(frames: NDArray[Any], characters: Sequence[CharacterFrames]) -> None:
    """Raise ValueError unless arrays are as `write_chunk` writes them."""
    rising = frames.ndim == 1 and len(frames) and np.issubdtype(frames.dtype, np.integer)
    if not rising or np.any(np.diff(frames) <= 0):
        raise ValueError("frames: not rising")
    for each in characters:
        values, unreached = each.values, each.unreached
        if values.ndim != 3 or values.dtype != np.float32 or len(values) != len(frames):
            raise ValueError(f"values of {each.object_name}: {values.dtype} {values.shape}")
        if values.shape[2] != 3 or unreached.shape != values.shape[1:2]:
            raise ValueError(f"vertices of {each.object_name}: {values.shape} {unreached.shape}")
        if unreached.dtype != np.bool_ or not isinstance(each.made_from, dict):
            raise ValueError(f"parts of {each.object_name}")


def joined(chunks: Sequence[FrameChunk], frames: Sequence[int] | None = None) -> FrameChunk:
    """All the frames of several chunks, in any order.

    Args:
        chunks: at least one.
        frames: those that have to be there; by default any, at even steps.

    Raises:
        UserError: they do not fit; the message names the file.
    """
    first, *others = sorted(chunks, key=lambda chunk: chunk.frames[0])
    for other in others:
        if reason := _difference(first, other):
            raise UserError(reason)
    found = sorted((frame, chunk.name) for chunk in (first, *others) for frame in chunk.frames)
    reason = _doubled(found) or _missing(found, frames)
    if reason:
        raise UserError(reason)
    rising = tuple(frame for frame, _ in found)
    characters = tuple(_joined(name, [first, *others], rising) for name in first.object_names)
    return replace(first, frames=rising, characters=characters)


def _joined(name: str, chunks: list[FrameChunk], frames: tuple[int, ...]) -> CharacterFrames:
    """The frames of one object from chunks that fit."""
    parts = [chunk.of(name) for chunk in chunks]
    values = np.empty((len(frames), *parts[0].values.shape[1:]), np.float32)
    for chunk, part in zip(chunks, parts, strict=True):
        values[np.searchsorted(frames, chunk.frames)] = part.values
    unreached = np.any([part.unreached for part in parts], axis=0)
    return replace(parts[0], values=values, unreached=unreached)


def _difference(first: FrameChunk, other: FrameChunk) -> str | None:
    """Why two chunks do not belong together, or None."""
    if first.target != other.target:
        contents = [
            "positions" if chunk.target is None else f"shape keys for {chunk.target}"
            for chunk in (other, first)
        ]
        return f"{other.name} has {contents[0]}, {first.name} has {contents[1]}."
    if first.object_names != other.object_names:
        names = [listed(chunk.object_names) for chunk in (other, first)]
        return f"{other.name} has frames of {names[0]}, {first.name} of {names[1]}."
    for mine, theirs in zip(first.characters, other.characters, strict=True):
        counts = [counted(each.values.shape[1], "vertex") for each in (theirs, mine)]
        if counts[0] != counts[1]:
            return (
                f"{mine.object_name} has {counts[0]} in {other.name} and {counts[1]} in "
                f"{first.name}."
            )
        if changed := changed_since(mine.made_from, theirs.made_from):
            return (
                f"{other.name} and {first.name} were made from different states of "
                f"{mine.object_name}: {listed(changed)} changed. Compute both from one file."
            )
    return None


def changed_since(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """The names of the parts whose digests differ."""
    return [name for name in before | now if before.get(name) != now.get(name)]


def _doubled(found: list[tuple[int, str]]) -> str | None:
    """Why there are too many frames, or None."""
    for (frame, name), (after, other) in pairwise(found):
        if frame == after:
            return f"Frame {frame} is in {name} and in {other}. Leave one of them out."
    return None


def _missing(found: list[tuple[int, str]], wanted: Sequence[int] | None) -> str | None:
    """Why frames are missing, or None."""
    if wanted is not None:
        there = {frame for frame, _ in found}
        missing = [str(frame) for frame in wanted if frame not in there]
        if missing:
            return f"No chunk has frame {listed(missing)}."
        extra = next((each for each in found if each[0] not in set(wanted)), None)
        return f"Frame {extra[0]} of {extra[1]} is outside of the range." if extra else None
    # A range with a step ends with a shorter one.
    steps = [after[0] - before[0] for before, after in pairwise(found)]
    for number, step in enumerate(steps):
        if step > steps[0] or (step < steps[0] and number + 1 < len(steps)):
            (frame, name), (after, other) = found[number : number + 2]
            return (
                f"The frames are not evenly spaced: after frame {frame} of {name} comes "
                f"frame {after} of {other}. A chunk may be missing."
            )
    return None
