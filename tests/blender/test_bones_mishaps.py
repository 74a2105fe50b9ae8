"""Helper bones that cannot be baked: a sentence that names the object, and nothing half done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest

from dq_compensation import api
from dq_compensation.pipeline.bones.bones_baking import bake_bones
from dq_compensation.pipeline.bones.helper_rig import helper_names
from dq_compensation.pipeline.bones.options import BonesOptions
from tests.blender.bake_scenes import shows_armature_alone
from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import link, linked_copy
from tests.blender.test_bones_bake import bake, everything, rig
from tests.limb import build_bendy_limb


def refused(obj: bpy.types.Object, words: str, **options: object) -> None:
    """Nothing has changed, and the reason has these words: as an error, or in the tooltip."""
    bpy.context.view_layer.update()
    before = everything(obj)
    count = len(bpy.data.objects)
    with pytest.raises(RuntimeError, match=words):
        bake(obj, **options)
    assert everything(obj) == before
    assert len(bpy.data.objects) == count


def envelopes(obj: bpy.types.Object) -> None:
    obj.modifiers["Armature"].use_bone_envelopes = True


def modifier_before(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Wave", "WAVE")
    obj.modifiers.move(len(obj.modifiers) - 1, 0)


def negative(obj: bpy.types.Object) -> None:
    rig(obj).scale = (-1.0, 1.0, 1.0)


def uneven(obj: bpy.types.Object) -> None:
    rig(obj).scale = (1.0, 2.0, 1.0)


def hidden(obj: bpy.types.Object) -> None:
    obj.hide_viewport = True


def rest_position(obj: bpy.types.Object) -> None:
    rig(obj).data.pose_position = "REST"


def shared_mesh(obj: bpy.types.Object) -> None:
    other = link(obj.copy())
    other.dq_compensation.is_enabled = False


def shared_bones(obj: bpy.types.Object) -> None:
    link(rig(obj).copy())


def locked(obj: bpy.types.Object) -> None:
    obj.vertex_groups["Lower"].lock_weight = True


def one_bone(obj: bpy.types.Object) -> None:
    for name in ("Lower", "Hand"):
        obj.vertex_groups.remove(obj.vertex_groups[name])


@pytest.mark.parametrize(
    ("spoil", "words", "options"),
    [
        (envelopes, "envelopes", {}),
        (modifier_before, "Wave of Limb acts before", {}),
        (negative, "Limb Rig has a negative scale", {}),
        (uneven, "Limb Rig is scaled unevenly", {}),
        (hidden, "Limb is hidden", {}),
        (rest_position, "Limb Rig is in Rest Position", {}),
        (shared_mesh, "2 objects share the mesh", {}),
        (shared_bones, "2 objects share the bones", {}),
        (locked, "Lower", {}),
        (one_bone, "No vertex of Limb follows two", {}),
        (None, "follows Upper and the deforming bone above", {"bone_names": "Upper"}),
        (None, "no deforming bone Nothing", {"bone_names": "Nothing"}),
        (None, "no action", {"poses": "FRAMES"}),
    ],
)
def test_refused(
    limb: bpy.types.Object,
    spoil: Callable[[bpy.types.Object], None] | None,
    words: str,
    options: dict[str, object],
) -> None:
    if spoil is not None:
        spoil(limb)
    refused(limb, words, **options)


def test_helpers_of_other_meshes_count_as_deforming_bones(limb: bpy.types.Object) -> None:
    """Three bones, four helpers that the other mesh follows, and those of this bake."""
    other = linked_copy(limb, own_data=True)
    api.bake_bones(limb, budget=4)
    (report,) = api.bake_bones(other, budget=3, estimate=True)
    assert (report.bones, report.deforming) == (3, 10)


def test_edit_mode_is_refused(limb: bpy.types.Object) -> None:
    select(rig(limb))
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="Edit Mode"):
        bpy.ops.dqc.bake_bones(bones="ALL")
    bpy.ops.object.mode_set(mode="OBJECT")


def test_bendy_bones_are_named(addon: None) -> None:
    obj, _ = build_bendy_limb(8)
    refused(obj, "bendy bones of Limb Rig.*Upper, Lower, Hand")


def test_an_earlier_bake_is_not_baked_again_unasked(limb: bpy.types.Object) -> None:
    bake(limb)
    refused(limb, "Replace Earlier Bake", overwrite=False)


def test_what_was_stopped_has_changed_nothing(limb: bpy.types.Object) -> None:
    before = everything(limb)
    steps = bake_bones([limb], BonesOptions())
    shares = []
    for progress in steps:
        assert progress.stoppable
        shares.append(progress.share)
        if progress.doing.startswith("Checking") and len(shares) % 3 == 0:
            break
    steps.close()
    assert shares == sorted(shares)
    assert everything(limb) == before


def test_a_failure_while_writing_removes_the_copies(limb: bpy.types.Object) -> None:
    """A locked group is found only when the copy gets its weights."""
    locked(limb)
    refused(limb, "Lower", onto="COPY")


@pytest.mark.parametrize("overridden", [False, True])
def test_a_linked_armature_is_baked_onto_a_copy(
    limb: bpy.types.Object, tmp_path: Path, overridden: bool
) -> None:
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (source, target):
        target.objects = list(source.objects)
    for obj in bpy.data.objects:
        if obj.name in {"Limb", "Limb Rig"}:
            bpy.context.scene.collection.objects.link(obj)
    linked = bpy.data.objects["Limb"]
    bpy.context.view_layer.update()
    if overridden:
        context = bpy.context.scene, bpy.context.view_layer
        linked = linked.override_hierarchy_create(*context, do_fully_editable=True)
        assert linked.override_library is not None
    bpy.context.view_layer.update()
    select(linked)
    with pytest.raises(RuntimeError, match="Limb Rig is linked from another file"):
        bpy.ops.dqc.bake_bones(bones="ALL")
    copy = bake(linked, onto="COPY")
    for made in (copy, copy.data, rig(copy), rig(copy).data):
        assert made.library is None
        assert made.override_library is None
    assert shows_armature_alone(copy, preserve_volume=False)
    assert helper_names(rig(copy))
    assert helper_names(rig(linked)) == []


def test_an_armature_that_was_deleted_is_still_baked_to_a_copy(limb: bpy.types.Object) -> None:
    """The modifier keeps it in the file, where no view layer can hide it."""
    armature = rig(limb)
    for collection in armature.users_collection:
        collection.objects.unlink(armature)
    bpy.context.view_layer.update()
    bake(limb, onto="COPY")
    copy = bpy.data.objects["Limb Baked"]
    assert helper_names(rig(copy))
    assert not helper_names(armature)
    assert limb.hide_get()
    assert copy.visible_get()
    assert copy.select_get()
