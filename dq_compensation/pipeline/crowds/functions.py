"""The feature's functions for scripts: the crowds of a scene, and their bake. `api` shows them."""

from __future__ import annotations

import bpy

from ...errors import UserError
from ...ui_shared.arguments import objects_of_scene, original, selection_kept
from ...ui_shared.option_arguments import with_option_arguments
from ...ui_shared.script_runs import run_steps
from .crowd_baking import bake_crowd as crowd_steps
from .known_crowds import baked_crowd
from .options import CrowdBakeOptions
from .settings import is_crowd


def crowds(scene: bpy.types.Scene | None = None) -> list[bpy.types.Object]:
    """The crowds of a scene, by name.

    Args:
        scene: by default that of the context.

    Raises:
        UserError: it is no scene, or it was removed.
    """
    found = objects_of_scene(scene)
    return sorted((obj for obj in found if is_crowd(obj)), key=lambda obj: obj.name)


@with_option_arguments(CrowdBakeOptions)
def bake_crowd(crowd: bpy.types.Object, options: CrowdBakeOptions) -> bpy.types.Object:
    """Make posed meshes of a crowd, for renders and for files without this add-on.

    An object picks from them in every frame. An earlier bake of the crowd is replaced.

    Args:
        crowd: the Empty.
        {options}

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
