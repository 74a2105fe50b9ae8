"""The human's left hand on the bones that WebXR names for headsets: with parents, or flat.

A headset's hand has 25 bones without parents, and what an importer makes their tails is a guess.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from human_model import HumanArrays, load_human_arrays

Tails = Literal["ALONG", "UP", "X", "RANDOM", "REVERSED", "LONG", "SHORT"]
"""Where tails point: along the limbs; all one way; anywhere; back to front; up, 1 m or 1 mm off."""
WRONG_TAILS: tuple[Tails, ...] = get_args(Tails)[1:]

FINGERS = ("thumb", "index-finger", "middle-finger", "ring-finger", "pinky-finger")
_THUMB = ("metacarpal", "phalanx-proximal", "phalanx-distal")
_FINGER = ("metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal")
_FOREARM = "lowerarm02.L"
# The tip's bone starts here, in parts of the last bone, and has at most this weight at its end.
_TIP_START, _TIP_WEIGHT = 0.75, 0.2


def chain_of(finger: str) -> tuple[str, ...]:
    """The names of a finger's bones that move skin, from the wrist out."""
    return tuple(f"{finger}-{part}" for part in (_THUMB if finger == "thumb" else _FINGER))


@cache
def hand_arrays(
    *, flat: bool = False, tails: Tails = "ALONG", tips: bool = True, seed: int = 0
) -> HumanArrays:
    """The hand: 1,602 vertices with the weights of the human, bones where its joints are.

    Args:
        flat: whether no bone has a parent.
        tips: whether there are bones for the fingertips, which move hardly any skin.
        seed: of tails that point anywhere.
    """
    human = load_human_arrays("default")
    sources = _sources(human)
    stays = np.isin(_strongest(human), [human.names.index(name) for name in sources])
    stays &= (
        np.bincount(human.faces[stays[human.faces].all(axis=1)].ravel(), minlength=len(stays)) > 0
    )
    place = np.cumsum(stays) - 1
    entries = stays[human.weight_vertex]
    vertex = place[human.weight_vertex[entries]]
    names = list(dict.fromkeys(sources.values()))
    # What follows no bone of the hand follows the wrist.
    new_bone = np.array([names.index(sources.get(name, "wrist")) for name in human.names])
    dense = np.zeros((int(stays.sum()), len(names)))
    np.add.at(dense, (vertex, new_bone[human.weight_bone[entries]]), human.weight[entries])
    of_name = {new: human.names.index(old) for old, new in reversed(sources.items())}
    heads = human.heads[[of_name[name] for name in names]].astype(np.float64)
    ends = human.tails[[of_name[name] for name in names]].astype(np.float64)
    parents = [-1, *(0 if "metacarpal" in name else row for row, name in enumerate(names[1:]))]
    vertices = human.vertices[stays]
    if tips:
        for finger in FINGERS:
            last = names.index(chain_of(finger)[-1])
            along = ends[last] - heads[last]
            # The parts of the way to the end that lie behind each vertex.
            parts = (vertices - heads[last]) @ along / (along @ along)
            share = _TIP_WEIGHT * np.clip((parts - _TIP_START) / (1.0 - _TIP_START), 0.0, 1.0)
            share *= dense[:, last]
            dense[:, last] -= share
            dense = np.column_stack((dense, share))
            names.append(f"{finger}-tip")
            parents.append(last)
            heads = np.vstack((heads, heads[last] + 0.95 * along))
            ends = np.vstack((ends, ends[last] + 0.2 * along))
    weight_vertex, weight_bone = np.nonzero(dense > 0.0)
    return replace(
        human,
        vertices=vertices,
        faces=place[faces].astype(np.int32),
        names=tuple(names),
        parents=np.array([-1] * len(names) if flat else parents, np.int16),
        heads=heads.astype(np.float32),
        tails=_tails(tails, heads, ends, seed).astype(np.float32),
        rolls=np.zeros(len(names), np.float32),
        weight_vertex=weight_vertex.astype(np.int32),
        weight_bone=weight_bone.astype(np.int16),
        weight=dense[weight_vertex, weight_bone].astype(np.float32),
    )


def _sources(human: HumanArrays) -> dict[str, str]:
    """The bones of the human that become each of the hand's."""
    found = {"wrist.L": "wrist"}
    for number, finger in enumerate(FINGERS, 1):
        new = iter(chain_of(finger))
        if number > 1:
            found[f"metacarpal{number - 1}.L"] = next(new)
        found.update({f"finger{number}-{joint}.L": name for joint, name in enumerate(new, 1)})
    assert set(found) <= set(human.names)
    return found


def _strongest(human: HumanArrays) -> NDArray[np.intp]:
    """The bone that moves each vertex most."""
    order = np.lexsort((human.weight, human.weight_vertex))
    strongest = np.zeros(len(human.vertices), np.intp)
    strongest[human.weight_vertex[order]] = human.weight_bone[order]
    return strongest


def _tails(
    tails: Tails, heads: NDArray[np.float64], ends: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    limbs = ends - heads
    lengths = np.linalg.norm(limbs, axis=1, keepdims=True)
    if tails == "ALONG":
        return ends
    if tails == "REVERSED":
        return heads - limbs
    if tails == "RANDOM":
        anywhere = np.random.default_rng(seed).normal(size=heads.shape)
        return heads + lengths * anywhere / np.linalg.norm(anywhere, axis=1, keepdims=True)
    if tails == "X":
        return heads + lengths * [1.0, 0.0, 0.0]
    return heads + {"UP": lengths, "LONG": 1.0, "SHORT": 0.001}[tails] * np.array([0.0, 0.0, 1.0])
