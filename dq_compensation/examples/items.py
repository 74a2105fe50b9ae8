"""The stored example poses of an object: names, shape keys and refusals."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.example_poses import ExampleError, too_close
from ..core.skeleton import LimbAxis
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import examples_refusal
from ..scene.binding.soft_copy import softness_of
from ..scene.binding.stored_examples import ExampleItem, example_bone, example_items
from ..scene.blender.linked import linked_refusal
from ..scene.blender.mesh import mesh_of, other_users
from ..scene.settings.events import EXAMPLE_BONE_CHOSEN
from ..scene.settings.example_settings import DQCompensationExampleBone, DQCompensationExamplePose
from ..scene.settings.object_settings import settings_of
from ..scene.shape_keys.key_writing import write_key
from ..scene.weights.weights_writing import write_groups
from ..session.settings_writing import writing_settings

ADVICE_LINKED = "Make the examples there, or make both local (Object, Relations, Make Local)."


def authoring_refusal(obj: bpy.types.Object) -> str | None:
    """Why example poses of an object cannot be changed, or None; cheap."""
    mesh = mesh_of(obj)
    named = f"{obj.name} or its mesh"
    reason = linked_refusal(named, [obj], ADVICE_LINKED)
    if reason := reason or linked_refusal(named, [mesh], ADVICE_LINKED, overridden=True):
        return reason
    others = other_users(mesh)
    if others > 0:
        return (
            f"{others + 1} objects share the mesh of {obj.name}. Make {obj.name} single user first "
            "(Object, Relations, Make Single User)."
        )
    return examples_refusal(obj)


def bone_settings(obj: bpy.types.Object, bone: str) -> DQCompensationExampleBone:
    """The shared settings of a bone's examples; new ones if it has none."""
    bones = settings_of(obj).example_bones
    for known in bones:
        if known.name == bone:
            return known
    made = bones.add()
    # Files from before there was a choice have the other kind, which is the property's default.
    made.name, made.support_kind = bone, "JOINT"
    return made


def _on_chosen_bone(item: DQCompensationExamplePose, _context: bpy.types.Context) -> None:
    """Give a bone's settings to the newly chosen bone, for instance after a renaming."""
    obj = item.id_data
    if isinstance(obj, bpy.types.Object):
        settings = settings_of(obj)
        used = {each.bone for each in settings.examples}
        known = {each.name for each in settings.example_bones}
        left = next((each for each in settings.example_bones if each.name not in used), None)
        if item.bone not in known and left is not None:
            left.name = item.bone
        elif item.bone not in known:
            bone_settings(obj, item.bone)


def base_now(obj: bpy.types.Object) -> str:
    """The base on which shapes of examples are made now: the method, and its softness."""
    settings = settings_of(obj)
    softness = softness_of(obj) if settings.example_base == "COMPENSATED" else 0.0
    return f"{settings.example_base} {softness:.4f}"


def write_support(obj: bpy.types.Object, bone: str, weights: NDArray[np.floating]) -> str:
    """Write the support of a bone to its vertex group; returns the name of the group.

    Args:
        bone: its name. It gets a new group where it has none.
        weights: shape (n,), 0 to 1.

    Raises:
        UserError: the group is locked, or the mesh is in Edit Mode; no weight has changed.
    """
    settings = bone_settings(obj, bone)
    if settings.support not in obj.vertex_groups:
        settings.support = obj.vertex_groups.new(name=f"Support {bone}").name
    write_groups(obj, {settings.support: np.clip(weights, 0.0, 1.0)})
    return settings.support


def key_name(bone: str, name: str) -> str:
    """The name for the shape key of an example; Blender allows 63 bytes."""
    bone = bone.rpartition(":")[2]
    full = f"Example {name}" if name.startswith(bone) else f"Example {bone} {name}"
    return full.encode()[:60].decode(errors="ignore")


def keys_of_bone(obj: bpy.types.Object, bone: str) -> frozenset[str]:
    """The names of the shape keys of a bone's examples."""
    return frozenset(item.key for item in settings_of(obj).examples if item.bone == bone)


def require_distance(
    obj: bpy.types.Object, item: ExampleItem, binding: Binding, limb_axis: LimbAxis
) -> None:
    """Raise ExampleError, naming both, when a bone has nearly the same example pose already."""
    skeleton = binding.skeleton
    bone = skeleton.names.index(item.bone)
    limb = skeleton.limb_directions(limb_axis)[bone]
    others = [other for other in example_items(obj) if other.bone == item.bone]
    for known in ([], *([other] for other in others)):
        close = too_close(example_bone(bone, [*known, item], skeleton), limb)
        if close is None or item.name not in close:
            continue
        near = next(name for name in close if name != item.name)
        instead = f"Edit {near} instead, or pose the bone further."
        raise ExampleError(
            f"The pose {item.name} is nearly the pose {near} of {item.bone}: less than 3 degrees "
            f"away. {'Pose the bone first.' if near == 'rest' else instead}"
        )


def require_bone(binding: Binding, bone: str) -> int:
    """The place of an example's bone in the skeleton; ExampleError if it is not there any more."""
    if bone not in binding.skeleton.names:
        raise ExampleError(f"{binding.armature_name} has no bone {bone} any more.")
    return binding.skeleton.names.index(bone)


def write_example(
    obj: bpy.types.Object,
    item: ExampleItem,
    offsets: NDArray[np.floating],
    known: DQCompensationExamplePose | None = None,
) -> None:
    """Write an example and its shape key, which the object follows then.

    The bone's own settings are kept elsewhere.

    Args:
        offsets: shape (n, 3), object space, at rest.
        known: the example to write over, its key with it; by default there will be a new one.

    Raises:
        UserError: the key of the known one is the basis; nothing has changed.
    """
    name = item.key if known is None else known.key
    key = write_key(obj, name, offsets, overwrite=known is not None)
    key.mute = True
    target = settings_of(obj).examples.add() if known is None else known
    with writing_settings():
        target.name, target.bone, target.key = item.name, item.bone, key.name
        target.direction = item.direction  # type: ignore[assignment]
        target.rotation = item.rotation  # type: ignore[assignment]
    target.made_on = base_now(obj)
    target.factor = item.factor


FOLLOWS = ((EXAMPLE_BONE_CHOSEN, _on_chosen_bone),)
