"""The copy of a character that *Test Motion* poses: only viewports draw it, it is in no file.

Rig, action and controls of the character stay as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from bpy.types import Context, Depsgraph, Object

from ..arrays import Float64s
from ..scene.binding.binding import Binding
from ..session.status import compared
from ..viewport.batches import Batch, BatchKey
from ..viewport.draw_handler import EXTRA_DRAWERS, draw_batch, is_visible
from ..viewport.instance_poses import GivenPoses
from ..viewport.look import ViewUniforms
from ..viewport.members import SharedPoses, posed_member

_log = logging.getLogger(__name__)


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
