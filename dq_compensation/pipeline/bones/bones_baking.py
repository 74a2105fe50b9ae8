"""Bakes the deformation to helper bones: plain linear skinning.

A generator, as in `bake.shape_key_bakes`: closed before it has begun to write, it leaves everything
as it was.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

import bpy

from ...bake.bake_reports import remember_report
from ...bake.rig_source import RigSource, bones_refusal
from ...errors import raise_refusal
from ...scene.blender.rigging import rig_of
from ...scene.blender.scenes import evaluate_unkeyed
from ...scene.kept_weights import kept_record
from ...steps import Progress
from ...wording import counted
from .bones_fitting import Fitted, fit_bones, pairs_to_help
from .bones_refusals import writing_bones_refusal
from .bones_reports import BonesReport
from .bones_rest import bake_rest, require_rest
from .bones_writing import Written, write_bones
from .options import BonesOptions

# The part of the time that the bones take; the rest is for the correctives.
_BONES = 0.5


def bake_bones(
    objects: Sequence[bpy.types.Object], options: BonesOptions
) -> Generator[Progress, None, list[BonesReport]]:
    """Give characters helper bones and weights with which linear skinning deforms them like ours.

    Characters on one armature share the helpers. Each is disabled, and its plain Armature modifier
    deforms it; or a copy of it and of the armature is. A character that needs no helpers, or is
    worse with them, and an estimate leave everything as it was.

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
        require_rest(source, options) if options.with_correctives else 0 for source in sources
    ]
    fitted: list[Fitted] = []
    for number, (source, found) in enumerate(zip(sources, pairs, strict=True)):
        part = _BONES if options.with_correctives else 1.0
        span = (part * number / len(sources), part / len(sources))
        fitted.append((yield from fit_bones(source, found, options, span)))
    if options.estimate:
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
        finished.append((yield from bake_rest(each, options, start, length)))
    return finished


def _not_written(found: Fitted) -> Written:
    """A bake that would be worse; the panel keeps the report of an earlier bake."""
    for obj in found.source.objects:
        if kept_record(obj) is None:
            remember_report(obj, found.report.sentence(), summary=found.report.summary())
    return Written(found, found.report)


def _remembered(found: Fitted, most_keys: int) -> BonesReport:
    """The report of an estimate, which the panel shows."""
    keys = f"Besides, up to {counted(most_keys, 'shape key')} come." if most_keys else ""
    report = replace(found.report, estimate=True, correctives=keys)
    for obj in found.source.objects:
        remember_report(obj, report.sentence(), summary=report.summary(), estimate=True)
    return report
