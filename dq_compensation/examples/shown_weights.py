"""The current weight of each example pose, stored for the panel.

That something has moved is only noted; a timer looks not more than `_LOOKS` times a second, and
the sidebars are drawn again only when a value has changed enough to be seen.
"""

from __future__ import annotations

import bpy
import numpy as np
from bpy.types import Depsgraph, Object

from ..core.pose import Pose
from ..errors import BindingError, PoseError
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import settings_of
from ..scene.settings.setting_events import only_with
from ..session.changes import EDIT, FRAME, LOADED, RESTORED, Changes
from ..session.delayed_calls import DelayedCall
from ..session.known_objects import enabled_objects, with_examples
from ..session.status import status_of

_LOOKS = 20.0
# A bar of a hundred pixels does not show less.
_SEEN = 0.005
# Seconds until a character is looked at again that was not bound yet.
_LOOK_AGAIN_AFTER = 0.3


def _current_values(obj: Object, depsgraph: Depsgraph) -> tuple[tuple[float, ...], frozenset[str]]:
    """The current weight of each example of an object, 0 to 1, in the order of the list.

    Without the factors that the artist gave: it says how near the pose is. -1 for an example that
    cannot act; empty where nothing is known. And the bones whose examples blend linearly.
    """
    binding, skinned = status_of(obj).binding, SkinnedObject(obj)
    if binding is None or len(binding.example_items) != len(skinned.settings.examples):
        return (), frozenset()
    examples = binding.examples(skinned.settings.limb_axis)
    try:
        matrices = binding.pose_matrices(skinned.rig.evaluated_get(depsgraph))
        pose = Pose.from_matrices(matrices, binding.skeleton)
    except (BindingError, PoseError):
        return (), frozenset()
    bones = examples.poses.bones[examples.poses.linear].tolist()
    values = np.full(len(binding.example_items), -1.0)
    values[examples.items] = examples.poses.alphas(pose)
    return tuple(values.tolist()), frozenset(binding.skeleton.names[bone] for bone in bones)


def _deformed_by_example() -> list[Object]:
    """The enabled objects that are deformed by example, and have any."""
    settings = ((obj, settings_of(obj)) for obj in enabled_objects())
    method = "SPHERICAL_JOINT_BY_EXAMPLE"
    return [obj for obj, own in settings if own.method == method and len(own.examples)]


def look() -> bool:
    """Update the weights in the panel; returns whether any has changed."""
    objects = _deformed_by_example()
    if not objects:
        return False
    depsgraph = bpy.context.evaluated_depsgraph_get()
    changed = False
    for obj in objects:
        status = status_of(obj)
        values, linear = _current_values(obj, depsgraph)
        known = status.example_values
        if linear != status.linear_bones:
            status.linear_bones = linear
            changed = True
        if len(values) != len(known) or not np.allclose(values, known, rtol=0.0, atol=_SEEN):
            status.example_values = values
            changed = True
    return changed


@only_with(with_examples)
def _on_evaluation(_changes: Changes) -> None:
    _delayed_look.request()


def _look_now() -> float | None:
    if look():
        _redraw_sidebars()
    statuses = map(status_of, _deformed_by_example())
    waiting = any(each.binding is None and each.problem is None for each in statuses)
    return _LOOK_AGAIN_AFTER if waiting else None


_delayed_look = DelayedCall(_look_now, 1.0 / _LOOKS, "TIME")


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
