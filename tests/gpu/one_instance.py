"""One instance of a mesh in a pose, without a scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation
from dq_compensation.core.pose import Pose
from dq_compensation.viewport.gpu.kernels import wanted_layout
from dq_compensation.viewport.poses.instance_poses import GivenPoses
from dq_compensation.viewport.skinning.deformed_mesh import DeformedMesh


def deform_in(
    deformed: DeformedMesh,
    deformation: Deformation,
    pose: Pose,
    to_armature: NDArray[np.floating] | None = None,
) -> NDArray[np.float32]:
    """Deform a mesh of one instance; shape (n, 3), its positions in object space."""
    poses = GivenPoses([(deformed.skeleton, 1)], wanted_layout(deformation))
    poses.upload(pose.matrices)
    deformed.deform(deformation, poses, poses.groups[0], to_armature)
    return deformed.read_positions()[0]
