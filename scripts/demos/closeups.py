"""The close-ups of the demo: which joint, how it is posed, from where it is looked at, how wide."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from demos.drawing import Camera, Drawing, draw
from demos.measures import JointRegion, LimbAxes, Measures
from dq_compensation.core.deform import Method
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.settings.object_settings import Settings, settings_of
from dq_compensation.viewport.batches import deformed_object
from human.poses import NamedPose, apply_pose

METHODS: dict[Method, str] = {
    "LINEAR": "Linear",
    "DUAL_QUATERNION": "Dual Quaternion",
    "COMPENSATED": "Compensated",
    "SPHERICAL_JOINT": "Spherical Joint",
}


@dataclass(frozen=True)
class Framing:
    """What a close-up of a named pose shows.

    Attributes:
        half_height: from the joint to the picture's upper edge, in metres.
        reach: how far from the joint the skin is measured, in metres.
        depth: how much is drawn before and behind the joint; less than the way to the torso.
        towards_eye: world direction; None: along the axis of the bend, so that the outer side of
            the joint is in profile, from the left of the character.
        up: world direction; None: back along the limb before the joint.
        shift: of the picture's middle from the joint, to the right and up, in half heights.
        has_limbs: whether bulge and pinch are measured.
        twists: whether they are measured from the axis of the limb before the joint alone.
    """

    half_height: float
    reach: float
    depth: float
    towards_eye: tuple[float, float, float] | None = None
    up: tuple[float, float, float] | None = None
    shift: tuple[float, float] = (0.0, 0.0)
    has_limbs: bool = True
    twists: bool = False


FRAMINGS: dict[str, Framing] = {
    "elbow": Framing(0.075, 0.14, 0.085, shift=(-0.3, 0.35)),
    "knee": Framing(0.11, 0.16, 0.13, shift=(0.3, 0.25)),
    "wrist": Framing(0.07, 0.1, 0.2, towards_eye=(1.0, -0.3, 0.6), twists=True),
    "shoulder": Framing(
        0.14, 0.18, 0.4, (0.25, -1.0, -0.1), (0.0, 0.0, 1.0), shift=(0.0, -0.25), has_limbs=False
    ),
}


@dataclass(frozen=True, eq=False)
class Cell:
    """One method at one joint: the picture and the numbers."""

    method: Method
    drawing: Drawing
    measures: Measures


@dataclass(frozen=True, eq=False)
class Row:
    """One pose of one character, by every method.

    Attributes:
        key: of the pose, in `named_poses`.
        title: what was done.
        cells: in the order of `METHODS`.
    """

    key: str
    title: str
    cells: tuple[Cell, ...]

    def of(self, method: Method) -> Cell:
        """The cell of a method."""
        return next(cell for cell in self.cells if cell.method == method)


class Studio:
    """Poses a new character, deforms it on the GPU as the viewport does, draws and measures it."""

    def __init__(self, mesh_object: bpy.types.Object, armature_object: bpy.types.Object) -> None:
        self.mesh_object = mesh_object
        self.armature_object = armature_object
        settings_of(mesh_object).use_ball_joints = True  # as Enable does
        bpy.context.view_layer.update()
        self._binding: Binding = bind(mesh_object, bpy.context.evaluated_depsgraph_get())
        faces = np.zeros(4 * len(mesh_object.data.polygons), np.int32)
        mesh_object.data.polygons.foreach_get("vertices", faces)
        self._faces = faces.reshape(-1, 4)

    def close_up(
        self,
        key: str,
        pose: NamedPose,
        framing: Framing,
        size: tuple[int, int],
    ) -> Row:
        """Draw and measure a pose by every method; `size` is a picture's width and height."""
        apply_pose(self.armature_object, pose.rotations)
        bpy.context.view_layer.update()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        armature = self.armature_object.evaluated_get(depsgraph)
        matrices = self._binding.pose_matrices(armature)
        before, after = (matrices[i] for i in bones_of(pose, self._binding.skeleton))
        axes = limb_axes(pose, framing, self._binding.skeleton)
        region = JointRegion.around(
            axes.joint,
            framing.reach,
            self._binding.rest.astype(np.float64),
            self._faces,
            axes if framing.has_limbs else None,
        )
        camera = camera_at(framing, axes.posed(before, after))
        settings = Settings.of(self.mesh_object.evaluated_get(depsgraph))
        cells = []
        for method in METHODS:
            chosen = replace(settings, acting_method=method)
            deformed = deformed_object(self.mesh_object, self._binding, depsgraph, chosen)
            matrix = np.array(self.mesh_object.matrix_world, np.float64)
            drawing = draw(deformed, camera, matrix, *size)
            positions = deformed.read_positions()[0].astype(np.float64)
            cells.append(Cell(method, drawing, region.measure(positions, before, after)))
        return Row(key, pose.title, tuple(cells))


def bones_of(pose: NamedPose, skeleton: Skeleton) -> tuple[int, int]:
    """The indices of the bones before and after the joint."""
    return skeleton.names.index(pose.parent), skeleton.names.index(pose.joint)


def limb_axes(pose: NamedPose, framing: Framing, skeleton: Skeleton) -> LimbAxes:
    """The axes of the joint's limbs at rest, armature space."""
    parent, joint = bones_of(pose, skeleton)
    back = skeleton.heads[parent] - skeleton.heads[joint]
    back = back / np.linalg.norm(back)
    forth = -back if framing.twists else skeleton.limb_directions()[joint]
    return LimbAxes(skeleton.heads[joint], back, forth)


def camera_at(framing: Framing, axes: LimbAxes) -> Camera:
    """Look at the posed joint; the human's armature space is the world."""
    if framing.towards_eye is None:
        towards_eye = np.cross(axes.back, axes.forth)
        towards_eye = towards_eye * np.sign(towards_eye[0])
    else:
        towards_eye = np.array(framing.towards_eye)
    up = axes.back if framing.up is None else np.array(framing.up)
    camera = Camera.looking_at(axes.joint, towards_eye, up, framing.half_height, framing.depth)
    right, upwards = framing.half_height * np.array(framing.shift)
    target: NDArray[np.float64] = axes.joint + right * camera.view[0, :3]
    target = target + upwards * camera.view[1, :3]
    return Camera.looking_at(target, towards_eye, up, framing.half_height, framing.depth)
