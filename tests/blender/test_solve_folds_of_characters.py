"""*Solve Folds* of characters of several meshes, and of meshes that are not as they should be."""

from __future__ import annotations

from functools import cache

import bmesh
import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.folds.character_folds import FoldsReport
from tests.blender.scene_builders import add_mesh
from tests.blender.solved_scenes import pose
from tests.blender.test_solve_folds import ELBOW, Pair, limit
from tests.kept_files import new_file
from tests.limb import (
    BONE_LENGTH,
    RADIUS,
    bind_to_bones,
    build_limb,
    limb_vertices,
    limb_weights,
)

pytestmark = pytest.mark.usefixtures("addon")
# Offsets have 16 bits, of the largest one: 2e-6 of a limb whose offsets are as large as its radius.
# Positions are float32 of about 1. What is added up in another order ends elsewhere by 5e-3 of a
# cell, which is a quarter of the radius.
EXACT = 5e-3 * RADIUS / 4.0


def limb() -> Pair:
    """A limb that bends by 45 degrees at most."""
    new_file()
    obj, armature = build_limb()
    limit(armature, 45)
    return obj, armature


def solved(obj: bpy.types.Object) -> FoldsReport:
    report = api.solve_folds(obj, [ELBOW])
    assert isinstance(report, FoldsReport)
    assert [each.bone for each in report.solved] == [ELBOW]
    return report


def bent(*objects: bpy.types.Object) -> NDArray[np.float64]:
    """The vertices of meshes, one behind the other, where the elbow is bent as it was solved."""
    pose(objects[0].parent, Lower=45)
    found = np.concatenate([api.evaluate(obj) for obj in objects]).astype(np.float64)
    pose(objects[0].parent)
    return found


@cache
def alone() -> NDArray[np.float64]:
    """The vertices of a limb without other meshes, likewise; the file is another one after it."""
    obj, _ = limb()
    api.enable(obj)
    solved(obj)
    return bent(obj)


def test_flipped_normals_change_nothing() -> None:
    expected = alone()
    obj, _ = limb()
    mesh = bmesh.new()
    mesh.from_mesh(obj.data)
    bmesh.ops.reverse_faces(mesh, faces=mesh.faces[:])
    mesh.to_mesh(obj.data)
    mesh.free()
    api.enable(obj)
    solved(obj)
    found = bent(obj)
    assert np.abs(found - expected).max() < EXACT


def test_meshes_that_meet_at_a_seam_are_one_skin() -> None:
    """Cut at the elbow, the limb folds as in one piece, and the seam stays closed."""
    expected = alone()
    obj, armature = limb()
    other = obj.copy()
    other.data = obj.data.copy()
    bpy.context.collection.objects.link(other)
    middle, cut = BONE_LENGTH + 1e-3, list[NDArray[np.intp]]()
    for half, sign in ((obj, 1.0), (other, -1.0)):
        mesh = bmesh.new()
        mesh.from_mesh(half.data)
        far = [f for f in mesh.faces if sign * (f.calc_center_median().x - middle) > 0.0]
        bmesh.ops.delete(mesh, geom=far, context="FACES")
        mesh.to_mesh(half.data)
        mesh.free()
        places = np.array([vertex.co[:] for vertex in half.data.vertices])
        apart = np.linalg.norm(limb_vertices()[None] - places[:, None], axis=2)
        cut.append(apart.argmin(axis=1))
    for half in (obj, other):
        api.enable(half)
    assert armature.name in solved(obj).sentence()
    found, rows = bent(obj, other), np.concatenate(cut)
    one, two = np.intersect1d(*cut, return_indices=True)[1:]
    assert len(one) == 20
    assert np.abs(found[one] - found[len(cut[0]) + two]).max() < 1e-6
    assert np.abs(found - expected[rows]).max() < EXACT


def test_what_lies_on_the_skin_is_taken_along() -> None:
    """A sleeve round the elbow: the limb folds as without it, the sleeve moves with it."""
    expected = alone()
    obj, armature = limb()
    near = np.abs(limb_vertices()[:, 0] - BONE_LENGTH) < 0.3
    place = np.cumsum(near) - 1
    faces = [
        place[list(face.vertices)] for face in obj.data.polygons if near[list(face.vertices)].all()
    ]
    wide = limb_vertices()[near] * (1.0, 1.06, 1.06)
    sleeve = add_mesh(wide.tolist(), [tuple(face.tolist()) for face in faces], name="Sleeve")
    bind_to_bones(sleeve, armature, limb_weights(wide[:, 0]))
    for each in (obj, sleeve):
        api.enable(each)
    solved(obj)
    assert len(api.solved_shapes(sleeve)) == 1
    found, below = bent(sleeve), bent(obj)
    moved = found - _without(sleeve)
    shift = (below - _without(obj))[near]
    assert np.abs(shift).max() > 2e-3
    assert np.abs(moved - shift).max() < 0.1 * np.abs(shift).max()
    assert np.abs(below - expected).max() < EXACT


def _without(obj: bpy.types.Object) -> NDArray[np.float64]:
    api.change_settings(obj, shapes_left_out=ELBOW)
    found = bent(obj)
    api.change_settings(obj, shapes_left_out="")
    return found


def test_a_mesh_that_cannot_be_written_is_named_before_the_start() -> None:
    obj, _ = limb()
    subdivide = obj.modifiers.new("Finer", "SUBSURF")
    obj.modifiers.move(1, 0)
    api.enable(obj)
    with pytest.raises(UserError, match=r"Solved shapes do not act on Limb.* Finer"):
        api.solve_folds(obj, [ELBOW])
    assert api.solved_shapes(obj) == []
    obj.modifiers.remove(subdivide)
    assert solved(obj).left_out == {}


def test_a_mesh_without_faces_to_solve_is_left_out_with_the_reason() -> None:
    obj, _ = limb()
    mesh = bmesh.new()
    mesh.from_mesh(obj.data)
    bmesh.ops.delete(mesh, geom=mesh.faces[:], context="FACES_ONLY")
    mesh.to_mesh(obj.data)
    mesh.free()
    api.enable(obj)
    with pytest.raises(UserError, match="At the head of Lower no skin goes over"):
        api.estimate_folds(obj, [ELBOW])
    report = api.solve_folds(obj, [ELBOW])
    assert isinstance(report, FoldsReport)
    assert report.solved == ()
    assert list(report.left_out) == [ELBOW]
    assert ELBOW in report.left_out[ELBOW]
    assert api.solved_shapes(obj) == []
