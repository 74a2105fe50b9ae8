"""Measures characters, for scripts: `report`, quality, and what is slow."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import bpy
import numpy as np

from ..analysis.joint_quality import JointBend, joint_bends
from ..core.deform import deform
from ..core.example_support import limb_pieces
from ..core.measured_joints import MeasuredJoints, idle_joints
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import transformed_points
from ..errors import UserError
from ..lifecycle.following import binding_with_current_softness
from ..modifier.base import base_for
from ..modifier.found_bones import IDLE_REASONS
from ..modifier.tree_kind import ShapeCounts, kind_for
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import modifiers_read
from ..scene.blender.animation_curves import drivers
from ..scene.blender.bone_names import bone_side
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import rig_of
from ..scene.blender.scenes import object_millimetres
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings, settings_of
from ..scene.stack import find_rig, own_modifiers
from ..steps import OnProgress
from ..ui_shared.arguments import (
    mesh_object,
    of_characters,
    require_number,
    several_names,
)
from ..ui_shared.script_runs import require_progress
from ..wording import counted, listed
from .characters import skinned_meshes

_PIECES = "pieces of an arm or a leg"
_NO_JOINT = "they have no joint that moves skin"
# Of an arm or a leg, the length of its other half, in lengths of this one, is at least this.
_OTHER_HALF = 0.5


def without_twist_joints(bends: Sequence[JointBend]) -> tuple[list[JointBend], list[LeftOut]]:
    """The bending joints, and the bones behind the joints between pieces of one half of a limb."""
    twists = [bend for bend in bends if _is_twist_joint(bend)]
    names = [bend.limbs.skeleton.names[bend.limbs.children[bend.joint]] for bend in twists]
    return [bend for bend in bends if bend not in twists], _reasons({_PIECES: names})


def bones_without_bends(
    skin: SkinAtRest, measured: MeasuredJoints, bends: Sequence[JointBend], wanted: Iterable[str]
) -> list[LeftOut]:
    """The bones whose joints cannot be measured.

    Args:
        skin: with whole limbs.
        measured: the compensation.
        bends: the joints that can be measured.
        wanted: names of bones; empty: all bones that have a joint.
    """
    names, wanted = measured.limbs.skeleton.names, frozenset(wanted)
    bent = {int(measured.limbs.children[bend.joint]) for bend in bends}
    idle = {names[bone]: why for bone, why in idle_joints(skin, measured, bent).items()}
    found = {
        text: [name for name, why in idle.items() if why == reason and name in (wanted or idle)]
        for reason, text in IDLE_REASONS.items()
    }
    without = wanted.difference(idle, [names[bone] for bone in bent])
    return _reasons({**found, _NO_JOINT: [name for name in names if name in without]})


def _reasons(names: dict[str, list[str]]) -> list[LeftOut]:
    return [LeftOut(reason, tuple(bones)) for reason, bones in names.items() if bones]


def _is_twist_joint(bend: JointBend) -> bool:
    """Whether a joint is between two pieces of one half of an arm or a leg.

    The other half tells them from the two halves themselves, which may be called Leg1 and Leg2. The
    joints of fingers are alike, but nothing follows the last piece; a spine has no side.
    """
    skeleton, child = bend.limbs.skeleton, int(bend.limbs.children[bend.joint])
    pieces = limb_pieces(child, skeleton)
    if int(bend.limbs.parents[bend.joint]) not in pieces or not bone_side(skeleton.names[child]):
        return False
    below = {bone for bone, parent in enumerate(skeleton.parents) if parent in pieces} - pieces
    above = {int(skeleton.parents[bone]) for bone in pieces} - pieces - {-1}
    return bool(below) and any(
        bone_side(skeleton.names[bone]) == bone_side(skeleton.names[child])
        and _length(limb_pieces(bone, skeleton), skeleton)
        >= _OTHER_HALF * _length(pieces, skeleton)
        for bone in above | below
    )


def _length(pieces: set[int], skeleton: Skeleton) -> float:
    """How far the farthest end of pieces of a limb is from where the first one begins."""
    bones = sorted(pieces)
    return float(np.linalg.norm(skeleton.tails[bones] - skeleton.heads[bones[0]], axis=1).max())


# As wide as the longest name of a method, and a space.
_COLUMN = 27


@dataclass(frozen=True)
class Bend:
    """The skin at the outer side of a bent joint, in millimetres of the world.

    Attributes:
        bulge: how much farther from the limbs than at rest the worst vertex is; 0 or more.
        pinch: how much nearer to them; 0 or more.
    """

    bulge: float
    pinch: float


@dataclass(frozen=True)
class JointQuality:
    """One joint, bent.

    Attributes:
        bone: behind the joint; it turns.
        parent: before it.
        vertices: how many were measured.
        radius: millimetres, the mean distance of the skin from the limbs at rest.
        linear, preserve_volume: as Blender's Armature modifier deforms it, without and with
            Preserve Volume.
        own: with the settings of the object. Example poses do not count.
    """

    bone: str
    parent: str
    vertices: int
    radius: float
    linear: Bend
    preserve_volume: Bend
    own: Bend

    def percent(self, length: float) -> float:
        """A bulge or a pinch in percent of the radius."""
        return 100.0 * length / self.radius if self.radius > 0.0 else 0.0


@dataclass(frozen=True)
class LeftOut:
    """Bones behind joints that were not bent.

    Attributes:
        reason: it goes on after "Not bent, as".
    """

    reason: str
    bones: tuple[str, ...]


@dataclass(frozen=True)
class CharacterReport:
    """The quality of one character, and what slows it.

    Attributes:
        method: as the user chose it, also where the object is not enabled.
        degrees: by which the joints were bent.
        joints: those that are compensated, or would be; in the order of the bones.
        left_out: the bones behind the joints that were not bent, by the reason.
        slow_parts: sentences about what takes time; empty without any.
    """

    object_name: str
    armature_name: str
    method: str
    vertices: int
    bones: int
    degrees: float
    joints: tuple[JointQuality, ...]
    left_out: tuple[LeftOut, ...]
    slow_parts: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """The report in numbers, strings, lists and dictionaries, for JSON."""
        facts = asdict(self)
        for name in ("joints", "left_out", "slow_parts"):
            facts[name] = list(facts[name])
        return facts

    def table(self) -> str:
        """The report as text, in lines of about 100 characters; names are never cut."""
        lines = [
            f"{self.object_name}, {self.vertices:,} vertices, on {self.armature_name}, "
            f"{counted(self.bones, 'bone')}, {self.method}",
            *self._joint_lines(),
            *self.slow_parts,
        ]
        return "\n".join(lines)

    def _joint_lines(self) -> list[str]:
        notes = [
            line
            for each in self.left_out
            for line in textwrap.wrap(f"Not bent, as {each.reason}: {', '.join(each.bones)}.", 100)
        ]
        if not self.joints:
            return ["No joint is compensated.", *notes]
        width = max(24, *(len(joint.bone) + 1 for joint in self.joints))
        heads = ("linear", "Preserve Volume", self.method)
        lines = [
            f"Joints bent by {self.degrees:g} degrees: bulge and pinch in mm (% of the radius)",
            f"{'':{width}}{'radius':>7}" + "".join(f"{head:>{_COLUMN}}" for head in heads),
        ]
        for joint in self.joints:
            bends = (joint.linear, joint.preserve_volume, joint.own)
            lines.append(
                f"{joint.bone:{width}}{joint.radius:7.1f}"
                + "".join(f"{_shown(joint, bend):>{_COLUMN}}" for bend in bends)
            )
        return lines + notes


def _shown(joint: JointQuality, bend: Bend) -> str:
    """E.g. ``+1.2 -0.3 (12 -3)``."""
    bulge, pinch = joint.percent(bend.bulge), joint.percent(bend.pinch)
    return f"+{bend.bulge:.1f} -{bend.pinch:.1f} ({bulge:.0f} {-pinch:.0f})"


# Each mesh costs as much as some thousand vertices, whatever its size.
_MANY_MESHES = 4


def slow_parts(obj: bpy.types.Object, binding: Binding, settings: Settings) -> tuple[str, ...]:
    """List what a posed frame of an object spends time on, besides deforming its vertices.

    Args:
        binding: of the object as it is now.
    """
    return (
        *_meshes(obj),
        *_modifiers(obj),
        *_own_skinning(obj, binding, settings),
        *_drivers(obj),
    )


def _meshes(obj: bpy.types.Object) -> list[str]:
    rig = rig_of(obj)
    meshes = [other for other in skinned_meshes() if find_rig(other) == rig]
    if len(meshes) < _MANY_MESHES:
        return []
    return [
        f"{len(meshes)} meshes follow {rig.name}. Every mesh "
        "costs time of its own, however small it is: join those that need not be apart."
    ]


def _modifiers(obj: bpy.types.Object) -> list[str]:
    found, skinned = [], SkinnedObject(obj)
    before = [each.name for each in modifiers_read(skinned)]
    if before:
        found.append(
            f"{listed(before)} before the Armature modifier of {obj.name}: Blender computes this "
            "again in every frame. Apply what need not stay."
        )
    stack, ours = list(obj.modifiers), own_modifiers(obj)
    behind = stack[stack.index(skinned.modifier) + 1 :]
    after = [each for each in behind if each.show_viewport and each not in ours]
    subdivided = [each for each in after if each.type in {"SUBSURF", "MULTIRES"}]
    for each in subdivided:
        levels = getattr(each, "levels", 0)
        if levels:
            found.append(
                f"{each.name} of {obj.name} makes {4**levels} faces of each in the viewport. Lower "
                "its viewport level while you animate, or use Simplify."
            )
    others = [each.name for each in after if each not in subdivided]
    if others:
        found.append(
            f"{listed(others)} after the Armature modifier of {obj.name}: Blender computes this "
            "again in every frame. Turn off in the viewport what you need not see."
        )
    return found


def _own_skinning(obj: bpy.types.Object, binding: Binding, settings: Settings) -> list[str]:
    """Why the node modifier skins the mesh in the place of the Armature modifier, if it does."""
    deformation, examples = binding.deformation(settings), binding.acting_examples(settings)
    if base_for(SkinnedObject(obj), deformation, examples, soft=binding.is_soft) != "OWN":
        return []
    kind = kind_for(deformation, ShapeCounts(), "OWN", masked=False, shape_varies=False, sets=0)
    reasons = {
        "the method Spherical Joint": kind.method == "SPHERICAL_JOINT",
        "example poses": examples is not None,
        f"the blend group {settings.blend_group}": kind.blended,
    }
    return [
        f"{obj.name} needs {reason}: the node modifier skins it, which takes longer than the "
        "Armature modifier on most characters."
        for reason, acts in reasons.items()
        if acts
    ][:1]


def _drivers(obj: bpy.types.Object) -> list[str]:
    rig, keys = rig_of(obj), mesh_of(obj).shape_keys
    owners: list[Any] = [rig, rig.data, obj, keys]
    counts = 0
    for owner in owners:
        counts += sum("dq_compensation" not in _target(each) for each in drivers(owner))
    if not counts:
        return []
    return [f"{counted(counts, 'driver')} of {rig.name} and {obj.name}: computed in every frame."]


def _target(curve: Any) -> str:
    """The first path that a driver reads."""
    variables = curve.driver.variables
    return variables[0].targets[0].data_path if len(variables) else ""


@of_characters
def report(
    obj: bpy.types.Object,
    *,
    degrees: float = 90.0,
    bones: str | Iterable[str] = (),
    progress: OnProgress | None = None,
) -> CharacterReport:
    """Measure how well the joints of a character bend, and find what slows it.

    The object may be enabled or not; without being enabled it is measured with the settings that it
    has. Its pose and its settings are as before afterwards.

    Args:
        obj: a mesh object, or an armature: a list for all its meshes then.
        degrees: by which each joint is bent, one at a time, in the plane of its limbs.
        bones: behind the joints to measure; by default all joints, without those between the
            pieces of an arm or leg, such as twist bones: they do not bend.
        progress: called after each joint.

    Raises:
        BindingError: the object cannot be deformed; the message says why and what to do.
        UserError: a bone does not exist, or the angle is not from 1 to 180.
    """
    require_number("angle", degrees, 1.0, 180.0)
    require_progress(progress)
    obj = mesh_object(obj)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    binding = binding_with_current_softness(obj, depsgraph)
    settings = Settings.of(obj.evaluated_get(depsgraph))
    wanted = _wanted(bones, binding)
    joints, left_out = _joints(obj, binding, settings, degrees, wanted, progress)
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
        slow_parts(obj, binding, settings),
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
    left_out = bones_without_bends(binding.skin(settings).with_whole_limbs, measured, bends, wanted)
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
