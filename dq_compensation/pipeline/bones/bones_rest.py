"""Bakes what helper bones leave off to driven shape keys."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import KW_ONLY, dataclass, replace

import bpy
import numpy as np

from ...analysis.ranges_of_motion import BEND, TWIST
from ...arrays import Float32s, Float64s
from ...bake.bake_reports import remember_report
from ...bake.bake_source import Source
from ...bake.rig_source import RigSource, original_binding
from ...core.influences import Influences
from ...scene.binding.bind import bind
from ...scene.binding.binding import Binding
from ...scene.kept_weights import add_to_record
from ...steps import Progress
from ..correctives.corrective_baking import bake_correctives_of, require_correctives
from ..correctives.options import CorrectiveOptions
from .bones_reports import BonesReport
from .bones_writing import Written
from .helper_bones import helper_transforms
from .options import BonesOptions


def require_rest(source: RigSource, options: BonesOptions) -> int:
    """How many keys for the rest characters get at most; changes nothing.

    Raises:
        UserError: they cannot get any.
    """
    bakes = require_correctives(source.sources, _correctives(options, options.onto))
    return sum(bake.size for bake in bakes)


def bake_rest(
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
        remember_report(obj, report.sentence(), summary=report.summary(), of_bones=True)
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
