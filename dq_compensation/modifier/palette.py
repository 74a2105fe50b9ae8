"""The palette: a mesh object that an ordinary Armature modifier poses, for node trees to read.

It has four points per bone, at the armature's origin and along its three axes, all in the vertex
group of the bone with weight 1: deformed, they are the columns of the bone's skinning matrix D_b.
The first row has no group and stays at rest: the identity, for vertices that no bone moves.

Bendy bones would bend their points, and bones without Deform would leave them: these follow the
bone by a Hook modifier each, and their groups have other names, which the Armature modifier does
not know.

The palette is in no collection. A modifier that refers to it is enough to have it evaluated and
saved with the file. It is known by its custom properties, not by its name.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import bpy
import numpy as np

from ..core.skeleton import LimbAxis, Skeleton
from ..scene.armature import armature_of, deforming_bones, read_skeleton
from .attribute_names import PALETTE_AXES, PALETTE_LENGTH

# Custom properties of the palette object.
ARMATURE_PROPERTY = "dq_compensation_palette_of"
SIGNATURE_PROPERTY = "dq_compensation_palette_state"

# Without a group: at rest in every pose.
IDENTITY_ROW = 0

# Row 0 of each bone's axes is the limb direction found by itself.
_ROW_OF_AXIS = {"AUTO": 0, "X": 1, "Y": 2, "Z": 3}


def limb_row(axis: LimbAxis) -> tuple[int, float]:
    """Where the palette has a bone's limb direction: which of its four rows, and its sign."""
    return _ROW_OF_AXIS[axis.lstrip("-")], -1.0 if axis.startswith("-") else 1.0


def find_palette(armature: bpy.types.Object) -> bpy.types.Object | None:
    """The palette of an armature object, in its own library or file; None without one."""
    for obj in bpy.data.objects:
        if obj.get(ARMATURE_PROPERTY) == armature and obj.library == armature.library:
            return obj
    return None


def palette_rows(palette: bpy.types.Object) -> dict[str, int]:
    """The row of each bone, by its name."""
    return {name: row for row, name in enumerate(_bone_names(palette), IDENTITY_ROW + 1)}


def _bone_names(palette: bpy.types.Object) -> list[str]:
    """The bone of each group, under its name of now: Blender renames groups and hooks along."""
    hooked = {hook.vertex_group: hook.subtarget for hook in _hooks(palette)}
    return [hooked.get(group.name, group.name) for group in palette.vertex_groups]


def _hooks(palette: bpy.types.Object) -> list[bpy.types.HookModifier]:
    modifiers = (modifier for modifier in palette.modifiers if modifier.type == "HOOK")
    return [cast("bpy.types.HookModifier", modifier) for modifier in modifiers]


def palette_signature(armature: bpy.types.Object) -> str:
    """What has to be equal for a palette to be right: the deforming bones and their rest."""
    return _signature(armature, read_skeleton(armature), deforming_bones(armature))


def ensure_palette(
    armature: bpy.types.Object, also: frozenset[str] = frozenset()
) -> bpy.types.Object:
    """The palette of an armature object, made or brought up to date; shared by all its meshes.

    Bones keep their rows for as long as the palette lives, new ones get new rows: meshes that were
    bound earlier stay right.

    Args:
        armature: the armature object.
        also: bones to have besides those that deform.
    """
    palette = find_palette(armature)
    skeleton = read_skeleton(armature)
    deforming = deforming_bones(armature)
    signature = _signature(armature, skeleton, deforming)
    if (
        palette is not None
        and palette.get(SIGNATURE_PROPERTY) == signature
        and also <= palette_rows(palette).keys()
    ):
        return palette
    names: list[str] = []
    if palette is None:
        mesh = bpy.data.meshes.new(_name(armature))
        palette = bpy.data.objects.new(_name(armature), mesh)
        palette[ARMATURE_PROPERTY] = armature
        palette.parent = armature
        modifier = cast("bpy.types.ArmatureModifier", palette.modifiers.new("Armature", "ARMATURE"))
        modifier.object = armature
        modifier.use_deform_preserve_volume = False
        modifier.use_bone_envelopes = False
    else:
        names = _bone_names(palette)
    known = set(names)
    wanted = (deforming | also) - known
    names += [name for name in skeleton.names if name in wanted]
    _write(palette, names, skeleton)
    hooked = (_bendy_bones(armature) | set(skeleton.names)) - (deforming - _bendy_bones(armature))
    _let_bones_move(palette, names, hooked, armature, skeleton)
    palette[SIGNATURE_PROPERTY] = signature
    return palette


def remove_palette(palette: bpy.types.Object) -> None:
    """Remove a palette and its mesh."""
    mesh = palette.data
    bpy.data.objects.remove(palette)
    if isinstance(mesh, bpy.types.Mesh) and not mesh.users:
        bpy.data.meshes.remove(mesh)


def _name(armature: bpy.types.Object) -> str:
    return f"DQ Compensation palette: {armature.name}"


def _signature(armature: bpy.types.Object, skeleton: Skeleton, deforming: frozenset[str]) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    digest.update("\0".join(skeleton.names).encode())
    digest.update("\0".join(sorted(deforming)).encode())
    digest.update("\0".join(sorted(_bendy_bones(armature))).encode())
    digest.update(skeleton.rest.tobytes())
    digest.update(skeleton.limb_directions().tobytes())
    return digest.hexdigest()


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
