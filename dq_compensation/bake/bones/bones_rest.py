"""Bakes what helper bones leave off to driven shape keys."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import KW_ONLY, dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.helper_bones import Helper, helper_transforms
from ...core.influences import Influences
from ...core.pose import Pose
from ...core.twist_helpers import TwistHelper, twist_transforms
from ...scene.binding.bind import bind
from ...scene.binding.binding import Binding
from ...scene.blender.mesh import mesh_of
from ...scene.copies.acting_helpers import kept_helpers
from ...scene.copies.helper_rig import HelperBone
from ...scene.weights.kept_weights import add_to_record
from ...steps import Progress
from ..bake_reports import BonesReport, remember
from ..bake_source import Source
from ..correctives.corrective_baking import bake_correctives_of, require_correctives
from ..key_options import CorrectiveOptions
from .bones_options import BonesOptions
from .bones_source import RigSource, original_binding


def require_rest(source: RigSource, options: BonesOptions) -> None:
    """Raise `UserError` where characters cannot get keys for the rest; changes nothing."""
    require_correctives(source.sources, _correctives(options, options.onto))


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
    sources = [HelperSource.of_baked(obj, depsgraph) for obj in objects]
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


@dataclass(frozen=True, eq=False)
class HelperSource(Source):
    """One character with helper bones; its `binding` has the weights from before.

    Attributes:
        baked: the binding with the weights of the helpers.
        helpers: on the bones of the skeleton, twist bones among them.
        twists: the twist bones.
        rows: where the twist bones and then the helpers are among these bones.
    """

    _: KW_ONLY
    baked: Binding
    helpers: tuple[Helper, ...]
    twists: tuple[TwistHelper, ...]
    rows: tuple[int, ...]

    @classmethod
    def of_baked(cls, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> HelperSource:
        """Read a character that has just been baked to bones.

        Raises:
            UserError: it cannot be baked.
        """
        binding, helpers = original_binding(obj, depsgraph), kept_helpers(obj)
        place = {name: index for index, name in enumerate(binding.skeleton.names)}
        pairs = [each for each in helpers if not each.turns]
        found = tuple(
            Helper(
                place[each.parent],
                place[each.child],
                each.share,
                each.growth,
                each.shrink,
                place[each.anchor] if each.anchor else -1,
                each.along,
                each.narrowing,
                each.side,
                each.twisting,
            )
            for each in pairs
        )
        twisting = [each for each in helpers if each.turns]
        twists = tuple(_twist_helper(each, place) for each in twisting)
        rows = tuple(place[each.name] for each in (*twisting, *pairs))
        baked = bind(obj, depsgraph, follow=False)
        return cls(obj, binding, "LINEAR", baked=baked, helpers=found, twists=twists, rows=rows)

    def native(
        self,
        shape: NDArray[np.float32],
        to_armature: NDArray[np.float64],
        matrices: NDArray[np.float64],
    ) -> tuple[Influences, NDArray[np.float64]]:
        """See `Source.native`: the helpers go where their constraints take them."""
        skeleton, matrices = self.binding.skeleton, matrices.copy()
        pose, rows = Pose.from_matrices(matrices, skeleton), list(self.rows)
        matrices[rows[: len(self.twists)]] = twist_transforms(self.twists, pose, skeleton)
        pose = Pose.from_matrices(matrices, skeleton)
        matrices[rows[len(self.twists) :]] = helper_transforms(self.helpers, pose, skeleton)
        return self.baked.skinning_of(shape, to_armature), matrices


def _twist_helper(bone: HelperBone, place: Mapping[str, int]) -> TwistHelper:
    """A twist bone, as it was written; `place` of the names of bones."""
    limb = place[bone.child]
    before, behind, at_beginning, at_end = limb, limb, 0.0, 0.0
    for turn in bone.turns:
        if turn.above == bone.child:
            behind, at_end = place[turn.below], turn.factor
        else:
            before, at_beginning = place[turn.above], turn.factor
    x, y, z = bone.axes[1::3]
    return TwistHelper(limb, before, behind, (x, y, z), at_beginning, at_end)
