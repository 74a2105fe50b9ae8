"""Draws the active character once more beside itself, in the same pose, by another method.

Only viewports draw the copy: it is in no file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy
import numpy as np
from bpy.props import EnumProperty
from bpy.types import Context, Depsgraph, Object

from ..arrays import Floats
from ..errors import BindingError
from ..scene.binding.binding import Binding
from ..scene.blender.scenes import scene_time
from ..scene.settings.object_settings import Settings
from ..scene.stack import find_rig
from ..session.status import NEEDS_BINDING, check_soon, fail_overlay, status_of, tag_redraw
from .batches import Batch, BatchKey
from .draw_handler import EXTRA_DRAWERS, draw_batch, is_visible
from .gpu_objects import drawing_refusal
from .look import ViewUniforms
from .members import SharedPoses, member_of
from .overlay import reference_settings

_BESIDE = (
    ("NONE", "Nothing", "No copy"),
    ("LINEAR", "Armature", "A copy as the Armature modifier alone deforms it"),
    ("DUAL_QUATERNION", "Preserve Volume", "A copy as the Armature modifier deforms it with that"),
)
# In parts of the width of the character at rest.
_APART = 1.1


def _beside() -> Any:
    return getattr(bpy.context.window_manager, "dqc_beside", "NONE")


class _CopyBeside:
    """The drawer of the copy; it keeps each mesh on the GPU with its pose."""

    def __init__(self) -> None:
        self._batches: dict[int, tuple[Batch, SharedPoses]] = {}

    def in_region(
        self, context: Context, enabled: Sequence[Object]
    ) -> Callable[[ViewUniforms, Depsgraph], None] | None:
        """What draws the copy into the current region; None where there is none."""
        method, rig = _beside(), _active_rig(context)
        if method == "NONE":
            self.free()
        if method == "NONE" or rig is None or drawing_refusal() is not None:
            return None
        # Another window may show another scene: what it draws stays.
        for uid in self._batches.keys() - {obj.session_uid for obj in enabled}:
            del self._batches[uid]
        bound = [(obj, status_of(obj).binding) for obj in enabled if find_rig(obj) == rig]
        shown = [
            (obj, binding)
            for obj, binding in bound
            if binding is not None and obj.mode == "OBJECT" and is_visible(obj, context)
        ]

        def draw(view: ViewUniforms, depsgraph: Depsgraph) -> None:
            if not shown:
                return
            right = view.to_view[0, :3]
            moved = view.moved(right * _APART * _width(shown, right))
            for obj, binding in shown:
                if status_of(obj).overlay_failure is None:
                    try:
                        draw_batch(self._batch(obj, binding, depsgraph, method), moved, context)
                    except BindingError:
                        check_soon()  # it is bound again
                    except Exception as error:  # noqa: BLE001 - the others are drawn all the same
                        fail_overlay(obj, error)

        return draw

    def free(self) -> None:
        """Free the data on the GPU."""
        self._batches.clear()

    def _batch(self, obj: Object, binding: Binding, depsgraph: Depsgraph, method: Any) -> Batch:
        """A mesh on the GPU by another method, in the current pose."""
        settings = reference_settings(Settings.of(obj.evaluated_get(depsgraph)), method)
        member = member_of(obj, binding, depsgraph, settings)
        key = BatchKey(binding, member.traits)
        batch, poses = self._batches.get(obj.session_uid, (None, SharedPoses()))
        if batch is None or batch.key != key:
            batch, poses = Batch(key, [member]), SharedPoses()
        batch.members = [member]
        poses.pose([member], batch.layout, *scene_time(depsgraph))
        batch.update(poses)
        self._batches[obj.session_uid] = batch, poses
        return batch


def _active_rig(context: Context) -> Object | None:
    """The armature of the active character."""
    active = context.view_layer.objects.active
    if active is None or active.type == "ARMATURE":
        return active
    return find_rig(active) if active.type == "MESH" else None


def _width(shown: Sequence[tuple[Object, Binding]], right: Floats) -> float:
    """How wide a character is at rest along a direction, world units; its pose does not count."""
    ends = []
    for obj, binding in shown:
        corners = np.stack([binding.rest.min(axis=0), binding.rest.max(axis=0)])
        box = np.array(np.meshgrid(*corners.T)).reshape(3, -1)
        matrix = np.array(obj.matrix_world)
        ends.append(right @ (matrix[:3, :3] @ box + matrix[:3, 3:]))
    return float(np.ptp(np.concatenate(ends)))


_copy = _CopyBeside()


def _draws(_rig: Object) -> bool:
    return bool(_beside() != "NONE")


def _follow(_manager: Any, _context: Context) -> None:
    """Read what a copy needs of the meshes, and draw it."""
    check_soon(0.0)
    tag_redraw()


FOLLOWS = ((NEEDS_BINDING, _draws),)


def register() -> None:
    """Let viewports draw the copy."""
    # Of the session: a file is shown without copies.
    bpy.types.WindowManager.dqc_beside = EnumProperty(  # type: ignore[attr-defined]
        name="Beside",
        description="Show a copy of the active character beside it, in the same pose. Only "
        "viewports show it: it is in no file",
        items=_BESIDE,
        update=_follow,
        options={"SKIP_SAVE"},
    )
    EXTRA_DRAWERS.append(_copy)


def unregister() -> None:
    """Stop drawing it."""
    _copy.free()
    EXTRA_DRAWERS.remove(_copy)
    del bpy.types.WindowManager.dqc_beside  # type: ignore[attr-defined]
