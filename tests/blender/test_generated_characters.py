"""The default look on generated characters: no worse than what it replaces, in twelve poses each.

The limits are those of `quality.default_look`: 1.05 times the larger one of what *As Painted* has
and of what the better one of Blender's plain modifier and *Preserve Volume* has; in any case an
edge may be 1.25 times as long as at rest, 4 pairs of triangles may cross, a seam may open 0.2 mm:
nobody sees that. Positions are float32: 1e-6 m in seams, 1e-4 of an edge's length.
"""

from __future__ import annotations

import numpy as np
import pytest

from quality.default_look import (
    AS_PAINTED,
    DEFAULT,
    LOOKS,
    PLAIN,
    PRESERVE_VOLUME,
    Compared,
    Scene,
    compare,
)
from quality.generated.characters import KINDS, generated

pytestmark = pytest.mark.usefixtures("addon")

# Two of each kind.
SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_default_look_is_no_worse(seed: int) -> None:
    missed = [str(each) for each in compare(generated(seed)) if each.missed]
    assert not missed, "\n".join(missed)


def test_a_number_makes_one_character() -> None:
    for seed in SEEDS:
        one, other = generated(seed), generated(seed)
        assert one.kind == KINDS[seed % len(KINDS)]
        assert list(one.poses) == list(other.poses)
        assert len(one.poses) == 12
        for name, mesh in one.meshes.items():
            np.testing.assert_array_equal(mesh.vertices, other.meshes[name].vertices)
            np.testing.assert_array_equal(mesh.weight, other.meshes[name].weight)
            sums = np.bincount(mesh.weight_vertex, mesh.weight, len(mesh.vertices))
            np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-5)  # float32


def test_what_is_measured() -> None:
    """A seam opened by 30 mm, an edge three times as long, a head put 40 mm into the chest."""
    scene = Scene(generated(6))
    assert not len(scene.crossings(scene.rest))
    np.testing.assert_allclose(scene.stretches(scene.rest).max(), 1.0, atol=1e-6)
    assert scene.gaps(scene.rest).max() == 0.0

    opened = scene.rest.copy()
    opened[scene.starts[1] : scene.starts[2]] += (0.03, 0.0, 0.0)
    np.testing.assert_allclose(scene.gaps(opened).max(), 0.03, atol=1e-6)

    ends, lengths = scene.edges
    pulled = scene.rest.copy()
    edge = int(lengths.argmax())
    pulled[ends[edge, 1]] += 2.0 * (pulled[ends[edge, 1]] - pulled[ends[edge, 0]])
    assert scene.stretches(pulled)[edge] == pytest.approx(3.0, abs=1e-4)

    sunk, head = scene.rest.copy(), list(scene.character.meshes).index("Head")
    sunk[scene.starts[head] : scene.starts[head + 1]] += (0.04, 0.0, -0.04)
    assert len(scene.crossings(sunk)) > 20


def test_what_is_worse() -> None:
    """As painted counts, and the better one of Blender's."""
    values = dict.fromkeys(LOOKS, 2.0) | {PLAIN: 3.0, PRESERVE_VOLUME: 4.0}
    edge = Compared("cut", 1, "sitting", "edge", values | {DEFAULT: 3.1})
    assert edge.limit == pytest.approx(1.05 * 3.0)
    assert not edge.missed
    assert Compared("cut", 1, "sitting", "edge", values | {DEFAULT: 3.2}).missed
    painted = values | {AS_PAINTED: 5.0, DEFAULT: 5.2}
    assert not Compared("cut", 1, "sitting", "gap", painted).missed
