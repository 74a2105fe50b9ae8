"""Planted scenes for the check stale_binding: what a session without a timer does not follow."""

from __future__ import annotations

from dq_compensation.modifier.attribute_names import WEIGHTS, numbered
from dq_compensation.modifier.installation import our_modifier
from dq_compensation.scene.status import fail, forget_statuses
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable


def enable_as_it_may_be(human: Human) -> None:
    """With the smallest node tree, unless it is enabled: how it is deformed does not matter."""
    if not human.mesh_object.dq_compensation.enabled:
        human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
        enable(human.mesh_object)


def painted(human: Human) -> None:
    enable_as_it_may_be(human)
    human.mesh_object.vertex_groups["head"].add(range(500), 1.0, "REPLACE")


def renamed_group(human: Human) -> None:
    enable_as_it_may_be(human)
    human.mesh_object.vertex_groups["lowerarm01.L"].name = "nobody"


def bone_that_does_not_deform(human: Human) -> None:
    enable_as_it_may_be(human)
    human.armature_object.data.bones["lowerarm01.L"].use_deform = False


def moved_vertices(human: Human) -> None:
    enable_as_it_may_be(human)
    human.mesh_object.data.vertices[0].co.x += 0.01


def carried_away(human: Human) -> None:
    """Only the compensation depends on where the mesh is to its armature."""
    enable(human.mesh_object)
    human.mesh_object.location.x += 0.1


def weights_of_another_session(human: Human) -> None:
    """A file that was painted without the add-on: only the modifier's own weights can tell."""
    enable_as_it_may_be(human)
    weights = human.mesh_object.data.attributes[numbered(WEIGHTS, 0)]
    weights.data[6000].vector = (0.25, 0.25, 0.25)
    forget_statuses()


def failed(human: Human) -> None:
    enable_as_it_may_be(human)
    fail(human.mesh_object, ValueError("no driver"))


def taken_away(human: Human) -> None:
    enable_as_it_may_be(human)
    human.mesh_object.modifiers.remove(our_modifier(human.mesh_object))


PLANTED = {
    "stale_binding/painted": painted,
    "stale_binding/bone_that_does_not_deform": bone_that_does_not_deform,
    "stale_binding/carried_away": carried_away,
    "stale_binding/failed": failed,
    "stale_binding/moved_vertices": moved_vertices,
    "stale_binding/renamed_group": renamed_group,
    "stale_binding/taken_away": taken_away,
    "stale_binding/weights_of_another_session": weights_of_another_session,
}
