"""What lies on what is found point by point: weights of clothes change as those of the skin below.

Limbs lie along X, softened by half of the radius. Weights change by up to 0.3 then.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.scene.settings.addon_preferences import soft_weights_are_proved
from tests.blender.scene_builders import add_armature, add_mesh, evaluated_positions
from tests.limb import BONES, RADIUS, bind_to_bones, limb_weights, pose_limb
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")

Weights = NDArray[np.float64]
SIDES = 20
# Weights are read between vertices 20 mm apart, where their slope changes.
BETWEEN = 0.01


def _rings(along: NDArray[np.float64], radius: float, y: float = 0.0) -> NDArray[np.float64]:
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    x, angle = np.meshgrid(along, angles, indexing="ij")
    rings = (x, y + radius * np.cos(angle), radius * np.sin(angle))
    return np.stack(rings, axis=-1).reshape(-1, 3)


def _quads(rows: int, first: int = 0) -> list[tuple[int, ...]]:
    places = first + np.arange(rows * SIDES).reshape(rows, SIDES)
    after = np.roll(places, -1, axis=1)
    quads = np.stack((places[:-1], after[:-1], after[1:], places[1:]), axis=-1)
    return [tuple(quad) for quad in quads.reshape(-1, 4).tolist()]


def _worn(
    name: str,
    armature: bpy.types.Object,
    positions: NDArray[np.float64],
    faces: Sequence[Sequence[int]],
    weights: Weights | None = None,
) -> bpy.types.Object:
    """A mesh with the weights of the limb, or these."""
    obj = add_mesh(positions.tolist(), faces, name=name)
    weights = limb_weights(positions[:, 0]) if weights is None else weights
    bind_to_bones(obj, armature, weights)
    bpy.context.view_layer.update()
    return obj


def _limb(
    name: str, armature: bpy.types.Object, begin: float, end: float, radius: float = RADIUS
) -> bpy.types.Object:
    rows = round((end - begin) / 0.02) + 1
    return _worn(name, armature, _rings(np.linspace(begin, end, rows), radius), _quads(rows))


def _weights(obj: bpy.types.Object) -> Weights:
    """Shape (n, 3), of the bones."""
    found = np.zeros((len(obj.data.vertices), len(BONES)))
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            found[vertex.index, BONES.index(obj.vertex_groups[entry.group].name)] = entry.weight
    return found


def _change_of(body: bpy.types.Object, at: NDArray[np.float64]) -> Weights:
    """What the weights of a softened limb have changed by at places along it."""
    along = np.array([vertex.co.x for vertex in body.data.vertices])[::SIDES]
    changed = _weights(body)[::SIDES] - limb_weights(along)
    return np.stack([np.interp(at, along, column) for column in changed.T], axis=1)


def test_a_hem_hangs_on_and_the_rest_goes_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sleeve whose end has no skin below: there its weights go over into their own.

    The test of the weights would leave them as painted: the hem is stretched a sixth more.
    """
    replace_everywhere(monkeypatch, soft_weights_are_proved, lambda: False)
    armature = add_armature(BONES)
    body = _limb("Body", armature, 0.0, 0.5)
    sleeve = _limb("Sleeve", armature, 0.3, 0.9, RADIUS + 0.01)
    alone = _limb("Alone", armature, 0.3, 0.9, RADIUS + 0.01)
    api.soften_weights(alone)
    reports = api.soften_weights([body, sleeve])
    assert [each.body for each in reports] == ["", ""]
    along = np.array([vertex.co.x for vertex in sleeve.data.vertices])
    painted, found = limb_weights(along), _weights(sleeve)
    lies = along < 0.49
    change = _change_of(body, along[lies])
    assert np.abs(change).max() > 0.1
    assert np.abs(found[lies] - painted[lies] - change).max() <= BETWEEN
    # Two radii behind the hem it is as without a body.
    assert np.abs(found - _weights(alone))[along > 0.5 + 2 * RADIUS].max() <= BETWEEN
    steps = [np.abs(np.diff(each[::SIDES], axis=0)).max(axis=1) for each in (found, painted)]
    assert (steps[0] - steps[1]).max() <= 0.05


@pytest.mark.parametrize("flipped", [False, True])
def test_both_sides_of_a_coat_change_alike(*, flipped: bool) -> None:
    armature = add_armature(BONES)
    body = _limb("Body", armature, 0.0, 1.5)
    rows, sides = 31, (RADIUS + 0.02, RADIUS + 0.012)
    along = np.linspace(0.2, 0.8, rows)
    count = rows * SIDES
    inner = [face[::-1] for face in _quads(rows, count)]
    hem = np.arange(SIDES)
    hems = [
        np.stack((at + hem, at + count + hem, at + count + after, at + after), axis=1)[:, ::turn]
        for at, turn in ((0, 1), (count - SIDES, -1))
        for after in [np.roll(hem, -1)]
    ]
    faces = [*_quads(rows), *inner, *np.concatenate(hems).tolist()]
    faces = [face[::-1] for face in faces] if flipped else faces
    coat = _worn("Coat", armature, np.concatenate([_rings(along, r) for r in sides]), faces)
    reports = api.soften_weights([coat, body])
    assert [each.body for each in reports] == ["Body", ""]
    found = _weights(coat)
    assert np.abs(found[:count] - found[count:]).max() <= 1e-4
    x = np.repeat(along, SIDES)
    expected = limb_weights(x) + _change_of(body, x)
    assert np.abs(found[:count] - expected).max() <= BETWEEN


def test_a_belt_does_not_give_its_body_to_the_rest_of_its_mesh() -> None:
    """Beside the belt is a tube far from the skin, of fewer vertices: it is softened by itself."""
    armature = add_armature(BONES)
    body = _limb("Body", armature, 0.0, 1.5)
    rows = 21
    tube, belt = _rings(np.linspace(0.3, 0.7, rows), 0.05, 0.6), np.linspace(0.1, 0.2, 40)
    positions = np.concatenate((tube, _rings(belt, RADIUS + 0.01)))
    faces = [*_quads(rows), *_quads(40, rows * SIDES)]
    weights = limb_weights(positions[:, 0])
    weights[rows * SIDES :] = (1.0, 0.0, 0.0)
    alone = _worn("Alone", armature, tube, _quads(rows))
    api.soften_weights(alone)
    both = _worn("Both", armature, positions, faces, weights)
    api.soften_weights([body, both])
    found = _weights(both)
    assert np.abs(found[: rows * SIDES] - _weights(alone)).max() <= 1e-3
    # A rigid piece stays one.
    assert np.ptp(found[rows * SIDES :], axis=0).max() <= 1e-6


@pytest.mark.parametrize("look", ["SOFT", "SOFT_WITH_TWIST"])
def test_a_seam_with_a_capped_mesh_stays_closed(look: str) -> None:
    armature = add_armature(BONES)
    near, rows = _limb("Near", armature, 0.0, 0.52), 50
    rings = _rings(np.linspace(0.52, 1.5, rows), RADIUS)
    far = _worn("Far", armature, rings, [*_quads(rows), range(SIDES)])
    api.enable([near, far], look=look)
    pose_limb(armature)
    ends = evaluated_positions(near)[-SIDES:], evaluated_positions(far)[:SIDES]
    # float32, on a character of 1.5.
    assert np.abs(ends[0] - ends[1]).max() <= 1e-5


def test_teeth_are_no_body() -> None:
    """A rigid strip within the limb, where most of the limb's vertices are, and none else."""
    armature = add_armature(BONES)
    along = np.concatenate((np.linspace(0.0, 0.3, 150), np.linspace(0.32, 1.5, 60)))
    skin = _rings(along, RADIUS), _quads(len(along))
    body, alone = (_worn(name, armature, *skin) for name in ("Body", "Alone"))
    rows = 60
    rings = _rings(np.linspace(0.0, 0.3, rows), RADIUS - 0.01)
    upper = np.tile((1.0, 0.0, 0.0), (len(rings), 1))
    teeth = _worn("Teeth", armature, rings, _quads(rows), upper)
    api.soften_weights(alone)
    reports = api.soften_weights([body, teeth])
    assert not reports[0].body
    assert np.abs(_weights(body) - _weights(alone)).max() <= 1e-6


def _layered(scale: float, *, turned: bool) -> dict[str, Weights]:
    """The soft weights of three layers, of so large a character, in either order."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    armature = add_armature(BONES)
    ends = {"Body": (0.0, 1.5), "Shirt": (0.2, 0.8), "Coat": (0.1, 1.1)}
    meshes = [
        _limb(name, armature, *each, RADIUS + 0.01 * row)
        for row, (name, each) in enumerate(ends.items())
    ]
    for each in (armature, *meshes):
        each.data.transform(Matrix.Scale(scale, 4))
    bpy.context.view_layer.update()
    api.soften_weights(meshes[::-1] if turned else meshes)
    return {obj.name: _weights(obj) for obj in meshes}


def test_size_and_order_do_not_matter() -> None:
    expected = _layered(1.0, turned=False)
    for scale, turned in ((0.01, False), (100.0, True)):
        found = _layered(scale, turned=turned)
        for name, weights in expected.items():
            # Sums in another order, float32.
            assert np.abs(found[name] - weights).max() <= 1e-4, name


def _patch(
    span: tuple[float, float], heights: Sequence[float], angle: float = 0.6
) -> tuple[NDArray[np.float64], list[tuple[int, ...]]]:
    """A grid of 5 x 5 vertices on the limb, or a box with a lower side and an upper one."""
    along, angles = np.meshgrid(np.linspace(*span, 5), np.linspace(0.0, angle, 5), indexing="ij")
    sides = [
        np.stack((along, r * np.cos(angles), r * np.sin(angles)), axis=-1).reshape(-1, 3)
        for r in RADIUS + np.array(heights)
    ]
    at = np.arange(25).reshape(5, 5)
    quads = np.stack((at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]), axis=-1).reshape(-1, 4)
    faces = [quads]
    if len(heights) > 1:
        rim = np.concatenate((at[0, :-1], at[:-1, -1], at[-1, :0:-1], at[:0:-1, 0]))
        after = np.roll(rim, -1)
        faces = [quads[:, ::-1], quads + 25, np.stack((rim, after, after + 25, rim + 25), axis=1)]
    return np.concatenate(sides), [tuple(face) for face in np.concatenate(faces).tolist()]


def _limb_with(
    armature: bpy.types.Object,
    patch: tuple[NDArray[np.float64], list[tuple[int, ...]]],
    weights: Weights | None = None,
) -> tuple[bpy.types.Object, Weights, Weights]:
    """A limb with a patch in one mesh, softened: the limb alone, and the patch's weights.

    Returns:
        a limb that was softened alone; of the patch before and after, shape (m, 3).
    """
    alone = _limb("Alone", armature, 0.0, 1.5)
    api.soften_weights(alone)
    skin, rows = _rings(np.linspace(0.0, 1.5, 76), RADIUS), 76
    positions = np.concatenate((skin, patch[0]))
    faces = [*_quads(rows), *(tuple(len(skin) + at for at in face) for face in patch[1])]
    painted = limb_weights(positions[:, 0])
    if weights is not None:
        painted[len(skin) :] = weights
    both = _worn("Both", armature, positions, faces, painted)
    api.soften_weights(both)
    return alone, painted[len(skin) :], _weights(both)[len(skin) :]


@pytest.mark.parametrize("x", [0.38, 0.56])
def test_a_badge_on_its_own_mesh_changes_as_the_skin_at_its_middle(x: float) -> None:
    """It follows one bone, or two; so far the skin came through it."""
    armature = add_armature(BONES)
    patch = _patch((x, x + 0.06), (0.004,))
    middle = np.array([x + 0.03])
    strongest = np.eye(len(BONES))[limb_weights(middle)[0].argmax()]
    for weights in (strongest, limb_weights(middle)[0]):
        alone, _, found = _limb_with(armature, patch, weights)
        assert np.ptp(found, axis=0).max() <= 1e-6
        expected = weights + _change_of(alone, middle)[0]
        expected = np.maximum(expected, 0.0) / np.maximum(expected, 0.0).sum()
        assert np.abs(found[0] - weights).max() > 0.03
        # The places below the middle's vertices lie on facets of the limb.
        assert np.abs(found[0] - expected).max() <= BETWEEN


def test_a_thick_piece_on_its_own_mesh_stays_as_painted() -> None:
    armature = add_armature(BONES)
    patch = _patch((0.45, 0.47), (0.004, 0.05), 0.15)
    weights = np.array((0.5, 0.5, 0.0))
    _, _, found = _limb_with(armature, patch, weights)
    assert np.abs(found - weights).max() <= 1e-6


def test_both_sides_of_a_pouch_change_as_the_skin_below() -> None:
    """It is thicker than cloth; its edges face the ways of both of their sides."""
    armature = add_armature(BONES)
    patch = _patch((0.36, 0.42), (0.003, 0.04))
    alone, painted, found = _limb_with(armature, patch)
    change = _change_of(alone, patch[0][:, 0])
    assert np.abs(change).max() > 0.05
    assert np.abs(found - painted - change).max() <= BETWEEN


def _strand(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[tuple[int, ...]]]:
    angles = np.array((-0.12, 0.0, 0.12))
    radius = 0.125 + 0.006 * (angles == 0.0)
    along, angle = np.meshgrid(x, angles, indexing="ij")
    places = (along, radius * np.cos(angle), radius * np.sin(angle))
    at = np.arange(3 * len(x)).reshape(-1, 3)
    quads = np.stack((at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]), axis=-1)
    return np.stack(places, axis=-1).reshape(-1, 3), [
        tuple(face) for face in quads.reshape(-1, 4).tolist()
    ]


def _steps(obj: bpy.types.Object, weights: Weights) -> NDArray[np.float64]:
    """How much weights change along each edge."""
    edges = np.array([tuple(edge.vertices) for edge in obj.data.edges])
    return np.abs(weights[edges[:, 0]] - weights[edges[:, 1]]).max(axis=1)


def test_hair_beside_a_neck_is_not_torn() -> None:
    """A strand that hangs from a head past the chin, its weights by its height as the body's.

    The chin is nearest to it where its own weights change. So far they changed by 0.03 more along
    an edge than as painted.
    """
    armature = add_armature(BONES)
    x = np.linspace(0.6, 1.3, 71)
    chin = ((x - 1.0) / 0.05).clip(0.0, 1.0)
    radii = 0.06 + 0.055 * chin * chin * (3.0 - 2.0 * chin)
    body = _rings(x, 1.0)
    body[:, 1:] *= np.repeat(radii, SIDES)[:, None]

    def painted(positions: NDArray[np.float64]) -> Weights:
        share = ((positions[:, 0] - 0.97) / 0.06).clip(0.0, 1.0)
        share = share * share * (3.0 - 2.0 * share)
        return np.stack((np.zeros_like(share), 1.0 - share, share), axis=1)

    skin = _worn("Body", armature, body, _quads(len(x)), painted(body))
    strand, faces = _strand(np.linspace(0.7, 1.12, 29))
    before = painted(strand + (0.02, 0.0, 0.0))
    hair = _worn("Hair", armature, strand, faces, before)
    api.soften_weights([hair, skin])
    grown = _steps(hair, _weights(hair)) - _steps(hair, before)
    steep = _steps(hair, before) > 0.1
    assert grown[steep].max() <= 0.02
