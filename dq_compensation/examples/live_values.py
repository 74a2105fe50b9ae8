"""The current weight of each example pose, stored for the panel.

That something has moved is only noted; a timer looks not more than `LOOKS` times a second,
and the sidebars are drawn again only when a value has changed enough to be seen.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..core.pose import Pose
from ..errors import BindingError, PoseError
from ..lifecycle.reconcile import has_examples
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import settings_of
from ..session.changes import EDIT, FRAME, LOADED, RESTORED, Changes
from ..session.delayed_call import DelayedCall
from ..session.known_objects import enabled_objects
from ..session.status import status_of

LOOKS = 20.0
# A bar of a hundred pixels does not show less.
_SEEN = 0.005
# Seconds until a character is looked at again that was not bound yet.
_LOOK_AGAIN_AFTER = 0.3


def _current_values(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[float, ...]:
    """The current weight of each example of an object, 0 to 1, in the order of the list.

    Without the factors that the artist gave: it says how near the pose is. -1 for an example that
    cannot act; empty where nothing is known.
    """
    binding = status_of(obj).binding
    if binding is None or len(binding.example_items) != len(settings_of(obj).examples):
        return ()
    examples = binding.examples(settings_of(obj).limb_axis)
    try:
        matrices = binding.pose_matrices(rig_of(obj).evaluated_get(depsgraph))
        pose = Pose.from_matrices(matrices, binding.skeleton)
    except (BindingError, PoseError):
        return ()
    values = np.full(len(binding.example_items), -1.0)
    values[examples.items] = examples.poses.alphas(pose)
    return tuple(values.tolist())


def look() -> bool:
    """Update the weights in the panel; returns whether any has changed."""
    objects = [obj for obj in enabled_objects() if has_examples(obj)]
    if not objects:
        return False
    depsgraph = bpy.context.evaluated_depsgraph_get()
    changed = False
    for obj in objects:
        status = status_of(obj)
        values = _current_values(obj, depsgraph)
        known = status.example_values
        if len(values) != len(known) or not np.allclose(values, known, rtol=0.0, atol=_SEEN):
            status.example_values = values
            changed = True
    return changed


def _on_evaluation(changes: Changes) -> None:
    if not _delayed_look.is_due() and changes.enabled:
        _delayed_look.request()


def _look_now() -> float | None:
    if look():
        _redraw_sidebars()
    waiting = any(
        status_of(obj).binding is None and status_of(obj).problem is None
        for obj in enabled_objects()
        if has_examples(obj)
    )
    return _LOOK_AGAIN_AFTER if waiting else None


_delayed_look = DelayedCall(_look_now, 1.0 / LOOKS, "TIME")


def _redraw_sidebars() -> None:
    windows = bpy.context.window_manager.windows
    for area in (area for window in windows for area in window.screen.areas):
        for region in area.regions if area.type == "VIEW_3D" else ():
            if region.type == "UI":
                region.tag_redraw()


FOLLOWS = (
    (EDIT, _on_evaluation),
    (FRAME, _on_evaluation),
    (RESTORED, _delayed_look.request),
    (LOADED, _delayed_look.request),
)

unregister = _delayed_look.cancel
