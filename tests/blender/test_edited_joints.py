"""After an edit of weights, joints are those of all found anew, whatever was kept."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation.core.swing_joints import SwingJoints
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.binding.character_skin import CharacterSkin
from dq_compensation.scene.blender.placement import object_to_armature
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.session.known_bindings import current_binding
from dq_compensation.session.memory import memories
from human.dressed import HAND, HEAD, LEG
from human.model import Rig
from tests.blender.character_scenes import cut_human
from tests.blender.enabled_scenes import select
from tests.kept_files import new_file_with_human

pytestmark = pytest.mark.usefixtures("addon")
Object = bpy.types.Object
Edit = Callable[[Object, np.random.Generator], None]
SETTINGS = {
    "balls": Settings(use_ball_joints=True),
    "no balls": Settings(use_ball_joints=False),
    "no mesh joints": Settings(use_ball_joints=True, use_mesh_joints=False),
}


def a_few(obj: Object, rng: np.random.Generator) -> None:
    """Other weights of a patch of vertices, for one of their bones."""
    here = int(rng.integers(len(obj.data.vertices)))
    patch = range(here, min(here + int(rng.integers(1, 40)), len(obj.data.vertices)))
    groups = obj.data.vertices[here].groups
    group = obj.vertex_groups[groups[int(rng.integers(len(groups)))].group]
    group.add(list(patch), float(rng.uniform(0.05, 1.0)), "REPLACE")


def shared_by_three(obj: Object, rng: np.random.Generator) -> None:
    """Another share of one of the bones of vertices that three and more bones move."""
    shared = [each for each in obj.data.vertices if len(each.groups) > 2]
    for at in rng.integers(len(shared), size=25).tolist():
        group = obj.vertex_groups[shared[at].groups[int(rng.integers(3))].group]
        group.add([shared[at].index], float(rng.uniform(0.0, 1.0)), "REPLACE")


def end_a_joint(obj: Object, rng: np.random.Generator) -> None:
    """A bone loses all its skin to one that shares some with it: their joint is there no more."""
    shared = [each for each in obj.data.vertices if len(each.groups) > 1]
    groups = shared[int(rng.integers(len(shared)))].groups
    lost, taker = (obj.vertex_groups[groups[place].group] for place in (0, 1))
    for vertex in obj.data.vertices:
        if any(each.group == lost.index for each in vertex.groups):
            taker.add([vertex.index], lost.weight(vertex.index), "ADD")
            lost.remove([vertex.index])


def make_a_joint(obj: Object, rng: np.random.Generator) -> None:
    """A bone without skin, or with little of it, gets half of some skin of another one."""
    counts = Counter(each.group for vertex in obj.data.vertices for each in vertex.groups)
    rare = min(obj.vertex_groups, key=lambda group: counts[group.index])
    here = int(rng.integers(len(obj.data.vertices)))
    rare.add(list(range(here, min(here + 30, len(obj.data.vertices)))), 0.5, "REPLACE")


def mirror(obj: Object, rng: np.random.Generator) -> None:
    """A group becomes the image of itself on the other side."""
    obj.vertex_groups.active_index = int(rng.integers(len(obj.vertex_groups)))
    with bpy.context.temp_override(object=obj, active_object=obj):
        bpy.ops.object.vertex_group_mirror(all_groups=False, use_topology=False)


def all_of_them(obj: Object, rng: np.random.Generator) -> None:
    """Weights in coarse steps: nearly every vertex is another one."""
    with bpy.context.temp_override(object=obj, active_object=obj):
        steps = int(rng.integers(5, 20))
        bpy.ops.object.vertex_group_quantize(group_select_mode="ALL", steps=steps)


def none(obj: Object, rng: np.random.Generator) -> None:
    """The same weights once more."""
    a = int(rng.integers(len(obj.data.vertices)))
    group = obj.data.vertices[a].groups[0]
    obj.vertex_groups[group.group].add([a], group.weight, "REPLACE")


SEVERAL = [
    a_few,
    a_few,
    shared_by_three,
    end_a_joint,
    none,
    make_a_joint,
    mirror,
    all_of_them,
    a_few,
]


def game() -> Object:
    return new_file_with_human("game_engine")[0]


def assert_equal(found: Any, anew: Any) -> None:
    """All arrays of two compensations are the same, to the last bit."""
    for each in fields(anew):
        one, other = getattr(found, each.name), getattr(anew, each.name)
        if isinstance(other, SwingJoints):
            assert_equal(one, other)
        elif isinstance(other, np.ndarray):
            np.testing.assert_array_equal(one, other, err_msg=each.name)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))
def test_several_edits_give_the_joints_of_all_found_anew(
    settings: Settings,
) -> None:
    obj = game()
    binding, rng = bind(obj), np.random.default_rng(0)
    binding.measured(settings)
    for edit in SEVERAL:
        edit(obj, rng)
        binding = bind(obj, known=binding)
        assert_equal(binding.measured(settings), bind(obj).measured(settings))


@pytest.mark.parametrize("rig", ["game_engine", "default"])
def test_an_edit_of_one_mesh_shows_the_same_on_its_character_as_all_found_anew(rig: Rig) -> None:
    scene = cut_human(rig, {"Head": HEAD, "Hand": HAND, "Leg": LEG})
    parts, rng = scene.parts, np.random.default_rng(0)
    for part in parts:
        part.dq_compensation.use_ball_joints = True
    select(*parts)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    skins, bindings = memories(CharacterSkin), memories(Binding)
    for edit in (a_few, a_few, shared_by_three, end_a_joint, none, make_a_joint, a_few, mirror):
        part = parts[int(rng.integers(len(parts)))]
        edit(part, rng)
        bpy.context.view_layer.update()
        found, whole = current_binding(part), skins[parts[0].parent.session_uid].findings
        kept = skins.copy(), bindings.copy()
        skins.clear()
        bindings.clear()
        anew, settings = current_binding(part), Settings.of(part)
        assert skins[parts[0].parent.session_uid].findings == whole
        assert found.findings == anew.findings
        assert_equal(found.measured(settings), anew.measured(settings))
        skins.update(kept[0])
        bindings.update(kept[1])


def test_no_earlier_state_is_kept() -> None:
    """A session of painting must not fill the memory with every state that it came through."""
    obj, rng, settings = game(), np.random.default_rng(0), SETTINGS["balls"]
    binding, earlier = bind(obj), list[Any]()
    for _ in range(4):
        binding.measured(settings)
        earlier.append(weakref.ref(binding.skin(settings)))
        a_few(obj, rng)
        binding = bind(obj, known=binding)
    binding.measured(settings)
    gc.collect()
    assert all(each() is None for each in earlier)


def test_joints_of_another_place_are_not_kept() -> None:
    obj, on, off = game(), Settings(use_ball_joints=True), Settings(use_ball_joints=False)
    first = bind(obj)
    first.measured(off)
    first.measured(on)
    obj.matrix_world = Matrix.Translation((0.0, 0.05, 0.1)) @ obj.matrix_world
    bpy.context.view_layer.update()
    rig = obj.find_armature()
    assert rig is not None
    first.measured(on, object_to_armature(obj, rig))
    obj.vertex_groups[obj.data.vertices[100].groups[0].group].add([100], 0.37, "REPLACE")
    found, anew = bind(obj, known=first), bind(obj)
    assert_equal(found.measured(on), anew.measured(on))
    assert_equal(found.measured(off), anew.measured(off))


def test_a_mesh_that_is_left_alone_forgets_the_joints_of_its_character() -> None:
    """They were of other vertices than its own."""
    parts, rng = (
        cut_human("game_engine", {"Hand": HAND, "Leg": LEG}).parts,
        np.random.default_rng(0),
    )
    select(*parts)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    body = max(parts, key=lambda part: len(part.data.vertices))
    select(*(part for part in parts if part != body))
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    a_few(body, rng)
    bpy.context.view_layer.update()
    settings = Settings.of(body)
    assert_equal(current_binding(body).measured(settings), bind(body).measured(settings))
