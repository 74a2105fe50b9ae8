"""Example poses know the base that they were sculpted on, and can be taken over to another one."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.examples.authoring import mirror_example
from dq_compensation.examples.posed_copy import base_sentence, other_bases, take_over
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import support_weights
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable, select
from tests.blender.example_scenes import ELBOW, flexing, largest, settings_for, size_of

BONE = ELBOW["default"]

pytestmark = pytest.mark.usefixtures("addon")


def sculpted(human: Human, base: str, softness: float = 0.0) -> NDArray[np.float32]:
    """Sculpt the bent elbow on a base; returns what the example shows in its pose."""
    enable(human.mesh_object)
    human.mesh_object.dq_compensation.softness = softness
    flexing(human, base)
    return api.evaluate(human.mesh_object)


def well_inside(human: Human) -> NDArray[np.bool_]:
    """The vertices that the example may move fully: at the border it blends with what is there."""
    return support_weights(bind(human.mesh_object), BONE) >= 1.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("SPHERICAL_JOINT", 0.0), ("COMPENSATED", 0.0)),
        (("COMPENSATED", 0.5), ("COMPENSATED", 0.0)),
        (("COMPENSATED", 0.0), ("COMPENSATED", 0.5)),
    ],
)
def test_a_shape_is_taken_over_to_another_base(
    human: Human, before: tuple[str, float], after: tuple[str, float]
) -> None:
    obj, size = human.mesh_object, size_of(human)
    shown, inside = sculpted(human, *before), well_inside(human)
    assert not other_bases(obj)
    settings_for(human, after[0])
    obj.dq_compensation.softness = after[1]
    # Where the support is whole with the weights of both: softer ones reach farther.
    inside &= well_inside(human)
    changed = api.evaluate(obj)
    assert largest(changed[inside], shown[inside]) > 1e-3 * size
    assert "flexed" in base_sentence(obj)
    assert take_over(obj) == ["flexed"]
    # Its shape is found by iteration, to `example_capture._REACHED` and float32's rounding.
    assert largest(api.evaluate(obj)[inside], shown[inside]) < 1e-5 * size
    assert not other_bases(obj)
    assert not base_sentence(obj)


def test_the_operator_takes_all_over_and_says_so(human: Human) -> None:
    obj = human.mesh_object
    sculpted(human, "SPHERICAL_JOINT")
    settings_for(human, "COMPENSATED")
    select(obj)
    assert bpy.ops.dqc.examples_take_over() == {"FINISHED"}
    assert not other_bases(obj)


def test_examples_of_earlier_files_say_nothing(human: Human) -> None:
    obj = human.mesh_object
    sculpted(human, "SPHERICAL_JOINT")
    obj.dq_compensation.examples[0].made_on = ""
    settings_for(human, "COMPENSATED")
    assert not other_bases(obj)
    assert not take_over(obj)


def test_a_mirrored_example_was_sculpted_where_its_source_was(human: Human) -> None:
    obj = human.mesh_object
    sculpted(human, "SPHERICAL_JOINT")
    settings_for(human, "COMPENSATED")
    mirror_example(obj, 0)
    assert set(other_bases(obj)) == {0, 1}


def test_by_example_starts_on_what_a_new_character_has(human: Human) -> None:
    obj = human.mesh_object
    api.enable(obj)
    compensated = api.evaluate(obj)
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    assert obj.dq_compensation.example_base == "COMPENSATED"
    assert largest(api.evaluate(obj), compensated) == 0.0
