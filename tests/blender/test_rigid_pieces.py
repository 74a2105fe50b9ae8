"""Rigid pieces of a mesh keep their shape: armour, a robot's parts, buttons.

A piece that one bone moves is compared with the bone itself. One that several bones move keeps its
distances; with plain skinning, which shears it, Blender's own result is the measure.
Tolerance: 1e-5 of the object's size, which float32 keeps.
"""

from __future__ import annotations

from typing import Any

import bmesh
import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.analysis.surface.rigid_pieces import rigid_pieces
from dq_compensation.core.influences import Influences
from dq_compensation.modifier.palette_object import own_palettes
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import settings_of
from tests.blender.character_scenes import SEAM, limb_in_two
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.scene_builders import add_mesh, evaluated_positions
from tests.limb import RINGS, SIDES, build_limb, pose_limb

pytestmark = pytest.mark.usefixtures("addon")

SIZE = 1.5
TOLERANCE = 1e-5 * SIZE
SKIN = RINGS * SIDES
# Where a piece begins and ends along X, how far it is from the limb's axis, and its weights.
BRACER = ((0.6, 0.95), 0.0, {"Lower": 1.0})
BUTTON = ((0.44, 0.55), -0.12, {"Upper": 0.4, "Lower": 0.6})
COUNT = 40


def add_piece(
    span: tuple[float, float], y: float, weights: dict[str, float], turned: bool
) -> bpy.types.Object:
    """A box of ten rings, in two halves whose seam has double vertices."""
    corners = np.array([(0.0, -0.05, -0.15), (0.0, 0.05, -0.15), (0.0, 0.05, 0.15)])
    corners = np.vstack((corners, [(0.0, -0.05, 0.15)])) + [0.0, y, 0.0]
    places = np.linspace(*span, 9)[[0, 1, 2, 3, 4, 4, 5, 6, 7, 8]]
    points = (corners[None] + places[:, None, None] * [1.0, 0.0, 0.0]).reshape(-1, 3)
    if turned:  # so that no vertex lies on an axis of the file
        angle = np.radians(20.0)
        turn = [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
        points = points @ np.array(turn).T
    faces = [
        (
            4 * ring + side,
            4 * ring + (side + 1) % 4,
            4 * ring + 4 + (side + 1) % 4,
            4 * ring + 4 + side,
        )
        for ring in (0, 1, 2, 3, 5, 6, 7, 8)
        for side in range(4)
    ]
    obj = add_mesh(points.tolist(), faces, name="Piece")
    for bone, weight in weights.items():
        obj.vertex_groups.new(name=bone).add(range(COUNT), weight, "REPLACE")
    return obj


@pytest.fixture
def armoured() -> bpy.types.Object:
    """The limb with a bracer and a button, posed."""
    obj, armature = build_limb()
    pieces = [add_piece(*piece, turned=True) for piece in (BRACER, BUTTON)]
    select(obj, *pieces)
    bpy.ops.object.join()
    pose_limb(armature)
    assert len(obj.data.vertices) == SKIN + 2 * COUNT
    return obj


def distances(positions: NDArray[Any], first: int) -> NDArray[np.float64]:
    points = np.asarray(positions, np.float64)[first : first + COUNT]
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def warp(obj: bpy.types.Object, positions: NDArray[Any], first: int) -> float:
    """By how much distances within a piece have changed."""
    rest = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.vertices.foreach_get("co", rest)
    return float(np.abs(distances(positions, first) - distances(rest.reshape(-1, 3), first)).max())


SETTINGS: list[dict[str, Any]] = [
    {"curve": "MEASURED", "use_ball_joints": False},
    {"curve": "MEASURED", "use_ball_joints": True, "twist_spread": 1.0},
    {"curve": "FITTED", "twist_spread": 0.5},
    {"method": "DUAL_QUATERNION"},
    {"method": "SPHERICAL_JOINT"},
]


@pytest.mark.parametrize("softness", [0.0, 0.5])
@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_pieces_keep_their_shape(
    armoured: bpy.types.Object, changes: dict[str, Any], softness: float
) -> None:
    enable(armoured)
    for name, value in {**changes, "softness": softness}.items():
        setattr(armoured.dq_compensation, name, value)
    for evaluator in ("NUMPY", "MODIFIER"):
        found = api.evaluate(armoured, evaluator=evaluator)
        for first in (SKIN, SKIN + COUNT):
            assert warp(armoured, found, first) <= TOLERANCE, evaluator
    if changes.get("twist_spread"):  # they turn with the skin below them
        return
    found = evaluated_positions(armoured)
    bone = armoured.parent.pose.bones["Lower"]
    moved = np.array(bone.matrix @ bone.bone.matrix_local.inverted())
    rest = np.array([vertex.co for vertex in armoured.data.vertices])[SKIN : SKIN + COUNT]
    expected = rest @ moved[:3, :3].T + moved[:3, 3]
    assert np.abs(found[SKIN : SKIN + COUNT] - expected).max() <= TOLERANCE


def test_the_skin_beside_them_is_compensated(armoured: bpy.types.Object) -> None:
    found = api.evaluate(armoured, method="COMPENSATED")
    as_it_was = api.evaluate(armoured, method="DUAL_QUATERNION")
    assert np.abs(found - as_it_was)[:SKIN].max() > 0.01
    assert np.abs(found - as_it_was)[SKIN:].max() <= TOLERANCE


def angles_about_limb(positions: NDArray[Any]) -> NDArray[np.float64]:
    """By how much vertices have turned about the limb, which is straight along X."""
    y, z = np.asarray(positions, np.float64)[:, 1:].T
    return np.arctan2(z, y)


def test_a_bracer_turns_as_one_with_the_skin_below_its_middle(armoured: bpy.types.Object) -> None:
    """Half of a twist of 80 degrees, as the skin there: rings are 0.038 apart, 6 degrees."""
    hand = armoured.parent.pose.bones["Hand"]
    armoured.dq_compensation.twist_spread = 1.0
    for bone in armoured.parent.pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    rest = api.evaluate(armoured)
    hand.rotation_euler = (0.0, np.radians(80.0), 0.0)
    bpy.context.view_layer.update()
    found = api.evaluate(armoured)
    bracer = np.arange(SKIN, SKIN + COUNT)
    ring = np.flatnonzero(np.abs(rest[:SKIN, 0] - 0.775) < 0.02)
    before, after = (angles_about_limb(positions) for positions in (rest, found))
    degrees = np.degrees(np.angle(np.exp(1j * (after - before))))
    turned = [degrees[rows] for rows in (bracer, ring)]
    assert np.ptp(turned[0]) < 0.1
    assert 30.0 < np.abs(turned[1]).mean() < 50.0
    assert abs(turned[0].mean() - turned[1].mean()) < 6.0
    assert warp(armoured, found, SKIN) <= TOLERANCE


def test_a_piece_that_is_joined_to_the_skin_is_skin(armoured: bpy.types.Object) -> None:
    """An edge is enough: what was rigid follows at once."""
    enable(armoured)
    armoured.dq_compensation.twist_spread = 1.0
    before = warp(armoured, evaluated_positions(armoured), SKIN)
    armoured.data.edges.add(1)
    armoured.data.edges[-1].vertices = (SKIN // 2, SKIN)
    armoured.data.update()
    check()
    assert before <= TOLERANCE
    assert warp(armoured, evaluated_positions(armoured), SKIN) > 0.01


def test_a_piece_whose_open_edges_meet_another_mesh_is_skin() -> None:
    """The middle of the forearm as a mesh of its own: one set of weights, and no seam opens."""
    (near, far), rig = limb_in_two(0.67)
    middle = far.copy()
    middle.data, middle.name = far.data.copy(), "Middle"
    bpy.context.collection.objects.link(middle)
    for obj, keeps in ((middle, lambda x: x < 0.83), (far, lambda x: x >= 0.83)):
        edited = bmesh.new()
        edited.from_mesh(obj.data)
        gone = [face for face in edited.faces if not keeps(face.calc_center_median().x)]
        bmesh.ops.delete(edited, geom=gone, context="FACES")
        edited.to_mesh(obj.data)
        edited.free()
    pose_limb(rig)
    assert (bind(middle).pieces >= 0).all()
    for obj in (near, middle, far):
        enable(obj)
        obj.dq_compensation.twist_spread = 1.0
        obj.dq_compensation.softness = 0.5
    check()
    places: dict[tuple[float, ...], NDArray[np.float32]] = {}
    parted = 0.0
    for obj in (near, middle, far):
        rest = np.array([vertex.co for vertex in obj.data.vertices])
        for at_rest, posed in zip(rest.tolist(), evaluated_positions(obj), strict=True):
            place = places.setdefault(tuple(at_rest), posed)
            parted = max(parted, float(np.linalg.norm(place - posed)))
    assert len(places) == SKIN
    assert parted <= SEAM * SIZE
    as_it_was = api.evaluate(middle, method="DUAL_QUATERNION")
    assert np.abs(evaluated_positions(middle) - as_it_was).max() > 0.01


def test_clothes_pieces_change_as_one_with_their_body(armoured: bpy.types.Object) -> None:
    """*Soften Weights* with a body: the button takes the body's change at its middle."""
    body, rig = build_limb("Body")
    armoured.modifiers["Armature"].object = rig
    pose_limb(rig)
    api.soften_weights([armoured, body], amount=0.8, body="Body")
    rows = [
        {armoured.vertex_groups[g.group].name: g.weight for g in vertex.groups if g.weight > 0}
        for vertex in armoured.data.vertices
    ]
    for first in (SKIN, SKIN + COUNT):
        for row in rows[first : first + COUNT]:
            assert row == pytest.approx(rows[first], abs=1e-6)
    assert rows[SKIN + COUNT]["Lower"] != pytest.approx(0.6, abs=1e-3)
    found = api.evaluate(armoured)
    assert warp(armoured, found, SKIN + COUNT) <= TOLERANCE


@pytest.mark.parametrize("target", ["LINEAR", "DUAL_QUATERNION"])
def test_a_baked_pose_keeps_them(armoured: bpy.types.Object, target: str) -> None:
    api.bake_pose(armoured, name="Pose", target=target)
    armoured.modifiers["Armature"].use_deform_preserve_volume = target == "DUAL_QUATERNION"
    armoured.data.shape_keys.key_blocks["Pose"].value = 1.0
    bpy.context.view_layer.update()
    found = evaluated_positions(armoured)
    for first in (SKIN, SKIN + COUNT):
        assert warp(armoured, found, first) <= TOLERANCE


def test_baked_bones_move_a_piece_as_one(armoured: bpy.types.Object) -> None:
    """The bracer keeps its bone; the button gets one set of weights, and shears no more."""
    plain = warp(armoured, api.evaluate(armoured, method="LINEAR"), SKIN + COUNT)
    settings_of(armoured).twist_spread = 1.0
    api.bake_bones(armoured, budget=8)
    bpy.context.view_layer.update()
    found = evaluated_positions(armoured)
    assert warp(armoured, found, SKIN) <= TOLERANCE
    assert warp(armoured, found, SKIN + COUNT) < 0.35 * plain
    rows = [
        {g.group: g.weight for g in vertex.groups if g.weight > 0}
        for vertex in armoured.data.vertices
    ]
    for row in rows[SKIN + COUNT :]:
        assert row == pytest.approx(rows[SKIN + COUNT], abs=1e-6)


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_where_nothing_is_compensated_nothing_is_added(softness: float) -> None:
    """A robot needs no palette until a weight makes skin of a part of it, and none afterwards."""
    skin, armature = build_limb()
    bpy.data.objects.remove(skin)
    robot = add_piece(BRACER[0], 0.0, BRACER[2], turned=True)
    robot.parent = armature
    robot.modifiers.new("Armature", "ARMATURE").object = armature
    robot.vertex_groups.new(name="Upper")
    pose_limb(armature)
    enable(robot)
    robot.dq_compensation.softness = softness
    check()
    assert not own_palettes()
    for weight in (0.5, 0.0):
        robot.vertex_groups["Upper"].add(range(COUNT // 4), weight, "REPLACE")
        robot.vertex_groups["Lower"].add(range(COUNT // 4), 1.0 - weight, "REPLACE")
        robot.data.update()
        check()
        assert bool(own_palettes()) == (weight > 0.0)
        found, expected = evaluated_positions(robot), api.evaluate(robot, evaluator="NUMPY")
        assert np.abs(found - expected).max() <= TOLERANCE
        as_it_was = api.evaluate(robot, method="DUAL_QUATERNION")
        assert (np.abs(found - as_it_was).max() > 0.001) == (weight > 0.0)


def _square(x: float) -> list[tuple[float, float, float]]:
    return [(x, 0.0, 0.0), (x + 1.0, 0.0, 0.0), (x + 1.0, 1.0, 0.0), (x, 1.0, 0.0)]


RING = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])


def test_a_piece_has_one_set_of_weights_and_more_than_one_point() -> None:
    points = np.array([*_square(0), *_square(2), *_square(4), (9.0, 0.0, 0.0)])
    edges = np.vstack((RING, RING + 4, RING + 8))
    bones = np.zeros((13, 2), np.int32)
    bones[:, 1] = 1
    weights = np.tile(np.array([[0.75, 0.25]], np.float32), (13, 1))
    weights[6] = [0.7, 0.3]
    found = rigid_pieces(points, Influences(bones, weights), edges)
    assert (found[4:8] == -1).all()
    assert found[12] == -1
    assert len(set(found[:4].tolist())) == len(set(found[8:12].tolist())) == 1
    assert -1 != found[0] != found[8] != -1


def test_pieces_that_touch_are_one_and_belong_to_the_skin_that_they_touch() -> None:
    """The second square shares its left side with the first, the third with skin that varies."""
    points = np.array([*_square(0), *_square(1), *_square(4), *_square(5)])
    edges = np.vstack([RING + first for first in (0, 4, 8, 12)])
    bones = np.zeros((16, 2), np.int32)
    bones[:, 1] = 1
    weights = np.tile(np.array([[0.75, 0.25]], np.float32), (16, 1))
    weights[14] = [0.6, 0.4]
    found = rigid_pieces(points, Influences(bones, weights), edges)
    assert len(set(found[:8].tolist())) == 1
    assert (found[:8] >= 0).all()
    assert (found[8:] == -1).all()
    # Other weights at the same places: the third one is a piece beside them.
    weights[12:] = [0.6, 0.4]
    weights[14] = [0.5, 0.5]
    found = rigid_pieces(points, Influences(bones, weights), edges)
    assert (found[8:12] >= 0).all()
    assert (found[12:] == -1).all()


def test_skin_without_faces_has_no_pieces() -> None:
    points = np.random.default_rng(0).normal(size=(5, 3))
    one = Influences(np.zeros((5, 1), np.int32), np.ones((5, 1), np.float32))
    assert (rigid_pieces(points, one, np.zeros((0, 2), np.int32)) == -1).all()
    nothing = Influences(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32))
    assert not len(rigid_pieces(np.zeros((0, 3)), nothing, np.zeros((0, 2), np.int32)))
