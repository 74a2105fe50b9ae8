"""Random skins and poses: never farther from the ideal than the better of Blender's two methods."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tests.core.random_skins import RandomSkin

# RANDOM_SKINS="first count" runs others: 600 from 0 took 10 s.
FIRST, COUNT = (int(each) for each in os.environ.get("RANDOM_SKINS", "0 240").split())
# The share that may miss, of each kind, and none of the twists. Of 1,000 others miss 11 of 198
# hinges, of whose bulge more than 2, with *Spread Twist* 5 % of the radius is left; 1 of 249 rows;
# 31 of 286 between these, as where some joints of a row count as a rope's and others do not, or a
# limb with weights 1.2 to 2.5 radii wide is bent and twisted at once. Before ropes were known, 61
# of 161 rows did.
MISSING = {"hinge": 0.08, "row": 0.01, "between": 0.13}


# The same softened, with gaps, or both; most of them are softened. Of 400 others miss 9 of 76
# hinges, most of which softness dents by 5 to 6 %; 9 of 96 rows; 26 of 124 between these.
MISSING_APART = {"hinge": 0.15, "row": 0.13, "between": 0.27}


def test_random_skins_are_no_worse_than_the_better_of_the_others() -> None:
    """To 2 % of the radius, with *Spread Twist* 5 %; centre lines of rows turn by 1 degree more.

    Of the bulge of hinges no more is left, whatever the others leave.
    """
    _judge(RandomSkin.of, MISSING)


def test_nor_are_they_with_softness_and_gaps() -> None:
    """To 2 % of the radius, with *Spread Twist* or *Softness* 5 %, then 2 degrees."""
    _judge(RandomSkin.apart, MISSING_APART)


def test_half_of_the_compensation_is_too_little_for_hinges() -> None:
    """Of those whose bulge *Preserve Volume* makes larger than what may be left of it."""
    skins = [RandomSkin.of(seed) for seed in range(FIRST, FIRST + COUNT // 2)]
    bent = [each for each in skins if each.kind == "hinge" and each.motion != "twist"]
    without, half = (
        [bool(replace(each, factor=factor).misses()) for each in bent] for factor in (0.0, 0.5)
    )
    assert sum(half) > 0.25 * len(bent)
    assert sum(without) > 0.5 * len(bent)


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
