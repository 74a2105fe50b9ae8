"""What users do to objects."""

from __future__ import annotations

from random import Random

import bpy

from dq_compensation.scene.stack import find_rig
from tests.soak.choosing import (
    Action,
    any_mesh,
    any_rig,
    is_crowded,
    on_mesh,
    on_rig,
    shown_meshes,
)


def place(rng: Random, obj: bpy.types.Object) -> str:
    """Move, turn or scale an object."""
    what = rng.choice(("location", "rotation_euler", "scale"))
    values = [1.3] * 3 if what == "scale" else [rng.uniform(-0.5, 0.5) for _ in range(3)]
    setattr(obj, what, values)
    return what


def apply_place(rng: Random, obj: bpy.types.Object) -> None:
    """Apply the place of an object."""
    bpy.ops.object.transform_apply(
        location=rng.random() < 0.5, rotation=rng.random() < 0.5, scale=rng.random() < 0.5
    )


def parent(rng: Random, obj: bpy.types.Object) -> None:
    """Parent a mesh to its armature, or clear its parent."""
    obj.parent = None if obj.parent is not None else find_rig(obj)


def duplicate(rng: Random, obj: bpy.types.Object) -> None:
    """Duplicate an object, perhaps linked, perhaps with its armature."""
    if not is_crowded():
        rig = find_rig(obj)
        if rig is not None and rng.random() < 0.5 and rig.visible_get():
            rig.select_set(True)
        bpy.ops.object.duplicate(linked=rng.random() < 0.4)


def delete(rng: Random, obj: bpy.types.Object) -> None:
    """Delete an object."""
    # A last character stays, so that there is something to do.
    if len(shown_meshes()) > 2:
        bpy.ops.object.delete()


def rename(rng: Random, obj: bpy.types.Object) -> None:
    """Rename an object."""
    obj.name = rng.choice(("Arm", "Body", "Thing"))


def hide(rng: Random, obj: bpy.types.Object) -> None:
    """Disable an object in viewports, or enable it."""
    obj.hide_viewport = not obj.hide_viewport


def convert(rng: Random, obj: bpy.types.Object) -> None:
    """Make a mesh of the evaluated object."""
    if not is_crowded() and obj.visible_get():
        bpy.ops.object.convert(target="MESH", keep_original=True)


def join(rng: Random, obj: bpy.types.Object) -> str | None:
    """Join another object of the same kind to one."""
    other = any_mesh(rng) if obj.type == "MESH" else any_rig(rng)
    if other is None or other == obj or not other.visible_get() or len(shown_meshes()) < 3:
        return None
    name = other.name
    other.select_set(True)
    bpy.ops.object.join()
    return name


def separate(rng: Random, obj: bpy.types.Object) -> None:
    """Make an object of its own of some of the vertices."""
    if not is_crowded() and obj.data.users == 1 and obj.visible_get():
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_random(ratio=0.2, seed=rng.randint(1, 99))
        bpy.ops.mesh.separate(type="SELECTED")
        bpy.ops.object.mode_set(mode="OBJECT")


def set_parent(rng: Random, obj: bpy.types.Object) -> str | None:
    """Parent a mesh to an armature as Ctrl P does."""
    rig = any_rig(rng)
    if rig is None or not (obj.visible_get() and rig.visible_get()):
        return None
    kind = rng.choice(("OBJECT", "ARMATURE", "ARMATURE_NAME", "BONE"))
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    if kind == "BONE":
        rig.data.bones.active = rig.data.bones[0] if len(rig.data.bones) else None
    bpy.ops.object.parent_set(type=kind, keep_transform=rng.random() < 0.5)
    return f"{kind} {rig.name}"


def origin(rng: Random, obj: bpy.types.Object) -> str:
    """Set the origin."""
    kind = rng.choice(("GEOMETRY_ORIGIN", "ORIGIN_GEOMETRY", "ORIGIN_CURSOR"))
    if obj.visible_get() and obj.data.users == 1:
        bpy.ops.object.origin_set(type=kind)
    return kind


def collect(rng: Random, obj: bpy.types.Object) -> str:
    """Take an object out of its collection, or exclude a collection, or show all of them."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    what = rng.choice(("move", "exclude", "show", "show"))
    others = scene.collection.children
    if what == "move":
        side = others.get("Side") or bpy.data.collections.new("Side")
        if side.name not in others:
            others.link(side)
        for collection in obj.users_collection:
            collection.objects.unlink(obj)
        side.objects.link(obj)
    for child in layer.layer_collection.children:
        child.exclude = what == "exclude"
    return what


def single_user(rng: Random, obj: bpy.types.Object) -> None:
    """Give an object a mesh of its own."""
    bpy.ops.object.make_single_user(object=True, obdata=True)


OBJECT_ACTIONS: tuple[tuple[int, Action], ...] = (
    (3, on_mesh(place)),
    (2, on_rig(place)),
    (2, on_mesh(apply_place)),
    (1, on_rig(apply_place)),
    (1, on_mesh(origin)),
    (1, on_rig(origin)),
    (2, on_mesh(parent)),
    (2, on_mesh(set_parent)),
    (3, on_mesh(duplicate)),
    (1, on_mesh(single_user)),
    (2, on_mesh(delete)),
    (1, on_rig(delete)),
    (2, on_mesh(join)),
    (1, on_rig(join)),
    (1, on_mesh(separate)),
    (1, on_mesh(rename)),
    (1, on_rig(rename)),
    (1, on_mesh(hide)),
    (1, on_mesh(collect)),
    (1, on_mesh(convert)),
)
