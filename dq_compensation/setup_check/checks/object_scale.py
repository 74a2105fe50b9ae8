"""Check: the scale of the mesh object and of the armature object is 1.

An equal scale does not spoil our deformation, which is computed in the armature's own space, but
exporters, physics and everything that is measured in lengths sees it; an unequal one squeezes what
rotates, and a negative one turns the bones' axes about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix as BlenderMatrix

from ...arrays import Float64s, Indices
from ...scene.blender.animation_curves import (
    BoneCurve,
    all_actions,
    bone_channel,
    bone_curves,
    bone_drivers,
    drivers,
    multiply_values,
)
from ...scene.blender.armature import armature_of
from ...scene.blender.bone_editing import edited_bones
from ...scene.blender.bulk_arrays import read_property
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import is_hidden
from ...scene.stack import armature_modifier
from ...wording import counted, listed
from ..fixes.bone_dependents import LOCATION_TYPES, all_constraints, animated
from ..fixes.followers import modifiers_by_object
from ..fixes.object_transforms import (
    Matrix,
    animation_of,
    clear_scale,
    is_equal,
    is_nothing,
    is_one,
    keep_children,
    kept_children,
    local_matrix,
    own_scale,
    require_children_can_follow,
    require_free_scale,
    scale_of,
    scale_questions,
    scale_words,
    scaled,
    set_parent_inverse,
    shares_data,
)
from ..fixes.requirements import require_own_action
from ..issue import Check, Fix, FixError, Issue, Repair, Severity
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """The scale of the mesh object, of the armature object, and of their parents."""
    obj, armature = subject.obj, subject.find_rig()
    scale = mesh_scale(obj)
    if not is_one(scale):
        where = "by its parent inverse " if is_one(own_scale(obj)) else ""
        fix = Fix(
            "apply_mesh_scale",
            "Apply Scale",
            "Write the scale into the mesh and all its shape keys; nothing moves",
            _mesh_question(obj),
        )
        yield _issue("mesh", f"{obj.name} is scaled {where}by", scale, fix)
    if armature is not None and not is_one(scale := own_scale(armature)):
        fix = Fix(
            "apply_armature_scale",
            "Apply Scale",
            "Write the scale into the bones, their pose, their animation and the meshes parented "
            "to the armature; nothing moves",
            _armature_question(armature),
        )
        yield _issue("armature", f"{armature.name} is scaled by", scale, fix)
    yield from _from_above(obj if armature is None else armature, subject.depsgraph)


def _from_above(top: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Iterator[Issue]:
    """The parent that scales a character unequally, mirrors it or flattens it, from outside."""
    world = scale_of(np.array(top.evaluated_get(depsgraph).matrix_world))
    parent = top.parent
    while parent is not None:
        scale = own_scale(parent)
        if not is_one(scale) and (not is_equal(world) or world.min() < 0.0):
            severity, harm = _harm(scale)
            message = (
                f"{parent.name}, a parent of {top.name}, is scaled by {scale_words(scale)}, "
                f"so {top.name} is, too. {harm} Give {parent.name} a scale of 1."
            )
            yield Issue("parents", severity, message)
            return
        parent = parent.parent


def _harm(scale: Float64s) -> tuple[Severity, str]:
    """How bad a scale is, and the harm that it does, for the message."""
    if is_nothing(scale):
        return "ERROR", "It is flat and cannot be deformed. Give it a size again."
    if not is_equal(scale):
        return "WARNING", "Whatever rotates is squeezed, and exported skins come out distorted."
    if scale.min() < 0.0:
        return "WARNING", "Negative axes: exporters turn faces or bones the wrong way."
    return "INFORMATION", "The deformation is right, but exporters and physics often fail."


def _issue(key: str, subject: str, scale: Float64s, fix: Fix) -> Issue:
    severity, harm = _harm(scale)
    fixes = () if is_nothing(scale) else (fix,)
    return Issue(key, severity, f"{subject} {scale_words(scale)}. {harm}", fixes=fixes)


def _apply_to_mesh(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    scale, keys = mesh_scale(obj), subject.mesh.shape_keys
    plan = plan_mesh_scale(subject, obj)
    yield
    apply_mesh_scale(plan)
    shapes = f" and {counted(len(keys.key_blocks), 'shape key')}" if keys is not None else ""
    return f"Applied the scale {scale_words(scale)} of {obj.name} to its mesh{shapes}."


def _apply_to_armature(subject: Subject, _issue: Issue) -> Repair:
    armature = subject.rig
    require_free_scale(armature)
    require_children_can_follow(armature)
    scale = own_scale(armature)
    changed = _LENGTHS | (_MIRROR_SIGNS.keys() if _mirrors(scale) else set())
    _require_unread_scale(subject, armature, scale, changed)
    factors = list(_curves(armature, scale))
    curves = [curve for curve, _ in factors]
    _require_linear(armature, curves)
    meshes = list(_meshes(subject, armature, scale))
    yield
    _apply_armature_scale(armature, factors)
    for mesh in meshes:
        apply_mesh_scale(mesh)
    keys = f", {counted(_key_count(curves), 'key')}" if curves else ""
    names = f" and {listed([mesh.obj.name for mesh in meshes])}" if meshes else ""
    return (
        f"Applied the scale {scale_words(scale)} of {armature.name} to "
        f"{counted(len(armature_of(armature).bones), 'bone')}{keys}{names}."
    )


# Modifiers whose settings are lengths in the object's own units.
_IN_OBJECT_UNITS = frozenset(
    {"BEVEL", "CAST", "DISPLACE", "REMESH", "SKIN", "SMOOTH", "SOLIDIFY", "WAVE", "WELD"}
    | {"WIREFRAME", "CLOTH", "SOFT_BODY", "COLLISION", "FLUID", "PARTICLE_SYSTEM", "EXPLODE"}
)


@dataclass(frozen=True, eq=False)
class MeshScalePlan:
    """The changes of applying the scale of a mesh object, planned before anything is written.

    Attributes:
        change: shape (4, 4), linear; what the vertices are multiplied by.
        parent_inverse: shape (4, 4); the new one.
        location: shape (3,); the new one.
    """

    obj: bpy.types.Object
    change: Matrix
    parent_inverse: Matrix
    location: Float64s


def _mesh_question(obj: bpy.types.Object) -> str:
    """The question before the scale of a mesh object is applied; empty without one."""
    parts = scale_questions(obj)
    other_units = [m.name for m in obj.modifiers if m.type in _IN_OBJECT_UNITS]
    if other_units:
        parts.append(
            "Modifiers with lengths in the object's units look different afterwards: "
            f"{listed(other_units)}."
        )
    return " ".join(parts)


def mesh_scale(obj: bpy.types.Object) -> Float64s:
    """Shape (3,): the scale of an object relative to its parent, with its parent inverse."""
    own = own_scale(obj)
    if obj.parent is None or is_one(scale_of(np.array(obj.matrix_parent_inverse))):
        return own
    return scale_of(local_matrix(obj))


def plan_mesh_scale(
    subject: Subject, obj: bpy.types.Object, parent_inverse: Matrix | None = None
) -> MeshScalePlan:
    """See that the scale of a mesh object can be applied, and how.

    With the parent inverse P and the object's own transform T R S, O = A P T R S. Afterwards it is
    A P' T' R: P' turns as P does and scales nothing, T' is where P T was, and the vertices are
    multiplied by (P' R)^-1 P R S, linear parts all. The rotation stays, its keys with it.

    Args:
        parent_inverse: P to take in place of the object's own.

    Raises:
        FixError: it cannot be applied; the message says why.
    """
    require_free_scale(obj)
    require_children_can_follow(obj)
    if any(modifier.type == "MULTIRES" for modifier in obj.modifiers):
        raise FixError(f"{obj.name} has a Multiresolution modifier. Apply the scale by Ctrl A.")
    inverse = np.array(obj.matrix_parent_inverse) if parent_inverse is None else parent_inverse
    from_parent = scale_of(inverse) if obj.parent is not None else 1.0
    _require_unread_scale(subject, obj, own_scale(obj) * from_parent)
    before = local_matrix(obj, inverse)
    rigid = _without_scale(inverse) if obj.parent is not None else np.eye(4)
    basis = np.array(obj.matrix_basis, np.float64)
    rotation = basis[:3, :3] @ np.diag(1.0 / own_scale(obj))
    location = basis[:3, 3]
    if not is_one(scale_of(inverse)) and obj.parent is not None:
        if animated := animation_of(obj, "location", "delta_location"):
            raise FixError(
                f"The parent of {obj.name} scales it by its parent inverse, and its location is "
                f"animated by {animated}. Remove these keys or clear the parent inverse first."
            )
        location = np.linalg.solve(rigid[:3, :3], before[:3, 3] - rigid[:3, 3])
    change = np.eye(4)
    change[:3, :3] = np.linalg.solve(rigid[:3, :3] @ rotation, before[:3, :3])
    return MeshScalePlan(obj, change, rigid, location - np.array(obj.delta_location))


def apply_mesh_scale(plan: MeshScalePlan) -> None:
    """Carry out a plan: the mesh with all its shape keys, its normals, its object, its children."""
    obj = plan.obj
    if shares_data(obj):
        obj.data = mesh_of(obj).copy()
    _transform_mesh(mesh_of(obj), plan.change)
    if obj.parent is not None:
        set_parent_inverse(obj, plan.parent_inverse)
    if np.abs(plan.location - np.array(obj.location)).max() > 0.0:
        obj.location = plan.location.tolist()
    clear_scale(obj)
    keep_children(obj, plan.change, {})


def _transform_mesh(mesh: bpy.types.Mesh, change: Matrix) -> None:
    """Multiply the vertices of a mesh and of all its shape keys, faces facing as before."""
    linear = change[:3, :3]
    mirrors = np.linalg.det(linear) < 0.0
    normals = None
    sizes = np.linalg.svd(linear, compute_uv=False)
    is_even = not mirrors and np.ptp(sizes) <= 1e-6 * sizes[0]
    # An even scale turns no normal, and custom normals are kept relative to those of the faces.
    if mesh.has_custom_normals and not is_even:
        normals = read_property(mesh.corner_normals, "vector", np.float32, (3,))
        normals = normals @ np.linalg.inv(linear)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    mesh.transform(change.T.tolist(), shape_keys=True)
    if mirrors:
        mesh.flip_normals()
    if normals is not None:
        if mirrors:
            normals = normals[_corners_after_flip(mesh)]
        mesh.normals_split_custom_set(cast("list[list[float]]", normals.tolist()))
    mesh.update()


def _corners_after_flip(mesh: bpy.types.Mesh) -> Indices:
    """Shape (c,): where each corner was before the faces were flipped: the first one stays."""
    starts = read_property(mesh.polygons, "loop_start", np.int32)
    totals = read_property(mesh.polygons, "loop_total", np.int32)
    start, total = np.repeat(starts, totals), np.repeat(totals, totals)
    place = np.arange(len(mesh.loops)) - start
    return start + (total - place) % total


def _without_scale(matrix: Matrix) -> Matrix:
    """The same place and turn, by the polar decomposition; never mirrored.

    Where only the axes' sizes and signs differ from the identity nothing is turned: the mesh takes
    signs as well as sizes.
    """
    rigid = np.array(matrix, np.float64)
    linear = rigid[:3, :3]
    if np.abs(linear - np.diag(np.diag(linear))).max() <= 1e-6 * np.abs(linear).max():
        rigid[:3, :3] = np.eye(3)
        return rigid
    if np.linalg.det(linear) < 0.0:
        linear = linear @ np.diag([-1.0, 1.0, 1.0])
    left, _, right = np.linalg.svd(linear)
    rigid[:3, :3] = left @ right
    return rigid


# Curve modifiers that act on times, or on whatever the keys give.
_LINEAR_MODIFIERS = frozenset({"CYCLES", "STEPPED"})


def _armature_question(obj: bpy.types.Object) -> str:
    """The question before the scale of an armature object is applied; empty without one."""
    parts, scale = scale_questions(obj), own_scale(obj)
    curves = [curve for curve, _ in _curves(obj, scale)]
    if curves:
        actions = sorted({each.played.action.name for each in curves if each.played is not None})
        parts.append(
            f"In {listed(actions)}, {counted(_key_count(curves), 'key')} will be multiplied, "
            "so that the animation looks the same."
        )
    if not is_equal(scale) and (_is_posed(obj) or any(bone_curves(all_actions(obj)))):
        parts.append(
            "The scale differs along the axes: poses and animation will look different, for "
            "bones cannot be sheared. Only the rest pose is kept."
        )
    return " ".join(parts)


def _is_posed(obj: bpy.types.Object) -> bool:
    """Whether the channels of any bone move it."""
    pose: Any = obj.pose
    return any(np.abs(np.array(bone.matrix_basis) - np.eye(4)).max() > 1e-6 for bone in pose.bones)


def _key_count(curves: Iterable[BoneCurve]) -> int:
    return sum(len(each.curve.keyframe_points) for each in curves)


def _apply_armature_scale(obj: bpy.types.Object, curves: list[tuple[BoneCurve, float]]) -> None:
    """Write the scale of an armature object into bones, pose and animation; children stay.

    With the object's scale S, O = O' S. The bones' rest matrices A become A' so that heads and
    tails stay where they are in the world, and a bone's pose in the world is times
    G = A'^-1 S A what it was: for an equal scale of size u that is u F, where F is the identity,
    or, for a scale that mirrors, the reflection of the bone's X axis. So a bone's own channels
    become F M F with u times the location: signs and factors, exact for every key, its handles and
    what lies between. An unequal scale has no such answer: rotated bones would have to be sheared.

    Args:
        curves: the F-Curves of bones' channels to multiply, and by what.
    """
    scale = own_scale(obj)
    if shares_data(obj):
        obj.data = armature_of(obj).copy()
        bpy.context.view_layer.update()
    before = _rest(obj)
    lengths = {bone.name: bone.length for bone in armature_of(obj).bones}
    _scale_rest_bones(obj, scale)
    after = _rest(obj)
    change = scaled(scale)
    factors = {name: np.linalg.solve(after[name], change @ rest) for name, rest in before.items()}
    for curve, factor in curves:
        multiply_values(curve.curve, factor)
    _scale_pose(obj, scale, factors)
    clear_scale(obj)
    keep_children(obj, change, {name: (each, lengths[name]) for name, each in factors.items()})


def _rest(obj: bpy.types.Object) -> dict[str, Matrix]:
    return {bone.name: np.array(bone.matrix_local, np.float64) for bone in armature_of(obj).bones}


def _curves(obj: bpy.types.Object, scale: Float64s) -> Iterator[tuple[BoneCurve, float]]:
    factors: dict[tuple[str, int], float] = {}
    for curve in bone_curves(all_actions(obj)):
        key = (curve.channel, curve.index)
        if key not in factors:
            factors[key] = _channel_factor(*key, scale)
        if factors[key] != 1.0:
            yield curve, factors[key]


def _require_linear(obj: bpy.types.Object, curves: list[BoneCurve]) -> None:
    """See that multiplied keys multiply the played scale by the same factor."""
    actions = {id(curve.played): curve.played for curve in curves if curve.played is not None}
    tracks = obj.animation_data.nla_tracks if obj.animation_data is not None else ()
    strips = [strip for track in tracks for strip in track.strips if strip.action is not None]
    for played in actions.values():
        require_own_action(played.action, played.other_users(obj))
        for strip in strips:
            if strip.action == played.action and strip.blend_type == "MULTIPLY":
                raise FixError(
                    f"The NLA strip {strip.name} multiplies locations of bones, which cannot be "
                    "scaled. Set its Blending to another mode first."
                )
    for curve in curves:
        modifiers = [m.type for m in curve.curve.modifiers if m.type not in _LINEAR_MODIFIERS]
        if (modifiers or len(curve.curve.sampled_points)) and curve.played is not None:
            what = "curve modifiers" if modifiers else "sampled curves"
            raise FixError(
                f"The action {curve.played.action.name} has {what} on {curve.channel} of "
                f"{curve.bone}, which cannot be scaled. Bake them to keys first."
            )


def _meshes(subject: Subject, obj: bpy.types.Object, scale: Float64s) -> Iterator[MeshScalePlan]:
    """The meshes below an armature, deformed by it, whose scale can be applied with it."""
    for child in kept_children(obj):
        modifier = armature_modifier(child) if child.type == "MESH" else None
        if modifier is None or modifier.object != obj or not is_one(mesh_scale(child)):
            continue
        # As it will be when children have been kept in place.
        inverse = scaled(scale) @ np.array(child.matrix_parent_inverse)
        with suppress(FixError):
            if not _mesh_question(child):
                yield plan_mesh_scale(subject, child, inverse)


# Which sign a channel's components take when a bone's X axis is reflected: a rotation's axis is
# turned about as a mirror image is.
_MIRROR_SIGNS: dict[str, tuple[float, ...]] = {
    "location": (-1.0, 1.0, 1.0),
    "rotation_quaternion": (1.0, 1.0, -1.0, -1.0),
    "rotation_euler": (1.0, -1.0, -1.0),
    "rotation_axis_angle": (1.0, 1.0, -1.0, -1.0),
    "bbone_rollin": (-1.0,),
    "bbone_rollout": (-1.0,),
    "bbone_curveinx": (-1.0,),
    "bbone_curveoutx": (-1.0,),
}
# The channels that are lengths.
_LENGTHS = frozenset(
    {"location", "bbone_curveinx", "bbone_curveoutx", "bbone_curveinz", "bbone_curveoutz"}
)
_CURVED = [name for name in _LENGTHS | _MIRROR_SIGNS.keys() if name.startswith("bbone")]
_ROTATIONS = [name for name in _MIRROR_SIGNS if name.startswith("rotation")]


def _is_plain(scale: Float64s) -> bool:
    """Whether a scale is positive and equal along all axes."""
    return is_equal(scale) and bool((scale > 0.0).all())


def _mirrors(scale: Float64s) -> bool:
    """Whether a scale turns right into left: an odd number of its axes is negative."""
    return bool(np.prod(np.sign(scale)) < 0.0)


def _channel_factor(channel: str, index: int, scale: Float64s) -> float:
    """The factor for a component of a bone's channel.

    For an unequal scale a length takes the mean size: there is no right factor.
    """
    factor = float(np.abs(scale).mean()) if channel in _LENGTHS else 1.0
    if _mirrors(scale) and channel in _MIRROR_SIGNS:
        factor *= _MIRROR_SIGNS[channel][index]
    return factor


def _scale_rest_bones(obj: bpy.types.Object, scale: Float64s) -> None:
    """Give the rest bones the scale: heads and tails, rolls, and every length that they have."""
    armature = armature_of(obj)
    size = float(np.abs(scale).mean())
    if _is_plain(scale):
        armature.transform(cast("BlenderMatrix", scaled(scale).tolist()))
        armature.update_tag()  # which Blender leaves to us
    else:
        _scale_by_edit_mode(obj, scale)
    for bone in armature.bones:
        for name in _CURVED:
            setattr(bone, name, getattr(bone, name) * _channel_factor(name, 0, scale))
        if not _is_plain(scale):
            for name in ("bbone_x", "bbone_z", "head_radius", "tail_radius", "envelope_distance"):
                setattr(bone, name, getattr(bone, name) * size)


def _scale_by_edit_mode(obj: bpy.types.Object, scale: Float64s) -> None:
    """Heads and tails where they were in the world, Z axes likewise; X axes as bones have them."""
    matrix = BlenderMatrix(scaled(scale).tolist())
    with edited_bones(obj) as bones:
        places = [
            (bone, matrix @ bone.head, matrix @ bone.tail, matrix @ bone.z_axis) for bone in bones
        ]
        for bone, head, tail, _ in places:
            bone.head, bone.tail = head, tail
        for bone, _, _, z_axis in places:
            bone.align_roll(z_axis)


def _scale_pose(obj: bpy.types.Object, scale: Float64s, factors: dict[str, Matrix]) -> None:
    """Give the current pose the scale."""
    pose: Any = obj.pose
    size = float(np.abs(scale).mean())
    for bone in pose.bones:
        bone.location = (factors[bone.name][:3, :3] @ np.array(bone.location)).tolist()
        for channel in _CURVED:
            setattr(bone, channel, getattr(bone, channel) * _channel_factor(channel, 0, scale))
        for channel in _ROTATIONS if _mirrors(scale) else ():
            values = np.array(getattr(bone, channel)) * _MIRROR_SIGNS[channel]
            setattr(bone, channel, values.tolist())
        # Custom shapes that are not drawn in bone lengths have a size of their own.
        bone.custom_shape_translation = [size * v for v in bone.custom_shape_translation]
        if not bone.use_custom_shape_bone_size:
            bone.custom_shape_scale_xyz = [size * v for v in bone.custom_shape_scale_xyz]


_WORLD_SCALE = frozenset({"COPY_SCALE", "COPY_TRANSFORMS", "LIMIT_SCALE"})
# The lengths of a bone's constraints in the space of its owner.
_OWNER_LENGTHS = {
    "LIMIT_LOCATION": ("min_x", "min_y", "min_z", "max_x", "max_y", "max_z"),
    "LIMIT_DISTANCE": ("distance",),
    "FLOOR": ("offset",),
}
# Constraints of bones with a length in the armature's units, or a matrix, whatever the space.
_OWN_LENGTHS = frozenset({"CHILD_OF", "STRETCH_TO"})
# Modifiers that act by the scale of another object, or were bound to it with its scale.
_BY_SCALE_OF_OBJECT = frozenset(
    {"ARRAY", "CAST", "DISPLACE", "HOOK", "MESH_DEFORM", "NODES", "SURFACE_DEFORM", "UV_PROJECT"}
    | {"UV_WARP", "VERTEX_WEIGHT_PROXIMITY", "WARP", "WAVE"}
)
# Those that do by an unequal or negative scale alone.
_BY_UNEQUAL_SCALE = frozenset({"SHRINKWRAP", "SIMPLE_DEFORM"})


def _require_unread_scale(
    subject: Subject, obj: bpy.types.Object, scale: Float64s, channels: Collection[str] = ()
) -> None:
    """See that nothing depends on the scale of an object.

    Args:
        subject: of the check or the fix.
        scale: shape (3,), that is to be applied.
        channels: those of an armature object's bones whose numbers change with the scale.

    Raises:
        FixError: constraints, drivers or modifiers do; it names them.
    """
    found = [
        *_constraint_readers(subject, obj, _is_plain(scale)),
        *subject.once(_driver_readers).get(obj.session_uid, ()),
        *(f"drivers of {each.bone}" for each in bone_drivers(obj) if each.channel in channels),
        *_modifier_readers(subject, obj, _is_plain(scale)),
    ]
    if found:
        raise FixError(
            f"Its scale is read by {listed(list(dict.fromkeys(found)))}. Remove these first and "
            "add them again afterwards, or keep the scale."
        )


def _constraint_readers(subject: Subject, obj: bpy.types.Object, plain: bool) -> Iterator[str]:
    """Constraints, with their owners."""
    for owner, constraint in subject.once(_every_constraint):
        if is_hidden(constraint.id_data):  # palettes are made anew
            continue
        if constraint.id_data == obj and constraint.path_from_id().startswith("pose."):
            reads = not plain or _has_armature_lengths(constraint)
        else:
            reads = _takes_scale(constraint, obj, plain)
        if reads:
            yield f"{constraint.name} of {owner}"


def _every_constraint() -> list[tuple[str, Any]]:
    return list(all_constraints())


def _has_armature_lengths(constraint: Any) -> bool:
    """Whether a bone's constraint depends on the scale of its own armature object."""
    kind, in_world = constraint.type, constraint.owner_space == "WORLD"
    if kind in _OWN_LENGTHS or (_reads(constraint, "LOCATION") and not _is_from_world(constraint)):
        return True
    if kind in _WORLD_SCALE:
        return in_world and getattr(constraint, "target", None) != constraint.id_data
    lengths = any(getattr(constraint, name) for name in _OWNER_LENGTHS.get(kind, ()))
    return not in_world and (lengths or getattr(constraint, "map_to", "") == "LOCATION")


def _takes_scale(constraint: Any, obj: bpy.types.Object, plain: bool) -> bool:
    """Whether a constraint that is not of its own bones depends on the scale of an object."""
    spaces = (constraint.owner_space, getattr(constraint, "target_space", ""))
    if "CUSTOM" in spaces and constraint.space_object == obj:
        return True
    # Transform Cache and the like have no target.
    if getattr(constraint, "target", None) != obj:
        return False
    if constraint.type == "CHILD_OF" and (not plain or _follows_scale(constraint)):
        return True
    by_scale = constraint.type in _WORLD_SCALE or _reads(constraint, "SCALE")
    return by_scale or not _is_from_world(constraint)


def _follows_scale(constraint: Any) -> bool:
    return any(getattr(constraint, f"use_scale_{axis}") for axis in "xyz")


def _reads(constraint: Any, channel: str) -> bool:
    """Whether an Action or Transformation constraint reads this channel of its target."""
    names = (getattr(constraint, name, "") for name in ("map_from", "transform_channel"))
    return any(name.startswith(channel) for name in names)


def _is_from_world(constraint: Any) -> bool:
    return getattr(constraint, "target_space", "WORLD") == "WORLD"


def _driver_readers() -> dict[int, list[str]]:
    """By the session_uid of objects: drivers that read their scale, or a length of their bones."""
    found: dict[int, list[str]] = {}
    for owner in animated():
        for curve in drivers(owner):
            for variable in curve.driver.variables:
                for target in variable.targets:
                    if target.id is not None and _is_length(variable, target):
                        found.setdefault(target.id.session_uid, []).append(
                            f"drivers of {owner.name}"
                        )
    return found


def _is_length(variable: Any, target: Any) -> bool:
    if variable.type == "SINGLE_PROP":
        path = re.sub(r"\[\d+\]$", "", target.data_path)
        place = bone_channel(path)
        return path in {"scale", "delta_scale"} or (place is not None and place[1] == "location")
    in_world = target.transform_space == "WORLD_SPACE"
    if variable.type == "TRANSFORMS" and target.transform_type.startswith("SCALE"):
        return in_world or not target.bone_target
    is_place = variable.type == "LOC_DIFF" or target.transform_type in LOCATION_TYPES
    return is_place and bool(target.bone_target) and not in_world


def _modifier_readers(subject: Subject, obj: bpy.types.Object, plain: bool) -> Iterator[str]:
    """Modifiers of other objects, and the hooks of its own, with their owners."""
    others = subject.once(modifiers_by_object).get(obj.session_uid, ())
    hooks = [(obj.name, modifier) for modifier in obj.modifiers if modifier.type == "HOOK"]
    for name, modifier in (*others, *hooks):
        kind: str = modifier.type
        # Shrinkwrap has its offset in units of its target.
        uneven = kind in _BY_UNEQUAL_SCALE and (not plain or getattr(modifier, "offset", 0.0))
        if kind in _BY_SCALE_OF_OBJECT or uneven:
            yield f"{modifier.name} of {name}"


CHECK = Check(
    "object_scale",
    find,
    {"apply_mesh_scale": _apply_to_mesh, "apply_armature_scale": _apply_to_armature},
)
