"""The human without parts that have most of its vertices; all of its bones stay."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from human.model import HumanArrays, Rig, load_human_arrays

# Bones of the rig `default`: what follows them or a bone below them is left out.
HEAD_AND_FEET = ("head", "neck02", "foot")
HEAD_HANDS_AND_FEET = (*HEAD_AND_FEET, "metacarpal", "finger")


@cache
def human_arrays(rig: Rig = "default", without: tuple[str, ...] = ()) -> HumanArrays:
    """The arrays of the human with one of its rigs, head to toe or without some parts.

    Of 13,380 vertices, 4,006 are left without head, hands and feet.
    """
    arrays = load_human_arrays(rig)
    if not without:
        return arrays
    stays = _stays(without)
    place = np.cumsum(stays) - 1
    weights = stays[arrays.weight_vertex]
    return replace(
        arrays,
        vertices=arrays.vertices[stays],
        faces=place[arrays.faces[stays[arrays.faces].all(axis=1)]].astype(np.int32),
        weight_vertex=place[arrays.weight_vertex[weights]].astype(np.int32),
        weight_bone=arrays.weight_bone[weights],
        weight=arrays.weight[weights],
    )


@cache
def _stays(without: tuple[str, ...]) -> NDArray[np.bool_]:
    """Shape (13380,): whether a vertex stays, whatever the rig."""
    arrays = human_arrays()
    left_out = [name.startswith(without) for name in arrays.names]
    for bone, parent in enumerate(arrays.parents.tolist()):
        left_out[bone] |= parent >= 0 and left_out[parent]
    order = np.lexsort((arrays.weight, arrays.weight_vertex))
    strongest = np.zeros(len(arrays.vertices), np.intp)
    strongest[arrays.weight_vertex[order]] = arrays.weight_bone[order]
    stays = ~np.array(left_out)[strongest]
    # Vertices without a face would be loose.
    used = arrays.faces[stays[arrays.faces].all(axis=1)]
    return np.bincount(used.ravel(), minlength=len(stays)) > 0


# Leaves on the limbs of the rig `game_engine`, as Unreal and Character Creator have them. Of each
# the limb's bone; where on it the leaf is, and how far behind it, in its lengths; the share of the
# bone's weight that the leaf has at the limb's beginning, in its middle and at its end; and whether
# it has them on its back alone.
LEAVES = {
    "upperarm_twist_01": ("upperarm", 0.0, 0.0, (1.0, 0.5, 0.1), False),
    "upperarm_twist_02": ("upperarm", 0.5, 0.0, (0.0, 0.5, 0.6), False),
    "lowerarm_share": ("lowerarm", 0.0, 0.0, (0.6, 0.0, 0.0), False),
    "lowerarm_twist_01": ("lowerarm", 0.7, 0.0, (0.0, 0.5, 1.0), False),
    "lowerarm_bck": ("lowerarm", 0.0, 0.1, (0.7, 0.0, 0.0), True),
    "thigh_twist_01": ("thigh", 0.3, 0.0, (1.0, 0.5, 0.3), False),
    "calf_knee": ("calf", 0.0, 0.1, (0.7, 0.0, 0.0), True),
    "calf_twist_01": ("calf", 0.6, 0.0, (0.2, 0.5, 0.7), False),
}


def with_leaves(arrays: HumanArrays, along: tuple[float, float, float] | None) -> HumanArrays:
    """A human of the rig `game_engine` with `LEAVES` of both sides.

    Args:
        along: where the tails of the leaves lie from their heads; None: along the limb.
    """
    names, parents = list(arrays.names), arrays.parents.tolist()
    heads, tails = list(arrays.heads.astype(np.float64)), list(arrays.tails.astype(np.float64))
    rolls, rows = arrays.rolls.tolist(), arrays.weight_vertex
    of_vertex, bones, weights = [rows], [arrays.weight_bone], arrays.weight.astype(np.float64)
    for leaf, (limb, place, behind, shares, back_only) in LEAVES.items():
        for side in ("_l", "_r"):
            bone = names.index(limb + side)
            way = tails[bone] - heads[bone]
            length = float(np.linalg.norm(way))
            back = np.array((0.0, 1.0, 0.0)) * (-1.0 if leaf == "calf_knee" else 1.0)
            back -= way * (way @ back) / length**2
            back /= np.linalg.norm(back)
            names.append(leaf + side)
            parents.append(bone)
            rolls.append(0.0)
            heads.append(heads[bone] + place * way + behind * length * back)
            tails.append(heads[-1] + (0.3 * way if along is None else np.array(along)))
            of_bone = arrays.weight_bone == bone
            away = arrays.vertices[rows[of_bone]] - heads[bone]
            share = np.interp(away @ way / length**2, (0.0, 0.5, 1.0), shares)
            if back_only:
                share *= np.clip(away @ back / (0.1 * length), 0.0, 1.0)
            of_vertex.append(rows[of_bone])
            bones.append(np.full(len(share), len(names) - 1, np.int16))
            taken = weights[: len(rows)][of_bone] * share
            weights[: len(rows)][of_bone] -= taken
            weights = np.append(weights, taken)
    return replace(
        arrays,
        names=tuple(names),
        parents=np.array(parents, np.int16),
        heads=np.array(heads, np.float32),
        tails=np.array(tails, np.float32),
        rolls=np.array(rolls, np.float32),
        weight_vertex=np.concatenate(of_vertex),
        weight_bone=np.concatenate(bones),
        weight=weights.astype(np.float32),
    )
