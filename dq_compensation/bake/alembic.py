"""The evaluated mesh as an Alembic file, by Blender's own exporter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bpy

from ..errors import FileError, UserError
from .frames import frame_kept
from .whole_files import beside, cannot_write

REFUSAL_NO_ALEMBIC = "This Blender was built without Alembic. Choose PC2 or MDD."


def write_alembic(objects: Sequence[bpy.types.Object], path: Path, first: int, last: int) -> None:
    """Export objects as they are rendered, with every modifier; the selection is as before then.

    Args:
        objects: in the current view layer.
        path: of the file; its folder exists.
        first, last: frames.

    Raises:
        UserError: this Blender has no Alembic.
        FileError: the file cannot be written.
    """
    if not bpy.app.build_options.alembic:
        raise UserError(REFUSAL_NO_ALEMBIC)
    layer = bpy.context.view_layer
    active = layer.objects.active
    selected = [obj for obj in layer.objects if obj.select_get()]
    try:
        with frame_kept(bpy.context.scene), beside(path) as unfinished:
            for obj in layer.objects:
                obj.select_set(obj in objects)
            bpy.ops.wm.alembic_export(
                "EXEC_DEFAULT",
                filepath=str(unfinished),
                start=first,
                end=last,
                selected=True,
                evaluation_mode="RENDER",
                as_background_job=False,
            )
    except RuntimeError as error:
        raise FileError(cannot_write(path, str(error).strip())) from error
    finally:
        for obj in layer.objects:
            obj.select_set(obj in selected)
        layer.objects.active = active
