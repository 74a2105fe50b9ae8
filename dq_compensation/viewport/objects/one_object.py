"""One object on the GPU, once: for scripts, without what viewports keep from frame to frame."""

from __future__ import annotations

import bpy

from ...scene.binding.binding import Binding
from ...scene.settings.object_settings import Settings
from ..skinning.deformed_mesh import DeformedMesh
from ..takes.playing import scene_time
from .arrangement import Arrangement
from .batch import Batch, Meshes
from .members import Places, member_of


def deformed_object(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    settings: Settings | None = None,
) -> DeformedMesh:
    """The deformed mesh of an object for the state that a depsgraph is in: one instance.

    Args:
        obj: the original object.
        settings: how to deform; by default the object's own.

    Raises:
        BindingError: the object does not fit its binding any more.
        PoseError: a bone's matrix is not finite.
    """
    member, arrangement = member_of(obj, binding, depsgraph, Places(), settings), Arrangement()
    batch = Batch((binding,), [member], Meshes())
    arrangement.pose([member], batch.layout, *scene_time(depsgraph))
    for error in arrangement.problems.values():
        raise error
    batch.update(arrangement)
    return batch.deformed
