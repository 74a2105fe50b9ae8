"""One instance of a mesh in a pose, without a scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation
from dq_compensation.core.pose import Pose
from dq_compensation.viewport.array_textures import TEXTURE_WIDTH, array_from_texture
from dq_compensation.viewport.deformed_mesh import DeformedMesh
from dq_compensation.viewport.instance_poses import GivenPoses
from dq_compensation.viewport.kernels import wanted_layout


def deform_in(
    deformed: DeformedMesh,
    deformation: Deformation,
    pose: Pose,
    to_armature: NDArray[np.floating] | None = None,
) -> NDArray[np.float32]:
    """Deform a mesh of one instance; shape (n, 3), its positions in object space."""
    poses = GivenPoses(deformed.skeleton, 1, wanted_layout(deformation))
    poses.upload(pose.matrices)
    deformed.deform(deformation, poses, poses.groups[0], to_armature)
    return deformed.read_positions()[0]


def read_normals(deformed: DeformedMesh) -> NDArray[np.float32]:
    """Shape (I, g, 3), object space, one for each normal group of each instance."""
    assert deformed.normals is not None
    stride = deformed.group_rows * TEXTURE_WIDTH
    pixels = array_from_texture(deformed.normals, deformed.count * stride)
    return pixels.reshape(deformed.count, stride, 4)[:, : deformed.mesh.group_count, :3]
