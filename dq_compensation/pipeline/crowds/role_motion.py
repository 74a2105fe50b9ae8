"""Poses the meshes of a role at any time of its program, by NumPy.

Times are in frames of the first take, `RoleMotion.lead` more than those of the program. From 0 to
`RoleMotion.length` they show everything that figures of the role ever show: what comes before the
loop, then the loop once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from bpy.types import Depsgraph, Object

from ...arrays import Float32s, Float64s
from ...core.pose import Pose
from ...core.vectors import transformed_points
from ...lifecycle.following import binding_with_current_softness
from ...scene.binding.binding import Binding
from ...scene.binding.numpy_evaluator import PosedDeformer
from ...scene.blender.mesh import mesh_of
from ...scene.blender.placement import object_to_armature, world_matrix
from ...scene.settings.object_settings import Settings
from ...viewport.members import motion_keys
from ..takes.fitted_takes import fitted
from ..takes.played_takes import value_mesh
from .crowd_roles import Role
from .crowds import Program

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
