"""Bakes corrective shape keys of characters, from the options to the reports."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial

import bpy
import numpy as np

from ...analysis.corrective_joints import CorrectiveJoint
from ...errors import UserError
from ...scene.settings.object_settings import Settings
from ...scene.shape_keys.key_writing import keys_refusal
from ...steps import Progress
from ...wording import listed, sized
from ..bake_reports import CorrectiveReport
from ..bake_source import Source
from ..key_options import CorrectiveOptions
from ..shape_keys.frame_baking import MUCH_MEMORY
from ..shape_keys.frames import needed_bytes
from ..shape_keys.shape_key_bake import CharacterBake, bake_characters
from .action_poses import action_joints
from .corrective_poses import chosen_joints, deforming_names, joints_that_matter, with_mirrored
from .correctives import GatheredJoint, correctives_refusal, gather, verify, write
from .example_joints import example_joints

# The part of a bake's time that the poses take; the rest is the check.
_READING = 0.6

# Offsets, keys, Blender's evaluated copy of them, the undo step, and the two copies for the check.
_COPIES_IN_MEMORY = 6

REFUSAL_NO_JOINT = (
    "{obj} has no joint at which vertices follow two deforming bones, so nothing can be corrected."
)
REFUSAL_MESH_JOINTS = (
    "The joints of {obj} are found from the mesh alone, at {bones}. Shape keys follow how a bone "
    "turns in its parent, and these bones lack their parents: press Check and Parent Bones first."
)
REFUSAL_MEMORY = (
    "{count} shape keys need about {size} of memory. Choose fewer bones or angles, or turn "
    "on Allow over 1 GB of Memory."
)


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
    """Bake correctives of characters that are read already; see `bake_correctives`.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    joints = require_correctives(sources, options)
    bakes = [
        _corrective_bake(source, found, options)
        for source, found in zip(sources, joints, strict=True)
    ]
    return (yield from bake_characters(bakes, options.target, options.onto, _READING))


def _corrective_bake(
    source: Source, joints: list[CorrectiveJoint], options: CorrectiveOptions
) -> CharacterBake[list[GatheredJoint], CorrectiveReport]:
    """The steps that bake the correctives of one character."""

    def report(
        obj: bpy.types.Object, found: list[GatheredJoint], names: tuple[str, ...]
    ) -> CorrectiveReport:
        bones = {one.joint.bone for one in found if any(each is not None for each in one.offsets)}
        unreached = int(np.count_nonzero(np.logical_or.reduce([one.unreached for one in found])))
        return CorrectiveReport(source.obj.name, obj.name, names, unreached, len(bones))

    def check(
        obj: bpy.types.Object, report: CorrectiveReport
    ) -> Generator[float, None, CorrectiveReport]:
        found = yield from verify(obj, source, joints, report.key_names, bpy.context.scene)
        return replace(report, verdict=found)

    return CharacterBake(
        source,
        sum(len(joint.poses) for joint in joints),
        partial(gather, source, joints, options.tolerance),
        partial(write, pattern=options.pattern, overwrite=options.overwrite),
        report,
        check,
    )


def _joints(source: Source, options: CorrectiveOptions) -> list[CorrectiveJoint]:
    """The joints of a character and their poses, by the options.

    Raises:
        UserError: there are none.
    """
    if options.directions == "EXAMPLES":
        return example_joints(source.obj, source.binding)
    names = list(options.bones) or joints_that_matter(source.binding)
    if not names:
        raise UserError(_no_joint(source))
    if options.mirror:
        names = with_mirrored(names, source.binding.skeleton)
    names = deforming_names(source.obj, names)
    if options.directions == "ACTION":
        return action_joints(source.obj, source.binding, names, bpy.context.scene)
    return chosen_joints(
        source.binding,
        names,
        directions=options.directions,
        angles=tuple(options.angles),
        twists=tuple(options.twists),
        both_ways=options.both_ways,
    )


def _no_joint(source: Source) -> str:
    """Why no bone is chosen where the user has chosen none."""
    obj, binding = source.obj, source.binding
    settings = replace(Settings.of(obj), use_mesh_joints=True)
    bones = binding.measured(settings).bones_of_mesh_joints
    if not len(bones):
        return REFUSAL_NO_JOINT.format(obj=obj.name)
    names = [binding.skeleton.names[bone] for bone in bones]
    return REFUSAL_MESH_JOINTS.format(obj=obj.name, bones=listed(names))


def require_correctives(
    sources: Sequence[Source], options: CorrectiveOptions
) -> list[list[CorrectiveJoint]]:
    """The joints of characters that get correctives.

    Raises:
        UserError: one of the characters cannot be baked like this.
    """
    joints = [_joints(source, options) for source in sources]
    count = size = 0
    for source, found in zip(sources, joints, strict=True):
        overwrite = options.overwrite
        reason = correctives_refusal(source.obj, found, options.pattern, overwrite=overwrite)
        # A copy can have the keys whatever keeps them from the object.
        if reason is None and options.onto == "THIS":
            reason = keys_refusal(source.obj)
        if reason is not None:
            raise UserError(reason)
        poses = sum(len(joint.poses) for joint in found)
        count += poses
        size += _COPIES_IN_MEMORY * needed_bytes(source.vertex_count, poses)
    if size > MUCH_MEMORY and not options.much_memory:
        raise UserError(REFUSAL_MEMORY.format(count=count, size=sized(size)))
    return joints
