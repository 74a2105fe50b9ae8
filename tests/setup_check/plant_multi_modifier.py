"""A mixed Armature modifier that does not count here, planted."""

from collections.abc import Callable

from tests.blender.enabled_scenes import enable

from .conftest import Human


def mixed_modifiers(human: Human) -> None:
    """A second Armature modifier is mixed with the first, where our own tree replaces that."""
    human.mesh_object.dq_compensation.method = "SPHERICAL_JOINT"
    enable(human.mesh_object)
    modifier = human.mesh_object.modifiers.new("Second", "ARMATURE")
    modifier.object = human.armature_object
    modifier.use_multi_modifier = True


PLANTED: dict[str, Callable[[Human], None]] = {"multi_modifier/mixed": mixed_modifiers}
