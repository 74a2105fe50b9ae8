"""`report`: the quality and the speed of a character."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import bpy
import numpy as np

from ..analysis.joint_quality import JointBend, joint_bends
from ..core.deform import deform
from ..core.pose import Pose
from ..core.vectors import transformed_points
from ..errors import UserError
from ..lifecycle.following import settled_binding
from ..scene.binding.binding import Binding
from ..scene.blender.rigging import rig_of
from ..scene.blender.units import object_millimetres
from ..scene.settings.object_settings import Settings, settings_of
from ..wording import listed
from .arguments_of_scripts import mesh_object, require_number, require_type, several_names
from .character_report import Bend, CharacterReport, JointQuality, LeftOut
from .frame_times import measure_frames
from .joints_left_out import bones_without_bends, without_twist_joints
from .slow_parts import slow_parts
from .steps_of_scripts import OnProgress, interrupts_wait, require_progress


def report(
    obj: bpy.types.Object,
    *,
    degrees: float = 90.0,
    bones: str | Iterable[str] = (),
    speed: bool = True,
    progress: OnProgress | None = None,
) -> CharacterReport:
    """Measure how well the joints of a character bend, and how long a posed frame takes.

    The object may be enabled or not; without being enabled it is measured with the settings that it
    has. Its pose and its settings are as before afterwards.

    Args:
        degrees: by which each joint is bent, one at a time, in the plane of its limbs.
        bones: behind the joints to measure; by default all joints, without those between the
            pieces of an arm or leg, such as twist bones: they do not bend.
        speed: measure milliseconds, which takes a second or more; without it nothing of the scene
            is touched.
        progress: called after each joint.

    Raises:
        BindingError: the object cannot be deformed; the message says why and what to do.
        UserError: a bone does not exist, or the angle is not from 1 to 180.
    """
    require_number("angle", degrees, 1.0, 180.0)
    require_type("speed", speed, bool, "True or False")
    require_progress(progress)
    obj = mesh_object(obj)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    binding = settled_binding(obj, depsgraph)
    settings = Settings.of(obj.evaluated_get(depsgraph))
    wanted = _wanted(bones, binding)
    joints, left_out = _joints(obj, binding, settings, degrees, wanted, progress)
    times = None
    if speed:
        with interrupts_wait():
            times = measure_frames(obj, binding, settings)
    rig = rig_of(obj)
    return CharacterReport(
        obj.name,
        rig.name,
        settings_of(obj).method,
        binding.vertex_count,
        binding.skeleton.bone_count,
        degrees,
        joints,
        left_out,
        times,
        slow_parts(obj, binding, settings, skins=times is not None and times.skins),
    )


def _wanted(bones: str | Iterable[str], binding: Binding) -> frozenset[str]:
    """The names of bones; raises `UserError` where the armature has none of such a name."""
    wanted = frozenset(several_names(bones, "bones"))
    unknown = sorted(wanted - set(binding.skeleton.names))
    if unknown:
        raise UserError(f"{binding.armature_name} has no bone {listed(unknown)}.")
    return wanted


def _joints(
    obj: bpy.types.Object,
    binding: Binding,
    settings: Settings,
    degrees: float,
    wanted: frozenset[str],
    progress: OnProgress | None,
) -> tuple[tuple[JointQuality, ...], tuple[LeftOut, ...]]:
    """The joints that were bent, and the bones behind the others."""
    rest = transformed_points(binding.object_to_armature, binding.rest).astype(np.float32)
    ball_joints = settings.use_ball_joints and settings.acts("use_ball_joints")
    measured = binding.measured(replace(settings, use_ball_joints=ball_joints))
    names, children = binding.skeleton.names, measured.limbs.children
    bends = joint_bends(rest, measured, binding.skeleton, degrees)
    twists: list[LeftOut] = []
    left_out = bones_without_bends(binding, measured.limbs, bends, wanted)
    if wanted:
        bends = [bend for bend in bends if names[children[bend.joint]] in wanted]
    else:
        bends, twists = without_twist_joints(bends)
    unit = object_millimetres(rig_of(obj), bpy.context.scene)
    ways = [
        binding.deformation(each)
        for each in (
            replace(settings, acting_method="LINEAR", blend_group=""),
            replace(settings, acting_method="DUAL_QUATERNION", blend_group=""),
            settings,
        )
    ]

    def quality(bend: JointBend) -> JointQuality:
        pose = Pose.from_matrices(bend.matrices, binding.skeleton)
        found = []
        for way in ways:
            positions, _ = deform(way, rest, None, pose)
            bulge, pinch = bend.bulge_and_pinch(positions)
            found.append(Bend(bulge * unit, pinch * unit))
        parent = measured.limbs.parents[bend.joint]
        bone, before = names[children[bend.joint]], names[parent]
        return JointQuality(bone, before, len(bend.rows), bend.radius * unit, *found)

    results = []
    for number, bend in enumerate(bends, 1):
        results.append(quality(bend))
        if progress is not None:
            progress(number / len(bends), f"Bending the joints of {obj.name}")
    return tuple(results), (*twists, *left_out)
