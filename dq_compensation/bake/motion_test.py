"""*Test Motion*, a subject of its own: joints turn one after the other, on a copy in no file.

The poses are those of the skeleton alone, computed without Blender, and only viewports draw them:
rig, action and controls stay as they are. Bendy bones move as straight ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import bpy
import numpy as np
from bpy.types import Context, Depsgraph, Object

from ..analysis.posed_bones import Quaternion, posed_matrices
from ..analysis.ranges_of_motion import (
    BEND,
    TWIST,
    limb_bend,
    ranges_of_motion,
    shared_pairs,
    turned_in_test,
)
from ..arrays import Float32s, Float64s
from ..core.dual_quaternion import quaternions_from_matrices
from ..errors import UserError
from ..scene.binding.binding import Binding
from ..session.status import compared
from ..viewport.batches import Batch, BatchKey
from ..viewport.draw_handler import EXTRA_DRAWERS, draw_batch, is_visible
from ..viewport.instance_poses import GivenPoses
from ..viewport.look import ViewUniforms
from ..viewport.members import SharedPoses, posed_member
from .rig_source import RigSource, bones_refusal

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class MotionPose:
    """A pose in which one joint is tested: its bone is turned, all others are at rest.

    Attributes:
        bone: its name.
        rotation: (w, x, y, z), in the bone's rest axes, as of a pose bone with quaternions.
        vertices: the deformed vertices of each mesh, shape (n, 3), object space.
    """

    bone: str
    rotation: Quaternion
    vertices: tuple[Float32s, ...]


class MotionTest:
    """The joints of a character and how far each turns, as random poses of *Bake to Bones* do.

    Args:
        objects: mesh objects on one armature.

    Attributes:
        source: the character.
        joints: the bones of the joined skeleton that turn, parents first.

    Raises:
        UserError: one of the objects cannot be read.
    """

    def __init__(self, objects: Sequence[Object], depsgraph: Depsgraph) -> None:
        for reason in filter(None, map(bones_refusal, objects)):
            raise UserError(reason)
        self.source = RigSource.of(objects, depsgraph, straightens=True)
        self._joined, self._place = self.source.joined
        pairs = self._place[shared_pairs(self.source.influences, self.source.skeleton)]
        influences = self.source.influences
        influences = replace(influences, bones=self._place[influences.bones])
        self._ranges = ranges_of_motion(influences, self.source.rest, self._joined, pairs)
        self.joints = sorted(self._ranges)
        if not self.joints:
            names = ", ".join(obj.name for obj in objects)
            raise UserError(f"No two bones share skin of {names}: no joint can be tested.")

    def name(self, joint: int) -> str:
        """The name of the bone behind a joint."""
        return self.source.skeleton.names[self._bone(joint)]

    def matrices(self, joint: int, moment: float, strength: float = 1.0) -> Float64s:
        """Shape (B, 4, 4): D of all bones while a joint is turned, at a moment from 0 to 1."""
        part, limb = strength * self._ranges[joint], limb_bend(self._joined, joint)
        turned = turned_in_test(limb, part * BEND, part * TWIST, moment)
        return posed_matrices(self._joined, {joint: turned})[self._place]

    def poses(self, steps: int, strength: float) -> Iterator[MotionPose]:
        """Each joint in so many moments, one after the other."""
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for joint in self.joints:
            bone = self._bone(joint)
            axes = self.source.skeleton.rest[bone, :3, :3]
            for moment in np.arange(steps) / steps:
                matrices = self.matrices(joint, float(moment), strength)
                turned = axes.T @ matrices[bone, :3, :3] @ axes
                w, x, y, z = quaternions_from_matrices(turned[None])[0].tolist()
                rows = matrices[self.source.skeleton.bone_of_row]
                posed = (each.posed(depsgraph, rows) for each in self.source.sources)
                vertices = tuple(each.wanted for each in posed)
                yield MotionPose(self.source.skeleton.names[bone], (w, x, y, z), vertices)

    def _bone(self, joint: int) -> int:
        return int(np.flatnonzero(self._place == joint)[0])


class _PosedCopy:
    """The copy of a character in the pose that is shown.

    Attributes:
        matrices: shape (B, 4, 4); None while nothing is tested.
        failed: whether drawing has failed: the test ends.
        shows_solved: whether solved shapes act as they are switched, or none does.
    """

    def __init__(self) -> None:
        self.matrices: Float64s | None = None
        self.failed, self.shows_solved = False, True
        self._bindings: dict[int, Binding] = {}
        self._number = 0
        self._batches: dict[int, tuple[int, Batch]] = {}

    def show(self, matrices: Float64s) -> None:
        """Take another pose."""
        self.matrices, self._number = matrices, self._number + 1

    def switch_solved(self) -> None:
        """Show no solved shapes from now on, or those that act again."""
        self.shows_solved = not self.shows_solved
        self._batches.clear()

    def begin(self, bindings: dict[int, Binding]) -> None:
        """Show characters, by the session_uid of their meshes."""
        self.free()
        self._bindings, self.failed, self.shows_solved = bindings, False, True

    def in_region(
        self, context: Context, enabled: Sequence[Object]
    ) -> Callable[[ViewUniforms, Depsgraph], None] | None:
        """What draws the copy into the current region; None while nothing is tested."""
        if self.matrices is None or not compared:
            return None
        shown = [each for each in enabled if each.session_uid in self._bindings]
        shown = [each for each in shown if is_visible(each, context)]

        def draw(view: ViewUniforms, depsgraph: Depsgraph) -> None:
            try:
                for obj in shown:
                    draw_batch(self._batch(obj, depsgraph), view, context)
            except Exception:  # noqa: BLE001 - the test ends, Blender goes on
                _log.exception("Drawing the test of motion failed")
                self.failed, self.matrices = True, None

        return draw

    def free(self) -> None:
        """Free the data on the GPU, and show nothing."""
        self.matrices = None
        self._bindings = {}
        self._batches.clear()

    def _batch(self, obj: Object, depsgraph: Depsgraph) -> Batch:
        """A mesh on the GPU, in the current pose."""
        uid, matrices = obj.session_uid, cast("Float64s", self.matrices)
        number, batch = self._batches.get(uid, (0, None))
        if batch is not None and number == self._number:
            return batch
        binding = self._bindings[uid]
        member = posed_member(obj, binding, depsgraph)
        if not self.shows_solved:
            member.settings = replace(member.settings, use_solved_shapes=False)
        if batch is None:
            batch = Batch(BatchKey(binding, ()), [member])
        batch.members = [member]
        poses = batch.poses or SharedPoses()
        if poses.on_gpu is None:
            poses.on_gpu = GivenPoses(binding.skeleton, 1, batch.layout)
        poses.number = self._number
        cast("GivenPoses", poses.on_gpu).upload(matrices[binding.skeleton.bone_of_row])
        batch.update(poses)
        self._batches[uid] = self._number, batch
        return batch


posed_copy = _PosedCopy()
"""The copy that is shown."""


def register() -> None:
    """Let viewports draw the copy."""
    EXTRA_DRAWERS.append(posed_copy)


def unregister() -> None:
    """Stop drawing it."""
    posed_copy.free()
    EXTRA_DRAWERS.remove(posed_copy)
