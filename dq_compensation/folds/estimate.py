"""What *Solve Folds* will cost, before it starts: joints, shapes, seconds, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bpy.types import Depsgraph, Object

from ..analysis.flesh.costs import estimated_cost
from ..analysis.flesh.region import FleshRegion
from ..analysis.limbs import Limbs
from ..errors import UserError
from ..wording import counted
from .character_folds import folds_to_solve


@dataclass(frozen=True)
class FoldsEstimate:
    """What *Solve Folds* will cost.

    Attributes:
        joints: that will be solved.
        shapes: the poses of these.
        seconds: on one core.
        megabytes: of memory, while it works.
    """

    joints: int
    shapes: int
    seconds: float
    megabytes: float

    def sentence(self) -> str:
        """In a line."""
        joints, shapes = counted(self.joints, "joint"), counted(self.shapes, "shape")
        time = f"{self.seconds:.0f} s" if self.seconds < 90 else f"{self.seconds / 60:.0f} min"
        return f"{joints}, {shapes}: about {time} and {self.megabytes:.0f} MB of memory."


def estimate_folds(
    obj: Object, depsgraph: Depsgraph, bones: Sequence[str] | None = None
) -> FoldsEstimate:
    """What it will cost to solve the folds of the character that an object is a mesh of.

    Nothing is solved. Seconds are right within a factor of two on the computer where they were
    measured, of the trunk within three.

    Args:
        bones: at whose heads joints are solved; None: all that fold.

    Raises:
        UserError: what `solve_character_folds` raises, too; or no joint has skin to solve.
    """
    plan = folds_to_solve(obj, depsgraph, bones)
    skin = replace(plan.skin.as_painted, skeleton=Limbs.of(plan.skin.as_painted).skeleton)
    regions = dict[int, FleshRegion]()
    joints, shapes, seconds, megabytes = 0, 0, 0.0, 0.0
    reasons = list[str]()
    for joint in plan.joints:
        mirrored = plan.partners.get(joint.bone)
        region = None if mirrored is None else regions.get(mirrored)
        is_mirrored = region is not None
        if region is None:
            try:
                region = FleshRegion.of(skin, plan.triangles, [joint.bone])
            except UserError as error:
                reasons.append(str(error).rstrip("."))  # it will be left out with it
                continue
            regions[joint.bone] = region
        poses = sum(len(way.degrees) for way in joint.ways)
        turns = [(way, degrees) for way in joint.ways for degrees in way.degrees]
        turns.append((joint.longest, joint.longest.half_way))
        bends = [way.at_rest + degrees if joint.hinge else 0.0 for way, degrees in turns]
        cost = estimated_cost(region, bends, is_mirrored=is_mirrored)
        joints, shapes = joints + 1, shapes + poses
        seconds, megabytes = seconds + cost.seconds, max(megabytes, cost.megabytes)
    if not joints:
        raise UserError(f"{reasons[0]}.")
    return FoldsEstimate(joints, shapes, seconds, megabytes)
