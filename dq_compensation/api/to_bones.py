"""Bakes characters to helper bones and plain linear skinning."""

from __future__ import annotations

from dataclasses import dataclass

from ..bake.bones.bones_baking import bake_bones as bones_steps
from ..bake.bones.bones_options import BonesOptions
from ..bake.bones.bones_report import BonesReport
from .arguments_of_scripts import Objects, mesh_objects, selection_kept
from .options_of_scripts import takes_options
from .steps_of_scripts import OnProgress, run_steps


@dataclass(frozen=True, kw_only=True)
class _Arguments(BonesOptions):
    progress: OnProgress | None = None


@takes_options(_Arguments)
def bake_bones(objects: Objects, options: _Arguments) -> list[BonesReport]:
    """Add helper bones and new weights, with which linear skinning deforms characters like ours.

    Give all meshes of an armature at once: they share the helpers. The objects, or their copies,
    are disabled afterwards: their plain Armature modifiers deform them.

    Args:
        objects: a mesh object or several, enabled or not.
        {options}
        progress: called after each step.

    Returns:
        a report for each armature.

    Raises:
        UserError: one of them cannot be baked; nothing has changed then.
    """
    with selection_kept():
        return run_steps(bones_steps(mesh_objects(objects), options), options.progress)
