"""*Solve Folds* of rigs as people have them, and of what cannot be solved: all or nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import bmesh
import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.analysis.flesh.way import WayToPose
from dq_compensation.analysis.folding_joints import folding_joints, way_matrices
from dq_compensation.errors import UserError
from dq_compensation.folds.character_folds import FoldsReport
from dq_compensation.folds.joined_body import NO_PLACE, JoinedBody
from dq_compensation.folds.motion import known_motion
from tests.blender.enabled_scenes import select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import add_mesh, edit_mode
from tests.blender.solved_scenes import pose
from tests.blender.test_solve_folds import ELBOW, Pair, limit
from tests.blender.test_solve_folds_of_characters import EXACT, alone
from tests.kept_files import new_file
from tests.limb import BONES, RADIUS, bind_to_bones, build_limb, limb_vertices, limb_weights

pytestmark = pytest.mark.usefixtures("addon")


def limb() -> Pair:
    """A limb that bends by 45 degrees at most."""
    new_file()
    obj, armature = build_limb()
    limit(armature, 45)
    return obj, armature


def with_controls(armature: bpy.types.Object) -> None:
    """Put each bone below a control of its own; the controls are the chain, as in Rigify."""
    with edit_mode(armature):
        bones = armature.data.edit_bones
        for name in BONES:
            control = bones.new(f"c_{name}")
            control.head, control.tail = bones[name].head, bones[name].tail
            control.roll, control.use_deform = bones[name].roll, False
            above = bones[name].parent
            control.parent = above.parent if above is not None else None
            bones[name].use_connect = False
            bones[name].parent = control


def clothes(obj: bpy.types.Object, armature: bpy.types.Object, name: str, thick: float) -> None:
    """A sleeve over the whole limb."""
    wide = limb_vertices() * (1.0, 1.0 + thick, 1.0 + thick)
    faces = [tuple(face.vertices) for face in obj.data.polygons if len(face.vertices) == 4]
    sleeve = add_mesh(wide.tolist(), faces, name=name)
    bind_to_bones(sleeve, armature, limb_weights(wide[:, 0]))


def report_of(obj: bpy.types.Object) -> FoldsReport:
    report = api.solve_folds(obj, [ELBOW])
    assert isinstance(report, FoldsReport)
    return report


def test_bones_below_controls_of_their_own_fold_as_in_a_chain_with_clothes_in_two_meshes() -> None:
    expected = alone()
    obj, armature = limb()
    with_controls(armature)
    for name, thick in (("Shirt", 0.05), ("Coat", 0.12)):
        clothes(obj, armature, name, thick)
    meshes = [each for each in bpy.data.objects if each.type == "MESH"]
    for each in meshes:
        api.enable(each)
    report = report_of(obj)
    assert [each.bone for each in report.solved] == [ELBOW]
    assert {"Limb", "Shirt", "Coat"} == set(report.object_names)
    pose(armature, c_Lower=45)
    found = api.evaluate(obj)
    # The hand hangs on a control of its own: it goes along while the elbow is solved.
    assert np.abs(found - expected).max() < EXACT
    for name in ("Shirt", "Coat"):
        (shape,) = api.solved_shapes(bpy.data.objects[name])
        assert shape.largest > 0.05 * RADIUS


def test_half_way_to_a_pose_each_bone_is_where_half_the_bend_takes_it() -> None:
    """The hand goes round the elbow, whatever it hangs on: not straight from end to end."""
    obj, armature = limb()
    limit(armature, 80)
    with_controls(armature)
    api.enable(obj)
    body = JoinedBody.of([obj], bpy.context.evaluated_depsgraph_get(), anew=False)
    elbow, hand = (body.skeleton.names.index(name) for name in (ELBOW, "Hand"))
    known = known_motion(armature, body.skeleton)
    (joint,) = folding_joints(body.skin, known, [elbow]).joints
    half, whole = (
        way_matrices(body.skin, elbow, joint.longest, part * 80.0) for part in (0.5, 1.0)
    )
    assert np.abs(whole[hand] - whole[elbow]).max() < 1e-12
    bones = body.bones_in(whole)
    assert bones is not None
    way = WayToPose(bones.skin.skeleton, bones.pose(whole))
    assert np.abs(way.matrices(0.5) - half[bones.rows]).max() < 1e-9
    assert [bones.skin.skeleton.names[row] for row in bones.first[[elbow, hand]]] == [ELBOW, "Hand"]


def broken(obj: bpy.types.Object) -> None:
    obj.data.vertices[300].co.x = float("nan")


def of_one_vertex(obj: bpy.types.Object) -> None:
    """A vertex of the forearm."""
    mesh = bmesh.new()
    mesh.from_mesh(obj.data)
    mesh.verts.ensure_lookup_table()
    bmesh.ops.delete(mesh, geom=[each for each in mesh.verts if each.index != 400])
    mesh.to_mesh(obj.data)
    mesh.free()


def with_other_vertices(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Twin", "MIRROR")
    obj.modifiers.move(1, 0)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (broken, NO_PLACE.format(obj="Limb", count="1 vertex")),
        (of_one_vertex, "Lower: no bone moves skin before it, so there is no joint at its head."),
        (with_other_vertices, "Solved shapes do not act on Limb, which gets other vertices from"),
    ],
)
def test_what_cannot_be_solved_is_said_and_nothing_changes(damage: object, said: str) -> None:
    obj, _ = limb()
    assert callable(damage)
    damage(obj)
    obj.data.update_tag()
    bpy.context.view_layer.update()
    api.enable(obj)
    counts = len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)
    with pytest.raises(UserError) as error:
        api.estimate_folds(obj, [ELBOW])
    assert said in str(error.value)
    with suppress(UserError):
        report = report_of(obj)
        assert report.solved == ()
        assert said in report.left_out[ELBOW]
    assert api.solved_shapes(obj) == []
    assert not obj.dq_compensation.use_solved_shapes
    assert (len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.scenes)) == counts


def test_modifiers_behind_the_armature_may_make_other_vertices() -> None:
    obj, _ = limb()
    obj.modifiers.new("Finer", "SUBSURF")
    api.enable(obj)
    assert [each.bone for each in report_of(obj).solved] == [ELBOW]


def test_an_armature_without_bones_is_not_solved() -> None:
    obj, armature = limb()
    api.enable(obj)
    with edit_mode(armature):
        for bone in list(armature.data.edit_bones):
            armature.data.edit_bones.remove(bone)
    bpy.context.view_layer.update()
    with pytest.raises(UserError, match="Limb Rig has no bone"):
        api.solve_folds(obj, [ELBOW])
    assert api.solved_shapes(obj) == []


def test_one_linked_mesh_keeps_all_from_being_solved(tmp_path: Path) -> None:
    obj, armature = limb()
    api.enable(obj)
    collected("Character", obj, armature)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "character.blend"))
    new_file()
    linked = load_collection(tmp_path / "character.blend", "Character")
    bpy.context.scene.collection.children.unlink(linked)
    body, rig = overridden(linked)
    clothes(body, rig, "Shirt", 0.1)
    shirt = bpy.data.objects["Shirt"]
    api.enable(shirt)
    assert body.dq_compensation.is_enabled
    with pytest.raises(UserError, match="Limb is linked from another file"):
        api.solve_folds(shirt, [ELBOW])
    assert api.solved_shapes(shirt) == []
    assert not rig.dq_compensation.use_solved_shapes


def test_one_undo_takes_all_meshes_back() -> None:
    obj, armature = limb()
    clothes(obj, armature, "Shirt", 0.1)
    for each in (obj, bpy.data.objects["Shirt"]):
        api.enable(each)
    select(obj)
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.dqc.solve_folds() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="Solve Folds")
    assert api.solved_shapes(bpy.data.objects["Limb"])
    assert api.solved_shapes(bpy.data.objects["Shirt"])
    bpy.ops.ed.undo()
    for name in ("Limb", "Shirt"):
        assert api.solved_shapes(bpy.data.objects[name]) == []
    assert not bpy.data.objects["Limb Rig"].dq_compensation.use_solved_shapes
