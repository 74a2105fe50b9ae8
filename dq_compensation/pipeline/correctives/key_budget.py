"""The mathematics of a budget of corrective keys: those stay without which poses lack most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats
from .corrective_joints import AxisJoint, CorrectiveJoint

Key = tuple[int, int]
"""A joint and one of its poses, by their places."""


@dataclass(frozen=True)
class Spending:
    """What numbers of helpers, or of keys, leave of the error.

    Attributes:
        counts: falling.
        left: as many root mean squares, of the errors of the sample in metres; those of keys as
            parts of the error without any key.
    """

    counts: tuple[int, ...]
    left: tuple[float, ...]

    def left_by(self, count: int) -> tuple[int, float]:
        """The largest number up to this one that was tried, else the least, and what it leaves."""
        place = next((n for n, each in enumerate(self.counts) if each <= count), -1)
        return self.counts[place], self.left[place]


@dataclass(frozen=True)
class SpentKeys:
    """The keys within a budget.

    Attributes:
        joints: with the poses that have a place among the keys.
        kept: for each joint the places of these poses before; those of other joints than
            `AxisJoint` stay, without a key.
        keys: which keys stay.
        spending: what numbers of keys leave, in the poses of all keys.
    """

    joints: tuple[CorrectiveJoint, ...]
    kept: tuple[tuple[int, ...], ...]
    keys: frozenset[Key]
    spending: Spending


def within_key_budget(
    joints: Sequence[CorrectiveJoint],
    grams: Sequence[Floats],
    wanted: Sequence[Sequence[bool]],
    twins: Sequence[Sequence[Key]],
    budget: int,
) -> SpentKeys:
    """Let keys go one by one, each with its mirror image: the one that is missed least.

    Without a key, the curves of the other ones of its axis go on between their own poses; keys of
    other joints are missed as they are.

    Args:
        grams: for each joint with k poses the scalar products of their offsets, shape (k, k).
        wanted: for each the poses that have a key.
        twins: of each pose its mirror image; itself without one.
        budget: the most keys; 0 for any number.
    """
    stays = [[place for place, has in enumerate(some) if has] for some in wanted]
    missed = [
        _missed(*each) for each in zip(joints, grams, stays, [list(e) for e in stays], strict=True)
    ]
    every = [list(each) for each in stays]
    total = sum(float(np.trace(gram)) for gram in grams)
    count = sum(map(len, stays))
    size = min(count, budget or count)
    counts, left = [count], [float(np.sqrt(sum(missed) / total)) if total else 0.0]
    kept = [tuple(each) for each in stays]
    units = {
        tuple(sorted({(joint, place), twins[joint][place]}))
        for joint, some in enumerate(every)
        for place in some
        if twins[joint][place][1] in every[twins[joint][place][0]]
    }
    units |= {((joint, place),) for joint, some in enumerate(every) for place in some} - {
        (key,) for unit in units for key in unit
    }
    rises: dict[tuple[Key, ...], float] = {}
    while counts[-1] > max(size // 2, 1):
        for unit in units - rises.keys():
            rises[unit] = _rise(joints, grams, stays, every, missed, unit) / len(unit)
        gone = min(rises, key=lambda unit: (rises[unit], unit))
        touched = {joint for joint, _ in gone}
        for joint, place in gone:
            stays[joint] = [each for each in stays[joint] if each != place]
        for joint in touched:
            missed[joint] = _missed(joints[joint], grams[joint], stays[joint], every[joint])
        units.remove(gone)
        rises = {
            unit: rise
            for unit, rise in rises.items()
            if unit != gone and not touched.intersection(joint for joint, _ in unit)
        }
        counts.append(sum(map(len, stays)))
        left.append(float(np.sqrt(max(sum(missed), 0.0) / total)))
        if counts[-2] > size >= counts[-1]:
            kept = [tuple(each) for each in stays]
    reduced, places = [], []
    for joint, some, first in zip(joints, kept, every, strict=True):
        among = tuple(
            place for place in range(len(joint.poses)) if place not in first or place in some
        )
        is_axis = isinstance(joint, AxisJoint) and some
        reduced.append(_with_poses(joint, among) if is_axis else joint)
        places.append(among if is_axis else tuple(range(len(joint.poses))))
    keys = frozenset((joint, place) for joint, some in enumerate(kept) for place in some)
    return SpentKeys(tuple(reduced), tuple(places), keys, Spending(tuple(counts), tuple(left)))


def _rise(
    joints: Sequence[CorrectiveJoint],
    grams: Sequence[Floats],
    stays: Sequence[Sequence[int]],
    every: Sequence[Sequence[int]],
    missed: Sequence[float],
    unit: Sequence[Key],
) -> float:
    """By how much the loss of some keys raises what is missed."""
    rise = 0.0
    for joint in {joint for joint, _ in unit}:
        some = [place for place in stays[joint] if (joint, place) not in unit]
        rise += _missed(joints[joint], grams[joint], some, every[joint]) - missed[joint]
    return rise


def _missed(
    joint: CorrectiveJoint, gram: Floats, some: Sequence[int], every: Sequence[int]
) -> float:
    """The squares of what these keys of a joint lack in the poses of every one of its keys."""
    shares = np.eye(len(joint.poses))
    gone = [place for place in every if place not in some]
    shares[:, gone] = 0.0
    if isinstance(joint, AxisJoint) and gone and some:
        among = [place for place in range(len(joint.poses)) if place not in gone]
        rotations = np.array([pose.rotation for pose in joint.poses])
        shares[:, among] = _with_poses(joint, among).weights(rotations)
    lacking = np.eye(len(shares)) - shares
    return float(np.einsum("ij,jk,ik->", lacking, gram, lacking))


def _with_poses(joint: CorrectiveJoint, places: Sequence[int]) -> AxisJoint:
    """A joint about one axis with some of its poses."""
    assert isinstance(joint, AxisJoint)
    angles = tuple(joint.angles[place] for place in places)
    return replace(joint, angles=angles, poses=tuple(joint.poses[place] for place in places))
