"""The human with a forearm that is weighted differently on one side."""

from __future__ import annotations

import numpy as np

from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.vertex_groups import write_groups
from tests.blender.conftest import Human


def one_side(human: Human) -> None:
    """Half of the left forearm's first bone goes to its second one."""
    obj = human.mesh_object
    read = read_weights(obj.data)
    first, second = (
        read.of_group(obj.vertex_groups[name].index) for name in ("lowerarm01.L", "lowerarm02.L")
    )
    vertices = np.flatnonzero(first > 0.0)
    write_groups(
        obj,
        {
            "lowerarm01.L": 0.5 * first[vertices],
            "lowerarm02.L": np.minimum(second[vertices] + 0.5 * first[vertices], 1.0),
        },
        vertices,
    )


PLANTED = {"mirrored_weights/one_side": one_side}
