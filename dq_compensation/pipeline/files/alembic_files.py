"""The evaluated mesh as an Alembic file, by Blender's own exporter."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import bpy

from ...errors import FileError, UserError
from ...scene.blender.scenes import frame_kept
from ...wording import sized
from .whole_files import beside, cannot_write, free_space

# Bytes for custom properties, parents, and the file itself.
_AROUND = 100_000


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
        raise UserError("This Blender was built without Alembic. Choose PC2 or MDD.")
    # Blender's exporter ends Blender when the disk is full, and what is not saved is lost.
    needed = sum(size_at_most(obj, last - first + 1) for obj in objects)
    free = free_space(path)
    if free is not None and free < needed:
        raise FileError(
            f"{path} cannot be written: it can take {sized(needed)}, and its disk has "
            f"{sized(free)} left. Choose another disk or fewer frames."
        )
    try:
        with selected_alone(objects), beside(path) as unfinished:
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


@contextmanager
def selected_alone(objects: Sequence[bpy.types.Object]) -> Generator[None]:
    """Select these objects alone, for an exporter; selection and frame are as before then."""
    layer = bpy.context.view_layer
    active = layer.objects.active
    selected = [obj for obj in layer.objects if obj.select_get()]
    try:
        with frame_kept(bpy.context.scene):
            for obj in layer.objects:
                obj.select_set(obj in objects)
            yield
    finally:
        for obj in layer.objects:
            obj.select_set(obj in selected)
        layer.objects.active = active


def size_at_most(obj: bpy.types.Object, frames: int) -> int:
    """About how many bytes an object takes in a file, where it moves in every frame."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert isinstance(mesh, bpy.types.Mesh)
    vertices, edges = len(mesh.vertices), len(mesh.edges)
    faces, corners = len(mesh.polygons), len(mesh.loops)
    more = _further_subdivisions(obj)
    for _ in range(more):
        vertices, edges = vertices + edges + faces, 2 * edges + corners
        faces, corners = corners, 4 * corners
    # float32: positions, those before the modifiers (again in each frame where nodes deform the
    # mesh), and normals of corners where the mesh has such.
    moving = 24 * vertices + (0 if mesh.normals_domain == "POINT" else 12 * corners)
    # Faces and their corners; place and index of each corner in each UV map.
    still = 4 * faces + 4 * corners + 12 * corners * len(mesh.uv_layers)
    return int((moving * frames + still) * 4.0 ** min(more, 0)) + 1000 * frames + _AROUND


def _further_subdivisions(obj: bpy.types.Object) -> int:
    """How many times more often than the viewport an export subdivides a mesh.

    A Subdivision Surface at the end of the stack is not written as vertices.
    """
    more, at_the_end = 0, True
    for modifier in reversed(obj.modifiers):
        if isinstance(modifier, bpy.types.SubsurfModifier | bpy.types.MultiresModifier):
            rendered = modifier.render_levels if modifier.show_render else 0
            if at_the_end and _is_subdivision_surface(modifier):
                rendered = 0
            more += rendered - (modifier.levels if modifier.show_viewport else 0)
        elif modifier.type in {"DISPLACE", "PARTICLE_SYSTEM"}:
            continue
        at_the_end = at_the_end and not modifier.show_render
    return more


def _is_subdivision_surface(modifier: bpy.types.Modifier) -> bool:
    if not isinstance(modifier, bpy.types.SubsurfModifier):
        return False
    return modifier.subdivision_type == "CATMULL_CLARK"
