"""Features of bones and modifiers that do not count here, planted."""

from collections.abc import Callable

from dq_compensation.scene.object_settings import settings_of
from tests.blender.enabled_scenes import enable

from .conftest import Human


def bendy_bones(human: Human) -> None:
    """Forearms of several segments."""
    for side in "LR":
        human.armature_object.data.bones[f"lowerarm01.{side}"].bbone_segments = 4


def envelopes(human: Human) -> None:
    """A hundred vertices without weights that follow the envelopes."""
    vertices = list(range(0, 13000, 130))
    for group in human.mesh_object.vertex_groups:
        group.remove(vertices)
    human.mesh_object.modifiers["Armature"].use_bone_envelopes = True
    for bone in human.armature_object.data.bones:
        bone.envelope_distance, bone.head_radius, bone.tail_radius = 0.3, 0.1, 0.1


def multiplied_weights(human: Human) -> None:
    """Envelopes that multiply the weights of the forearms."""
    for side in "LR":
        human.armature_object.data.bones[f"lowerarm01.{side}"].use_envelope_multiply = True


def mask(human: Human) -> None:
    """A mask, which the GPU display does not know."""
    group = human.mesh_object.vertex_groups.new(name="Mask")
    group.add(list(range(5000)), 1.0, "REPLACE")
    human.mesh_object.modifiers["Armature"].vertex_group = "Mask"
    settings_of(human.mesh_object).display = "GPU"


def mixed_modifiers(human: Human) -> None:
    """A second Armature modifier is mixed with the first, where our own tree replaces that."""
    human.mesh_object.dq_compensation.method = "SPHERICAL_JOINT"
    enable(human.mesh_object)
    modifier = human.mesh_object.modifiers.new("Second", "ARMATURE")
    modifier.object = human.armature_object
    modifier.use_multi_modifier = True


PLANTED: dict[str, Callable[[Human], None]] = {
    "bone_features/bendy_bones": bendy_bones,
    "bone_features/envelopes": envelopes,
    "bone_features/multiplied_weights": multiplied_weights,
    "bone_features/mask": mask,
    "bone_features/mixed_modifiers": mixed_modifiers,
}
