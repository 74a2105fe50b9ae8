"""Bakes corrective shape keys of characters, from what is asked for to what is reported."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import bpy
import numpy as np

from ..bake.action_poses import action_joints
from ..bake.carriers import Onto, let_armature_deform
from ..bake.corrective_poses import (
    Directions,
    chosen_joints,
    deforming_names,
    joints_that_matter,
    with_mirrored,
)
from ..bake.correctives import Verdict, correctives_problem, gather, verify, write
from ..bake.errors import BakeError
from ..bake.example_joints import example_joints
from ..bake.frames import needed_bytes
from ..bake.shape_keys import keys_problem
from ..bake.source import Source
from ..core.corrective_joints import CorrectiveJoint
from ..core.rest_offsets import Target
from ..scene.object_settings import settings_of
from ..wording import counted
from .bake_reports import Progress, remember
from .baking import carriers_for, reporting
from .enabling import disable

# Offsets, keys, Blender's evaluated copy of them, the undo step, and the two copies for the check.
_COPIES_IN_MEMORY = 6

MUCH_MEMORY = 1e9

PROBLEM_NO_JOINT = (
    "{obj} has no joint at which vertices follow two deforming bones, so nothing can be corrected."
)
PROBLEM_MEMORY = (
    "{count} shape keys need about {size:.1f} GB of memory. Choose fewer bones or angles, or turn "
    "on Allow over 1 GB of Memory."
)


@dataclass(frozen=True)
class CorrectiveOptions:
    """How correctives are baked.

    Attributes:
        bones: names; none of them: all joints that matter.
        directions: about which axes the bones are bent, or ACTION: as the armature's action has it,
            or EXAMPLES: the example poses of the object, whatever the other choices of poses are.
        angles: of the bends, degrees above 0; not for ACTION.
        twists: angles of twist, degrees above 0, both ways; not for ACTION.
        both_ways: whether bones that bend about one axis are bent backwards as well.
        mirror: whether the other side's bones get keys as well.
        target: what deforms the baked object.
        pattern: of the keys' names, with {bone} and {angle}.
        tolerance: millimetres; poses in which no vertex needs a longer offset get no key.
        onto: what gets the keys.
        overwrite: whether the correctives that the bones have are replaced.
        much_memory: whether to go on where it takes more than `MUCH_MEMORY` bytes.
    """

    bones: tuple[str, ...] = ()
    directions: Directions | Literal["ACTION", "EXAMPLES"] = "LIMBS"
    angles: tuple[float, ...] = (45.0, 90.0)
    twists: tuple[float, ...] = ()
    both_ways: bool = False
    mirror: bool = False
    target: Target = "LINEAR"
    pattern: str = "{bone} {angle}"
    tolerance: float = 0.1
    onto: Onto = "THIS"
    overwrite: bool = True
    much_memory: bool = False


@dataclass(frozen=True)
class CorrectiveReport:
    """What came of baking correctives onto one object.

    Attributes:
        object_name: whose deformation it is.
        onto_name: what has the keys; the object itself or its copy.
        bones: how many bones the keys follow.
        key_names: of the shape keys.
        unreached: how many vertices do not get where they should in some pose.
        verdict: Blender's own modifier without and with the keys from our deformation.
    """

    object_name: str
    onto_name: str
    bones: int
    key_names: tuple[str, ...]
    unreached: int
    verdict: Verdict = field(default_factory=Verdict)

    def sentence(self) -> str:
        """For the status line and the panel."""
        if not self.key_names:
            return f"{self.object_name} needs no correctives of these bones: nothing was baked."
        onto = "" if self.onto_name == self.object_name else f" onto {self.onto_name}"
        bones = counted(self.bones, "bone")
        keys = counted(len(self.key_names), "corrective")
        said = [f"Baked {keys} of {bones} of {self.object_name}{onto}."]
        before, after = self.verdict.before, self.verdict.after
        if after.poses:
            said.append(
                f"In {after.poses} poses in between, the largest error is {after.largest:.3g} mm "
                f"instead of {before.largest:.3g} (rms {after.rms:.2g} instead of "
                f"{before.rms:.2g})."
            )
        before, after = self.verdict.before_at_once, self.verdict.after_at_once
        if after.poses:
            said.append(
                f"With all of them turned at once {after.largest:.3g} mm instead of "
                f"{before.largest:.3g} (rms {after.rms:.2g} instead of {before.rms:.2g})."
            )
        if self.unreached:
            vertices = counted(self.unreached, "vertex")
            said.append(f"{vertices} could not be reached in some pose.")
        return " ".join(said)


def bake_correctives(
    objects: Sequence[bpy.types.Object], options: CorrectiveOptions
) -> Generator[Progress, None, list[CorrectiveReport]]:
    """Bake correctives of several characters.

    An object that gets keys itself is disabled: its Armature modifier deforms it then, with
    Preserve Volume as the target says. A copy is deformed like that, and the object stays as it is.

    Args:
        objects: mesh objects, enabled or not.
        options: how.

    Raises:
        BakeError: one of them cannot be baked; nothing has changed then.
    """
    scene = bpy.context.scene
    depsgraph = bpy.context.evaluated_depsgraph_get()
    sources = [Source.of(obj, depsgraph, options.target) for obj in objects]
    joints = [_joints(source, options) for source in sources]
    _check(sources, joints, options)
    counts = [sum(len(joint.poses) for joint in found) for found in joints]
    gathered = []
    for number, source in enumerate(sources):
        done_before = sum(counts[:number])
        found = yield from reporting(
            gather(source, joints[number], options.tolerance),
            f"Baking {source.obj.name}",
            lambda done, before=done_before: 0.6 * (before + done) / sum(counts),
        )
        gathered.append(found)
    with carriers_for(list(objects), options.onto) as carriers:
        names = [
            write(carrier, found, options.pattern, overwrite=options.overwrite)
            for carrier, found in zip(carriers, gathered, strict=True)
        ]
    reports: list[CorrectiveReport] = []
    for source, carrier, found, keys in zip(sources, carriers, gathered, names, strict=True):
        if settings_of(carrier).is_enabled:
            disable(carrier)
        let_armature_deform(carrier, options.target)
        bones = {one.joint.bone for one in found if any(each is not None for each in one.offsets)}
        unreached = np.logical_or.reduce([one.unreached for one in found])
        report = CorrectiveReport(
            source.obj.name,
            carrier.name,
            len(bones),
            tuple(keys),
            int(np.count_nonzero(unreached)),
        )
        reports.append(report)
        remember(carrier, report.sentence(), report.key_names)
    gathered.clear()
    for number, (source, carrier) in enumerate(zip(sources, carriers, strict=True)):
        if not names[number]:
            continue
        verdict = yield from reporting(
            verify(carrier, source, joints[number], names[number], scene),
            f"Checking {carrier.name}",
            lambda percent, number=number: 0.6 + 0.4 * (number + percent / 100.0) / len(sources),
            stoppable=False,
        )
        reports[number] = replace(reports[number], verdict=verdict)
        remember(carrier, reports[number].sentence(), reports[number].key_names)
    return reports


def _joints(source: Source, options: CorrectiveOptions) -> list[CorrectiveJoint]:
    """The joints of a character and their poses, as asked for.

    Raises:
        BakeError: there are none.
    """
    if options.directions == "EXAMPLES":
        return example_joints(source.obj, source.binding)
    names = list(options.bones) or joints_that_matter(source.binding)
    if not names:
        raise BakeError(PROBLEM_NO_JOINT.format(obj=source.obj.name))
    if options.mirror:
        names = with_mirrored(names, source.binding.skeleton)
    names = deforming_names(source.obj, names)
    if options.directions == "ACTION":
        return action_joints(source.obj, source.binding, names, bpy.context.scene)
    return chosen_joints(
        source.binding,
        names,
        directions=options.directions,
        angles=options.angles,
        twists=options.twists,
        both_ways=options.both_ways,
    )


def _check(
    sources: Sequence[Source],
    joints: Sequence[Sequence[CorrectiveJoint]],
    options: CorrectiveOptions,
) -> None:
    """Raise `BakeError` where one of the objects cannot be baked like this."""
    count = size = 0
    for source, found in zip(sources, joints, strict=True):
        overwrite = options.overwrite
        reason = correctives_problem(source.obj, found, options.pattern, overwrite=overwrite)
        # A copy can have the keys whatever keeps them from the object.
        if reason is None and options.onto == "THIS":
            reason = keys_problem(source.obj)
        if reason is not None:
            raise BakeError(reason)
        poses = sum(len(joint.poses) for joint in found)
        count += poses
        size += _COPIES_IN_MEMORY * needed_bytes(source.vertex_count, poses)
    if size > MUCH_MEMORY and not options.much_memory:
        raise BakeError(PROBLEM_MEMORY.format(count=count, size=size / 1e9))
