"""The example poses that an object remembers: their names, their keys, what there may not be."""

from __future__ import annotations

import bpy

from ..core.example_poses import ExampleError, too_close
from ..core.skeleton import LimbAxis
from ..scene.binding import Binding
from ..scene.example_poses import ExampleItem, example_bone, example_items
from ..scene.example_settings import ExampleBoneSettings, ExamplePose
from ..scene.mesh import mesh_of, other_users
from ..scene.object_settings import settings_of

PROBLEM_LINKED = (
    "{obj} or its mesh is linked from another file. Make the examples there, or make both local "
    "(Object, Relations, Make Local)."
)
PROBLEM_SHARED = (
    "{count} objects share the mesh of {obj}. Make {obj} single user first (Object, Relations, "
    "Make Single User)."
)
PROBLEM_TOO_CLOSE = (
    "The pose {new} is nearly the pose {known} of {bone}: less than 3 degrees away. {advice}"
)


def authoring_problem(obj: bpy.types.Object) -> str | None:
    """Why example poses of an object cannot be changed, or None; cheap."""
    mesh = mesh_of(obj)
    if obj.library is not None or mesh.library is not None or mesh.override_library is not None:
        return PROBLEM_LINKED.format(obj=obj.name)
    others = other_users(mesh)
    if others > 0:
        return PROBLEM_SHARED.format(count=others + 1, obj=obj.name)
    return None


def bone_settings(obj: bpy.types.Object, bone: str) -> ExampleBoneSettings:
    """What the examples of a bone have in common; made where there is nothing yet."""
    bones = settings_of(obj).example_bones
    for known in bones:
        if known.name == bone:
            return known
    made = bones.add()
    made.name = bone
    return made


def key_name(bone: str, name: str) -> str:
    """What the shape key of an example is called; Blender allows 63 bytes."""
    full = f"Example {name}" if name.startswith(bone) else f"Example {bone} {name}"
    return full.encode()[:60].decode(errors="ignore")


def keys_of_bone(obj: bpy.types.Object, bone: str) -> frozenset[str]:
    """The names of the shape keys of a bone's examples."""
    return frozenset(item.key for item in settings_of(obj).examples if item.bone == bone)


def refuse_too_close(
    obj: bpy.types.Object, item: ExampleItem, binding: Binding, limb_axis: LimbAxis
) -> None:
    """Raise ExampleError, naming both, when a pose is nearly one that the bone has already."""
    skeleton = binding.skeleton
    bone = skeleton.names.index(item.bone)
    limb = skeleton.limb_directions(limb_axis)[bone]
    others = [other for other in example_items(obj) if other.bone == item.bone]
    for other in [None, *others]:
        pair = [item] if other is None else [other, item]
        close = too_close(example_bone(bone, pair, skeleton), limb)
        if close is None or item.name not in close:
            continue
        known = next(name for name in close if name != item.name)
        advice = (
            "Pose the bone first."
            if known == "rest"
            else f"Edit {known} instead, or pose the bone further."
        )
        raise ExampleError(
            PROBLEM_TOO_CLOSE.format(new=item.name, known=known, bone=item.bone, advice=advice)
        )


def store_item(target: ExamplePose, item: ExampleItem) -> None:
    """Write an item; the bone's own settings are kept elsewhere."""
    target.name, target.bone = item.name, item.bone
    target.direction = item.direction  # type: ignore[assignment]
    target.rotation = item.rotation  # type: ignore[assignment]
    target.key, target.factor = item.key, item.factor
