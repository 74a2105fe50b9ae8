"""Setup Check compares an object with its modifier anew where it may not be what it was."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation.lifecycle import following
from dq_compensation.scene.kept_weights import PAINTED, keep_weights, kept_influences
from dq_compensation.setup_check.subject import Subject
from tests.blender.enabled_scenes import check, enable
from tests.blender.scene_builders import link, new_file
from tests.limb import build_limb

Object = bpy.types.Object


@pytest.fixture
def limb(addon: None) -> tuple[Object, Object]:
    """A limb that is enabled, and its armature."""
    new_file()
    obj, rig = build_limb()
    obj.parent = None
    enable(obj)
    check()
    return obj, rig


def is_current(obj: Object) -> bool:
    return Subject(obj, bpy.context.evaluated_depsgraph_get()).is_current


def test_nothing_is_compared_where_nothing_has_changed(limb: tuple[Object, Object]) -> None:
    assert is_current(limb[0])


def test_an_armature_that_moves_below_a_mesh_is_seen(
    limb: tuple[Object, Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody has followed it, as before the check that comes after an undo."""
    obj, rig = limb
    with monkeypatch.context() as patch:
        patch.setattr(following, "follow", lambda *_changes, **_options: None)
        rig.location.y += 0.3
        bpy.context.view_layer.update()
    assert not is_current(obj)
    check()
    assert is_current(obj)


def test_a_mesh_that_another_object_may_write_is_looked_at(limb: tuple[Object, Object]) -> None:
    obj, _ = limb
    enable(link(obj.copy()))
    check()
    assert not is_current(obj)


def test_soft_weights_are_looked_at(limb: tuple[Object, Object]) -> None:
    obj, _ = limb
    obj.dq_compensation.softness = 0.3
    check()
    assert not is_current(obj)


def test_kept_weights_know_a_renamed_bone_when_groups_are_sorted(
    limb: tuple[Object, Object],
) -> None:
    obj, rig = limb
    names = obj.vertex_groups.keys()
    keep_weights(obj, names, PAINTED)
    bones = rig.data.bones.keys()
    before = kept_influences(obj, bones, PAINTED)
    rig.data.bones["Lower"].name = "A Forearm"
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.vertex_group_sort(sort_type="NAME")
    assert obj.vertex_groups.keys() != [name.replace("Lower", "A Forearm") for name in names]
    after = kept_influences(obj, rig.data.bones.keys(), PAINTED)
    assert (after.weights == before.weights).all()
    assert (after.bones == before.bones).all()
