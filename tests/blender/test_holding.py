"""What an operation holds of an object ends where another answer may be true."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import bpy
import pytest

from dq_compensation import holding
from dq_compensation.lifecycle.enabling import disable, enable_all
from dq_compensation.modifier.our_modifiers import move_beside
from dq_compensation.scene.stack import add_modifier, drop_modifier
from dq_compensation.session.character import character_of
from tests.blender.scene_builders import link
from tests.kept_files import new_file
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")
Object = bpy.types.Object


def _adds(obj: Object) -> None:
    add_modifier(obj, "Cast", "CAST")


def _removes(obj: Object) -> None:
    drop_modifier(obj, obj.modifiers["Armature"])


def _moves(obj: Object) -> None:
    move_beside(obj, "Armature", "Smooth", behind=False)


def _changes_mode(_obj: Object) -> None:
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")


def _changes_frame(_obj: Object) -> None:
    bpy.context.scene.frame_set(5)


def _undoes(_obj: Object) -> None:
    bpy.ops.ed.undo_push(message="One")
    bpy.ops.ed.undo_push(message="Two")
    assert bpy.ops.ed.undo() == {"FINISHED"}


def _edits(obj: Object) -> None:
    obj.location.x += 1.0
    bpy.context.view_layer.update()


def _sets(obj: Object) -> None:
    obj.dq_compensation.limb_axis = "Y"


@pytest.mark.parametrize(
    "change",
    [_adds, _removes, _moves, _changes_mode, _changes_frame, _undoes, _edits, _sets],
)
def test_a_change_ends_what_is_held(
    change: Callable[[Object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "verifies", False)  # the answers are other ones by intent
    new_file()
    obj, _ = build_limb()
    obj.modifiers.new("Smooth", "SMOOTH")
    bpy.context.view_layer.objects.active = obj
    bpy.context.view_layer.update()
    numbers = count()
    number_of = holding.held(lambda _obj: next(numbers))
    with holding.operation():
        assert number_of(obj) == number_of(obj) == 0
        change(obj)
        assert number_of(bpy.data.objects["Limb"]) == 1


def test_a_character_in_an_operation_has_the_meshes_that_are_enabled_now() -> None:
    new_file()
    obj, _ = build_limb()
    other = link(obj.copy())
    other.data = obj.data.copy()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    with holding.operation():
        for change, meshes in (
            (lambda: enable_all([obj], depsgraph), [obj]),
            (lambda: enable_all([other], depsgraph), [obj, other]),
            (lambda: setattr(other.dq_compensation, "by_itself", True), [obj]),
            (lambda: setattr(other.dq_compensation, "by_itself", False), [obj, other]),
            (lambda: disable(other), [obj]),
        ):
            change()
            assert [mesh.obj for mesh in character_of(obj).meshes] == meshes
