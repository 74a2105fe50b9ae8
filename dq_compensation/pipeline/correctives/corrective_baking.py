"""Bakes corrective shape keys: our deformation in poses of single bones, driven by these bones.

A key holds what Blender's Armature modifier lacks with one bone turned and every other at rest, on
the basis shape. Keys of several bones add up, which is exact where their joints share no vertices;
where they do, the check says how far it is off.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...analysis.posed_bones import Quaternion, posed_matrices
from ...analysis.ranges_of_motion import ranges_of_motion
from ...arrays import Booleans, Float32s
from ...bake.bake_memory import needed_bytes, require_memory
from ...bake.bake_reports import remember_report
from ...bake.bake_source import Source
from ...bake.deviations import Deviation, deviation
from ...bake.key_names import corrective_name
from ...bake.shape_key_bakes import CharacterBake, bake_characters
from ...core.example_poses import PosesTooClose
from ...core.vectors import transformed_points
from ...errors import UserError, raise_refusal
from ...scene.blender.rigging import rig_of
from ...scene.blender.scenes import object_millimetres
from ...scene.copies import FreeCopies, free_copies
from ...scene.key_animation import remove_curves
from ...scene.key_writing import keys_refusal, remove_keys, write_key
from ...scene.settings.object_settings import Settings
from ...steps import Progress, with_progress
from ...wording import listed
from .action_joints import action_joints, example_joints, local_rotations, mirrored_poses
from .baked_keys import corrective_keys
from .corrective_drivers import drive_keys
from .corrective_joints import CorrectiveJoint
from .corrective_poses import (
    blending_joints,
    chosen_joints,
    deforming_names,
    names_of_joints,
    with_mirrored,
)
from .corrective_reports import CorrectiveReport, Verdict
from .key_budget import Spending, within_key_budget
from .options import CorrectiveOptions
from .random_poses import motion_range
from .verified_poses import Rotations, poses_at_once, poses_of_joint

# The part of the bake's time that the poses take; the rest is the check.
_READING = 0.6

# Offsets, keys, Blender's evaluated copy of them, the undo step, and the two copies for the check.
_COPIES_IN_MEMORY = 6

_REFUSAL_NO_JOINT = (
    "No vertex of {obj} follows two deforming bones, one below the other, with weights above 0.01, "
    "so there is nothing to correct."
)
_REFUSAL_MESH_JOINTS = (
    "The joints of {obj} are found from the mesh alone, at {bones}. Shape keys follow how a bone "
    "turns in its parent, and these bones lack their parents: press Check and Parent Bones first."
)
_REFUSAL_CLOSE = "{first} and {second} of {bone} are nearly the same pose. Leave one of them out."

_Offsets = list[list[Float32s | None]]
"""For each joint, the offsets (n, 3) of its poses, object space; None where there is no key."""


@dataclass(frozen=True, eq=False)
class _Gathered:
    """The keys of one character.

    Attributes:
        joints: with the poses that the curves of the keys know.
        unreached: the vertices that stay off in some pose, shape (n,).
        spending: what other numbers of keys would leave.
        beyond_budget: the bones that lack keys of theirs.
    """

    joints: tuple[CorrectiveJoint, ...]
    offsets: _Offsets
    unreached: Booleans
    spending: Spending
    beyond_budget: frozenset[str]


def bake_correctives(
    objects: Sequence[bpy.types.Object], options: CorrectiveOptions
) -> Generator[Progress, None, list[CorrectiveReport]]:
    """Bake correctives of several characters; see `bake_characters`.

    Args:
        objects: mesh objects, enabled or not.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    sources = [Source.of(obj, depsgraph, options.target) for obj in objects]
    return (yield from bake_correctives_of(sources, options))


def bake_correctives_of(
    sources: Sequence[Source], options: CorrectiveOptions
) -> Generator[Progress, None, list[CorrectiveReport]]:
    """Bake correctives of characters that are read already; see `bake_correctives`."""
    bakes = require_correctives(sources, options)
    if options.estimate:
        return (yield from _counted_keys(bakes))
    return (yield from bake_characters(bakes, options, _READING))


def _counted_keys(
    bakes: Sequence[CorrectiveBake],
) -> Generator[Progress, None, list[CorrectiveReport]]:
    """The reports of an estimate, which the panel shows."""
    reports = []
    for number, bake in enumerate(bakes):
        obj, length = bake.source.obj, 1.0 / len(bakes)
        steps = with_progress(bake.gather(), f"Reading {obj.name}", number * length, length)
        gathered = yield from steps
        names = tuple(name for some in bake.names(gathered) for name in some if name is not None)
        report = replace(bake.report(obj, gathered, names), estimate=True)
        remember_report(obj, report.sentence(), summary=report.summary(), estimate=True)
        reports.append(report)
    return reports


def require_correctives(
    sources: Sequence[Source], options: CorrectiveOptions
) -> list[CorrectiveBake]:
    """The bakes of characters; nothing is read yet.

    Raises:
        UserError: one of the characters cannot be baked like this.
    """
    bakes = [CorrectiveBake(source, options, *_joints(source, options)) for source in sources]
    for bake in bakes:
        bake.require_joints()
        # A copy can have the keys whatever keeps them from the object.
        if options.onto == "THIS":
            raise_refusal(keys_refusal(bake.source.obj))
    size = sum(needed_bytes(bake.source.vertex_count, bake.size) for bake in bakes)
    what = f"{sum(bake.size for bake in bakes)} shape keys"
    require_memory(_COPIES_IN_MEMORY * size, options, what, "fewer bones or angles")
    return bakes


def _joints(
    source: Source, options: CorrectiveOptions
) -> tuple[list[CorrectiveJoint], list[CorrectiveJoint]]:
    """The joints of a character and their poses, and those that cannot get keys.

    Raises:
        UserError: no joint can get keys.
    """
    if options.directions == "EXAMPLES":
        return example_joints(source.obj, source.binding), []
    names, left_out = list(options.bones), list[str]()
    if not names:
        names = names_of_joints(source.binding)
        left_out = [name for name in _bones_of_mesh_joints(source) if name not in names]
    if not names:
        refusal = _REFUSAL_MESH_JOINTS if left_out else _REFUSAL_NO_JOINT
        raise UserError(refusal.format(obj=source.obj.name, bones=listed(left_out)))
    if options.mirror:
        names = with_mirrored(names, source.binding.skeleton)
        left_out = [name for name in left_out if name not in names]
    names = deforming_names(source.obj, [*names, *left_out])
    if options.directions == "ACTION":
        found = action_joints(source.obj, source.binding, names, bpy.context.scene)
    else:
        limbs = source.binding.twist_limbs(Settings.of(source.obj))
        found = chosen_joints(source.binding.skeleton, names, options, limbs)
    keyed = [joint for joint in found if joint.bone not in left_out]
    return keyed, [joint for joint in found if joint.bone in left_out]


def _bones_of_mesh_joints(source: Source) -> list[str]:
    """The bones behind joints that only the mesh tells."""
    settings = replace(Settings.of(source.obj), use_mesh_joints=True)
    bones = source.binding.measured(settings).bones_of_mesh_joints
    return [source.binding.skeleton.names[bone] for bone in bones]


@dataclass(frozen=True, eq=False)
class CorrectiveBake(CharacterBake[CorrectiveOptions, _Gathered, CorrectiveReport]):
    """The steps that bake the correctives of one character.

    Attributes:
        joints: with the poses that get keys.
        unparented: joints that cannot get keys, as their bones lack their parents. The check turns
            them, too.
    """

    joints: list[CorrectiveJoint]
    unparented: list[CorrectiveJoint]

    def require_joints(self) -> None:
        """Raise `UserError` where these joints cannot get keys, apart from `keys_refusal`."""
        obj = self.source.obj
        for joint in self.joints:
            for pose in joint.poses:
                corrective_name(self.options.pattern, joint.bone, pose.label)
            try:
                joint.weights(np.array([pose.rotation for pose in joint.poses]))
            except PosesTooClose as error:
                labels = ("Rest", *(pose.label for pose in joint.poses))
                first, second = labels[error.first], labels[error.second]
                text = _REFUSAL_CLOSE.format(first=first, second=second, bone=joint.bone)
                raise UserError(text) from error
            known = corrective_keys(obj, joint)
            if known and not self.options.overwrite:
                raise UserError(
                    f"The shape keys {listed(known)} of {obj.name} correct {joint.bone} already. "
                    "Turn on Replace Earlier Bake, or remove them."
                )

    @property
    def size(self) -> int:
        """See `CharacterBake`."""
        return sum(len(joint.poses) for joint in self.joints)

    def gather(self) -> Generator[float, None, _Gathered]:
        """See `CharacterBake`; poses that need no offset longer than the tolerance get no key."""
        source, skeleton = self.source, self.source.binding.skeleton
        least = self.options.tolerance / object_millimetres(source.obj, bpy.context.scene)
        gathered: _Offsets = []
        unreached = np.zeros(source.vertex_count, np.bool_)
        done = 0
        for joint in self.joints:
            bone = skeleton.names.index(joint.bone)
            gathered.append([])
            for pose in joint.poses:
                matrices = posed_matrices(skeleton, {bone: pose.rotation})
                posed = source.posed(bpy.context.evaluated_depsgraph_get(), matrices)
                found = source.offsets(posed)
                longest = float(np.linalg.norm(found.offsets, axis=1).max(initial=0.0))
                gathered[-1].append(found.offsets if longest > least else None)
                unreached |= found.unreached
                done += 1
                yield done / self.size
        return self._within_budget(gathered, unreached)

    def _within_budget(self, offsets: _Offsets, unreached: Booleans) -> _Gathered:
        """The keys that the budget is for."""
        grams = []
        for some in offsets:
            gram = np.zeros((len(some), len(some)))
            found = [place for place, each in enumerate(some) if each is not None]
            rows = np.array([each.ravel() for each in some if each is not None])
            if found:
                gram[np.ix_(found, found)] = rows @ rows.T
            grams.append(gram)
        wanted = [[each is not None for each in some] for some in offsets]
        budget = 0 if self.options.directions == "EXAMPLES" else self.options.budget
        twins = mirrored_poses(self.joints, self.source.binding.skeleton)
        spent = within_key_budget(self.joints, grams, wanted, twins, budget)
        left = [
            [some[place] if (joint, place) in spent.keys else None for place in places]
            for joint, (some, places) in enumerate(zip(offsets, spent.kept, strict=True))
        ]
        beyond = {
            joint.bone
            for place, (joint, some) in enumerate(zip(self.joints, wanted, strict=True))
            if any(has and (place, pose) not in spent.keys for pose, has in enumerate(some))
        }
        return _Gathered(spent.joints, left, unreached, spent.spending, frozenset(beyond))

    def names(self, gathered: _Gathered) -> list[list[str | None]]:
        """The names for the keys of each joint; None for poses without one."""
        pattern = self.options.pattern
        return [
            [
                None if each is None else corrective_name(pattern, joint.bone, pose.label)
                for pose, each in zip(joint.poses, of_joint, strict=True)
            ]
            for joint, of_joint in zip(gathered.joints, gathered.offsets, strict=True)
        ]

    def write(self, onto: bpy.types.Object, gathered: _Gathered) -> list[str]:
        """Write the keys and their drivers."""
        armature = rig_of(onto)
        if self.options.overwrite:
            old = {name: None for joint in self.joints for name in corrective_keys(onto, joint)}
            remove_curves(onto, old)
            remove_keys(onto, old)
        written: list[str] = []
        wanted = self.names(gathered)
        each = zip(gathered.joints, gathered.offsets, wanted, strict=True)
        for joint, of_joint, of_poses in each:
            names = [
                write_key(onto, name, offsets).name if name and offsets is not None else None
                for name, offsets in zip(of_poses, of_joint, strict=True)
            ]
            drive_keys(onto, armature, joint, names)
            written.extend(name for name in names if name is not None)
        return written

    def report(
        self, onto: bpy.types.Object, gathered: _Gathered, names: tuple[str, ...]
    ) -> CorrectiveReport:
        """See `CharacterBake`."""
        spending, bones = gathered.spending, set[str]()
        for joint, some in zip(gathered.joints, gathered.offsets, strict=True):
            bones |= {joint.bone for each in some if each is not None}
        others = [spending.left_by(most) for most in (len(names) // 2, 2 * len(names))]
        poorest = gathered.beyond_budget - bones
        every = dict.fromkeys(joint.bone for joint in self.joints)
        return CorrectiveReport(
            self.source.obj.name,
            onto.name,
            names,
            int(np.count_nonzero(gathered.unreached)),
            len(bones),
            tolerance=self.options.tolerance,
            within_tolerance=tuple(
                bone for bone in every if bone not in bones and bone not in poorest
            ),
            beyond_budget=tuple(bone for bone in every if bone in poorest),
            left=spending.left_by(len(names))[1],
            other_budgets=tuple(each for each in others if each[0] != len(names)),
            unparented=tuple(dict.fromkeys(joint.bone for joint in self.unparented)),
        )

    def verify(
        self, onto: bpy.types.Object, report: CorrectiveReport
    ) -> Generator[float, None, CorrectiveReport]:
        """See `CharacterBake`: in poses of copies, which are gone afterwards."""
        scene = bpy.context.scene
        joints = [*self.joints, *self.unparented]
        singles = [pose for joint in joints for pose in poses_of_joint(joint)]
        together = self._poses_at_once(joints)
        before, after = [Deviation(), Deviation()], [Deviation(), Deviation()]
        with free_copies(onto, report.key_names, self.source.target, scene) as copies:
            for done, rotations in enumerate((*singles, *together)):
                one, other = _compare(copies, self.source, rotations)
                at_once = int(done >= len(singles))
                before[at_once] = before[at_once].and_also(one)
                after[at_once] = after[at_once].and_also(other)
                yield (done + 1) / (len(singles) + len(together))
        verdict = Verdict(before[0], after[0], before[1], after[1])
        return replace(report, verdict=verdict)

    def _poses_at_once(self, joints: Sequence[CorrectiveJoint]) -> list[Rotations]:
        """Poses of all of these joints together: those of *Bake to Bones*, as far as keys go.

        Between the poses of actions and examples where these get the keys.
        """
        options, binding = self.options, self.source.binding
        if options.directions in {"ACTION", "EXAMPLES"}:
            return poses_at_once(joints)
        skeleton = binding.skeleton
        bones = sorted({skeleton.names.index(joint.bone) for joint in joints})
        if len(bones) < 2:
            return []
        rest = transformed_points(binding.object_to_armature, binding.rest)
        pairs = np.array(blending_joints(binding.influences, skeleton)).reshape(-1, 2)
        ranges = ranges_of_motion(binding.influences, rest, skeleton, pairs)
        bend, twisted = (max(angles, default=0.0) for angles in (options.angles, options.twists))
        motion = motion_range(
            skeleton, {bone: ranges.get(bone, 1.0) for bone in bones}, bend, 0.5 * twisted
        )
        names, poses = [skeleton.names[bone] for bone in bones], list[Rotations]()
        for matrices in motion.checked:
            turned = local_rotations(matrices, skeleton, np.array(bones)).tolist()
            poses.append(dict(zip(names, map(tuple, turned), strict=True)))
        return poses


def _compare(
    copies: FreeCopies, source: Source, rotations: Mapping[str, Quaternion]
) -> tuple[Deviation, Deviation]:
    """The deviations of the copies without and with keys from ours, in one pose."""
    copies.pose(rotations)
    matrices = source.binding.pose_matrices(copies.armature.evaluated_get(copies.depsgraph))
    wanted = source.posed(bpy.context.evaluated_depsgraph_get(), matrices).wanted
    return (
        deviation(wanted, copies.plain, copies.depsgraph),
        deviation(wanted, copies.corrected, copies.depsgraph),
    )
