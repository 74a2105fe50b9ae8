"""The way from rest to a pose: every bone turns evenly in its parent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Float64s, Floats
from ...core.dual_quaternion import matrices_from_quaternions, quaternions_from_matrices
from ...core.pose import Pose
from ...core.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class WayToPose:
    """The way from rest to a pose.

    Attributes:
        skeleton: its bones.
        pose: the end of the way.
    """

    skeleton: Skeleton
    pose: Pose

    def matrices(self, share: float) -> Float64s:
        """D_b of every bone, shape (B, 4, 4), after a share of the way, 0 to 1.

        In its parent, in its rest axes, a bone is turned by the same share of its angle about one
        axis; translations and scales go in a straight line.
        """
        skeleton = self.skeleton
        if share >= 1.0:
            return self.pose.matrices[: skeleton.bone_count].copy()
        angles, axes, moved, scales = self._local
        half = 0.5 * share * angles
        turns = np.concatenate((np.cos(half)[:, None], np.sin(half)[:, None] * axes), axis=1)
        local = np.tile(np.eye(4), (len(angles), 1, 1))
        scale = np.eye(3) + share * (scales - np.eye(3))
        local[:, :3, :3] = matrices_from_quaternions(turns) @ scale
        local[:, :3, 3] = share * moved
        own = skeleton.rest @ local @ np.linalg.inv(skeleton.rest)
        found = np.empty_like(own)
        for bone, parent in enumerate(skeleton.parents.tolist()):
            found[bone] = own[bone] if parent < 0 else found[parent] @ own[bone]
        return found

    def pose_at(self, share: float) -> Pose:
        """The pose after a share of the way, for a base to be evaluated in."""
        return Pose.from_matrices(self.matrices(share), self.skeleton) if share < 1.0 else self.pose

    def turn(self, first: float, last: float, reference: int) -> float:
        """The largest angle by which a bone turns between two shares of the way, degrees.

        In its parent, or about a bone that counts as standing still: several joints of one limb add
        up.
        """
        matrices = [self.matrices(share) for share in (first, last)]
        start, end = (np.linalg.inv(each[reference])[:3, :3] @ each[:, :3, :3] for each in matrices)
        cosines = (np.einsum("bij,bij->b", start, end) - 1.0) / 2.0
        about = float(np.arccos(np.clip(cosines, -1.0, 1.0)).max(initial=0.0))
        in_parents = (last - first) * float(self._local[0].max(initial=0.0))
        return float(np.degrees(max(about, in_parents)))

    @cached_property
    def _local(self) -> tuple[Floats, Floats, Float64s, Float64s]:
        """Of every bone in its parent: angle, axis, translation, and what is left of its scale."""
        skeleton = self.skeleton
        matrices = self.pose.matrices[: skeleton.bone_count]
        is_child = skeleton.parents >= 0
        before = np.tile(np.eye(4), (len(matrices), 1, 1))
        before[is_child] = matrices[skeleton.parents[is_child]]
        local = np.linalg.inv(skeleton.rest) @ np.linalg.solve(before, matrices) @ skeleton.rest
        linear = local[:, :3, :3]
        left, _, right = np.linalg.svd(linear)
        turns = left @ right
        quaternions = quaternions_from_matrices(turns)
        quaternions = np.where(quaternions[:, :1] < 0.0, -quaternions, quaternions)
        sines = np.linalg.norm(quaternions[:, 1:], axis=1)
        angles = 2.0 * np.arctan2(sines, quaternions[:, 0])
        axes = quaternions[:, 1:] / np.maximum(sines, 1e-30)[:, None]
        return angles, axes, local[:, :3, 3], turns.transpose(0, 2, 1) @ linear
