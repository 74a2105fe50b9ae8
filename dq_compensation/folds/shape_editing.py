"""Adds, lists and removes solved shapes of a mesh."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from bpy.types import Depsgraph, Object

from ..analysis.folding_joints import is_hinge
from ..analysis.joint_softness import parents_at_joints
from ..arrays import Booleans, Float64s, Floats, Indices, Int32s
from ..core.deform import BLENDED_METHODS
from ..core.limb_joints import LimbJoints
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..core.solved_shapes import (
    MOST_JOINTS,
    PoseHats,
    SolvedJoint,
    SolvedShapes,
    mean_turn,
    turned_back,
)
from ..core.vectors import extent, transformed_points, two_across, unit_or
from ..errors import UserError, raise_refusal
from ..examples.authoring import authoring_refusal
from ..examples.posed_copy import keep_shown, shown_shapes
from ..lifecycle.enabling import settings_changed
from ..lifecycle.following import binding_with_current_softness
from ..scene.binding.binding import Binding
from ..scene.binding.kept_shapes import (
    KeptBlock,
    KeptShapes,
    ReadShapes,
    keep_shapes,
    kept_shapes,
    names_of_shapes,
)
from ..scene.binding.modifiers_before import shapes_refusal
from ..scene.binding.numpy_evaluator import PosedDeformer, evaluate
from ..scene.binding.soft_copy import softness_of
from ..scene.blender.own_objects import linked_refusal
from ..scene.blender.rigging import rig_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import (
    Settings,
    armature_with_settings,
    is_enabled,
    settings_of,
)
from ..session.changes import writing_settings
from ..wording import listed
from .motion import known_motion

JointKind = Literal["AUTO", "HINGE", "BALL"]
JOINT_KINDS: tuple[JointKind, ...] = get_args(JointKind)
"""How a joint that is new is measured. AUTO: by limits and limbs, as *Solve Folds* takes it; where
these do not tell, a hinge where one limb continues the other."""

# Radians: poses that are nearer are the same, those up to the second number cannot be told apart.
_SAME, _APART = 1e-4, np.radians(3.0)
# How surely one limb continues the other from which a joint is taken for a hinge.
_HINGE = 0.9
# Offsets below this part of the size are rounding.
_ROUNDING = 1e-6
# Where less of a shape can act, it has no offset.
_LEAST_SHARE = 0.05

_LINKED_SWITCH = (
    "{rig} is linked from another file, where Solved Shapes is off. Turn it on there, make it an "
    "editable library override, or give the meshes Own Settings."
)
_ADVICE_LINKED = "Solve its shapes there, or make it local (Object, Relations, Make Local)."


@dataclass(frozen=True)
class ShapePose:
    """The pose of one joint in a solved shape.

    Attributes:
        bone: behind the joint, at whose head it is.
        angle: degrees; of a hinge with a sign.
        azimuth: degrees, to which side a ball swings, from that of its first pose; 0 of a hinge.
    """

    bone: str
    angle: float
    azimuth: float


@dataclass(frozen=True)
class SolvedShape:
    """A solved shape of a mesh.

    Attributes:
        poses: of its joints, one to four.
        vertices: how many it moves.
        largest: its longest offset, in units of the armature.
        acts: whether neither the shapes of the character nor one of its joints is switched off, and
            the method is the one on which it was made.
    """

    poses: tuple[ShapePose, ...]
    vertices: int
    largest: float
    acts: bool


def editing_refusal(obj: Object) -> str | None:
    """Why the solved shapes of an object cannot be changed, or None; cheap."""
    if obj.override_library is not None:
        return f"{obj.name} is linked from another file. {_ADVICE_LINKED}"
    if reason := linked_refusal(obj.name, [obj], _ADVICE_LINKED):
        return reason
    # They are written, too.
    return authoring_refusal(obj) if len(settings_of(obj).examples) else None


def switch_refusal(obj: Object) -> str | None:
    """Why the solved shapes of an object are off and cannot be switched on, or None; cheap."""
    owner = armature_with_settings(obj) or obj
    if settings_of(owner).use_solved_shapes or _can_switch(owner):
        return None
    return _LINKED_SWITCH.format(rig=owner.name)


def _can_switch(owner: Object) -> bool:
    """Whether what has the settings of a character is of this file, or an editable override."""
    override = owner.override_library
    return owner.library is None and (override is None or not override.is_system_override)


def list_shapes(obj: Object) -> list[SolvedShape]:
    """The solved shapes of an object, those of one joint first.

    Raises:
        UserError: they cannot be read.
    """
    kept = kept_shapes(obj)
    if kept is None:
        return []
    names, found = names_of_shapes(obj), list[SolvedShape]()
    for block in sorted(kept.blocks, key=lambda each: len(each.joints)):
        joints = [kept.joints[row] for row in block.joints]
        bones = [names[joint.behind] for joint in joints]
        sizes = np.linalg.norm(block.offsets, axis=2)
        for poses, of_shape in zip(block.poses.tolist(), sizes, strict=True):
            listed_poses = [joint.poses[pose] for joint, pose in zip(joints, poses, strict=True)]
            found.append(
                SolvedShape(
                    tuple(
                        _pose(bone, *each) for bone, each in zip(bones, listed_poses, strict=True)
                    ),
                    int(np.count_nonzero(of_shape)),
                    float(of_shape.max(initial=0.0)),
                    _acts(kept, bones, obj),
                )
            )
    return found


def joints_with_shapes(obj: Object) -> list[str]:
    """The bones at whose heads an object has solved shapes.

    Raises:
        UserError: they cannot be read.
    """
    kept, names = kept_shapes(obj), names_of_shapes(obj)
    rows = [] if kept is None else [row for block in kept.blocks for row in block.joints.tolist()]
    return sorted({names[kept.joints[row].behind] for row in rows}) if kept is not None else []


def sculpted_poses(obj: Object, bones: Collection[str] | None = None) -> list[tuple[str, str]]:
    """The example poses of bones, or of all: name and bone.

    They keep what they show while the shapes below them change.
    """
    examples = settings_of(obj).examples
    return [(item.name, item.bone) for item in examples if bones is None or item.bone in bones]


def remove_shapes(obj: Object, joints: Collection[str] | None = None) -> int:
    """Remove the solved shapes of joints, also those that name other joints besides.

    Args:
        joints: the bones behind them; None: all.

    Returns:
        how many there were.

    Raises:
        UserError: the object is linked, or has no shapes of such a joint; nothing has changed.
    """
    raise_refusal(editing_refusal(obj))
    kept = kept_shapes(obj)
    names = names_of_shapes(obj)
    bones = [] if kept is None else [names[joint.behind] for joint in kept.joints]
    if unknown := sorted(set(joints or ()).difference(bones)):
        raise UserError(f"{obj.name} has no solved shapes at {listed(unknown)}.")
    if kept is None:
        return 0
    gone = [joints is None or bone in joints for bone in bones]
    blocks = [block for block in kept.blocks if not any(gone[row] for row in block.joints)]
    count = sum(len(block.poses) for block in kept.blocks)
    count -= sum(len(block.poses) for block in blocks)
    _keep(obj, replace(kept, blocks=tuple(blocks)), names)
    return count


@dataclass
class ShapeEditing:
    """The solved shapes of an object while they are changed; nothing is written before `keep`.

    Attributes:
        obj, depsgraph: the mesh object, and where its pose and its shape come from.
        settings: with all of the compensation, all shapes switched on, and without example poses.
        names: of bones, by their numbers in `joints`.
        joints, blocks: as `KeptShapes` has them.
    """

    obj: Object
    depsgraph: Depsgraph
    binding: Binding
    settings: Settings
    names: list[str]
    base: KeptShapes
    joints: list[SolvedJoint]
    blocks: list[KeptBlock]

    @classmethod
    def of(cls, obj: Object, depsgraph: Depsgraph, *, anew: bool = False) -> ShapeEditing:
        """Begin with those that an object has.

        Args:
            anew: begin with none where new ones cannot go with them.

        Raises:
            UserError: they cannot be changed, or new ones cannot go with them.
            BindingError: the object cannot be deformed.
        """
        raise_refusal(editing_refusal(obj))
        binding = binding_with_current_softness(obj, depsgraph)
        shown = {"use_solved_shapes": True, "shapes_left_out": ""}
        settings = replace(Settings.of(obj), by_example=False, factor=1.0, **shown)
        raise_refusal(shapes_refusal(SkinnedObject(obj)))
        kept, count = kept_shapes(obj), binding.vertex_count
        differs = kept is not None and (kept.vertex_count, kept.base) != (
            count,
            settings.acting_method,
        )
        if kept is None or not kept.blocks or (anew and differs):
            softness = softness_of(SkinnedObject(obj)) if settings.compensates else 0.0
            kept = KeptShapes(settings.acting_method, softness, count, np.zeros((0, 4, 4)), (), ())
        elif differs:
            raise UserError(
                f"The solved shapes of {obj.name} were made for {kept.vertex_count} vertices and "
                f"the method {kept.base}, not for {count} and {settings.acting_method}. Remove "
                "them first, or choose that method."
            )
        names = list(names_of_shapes(obj)) if kept.joints else []
        kept = kept.at_rest_in(names, binding.skeleton)
        parts = list(kept.joints), list(kept.blocks)
        return cls(obj, depsgraph, binding, settings, names, kept, *parts)

    def add(
        self,
        joints: Sequence[str],
        positions: Floats,
        kind: JointKind = "AUTO",
        matrices: Floats | None = None,
        least: float = 0.0,
    ) -> SolvedShape:
        """Let joints show a shape in a pose; one that is there already is replaced.

        All other joints may be posed, too: what they add is part of the pose. What is kept is what
        the deformer and the shapes of fewer of these joints lack, with all of the compensation and
        without example poses, which lie above.

        Args:
            joints: the bones behind them, one to `MOST_JOINTS`.
            positions: shape (n, 3), object space: the wanted vertices in this pose.
            kind: of joints that have no pose yet.
            matrices: shape (R, 4, 4), D_b of the rows of a pose; by default the current pose.
            least: shorter offsets are left out, in units of the armature.

        Raises:
            UserError: it cannot be added; the message says why and nothing has changed.
            PoseError: a bone's matrix is not finite.
        """
        names, before = list(self.names), (list(self.joints), list(self.blocks))
        try:
            return self._add(joints, positions, kind, matrices, least)
        except BaseException:
            self.names, (self.joints, self.blocks) = names, before
            raise

    def _add(
        self,
        joints: Sequence[str],
        positions: Floats,
        kind: JointKind,
        matrices: Floats | None,
        least: float,
    ) -> SolvedShape:
        binding, settings = self.binding, self.settings
        _require_possible(self.obj, joints, positions, binding)
        both = (self.obj, rig_of(self.obj))
        evaluated, armature = (each.evaluated_get(self.depsgraph) for each in both)
        deformer = PosedDeformer.of_current_pose(binding, settings, evaluated, armature, matrices)
        found = sorted(self._listed(name, deformer.pose, kind) for name in joints)
        rows, poses = np.array(found, np.int32).T
        self._remove_shape(rows, poses)
        shapes = self.shapes()
        read = ReadShapes("", binding.vertex_count, self.base.base, shapes)
        now = evaluate(binding.with_shapes(read), settings, evaluated, armature, matrices=matrices)
        missing = np.asarray(positions, np.float64) - now
        missing = missing @ deformer.object_to_armature[:3, :3].T
        turn = mean_turn(rows, *shapes.hats.turns(deformer.pose))
        shares = _shares(binding, settings)
        gains = np.where(shares > _LEAST_SHARE, 1.0 / np.maximum(shares, _LEAST_SHARE), 0.0)
        offsets = gains[:, None] * turned_back(turn, missing)
        lengths = np.linalg.norm(offsets, axis=1)
        size = extent(transformed_points(deformer.object_to_armature, binding.rest))
        vertices = np.flatnonzero(lengths > max(_ROUNDING * size, least))
        self._add_shape(rows, poses, vertices, offsets[vertices])
        return SolvedShape(
            tuple(self._pose_of(row, pose) for row, pose in found),
            len(vertices),
            float(lengths.max(initial=0.0)),
            acts=_acts(self.kept, joints, self.obj),
        )

    def copied(self) -> ShapeEditing:
        """The same shapes, to be changed by themselves."""
        lists = {"names": list(self.names), "joints": list(self.joints)}
        return replace(self, **lists, blocks=list(self.blocks))

    def clear(self, bone: str) -> None:
        """Remove the joint at the head of a bone with its shapes, those that name others, too."""
        behind = [self.names[joint.behind] for joint in self.joints]
        if bone not in behind:
            return
        gone = behind.index(bone)
        del self.joints[gone]
        left = [block for block in self.blocks if gone not in block.joints]
        self.blocks = [
            replace(block, joints=(block.joints - (block.joints > gone)).astype(np.int32))
            for block in left
        ]

    @property
    def kept(self) -> KeptShapes:
        """What there is now."""
        skeleton = self.binding.skeleton
        new = [skeleton.names.index(name) for name in self.names[len(self.base.rest) :]]
        rest = np.concatenate((self.base.rest, skeleton.rest[new]))
        parts = {"joints": tuple(self.joints), "blocks": tuple(self.blocks)}
        return replace(self.base, rest=rest, **parts)

    def shapes(self) -> SolvedShapes:
        """The same in armature space; UserError where a bone is not there any more."""
        joints = self.kept.joints_in(self.names, self.binding.skeleton)
        if None in joints:
            lost = sorted(set(self.names).difference(self.binding.skeleton.names))
            raise UserError(
                f"Solved shapes of {self.obj.name} belong to bones that are not there any more: "
                f"{listed(lost)}. Remove these shapes first."
            )
        return self.kept.solved(joints)

    def _listed(self, name: str, pose: Pose, kind: JointKind) -> tuple[int, int]:
        """The joint at the head of a bone, and its listed pose that is the current one.

        Both are added where they are not there yet.
        """
        skeleton, bone = self.binding.skeleton, self.binding.skeleton.names.index(name)
        behind = [self.names[joint.behind] for joint in self.joints]
        if name in behind:
            row = behind.index(name)
        else:
            joint = _new_joint(bone, rig_of(self.obj), self.binding, self.settings, pose, kind)
            ends = (self._number(skeleton.names[joint.before]), self._number(name))
            row = len(self.joints)
            self.joints.append(replace(joint, before=ends[0], behind=ends[1]))
        joint = self.kept.joints_in(self.names, skeleton)[row]
        if joint is None:
            raise UserError(
                f"The bone before {name} is not there any more. Remove the solved shapes of {name}."
            )
        place, poses = _listed_pose(name, joint, pose)
        self.joints[row] = replace(self.joints[row], poses=poses)
        return row, place

    def _number(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _pose_of(self, row: int, pose: int) -> ShapePose:
        """A listed pose of a joint."""
        joint = self.joints[row]
        return _pose(self.names[joint.behind], *joint.poses[pose])

    def _remove_shape(self, joints: Int32s, poses: Int32s) -> None:
        """Remove the shape of a combination; UserError where shapes of more joints stand on it."""
        wanted = dict(zip(joints.tolist(), poses.tolist(), strict=True))
        for place, block in enumerate(self.blocks):
            columns = [np.flatnonzero(block.joints == joint) for joint in wanted]
            if not all(map(len, columns)):
                continue
            same = (block.poses[:, np.concatenate(columns)] == list(wanted.values())).all(axis=1)
            if not same.any():
                continue
            if len(block.joints) > len(wanted):
                names = [self.names[self.joints[row].behind] for row in block.joints]
                raise UserError(
                    f"The solved shape of {listed(names, MOST_JOINTS)} stands on this one. Remove "
                    "it first, and add it again when this one is there."
                )
            left = ~same
            self.blocks[place] = replace(
                block, poses=block.poses[left], rounded=block.rounded[left]
            )
        self.blocks = [block for block in self.blocks if len(block.poses)]

    def _add_shape(
        self, joints: Int32s, poses: Int32s, vertices: Indices, offsets: Float64s
    ) -> None:
        """Add offsets, shape (m, 3), in armature space; the combination has no shape yet."""
        rows, found, listed_poses = vertices, offsets[None], poses[None]
        same = [np.array_equal(block.joints, joints) for block in self.blocks]
        if any(same):
            known = self.blocks.pop(same.index(True))
            rows = np.union1d(known.vertices, vertices)
            every = np.zeros((len(known.poses) + 1, len(rows), 3))
            every[:-1, np.searchsorted(rows, known.vertices)] = known.offsets
            every[-1, np.searchsorted(rows, vertices)] = found[0]
            found, listed_poses = every, np.concatenate((known.poses, poses[None]))
        self.blocks.append(KeptBlock.of(joints, listed_poses, rows, found))

    def keep(self) -> None:
        """Write them into the file, and switch solved shapes on; the object follows."""
        _keep(self.obj, self.kept, self.names, on=True)


def _keep(obj: Object, kept: KeptShapes, names: Sequence[str], *, on: bool = False) -> None:
    """Write shapes without joints and bones that none of them names; the object follows.

    Example poses on the same base keep the shapes that they show.

    Args:
        on: let the character show solved shapes from now on.
    """
    settings = settings_of(obj)
    is_base = bool(len(settings.examples)) and settings.example_base == kept.base
    shown = shown_shapes(obj) if is_base else []
    used = sorted({int(row) for block in kept.blocks for row in block.joints})
    if not used:
        keep_shapes(obj, None, ())
    else:
        joints = [kept.joints[row] for row in used]
        bones = sorted({bone for joint in joints for bone in (joint.before, joint.behind)})
        place = {bone: number for number, bone in enumerate(bones)}
        joints = [
            replace(joint, before=place[joint.before], behind=place[joint.behind])
            for joint in joints
        ]
        blocks = [
            replace(each, joints=np.searchsorted(used, each.joints).astype(np.int32))
            for each in kept.blocks
        ]
        rest = kept.rest[bones]
        kept = replace(kept, rest=rest, joints=tuple(joints), blocks=tuple(blocks))
        keep_shapes(obj, kept, [names[bone] for bone in bones])
    owner = armature_with_settings(obj) or obj
    switches_on = on and _can_switch(owner) and not settings_of(owner).use_solved_shapes
    if switches_on:
        with writing_settings():
            settings_of(owner).use_solved_shapes = True
    if is_enabled(obj):
        settings_changed(owner if switches_on else obj)
    keep_shown(obj, shown)


def _require_possible(
    obj: Object, joints: Sequence[str], positions: Floats, binding: Binding
) -> None:
    """Raise UserError where a shape of these joints cannot be made."""
    if not 1 <= len(joints) <= MOST_JOINTS or len(set(joints)) < len(joints):
        raise UserError(f"Name one to {MOST_JOINTS} different bones, not {listed(joints, 9)}.")
    for name in joints:
        if name not in binding.skeleton.names:
            raise UserError(f"{binding.armature_name} has no bone {name}.")
    shape = np.shape(positions)
    if shape != (binding.vertex_count, 3):
        raise UserError(
            f"The positions have the shape {shape}, {obj.name} has {binding.vertex_count} vertices."
        )
    if not np.isfinite(positions).all():
        raise UserError("A position is not a finite number.")


def _new_joint(
    bone: int, rig: Object, binding: Binding, settings: Settings, pose: Pose, kind: JointKind
) -> SolvedJoint:
    """The joint at the head of a bone, without poses; it is measured as it is bent now."""
    skin, skeleton = binding.skin(settings), binding.skeleton
    parents = parents_at_joints(skin)
    if parents[bone] < 0:
        raise UserError(
            f"No bone moves skin before {skeleton.names[bone]}: there is no joint at its head."
        )
    limbs = LimbJoints.by_parents(skin.skeleton, skin.limb_axis, parents)
    limb = limbs.forth[bone]
    hinge = kind == "HINGE"
    if kind == "AUTO":
        known = is_hinge(skin, known_motion(rig, skeleton), bone)
        hinge = limbs.hinge_confidence[bone] >= _HINGE if known is None else known
    before = _bone_before(bone, int(parents[bone]), skeleton, skin.limbs_of_bones, skin.moves)
    joint = SolvedJoint(
        before,
        bone,
        tuple(limb.tolist()),
        tuple(two_across(limb[None])[0][0].tolist()),
        hinge,
        (),
    )
    hats = PoseHats.of([replace(joint, hinge=False)])
    angle, azimuth, _ = (float(each[0]) for each in hats.measured(pose))
    _, toward, third = joint.frame
    if angle >= _APART:
        toward = np.cos(azimuth) * toward + np.sin(azimuth) * third
    return replace(joint, toward=tuple(unit_or(toward, 0.0).tolist()))


def _bone_before(
    bone: int, limb: int, skeleton: Skeleton, limbs_of_bones: Int32s, moves: Booleans
) -> int:
    """The bone against which a joint is measured: of the limb before it, the one that carries it.

    A twist bone in the line of an arm takes the forearm along: against the upper arm the elbow's
    plane of bending would turn with the twist.
    """
    above = int(skeleton.parents[bone])
    while above >= 0 and not moves[above]:
        above = int(skeleton.parents[above])
    return above if above >= 0 and limbs_of_bones[above] == limbs_of_bones[limb] else limb


def _listed_pose(
    name: str, joint: SolvedJoint, pose: Pose
) -> tuple[int, tuple[tuple[float, float], ...]]:
    """The place of the current pose among those of a joint, and the poses, with it if it is new."""
    angle, azimuth, fade = (float(each[0]) for each in PoseHats.of([joint]).measured(pose))
    if abs(angle) < _APART:
        raise UserError(f"{name} is as at rest, less than 3 degrees away. Pose it first.")
    if fade < 1.0:
        raise UserError(
            f"{name} is turned too far against the bone before it for a solved shape: more than "
            "165 degrees, or out of its plane. Turn it less."
        )
    for place, (other_azimuth, other_angle) in enumerate(joint.poses):
        beside = abs((azimuth - other_azimuth + np.pi) % (2.0 * np.pi) - np.pi)
        beside = 0.0 if joint.hinge else beside
        if beside < _SAME:
            azimuth = other_azimuth
            if abs(angle - other_angle) < _SAME:
                return place, joint.poses
        apart = abs(angle - other_angle)
        if beside < _APART and (beside >= _SAME or apart < _APART):
            raise UserError(
                f"{name} is posed nearly as in a solved shape that it has, at "
                f"{np.degrees(other_angle):.1f} degrees. Pose it as there, or at least 3 degrees "
                "from it, to the same side or to another one."
            )
    poses = (*joint.poses, (0.0 if joint.hinge else azimuth, angle))
    return len(joint.poses), poses


def _shares(binding: Binding, settings: Settings) -> Floats:
    """Shape (n,), how much of a shape acts on each vertex."""
    deformation = binding.deformation(settings)
    found = np.ones(binding.vertex_count)
    if deformation.compensation is not None and deformation.painted is not None:
        found = found * deformation.painted
    if deformation.blend is not None and deformation.method in BLENDED_METHODS:
        found = found * deformation.blend
    return found if deformation.mask is None else found * deformation.mask


def _pose(bone: str, azimuth: float, angle: float) -> ShapePose:
    return ShapePose(bone, float(np.degrees(angle)), float(np.degrees(azimuth)))


def _acts(kept: KeptShapes, bones: Sequence[str], obj: Object) -> bool:
    """Whether a shape of these joints acts on an object."""
    settings = Settings.of(obj)
    off = settings.bones_left_out("shapes_left_out")
    acts = settings.use_solved_shapes and kept.base == settings.acting_method
    return acts and not set(off).intersection(bones)
