"""Random skins with armour as characters: modifier and NumPy alike, and armour keeps its shape.

Tolerances: 1e-4 of the size between evaluators, as everywhere; 1e-5 of it for the armour's shape,
which float32 keeps.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.influences import Influences
from human.model import build_from
from quality.body import Body
from quality.methods import BlenderBody, arrays_of
from tests.blender.enabled_scenes import distance, enable
from tests.blender.scene_builders import new_file
from tests.core.random_skins import RandomSkin

pytestmark = pytest.mark.usefixtures("addon")

EVALUATORS, RIGID = 1e-4, 1e-5
# The corners of a box, and its faces.
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def armoured(skin: RandomSkin, rng: np.random.Generator) -> tuple[Body, list[slice]]:
    """With a box for each bone of the row, around it or beside; where each box's vertices are.

    A box follows its bone, or its bone and the one before.
    """
    points, faces, boxes = [skin.points], [skin.faces], []
    vertices, slots = np.nonzero(skin.influences.weights)
    triples = [
        (vertices, skin.influences.bones[vertices, slots], skin.influences.weights[vertices, slots])
    ]
    first = len(skin.points)
    for bone, (start, end) in enumerate(zip(skin.ends[:-1], skin.ends[1:], strict=True)):
        middle = (*rng.uniform(-1.0, 1.0, 2) * skin.radius, rng.uniform(start, end))
        points.append(middle + CORNERS * rng.uniform(0.2, 1.2, 3) * skin.radius)
        faces.append(first + np.array(SIDES, np.int32))
        share = 1.0 if bone == 0 else float(rng.choice([1.0, rng.uniform()]))
        at = np.arange(first, first + 8)
        triples.append((at, np.full(8, bone), np.full(8, share)))
        if share < 1.0:
            triples.append((at, np.full(8, bone - 1), np.full(8, 1.0 - share)))
        boxes.append(slice(first, first + 8))
        first += 8
    joined = (np.concatenate(each) for each in zip(*triples, strict=True))
    influences = Influences.from_triples(*joined, first)
    return Body(np.concatenate(points), np.concatenate(faces), influences, skin.skeleton), boxes


def shape_of(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """The distances (8, 8) between the corners of a box."""
    points = points.astype(np.float64)
    return np.linalg.norm(points[:, None] - points[None], axis=2)


@pytest.mark.parametrize("seed", range(12))
def test_evaluators_are_alike_and_armour_is_rigid(seed: int) -> None:
    skin = RandomSkin.apart(seed)
    body, boxes = armoured(skin, np.random.default_rng(seed))
    new_file()
    obj, armature = build_from(arrays_of(body))
    BlenderBody(body, obj, armature).take_pose(skin.pose)
    obj.dq_compensation.twist_spread = skin.spread
    obj.dq_compensation.softness = skin.softness
    enable(obj)
    by_numpy, by_nodes = (api.evaluate(obj, evaluator=each) for each in ("NUMPY", "MODIFIER"))
    size = float(np.ptp(body.rest, axis=0).max())
    assert distance(by_numpy, by_nodes, size) <= EVALUATORS
    assert distance(by_numpy, body.rest, size) > 0.01
    for box in boxes:
        changes = np.abs(shape_of(by_nodes[box]) - shape_of(body.rest[box]))
        assert changes.max() <= RIGID * size
