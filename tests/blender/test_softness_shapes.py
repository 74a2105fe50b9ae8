"""Until soft weights are made for another shape, what was shown before is shown, or the painted.

Vertices whose shape varies are in the soft copy with steps along the axes, and each vertex has the
number of its own steps. An edit may let others vary, or give the vertices other numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.lifecycle.following_softness import soften_waiting, stop_waiting
from dq_compensation.lifecycle.reconcile import reconcile
from dq_compensation.session.status import status_of
from dq_compensation.steps import run_through
from tests.blender.enabled_scenes import check, distance, error, ours, rest_of, select
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.blender.softness_scenes import TOLERANCE, Scene, size_of, soft_limb

pytestmark = pytest.mark.usefixtures("addon", "with_timers", "window")

# Of the size: the same nodes give the same float32 numbers twice.
SAME = 1e-5
ELBOW = "Lower"

Positions = NDArray[np.floating]


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a session with a window: nothing is computed before a check has seen it."""
    monkeypatch.setitem(reconcile.__kwdefaults__, "at_once", False)


def computed() -> None:
    """What timers and the operator do, run to its end."""
    check()
    run_through(soften_waiting())
    check()


def lifted(shape: Positions, among: slice) -> Positions:
    """A smooth bump on some rings of the limb."""
    found = shape.copy()
    rings = found[among]
    rings[:, 2] += 0.02 * np.sin(np.linspace(0.0, np.pi, len(rings)))
    return found


def shape_example(operator: str, among: slice) -> None:
    """Add or edit an example by the operators; what its copy has is lifted; *Apply*."""
    assert getattr(bpy.ops.dqc, operator)() == {"FINISHED"}
    copy = bpy.context.view_layer.objects.active
    shape = lifted(rest_of(copy), among)
    copy.data.attributes["position"].data.foreach_set("vector", shape.ravel())
    copy.data.update()
    assert bpy.ops.dqc.example_apply(outside="WIDEN") == {"FINISHED"}


@pytest.fixture
def by_example() -> Scene:
    """The limb, soft, with an example of the bent elbow that moves a few rings around it."""
    obj, rig = soft_limb()
    settings = obj.dq_compensation
    settings.method, settings.example_base = "SPHERICAL_JOINT_BY_EXAMPLE", "COMPENSATED"
    select(rig)
    bpy.ops.object.mode_set(mode="POSE")
    rig.data.bones.active = rig.data.bones[ELBOW]
    shape_example("example_add", slice(260, 300))
    computed()
    return obj, rig


def as_painted(obj: bpy.types.Object) -> Positions:
    obj.dq_compensation.as_painted = True
    shown = evaluated_positions(obj)
    obj.dq_compensation.as_painted = False
    return shown


def assert_nothing_is_mixed(obj: bpy.types.Object, before: Positions) -> None:
    """Without waiting, and after Esc: each vertex is where it was, or where the painted have it."""
    for _ in range(2):
        assert status_of(obj).softness.older_than
        shown, painted, size = evaluated_positions(obj), as_painted(obj), size_of(obj)
        away = np.linalg.norm(shown - painted, axis=1)
        if len(before) == len(shown):
            away = np.minimum(away, np.linalg.norm(shown - before, axis=1))
        assert away.max() / size <= SAME
        stop_waiting()
        check()


def assert_gets_soft(obj: bpy.types.Object) -> None:
    bpy.ops.dqc.update_softness()
    check()
    assert not status_of(obj).softness.older_than
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), as_painted(obj), size_of(obj)) > 1e-3


def assert_is_soft_at_once(obj: bpy.types.Object) -> None:
    """The weights are right: the copy has other points with them, and nothing waits."""
    assert not status_of(obj).softness.older_than
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), as_painted(obj), size_of(obj)) > 1e-3


def test_an_example_that_moves_more_vertices_than_before(by_example: Scene) -> None:
    obj, _ = by_example
    shape_example("example_edit", slice(160, 400))
    assert_is_soft_at_once(obj)


def _key(obj: bpy.types.Object, among: slice) -> None:
    """A shape key that is on."""
    keys = obj.data.shape_keys
    if keys is None:
        obj.shape_key_add(name="Basis")
        obj.shape_key_add(name="Key", from_mix=False).value = 1.0
    block = obj.data.shape_keys.key_blocks["Key"]
    block.points.foreach_set("co", lifted(rest_of(obj), among).ravel())
    obj.data.update()


def _more_of_a_key(obj: bpy.types.Object) -> None:
    _key(obj, slice(160, 600))


def _other_vertices_of_a_key(obj: bpy.types.Object) -> None:
    _key(obj, slice(400, 500))


def _the_vertices(obj: bpy.types.Object) -> None:
    shape = rest_of(obj)
    shape[:, 1:] *= 1.0 + 0.3 * shape[:, :1]
    moved = shape - rest_of(obj)
    for block in obj.data.shape_keys.key_blocks:
        points = np.empty(3 * len(shape), np.float32)
        block.points.foreach_get("co", points)
        block.points.foreach_set("co", points + moved.ravel())
    obj.data.vertices.foreach_set("co", shape.ravel())
    obj.data.update()


def _other_numbers(obj: bpy.types.Object) -> None:
    """As many vertices and faces as before, in another order."""
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.sort_elements(type="REVERSE", elements={"VERT"})


def _one_vertex_more(obj: bpy.types.Object) -> None:
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()


def _a_modifier_that_moves_all(obj: bpy.types.Object) -> None:
    cast = obj.modifiers.new("Cast", "CAST")
    cast.factor, cast.use_radius_as_size, cast.size = 0.1, False, 1.0
    obj.modifiers.move(obj.modifiers.find("Cast"), 0)


OF_POINTS = (_more_of_a_key, _other_vertices_of_a_key, _a_modifier_that_moves_all)
EDITS = (_the_vertices, _other_numbers, _one_vertex_more)


@pytest.mark.parametrize("edit", OF_POINTS)
def test_what_lets_other_vertices_vary_keeps_the_weights(
    edit: Callable[[bpy.types.Object], None],
) -> None:
    obj, _ = soft_limb()
    _key(obj, slice(260, 300))
    computed()
    edit(obj)
    check()
    assert_is_soft_at_once(obj)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_a_mesh_with_a_shape_key(edit: Callable[[bpy.types.Object], None]) -> None:
    obj, _ = soft_limb()
    _key(obj, slice(260, 300))
    computed()
    before = evaluated_positions(obj)
    edit(obj)
    check()
    assert_nothing_is_mixed(obj, before)
    assert_gets_soft(obj)


def test_undo_and_redo_of_an_edit() -> None:
    obj, _ = soft_limb()
    _key(obj, slice(260, 300))
    computed()
    bpy.ops.ed.undo_push(message="before")
    before = evaluated_positions(obj)
    _more_of_a_key(obj)
    bpy.ops.ed.undo_push(message="edited")
    check()
    after = evaluated_positions(obj)
    for operator, expected in (("undo", before), ("redo", after), ("undo", before)):
        getattr(bpy.ops.ed, operator)()
        for _ in range(2):  # before a timer looks, and after it
            obj = bpy.data.objects["Limb"]
            assert distance(evaluated_positions(obj), expected, size_of(obj)) <= SAME
            check()


def test_in_edit_mode_no_vertex_goes_farther_than_it_is_moved() -> None:
    """Where modifiers are shown in it: nothing can be written there."""
    obj, _ = soft_limb()
    _key(obj, slice(260, 300))
    computed()
    before = evaluated_positions(obj)
    ours(obj).show_in_editmode = True
    obj.active_shape_key_index = 1
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.transform.translate(value=(0.0, 0.0, 0.1))
        away = np.linalg.norm(evaluated_positions(obj) - before, axis=1)
    # The steps of the others take them along: bones turn, and what is compensated adds little.
    assert away.max() == pytest.approx(0.1, rel=0.1)
