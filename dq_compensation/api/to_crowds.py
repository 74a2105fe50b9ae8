"""Bakes crowds to posed meshes, for renders and for files without the add-on."""

from __future__ import annotations

import bpy

from ..bake.crowd_baking import CrowdBakeOptions
from ..bake.crowd_baking import bake_crowd as crowd_steps
from ..errors import UserError
from ..scene.crowd_settings import is_crowd
from ..session.known_crowds import baked_crowd
from .arguments_of_scripts import original, require_number, selection_kept
from .steps_of_scripts import OnProgress, run_steps


def crowds(scene: bpy.types.Scene | None = None) -> list[bpy.types.Object]:
    """The crowds of a scene, by name.

    Args:
        scene: by default that of the context.
    """
    found = (scene or bpy.context.scene).objects
    return sorted((obj for obj in found if is_crowd(obj)), key=lambda obj: obj.name)


def bake_crowd(
    crowd: bpy.types.Object,
    *,
    tolerance: float = 10.0,
    motion_blur: bool = True,
    modifiers: bool = True,
    progress: OnProgress | None = None,
) -> bpy.types.Object:
    """Make posed meshes of a crowd, and an object that picks from them in every frame.

    An earlier bake of the crowd is replaced.

    Args:
        crowd: the Empty.
        tolerance: the largest distance of a vertex from where the crowd is drawn, millimetres.
        motion_blur: whether the posed meshes have velocities.
        modifiers: whether they have the modifiers that come after the Armature modifier.
        progress: called after each step.

    Returns:
        the object that shows the crowd.

    Raises:
        UserError: it cannot be baked; nothing has changed then.
    """
    crowd = original(crowd)
    if not is_crowd(crowd):
        raise UserError(f"{crowd.name} is not a crowd. Make one with Add Crowd.")
    require_number("tolerance", tolerance, 0.01)
    options = CrowdBakeOptions(tolerance, motion_blur, modifiers)
    with selection_kept():
        run_steps(crowd_steps(crowd, options), progress)
    baked = baked_crowd(crowd)
    assert baked is not None
    return baked
