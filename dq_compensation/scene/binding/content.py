"""Digests of the input of a deformation: they show whether a result is still up to date.

*Structure* is cheap: names, counts, the Armature modifier, the bones at rest. No vertex is read.
*Content* is deep: the arrays that binding has read. Each part has a digest of its own, so that a
difference has a name. Digests say the same in every session: they are kept in the file.

*Signatures* are numbers that hold for the session: equal where nobody has edited an object, or its
mesh. Blender names both when a setting is changed, as if they had been edited.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.soft_proof import LessSoft
from ...arrays import Float32s, Indices
from ...core.vectors import extent
from ...wording import listed
from ..blender.animation_curves import animated_paths
from ..blender.armature import armature_of, bendy_state, envelope_state, rest_state
from ..blender.mesh import (
    AttributeType,
    VertexGroupWeights,
    mesh_of,
    read_attribute,
    read_positions,
    read_properties,
    read_property,
    read_weights,
    write_attribute,
)
from ..blender.own_objects import SOFT_COPY_PROPERTY, is_hidden, record_in
from ..blender.rna_properties import data_used_by, node_inputs, plain_values, properties_of
from ..blender.skinned_object import SkinnedObject
from ..settings.object_settings import (
    CHARACTER_CHOICES,
    FOLLOWED_SETTINGS,
    Settings,
    settings_of,
)
from ..stack import stack_of, written_settings
from .kept_shapes import digest_of_shapes
from .shape_key_offsets import example_items, shape_key_signature, written_by_drivers

# The soft copy of an object: a hidden mesh with its vertices, which has the soft weights.
#
# `Object.dq_compensation.softness` leaves the painted weights alone, so the soft ones are here, in
# vertex groups that an ordinary Armature modifier of the copy reads: with COMPENSATED it is the
# base of the modifier display.
#
# Vertices that shape keys or modifiers move are there four times: at rest, and a step along each
# axis. The Armature modifier moves a vertex by an affine map, and these four points say which: it
# takes any shape to where the modifier would have taken it.
#
# Bendy bones move vertices by other maps from place to place: with them the copy has the shape
# keys, too, instead of these points, where nothing else moves the vertices.


# A custom property of an object: what its modifier was made for; and what is there of the others.
STATE_PROPERTY = "dq_compensation_made_for"
OTHER_MESHES = "other meshes"

# A custom property of the copy's mesh: what its weights were made from.
RECORD_PROPERTY = "dq_compensation_soft_weights_of"
# In that record: whether it has shape keys instead of steps.
KEYS_IN_RECORD = "keys"
# Likewise, what was found: the bones that kept their weights as parts of a face, the digest of the
# weights, and the joints at which these act less softly, once that was proved.
FEATURES_PROPERTY = "dq_compensation_features"
LESS_SOFT = "less soft"
# Attributes of its points: of a vertex that varies the first one of its steps, and where it is.
STEPS, REST = ".dqs_steps", ".dqs_rest"
# How far the step goes, in sizes of the mesh: far enough for rounding, near enough for bendy bones.
_STEP = 0.01


def soft_copy(skinned: SkinnedObject) -> bpy.types.Object | None:
    """The soft copy that an object points to; None without one."""
    copy = skinned.before_enable.soft_copy
    is_whole = copy is not None and is_hidden(copy, SOFT_COPY_PROPERTY) and copy.data is not None
    return copy if is_whole else None


def record_of(skinned: SkinnedObject) -> dict[str, Any]:
    """What the soft weights of an object were made from; empty where there are none."""
    copy = soft_copy(skinned)
    return record_in(mesh_of(copy), RECORD_PROPERTY) if copy is not None else {}


def softness_of(skinned: SkinnedObject) -> float:
    """The softness that is to be seen: 0 where the deformation is shown as painted."""
    return 0.0 if skinned.settings.as_painted else skinned.settings.softness


def keeps_soft_weights(skinned: SkinnedObject) -> bool:
    """Whether an object is to have soft weights, shown or not."""
    settings = written_settings(skinned.obj)
    return settings is not None and settings.is_enabled and settings.softness > 0.0


def acting_soft_copy(skinned: SkinnedObject) -> bpy.types.Object | None:
    """The soft copy whose weights move an object now; None where the painted ones do."""
    if skinned.settings.as_painted or not keeps_soft_weights(skinned):
        return None
    count = record_of(skinned).get("vertices")
    return soft_copy(skinned) if count == len(skinned.mesh.vertices) else None


def copies_keys(skinned: SkinnedObject) -> bool:
    """Whether the soft copy of an object is to have its shape keys: bendy bones may move it."""
    keys = skinned.mesh.shape_keys
    if keys is None or not keys.use_relative or written_by_drivers(skinned.mesh):
        return False
    bones = skinned.armature.bones
    bends = read_property(bones, "bbone_segments", np.int32) > 1
    if not (bends & read_property(bones, "use_deform", np.bool_)).any():
        return False
    shaped = reshaping_modifiers(skinned) or followed_modifiers(skinned)
    by_example = Settings.of(skinned.obj).by_example and len(skinned.settings.examples)
    return not (shaped or by_example)


def read_soft_weights(copy: bpy.types.Object, vertex_count: int) -> VertexGroupWeights:
    """The weights in a soft copy, of the vertices of its object."""
    found = read_weights(mesh_of(copy))
    own = found.vertices < vertex_count
    of_vertices = found.vertices[own], found.groups[own], found.weights[own]
    return VertexGroupWeights(*of_vertices, vertex_count)


def digest_of_found_weights(copy: bpy.types.Object) -> str:
    """The digest of the weights in a soft copy, as it was kept; equal ones have the same."""
    return record_in(mesh_of(copy), FEATURES_PROPERTY).get("weights", "")


def less_soft_joints(skinned: SkinnedObject) -> list[LessSoft] | None:
    """The joints at which the proof of the soft weights of an object found that they act less.

    None where it was not made.
    """
    copy = soft_copy(skinned)
    found = {} if copy is None else record_in(mesh_of(copy), FEATURES_PROPERTY)
    return [LessSoft(*each) for each in found[LESS_SOFT]] if LESS_SOFT in found else None


def less_soft_by_name(skinned: SkinnedObject) -> dict[str, LessSoft]:
    """What the proof found of the soft weights that an object keeps, by the names of the bones."""
    found = less_soft_joints(skinned) if keeps_soft_weights(skinned) else None
    if not found:
        return {}
    names = skinned.armature.bones.keys()
    return {names[each.bone]: each for each in found if each.bone < len(names)}


def write_points(copy: bpy.types.Object, rest: Float32s, varying: Indices) -> Indices:
    """Write the points of a soft copy without shape keys, without weights.

    Args:
        rest: shape (n, 3), object space.
        varying: the vertices whose shape varies: they have steps.

    Returns:
        the vertex of each point.
    """
    mesh, count = mesh_of(copy), len(rest)
    steps = rest[varying][:, None] + np.eye(3) * _step(rest)
    points = np.concatenate((rest, steps.reshape(-1, 3))).astype(np.float32)
    mesh.clear_geometry()
    copy.vertex_groups.clear()  # of no vertex, that costs nothing
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.reshape(-1))
    if len(varying):
        first = np.zeros(len(points), np.int32)
        first[varying] = count + 3 * np.arange(len(varying))
        write_attribute(mesh, STEPS, first)
        write_attribute(mesh, REST, points)
    return np.concatenate((np.arange(count), np.repeat(varying, 3)))


def step_of(copy: bpy.types.Object, vertex_count: int) -> float:
    """How far the steps of a soft copy go along the axes; 0 without any."""
    if STEPS not in mesh_of(copy).attributes:
        return 0.0
    return _step(read_positions(mesh_of(copy))[:vertex_count])


def _step(rest: Float32s) -> float:
    return _STEP * (extent(rest) or 1.0)


# The modifiers before the Armature modifier: what they change, and what is followed of it.
#
# Where one of them changes vertices, weights or the shape, an object is bound to the mesh as it
# comes into the Armature modifier (`followed_mesh`), not to its own mesh. *Followed* are those that
# make other vertices or weights, *reshaping* those that may move vertices in each frame.


# Modifiers that move vertices and leave every vertex what it is.
_DEFORM = frozenset(
    {"CAST", "CORRECTIVE_SMOOTH", "CURVE", "DISPLACE", "HOOK", "LAPLACIANDEFORM"}
    | {"LAPLACIANSMOOTH", "LATTICE", "MESH_CACHE", "MESH_DEFORM", "SHRINKWRAP", "SIMPLE_DEFORM"}
    | {"SMOOTH", "SOFT_BODY", "SURFACE_DEFORM", "WARP", "WAVE"}
)
MOVING = _DEFORM | {"ARMATURE", "CLOTH", "COLLISION", "PARTICLE_SYSTEM", "SURFACE"}
"""The modifiers that give the mesh that they get, with moved vertices; all others make one."""
# Modifiers that move vertices, in each frame, and may make others, too.
_SIMULATE = frozenset({"CLOTH", "FLUID", "MESH_SEQUENCE_CACHE", "OCEAN"})
# Modifiers that leave every vertex what it is, and where it is.
_KEEP_SHAPE = frozenset(
    {"ARMATURE", "DATA_TRANSFER", "NORMAL_EDIT", "UV_PROJECT", "UV_WARP", "WEIGHTED_NORMAL"}
)
# Modifiers that make the same of a mesh in each frame, but for what animates them or what they use.
_SAME_IN_FRAMES = frozenset(
    {"ARRAY", "BEVEL", "BOOLEAN", "DECIMATE", "EDGE_SPLIT", "MASK", "MIRROR", "MULTIRES", "REMESH"}
    | {"SCREW", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "WELD", "WIREFRAME"}
    | {"VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY"}
)
_SET_POSITION = "GeometryNodeSetPosition"
# Nodes that give a geometry with the vertices that they got.
_KEEPING_NODES = frozenset(
    {"NodeGroupInput", "NodeReroute", "GeometryNodeGroup", "GeometryNodeSwitch"}
    | {"GeometryNodeCaptureAttribute", "GeometryNodeSetID", "GeometryNodeSetMaterial"}
    | {"GeometryNodeSetMaterialIndex", "GeometryNodeSetMeshNormal", _SET_POSITION}
    | {"GeometryNodeSetShadeSmooth", "GeometryNodeStoreNamedAttribute"}
)
# Of a modifier: how it looks in the interface, and how long it took.
_NOT_SETTINGS = frozenset(
    {"name", "is_active", "show_expanded", "show_in_editmode", "show_on_cage", "execution_time"}
    | {"show_render", "use_pin_to_last", "persistent_uid", "is_override_data"}
)


def modifiers_read(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier whose result is bound, in order; cheap.

    Those that are on in the viewport and are followed, or move vertices.
    """
    shown = [each for each in skinned.modifiers_before if each.show_viewport]
    return [each for each in shown if _reshapes(each) or not _keeps_mesh(each, skinned.obj)]


def reshaping_modifiers(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that may move vertices in each frame, in order.

    Those that are on in the viewport or in renders. Cheap.
    """
    return [each for each in skinned.modifiers_before if acts(each) and _reshapes(each)]


def followed_modifiers(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that change vertices or weights, in order.

    Those that are on in the viewport; empty when there is no Armature modifier. Cheap.
    """
    shown = [each for each in skinned.modifiers_before if each.show_viewport]
    return [each for each in shown if not _keeps_mesh(each, skinned.obj)]


def writes_weights(skinned: SkinnedObject) -> bool:
    """Whether modifiers before the Armature modifier give vertices other weights; cheap."""
    return any(
        each.type == "NODES" or each.type.startswith("VERTEX_WEIGHT") or _transfers_weights(each)
        for each in followed_modifiers(skinned)
    )


def may_differ_in_frames(skinned: SkinnedObject) -> bool:
    """Whether modifiers before the Armature modifier may make other vertices in other frames.

    But for their own animation, which is the object's.
    """
    before = skinned.modifiers_before
    if all(_keeps_mesh(each, skinned.obj) for each in before):
        return False
    same = _SAME_IN_FRAMES | (_KEEP_SHAPE - {"ARMATURE"})
    return skinned.mesh.shape_keys is not None or any(
        each.type not in same or any(True for _ in _pointers(each)) for each in before
    )


def acts(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is turned on in the viewport or in renders."""
    return modifier.show_viewport or modifier.show_render


def examples_refusal(skinned: SkinnedObject) -> str | None:
    """Why example poses do not act on an object that can be deformed, or None; cheap."""
    return _refusal_of_followed(skinned, "Example poses")


def shapes_refusal(skinned: SkinnedObject) -> str | None:
    """Likewise of solved shapes."""
    return _refusal_of_followed(skinned, "Solved shapes")


def _refusal_of_followed(skinned: SkinnedObject, what: str) -> str | None:
    names = listed([each.name for each in followed_modifiers(skinned)])
    if not names:
        return None
    return (
        f"{what} do not act on {skinned.obj.name}, which gets other vertices from {names}. "
        f"Apply {names}, or move the Armature modifier above."
    )


def differing_in_renders(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that make another mesh in renders."""
    return [
        each
        for each in skinned.modifiers_before
        if acts(each)
        and not _keeps_mesh(each, skinned.obj)
        and (each.show_viewport != each.show_render or _has_other_levels(each))
    ]


def other_renders_warning(obj: bpy.types.Object) -> str | None:
    """Why renders do not show the deformation of an enabled object, and what to do, or None."""
    skinned = SkinnedObject(obj)
    names = listed([each.name for each in differing_in_renders(skinned)])
    if not names:
        return None
    return (
        f"{obj.name} gets another mesh from {names} in renders, where the Armature modifier alone "
        f"deforms it. Give {names} the same settings in the viewport and in renders."
    )


def signature_before(skinned: SkinnedObject) -> tuple[object, ...]:
    """The value that changes with the settings of what is read, and with the objects it uses.

    Empty when nothing is read. Settings that are animated have their current values where vertices
    are followed. Modifiers that only move vertices are asked for settings that no frame changes:
    where they move them is read in every frame, by the node tree.
    """
    obj, before = skinned.obj, skinned.modifiers_before
    if not before:
        return ()
    read, reshaping = modifiers_read(skinned), reshaping_modifiers(skinned)
    if not (read or reshaping):
        return ()
    simplify = bpy.context.scene.render
    levels = simplify.simplify_subdivision if simplify.use_simplify else None
    followed, animated = followed_modifiers(skinned), animated_paths(obj) if reshaping else {}
    found: list[object] = [levels, bool(reshaping)]
    for each in before if read else ():
        if each.show_viewport:
            moves = each in reshaping and each not in followed
            still = not moves or not is_animated(each, animated)
            found.append((each.type, *(_settings_of(each, obj, places=not moves) if still else ())))
    return tuple(found)


def is_animated(modifier: bpy.types.Modifier, paths: Collection[str]) -> bool:
    """Whether a setting of a modifier is among these data paths of its object."""
    owner = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    return any(path.startswith(owner) for path in paths)


def used_data(skinned: SkinnedObject) -> Iterator[bpy.types.ID]:
    """The data-blocks that an edit can change what is read of an object by: objects, data, trees.

    Of modifiers that only move vertices, those that no frame changes: where vertices are moved is
    read in every frame, by the node tree.
    """
    for modifier in modifiers_read(skinned):
        is_followed = not _keeps_mesh(modifier, skinned.obj)
        for used in _pointers(modifier):
            data = getattr(used, "data", used)
            if is_followed:
                yield used
            elif isinstance(data, bpy.types.ID) and _changes_by_frame(data):
                continue
            if isinstance(data, bpy.types.ID):
                yield data


def _changes_by_frame(data: bpy.types.ID) -> bool:
    keys = getattr(data, "shape_keys", None)
    return any(each is not None and bool(animated_paths(each)) for each in (data, keys))


def _has_other_levels(modifier: bpy.types.Modifier) -> bool:
    levels, in_renders = (getattr(modifier, name, 0) for name in ("levels", "render_levels"))
    return modifier.type in {"SUBSURF", "MULTIRES"} and levels != in_renders


def _keeps_mesh(modifier: bpy.types.Modifier, obj: bpy.types.Object) -> bool:
    """Whether a modifier of an object keeps all vertices and the weights of its groups."""
    if modifier.type == "NODES":
        tree = cast("bpy.types.NodesModifier", modifier).node_group
        return tree is None or _tree_keeps_mesh(tree, obj)
    kept = modifier.type in _KEEP_SHAPE or modifier.type in _DEFORM
    return kept and not _transfers_weights(modifier)


def _reshapes(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier may move vertices, in each frame to another place."""
    if modifier.type == "NODES":
        tree = cast("bpy.types.NodesModifier", modifier).node_group
        return tree is not None and not _tree_keeps_shape(tree)
    if modifier.type == "ARMATURE":
        return cast("bpy.types.ArmatureModifier", modifier).object is not None
    return modifier.type in _DEFORM or modifier.type in _SIMULATE


def _transfers_weights(modifier: bpy.types.Modifier) -> bool:
    if modifier.type != "DATA_TRANSFER":
        return False
    transfer = cast("bpy.types.DataTransferModifier", modifier)
    return transfer.use_vert_data and "VGROUP_WEIGHTS" in transfer.data_types_verts


def _tree_keeps_mesh(tree: bpy.types.NodeTree, obj: bpy.types.Object) -> bool:
    for node in _all_nodes(tree, set()):
        if _makes_geometry(node) and node.bl_idname not in _KEEPING_NODES:
            return False
        if node.bl_idname == "GeometryNodeStoreNamedAttribute" and not node.mute:
            name = node.inputs["Name"]
            if name.is_linked or name.default_value in obj.vertex_groups:
                return False
    return True


def _tree_keeps_shape(tree: bpy.types.NodeTree) -> bool:
    """Whether a tree of nodes moves no vertex and makes none."""
    kinds = {node.bl_idname for node in _all_nodes(tree, set()) if _makes_geometry(node)}
    return kinds <= _KEEPING_NODES - {_SET_POSITION}


def _makes_geometry(node: Any) -> bool:
    """Whether a node acts and gives a geometry to others."""
    return not node.mute and any(o.type == "GEOMETRY" and o.is_linked for o in node.outputs)


def _all_nodes(tree: bpy.types.NodeTree, seen: set[str]) -> Iterator[Any]:
    """The nodes of a tree and of the groups in it, those of each tree once."""
    seen.add(tree.name)
    nodes: list[Any] = list(tree.nodes)
    yield from nodes
    for node in nodes:
        inner = node.node_tree if node.type == "GROUP" else None
        if inner is not None and inner.name not in seen:
            yield from _all_nodes(inner, seen)


def _settings_of(
    modifier: bpy.types.Modifier, obj: bpy.types.Object, *, places: bool
) -> list[object]:
    """The settings of a modifier, and what it uses, with the `places` of objects among that."""
    found: list[object] = []
    for _, value in properties_of(modifier, _NOT_SETTINGS):
        if not isinstance(value, bpy.types.ID):
            found.append(value if isinstance(value, bool | int | float | str | list) else value[:])
    for used in _pointers(modifier):
        found.append(used.name)
        if places and isinstance(used, bpy.types.Object):
            found.append(_place(used, obj))
    found += [str(each) for each in _inputs(modifier)]
    return found


def _place(used: bpy.types.Object, obj: bpy.types.Object) -> list[float]:
    """Where an object is relative to another one, rounded: both may move together."""
    matrix = np.array(obj.matrix_world.inverted_safe() @ used.matrix_world)
    return (np.round(matrix, 4) + 0.0).ravel().tolist()


def _pointers(modifier: bpy.types.Modifier) -> Iterator[bpy.types.ID]:
    yield from data_used_by(modifier)
    yield from (value for value in _inputs(modifier) if isinstance(value, bpy.types.ID))


def _inputs(modifier: bpy.types.Modifier) -> Iterator[Any]:
    return node_inputs(modifier) if isinstance(modifier, bpy.types.NodesModifier) else iter(())


# Digests of the input of a deformation: they show whether a result is still up to date.


Digests = dict[str, str]

# What reconciling reads of an object itself, and of its settings.
_SIGNED_OF_OBJECT = ("name", "mode", "display_type", "visible_camera", "show_only_shape_key")
_SIGNED_SETTINGS = (
    *(name for name in CHARACTER_CHOICES if name not in FOLLOWED_SETTINGS),
    *("overlay", "support_bone", "softness_group", "as_painted", "lies_on", "by_itself"),
    *("solved_bones", "solved_digest"),
)

_POSES = (("matrix", np.float32, (16,)), ("matrix_basis", np.float32, (16,)))
_AT_REST = (
    ("use_deform", np.bool_, ()),
    ("use_envelope_multiply", np.bool_, ()),
    ("bbone_segments", np.int32, ()),
    ("matrix_local", np.float32, (16,)),
    ("tail_local", np.float32, (3,)),
)

FOLLOWED = "modifiers before the Armature modifier"
SOFT_WEIGHTS = "soft weights"


def digest(*values: object) -> str:
    """A short text that is equal for equal values: arrays by their bytes, all else as it prints."""
    pieces: list[bytes | NDArray[Any]] = []
    for value in values:
        if isinstance(value, np.ndarray):
            pieces += [str(value.shape).encode(), np.ascontiguousarray(value)]
        else:
            pieces.append(repr(value).encode())
    return hashlib.blake2b(b"".join(pieces), digest_size=10).hexdigest()


def changed_digests(known: Mapping[str, Any], now: Mapping[str, str | None]) -> tuple[str, ...]:
    """The names of the parts whose digests are other ones now than those that are known."""
    return tuple(name for name, value in now.items() if known.get(name) != value)


def object_signature(obj: bpy.types.Object) -> int:
    """Equal while nobody has moved an object, or edited its modifiers, groups, drivers, settings.

    The attributes of its mesh count by their names, `FOLLOWED_SETTINGS` do not count.
    """
    settings, animation, modifiers = settings_of(obj), obj.animation_data, list[object]()
    roles = stack_of(obj).roles if len(obj.modifiers) else {}
    for each in obj.modifiers:
        inputs: list[object] = []
        if each.type == "NODES":
            inputs = list(node_inputs(cast("bpy.types.NodesModifier", each)))
        if each.name in roles:  # numbers follow settings
            inputs = [value for value in inputs if not isinstance(value, float)]
        modifiers.append((list(plain_values(each)), inputs))
    parts = (
        [getattr(obj, name) for name in _SIGNED_OF_OBJECT],
        [getattr(settings, name) for name in _SIGNED_SETTINGS],
        np.array(obj.matrix_world).tolist(),
        [(group.name, group.lock_weight) for group in obj.vertex_groups],
        [(each.name, each.data_type, each.domain) for each in getattr(obj.data, "attributes", ())],
        [
            (curve.data_path, curve.mute, curve.driver is None or curve.driver.type)
            for curve in (() if animation is None else animation.drivers)
        ],
        [] if animation is None else [(one.mute, one.is_solo) for one in animation.nla_tracks],
        animation is None or (animation.action and animation.action.session_uid),
        (obj.parent and obj.parent.session_uid, obj.parent_type, len(obj.constraints)),
        modifiers,
    )
    return hash(repr(parts))


def pose_signature(rig: bpy.types.Object) -> int:
    """Equal while nobody has moved or posed an armature object, or edited its bones."""
    armature = cast("bpy.types.Armature | None", rig.data)
    if armature is None:  # the file has lost it
        return object_signature(rig)
    poses = () if rig.pose is None else read_properties(rig.pose.bones, _POSES)
    names = armature.bones.keys()
    rest = rest_state(armature, names)
    return hash((object_signature(rig), *names, *rest, *(each.tobytes() for each in poses)))


def mesh_signature(mesh: bpy.types.Mesh, weights: VertexGroupWeights | None = None) -> int:
    """Equal while nobody has edited the shape, weights, faces or shape keys of a mesh.

    Args:
        weights: of the mesh, where they have just been read.
    """
    weights, keys, settings = weights or read_weights(mesh), mesh.shape_keys, list[object]()
    edges, corners, faces = len(mesh.edges), len(mesh.loops), len(mesh.polygons)
    arrays = [
        *(weights.vertices, weights.groups, weights.weights),
        read_attribute(mesh, "position", AttributeType.VECTOR, len(mesh.vertices)),
        read_attribute(mesh, ".edge_verts", AttributeType.INTEGER_PAIR, edges),
        read_attribute(mesh, "sharp_edge", AttributeType.BOOLEAN, edges),
        read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, corners),
        read_property(mesh.polygons, "loop_start", np.int32),
        read_attribute(mesh, "sharp_face", AttributeType.BOOLEAN, faces),
        read_attribute(mesh, "material_index", AttributeType.INTEGER, faces),
    ]
    for each in () if keys is None else keys.key_blocks:
        settings += [list(plain_values(each)), each.relative_key.name]
        arrays.append(read_property(each.points, "co", np.float32, (3,)))
    relative = keys is None or keys.use_relative
    return hash((repr((relative, settings)), *map(np.ndarray.tobytes, arrays)))


def structure_of(skinned: SkinnedObject) -> Digests:
    """The digests that are cheap to make, by the names of parts for riggers."""
    obj, mesh, modifier = skinned.obj, skinned.mesh, skinned.find_modifier()
    keys, is_soft = mesh.shape_keys, keeps_soft_weights(skinned)
    items = example_items(obj) if len(skinned.settings.examples) else ()
    counts = (len(mesh.vertices), len(mesh.edges), len(mesh.polygons), len(mesh.loops))
    found = {
        "mesh": digest(counts),
        "vertex groups": digest(obj.vertex_groups.keys()),
        "shape keys": digest(() if keys is None else shape_key_signature(keys)),
        "example poses": digest(items),
        "solved shapes": digest(digest_of_shapes(obj)),
        FOLLOWED: digest_of_modifiers_before(skinned),
        SOFT_WEIGHTS: digest_of_soft_weights(skinned) if is_soft else digest(None),
    }
    if modifier is not None and modifier.object is not None:
        mask = (modifier.vertex_group, modifier.invert_vertex_group)
        mixes = bool(skinned.mixed_modifiers)
        found["Armature modifier"] = digest(modifier.name, modifier.use_vertex_groups, mask, mixes)
        found["envelopes"] = digest(*envelope_state(modifier))
        found["bones"] = digest_of_bones(modifier.object)
    return found


def digest_of_modifiers_before(skinned: SkinnedObject) -> str:
    """A digest that changes where other modifiers come before the Armature modifier."""
    return digest(signature_before(skinned))


def digest_of_soft_weights(skinned: SkinnedObject) -> str:
    """The digest of what the soft weights that act on an object were made from."""
    copy = acting_soft_copy(skinned)
    return digest(None if copy is None else (record_of(skinned), digest_of_found_weights(copy)))


def digest_of_bones(armature: bpy.types.Object, *, named: bool = True) -> str:
    """The digest of the bones at rest: names, parents, Deform, segments, matrices and tails.

    Args:
        named: count the names; else bones are known by their places.
    """
    bones = armature_of(armature).bones
    called = {name: name if named else str(place) for place, name in enumerate(bones.keys())}
    parents = ["" if above is None else called[above.name] for above in (b.parent for b in bones)]
    read, bendy = read_properties(bones, _AT_REST), bendy_state(bones, called)
    return digest(list(called.values()), parents, *read, *bendy)
