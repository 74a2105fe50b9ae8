"""Bakes a crowd to posed meshes, as many as a tolerance asks for, and a node tree.

A generator, as the other bakes: closed before it begins to write, it leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import bpy
import numpy as np
from bpy.types import Depsgraph, Object, Scene

from ...arrays import Float32s, Float64s, Int64s
from ...errors import UserError
from ...scene.binding.facts import Facts, changed_since, digest
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import record_in
from ...scene.blender.placement import world_matrix
from ...scene.blender.scenes import is_moving, world_millimetres
from ...scene.settings.object_settings import Settings
from ...scene.stack import find_rig
from ...steps import Progress, with_progress
from ...wording import counted, listed, sized
from .baked_crowd import PosedRole, remove_baked, write_crowd
from .crowd_figures import CrowdState, figures_of_crowd, role_objects
from .crowd_roles import Role, meshes_by_armature
from .crowds import Figures
from .known_crowds import CROWD_BAKE_PROPERTY, baked_crowd, forget_bakes
from .options import CrowdBakeOptions
from .pose_choice import ChosenPoses, choose_poses
from .posed_meshes import copied_bytes, left_out, modifiers_after
from .role_motion import RoleMotion, role_motion
from .settings import roles_of


def changed_since_baked(
    crowd: Object, state: CrowdState, scene: Scene, baked: Object
) -> tuple[str, ...]:
    """What has changed of a crowd since the object `baked` was made; cheap."""
    return changed_since(record_in(baked, CROWD_BAKE_PROPERTY), crowd_facts(crowd, state, scene))


def crowd_facts(crowd: Object, state: CrowdState, scene: Scene) -> Facts:
    """The facts that a bake depends on, but for the meshes themselves."""
    meshes = meshes_by_armature()
    characters = [
        (obj.name, Settings.of(obj), len(mesh_of(obj).vertices), _relative_place(obj))
        for role in state.roles
        for obj in meshes.get(role.armature_uid, ())
    ]
    return state.facts | {
        "characters": digest(characters, len(roles_of(crowd))),
        "frame rate": digest(scene.render.fps / scene.render.fps_base),
    }


def _relative_place(obj: Object) -> list[float]:
    """The turn, the scale and the place of a mesh relative to its armature's origin."""
    place = np.array(world_matrix(obj), np.float64)
    rig = find_rig(obj)
    if rig is not None:
        place[:3, 3] -= np.array(world_matrix(rig).translation, np.float64)
    # Without the rounding of float32; adding 0 makes 0 of -0.
    return (np.round(place, 6) + 0.0).ravel().tolist()


_MOST_MESHES = 20_000
"""More posed meshes than this are not made: Blender's own lists get slow."""

# The part of the tolerance that a pose covers to either side, a tenth less than that of
# `pipeline.crowds.pose_choice`: what is announced should be enough.
_COVERED = 0.8
# Bytes in memory: of the position of a vertex, or of its velocity; of a vertex that modifiers make,
# with its edges, faces and corners.
_VECTOR, _MADE_VERTEX = 12, 90
# Frames of the take before and behind a pose between which its velocity is measured.
_AROUND = 1.0 / 8.0


@dataclass(frozen=True, eq=False)
class CrowdSource:
    """A crowd as read for a bake, without the objects of the file.

    Attributes:
        crowd_uid: session_uid of the Empty.
        motions: what is played, once however many roles play it.
        figures: `figures.roles` number `motions`.
        speeds: shape (M,), the middle speed of the figures that play each motion.
        copied: shape (M,), bytes of a pose of each motion besides places and velocities.
        made_vertices: shape (M,), of the characters as modifiers make them; 0 without modifiers.
        left_out: modifiers that posed meshes cannot have.
        frozen: armatures that move as objects, but not in the bake.
        frame: in which they are as the bake shows them.
        made_from: the facts of it.
        problems: of the crowd.
    """

    crowd_name: str
    crowd_uid: int
    motions: tuple[RoleMotion, ...]
    figures: Figures
    speeds: Float64s
    copied: Int64s
    made_vertices: Int64s
    start_frame: float
    fps: float
    left_out: tuple[str, ...]
    frozen: tuple[str, ...]
    frame: int
    made_from: Facts
    problems: tuple[str, ...]

    def poses_at_most(self, tolerance: float) -> list[int]:
        """About how many poses of each motion a tolerance asks for."""
        step = 2.0 * _COVERED * tolerance
        return [int(motion.travelled / step) + 1 for motion in self.motions]

    def memory(self, poses: Sequence[int], options: CrowdBakeOptions) -> float:
        """About how many bytes so many poses of each motion take."""
        vectors = _VECTOR * (2 if options.motion_blur else 1)
        each = [vectors * motion.vertex_count for motion in self.motions]
        made = self.made_vertices * _MADE_VERTEX if options.modifiers else 0 * self.made_vertices
        return float(np.dot(poses, np.array(each) + self.copied + made))

    def refusal(self, options: CrowdBakeOptions, poses: Sequence[int] | None = None) -> str | None:
        """The reason why the bake would be too large, or None.

        Args:
            poses: the number for each motion; by default about as many as the tolerance asks for.
        """
        poses = poses or self.poses_at_most(options.tolerance)
        meshes = self.mesh_count(poses)
        if meshes <= _MOST_MESHES:
            return None
        vertices = counted(max(motion.vertex_count for motion in self.motions), "vertex")
        return (
            f"{self.crowd_name} would become about {counted(meshes, 'mesh')} of {vertices}, "
            f"{sized(self.memory(poses, options))}. Choose a larger tolerance than "
            f"{options.tolerance:g} mm, or shorter takes."
        )

    def mesh_count(self, poses: Sequence[int]) -> int:
        """The number of meshes for so many poses of each motion."""
        pairs = zip(poses, self.motions, strict=True)
        return sum(count * len(motion.meshes) for count, motion in pairs)


def read_crowd(crowd: Object, depsgraph: Depsgraph) -> CrowdSource:
    """Read everything about a crowd.

    Raises:
        UserError: it has no figures, or a mesh of a character cannot be deformed.
    """
    crowd = cast("Object", crowd.original)
    state = figures_of_crowd(crowd)
    if not len(state.figures):
        raise UserError(" ".join(state.problems) or f"{crowd.name} has no figures to bake.")
    scene, figures = depsgraph.scene, state.figures
    assert scene is not None
    objects = role_objects(crowd, state)
    parts = [_part(role) for role in state.roles]
    # Roles that differ in nothing but their shares are played once.
    distinct = [part for n, part in enumerate(parts) if np.any(figures.roles == n)]
    distinct = list(dict.fromkeys(distinct))
    number_of_role = np.array([distinct.index(p) if p in distinct else 0 for p in parts], np.intp)
    numbers = number_of_role[figures.roles]
    scales = _figure_scales(crowd, figures, depsgraph) * world_millimetres(scene)
    motions, left, copied, made = [], [], [], []
    for number, part in enumerate(distinct):
        role, (armature, meshes) = state.roles[parts.index(part)], objects[parts.index(part)]
        scale = float(scales[numbers == number].max())
        motions.append(role_motion(armature, meshes, role, depsgraph, scale))
        left += [name for obj in meshes for name in left_out(obj)]
        copied.append(sum(map(copied_bytes, meshes)))
        made.append(sum(_made_vertices(obj, depsgraph) for obj in meshes))
    return CrowdSource(
        crowd.name,
        crowd.session_uid,
        tuple(motions),
        replace(figures, roles=numbers),
        np.array([np.median(figures.speeds[numbers == n]) for n in range(len(motions))]),
        np.array(copied, np.int64),
        np.array(made, np.int64),
        state.start_frame,
        scene.render.fps / scene.render.fps_base,
        tuple(dict.fromkeys(left)),
        tuple(dict.fromkeys(rig.name for rig, _ in objects if is_moving(rig))),
        scene.frame_current,
        crowd_facts(crowd, state, scene),
        state.problems,
    )


def bake_crowd(
    crowd: Object, options: CrowdBakeOptions, source: CrowdSource | None = None
) -> Generator[Progress, None, list[str]]:
    """Bake a crowd; an earlier bake of it is replaced.

    Args:
        source: of the crowd, where it was read just now.

    Returns:
        sentences to report.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    source = source or read_crowd(crowd, depsgraph)
    if reason := source.refusal(options):
        raise UserError(reason)
    expected = source.poses_at_most(options.tolerance)
    weights = np.array(expected, np.float64) / sum(expected)
    starts = np.concatenate(([0.0], np.cumsum(weights)))
    roles: list[PosedRole] = []
    for motion, speed, start, weight in zip(
        source.motions, source.speeds.tolist(), starts, weights.tolist(), strict=False
    ):
        steps = choose_poses(motion.in_world, motion.length, options.tolerance)
        doing = f"Looking for poses of {motion.name}"
        chosen = yield from with_progress(steps, doing, start, 0.4 * weight)
        posed = _pose(motion, chosen, speed if options.motion_blur else 0.0)
        doing = f"Posing {motion.name}"
        roles.append((yield from with_progress(posed, doing, start + 0.4 * weight, 0.6 * weight)))
    poses = [len(role.chosen.times) for role in roles]
    if reason := source.refusal(options, poses):
        raise UserError(reason)
    baked = _write(source, roles, options)
    return [_report(source, baked, poses, options), *source.problems]


def _pose(
    motion: RoleMotion, chosen: ChosenPoses, speed: float
) -> Generator[float, None, PosedRole]:
    """Pose all meshes at the chosen times; with velocities if there is a speed."""
    poses: list[list[Float32s]] = [[] for _ in motion.meshes]
    velocities: list[list[Float32s]] = [[] for _ in motion.meshes]
    for number, time in enumerate(chosen.times.tolist()):
        before, after = motion.within(time - _AROUND), motion.within(time + _AROUND)
        for mesh, of_mesh, fast in zip(motion.meshes, poses, velocities, strict=True):
            of_mesh.append(mesh.posed(motion.within(time)).astype(np.float32))
            if speed and after > before:
                moved = mesh.posed(after) - mesh.posed(before)
                per_second = speed * motion.take_fps / (after - before)
                fast.append((moved * per_second).astype(np.float32))
            elif speed:
                fast.append(np.zeros_like(of_mesh[-1]))
        yield (number + 1) / len(chosen.times)
    return PosedRole(motion, chosen, poses, velocities)


def _write(source: CrowdSource, roles: Sequence[PosedRole], options: CrowdBakeOptions) -> Object:
    crowd = next((o for o in bpy.data.objects if o.session_uid == source.crowd_uid), None)
    if crowd is None:
        raise UserError(f"{source.crowd_name} was deleted while it was baked.")
    earlier = baked_crowd(crowd)
    if earlier is not None:
        remove_baked(earlier)
    baked = write_crowd(
        crowd,
        roles,
        source.figures,
        source.start_frame,
        source.fps,
        source.made_from,
        modifiers=options.modifiers,
    )
    forget_bakes()
    return baked


def _report(
    source: CrowdSource, baked: Object, poses: Sequence[int], options: CrowdBakeOptions
) -> str:
    meshes = counted(source.mesh_count(poses), "posed mesh")
    text = f"Baked {counted(len(source.figures), 'figure')} of {source.crowd_name} to {baked.name}:"
    text += f" {meshes}, {sized(source.memory(poses, options))}."
    if source.left_out and options.modifiers:
        text += f" Left out: {listed(source.left_out)}."
    if source.frozen:
        stay = "stays" if len(source.frozen) == 1 else "stay"
        text += f" {listed(source.frozen)} {stay} as in frame {source.frame}."
    return text


def _figure_scales(crowd: Object, figures: Figures, depsgraph: Depsgraph) -> Float64s:
    """How much larger each figure is than its character, shape (I,)."""
    world = np.array(crowd.evaluated_get(depsgraph).matrix_world, np.float64)[:3, :3]
    return np.linalg.norm(world @ figures.places[:, :3, :3], 2, axis=(1, 2))


def _made_vertices(obj: Object, depsgraph: Depsgraph) -> int:
    """The vertices that the modifiers after the Armature modifier make; 0 without them."""
    if not modifiers_after(obj):
        return 0
    return len(mesh_of(obj.evaluated_get(depsgraph)).vertices)


def _part(role: Role) -> tuple[object, ...]:
    """A key: equal for roles whose figures look alike at the same time of their program."""
    return role.armature_uid, role.take_names, role.second is not None and role.fade_frames
