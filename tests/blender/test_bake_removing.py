"""Remove Bake takes a bake away where it was made, and dialogs keep their values after an error."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.errors import UserError
from dq_compensation.pipeline.bones.helper_rig import helper_names
from dq_compensation.pipeline.bones.operators import DQC_OT_bake_bones
from dq_compensation.ui_shared.reporting import last_report as shown_report
from dq_compensation.ui_shared.reporting import reports_errors
from tests.blender.bake_scenes import native
from tests.blender.enabled_scenes import enable, select
from tests.blender.test_bones_bake import everything, rig
from tests.limb import key_limb, pose_limb

BAKES: dict[str, Any] = {
    "bones": lambda obj: api.bake_bones(obj, budget=2),
    "bones and correctives": lambda obj: api.bake_bones(
        obj, ["Lower"], budget=2, with_correctives=True
    ),
    "hinges": api.bake_correctives,
    "poses of an action": lambda obj: api.bake_correctives(obj, directions="ACTION"),
    "frames": lambda obj: api.bake_frames(obj, 1, 5),
}


@pytest.mark.parametrize("name", BAKES)
def test_a_bake_is_removed_with_all_that_came_with_it(limb: bpy.types.Object, name: str) -> None:
    """A key of the user's own stays. Afterwards plain skinning is what it was before."""
    key_limb(rig(limb), {1: 0.0, 5: 1.0})
    limb.shape_key_add(name="Basis")
    limb.shape_key_add(name="Smile", from_mix=False).value = 0.0
    api.disable(limb)
    bpy.context.scene.frame_set(4)
    before, plain, properties = everything(limb), native(limb), dict(limb.items())
    enable(limb)
    BAKES[name](limb)
    assert len(limb.data.shape_keys.key_blocks) > 2 or helper_names(rig(limb))
    select(limb)
    assert bpy.ops.dqc.remove_bake() == {"FINISHED"}
    assert last_report(limb) is None
    assert not limb.dq_compensation.enabled
    assert [block.name for block in limb.data.shape_keys.key_blocks] == ["Basis", "Smile"]
    for owner in (limb, limb.data.shape_keys):
        assert not (owner.animation_data and list(owner.animation_data.drivers))
    assert properties.keys() == set(limb.keys())
    after = everything(limb)
    assert after[1] == before[1]
    assert np.abs(native(limb) - plain).max() < 1e-6
    with pytest.raises(UserError, match="Limb has no helper bones and no shape keys of a bake"):
        api.remove_bake(limb)


@pytest.mark.parametrize("name", ["bones and correctives", "hinges", "frames"])
def test_nothing_is_left_of_a_bake_that_was_removed(limb: bpy.types.Object, name: str) -> None:
    """No basis that the bake has made, no button for what is gone, no report after *Enable*."""
    key_limb(rig(limb), {1: 0.0, 5: 1.0})
    select(limb)
    assert not bpy.ops.dqc.remove_bake.poll()
    keys = len(bpy.data.shape_keys)
    BAKES[name](limb)
    assert bpy.ops.dqc.remove_bake.poll()
    assert bpy.ops.dqc.remove_bake() == {"FINISHED"}
    assert limb.data.shape_keys is None
    assert len(bpy.data.shape_keys) == keys
    assert not bpy.ops.dqc.remove_bake.poll()
    assert "Press Enable" in shown_report(["Limb"])
    enable(limb)
    assert shown_report(["Limb"]) == ""


def test_a_report_is_gone_once_the_character_is_enabled_again(limb: bpy.types.Object) -> None:
    api.bake_correctives(limb, ["Lower"])
    assert "Baked" in str(last_report(limb))
    api.enable(limb)
    assert last_report(limb) is None


def _driver(limb: bpy.types.Object) -> None:
    limb.data.shape_keys.driver_add("eval_time")


def _animation(limb: bpy.types.Object) -> None:
    limb.data.shape_keys.eval_time = 1.0
    limb.data.shape_keys.keyframe_insert("eval_time", frame=2)


def _property(limb: bpy.types.Object) -> None:
    limb.data.shape_keys["mine"] = 1


def _key(limb: bpy.types.Object) -> None:
    limb.shape_key_add(name="Smile")


@pytest.mark.parametrize("needs", [_driver, _animation, _property, _key])
def test_the_basis_stays_where_something_of_the_user_needs_it(
    limb: bpy.types.Object, needs: Callable[[bpy.types.Object], None]
) -> None:
    api.bake_correctives(limb, ["Lower"])
    needs(limb)
    api.remove_bake(limb)
    assert limb.data.shape_keys.reference_key.name == "Basis"


def test_scripts_are_told_what_was_removed(limb: bpy.types.Object) -> None:
    (baked,) = api.bake_bones(limb, budget=2)
    (report,) = api.remove_bake(limb)
    assert (report.bones, report.key_names) == (baked.bones + baked.gauges, ())
    assert report.sentence().startswith(
        f"Removed {report.bones} helper bones of Limb, and put its weights back."
    )
    keys = api.bake_correctives(limb).key_names
    (report,) = api.remove_bake(limb)
    assert (report.bones, report.key_names) == (0, keys)
    pose_limb(rig(limb))


def test_a_dialog_keeps_its_values_after_an_error() -> None:
    """Those of a script are not kept, and what a caller sets is not replaced."""
    shown: list[object] = []
    manager = SimpleNamespace(invoke_props_dialog=lambda *_a, **_k: shown.append("dialog"))
    context: Any = SimpleNamespace(window_manager=manager)

    def dialog(chosen: set[str], **values: object) -> Any:
        properties = SimpleNamespace(
            bl_rna=SimpleNamespace(properties={"rna_type": None, **values}),
            is_property_set=lambda name: name in chosen,
        )
        return SimpleNamespace(
            bl_idname="test.dialog", properties=properties, report=lambda *_: None, **values
        )

    @reports_errors
    def execute(self: Any, context: Any) -> set[str]:
        raise UserError("Too much.")

    ask = DQC_OT_bake_bones.ask
    script = dialog(set(), budget=3, tolerance=0.5)
    execute(script, context)
    first = dialog(set(), budget=0, tolerance=0.5)
    ask(first, context)
    assert (first.budget, first.tolerance) == (0, 0.5)
    first.budget, first.tolerance = 4, 9.0
    execute(first, context)
    second = dialog({"tolerance"}, budget=0, tolerance=2.0)
    ask(second, context)
    assert (second.budget, second.tolerance) == (4, 2.0)
    third = dialog(set(), budget=0, tolerance=0.5)
    ask(third, context)
    assert third.budget == 0
    assert shown == ["dialog"] * 3
