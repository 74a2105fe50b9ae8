"""What users do to meshes: vertices, weights, shape keys, modifiers."""

from __future__ import annotations

from random import Random
from typing import Any

import bpy

from tests.soak.choosing import Action, among, any_mesh, any_rig, on_mesh


def rename_group(rng: Random, obj: bpy.types.Object) -> None:
    """Rename a vertex group."""
    group = among(rng, obj.vertex_groups)
    if group is not None:
        group.name = rng.choice(("Upper", "Lower", "Hand", "Elsewhere"))


def weights(rng: Random, obj: bpy.types.Object) -> None:
    """Change weights by a script."""
    group = among(rng, obj.vertex_groups)
    if group is not None and obj.data.library is None:
        count = len(obj.data.vertices)
        some = [rng.randrange(count) for _ in range(20)] if count else []
        group.add(some, rng.random(), rng.choice(("REPLACE", "ADD", "SUBTRACT")))
        obj.data.update()


def move_vertices(rng: Random, obj: bpy.types.Object) -> None:
    """Move a few vertices by a script."""
    if obj.data.library is not None:
        return  # nobody can by hand, and it is lost with the session
    for _ in range(10):
        if len(obj.data.vertices):
            obj.data.vertices[rng.randrange(len(obj.data.vertices))].co.z += 0.02
    obj.data.update()


def edit_mesh(rng: Random, obj: bpy.types.Object) -> str:
    """Edit the mesh in Edit Mode."""
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_random(ratio=0.05, seed=rng.randint(1, 99))
    what = rng.choice(("delete", "duplicate", "subdivide"))
    if what == "delete":
        bpy.ops.mesh.delete(type="VERT")
    elif what == "duplicate":
        bpy.ops.mesh.duplicate()
    elif len(obj.data.vertices) < 2000:
        bpy.ops.mesh.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")
    return what


def shape_key(rng: Random, obj: bpy.types.Object) -> None:
    """Add, change or remove a shape key."""
    if obj.data.library is not None:
        return  # Blender's interface refuses; a script may, and Blender crashes in the next undo
    keys = obj.data.shape_keys
    if keys is None or rng.random() < 0.2:
        if keys is None:
            obj.shape_key_add(name="Basis")
        key = obj.shape_key_add(name="Key", from_mix=False)
        for point in list(key.data)[:40]:
            point.co.z += 0.05
        key.value = rng.random()
    elif rng.random() < 0.3:
        # Object.shape_key_remove would leave a driver of the key, with which Blender 5.2 crashes.
        obj.active_shape_key_index = rng.randrange(len(keys.key_blocks))
        bpy.ops.object.shape_key_remove()
    else:
        rng.choice(list(keys.key_blocks)).value = rng.random()


def add_modifier(rng: Random, obj: bpy.types.Object) -> str:
    """Add a modifier."""
    kind = rng.choice(("MIRROR", "SUBSURF", "SOLIDIFY", "DISPLACE", "ARMATURE"))
    if len(obj.modifiers) < 5:
        added = obj.modifiers.new(kind.title(), kind)
        if kind == "SUBSURF":
            added.levels = added.render_levels = 1
        if kind == "ARMATURE":
            added.object = any_rig(rng)
        if rng.random() < 0.4:
            obj.modifiers.move(len(obj.modifiers) - 1, 0)
    return kind


def change_modifier(rng: Random, obj: bpy.types.Object) -> str:
    """Remove, move, hide, rename or apply a modifier."""
    chosen = among(rng, obj.modifiers)
    if chosen is None:
        return ""
    name, what = chosen.name, rng.choice(("remove", "move", "hide", "rename", "apply"))
    if what == "remove":
        obj.modifiers.remove(chosen)
    elif what == "move":
        obj.modifiers.move(obj.modifiers.find(name), rng.randrange(len(obj.modifiers)))
    elif what == "hide":
        chosen.show_viewport = not chosen.show_viewport
    elif what == "rename":
        chosen.name = "DQ Compensation"
    elif obj.data.shape_keys is None and obj.data.users == 1 and chosen.show_viewport:
        bpy.ops.object.modifier_apply(modifier=name)
    return f"{what} {name}"


def armature_option(rng: Random, obj: bpy.types.Object) -> str:
    """Change the Armature modifier."""
    modifier = next((each for each in obj.modifiers if each.type == "ARMATURE"), None)
    what = rng.choice(("volume", "envelopes", "mask", "object"))
    if modifier is not None:
        if what == "volume":
            modifier.use_deform_preserve_volume = rng.random() < 0.5
        elif what == "envelopes":
            modifier.use_bone_envelopes = rng.random() < 0.3
        elif what == "mask":
            modifier.vertex_group = rng.choice(["", *(g.name for g in obj.vertex_groups)])
        else:
            modifier.object = any_rig(rng)
    return what


def weight_tools(rng: Random, obj: bpy.types.Object) -> str:
    """Use one of Blender's own tools on the weights."""
    tools: dict[str, dict[str, Any]] = {
        "vertex_group_normalize_all": {},
        "vertex_group_limit_total": {"limit": 2},
        "vertex_group_clean": {"group_select_mode": "ALL", "limit": 0.1},
        "vertex_group_smooth": {"group_select_mode": "ALL"},
        "vertex_group_sort": {},
        "vertex_group_remove": {},
        "vertex_group_copy": {},
        "vertex_group_mirror": {},
    }
    name = rng.choice(list(tools))
    if obj.vertex_groups:
        obj.vertex_groups.active_index = rng.randrange(len(obj.vertex_groups))
        getattr(bpy.ops.object, name)(**tools[name])
    return name


def transfer_weights(rng: Random, obj: bpy.types.Object) -> str | None:
    """Give a mesh the weights of another one, or all its data."""
    other = any_mesh(rng)
    if other is None or other == obj:
        return None
    what = rng.choice(("weights", "data", "modifiers"))
    other.select_set(True)
    if what == "weights":
        bpy.context.view_layer.objects.active = other
        bpy.ops.object.data_transfer(
            data_type="VGROUP_WEIGHTS", layers_select_src="ALL", layers_select_dst="NAME"
        )
    elif what == "modifiers":
        bpy.ops.object.make_links_data(type="MODIFIERS")
    elif obj.mode == "OBJECT":
        obj.data = other.data
    return f"{what} from {other.name}"


def own_parts(rng: Random, obj: bpy.types.Object) -> str:
    """Touch what the add-on has made: an attribute, a node tree, the palette."""
    what = rng.choice(("attribute", "duplicate", "tree"))
    ours = next((each for each in obj.modifiers if each.type == "NODES"), None)
    if what == "attribute":
        attribute: Any = among(rng, [a for a in obj.data.attributes if a.name.startswith(".dqc")])
        if attribute is not None:
            obj.data.attributes.remove(attribute)
            obj.data.update()
    elif ours is not None and what == "duplicate":
        bpy.ops.object.modifier_copy(modifier=ours.name)
    elif ours is not None:
        ours.node_group = None
    return what


MESH_ACTIONS: tuple[tuple[int, Action], ...] = (
    (2, on_mesh(rename_group)),
    (4, on_mesh(weights)),
    (2, on_mesh(weight_tools)),
    (2, on_mesh(transfer_weights)),
    (4, on_mesh(move_vertices)),
    (3, on_mesh(edit_mesh)),
    (4, on_mesh(shape_key)),
    (3, on_mesh(add_modifier)),
    (3, on_mesh(change_modifier)),
    (3, on_mesh(armature_option)),
    (1, on_mesh(own_parts)),
)
