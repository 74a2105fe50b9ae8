"""The search for how softly weights act at each joint, alike on both sides of the body."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Indices, Int32s
from .joint_tests import MOST, Finding

# How softly a joint acts after so many steps. The last is as painted.
_LEVELS = (1.0, 0.5, 0.0)
_MOST_STEPS = len(_LEVELS) - 1
# A further step helps that makes it better by this factor.
_HELPS = 1.02
# What is worse by so many times what it may be is not well with half the softness.
_FAR = 4.0


class SoftnessSearch:
    """How softly the weights act at each joint.

    A joint at which they are worse acts half, then as painted. Weights that go from a limb to the
    next but one are changed by both joints between, so then those beside it follow. Where acting
    less does not help, they act as before; else as little as helped most.

    Args:
        parents: shape (B,), of `parents_at_joints`.
        mirrored: shape (B,), of `mirrored_bones`.
        bones: the joints that may act less.
    """

    def __init__(self, parents: Int32s, mirrored: Indices, bones: frozenset[int]) -> None:
        self._parents, self._mirrored, self._bones = parents, mirrored, bones
        # By one of two alike joints: how many steps less it acts, those for the joints beside it
        # with them; and how bad it was at each step.
        self._steps: dict[int, int] = {}
        self._tried: dict[int, dict[int, float]] = {}
        self._given_up: set[int] = set()
        # Of each joint with all softness.
        self._firsts: dict[int, Finding] = {}
        # The least that was found of all joints together, and what for.
        self._least, self._best = np.inf, dict[int, int]()

    def goes_on(self, found: Mapping[int, Finding], *, is_known: bool) -> bool:
        """Take a further step, or end.

        Args:
            found: what is worst at each joint with `softness`.
            is_known: whether all of that was found with this softness, not some before.
        """
        ratios: dict[int, float] = {}
        for bone, finding in found.items():
            one = self._one_of(bone)
            ratios[one] = max(ratios.get(one, 0.0), finding.ratio)
            self._firsts.setdefault(bone, finding)
        worse = sum(max(ratio - MOST, 0.0) for ratio in ratios.values())
        if is_known and worse < self._least:
            self._least, self._best = worse, dict(self._steps)
        steps = dict(self._steps)
        for one, ratio in ratios.items():
            if ratio <= MOST or one in self._given_up:
                continue
            tried, count = self._tried.setdefault(one, {}), self._steps.get(one, 0)
            tried[count] = ratio
            is_no_better = count >= _MOST_STEPS and ratio >= tried[0]
            if count == 2 * _MOST_STEPS or is_no_better:
                self._given_up.add(one)
                enough = max(MOST, _HELPS * min(tried.values()))
                steps[one] = min(each for each, ratio in tried.items() if ratio <= enough)
            else:
                # Half as soft is half as bad.
                is_far = count % _MOST_STEPS == 0 and ratio > 1.0 + _FAR * (MOST - 1.0)
                steps[one] = count + (_MOST_STEPS if is_far else 1)
        is_changed, self._steps = steps != self._steps, steps
        return is_changed

    def softness(self) -> dict[int, float]:
        """How softly the weights act at joints that act less, by their bones."""
        return {bone: level for bone, (level, _) in self._levels(self._steps).items()}

    def found(self) -> dict[int, tuple[float, Finding]]:
        """What was best: how softly they act, and what they would do with all softness."""
        found = {}
        for bone, (level, cause) in self._levels(self._best).items():
            own = self._firsts[bone]
            because = [self._firsts[each] for each in self._both(cause)]
            found[bone] = level, max([own, *because], key=lambda each: each.ratio)
        return found

    def _levels(self, steps: Mapping[int, int]) -> dict[int, tuple[float, int]]:
        """How softly joints act that act less, and for which joint."""
        found: dict[int, tuple[float, int]] = {}
        for one, count in steps.items():
            levels = {one: count}
            if count > _MOST_STEPS:
                levels |= dict.fromkeys(self._beside(one), count - _MOST_STEPS)
            for bone, taken in levels.items():
                for each in self._both(bone) if taken else ():
                    level = _LEVELS[min(taken, _MOST_STEPS)]
                    if level < found.get(each, (1.0, one))[0]:
                        found[each] = level, one
        return dict(sorted(found.items()))

    def _both(self, bone: int) -> list[int]:
        """A joint and that on the other side of the body, where they may act less."""
        both = dict.fromkeys((bone, int(self._mirrored[bone])))
        return [each for each in both if each in self._bones]

    def _one_of(self, bone: int) -> int:
        """The same of a bone and of the one on the other side of the body."""
        return min(self._both(bone))

    def _beside(self, bone: int) -> list[int]:
        """The bones behind the joints before and after that of a bone."""
        return [int(self._parents[bone]), *np.flatnonzero(self._parents == bone).tolist()]
