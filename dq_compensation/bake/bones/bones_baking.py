"""Bakes the deformation to helper bones: plain linear skinning, for programs without this add-on.

A generator, as in `baking`: closed before it has begun to write, it leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

import bpy

from ...errors import raise_refusal
from ...scene.blender.rigging import rig_of
from ...steps import Progress
from ..bake_reports import BonesReport, remember
from .bones_fitting import Fitted, fit_bones, pairs_to_help, require_within_limit
from .bones_keys import keyed_action
from .bones_options import BonesOptions
from .bones_rest import bake_rest, require_rest
from .bones_source import RigSource, bones_refusal, writing_bones_refusal
from .bones_writing import write_bones

# The part of the time that the bones take; the rest is for the correctives.
_BONES = 0.5


def bake_bones(
    objects: Sequence[bpy.types.Object], options: BonesOptions
) -> Generator[Progress, None, list[BonesReport]]:
    """Give characters helper bones and weights with which linear skinning deforms them like ours.

    Characters on one armature share the helpers. Each is disabled, and its plain Armature modifier
    deforms it; or a copy of it and of the armature is. A character that needs no helpers, or a dry
    run, leaves everything as it was.

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
    for source in sources:
        require_within_limit(source, 1, options)
        if options.keys:
            keyed_action(source.armature)
        if options.with_correctives:
            require_rest(source, options)
    fitted: list[Fitted] = []
    for number, (source, found) in enumerate(zip(sources, pairs, strict=True)):
        part = _BONES if options.with_correctives else 1.0
        span = (part * number / len(sources), part / len(sources))
        fitted.append((yield from fit_bones(source, found, options, span)))
    if options.dry_run:
        return [_remembered(each) for each in fitted]
    reports = [write_bones(each, options) for each in fitted]
    if not options.with_correctives:
        return reports
    finished: list[BonesReport] = []
    length = (1.0 - _BONES) / len(reports)
    for number, report in enumerate(reports):
        start = _BONES + number * length
        finished.append((yield from bake_rest(report, options, start, length)))
    return finished


def _remembered(found: Fitted) -> BonesReport:
    """The report of a dry run, which the panel shows."""
    report = replace(found.report, dry_run=True)
    for obj in found.source.objects:
        remember(obj, report.sentence())
    return report
