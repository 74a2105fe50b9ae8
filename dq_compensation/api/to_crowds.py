"""Bakes crowds to posed meshes, for renders and for files without the add-on."""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..crowds.bake.crowd_baking import CrowdBakeOptions
from ..crowds.bake.crowd_baking import bake_crowd as crowd_steps
from ..errors import UserError
from ..scene.settings.crowd_settings import is_crowd
from ..session.known_crowds import baked_crowd
from .arguments_of_scripts import original, selection_kept
from .options_of_scripts import takes_options
from .steps_of_scripts import OnProgress, run_steps


def crowds(scene: bpy.types.Scene | None = None) -> list[bpy.types.Object]:
    """The crowds of a scene, by name.

    Args:
        scene: by default that of the context.
    """
    found = (scene or bpy.context.scene).objects
    return sorted((obj for obj in found if is_crowd(obj)), key=lambda obj: obj.name)


@dataclass(frozen=True, kw_only=True)
class _Arguments(CrowdBakeOptions):
    progress: OnProgress | None = None


@takes_options(_Arguments)
def bake_crowd(crowd: bpy.types.Object, options: _Arguments) -> bpy.types.Object:
    """Make posed meshes of a crowd, and an object that picks from them in every frame.

    An earlier bake of the crowd is replaced.

    Args:
        crowd: the Empty.
        {options}
        progress: called after each step.

    Returns:
        the object that shows the crowd.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    crowd = original(crowd)
    if not is_crowd(crowd):
        raise UserError(f"{crowd.name} is not a crowd. Make one with Add Crowd.")
    with selection_kept():
        run_steps(crowd_steps(crowd, options), options.progress)
    baked = baked_crowd(crowd)
    assert baked is not None
    return baked
