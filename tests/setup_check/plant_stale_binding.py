"""Planted scenes for the check stale_binding: what a session without a timer does not follow."""

from __future__ import annotations

import numpy as np

from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.session.status import fail
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable


def enable_as_it_may_be(human: Human) -> None:
    """With the smallest node tree, unless it is enabled: how it is deformed does not matter."""
    if not human.mesh_object.dq_compensation.enabled:
        human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
        enable(human.mesh_object)


def edited_by_a_script(human: Human) -> None:
    """Blender reports nothing of it."""
    enable_as_it_may_be(human)
    vertices = human.mesh_object.data.vertices
    places = np.zeros(3 * len(vertices), np.float32)
    vertices.foreach_get("co", places)
    places[0] += 0.01
    vertices.foreach_set("co", places)


def failed(human: Human) -> None:
    enable_as_it_may_be(human)
    fail(human.mesh_object, ValueError("no driver"))


def taken_away(human: Human) -> None:
    enable_as_it_may_be(human)
    human.mesh_object.modifiers.remove(SkinnedObject(human.mesh_object).ours)


PLANTED = {
    "stale_binding/edited_by_a_script": edited_by_a_script,
    "stale_binding/failed": failed,
    "stale_binding/taken_away": taken_away,
}
