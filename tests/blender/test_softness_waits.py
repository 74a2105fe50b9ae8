"""Where there is a window, soft weights are computed in steps while the user goes on working.

The last ones act meanwhile. What must not wait settles them first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of, stay_as_painted
from dq_compensation.lifecycle.following import check_now
from dq_compensation.lifecycle.following_softness import (
    SOFTNESS_IS_OLD,
    prove_waiting,
    resume,
    soften_waiting,
    stop_waiting,
    waiting_objects,
)
from dq_compensation.lifecycle.reconcile import reconcile
from dq_compensation.modifier.installation import install
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.binding.soft_copy import soft_copy
from dq_compensation.scene.blender.own_objects import temporary_copy
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.session.status import status_of
from dq_compensation.softness.operators import _LOOK_AGAIN, _go_on
from dq_compensation.softness.panel import softness_messages
from dq_compensation.softness.softening import soften_copies
from dq_compensation.steps import Progress, run_through
from dq_compensation.ui.operators import DQC_OT_enable
from dq_compensation.ui_shared import reporting
from dq_compensation.ui_shared.reporting import Work, is_running
from tests.blender.enabled_scenes import (
    check,
    disable,
    distance,
    enable,
    enabled_limb,
    error,
    select,
)
from tests.blender.scene_builders import edit_mode, evaluated_positions, linked_copy
from tests.blender.softness_scenes import (
    AMOUNT,
    MOVED,
    TOLERANCE,
    Scene,
    counted_computations,
    size_of,
    soft_copies,
    soft_limb,
)
from tests.kept_files import new_file
from tests.limb import pose_limb
from tests.replaced_functions import count_calls, replace_everywhere

pytestmark = pytest.mark.usefixtures("addon", "window")

Positions = NDArray[np.floating]


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a session with a window: nothing is computed before a check has seen it."""
    monkeypatch.setitem(reconcile.__kwdefaults__, "at_once", False)


def computed_in_a_window() -> int:
    """What the operator does when it runs to its end."""
    check()
    done = run_through(soften_waiting())
    run_through(prove_waiting())
    check()
    return done


@pytest.fixture
def limb() -> Scene:
    obj, rig = soft_limb()
    assert computed_in_a_window() == 1
    return obj, rig


@pytest.fixture
def soft(limb: Scene) -> Positions:
    return evaluated_positions(limb[0])


@pytest.fixture
def softer(limb: Scene, soft: Positions) -> bpy.types.Object:
    """The limb, whose slider was moved to twice of what the soft weights are made for."""
    obj, _ = limb
    obj.dq_compensation.softness = 1.0
    check()
    assert waiting_objects() == [obj]
    assert status_of(obj).softness.older_than == ("softness",)
    assert softness_messages([obj]) == [("Soft weights are older than softness.", True)]
    assert shows_softer(obj, soft)
    assert_blends(obj, 1.0 / AMOUNT)
    return obj


def assert_blends(obj: bpy.types.Object, share: float) -> None:
    """It shows a share of the way that the soft weights take vertices, by Blender's own modifiers.

    Without compensation, which depends on where a vertex is.
    """
    copy = soft_copy(SkinnedObject(obj))
    assert copy is not None
    obj.dq_compensation.factor = 0.0
    bpy.context.view_layer.update()
    shown = evaluated_positions(obj)
    of_copy = evaluated_positions(copy)[: len(shown)]
    with temporary_copy(obj) as plain:
        for modifier in list(plain.modifiers):
            if modifier.type != "ARMATURE":
                plain.modifiers.remove(modifier)
        plain.modifiers[0].show_viewport = plain.modifiers[0].use_deform_preserve_volume = True
        bpy.context.view_layer.update()
        painted = evaluated_positions(plain)
    way = of_copy - painted
    assert np.linalg.norm(way, axis=1).max() > MOVED * size_of(obj)
    assert distance(shown, painted + share * way, size_of(obj)) <= TOLERANCE
    obj.dq_compensation.factor = 1.0
    bpy.context.view_layer.update()


def assert_shows(obj: bpy.types.Object, expected: Positions) -> None:
    """It shows these positions, and NumPy computes them; nothing is settled."""
    shown = evaluated_positions(obj)
    assert distance(shown, expected, size_of(obj)) <= TOLERANCE
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated, rig = (each.evaluated_get(depsgraph) for each in (obj, obj.parent))
    by_numpy = evaluate(bind(obj), Settings.of(evaluated), evaluated, rig)
    assert distance(shown, by_numpy, size_of(obj)) <= TOLERANCE


def shows_softer(obj: bpy.types.Object, soft: Positions) -> bool:
    return distance(evaluated_positions(obj), soft, size_of(obj)) > 1e-3


def test_the_first_ones_are_waited_for_with_the_painted() -> None:
    obj, _ = soft_limb()
    painted = evaluated_positions(obj)
    check()
    assert waiting_objects() == [obj]
    assert_shows(obj, painted)
    assert computed_in_a_window() == 1
    assert distance(evaluated_positions(obj), painted, size_of(obj)) > MOVED
    painted_in_a_window(obj)


def painted_in_a_window(obj: bpy.types.Object) -> None:
    shown = evaluated_positions(obj)
    api.soften_weights(obj, amount=obj.dq_compensation.softness)
    check()
    assert_shows(obj, shown)
    assert not waiting_objects()


def test_the_last_result_stays_until_it_is_computed(
    softer: bpy.types.Object, soft: Positions
) -> None:
    assert computed_in_a_window() == 1
    assert not status_of(softer).softness.older_than
    assert shows_softer(softer, soft)
    painted_in_a_window(softer)


def test_a_slider_that_is_dragged_computes_nothing(
    limb: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = limb
    computed = counted_computations(monkeypatch)
    for softness in np.linspace(0.5, 1.0, 6):
        obj.dq_compensation.softness = softness
        bpy.context.view_layer.update()
    assert not computed
    assert_blends(obj, 2.0)
    assert computed_in_a_window() == 1
    assert computed == {"Limb": 2}  # computed, and tested


def armature_modifier(obj: bpy.types.Object) -> tuple[bool, bool, bool]:
    """Where it is shown, and whether it preserves the volume."""
    modifier = obj.modifiers["Armature"]
    return modifier.show_viewport, modifier.show_render, modifier.use_deform_preserve_volume


def test_while_it_waits_positions_are_blended_up_to_twice_the_way(
    limb: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No tree is built; the Armature modifier, which is on meanwhile, is as before then."""
    obj, _ = limb
    before, trees = armature_modifier(obj), set(bpy.data.node_groups)
    installed = count_calls(monkeypatch, install)
    for softness, share in ((0.3, 0.6), (0.7, 1.4), (0.05, 0.1)):
        obj.dq_compensation.softness = softness
        bpy.context.view_layer.update()
        assert armature_modifier(obj) == (True, False, True)
        assert_blends(obj, share)
    obj.dq_compensation.softness = AMOUNT
    bpy.context.view_layer.update()
    assert armature_modifier(obj) == before == (False, False, False)
    assert set(bpy.data.node_groups) == trees
    assert not installed.arguments
    obj.dq_compensation.softness = 0.4
    assert computed_in_a_window() == 1
    assert armature_modifier(obj) == before
    obj.dq_compensation.softness = 1.0
    assert_blends(obj, 2.0)


def test_disable_gives_the_modifier_back_while_it_is_blended(softer: bpy.types.Object) -> None:
    assert softer.dq_compensation.native.softness_blended
    disable(softer)
    assert armature_modifier(softer) == (True, True, False)
    assert not softer.dq_compensation.native.softness_blended


def test_an_undo_to_a_blend_is_brought_up_to_date(softer: bpy.types.Object) -> None:
    """What a step was saved with goes on: its weights are computed, and the blend ends."""
    name = softer.name
    bpy.ops.ed.undo_push(message="dragged")
    assert computed_in_a_window() == 1
    bpy.ops.ed.undo_push(message="soft")
    bpy.ops.ed.undo()
    obj = bpy.data.objects[name]
    check()
    assert obj.dq_compensation.native.softness_blended == bool(waiting_objects())
    computed_in_a_window()
    assert armature_modifier(obj) == (False, False, False)
    assert error(obj) <= TOLERANCE


def test_what_reads_the_arriving_shape_waits(limb: Scene) -> None:
    obj, _ = limb
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Fat", from_mix=False)
    for number in range(100):
        key.points[number].co.z += 0.05
    key.value = 0.5
    computed_in_a_window()
    soft = evaluated_positions(obj)
    obj.dq_compensation.softness = 1.0
    check()
    assert_shows(obj, soft)
    assert armature_modifier(obj) == (False, False, False)


def test_a_check_starts_it(softer: bpy.types.Object, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    replace_everywhere(monkeypatch, SOFTNESS_IS_OLD, [lambda: started.append("now")])
    check_now()
    assert started == ["now"]
    stop_waiting()
    check_now()
    assert started == ["now"]


def _softness(obj: bpy.types.Object) -> None:
    obj.dq_compensation.softness = 0.8


def _zero(obj: bpy.types.Object) -> None:
    obj.dq_compensation.softness = 0.0


def _stroke(obj: bpy.types.Object) -> None:
    obj.vertex_groups["Lower"].add(range(300, 380), 0.5, "ADD")
    obj.data.update_tag()


def _vertices(obj: bpy.types.Object) -> None:
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()


def _deleted(obj: bpy.types.Object) -> None:
    bpy.data.objects.remove(obj)


def _armature_deleted(obj: bpy.types.Object) -> None:
    bpy.data.objects.remove(obj.parent)


def _modifier_removed(obj: bpy.types.Object) -> None:
    obj.modifiers.remove(obj.modifiers["Armature"])


def _disabled(obj: bpy.types.Object) -> None:
    disable(obj)


def _bone(obj: bpy.types.Object) -> None:
    with edit_mode(obj.parent):
        obj.parent.data.edit_bones["Lower"].head.y += 0.05


def _bone_deleted(obj: bpy.types.Object) -> None:
    with edit_mode(obj.parent):
        bones = obj.parent.data.edit_bones
        bones.remove(bones["Hand"])


def _key(obj: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Key").points[5].co.z += 0.1


def _reshaped(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Displace", "DISPLACE").strength = 0.01
    obj.modifiers.move(obj.modifiers.find("Displace"), 0)


def _refused(obj: bpy.types.Object) -> None:
    obj.modifiers["Armature"].use_bone_envelopes = True


CHANGES = (
    _softness,
    _zero,
    _stroke,
    _vertices,
    _deleted,
    _armature_deleted,
    _modifier_removed,
    _disabled,
    _bone,
    _bone_deleted,
    _key,
    _reshaped,
    _refused,
)


@pytest.mark.parametrize("looked_at", [True, False])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("after", [1, 3])
def test_it_stops_safely_when_something_changes(
    softer: bpy.types.Object,
    change: Callable[[bpy.types.Object], None],
    after: int,
    looked_at: bool,
) -> None:
    """Also before a check has seen the change."""
    steps = soften_waiting()
    for _ in range(after):
        next(steps)
    change(softer)
    if looked_at:
        check()
    # Before it is looked at, a stroke is not known.
    assert steps_left(steps) < 2 or not looked_at
    computed_in_a_window()
    obj = bpy.data.objects.get("Limb")
    if obj is None or not obj.dq_compensation.enabled or problem_of(obj):
        return
    assert not waiting_objects()
    assert error(obj) <= TOLERANCE
    if obj.dq_compensation.softness and status_of(obj).softness.problem is None:
        painted_in_a_window(obj)
    else:
        assert soft_copies() == []


def steps_left(steps: Generator[Progress, None, int]) -> int:
    return sum(1 for _ in steps)


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_an_undo_in_the_middle_is_safe(after: int) -> None:
    """Also between the creation of the soft copy and its first computation."""
    new_file()
    obj, _ = enabled_limb()
    check()
    painted = evaluated_positions(obj)
    bpy.ops.ed.undo_push(message="painted")
    obj.dq_compensation.softness = AMOUNT
    check()
    bpy.ops.ed.undo_push(message="soft")
    steps = soften_waiting()
    for _ in range(after):
        next(steps)
    bpy.ops.ed.undo()
    steps_left(steps)
    check()
    obj = bpy.data.objects["Limb"]
    assert_shows(obj, painted)
    assert not waiting_objects()
    bpy.ops.ed.redo()
    check()
    steps = soften_waiting()
    for _ in range(after):
        next(steps)
    bpy.ops.ed.undo()
    bpy.ops.ed.redo()
    steps_left(steps)
    computed_in_a_window()
    obj = bpy.data.objects["Limb"]
    assert distance(evaluated_positions(obj), painted, size_of(obj)) > MOVED
    assert error(obj) <= TOLERANCE
    bpy.ops.ed.undo()
    check()
    obj = bpy.data.objects["Limb"]
    assert_shows(obj, painted)
    disable(obj)
    assert soft_copies() == []


def test_stopped_the_last_result_stays_until_something_changes(
    softer: bpy.types.Object, soft: Positions
) -> None:
    steps = soften_waiting()
    next(steps)
    stop_waiting()
    steps.close()
    assert computed_in_a_window() == 0
    assert_shows(softer, soft)
    assert status_of(softer).softness.older_than
    pose_limb(softer.parent, 0.4)
    check()
    assert computed_in_a_window() == 0
    resume()
    assert computed_in_a_window() == 1
    assert not status_of(softer).softness.older_than
    assert error(softer) <= TOLERANCE


def test_stopped_an_edit_begins_anew(softer: bpy.types.Object) -> None:
    stop_waiting()
    _stroke(softer)
    assert computed_in_a_window() == 1
    painted_in_a_window(softer)


def test_refresh_begins_anew(softer: bpy.types.Object) -> None:
    stop_waiting()
    select(softer)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert computed_in_a_window() == 1


def test_the_operator_computes_what_was_stopped(softer: bpy.types.Object, soft: Positions) -> None:
    stop_waiting()
    assert bpy.ops.dqc.update_softness() == {"FINISHED"}
    check()
    assert shows_softer(softer, soft)
    assert not status_of(softer).softness.older_than


def test_what_fails_says_so_and_is_not_tried_again(
    softer: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = counted_computations(monkeypatch)
    softer.data.vertices[7].co.x = float("nan")
    softer.data.update_tag()
    for _ in range(3):
        computed_in_a_window()
    assert computed == {"Limb": 1}
    assert "not a number" in str(status_of(softer).softness.problem)
    assert soft_copies() == []
    softer.data.vertices[7].co.x = 0.0
    softer.data.update_tag()
    assert computed_in_a_window() == 1
    painted_in_a_window(softer)


def test_several_objects_are_computed_one_after_the_other(limb: Scene) -> None:
    others = []
    for number in range(2):
        other, _ = enabled_limb(f"Limb {number}")
        other.dq_compensation.softness = AMOUNT
        others.append(other)
    assert computed_in_a_window() == 2
    for other in others:
        painted_in_a_window(other)


def _new_limb() -> Scene:
    """As before *Enable*, with the Softness of a preset, and a step of undo."""
    new_file()
    obj, rig = enabled_limb()
    disable(obj)
    obj.dq_compensation.softness = AMOUNT
    select(obj)
    bpy.ops.ed.undo_push(message="painted")
    return obj, rig


def _press_enable(monkeypatch: pytest.MonkeyPatch, stopped_after: int | None = None) -> None:
    """What the button does, run to its end; without a window Blender invokes no operator.

    Args:
        stopped_after: press Esc after so many steps.
    """
    execute = DQC_OT_enable.execute

    def run(self: DQC_OT_enable, context: bpy.types.Context, steps: Any) -> object:
        self._work = Work(steps, self.bl_label)
        for _ in range(stopped_after or 0):
            next(steps)
        return self._stop(context)

    if stopped_after is not None:
        monkeypatch.setattr(DQC_OT_enable, "run", run)

    def pressed(self: DQC_OT_enable, context: bpy.types.Context) -> object:
        monkeypatch.setattr(DQC_OT_enable, "execute", execute)
        return self.invoke(context, cast("Any", None))

    monkeypatch.setattr(DQC_OT_enable, "execute", pressed)
    # A script pushes no step of undo unless it asks for it.
    assert bpy.ops.dqc.enable("EXEC_DEFAULT", True) == {"FINISHED"}


def test_enable_makes_them_in_its_own_step_of_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step has them: nothing is computed when it comes back."""
    obj, _ = _new_limb()
    plain = evaluated_positions(obj)
    computed = counted_computations(monkeypatch)
    _press_enable(monkeypatch)
    assert computed == {"Limb": 1}
    assert not waiting_objects()
    soft, size = evaluated_positions(obj), size_of(obj)
    check()
    assert_shows(obj, soft)
    bpy.ops.ed.undo()
    check()
    obj = bpy.data.objects["Limb"]
    assert not obj.dq_compensation.enabled
    assert distance(evaluated_positions(obj), plain, size) == 0.0
    assert soft_copies() == []
    bpy.ops.ed.redo()
    check()
    obj = bpy.data.objects["Limb"]
    assert_shows(obj, soft)
    assert not waiting_objects()
    pose_limb(obj.parent, 0.4)
    bpy.ops.ed.undo_push(message="posed")
    bpy.ops.ed.undo()
    check()
    obj = bpy.data.objects["Limb"]
    assert_shows(obj, soft)
    assert computed == {"Limb": 1}
    painted_in_a_window(obj)


def test_enable_adds_its_modifier_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not made for the painted weights first."""
    obj, _ = _new_limb()
    calls = count_calls(monkeypatch, install)
    _press_enable(monkeypatch)
    assert calls == {"install": 1}
    assert status_of(obj).notes == []
    check()
    assert calls == {"install": 1}


@pytest.mark.parametrize("after", [0, 1, 3])
def test_enable_that_is_stopped_adds_its_modifier_as_painted(
    after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = _new_limb()
    plain, size = evaluated_positions(obj), size_of(obj)
    calls = count_calls(monkeypatch, install)
    _press_enable(monkeypatch, stopped_after=after)
    assert calls == {"install": 1}
    assert obj.dq_compensation.softness == 0.0
    assert SkinnedObject(obj).ours is not None
    assert soft_copies() == []
    shown = evaluated_positions(obj)
    assert distance(shown, plain, size) > MOVED
    assert error(obj) <= TOLERANCE
    bpy.ops.ed.undo()
    check()
    obj = bpy.data.objects["Limb"]
    assert not obj.dq_compensation.enabled
    assert distance(evaluated_positions(obj), plain, size) == 0.0
    enable(obj)
    assert computed_in_a_window() == 1
    painted_in_a_window(obj)


def test_enable_that_fails_in_its_steps_adds_its_modifier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    obj, _ = _new_limb()

    def failing(*_args: object, **_options: object) -> Generator[Progress, None, None]:
        yield Progress(0.0, "")
        raise RuntimeError("as a defect does")

    with monkeypatch.context() as patch:
        replace_everywhere(patch, soften_copies, failing)
        with pytest.raises(RuntimeError, match="as a defect does"):
            _press_enable(monkeypatch)
    check()
    assert SkinnedObject(obj).ours is not None
    assert computed_in_a_window() == 1
    painted_in_a_window(obj)


def test_enable_takes_back_what_fails_once_it_is_soft(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    obj, _ = _new_limb()
    with monkeypatch.context() as patch:
        replace_everywhere(patch, install, _failing)
        _press_enable(monkeypatch)
    assert "as a defect does" in capfd.readouterr().out
    assert not obj.dq_compensation.enabled
    assert soft_copies() == []
    _press_enable(monkeypatch)
    painted_in_a_window(obj)


def _failing(*_args: object, **_named: object) -> None:
    raise RuntimeError("as a defect does")


def _joining(obj: bpy.types.Object) -> bpy.types.Object:
    """Another mesh of its character, selected, before *Enable*."""
    other = linked_copy(obj, own_data=True)
    disable(other)
    select(other)
    return other


def test_what_joins_a_soft_character_and_is_stopped_has_its_modifier(
    limb: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = limb
    other = _joining(obj)
    _press_enable(monkeypatch, stopped_after=1)
    assert SkinnedObject(other).ours is not None
    check()
    assert computed_in_a_window() == 0


def test_scripts_that_enable_do_not_wait_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, _ = _new_limb()
    computed = counted_computations(monkeypatch)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert not computed
    assert waiting_objects() == [obj]
    assert computed_in_a_window() == 1


@pytest.mark.parametrize("after", [0, 1, 3])
def test_enable_that_is_stopped_leaves_it_as_painted(after: int) -> None:
    """And says so in *Softness*: it is made anew when somebody sets it."""
    obj, _ = _new_limb()
    enable(obj)
    painted = evaluated_positions(obj)
    steps = soften_waiting()
    for _ in range(after):
        next(steps)
    steps.close()
    (named,) = stay_as_painted([obj])
    assert named in {obj.name, obj.parent.name}
    assert obj.dq_compensation.enabled
    assert obj.dq_compensation.softness == 0.0
    assert computed_in_a_window() == 0
    assert_shows(obj, painted)
    assert soft_copies() == []
    obj.dq_compensation.softness = AMOUNT
    assert computed_in_a_window() == 1
    painted_in_a_window(obj)


def test_what_joins_a_soft_character_and_is_stopped_leaves_its_settings(
    limb: Scene, soft: Positions
) -> None:
    obj, rig = limb
    other = _joining(obj)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert other in waiting_objects()
    assert stay_as_painted([other]) == []
    assert rig.dq_compensation.softness == obj.dq_compensation.softness == AMOUNT
    assert computed_in_a_window() == 0
    assert_shows(obj, soft)


def _by_numpy(obj: bpy.types.Object) -> Positions:
    return api.evaluate(obj)


def _by_nodes(obj: bpy.types.Object) -> Positions:
    return api.evaluate(obj, evaluator="MODIFIER")


def _by_a_key(obj: bpy.types.Object) -> Positions:
    api.bake_pose(obj)
    obj.data.shape_keys.key_blocks["Pose"].value = 1.0
    disable(obj)
    return evaluated_positions(obj)


def _by_frames(obj: bpy.types.Object) -> Positions:
    api.bake_frames(obj, first=1, last=1, step=1)
    bpy.context.scene.frame_set(1)
    return evaluated_positions(obj)


def _by_a_save(obj: bpy.types.Object) -> Positions:
    bpy.ops.wm.save_as_mainfile(filepath=str(Path(bpy.app.tempdir, "softness.blend")))
    return evaluated_positions(obj)


def _by_a_render(obj: bpy.types.Object) -> Positions:
    render = bpy.context.scene.render
    render.engine, render.resolution_x, render.resolution_y = "CYCLES", 4, 4
    bpy.context.scene.cycles.samples = 1
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera
    bpy.ops.render.render()
    return evaluated_positions(obj)


def _by_a_cache(obj: bpy.types.Object) -> Positions:
    path = Path(bpy.app.tempdir, "softness.pc2")
    api.bake_cache(obj, str(path), first=1, last=1)
    floats = np.frombuffer(path.read_bytes()[32:], np.float32)
    return floats.reshape(-1, 3)


WAYS = (_by_numpy, _by_nodes, _by_a_key, _by_frames, _by_a_save, _by_a_render, _by_a_cache)


@pytest.mark.parametrize("way", WAYS)
def test_what_must_not_wait_settles_first(
    softer: bpy.types.Object, way: Callable[[bpy.types.Object], Positions]
) -> None:
    size = size_of(softer)
    found = way(softer)
    settled = softer.dq_compensation.enabled
    assert not settled or not status_of(softer).softness.older_than
    enable(softer)
    if softer.data.shape_keys is not None:
        for block in softer.data.shape_keys.key_blocks:
            block.mute = True
    computed_in_a_window()
    softer.dq_compensation.softness = 0.0
    api.soften_weights(softer, amount=1.0)
    check()
    assert distance(found, evaluated_positions(softer), size) <= TOLERANCE


@pytest.fixture
def one_step_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice of work is one step: the clock goes on by a second whenever it is looked at."""
    monkeypatch.setattr(reporting, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    for name in ("_SHORTEST_SLICE", "_LONGEST_SLICE"):
        monkeypatch.setattr(reporting, name, 1.5)


def compute_on() -> None:
    """What the timer of a session with a window does, until it stops by itself."""
    while _go_on() is not None:
        pass


@pytest.mark.usefixtures("one_step_each")
def test_a_timer_computes_it_in_slices(softer: bpy.types.Object) -> None:
    """Where a modal operator ends, Blender takes the mouse from the slider that is dragged."""
    assert _go_on() == 0.0
    assert is_running()
    assert_blends(softer, 1.0 / AMOUNT)
    compute_on()
    assert not is_running()
    assert not waiting_objects()
    check()
    painted_in_a_window(softer)


@pytest.mark.usefixtures("one_step_each")
def test_esc_stops_the_timer(softer: bpy.types.Object, soft: Positions) -> None:
    assert not bpy.ops.dqc.stop_softness.poll()
    _go_on()
    assert bpy.ops.dqc.stop_softness() == {"FINISHED"}
    assert not is_running()
    assert computed_in_a_window() == 0
    assert_shows(softer, soft)
    assert not bpy.ops.dqc.stop_softness.poll()


def _settled(obj: bpy.types.Object) -> None:
    api.evaluate(obj)


def _set_back(obj: bpy.types.Object) -> None:
    obj.dq_compensation.softness = AMOUNT
    check()


def _loaded(_obj: bpy.types.Object) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


@pytest.mark.usefixtures("one_step_each")
@pytest.mark.parametrize("overtake", [_settled, _set_back, _zero, _deleted, _loaded])
def test_no_progress_is_shown_of_what_is_overtaken(
    softer: bpy.types.Object, overtake: Callable[[bpy.types.Object], None]
) -> None:
    _go_on()
    assert is_running()
    overtake(softer)
    assert _go_on() is None or overtake is _loaded
    assert not is_running()


@pytest.mark.usefixtures("one_step_each")
def test_it_waits_while_a_bake_runs(softer: bpy.types.Object) -> None:
    def bake() -> Generator[Progress, None, list[str]]:
        yield Progress(0.5, "Baking")
        return []

    _go_on()
    baking = Work(bake(), "Baking")
    assert (_go_on(), _go_on()) == (_LOOK_AGAIN, _LOOK_AGAIN)
    assert baking.advance() is None
    assert baking.advance() == []
    baking.end()
    assert is_running()
    compute_on()
    check()
    painted_in_a_window(softer)
