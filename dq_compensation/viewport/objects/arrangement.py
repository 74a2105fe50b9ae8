"""The poses that batches share: of their takes, or of their armatures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.pose import Pose
from ...errors import PoseError
from ...scene.blender.armature import matrices_of_poses
from ..gpu.kernels import PosePaletteLayout
from ..poses.instance_poses import GivenPoses, Playback
from ..takes.played_takes import Instances, Playing
from .members import Member


class Arrangement:
    """The poses of members with some armatures and takes, for all batches that have these.

    Attributes:
        poses: None before the first drawing.
        number: rises whenever a pose has changed.
        problems: why poses are held, by the session_uid of the armature.
    """

    def __init__(self) -> None:
        self.poses: Playback | GivenPoses | None = None
        self.number = 0
        self.problems: dict[int, PoseError] = {}
        self._layout = PosePaletteLayout()
        self._playings: list[Playing] = []
        # As read last, and with the last good poses in the place of broken ones.
        self._read: NDArray[np.floating] | None = None
        self._matrices: NDArray[np.floating] | None = None

    def pose(
        self, members: Sequence[Member], layout: PosePaletteLayout, frame: float, fps: float
    ) -> None:
        """Pose the members for one drawing.

        Args:
            members: of one of the batches, in the same order as before.
            layout: what all batches of the drawing read of a pose.
            frame, fps: of the scene.

        Raises:
            BindingError: an armature has other bones than the bindings.
        """
        known = self.poses
        if layout != self._layout:
            layout |= self._layout
            known = known if layout == self._layout else None
        playings = [each.playing for each in members if each.playing is not None]
        if playings:
            assert known is None or isinstance(known, Playback)
            self.poses = self._play(known, playings, layout, frame, fps)
        else:
            assert known is None or isinstance(known, GivenPoses)
            self.poses = self._follow(known, members, layout)
        self._layout = layout

    def _play(
        self,
        poses: Playback | None,
        playings: list[Playing],
        layout: PosePaletteLayout,
        frame: float,
        fps: float,
    ) -> Playback:
        """Play takes."""
        if poses is None:
            poses = Playback([Instances.of(playings)], layout, fps)
        elif playings != self._playings:
            poses.change([Instances.of(playings)])
        self._playings = playings
        self.number += poses.play(frame)
        return poses

    def _follow(
        self, poses: GivenPoses | None, members: Sequence[Member], layout: PosePaletteLayout
    ) -> GivenPoses:
        """Upload the poses of the armatures, if one has changed."""
        matrices = _read_poses(members)
        if poses is not None and self._read is not None and np.array_equal(matrices, self._read):
            return poses
        if poses is None:
            poses = GivenPoses(members[0].binding.skeleton, len(members), layout)
        self._read, matrices = matrices, matrices.copy()
        if not np.isfinite(matrices).all():
            self.problems = self._hold(matrices, members)
        elif self.problems:
            self.problems = {}
        poses.upload(matrices.reshape(-1, 4, 4))
        self._matrices = matrices
        self.number += 1
        return poses

    def _hold(
        self, matrices: NDArray[np.floating], members: Sequence[Member]
    ) -> dict[int, PoseError]:
        """Replace poses that are no numbers by the last good ones; the errors by armature."""
        errors = {}
        for number, member in enumerate(members):
            try:
                Pose.from_matrices(matrices[number], member.binding.skeleton)
            except PoseError as error:
                errors[member.binding.armature_uid] = error
                matrices[number] = np.eye(4) if self._matrices is None else self._matrices[number]
        return errors


def _read_poses(members: Sequence[Member]) -> NDArray[np.floating]:
    """Shape (I, R, 4, 4), the poses of the armatures of members of one batch.

    Raises:
        BindingError: an armature has other bones than the bindings.
    """
    binding, armatures = members[0].binding, [each.armature for each in members]
    if binding.skeleton.bendy is None:
        return matrices_of_poses(armatures, binding.pose_order)
    return np.stack([binding.pose_matrices(each) for each in armatures])
