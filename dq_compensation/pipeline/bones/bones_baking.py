"""Bakes the deformation to helper bones: plain linear skinning; removes this and other bakes.

A generator, as in `baking`: closed before it has begun to write, it leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import bpy
import numpy as np

from ...analysis.ranges_of_motion import BEND, TWIST
from ...arrays import Float32s, Float64s
from ...bake.bake_reports import BonesReport, forget_report, remember_report
from ...bake.bake_source import Source
from ...bake.key_options import CorrectiveOptions
from ...bake.rig_source import REFUSAL_EDIT_MODE, RigSource, bones_refusal, original_binding
from ...core.influences import Influences
from ...errors import UserError, raise_refusal
from ...scene.binding.bind import bind
from ...scene.binding.binding import Binding
from ...scene.blender.armature import armature_of
from ...scene.blender.rigging import rig_of
from ...scene.blender.scenes import evaluate_unkeyed
from ...scene.key_writing import keys_refusal, remove_curves, remove_keys, remove_made_basis
from ...scene.settings.object_settings import is_enabled
from ...scene.vertex_groups import add_to_record, kept_record
from ...steps import Progress
from ...wording import counted
from ..correctives.corrective_baking import bake_correctives_of, require_correctives
from ..correctives.corrective_drivers import baked_keys, remove_properties
from .bones_fitting import Fitted, fit_bones, pairs_to_help
from .bones_options import BonesOptions
from .bones_source import (
    remove_bones_bake,
    writing_bones_refusal,
)
from .bones_writing import Written, write_bones
from .helper_bones import helper_transforms

# Bakes what helper bones leave off to driven shape keys.


def _require_rest(source: RigSource, options: BonesOptions) -> int:
    """How many keys for the rest characters get at most; changes nothing.

    Raises:
        UserError: they cannot get any.
    """
    bakes = require_correctives(source.sources, _correctives(options, options.onto))
    return sum(bake.size for bake in bakes)


def _bake_rest(
    written: Written, options: BonesOptions, start: float, length: float
) -> Generator[Progress, None, BonesReport]:
    """Give characters that have helper bones keys for the rest; returns the report with them.

    Args:
        start, length: where in the whole bake this begins, and its part of it, 0 to 1.
    """
    report = written.report
    objects = [bpy.data.objects[name] for name in report.onto_names]
    if not report.written:
        return report
    depsgraph = bpy.context.evaluated_depsgraph_get()
    sources = [HelperSource.of_baked(obj, depsgraph, written) for obj in objects]
    steps = bake_correctives_of(sources, _correctives(options, "THIS"))
    try:
        while True:
            progress = next(steps)
            yield Progress(start + length * progress.share, progress.doing, stoppable=False)
    except StopIteration as end:
        found = end.value
    finally:
        steps.close()
    report = replace(report, correctives=" ".join(each.sentence() for each in found))
    for obj, each in zip(objects, found, strict=True):
        add_to_record(obj, keys=list(each.key_names))
        remember_report(obj, report.sentence(), of_bones=True)
    return report


def _correctives(options: BonesOptions, onto: str) -> CorrectiveOptions:
    """The poses of the range of motion, or those of the action."""
    return CorrectiveOptions(
        bones=options.bones,
        directions="LIMBS" if options.poses == "ALL" else "ACTION",
        angles=(BEND / 2.0, BEND),
        twists=(TWIST,),
        mirror=options.mirror,
        tolerance=options.tolerance,
        onto="COPY" if onto == "COPY" else "THIS",
    )


@dataclass(frozen=True, eq=False)
class HelperSource(Source):
    """One character with helper bones; its `binding` has the weights from before.

    Attributes:
        baked: the binding with the weights of the helpers.
        written: the helpers, and their names.
    """

    _: KW_ONLY
    baked: Binding
    written: Written

    @classmethod
    def of_baked(
        cls, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, written: Written
    ) -> HelperSource:
        """Read a character that has just been baked to bones.

        Raises:
            UserError: it cannot be baked.
        """
        binding, baked = original_binding(obj, depsgraph), bind(obj, depsgraph, follow=False)
        return cls(obj, binding, "LINEAR", baked=baked, written=written)

    def native(
        self, shape: Float32s, to_armature: Float64s, matrices: Float64s
    ) -> tuple[Influences, Float64s]:
        """See `Source.native`: the helpers go where their constraints take them."""
        rig, skinning = self.written.found.rig, self.written.found.skinning
        place = {name: row for row, name in enumerate(self.binding.skeleton.names)}
        rows = np.array([place[name] for name in self.written.names])
        plain = [place[name] for name in rig.plain.names]
        [pose] = rig.poses(matrices[None, plain])
        twists = [row for row, _ in rig.used(skinning)]
        matrices = matrices.copy()
        matrices[rows[twists]] = pose.matrices[twists]
        matrices[rows[len(rig.origin) :]] = helper_transforms(skinning.helpers, pose, rig.skeleton)
        return self.baked.skinning_of(shape, to_armature), matrices


# The part of the time that the bones take; the rest is for the correctives.
_BONES = 0.5


def bake_bones(
    objects: Sequence[bpy.types.Object], options: BonesOptions
) -> Generator[Progress, None, list[BonesReport]]:
    """Give characters helper bones and weights with which linear skinning deforms them like ours.

    Characters on one armature share the helpers. Each is disabled, and its plain Armature modifier
    deforms it; or a copy of it and of the armature is. A character that needs no helpers, or is
    worse with them, and a dry run leave everything as it was.

    Args:
        objects: mesh objects, enabled or not.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    rigs: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in objects:
        raise_refusal(bones_refusal(obj))
        raise_refusal(writing_bones_refusal(obj, options.onto, overwrite=options.overwrite))
        rigs.setdefault(rig_of(obj), []).append(obj)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    sources = [RigSource.of(found, depsgraph) for found in rigs.values()]
    pairs = [pairs_to_help(source, options) for source in sources]
    most_keys = [
        _require_rest(source, options) if options.with_correctives else 0 for source in sources
    ]
    fitted: list[Fitted] = []
    for number, (source, found) in enumerate(zip(sources, pairs, strict=True)):
        part = _BONES if options.with_correctives else 1.0
        span = (part * number / len(sources), part / len(sources))
        fitted.append((yield from fit_bones(source, found, options, span)))
    if options.dry_run:
        return [_remembered(*each) for each in zip(fitted, most_keys, strict=True)]
    written = [
        _not_written(each) if each.report.worse else write_bones(each, options) for each in fitted
    ]
    evaluate_unkeyed()
    if not options.with_correctives:
        return [each.report for each in written]
    finished: list[BonesReport] = []
    length = (1.0 - _BONES) / len(written)
    for number, each in enumerate(written):
        start = _BONES + number * length
        finished.append((yield from _bake_rest(each, options, start, length)))
    return finished


def _not_written(found: Fitted) -> Written:
    """A bake that would be worse; the panel keeps the report of an earlier bake."""
    for obj in found.source.objects:
        if kept_record(obj) is None:
            remember_report(obj, found.report.sentence())
    return Written(found, found.report)


def _remembered(found: Fitted, most_keys: int) -> BonesReport:
    """The report of a dry run, which the panel shows."""
    keys = f"Besides, up to {counted(most_keys, 'shape key')} come." if most_keys else ""
    report = replace(found.report, dry_run=True, correctives=keys)
    for obj in found.source.objects:
        remember_report(obj, report.sentence(), dry_run=True)
    return report


# Removes bakes from the characters that have them: helper bones, correctives, keys of frames.


_REFUSAL_NO_BAKE = "{obj} has no helper bones and no shape keys of a bake"


@dataclass(frozen=True)
class RemovalReport:
    """What was removed of the bakes of one object.

    Attributes:
        bones: helper bones, gauges included, that no other mesh follows.
        key_names: shape keys.
        enabled: whether DQ Compensation deforms the object.
    """

    object_name: str
    bones: int
    key_names: tuple[str, ...]
    enabled: bool

    def sentence(self) -> str:
        """For the status line."""
        parts = []
        if self.bones or not self.key_names:
            parts.append(counted(self.bones, "helper bone"))
        if self.key_names:
            parts.append(counted(len(self.key_names), "shape key"))
        back = ", and put its weights back" if self.bones or not self.key_names else ""
        text = f"Removed {' and '.join(reversed(parts))} of {self.object_name}{back}."
        return text if self.enabled else f"{text} Press Enable to see DQ Compensation again."


def removal_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object has no bake that could be removed, or None."""
    if kept_record(obj) is None and not baked_keys(obj):
        return _REFUSAL_NO_BAKE.format(obj=obj.name)
    return None


def remove_bakes(objects: Sequence[bpy.types.Object]) -> list[RemovalReport]:
    """Remove helper bones, with the weights that came with them, and baked shape keys of objects.

    Shape keys of *Bake Pose* stay. The basis goes where a bake has made it and nothing needs it.

    Args:
        objects: skinned mesh objects; those without a bake stay as they are.

    Raises:
        UserError: none of them has a bake, or one cannot be changed; nothing has changed then.
    """
    keys = {obj: baked_keys(obj) for obj in objects}
    found = [obj for obj in objects if removal_refusal(obj) is None]
    if not found:
        raise UserError(" ".join(f"{_REFUSAL_NO_BAKE.format(obj=obj.name)}." for obj in objects))
    for obj in found:
        armature = rig_of(obj)
        if obj.mode == "EDIT" or armature_of(armature).is_editmode:
            edited = obj if obj.mode == "EDIT" else armature
            raise UserError(REFUSAL_EDIT_MODE.format(armature=edited.name))
        if kept_record(obj) is not None:
            raise_refusal(writing_bones_refusal(obj, "THIS", overwrite=True))
        if keys[obj]:
            raise_refusal(keys_refusal(obj))
    removed = [_removed(obj, keys[obj]) for obj in found]
    evaluate_unkeyed()
    return removed


def _removed(obj: bpy.types.Object, names: Sequence[str]) -> RemovalReport:
    """Remove the bakes of one object."""
    forget_report(obj)
    bones = remove_bones_bake([obj])
    remove_curves(obj, names)
    remove_keys(obj, names)
    remove_properties(obj)
    remove_made_basis(obj)
    return RemovalReport(obj.name, bones, tuple(names), is_enabled(obj))
