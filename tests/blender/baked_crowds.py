"""A crowd of a small limb with two takes, and what its figures are meant to look like."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.pose import Pose
from dq_compensation.pipeline.crowds.crowd_figures import figures_of_crowd, role_objects
from dq_compensation.pipeline.crowds.crowds import Program, program_times
from dq_compensation.pipeline.crowds.settings import crowd_of
from dq_compensation.pipeline.takes.fitted_takes import fitted
from dq_compensation.scene.binding.numpy_evaluator import PosedDeformer, shape_key_values
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.session.known_bindings import current_binding
from tests.limb import build_limb, pose_limb


def limb_with_takes() -> tuple[bpy.types.Object, bpy.types.Object]:
    """An enabled limb, selected, with the takes *Wave*, a loop, and *Bend*, which is none."""
    obj, armature = build_limb()
    bpy.context.scene.render.fps = 24
    for name, keys in (
        ("Wave", ((1, 0.0), (6, 0.35), (11, 0.0))),
        ("Bend", ((1, 0.0), (9, -0.4))),
    ):
        armature.animation_data_clear()
        for frame, share in keys:
            pose_limb(armature, 1.2 * share, 0.6 * share)
            for bone in armature.pose.bones:
                bone.keyframe_insert("rotation_euler", frame=frame)
        if name == "Wave":
            bpy.ops.dqc.enable()
        assert bpy.ops.dqc.take_cache(take_name=name, first=1, last=keys[-1][0], tolerance=1.0) == {
            "FINISHED"
        }
    return obj, armature


def add_crowd(count: int = 9, **settings: object) -> bpy.types.Object:
    """A crowd of the selected limb whose figures differ in everything.

    Its roles: the loop; the loop and then the bend; the bend again and again.
    """
    assert bpy.ops.dqc.crowd_add(count=count, seed=3) == {"FINISHED"}
    crowd = bpy.context.active_object
    assert crowd is not None
    bpy.ops.dqc.crowd_role_add()
    chosen = crowd_of(crowd)
    takes = (("Wave", ""), ("Bend", ""), ("Wave", "Bend"))
    for role, (take, then) in zip(chosen.roles, takes, strict=True):
        role.take, role.then, role.fade_frames = take, then, 3.5
    given = {"speed_spread": 0.3, "scale_spread": 0.2, "turn_spread": 2.0, "place_spread": 0.5}
    for name, value in (given | settings).items():
        setattr(chosen, name, value)
    crowd.location, crowd.scale = (1.0, -2.0, 0.5), (1.2, 1.2, 1.2)
    crowd.rotation_euler = (0.2, -0.3, 0.7)
    bpy.context.view_layer.update()
    return crowd


@dataclass(frozen=True, eq=False)
class Figure:
    """A mesh of a figure as it is meant to be: shape (n, 3), world space."""

    name: str
    points: NDArray[np.float64]


def wanted_figures(crowd: bpy.types.Object) -> list[Figure]:
    """All meshes of all figures of a crowd in the current frame, by the specification."""
    scene = bpy.context.scene
    bpy.context.view_layer.update()
    state = figures_of_crowd(crowd)
    assert not state.problems
    to_world, figures = np.array(crowd.matrix_world, np.float64), state.figures
    found = []
    objects = role_objects(crowd, state)
    for number, (role, (armature, meshes)) in enumerate(zip(state.roles, objects, strict=True)):
        own = figures.roles == number
        times = program_times(
            figures.phases[own],
            figures.speeds[own],
            scene.frame_current_final,
            state.start_frame,
            role.first.fps,
            scene.render.fps / scene.render.fps_base,
        )
        from_world = np.eye(4)
        from_world[:3, 3] = -np.array(armature.matrix_world.translation, np.float64)
        for obj in meshes:
            binding, world = current_binding(obj), np.array(obj.matrix_world, np.float64)
            takes = [
                fitted(take, binding.skeleton).take for take in (role.first, role.second) if take
            ]
            program = Program(*takes, *([None] * (2 - len(takes))), role.fade_frames)
            place = np.linalg.solve(np.array(armature.matrix_world, np.float64), world)
            for time, stance in zip(times, figures.places[own], strict=True):
                pose = Pose.from_matrices(program.poses(np.array([time]))[0], binding.skeleton)
                values = shape_key_values(binding, Settings.of(obj), obj, pose)
                deformed = PosedDeformer(binding, Settings.of(obj), pose, place)
                shape = deformed(binding.shape(values))
                matrix = to_world @ stance @ from_world @ world
                found.append(Figure(obj.name, shape @ matrix[:3, :3].T + matrix[:3, 3]))
    return found


def shown_figures() -> list[NDArray[np.float64]]:
    """All instances that Blender evaluates in the current frame, shapes (n, 3), world space."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = []
    for instance in depsgraph.object_instances:
        if not instance.is_instance or instance.object.type != "MESH":
            continue
        mesh = instance.object.data
        points = np.zeros(3 * len(mesh.vertices), np.float32)
        mesh.attributes["position"].data.foreach_get("vector", points)
        matrix = np.array(instance.matrix_world, np.float64)
        found.append(points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3])
    return found


def largest_distance(wanted: list[Figure]) -> float:
    """How far a vertex of a shown figure is from where it is meant to be, at most.

    Each wanted one is compared with the nearest of those that are shown, which is used once.
    """
    shown, largest = shown_figures(), 0.0
    assert len(shown) == len(wanted)
    for figure in wanted:
        apart = [
            np.linalg.norm(points - figure.points, axis=1).max()
            if points.shape == figure.points.shape
            else np.inf
            for points in shown
        ]
        nearest = int(np.argmin(apart))
        largest = max(largest, float(apart[nearest]))
        del shown[nearest]
    return largest
