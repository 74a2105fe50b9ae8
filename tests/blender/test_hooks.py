"""Hooks below the Armature modifier go on moving their vertices, and Disable gives them back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

import dq_compensation
from dq_compensation.lifecycle.enabling import notes_of
from tests.blender.enabled_scenes import check, description, disable, enable, rest_of
from tests.blender.scene_builders import evaluated_positions, save_and_open
from tests.kept_files import new_file
from tests.limb import SIDES, build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

HOOKED = range(800 - 2 * SIDES, 800)


@pytest.fixture
def limb() -> bpy.types.Object:
    """The posed limb, not enabled, with LINEAR: its shape is that of the Armature modifier."""
    new_file()
    obj, _ = build_posed_limb()
    obj.dq_compensation.method = "LINEAR"
    return obj


def _add_hook(obj: bpy.types.Object) -> Any:
    """A hook on the last two rings, as Ctrl H makes it, whose Empty was moved."""
    empty = bpy.data.objects.new("Handle", None)
    bpy.context.scene.collection.objects.link(empty)
    hook = obj.modifiers.new("Hook", "HOOK")
    hook.object = empty
    hook.vertex_indices_set(list(HOOKED))
    empty.location.z = 0.2
    bpy.context.view_layer.update()
    return hook


def _moved(obj: bpy.types.Object, expected: NDArray[np.floating]) -> float:
    return float(np.abs(evaluated_positions(obj) - expected).max())


@pytest.mark.parametrize("masked", [False, True])
def test_enable_keeps_what_a_hook_moves_and_disable_gives_it_back(
    limb: bpy.types.Object, *, masked: bool
) -> None:
    """The right shape is Blender's own, before Enable."""
    hook = _add_hook(limb)
    if masked:
        group = limb.vertex_groups.new(name="Soft")
        group.add(list(HOOKED)[::2], 0.25, "REPLACE")
        hook.vertex_group, hook.invert_vertex_group = "Soft", True
    expected, before = evaluated_positions(limb), description(limb)
    plain = expected.copy()
    hook.show_viewport = False
    assert np.abs(plain - evaluated_positions(limb)).max() > 0.1
    hook.show_viewport = True
    enable(limb)
    assert _moved(limb, expected) < 1e-6
    check()
    assert _moved(limb, expected) < 1e-6
    disable(limb)
    assert list(hook.vertex_indices) == list(HOOKED)
    assert description(limb) == before
    assert _moved(limb, expected) < 1e-6


def test_a_hook_that_is_made_later_is_kept_too(limb: bpy.types.Object) -> None:
    expected = evaluated_positions(limb)
    hook = _add_hook(limb)
    lifted = evaluated_positions(limb)
    limb.modifiers.remove(hook)
    assert np.abs(lifted - expected).max() > 0.1
    enable(limb)
    hook = _add_hook(limb)
    check()
    assert _moved(limb, lifted) < 1e-6
    # Assign in Edit Mode gives it numbers again.
    hook.vertex_indices_set(list(HOOKED)[SIDES:])
    check()
    disable(limb)
    assert list(hook.vertex_indices) == list(HOOKED)[SIDES:]
    assert hook.vertex_group == ""
    assert sorted(each.name for each in limb.vertex_groups) == ["Hand", "Lower", "Upper"]


def test_a_hook_below_another_modifier_that_makes_a_mesh_stays_as_it_is(
    limb: bpy.types.Object,
) -> None:
    """Blender itself moves other vertices there: Enable changes nothing of that."""
    split = limb.modifiers.new("Split", "EDGE_SPLIT")
    split.use_edge_angle = split.use_edge_sharp = False
    hook = _add_hook(limb)
    # Blender 5.2 adds it above.
    limb.modifiers.move(limb.modifiers.find("Hook"), 2)
    bpy.context.view_layer.update()
    expected = evaluated_positions(limb)
    enable(limb)
    assert list(hook.vertex_indices) == list(HOOKED)
    assert _moved(limb, expected) < 1e-6


def test_copies_and_files_without_the_add_on(limb: bpy.types.Object, tmp_path: Path) -> None:
    _add_hook(limb)
    expected = evaluated_positions(limb)
    enable(limb)
    twin = limb.copy()
    twin.data = limb.data.copy()
    bpy.context.scene.collection.objects.link(twin)
    check()
    assert _moved(twin, expected) < 1e-6
    disable(twin)
    assert list(twin.modifiers["Hook"].vertex_indices) == list(HOOKED)
    assert _moved(limb, expected) < 1e-6
    dq_compensation.unregister()
    try:
        save_and_open(tmp_path / "hook.blend")
        assert _moved(bpy.data.objects["Limb"], expected) < 1e-6
    finally:
        dq_compensation.register()


def test_vertices_that_are_deleted_meanwhile_are_not_mixed_up(limb: bpy.types.Object) -> None:
    hook = _add_hook(limb)
    enable(limb)
    ends = rest_of(limb)[list(HOOKED)]
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="DESELECT")
    bpy.ops.object.mode_set(mode="OBJECT")
    for vertex in range(3 * SIDES):
        limb.data.vertices[vertex].select = True
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.delete(type="VERT")
    bpy.ops.object.mode_set(mode="OBJECT")
    check()
    disable(limb)
    np.testing.assert_array_equal(rest_of(limb)[list(hook.vertex_indices)], ends)


def _roots(obj: bpy.types.Object) -> NDArray[np.float64]:
    """Where the hair of an object begins."""
    bpy.context.view_layer.update()
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    modifier: Any = next(m for m in evaluated.modifiers if m.type == "PARTICLE_SYSTEM")
    hair = modifier.particle_system.particles
    return np.array([each.hair_keys[0].co_object(evaluated, modifier, each) for each in hair])


def test_enable_says_that_hair_moves_and_how_it_is_kept(limb: bpy.types.Object) -> None:
    """The roots are in float32."""
    limb.modifiers.new("Hair", "PARTICLE_SYSTEM")
    system = limb.particle_systems[0]
    system.settings.type, system.settings.count = "HAIR", 100
    before = _roots(limb)
    enable(limb)
    check()
    (note,) = notes_of(limb)
    assert note.startswith(f"{system.name} of Limb grows at other places")
    assert np.abs(_roots(limb) - before).max() > 0.1
    system.settings.use_modifier_stack = True
    check()
    assert np.abs(_roots(limb) - before).max() < 1e-6
    assert not notes_of(limb)
