"""The seams of a character's meshes: what is found, what is not, what is repaired."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.setup_check import findings
from tests.blender.character_scenes import limb_in_two
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import evaluated_positions

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def parts() -> list[bpy.types.Object]:
    return limb_in_two(0.52)[0]


def seams(obj: bpy.types.Object) -> list[api.Issue]:
    bpy.context.view_layer.update()
    return [issue for issue in api.check(obj) if issue.check == "open_seams"]


def rims(parts: list[bpy.types.Object]) -> tuple[np.ndarray, np.ndarray]:
    """The vertices of both meshes at the cut, in one order."""
    places = [np.array([v.co[:] for v in obj.data.vertices]) for obj in parts]
    near = np.flatnonzero(places[0][:, 0] >= places[0][:, 0].max() - 1e-6)
    apart = np.linalg.norm(places[0][near][:, None] - places[1][None], axis=2)
    return near, apart.argmin(axis=1)


def gap(parts: list[bpy.types.Object], pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """How far the posed surfaces part at the cut."""
    bpy.context.view_layer.update()
    near, far = (evaluated_positions(obj)[rows] for obj, rows in zip(parts, pairs, strict=True))
    return float(np.linalg.norm(near - far, axis=1).max())


def test_a_closed_seam_is_no_finding(parts: list[bpy.types.Object]) -> None:
    assert not seams(parts[0])
    assert not seams(parts[1])


def test_both_meshes_have_one_finding_with_the_numbers(parts: list[bpy.types.Object]) -> None:
    _, far = rims(parts)
    size = 2.0
    for index in far[:5].tolist():
        parts[1].data.vertices[index].co.y += 2e-4 * size
    (one,), (other,) = seams(parts[0]), seams(parts[1])
    assert one.key == other.key
    assert one.message == other.message
    assert "Limb" in one.message
    assert "Far" in one.message
    assert "5 vertices lie up to" in one.message
    assert len(one.vertices) == len(other.vertices) == 5


@pytest.mark.parametrize("which", ["weights", "apart"])
def test_the_fix_closes_the_posed_seam(parts: list[bpy.types.Object], which: str) -> None:
    """To 1e-6 of a limb two long: what float32 keeps of moved vertices."""
    pairs = rims(parts)
    small = min(parts, key=lambda obj: len(obj.data.vertices))
    chosen = pairs[parts.index(small)].tolist()
    if which == "weights":
        small.vertex_groups["Hand"].add(chosen, 0.3, "ADD")
    else:
        for index in chosen:
            small.data.vertices[index].co.z += 3e-4
    opened = gap(parts, pairs)
    (issue,) = seams(parts[0])
    (result,) = api.fix(parts[0], "open_seams", key=issue.key, agree=True)
    assert result.state == "FIXED"
    assert opened > 1e-4
    assert gap(parts, pairs) < 2e-6
    assert not seams(parts[0])


def test_settings_are_those_of_the_larger_mesh(parts: list[bpy.types.Object]) -> None:
    small, large = sorted(parts, key=lambda obj: len(obj.data.vertices))
    for obj, factor in ((small, 0.3), (large, 0.8)):
        enable(obj)
        obj.dq_compensation.factor = factor
    (issue,) = seams(small)
    assert "Factor" in issue.message
    api.fix(small, "open_seams", key=issue.key, agree=True)
    assert small.dq_compensation.factor == pytest.approx(0.8)
    # From here on both go with the character.
    small.modifiers["Armature"].object.dq_compensation.factor = 0.6
    assert large.dq_compensation.factor == small.dq_compensation.factor


def test_a_seam_with_a_capped_mesh_needs_equal_settings(parts: list[bpy.types.Object]) -> None:
    """Softening joins the two there, too."""
    pairs = rims(parts)
    for obj, rows, factor in zip(parts, pairs, (0.3, 0.8), strict=True):
        edited = bmesh.new()
        edited.from_mesh(obj.data)
        edited.verts.ensure_lookup_table()
        ring = [edited.verts[index] for index in rows.tolist()]
        edited.faces.new(sorted(ring, key=lambda each: np.arctan2(each.co.z, each.co.y)))
        edited.to_mesh(obj.data)
        edited.free()
        enable(obj)
        obj.dq_compensation.factor = factor
    (issue,) = seams(parts[0])
    assert "Factor" in issue.message
    assert len(issue.vertices) == len(pairs[0])


def test_a_mesh_by_itself_has_the_settings_that_it_has(parts: list[bpy.types.Object]) -> None:
    for obj, factor in zip(parts, (0.3, 0.8), strict=True):
        enable(obj)
        obj.dq_compensation.factor = factor
    parts[0].dq_compensation.by_itself = True
    assert not seams(parts[0])


@pytest.mark.parametrize("why", ["shape keys", "shared"])
def test_no_button_where_the_mesh_cannot_change(parts: list[bpy.types.Object], why: str) -> None:
    small = min(parts, key=lambda obj: len(obj.data.vertices))
    pairs = rims(parts)
    for index in pairs[parts.index(small)].tolist():
        small.data.vertices[index].co.z += 3e-4
    if why == "shape keys":
        small.shape_key_add(name="Basis")
    else:
        other = bpy.data.objects.new("Other", small.data)
        bpy.context.collection.objects.link(other)
    (issue,) = seams(parts[0])
    assert not issue.fixes
    assert why in issue.message


def test_a_copy_and_a_hem_are_no_seams(parts: list[bpy.types.Object]) -> None:
    """A copy half a thousandth thicker, and one that ends on the skin."""
    copy = parts[0].copy()
    copy.data = parts[0].data.copy()
    bpy.context.collection.objects.link(copy)
    for vertex in copy.data.vertices:
        vertex.co.yz *= 1.0005
    assert not any(map(seams, (copy, *parts)))
    bpy.data.objects.remove(parts[1])
    assert not seams(copy)
    for vertex in copy.data.vertices:
        vertex.co.x *= 0.7
    assert not seams(copy)


def test_a_change_of_the_mesh_beside_outdates_the_findings(parts: list[bpy.types.Object]) -> None:
    bpy.context.view_layer.update()
    known = findings.run(parts[0], bpy.context.evaluated_depsgraph_get())
    _, far = rims(parts)
    parts[1].vertex_groups["Hand"].add(far.tolist(), 0.3, "ADD")
    bpy.context.view_layer.update()
    findings.mark_all_touched()
    findings.compare(parts[0], known, bpy.context.evaluated_depsgraph_get())
    assert known.outdated
