"""The palette object: a mesh that an ordinary Armature modifier poses, for node trees to read.

It has four points per bone, at the armature's origin and along its three axes, all in the vertex
group of the bone with weight 1: deformed, they are the columns of the bone's skinning matrix D_b.
The first row has no group and stays at rest: the identity, for vertices that no bone moves.

Bendy bones would bend their points, and bones without Deform would leave them: these follow the
bone by a Hook modifier each, and their groups have other names, which the Armature modifier does
not know.

The palette is in no collection. A modifier that refers to it is enough to have it evaluated and
saved with the file. Its Armature modifier says whose it is: a custom property that names the
armature would keep a deleted armature alive.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ..core.skeleton import LimbAxis, Skeleton
from ..scene.armature import armature_of, deforming_bones, read_skeleton
from ..scene.content import bones_digest
from ..scene.mesh import mesh_of
from ..scene.own_objects import PALETTE_PROPERTY, is_palette
from ..session.new_data import remember_new
from .attribute_names import PALETTE_AXES, PALETTE_LENGTH

# Custom property of the palette object.
SIGNATURE_PROPERTY = "dq_compensation_palette_state"

# Without a group: at rest in every pose.
IDENTITY_ROW = 0

_PLACE: dict[str, object] = {
    "parent_type": "OBJECT",
    "delta_location": (0.0, 0.0, 0.0),
    "delta_rotation_euler": (0.0, 0.0, 0.0),
    "delta_scale": (1.0, 1.0, 1.0),
}
_MODIFIER: dict[str, object] = {
    "show_viewport": True,
    "show_render": True,
    "use_vertex_groups": True,
    "use_bone_envelopes": False,
    "use_deform_preserve_volume": False,
    "vertex_group": "",
}

# Row 0 of each bone's axes is the limb direction found by itself.
_ROW_OF_AXIS = {"AUTO": 0, "X": 1, "Y": 2, "Z": 3}


def limb_row(axis: LimbAxis) -> tuple[int, float]:
    """The row of the palette object with a bone's limb direction, one of four, and its sign."""
    return _ROW_OF_AXIS[axis.lstrip("-")], -1.0 if axis.startswith("-") else 1.0


def find_palette(armature: bpy.types.Object) -> bpy.types.Object | None:
    """The palette object of an armature, in the armature's library or file; None without one."""
    for obj in bpy.data.objects:
        if obj.library == armature.library and armature_of_palette(obj) == armature:
            return obj
    return None


def armature_of_palette(palette: bpy.types.Object) -> bpy.types.Object | None:
    """The armature object that poses a palette; None for other objects and when it is deleted."""
    if not is_palette(palette):
        return None
    for modifier in palette.modifiers:
        if modifier.type == "ARMATURE":
            return cast("bpy.types.ArmatureModifier", modifier).object
    return None


def palette_rows(palette: bpy.types.Object) -> dict[str, int]:
    """The row of each bone, by its name."""
    return {name: row for row, name in enumerate(_bone_names(palette), IDENTITY_ROW + 1)}


def _bone_names(palette: bpy.types.Object) -> list[str]:
    """The current name of each group's bone: Blender renames groups and hooks with the bones."""
    hooked = {hook.vertex_group: hook.subtarget for hook in _hooks(palette)}
    return [hooked.get(group.name, group.name) for group in palette.vertex_groups]


def _hooks(palette: bpy.types.Object) -> list[bpy.types.HookModifier]:
    modifiers = (modifier for modifier in palette.modifiers if modifier.type == "HOOK")
    return [cast("bpy.types.HookModifier", modifier) for modifier in modifiers]


def is_intact(palette: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether a palette object is unchanged: in its place, posed by its armature; cheap."""
    modifier = _armature_modifier(palette)
    return (
        palette.type == "MESH"
        and len(mesh_of(palette).vertices) == 4 * (1 + len(palette.vertex_groups))
        and modifier is not None
        and not _differing(modifier, _MODIFIER | {"object": armature})
        and not _differing(palette, _PLACE | {"parent": armature})
        and _tied_matrices(palette)
    )


def ensure_palette(
    armature: bpy.types.Object, also: frozenset[str] = frozenset()
) -> bpy.types.Object:
    """The palette of an armature object, made or brought up to date; shared by all its meshes.

    Bones keep their rows for as long as the palette lives, new ones get new rows: meshes that were
    bound earlier stay right.

    Args:
        also: bones to have besides those that deform.
    """
    palette = find_palette(armature)
    bones = bones_digest(armature)
    if palette is not None:
        known = palette.get(SIGNATURE_PROPERTY) == bones and is_intact(palette, armature)
        if known and also <= palette_rows(palette).keys():
            return palette
    names = _bone_names(palette) if palette is not None else []
    if palette is None:
        palette = bpy.data.objects.new(_name(armature), bpy.data.meshes.new(_name(armature)))
        palette[PALETTE_PROPERTY] = True
        remember_new(palette)
    _tie(palette, armature)
    skeleton = read_skeleton(armature)
    deforming = deforming_bones(armature)
    wanted = (deforming | also) - set(names)
    names += [name for name in skeleton.names if name in wanted]
    _write(palette, names, skeleton)
    hooked = (_bendy_bones(armature) | set(skeleton.names)) - (deforming - _bendy_bones(armature))
    _let_bones_move(palette, names, hooked, armature, skeleton)
    palette[SIGNATURE_PROPERTY] = bones
    return palette


def _armature_modifier(palette: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    found = next((each for each in palette.modifiers if each.type == "ARMATURE"), None)
    return cast("bpy.types.ArmatureModifier | None", found)


def _tie(palette: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Put a palette object at its armature, and let the armature pose it.

    Blender itself moves it away: *Apply* and *Set Origin* keep an armature's children in place.
    """
    identity = Matrix.Identity(4)
    palette.parent = armature
    palette.matrix_parent_inverse = identity
    palette.matrix_basis = identity
    for name, value in _PLACE.items():
        setattr(palette, name, value)
    modifier = _armature_modifier(palette)
    if modifier is None:
        new = palette.modifiers.new("Armature", "ARMATURE")
        modifier = cast("bpy.types.ArmatureModifier", new)
    modifier.object = armature
    for name, value in _MODIFIER.items():
        setattr(modifier, name, value)


def _tied_matrices(palette: bpy.types.Object) -> bool:
    identity = Matrix.Identity(4)
    return palette.matrix_parent_inverse == identity and palette.matrix_basis == identity


def _differing(owner: object, wanted: dict[str, object]) -> bool:
    """Whether a setting of a palette or its modifier has another value than it needs."""
    found = ((getattr(owner, name), value) for name, value in wanted.items())
    return any((tuple(v) if isinstance(w, tuple) else v) != w for v, w in found)


def _name(armature: bpy.types.Object) -> str:
    return f"DQ Compensation palette: {armature.name}"


def _write(palette: bpy.types.Object, names: list[str], skeleton: Skeleton) -> None:
    """Give the palette a fresh mesh: points, one group per bone, the static directions."""
    count = len(names) + 1
    place = {name: index for index, name in enumerate(skeleton.names)}
    # As far out as the skeleton is large, so that rounding turns no bone by more than it moves it;
    # a power of two, so that dividing by it again rounds nothing.
    size = float(np.abs(skeleton.heads).max(initial=0.5))
    length = float(2.0 ** np.ceil(np.log2(max(size, 1e-6))))
    points = np.tile(np.vstack([np.zeros(3), length * np.eye(3)]), (count, 1))
    axes = np.tile(np.vstack([np.eye(3)[1], np.eye(3)]), (count, 1, 1))
    directions = skeleton.limb_directions()
    for row, name in enumerate(names, IDENTITY_ROW + 1):
        if name in place:
            axes[row, 0] = directions[place[name]]
            axes[row, 1:] = skeleton.rest[place[name], :3, :3].T

    mesh = cast("bpy.types.Mesh", palette.data)
    mesh.clear_geometry()
    mesh.vertices.add(4 * count)
    position: Any = mesh.attributes["position"]
    position.data.foreach_set("vector", points.astype(np.float32).reshape(-1))
    for attribute_name, kind, field, values in (
        (PALETTE_AXES, "FLOAT_VECTOR", "vector", axes),
        (PALETTE_LENGTH, "FLOAT", "value", np.full(4 * count, length)),
    ):
        attributes: Any = mesh.attributes
        attribute = attributes.get(attribute_name) or attributes.new(attribute_name, kind, "POINT")
        attribute.data.foreach_set(field, values.astype(np.float32).reshape(-1))
    mesh.update()


def _bendy_bones(armature: bpy.types.Object) -> set[str]:
    return {bone.name for bone in armature_of(armature).bones if bone.bbone_segments > 1}


def _let_bones_move(
    palette: bpy.types.Object,
    names: list[str],
    hooked: set[str],
    armature: bpy.types.Object,
    skeleton: Skeleton,
) -> None:
    """Give each bone its group of points, and those that need them their hooks."""
    for hook in _hooks(palette):
        palette.modifiers.remove(hook)
    groups = palette.vertex_groups
    for row, name in enumerate(names):
        group_name = f"{name} (hooked)" if name in hooked else name
        first = 4 * (IDENTITY_ROW + 1 + row)
        group = groups[row] if row < len(groups) else groups.new(name=group_name)
        if group.name != group_name:
            group.name = group_name
        group.add(list(range(first, first + 4)), 1.0, "REPLACE")
        if name in hooked:
            hook = cast("bpy.types.HookModifier", palette.modifiers.new(name, "HOOK"))
            hook.object, hook.subtarget, hook.vertex_group = armature, name, group.name
            hook.falloff_type = "NONE"
            rest = skeleton.rest[skeleton.names.index(name)]
            hook.matrix_inverse = np.linalg.inv(rest).T.tolist()
