"""Writes a baked crowd (posed meshes, table of poses, figures, node tree), and removes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import bpy
import numpy as np
from bpy.types import Collection, Depsgraph, Mesh, Modifier, NodesModifier, NodeTree, Object
from mathutils import Matrix

from ...arrays import Float32s, Float64s, Floats, Int64s
from ...core.pose import Pose
from ...core.vectors import transformed_points
from ...lifecycle.following import binding_with_current_softness
from ...modifier.attribute_names import PREFIX
from ...modifier.nodes.node_values import Geometry, Integer, Scalar, Socket, TreeBuilder, Vector
from ...modifier.users_settings import show_surface
from ...scene.binding.bind import followed_mesh
from ...scene.binding.binding import Binding
from ...scene.binding.numpy_evaluator import PosedDeformer
from ...scene.blender.armature import object_to_armature, world_matrix
from ...scene.blender.mesh import mesh_of, write_attribute
from ...scene.blender.own_objects import (
    HIDDEN_PROPERTY,
    POSE_TABLE_PROPERTY,
    keep_text,
    link_beside,
)
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.settings.object_settings import Settings
from ...scene.stack import is_own_modifier, own_modifiers
from ...viewport.members import motion_keys
from ..takes.played_takes import value_mesh
from ..takes.takes import LocalPoses, fitted
from .crowd_figures import Role
from .crowds import Figures, Program
from .known_crowds import CROWD_BAKE_PROPERTY
from .pose_choice import ChosenPoses

# Poses the meshes of a role at any time of its program, by NumPy.
#
# Times are in frames of the first take, `RoleMotion.lead` more than those of the program. From 0 to
# `RoleMotion.length` they show everything that figures of the role ever show: what comes before the
# loop, then the loop once.

# How many vertices of a mesh tell about how far it moves.
_PROBES = 400


@dataclass(frozen=True, eq=False)
class MeshMotion:
    """One mesh of a character, with the program that it plays.

    Attributes:
        object_uid: session_uid of the mesh object.
        program: fitted to the bones of the binding.
        to_armature: shape (4, 4), A^-1 O.
        to_world: shape (3, 3), from object space to the world, mm; of the largest figure.
        values: shape (m,), of the rows of the shape keys when nothing plays; None without keys.
        lead: the frames before the program that belong to it; see `role_motion`.
        take_driven: the row of each shape key that a take drives, and its place in
            `program.value_names`.
    """

    object_uid: int
    binding: Binding
    settings: Settings
    program: Program
    to_armature: Float64s
    to_world: Float64s
    values: Float32s | None
    lead: float
    take_driven: Mapping[int, int]

    def posed(self, time: float) -> Float64s:
        """The vertices at a time, shape (n, 3), object space."""
        times = np.array([time - self.lead])
        pose = Pose.from_matrices(self.program.poses(times)[0], self.binding.skeleton)
        deformer = PosedDeformer(self.binding, self.settings, pose, self.to_armature)
        return deformer(self.binding.shape(self._values(times, pose)))

    def in_world(self, time: float) -> Float32s:
        """The vertices at a time, shape (n, 3), mm along the world's axes."""
        return (self.posed(time) @ self.to_world.T).astype(np.float32)

    def steps(self, times: Float64s) -> Float64s:
        """About how far a vertex moves from each time to the next, mm, shape (T - 1,)."""
        influences = self.binding.influences
        every = slice(None, None, max(self.binding.vertex_count // _PROBES, 1))
        bones = influences.bones[every, 0]
        points = transformed_points(self.to_armature, self.binding.rest[every])
        poses = self.program.poses(times - self.lead)[:, bones]
        moved = np.einsum("tnij,nj->tni", poses[..., :3, :3], points) + poses[..., :3, 3]
        from_armature = self.to_world @ np.linalg.inv(self.to_armature[:3, :3])
        off = np.diff(moved @ from_armature.T, axis=0)
        return np.sqrt(np.einsum("tni,tni->tn", off, off).max(axis=1, initial=0.0))

    def _values(self, times: Float64s, pose: Pose) -> Float32s | None:
        if self.values is None:
            return None
        values = self.values.copy()
        if self.take_driven:
            of_takes = self.program.key_values(times)[0]
            for row, place in self.take_driven.items():
                values[row] = of_takes[place]
        examples = self.binding.acting_examples(self.settings)
        if examples is not None:
            values[examples.rows] = examples.values(pose)
        return values


@dataclass(frozen=True, eq=False)
class RoleMotion:
    """All meshes of a character, with the program of a role.

    Attributes:
        lead: the frames before the program begins; figures are so much later in it.
        loop_start: the time from which it repeats.
        loop_length: the frames after which it repeats.
        origin: shape (3,), where the armature is in the world.
    """

    name: str
    meshes: tuple[MeshMotion, ...]
    lead: float
    loop_start: float
    loop_length: float
    take_fps: float
    origin: Float64s

    @property
    def length(self) -> float:
        """The frames until everything has been seen once."""
        return self.loop_start + self.loop_length

    @property
    def vertex_count(self) -> int:
        """The number of vertices of all meshes."""
        return sum(mesh.binding.vertex_count for mesh in self.meshes)

    def in_world(self, time: float) -> Float32s:
        """The vertices of all meshes at a time, mm along the world's axes."""
        return np.concatenate([mesh.in_world(self.within(time)) for mesh in self.meshes])

    def within(self, time: float) -> float:
        """The time, but just before the end at the end, where a loop is at its start again."""
        return min(max(time, 0.0), float(np.nextafter(self.length, 0.0)))

    @cached_property
    def travelled(self) -> float:
        """About how far vertices move, mm: in each frame the one that moves farthest."""
        times = np.append(np.arange(0.0, self.length), self.within(self.length))
        steps = [mesh.steps(times) for mesh in self.meshes]
        return float(np.max(steps, axis=0).sum())


def role_motion(
    armature: Object,
    meshes: Sequence[Object],
    role: Role,
    depsgraph: Depsgraph,
    figure_scale: float,
) -> RoleMotion:
    """The motion of a character in a role.

    What figures show before their program begins is its first pose. With a first take of one frame
    and another one behind it, that pose is seen only then: a frame of it leads the program.

    Args:
        figure_scale: of the largest figure, with the crowd's own scale; and the millimetres of a
            world unit.

    Raises:
        UserError: a mesh cannot be deformed.
    """
    first, second = role.first, role.second
    lead = 1.0 if second is not None and first.length == 0 else 0.0
    motions = [_mesh_motion(obj, armature, role, lead, depsgraph, figure_scale) for obj in meshes]
    loop_start = 0.0 if second is None else first.length + lead
    rate = 1.0 if second is None else second.fps / first.fps
    placed = world_matrix(armature.evaluated_get(depsgraph)).translation
    return RoleMotion(
        armature.name,
        tuple(motions),
        lead,
        loop_start,
        (first if second is None else second).length / rate,
        first.fps,
        np.array(placed, np.float64),
    )


def _mesh_motion(
    obj: Object,
    armature: Object,
    role: Role,
    lead: float,
    depsgraph: Depsgraph,
    figure_scale: float,
) -> MeshMotion:
    binding = binding_with_current_softness(obj, depsgraph)
    takes = [fitted(take, binding.skeleton).take for take in (role.first, role.second) if take]
    program = Program(takes[0], takes[1] if len(takes) > 1 else None, role.fade_frames)
    evaluated = obj.evaluated_get(depsgraph)
    keys, values, take_driven = binding.shape_keys, None, {}
    if keys is not None:
        values = keys.values(evaluated)
        mesh = value_mesh(takes, mesh_of(obj).name)
        places = {key: n for n, (of, key) in enumerate(program.value_names) if of == mesh}
        names = {row: keys.key_names[row] for row in motion_keys(keys, evaluated)}
        take_driven = {row: places[name] for row, name in names.items() if name in places}
    world, settings = np.array(world_matrix(evaluated), np.float64), Settings.of(evaluated)
    by_example = settings.by_example and not evaluated.show_only_shape_key
    return MeshMotion(
        obj.session_uid,
        binding,
        replace(settings, by_example=by_example),
        program,
        object_to_armature(evaluated, armature.evaluated_get(depsgraph)),
        world[:3, :3] * figure_scale,
        values,
        lead,
        take_driven,
    )


# Makes the posed meshes of a baked crowd, which need no rig.
#
# A posed object has the mesh as it comes out of the Armature modifier: materials, UV maps, colours,
# sharp edges and custom normals are the character's, its shape keys and weights are not needed any
# more. The modifiers after the Armature modifier stay on it. It stands where the character's mesh
# stands, and its collection is offset to where the armature does.

_VELOCITY = "velocity"
# Modifiers that need the rig, or that simulate from frame to frame.
_LEFT_OUT = frozenset(
    {"ARMATURE", "CLOTH", "COLLISION", "DYNAMIC_PAINT", "EXPLODE", "FLUID", "MESH_CACHE"}
    | {"MESH_SEQUENCE_CACHE", "PARTICLE_INSTANCE", "PARTICLE_SYSTEM", "SOFT_BODY"}
)
_OURS = "dq_compensation"
# Bytes of one element of an attribute, of others at most, and of the place of a face's corners.
_BYTES = {"BOOLEAN": 1, "INT8": 1, "INT16_2D": 4, "INT": 4, "FLOAT": 4, "BYTE_COLOR": 4}
_BYTES |= {"FLOAT2": 8, "INT32_2D": 8, "FLOAT_VECTOR": 12}
_BYTES |= {"FLOAT_COLOR": 16, "QUATERNION": 16}
_LARGEST, _OFFSET = 64, 4
# How far a matrix may be from that of an object's location, rotation and scale.
_SHEARED = 1e-5


def modifiers_after(obj: Object) -> list[Modifier]:
    """The modifiers of a character's mesh after those that deform it, in order."""
    skinned, stack = SkinnedObject(obj), list(obj.modifiers)
    deforming = [skinned.find_modifier(), *skinned.mixed_modifiers, *own_modifiers(obj)]
    last = max((stack.index(each) for each in deforming if each is not None), default=-1)
    after = [each for each in stack[last + 1 :] if not is_own_modifier(each)]
    return [each for each in after if each.show_viewport or each.show_render]


def left_out(obj: Object) -> list[str]:
    """The names of the modifiers that posed meshes cannot have."""
    return [each.name for each in modifiers_after(obj) if each.type in _LEFT_OUT]


def copied_bytes(obj: Object) -> int:
    """The bytes of a posed mesh but for its vertices' places and velocities.

    Copies share them until the file is opened again.
    """
    mesh = mesh_of(obj)
    sizes = {
        "POINT": len(mesh.vertices),
        "EDGE": len(mesh.edges),
        "FACE": len(mesh.polygons),
        "CORNER": len(mesh.loops),
    }
    attributes: Any = mesh.attributes
    return _OFFSET * sizes["FACE"] + sum(
        sizes[each.domain] * _BYTES.get(each.data_type, _LARGEST)
        for each in attributes
        if each.name != "position" and not each.name.startswith(PREFIX)
    )


def _posed_objects(
    obj: Object,
    name: str,
    poses: Sequence[Floats],
    velocities: Sequence[Floats],
    *,
    followed: bool,
    modifiers: bool,
) -> Collection:
    """A new collection of new objects, one for each pose; the order of their names is theirs.

    Args:
        poses: shapes (n, 3), object space.
        velocities: shapes (n, 3), units of object space per second; none: no motion blur.
        followed: whether vertices are those that come into the Armature modifier.
    """
    first, mesh = _template(obj, followed=followed, modifiers=modifiers)
    collection = bpy.data.collections.new(name)
    collection[CROWD_BAKE_PROPERTY] = True
    unsheared = _unsheared(first, obj)
    stem = _free_stem(collection.name)
    for number, points in enumerate(poses):
        posed = cast("Object", first.copy())
        posed.name = f"{stem} {number:05d}"
        posed.data = cast("Mesh", mesh.copy())
        posed.data.name = posed.name
        write_attribute(posed.data, "position", points @ unsheared.T)
        if velocities:
            write_attribute(posed.data, _VELOCITY, velocities[number] @ unsheared.T)
        posed.data.update()
        collection.objects.link(posed)
    bpy.data.objects.remove(first)
    bpy.data.meshes.remove(mesh)
    return collection


def _template(obj: Object, *, followed: bool, modifiers: bool) -> tuple[Object, Mesh]:
    """An object and a mesh like a character's, in no collection, without the rig."""
    kept = {each.name for each in modifiers_after(obj)} - set(left_out(obj)) if modifiers else set()
    template = cast("Object", obj.copy())
    if template.override_library is not None:
        template.make_local(clear_liboverride=True)
    if followed or mesh_of(obj).shape_keys is not None:
        # Without keys, however they are; a copy whose keys are cleared would leave them behind.
        with followed_mesh(SkinnedObject(obj)) as holder:
            mesh = cast("Mesh", mesh_of(holder).copy())
    else:
        mesh = cast("Mesh", mesh_of(obj).copy())
    template.data = mesh
    show_surface(template)
    world = world_matrix(obj).copy()
    template.parent = None
    template.constraints.clear()
    template.animation_data_clear()
    template.matrix_world = world
    for modifier in list(template.modifiers):
        if modifier.name not in kept:
            template.modifiers.remove(modifier)
    if not kept:
        template.vertex_groups.clear()
    template.hide_viewport = template.hide_render = False
    template.visible_camera = True
    template.property_unset(_OURS)
    mesh.animation_data_clear()
    for owner in (template, mesh):
        for key in [key for key in list(owner.keys()) if key.startswith(_OURS)]:
            del owner[key]
    attributes: Any = mesh.attributes
    for name in [each.name for each in attributes if each.name.startswith(PREFIX)]:
        attributes.remove(attributes[name])
    template[CROWD_BAKE_PROPERTY] = True
    return template, mesh


def _unsheared(template: Object, obj: Object) -> Float64s:
    """The matrix from vertices and velocities of a mesh to those of the template, shape (3, 3).

    The world matrix of an object may be sheared by its parents; that of one without a parent not.
    """
    there = np.array(template.matrix_basis, np.float64)[:3, :3]
    matrix = np.linalg.solve(there, np.array(world_matrix(obj), np.float64)[:3, :3])
    return np.eye(3) if np.abs(matrix - np.eye(3)).max() < _SHEARED else matrix


def _free_stem(name: str) -> str:
    """The beginning of names that no object has: Blender changes taken names."""
    taken, stem, number = list(bpy.data.objects.keys()), name[:50], 1
    while any(each.startswith(f"{stem} ") for each in taken):
        stem, number = f"{name[:46]}.{number}", number + 1
    return stem


# Builds the node tree of a baked crowd: the point of each figure becomes the mesh of its pose.
#
# The tree computes the time of each figure's program from the frame of the scene, looks up which
# pose is shown then, and takes that one from the collection of each mesh. It needs nothing of the
# add-on.

# Attributes of the points: what distinguishes figures,
ROTATION, SCALE, ROLE = "rotation", "scale", "role"
PHASE, SPEED, INDEX = "phase", "speed", "index"
# the time from which the program repeats, how long that takes, in frames of the take,
LOOP_START, LOOP_LENGTH = "loop_start", "loop_length"
# and where it begins in the table of poses, and how many rows a frame has.
FIRST_ROW, ROWS_PER_FRAME = "first_row", "rows_per_frame"
# Of the points of the table, and of the figures once it is looked up.
POSE = "pose"
# By this one Blender knows an instance again, for random colours and motion blur.
_STABLE_INDEX = "id"

_START_INPUT = "Start Frame"


def _build_crowd_tree(
    name: str, start_frame: float, table: Object, collections: Sequence[Sequence[Collection]]
) -> NodeTree:
    """A new node tree for a baked crowd.

    Args:
        start_frame: the frame of the scene at which figures are at their phase.
        table: a mesh object, whose points have the number of the pose that is shown.
        collections: of each role, one for each mesh of its character, its poses by their names.
    """
    tree: Any = bpy.data.node_groups.new(name, "GeometryNodeTree")
    build = TreeBuilder(tree)
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    start = tree.interface.new_socket(_START_INPUT, in_out="INPUT", socket_type="NodeSocketFloat")
    start.default_value = start_frame
    start.description = "The frame at which each figure is at its phase"
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    given = build.node("NodeGroupInput")
    pose = _shown_pose(build, Scalar(build, given.outputs[_START_INPUT]), table)
    points = Geometry(build, given.outputs["Geometry"]).store(POSE, pose)
    joined = build.node("GeometryNodeJoinGeometry")
    for role, of_meshes in enumerate(collections):
        for collection in of_meshes:
            instances = _instances(build, points, role, collection)
            build.connect(joined.inputs[0], instances)
    build.node("NodeGroupOutput", Socket(build, joined.outputs[0]))
    _arrange(tree)
    return tree


def _shown_pose(build: TreeBuilder, start: Scalar, table: Object) -> Integer:
    """The number of the pose that each figure shows."""
    frame = Scalar(build, build.node("GeometryNodeInputSceneTime").outputs["Frame"])
    phase, speed, loop_start, loop_length, first_row, rows_per_frame = (
        build.attribute(name, Scalar)
        for name in (PHASE, SPEED, LOOP_START, LOOP_LENGTH, FIRST_ROW, ROWS_PER_FRAME)
    )
    time = speed.times_plus(frame - start, phase)
    operands = (time - loop_start, loop_length)
    wrapped = build.node("ShaderNodeMath", *operands, operation="FLOORED_MODULO")
    looped = Scalar(build, wrapped.outputs[0]) + loop_start
    before = time.maximum(0.0)
    time = build.choose(loop_start > before, looped, before)
    row = (time * rows_per_frame).floored()
    table_info: Any = build.node("GeometryNodeObjectInfo")
    table_info.inputs["Object"].default_value = table
    rows = Geometry(build, table_info.outputs["Geometry"])
    return rows.sample(build.attribute(POSE, Integer), row + first_row)


def _instances(build: TreeBuilder, points: Geometry, role: int, collection: Collection) -> Socket:
    """The poses of one mesh on the points of a role."""
    poses: Any = build.node("GeometryNodeCollectionInfo")
    poses.inputs["Collection"].default_value = collection
    poses.inputs["Separate Children"].default_value = True
    rotation = build.node("GeometryNodeInputNamedAttribute", ROTATION, data_type="QUATERNION")
    instances: Any = build.node("GeometryNodeInstanceOnPoints")
    for name, operand in (
        ("Points", points),
        ("Selection", build.equal(build.attribute(ROLE, Integer), role)),
        ("Instance", Socket(build, poses.outputs[0])),
        ("Pick Instance", True),
        ("Instance Index", build.attribute(POSE, Integer)),
        ("Rotation", Socket(build, rotation.outputs["Attribute"])),
        ("Scale", build.attribute(SCALE, Vector)),
    ):
        build.connect(instances.inputs[name], operand)
    return Socket(build, instances.outputs[0])


def _arrange(tree: NodeTree) -> None:
    """Put nodes into columns from left to right, each behind those that it reads."""
    columns: dict[str, int] = {}
    nodes: list[Any] = list(tree.nodes)
    for _ in nodes:
        for link in cast("Any", tree.links):
            after = columns.get(link.from_node.name, 0) + 1
            columns[link.to_node.name] = max(columns.get(link.to_node.name, 0), after)
    heights: dict[int, int] = {}
    for node in nodes:
        column = columns.get(node.name, 0)
        node.location = (220.0 * column, -220.0 * heights.get(column, 0))
        heights[column] = heights.get(column, 0) + 1


@dataclass(frozen=True, eq=False)
class PosedRole:
    """A role with its posed meshes in the file.

    Attributes:
        poses, velocities: for each mesh, shapes (n, 3) one pose after the other; no velocities
            without motion blur.
    """

    motion: RoleMotion
    chosen: ChosenPoses
    poses: Sequence[Sequence[Float32s]]
    velocities: Sequence[Sequence[Float32s]]


def write_crowd(
    crowd: Object,
    roles: Sequence[PosedRole],
    figures: Figures,
    start_frame: float,
    fps: float,
    made_for: str,
    *,
    modifiers: bool,
) -> Object:
    """A new object that shows the figures, in the crowd's collections, parented to it.

    Args:
        figures: `figures.roles` number `roles`.
        made_for: kept with the object, to notice what has changed.
        modifiers: whether posed meshes have the modifiers after the Armature modifier.
    """
    name = f"{crowd.name} Baked"
    objects = {obj.session_uid: obj for obj in bpy.data.objects}
    collections = []
    for number, role in enumerate(roles):
        of_meshes = []
        for mesh, poses, velocities in zip(
            role.motion.meshes, role.poses, role.velocities, strict=True
        ):
            obj = objects[mesh.object_uid]
            label = f"{name[:28]} {number + 1} {obj.name[:16]}"
            followed = bool(mesh.binding.followed)
            made = _posed_objects(
                obj, label, poses, velocities, followed=followed, modifiers=modifiers
            )
            made.instance_offset = role.motion.origin.tolist()
            of_meshes.append(made)
        collections.append(of_meshes)
    table, first_rows = _write_table(name, [role.chosen for role in roles])
    tree = _build_crowd_tree(name, start_frame, table, collections)
    tree[CROWD_BAKE_PROPERTY] = True
    baked = bpy.data.objects.new(name, _figures_mesh(name, roles, figures, first_rows, fps))
    keep_text(baked, CROWD_BAKE_PROPERTY, made_for)
    modifier = cast("NodesModifier", baked.modifiers.new(name, "NODES"))
    modifier.node_group = tree
    link_beside(crowd, baked)
    baked.parent = crowd
    baked.matrix_parent_inverse = Matrix.Identity(4)
    return baked


def remove_baked(baked: Object) -> None:
    """Remove a baked crowd, and its parts that no other object uses."""
    trees = [
        cast("NodesModifier", each).node_group for each in baked.modifiers if each.type == "NODES"
    ]
    mesh = mesh_of(baked)
    bpy.data.objects.remove(baked)
    if not mesh.users:
        bpy.data.meshes.remove(mesh)
    for tree in trees:
        if tree is not None and CROWD_BAKE_PROPERTY in tree and not tree.users:
            _remove_tree(tree)


def parts_of(tree: NodeTree) -> tuple[set[Object], set[Collection]]:
    """The table and the collections of posed meshes that the tree of a baked crowd reads."""
    objects: set[Object] = set()
    collections: set[Collection] = set()
    nodes: list[Any] = list(tree.nodes)
    for node in nodes:
        for socket in node.inputs:
            held = getattr(socket, "default_value", None)
            if isinstance(held, Object):
                objects.add(held)
            elif isinstance(held, Collection):
                collections.add(held)
    return objects, collections


def _remove_tree(tree: NodeTree) -> None:
    objects, collections = parts_of(tree)
    for collection in collections:
        if CROWD_BAKE_PROPERTY in collection:
            objects.update(collection.objects)
    baked_objects = [obj for obj in objects if CROWD_BAKE_PROPERTY in obj and obj.library is None]
    meshes = [mesh_of(obj) for obj in baked_objects]
    made: list[Any] = [
        tree,
        *(each for each in collections if CROWD_BAKE_PROPERTY in each),
        *baked_objects,
    ]
    bpy.data.batch_remove(made)
    bpy.data.batch_remove([mesh for mesh in meshes if not mesh.users])


def _write_table(name: str, chosen: Sequence[ChosenPoses]) -> tuple[Object, Int64s]:
    """A new object with a point for each moment and its pose, and the first row of each role."""
    tables = [each.table() for each in chosen]
    rows = np.concatenate(tables)
    mesh = bpy.data.meshes.new(f"{name} Table")
    mesh.vertices.add(len(rows))
    write_attribute(mesh, POSE, rows)
    table = bpy.data.objects.new(mesh.name, mesh)
    for each in (CROWD_BAKE_PROPERTY, POSE_TABLE_PROPERTY, HIDDEN_PROPERTY):
        table[each] = True
    return table, np.cumsum([0, *map(len, tables[:-1])])


def _figures_mesh(
    name: str, roles: Sequence[PosedRole], figures: Figures, first_rows: Int64s, fps: float
) -> Mesh:
    """A point for each figure, in the crowd's space."""
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(len(figures))
    placed, numbers = LocalPoses.from_matrices(figures.places), figures.roles
    motions = [role.motion for role in roles]
    rates = np.array([motion.take_fps for motion in motions]) / fps
    rows = [float(role.chosen.rows_per_frame) for role in roles]
    index = np.arange(len(figures))
    for attribute, values in (
        ("position", placed.locations),
        (ROTATION, placed.rotations),
        (SCALE, placed.scales),
        (ROLE, numbers),
        (PHASE, figures.phases + np.array([each.lead for each in motions])[numbers]),
        (SPEED, figures.speeds * rates[numbers]),
        (INDEX, index),
        (_STABLE_INDEX, index),
        (LOOP_START, np.array([each.loop_start for each in motions])[numbers]),
        (LOOP_LENGTH, np.array([each.loop_length for each in motions])[numbers]),
        (FIRST_ROW, first_rows[numbers]),
        (ROWS_PER_FRAME, np.array(rows)[numbers]),
    ):
        write_attribute(mesh, attribute, values)
    mesh.update()
    return mesh
