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
