"""Example poses on the GPU: the surface that NumPy gives, and no uploads while it moves."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from dq_compensation.session.status import status_of
from dq_compensation.viewport.array_textures import empty_texture, texture_from_array
from dq_compensation.viewport.batches import Batches
from human.model import build_from
from tests.blender.conftest import Human
from tests.blender.example_scenes import (
    ELBOW,
    IN_AND_BETWEEN,
    SHOULDER,
    add_examples,
    add_rows,
    largest,
    settings_for,
    size_of,
    turn,
)
from tests.gpu_memory import gpu_bytes
from tests.human_body import HEAD_HANDS_AND_FEET, human_arrays
from tests.replaced_functions import count_calls

# Of the object's size. Weights are kept in 16 bits on the GPU, positions in 32.
TOLERANCE = 1e-4
BONE = ELBOW["default"]


@pytest.fixture
def human(addon: None) -> Human:
    arrays = human_arrays(without=HEAD_HANDS_AND_FEET)
    return Human(*build_from(arrays), arrays)


@pytest.mark.parametrize("base", ["SPHERICAL_JOINT", "COMPENSATED"])
@pytest.mark.parametrize("twists", [False, True])
def test_equals_numpy_in_and_between_the_examples(human: Human, base: str, twists: bool) -> None:
    obj = human.mesh_object
    settings_for(human, base)
    add_examples(human, twists=twists)
    obj.dq_compensation.examples[0].factor = 0.5
    size = size_of(human)
    for elbow, axis, shoulder in IN_AND_BETWEEN:
        turn(human, BONE, elbow, axis)
        turn(human, SHOULDER, shoulder, "Z")
        found = api.evaluate(obj, evaluator="GPU")
        assert largest(found, api.evaluate(obj)) <= TOLERANCE * size
        if elbow == 100.0:
            # What the examples add is a hundred times what is forgiven.
            assert largest(found, api.evaluate(obj, method=base)) > 100 * TOLERANCE * size


@pytest.mark.parametrize("twists", [False, True])
def test_linear_weights_equal_numpy(human: Human, twists: bool) -> None:
    settings_for(human, "COMPENSATED")
    add_rows(human, twists)
    size = size_of(human)
    for elbow, axis, shoulder in (*IN_AND_BETWEEN, (170.0, "X", -30.0), (45.0, "X", 80.0)):
        turn(human, BONE, elbow, axis)
        turn(human, SHOULDER, shoulder, "X" if elbow == 50.0 else "Z")
        found = api.evaluate(human.mesh_object, evaluator="GPU")
        assert largest(found, api.evaluate(human.mesh_object)) <= TOLERANCE * size
        if elbow == 45.0:
            # What the examples add is a hundred times what is forgiven.
            plain = api.evaluate(human.mesh_object, method="COMPENSATED")
            assert largest(found, plain) > 100 * TOLERANCE * size


def test_only_numbers_go_to_the_gpu_while_the_examples_come_and_go(
    human: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_for(human, "SPHERICAL_JOINT")
    add_examples(human)
    status_of(human.mesh_object).binding = bind(human.mesh_object)
    batches, depsgraph = Batches(), bpy.context.evaluated_depsgraph_get

    def frame(degrees: float) -> np.ndarray:
        turn(human, BONE, degrees)
        (batch,) = batches.update([human.mesh_object], depsgraph())
        return batch.deformed.read_positions()[0]

    (batch,) = batches.update([human.mesh_object], depsgraph())
    frame(30.0)
    on_gpu, deformed = gpu_bytes(batch.deformed), batch.deformed
    uploads = count_calls(monkeypatch, texture_from_array, empty_texture)
    shapes = [frame(degrees).copy() for degrees in (45.0, 60.0, 75.0, 90.0, 100.0)]
    assert uploads == {"texture_from_array": 5}  # the pose of each frame
    assert batch.deformed is deformed
    assert gpu_bytes(deformed) == on_gpu
    assert largest(shapes[0], shapes[-1]) > 0.01
