"""Bakes what helper bones leave off to driven shape keys."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import bpy

from ...scene.blender.mesh import mesh_of
from ...scene.copies.helper_rig import HelperBone
from ...scene.weights.kept_weights import add_to_record, kept_record
from ...steps import Progress
from ..bake_reports import remember
from ..bake_source import Source
from ..correctives.corrective_baking import bake_correctives_of, require_correctives
from ..key_options import CorrectiveOptions
from .bones_options import BonesOptions
from .bones_report import BonesReport
from .bones_source import RigSource
from .helper_source import HelperSource


def require_rest(source: RigSource, options: BonesOptions) -> None:
    """Raise `UserError` where characters cannot get keys for the rest; changes nothing."""
    sources = [
        Source(obj, binding, "LINEAR")
        for obj, binding in zip(source.objects, source.bindings, strict=True)
    ]
    require_correctives(sources, _correctives(options, options.onto))


def bake_rest(
    report: BonesReport, options: BonesOptions, start: float, length: float
) -> Generator[Progress, None, BonesReport]:
    """Give characters that have helper bones keys for the rest; returns the report with them.

    Args:
        report: of the bake to bones.
        start, length: where in the whole bake this begins, and its part of it, 0 to 1.
    """
    objects = [bpy.data.objects[name] for name in report.onto_names]
    if not report.bones:
        return report
    depsgraph = bpy.context.evaluated_depsgraph_get()
    sources = [HelperSource.with_helpers(obj, _helpers(obj), depsgraph) for obj in objects]
    without_keys = [mesh_of(obj).shape_keys is None for obj in objects]
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
    for obj, each, alone in zip(objects, found, without_keys, strict=True):
        add_to_record(obj, keys=list(each.key_names), made_basis=alone)
        remember(obj, report.sentence(), of_bones=True)
    return report


def _helpers(obj: bpy.types.Object) -> list[HelperBone]:
    record = kept_record(obj) or {"helpers": []}
    return [HelperBone(**each) for each in record["helpers"]]


def _correctives(options: BonesOptions, onto: str) -> CorrectiveOptions:
    """The poses of the range of motion, or those of the action."""
    return CorrectiveOptions(
        bones=options.bones,
        directions="LIMBS" if options.poses == "RANGE" else "ACTION",
        angles=(options.bend / 2.0, options.bend),
        twists=(options.twist,) if options.twist >= 1.0 else (),
        both_ways=True,
        mirror=options.mirror,
        tolerance=options.tolerance,
        onto="COPY" if onto == "COPY" else "THIS",
    )
