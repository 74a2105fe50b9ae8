"""Finds the frames of tracks that need keys, by the method of Ramer, Douglas and Peucker.

A track is anything that has a value in each of F frames: a bone, the value of a shape key. All
tracks are worked on at once. Each round looks only between the keys that the last one has added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.takes import Keys

# A tolerance of 0 keeps every frame of what moves by more than rounding.
SMALLEST = 1e-12


class Places(NamedTuple):
    """Some frames of some tracks, m of them, and the keys around each.

    Attributes:
        frames, tracks: shape (m,).
        before, behind: shape (m,), frames of the keys; behind the last key both are that one.
        shares: shape (m,), of the key behind, 0 to 1.
    """

    frames: NDArray[np.intp]
    tracks: NDArray[np.intp]
    before: NDArray[np.intp]
    behind: NDArray[np.intp]
    shares: NDArray[np.float64]


# How far each place is off where it should be, as a part of its tolerance, shape (m,).
Errors = Callable[[Places], NDArray[np.float64]]


def keyed_frames(frame_count: int, track_count: int, errors: Errors) -> NDArray[np.bool_]:
    """The frames that get keys, shape (F, T): few that keep every error at 1 or below.

    A track that stays near its first frame has no other key; any other one also has one in the
    last frame. Each round adds the worst frame between any two keys.
    """
    keyed = np.zeros((frame_count, track_count), np.bool_)
    keyed[:1] = True
    open_places = ~keyed
    _, bad = _worst_between(keyed, open_places, errors)
    moving = bad.any(axis=0)
    keyed[-1:, moving] = True
    open_places &= moving & ~keyed
    while open_places.any():
        worst, bad = _worst_between(keyed, open_places, errors)
        keyed |= worst
        open_places = bad & ~keyed
    return keyed


def places_of(keyed: NDArray[np.bool_], which: NDArray[np.bool_]) -> Places:
    """The places of a mask (F, T) with the keys (F, T) around them, frame after frame."""
    frames, tracks = np.nonzero(which)
    count = len(keyed)
    every = np.arange(count)[:, None]
    before = np.maximum.accumulate(np.where(keyed, every, 0))[frames, tracks]
    behind = np.minimum.accumulate(np.where(keyed, every, count)[::-1])[::-1][frames, tracks]
    behind = np.where(behind == count, before, behind)
    shares = (frames - before) / np.maximum(behind - before, 1)
    return Places(frames, tracks, before, behind, shares)


def packed_keys(keyed: NDArray[np.bool_]) -> tuple[Keys, NDArray[np.intp], NDArray[np.intp]]:
    """The keys of each track after the other, and the frame and the track of each."""
    tracks, frames = np.nonzero(keyed.T)
    offsets = np.concatenate(([0], np.cumsum(keyed.sum(axis=0)))).astype(np.int32)
    return Keys(offsets, frames.astype(np.uint16)), frames, tracks


def reduced_values(
    values: NDArray[np.floating], tolerances: NDArray[np.floating]
) -> tuple[Keys, NDArray[np.float32]]:
    """The keys of values that are linear in between.

    Args:
        values: shape (F, V).
        tolerances: shape (V,); how far each value may be off.

    Returns:
        the keys of V tracks, and the value of each, shape (K,).
    """
    limits = np.maximum(tolerances, SMALLEST)

    def errors(places: Places) -> NDArray[np.float64]:
        frames, tracks, before, behind, shares = places
        start = values[before, tracks]
        between = start + shares * (values[behind, tracks] - start)
        return np.abs(between - values[frames, tracks]) / limits[tracks]

    frame_count, value_count = values.shape
    keys, frames, tracks = packed_keys(keyed_frames(frame_count, value_count, errors))
    return keys, values[frames, tracks].astype(np.float32)


def _worst_between(
    keyed: NDArray[np.bool_], which: NDArray[np.bool_], errors: Errors
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where an error is above 1: the worst frame between two keys, and all frames there.

    Args:
        which: shape (F, T), the places to look at; the errors of others count as 0.

    Returns:
        two masks of shape (F, T).
    """
    off = np.zeros(keyed.shape)
    off[which] = errors(places_of(keyed, which))
    on_one_line = off.T.ravel()
    starts = np.flatnonzero(keyed.T.ravel())
    largest = np.maximum.reduceat(on_one_line, starts) if len(starts) else np.zeros(0)
    largest = np.repeat(largest, np.diff(starts, append=len(on_one_line)))
    bad = largest > 1.0
    worst = bad & (on_one_line == largest)
    return worst.reshape(off.T.shape).T, bad.reshape(off.T.shape).T
