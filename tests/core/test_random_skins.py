"""Random skins and poses: never farther from the ideal than the better of Blender's two methods."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

from tests.core.random_skins import RandomSkin

# RANDOM_SKINS="first count" runs others: 600 from 0 took 10 s.
FIRST, COUNT = (int(each) for each in os.environ.get("RANDOM_SKINS", "0 240").split())
# The share that may miss, of each kind, and none of the twists. Measured on 600, when limbs of
# ropes did not go on beyond their last joints and leaves were not found on ropes, when joints were
# judged one by one, and now: hinges 3 of 112, 3, 3 (bent, with a twist that is spread); rows 61 of
# 161, 2, 0; between these 42 of 175, 42, 24: several are bent and twisted, where dual
# quaternions bring skin nearer to the limb than linear skinning, and compensation leaves it there.
MISSING = {"hinge": 0.03, "row": 0.01, "between": 0.16}


# The same softened, with gaps, or both; most of them are softened. Measured on 240: hinges 4 of 48,
# with up to 7 % of the radius where 5 are allowed; rows 20 of 67, 19 of them softened, whose centre
# lines turn by more than 2 degrees more, most where bends are tight; between these 28 of 71.
MISSING_APART = {"hinge": 0.1, "row": 0.33, "between": 0.42}


def test_random_skins_are_no_worse_than_the_better_of_the_others() -> None:
    """To 2 % of the radius, with *Spread Twist* 5 %; centre lines of rows turn by 1 degree more."""
    _judge(RandomSkin.of, MISSING)


def test_nor_are_they_with_softness_and_gaps() -> None:
    """To 2 % of the radius, with *Spread Twist* or *Softness* 5 %, then 2 degrees."""
    _judge(RandomSkin.apart, MISSING_APART)


def _judge(make: Callable[[int], RandomSkin], missing: dict[str, float]) -> None:
    seen, missed, said = Counter[str](), Counter[str](), []
    for seed in range(FIRST, FIRST + COUNT):
        skin = make(seed)
        misses = skin.misses()
        kind = "twist" if skin.motion == "twist" else skin.kind
        seen[kind] += 1
        if misses:
            missed[kind] += 1
            said.append((seed, kind, skin.motion, skin.spread, *misses))
    assert min(seen.values()) > COUNT // 10
    for kind, count in seen.items():
        assert missed[kind] <= missing.get(kind, 0.0) * count, "\n".join(map(str, said))
