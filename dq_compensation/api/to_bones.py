"""Bakes characters to helper bones and plain linear skinning."""

from __future__ import annotations

from collections.abc import Iterable

from ..bake.bake_targets import BakeOnto
from ..bake.bones_baking import bake_bones as bones_steps
from ..bake.bones_options import BonesOptions
from ..bake.bones_poses import PoseSource
from ..bake.bones_report import BonesReport
from .arguments_of_scripts import (
    Objects,
    bone_names,
    mesh_objects,
    require_choice,
    require_number,
    selection_kept,
)
from .steps_of_scripts import OnProgress, run_steps


def bake_bones(
    objects: Objects,
    bones: str | Iterable[str] = (),
    *,
    helpers: int = 0,
    influences: int = 4,
    tolerance: float = 0.5,
    poses: PoseSource = "RANGE",
    bend: float = 90.0,
    twist: float = 60.0,
    mirror: bool = True,
    onto: BakeOnto = "THIS",
    keys: bool = False,
    key_every_frame: bool = True,
    bone_limit: int = 0,
    with_correctives: bool = False,
    overwrite: bool = True,
    progress: OnProgress | None = None,
) -> list[BonesReport]:
    """Add helper bones and new weights, with which linear skinning deforms characters like ours.

    Give all meshes of an armature at once: they share the helpers. The objects, or their copies,
    are disabled afterwards: their plain Armature modifiers deform them.

    Args:
        objects: a mesh object or several, enabled or not.
        bones: a name or several, of the bones below the joints; none: all joints.
        helpers: for each joint, 1 to 4; 0: as few as the tolerance needs.
        influences: of a vertex, at most; 0: any number.
        tolerance: millimetres.
        poses: that the result is fitted to: a 'RANGE' of motion, by `bend` and `twist`, degrees;
            the 'KEYED' frames of the armature's action; or all of its 'FRAMES'.
        mirror: whether the other side's bones are baked as well, by their names.
        onto: 'THIS' object, or a 'COPY' of it and of its armature.
        keys: whether the helpers are keyed in the armature's action, `key_every_frame` or where
            needed.
        bone_limit: the largest number of deforming bones; 0: any number.
        with_correctives: whether what the bones leave off is baked to driven shape keys.
        overwrite: whether an earlier bake is taken back first.
        progress: called after each step.

    Returns:
        a report for each armature.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    found = mesh_objects(objects)
    require_choice("onto", onto, BakeOnto)
    require_choice("poses", poses, PoseSource)
    require_number("number of helpers", helpers, 0, 4)
    require_number("number of influences", influences, 0)
    require_number("tolerance", tolerance, 0.001)
    require_number("bend", bend, 1.0, 170.0)
    require_number("twist", twist, 0.0, 170.0)
    require_number("bone limit", bone_limit, 0)
    options = BonesOptions(
        bones=bone_names(bones),
        helpers=helpers,
        influences=influences,
        tolerance=tolerance,
        poses=poses,
        bend=bend,
        twist=twist,
        onto=onto,
        keys=keys,
        key_every_frame=key_every_frame,
        bone_limit=bone_limit,
        with_correctives=with_correctives,
        mirror=mirror,
        overwrite=overwrite,
    )
    with selection_kept():
        return run_steps(bones_steps(found, options), progress)
