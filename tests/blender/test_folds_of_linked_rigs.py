"""*Solve Folds* where the armature is linked: solved shapes are shown, or it is said why not."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.folds.shape_editing import switch_refusal
from tests.blender.libraries import load_objects
from tests.blender.test_solve_folds import ELBOW, Pair, limit
from tests.kept_files import new_file
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")


def local_mesh_on_linked_rig(folder: Path) -> Pair:
    """A limb of this file on an armature of another one, which has the settings of both."""
    obj, armature = build_limb()
    limit(armature, 45)
    api.enable(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "rig.blend"))
    new_file()
    (linked,) = load_objects(folder / "rig.blend", "Limb Rig")
    obj, own = build_limb()
    obj.modifiers["Armature"].object = obj.parent = linked
    bpy.data.objects.remove(own)
    api.enable(obj)
    return obj, linked


def test_a_linked_armature_that_cannot_show_them_is_named_before_the_start(tmp_path: Path) -> None:
    new_file()
    obj, armature = local_mesh_on_linked_rig(tmp_path)
    assert obj.dq_compensation.own is False
    with pytest.raises(UserError, match="Limb Rig is linked from another file, where Solved Sh"):
        api.solve_folds(obj, [ELBOW])
    assert api.solved_shapes(obj) == []
    # With settings of its own, the mesh shows them.
    obj.dq_compensation.own = True
    api.solve_folds(obj, [ELBOW])
    assert obj.dq_compensation.use_solved_shapes
    assert not armature.dq_compensation.use_solved_shapes
    assert all(shape.acts for shape in api.solved_shapes(obj))


def test_an_override_that_can_be_edited_switches_them_on(tmp_path: Path) -> None:
    new_file()
    obj, armature = local_mesh_on_linked_rig(tmp_path)
    override = armature.override_create(remap_local_usages=True)
    assert override is not None
    override.override_library.is_system_override = True
    bpy.context.view_layer.update()
    assert obj.find_armature() == override
    assert switch_refusal(obj) is not None
    override.override_library.is_system_override = False
    assert switch_refusal(obj) is None
    api.solve_folds(obj, [ELBOW])
    assert override.dq_compensation.use_solved_shapes
    assert all(shape.acts for shape in api.solved_shapes(obj))
