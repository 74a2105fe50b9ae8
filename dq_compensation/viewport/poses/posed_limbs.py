"""The posed joints or limbs of all instances of a mesh: what its compensation reads."""

from __future__ import annotations

import numpy as np
from gpu.types import GPUTexture
from numpy.typing import NDArray

from ...core.compensation import Compensation, PublishedCompensation
from ...core.limb_joints import LimbJoints
from ...core.measured_joints import MeasuredJoints
from ...core.skeleton import Skeleton
from ..gpu.kernels import JOINT_STRIDE
from ..gpu.textures import empty_texture, run_pass, texture_from_array
from .instance_poses import PosedGroup


class PosedLimbs:
    """The joints, for MEASURED, or the limbs, for the published curves, of I instances.

    Args:
        count: of the instances.
        row_count: of the rows of each in the poses.

    Attributes:
        posed: RGBA32F texture, as the skinning shaders read it.
        joint_count: of the joints of an instance; None for limbs.
    """

    def __init__(
        self, compensation: Compensation, skeleton: Skeleton, count: int, row_count: int
    ) -> None:
        self.compensation, self.count = compensation, count
        self.joint_count: int | None = None
        self._row_count = row_count
        rows = np.zeros((skeleton.bone_count, 2, 4))
        rows[:, 0, :3], rows[:, 0, 3] = skeleton.heads, skeleton.start_rows
        rows[:, 1, :3], rows[:, 1, 3] = skeleton.tails, skeleton.end_rows
        self._bone_limbs = texture_from_array(rows.reshape(-1, 4), 4)
        self._at_rest: GPUTexture
        if isinstance(compensation, MeasuredJoints):
            limbs = compensation.limbs
            self.joint_count = len(limbs.heads)
            size = count * self.joint_count * JOINT_STRIDE
            self._at_rest = texture_from_array(_joint_rows(limbs), 4)
        else:
            assert isinstance(compensation, PublishedCompensation)
            bones = skeleton.bone_of_row
            directions = np.zeros((row_count, 4))
            directions[: len(bones), :3] = compensation.limb_directions[bones]
            directions[: len(bones), 3] = bones
            size = count * row_count
            self._at_rest = texture_from_array(directions, 4)
        self.posed = empty_texture(size, "RGBA32F")

    @property
    def textures(self) -> dict[str, GPUTexture]:
        """The textures that skinning reads, by the names of its samplers."""
        return {"limbs" if self.joint_count is None else "joints": self.posed}

    @property
    def constants(self) -> dict[str, int]:
        """The push constants of skinning."""
        return {} if self.joint_count is None else {"joint_count": self.joint_count}

    def pose(self, posed: PosedGroup) -> None:
        """Find them for poses."""
        if self.joint_count is None:
            shader = posed.shader("pose_limbs")
            at_rest, image, count = "limb_directions", "limbs", self._row_count
        else:
            shader = posed.shader("pose_joints", scaled=posed.poses.scaled)
            at_rest, image, count = "rest_joints", "joints", self.joint_count
        textures = {"bone_limbs": self._bone_limbs, at_rest: self._at_rest}
        instances, written = posed.count(self.count), (image, self.posed)
        run_pass(shader, textures, written, count, instances, **self.constants)


def _joint_rows(limbs: LimbJoints) -> NDArray[np.floating]:
    """The texels of `rest_joints` in `pose_joints.glsl`: shape (4 J, 4)."""
    skeleton = limbs.skeleton
    rows = np.zeros((len(limbs.heads), 4, 4))
    rows[:, 0, :3], rows[:, 0, 3] = limbs.heads, skeleton.start_rows[limbs.children]
    rows[:, 1, :3], rows[:, 1, 3] = limbs.forth, skeleton.end_rows[limbs.parents]
    rows[:, 2, :3] = limbs.back
    rows[:, 3, 0], rows[:, 3, 1] = limbs.children, limbs.parents
    return rows.reshape(-1, 4)
