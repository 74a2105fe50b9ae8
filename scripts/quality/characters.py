"""Characters unlike the human: a rope, a horse's tail, other bones in the human, short thick arms.

The human's are bent at elbows and knees as the plain one; what is measured is the same. Of rope and
tail it is how thick they are: rings of a row are to stay round, of their radius at rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import bpy
import numpy as np
from numpy.typing import NDArray

from demos.measures import JointRegion, LimbAxes
from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.scene.blender.armature import read_skeleton
from dq_compensation.scene.blender.mesh import mesh_of, read_positions, read_weights
from human.model import HumanArrays, load_human_arrays
from human.poses import Quaternion, rotation
from quality.body import Body, triangles_of
from quality.human import Human
from quality.measures import Figures, SurfaceRegion
from quality.poses import MeasuredPose, range_of_motion
from tests.four_legged import new_file_with_horse
from tests.human_body import with_leaves

Array = NDArray[np.float64]

_SIDES = 16


@dataclass(frozen=True, eq=False)
class CharacterPose:
    """A pose of a character.

    Attributes:
        measure: figures of deformed positions (n, 3); bulge and dent in % of the radius.
    """

    title: str
    pose: Pose
    measure: Callable[[Array], Figures]


Found = tuple[Body, list[CharacterPose]]


def rope() -> Found:
    """Twelve bones of length 1, weights over three of them, 0.1 thick."""
    count, radius = 12, 0.1
    points, faces = _tube(np.linspace(0.0, count, 20 * count + 1), radius)
    away = np.abs(points[:, 2:] - (np.arange(count) + 0.5))
    influences = _influences(np.maximum(1.0 - away / 1.5, 0.0) ** 2)
    heads = np.zeros((count, 3))
    heads[:, 2] = np.arange(count)
    skeleton = _skeleton([f"rope {k}" for k in range(count)], heads, range(-1, count - 1))
    body = Body(points, faces, influences, skeleton)
    turns = {name: rotation(30.0, 0.0, 0.0) for name in skeleton.names[1:]}
    rings = np.arange(len(points)) // _SIDES
    return body, [
        CharacterPose(
            "bent by 30 at each bone", _posed(skeleton, turns), _Rings(body, rings).measure
        )
    ]


def horses_tail() -> Found:
    """The horse of the tests."""
    horse, rig = new_file_with_horse()
    read, mesh = read_weights(mesh_of(horse)), mesh_of(horse)
    skeleton = read_skeleton(rig)
    rest = read_positions(mesh).astype(np.float64)
    places = np.array([skeleton.names.index(group.name) for group in horse.vertex_groups])
    influences = Influences.from_triples(
        read.vertices, places[read.groups], read.weights, len(rest)
    )
    faces = np.array([list(face.vertices) for face in mesh.polygons], np.int32)
    body = Body(rest, faces, influences, skeleton)
    bones = [bone for bone, name in enumerate(skeleton.names) if name.startswith("tail")]
    turns = {skeleton.names[bone]: rotation(20.0, 0.0, 0.0) for bone in bones}
    rings = _slices(body, bones, 0.05)
    return body, [
        CharacterPose(
            "bent by 20 at each bone", _posed(skeleton, turns), _Rings(body, rings).measure
        )
    ]


def cartoon() -> Found:
    """A trunk 0.5 thick with arms 0.1 thick, whose bones are 0.24 long."""
    trunk, faces = _tube(np.linspace(0.0, 2.4, 49), 0.5)
    height = trunk[:, 2]
    of_trunk = _steps(height, [0.7, 1.4], 0.05)
    points, all_faces, weights = [trunk], [faces], [np.pad(of_trunk, ((0, 0), (0, 4)))]
    for side, column in ((1.0, 3), (-1.0, 5)):
        arm, faces = _tube(np.linspace(0.4, 0.9, 26), 0.1)
        of_arm = np.zeros((len(arm), 7))
        of_arm[:, [1, column, column + 1]] = _steps(arm[:, 2], [0.45, 0.66], 0.04)
        points.append(np.stack((side * arm[:, 2], arm[:, 0], 1.2 + side * arm[:, 1]), axis=1))
        all_faces.append(faces + sum(map(len, points[:-1])))
        weights.append(of_arm)
    heads = np.array(
        [(0, 0, 0), (0, 0, 0.7), (0, 0, 1.4), (0.42, 0, 1.2), (0.66, 0, 1.2), (-0.42, 0, 1.2),
         (-0.66, 0, 1.2)],
        np.float64,
    )  # fmt: skip
    names = ["hips", "chest", "head", "arm.L", "forearm.L", "arm.R", "forearm.R"]
    skeleton = _skeleton(names, heads, [-1, 0, 1, 1, 3, 1, 5])
    body = Body(
        np.concatenate(points), np.concatenate(all_faces), _influences(np.vstack(weights)), skeleton
    )
    pose = _posed(skeleton, {"forearm.L": rotation(0.0, 80.0, 0.0)})
    return body, [CharacterPose("elbow 80", pose, partial(_of_elbow, body, pose, 3, 4, 0.1))]


def human_with_twist_bones() -> Found:
    """Twist, share and corrective bones as leaves on its limbs."""
    plain = load_human_arrays("game_engine")
    return _human(with_leaves(plain, (0.0, 0.0, 0.1)))


def human_with_tails_across() -> Found:
    """All tails lie across the limbs."""
    plain = load_human_arrays("game_engine")
    return _human(replace(plain, tails=plain.heads + np.array((0.03, 0.02, 0.09), np.float32)))


CHARACTERS: dict[str, Callable[[], Found]] = {
    "rope": rope,
    "horse's tail": horses_tail,
    "human, twist bones": human_with_twist_bones,
    "human, tails across": human_with_tails_across,
    "cartoon": cartoon,
}


def _human(arrays: HumanArrays) -> Found:
    """Elbows and knees; poses and measures are those of the plain human."""
    body, plain, poses = Human.of(arrays), Human.with_rig("game_engine"), []
    for each in range_of_motion("game_engine"):
        if each.limb is None:
            continue
        measured = MeasuredPose(plain, each)
        matrices = measured.pose.matrices
        leaves = body.skeleton.parents[len(matrices) :]
        matrices = np.concatenate((matrices, matrices[leaves]))
        pose = Pose.from_matrices(matrices, body.skeleton)
        poses.append(CharacterPose(each.joint_pose.title, pose, measured.measure))
    return body, poses


class _Rings:
    """How thick the rings of a row are.

    Args:
        rings: shape (n,), the ring of each vertex, -1 for none.
    """

    def __init__(self, body: Body, rings: NDArray[np.intp]) -> None:
        self._of = [np.flatnonzero(rings == ring) for ring in range(rings.max() + 1)]
        self._of = [rows for rows in self._of if len(rows) >= 8]
        triangles = triangles_of(body.faces)
        self._region = SurfaceRegion(body.rest, triangles[(rings[triangles] >= 0).all(axis=1)])
        self._at_rest = self._axes(body.rest)

    def measure(self, deformed: Array) -> Figures:
        """By how much the thickest ring is thicker than at rest, and the thinnest thinner."""
        ratios = 100.0 * (self._axes(deformed) / self._at_rest - 1.0)
        return Figures(
            **vars(self._region.measure(deformed)),
            bulge=max(0.0, float(ratios.max())),
            dent=max(0.0, -float(ratios.min())),
        )

    def _axes(self, positions: Array) -> Array:
        """Shape (r, 2), the shorter and the longer axis of each ring."""
        spreads = [np.cov(positions[rows].T, bias=True) for rows in self._of]
        return np.sqrt(np.linalg.eigvalsh(spreads)[:, 1:])


def _of_elbow(
    body: Body, pose: Pose, before: int, behind: int, radius: float, deformed: Array
) -> Figures:
    """Bulge and dent within two radii of a joint."""
    heads, matrices = body.skeleton.heads, pose.matrices
    back = heads[before] - heads[behind]
    back /= np.linalg.norm(back)
    axes = LimbAxes(heads[behind], back, -back)
    region = JointRegion.around(heads[behind], 2.0 * radius, body.rest, body.faces, axes)
    away = region.measure(deformed, matrices[before], matrices[behind])
    surface = SurfaceRegion.of_joint(
        body.rest, body.faces, body.shares_behind(body.skeleton.names[behind])
    )
    return Figures(
        **vars(surface.measure(deformed)),
        bulge=100.0 * away.bulge / radius,
        dent=100.0 * away.pinch / radius,
    )


def _slices(body: Body, bones: list[int], length: float) -> NDArray[np.intp]:
    """Shape (n,), slices of this length across the skin of a row of bones; -1 for other skin."""
    strongest, skeleton = body.influences.bones[:, 0], body.skeleton
    found, first = np.full(len(body.rest), -1), 0
    for bone in bones:
        way = skeleton.tails[bone] - skeleton.heads[bone]
        long = float(np.linalg.norm(way))
        rows = np.flatnonzero(strongest == bone)
        along = (body.rest[rows] - skeleton.heads[bone]) @ way / long
        inside = (along > 0.0) & (along < long)
        count = max(1, round(long / length))
        found[rows[inside]] = first + (along[inside] / long * count).astype(np.intp)
        first += count
    return found


def _posed(skeleton: Skeleton, turns: dict[str, Quaternion]) -> Pose:
    """Turn bones in the axes of the armature, about their heads; the others follow."""
    matrices = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
    for bone, (name, parent) in enumerate(
        zip(skeleton.names, skeleton.parents.tolist(), strict=True)
    ):
        if name in turns:
            turned = matrices_from_quaternions(np.array(turns[name]))
            matrices[bone, :3, :3] = turned
            matrices[bone, :3, 3] = skeleton.heads[bone] - turned @ skeleton.heads[bone]
        if parent >= 0:
            matrices[bone] = matrices[parent] @ matrices[bone]
    return Pose.from_matrices(matrices, skeleton)


def _tube(heights: Array, radius: float) -> tuple[Array, NDArray[np.int32]]:
    """Rings of `_SIDES` about Z, and their quads."""
    z, angles = np.meshgrid(heights, 2.0 * np.pi * np.arange(_SIDES) / _SIDES, indexing="ij")
    points = np.stack((radius * np.cos(angles), radius * np.sin(angles), z), axis=-1)
    places = np.arange(z.size, dtype=np.int32).reshape(z.shape)
    around = np.roll(places, -1, axis=1)
    faces = np.stack((places[:-1], around[:-1], around[1:], places[1:]), axis=-1)
    return points.reshape(-1, 3), faces.reshape(-1, 4)


def _steps(places: Array, joints: list[float], width: float) -> Array:
    """Shape (n, joints + 1): weights that cross over at joints, smoothed by a Gaussian."""
    behind = [
        [0.5 + 0.5 * math.erf((z - joint) / (width * math.sqrt(2.0))) for joint in joints]
        for z in places.tolist()
    ]
    behind = np.pad(np.array(behind), ((0, 0), (1, 0)), constant_values=1.0)
    return behind - np.pad(behind[:, 1:], ((0, 0), (0, 1)))


def _influences(weights: Array) -> Influences:
    weights = np.where(weights < 3e-3, 0.0, weights)
    vertices, bones = np.nonzero(weights)
    return Influences.from_triples(vertices, bones, weights[vertices, bones], len(weights))


def _skeleton(names: list[str], heads: Array, above: Iterable[int]) -> Skeleton:
    """Bones whose tails lie at the next head."""
    parents = np.array(list(above), np.int32)
    tails = heads + (0.0, 0.0, 1.0)
    for bone, parent in enumerate(parents.tolist()):
        if parent >= 0:
            tails[bone] = 2.0 * heads[bone] - heads[parent]
            tails[parent] = heads[bone]
    rest = np.tile(np.eye(4), (len(heads), 1, 1))
    for bone, way in enumerate((tails - heads).tolist()):
        rest[bone, :3, :3] = bpy.types.Bone.MatrixFromAxisRoll(way, 0.0)
    rest[:, :3, 3] = heads
    return Skeleton(tuple(names), parents, rest, tails)
