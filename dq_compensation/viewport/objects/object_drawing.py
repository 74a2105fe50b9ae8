"""Draws deformed objects in the shading mode of a viewport."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar

import bpy
from gpu.types import GPUTexture

from ..look.see_through import surface_alpha
from ..look.studio_light import Rgb, surface_materials, wire_colour
from ..look.surface import DrawnRun, ViewUniforms, draw_solid, draw_wire, drawing_state
from .batch import Batch

Look = TypeVar("Look")


def draw_batch(batch: Batch, view: ViewUniforms, context: bpy.types.Context) -> None:
    """Draw the objects of a batch: those that follow one another and look the same at once."""
    placements, count = batch.placements(), len(batch.members)
    # Seen through, each hides its own back and not those behind it.
    opaque = surface_alpha(context.space_data, context.mode) == 1.0
    for run in [DrawnRun(0, count)] if opaque else [DrawnRun(each, 1) for each in range(count)]:
        _draw_run(batch, placements, run, view, context)


def draw_as_shown(
    surface: Callable[[float], None], wire: Callable[[], None], context: bpy.types.Context
) -> None:
    """Draw surfaces of an opacity, and wires, as the viewport shows them."""
    space, shading = context.space_data, _shading(context)
    wire_only = shading.type == "WIREFRAME"
    alpha = surface_alpha(space, context.mode)
    xray = shading.show_xray_wireframe if wire_only else alpha < 1.0
    if xray != wire_only:
        # Depth alone: it hides the lines behind the surface, and in X-ray the surface's own back,
        # which would otherwise shine through in patches.
        with drawing_state(blend="ADDITIVE"):
            surface(0.0)
    if wire_only:
        with drawing_state():
            wire()
        return
    with drawing_state(blend="ALPHA" if xray else "NONE"):
        surface(alpha)
    with drawing_state(blend="ALPHA"):
        wire()


def has_wire(obj: bpy.types.Object, context: bpy.types.Context) -> bool:
    """Whether the region shows the edges of an object."""
    overlay = context.space_data.overlay
    edges = overlay.show_overlays and overlay.show_wireframes
    return edges or obj.show_wire or _shading(context).type == "WIREFRAME"


def _draw_run(
    batch: Batch,
    placements: GPUTexture,
    run: DrawnRun,
    view: ViewUniforms,
    context: bpy.types.Context,
) -> None:
    """Draw some of the objects of a batch."""
    deformed, shading = batch.deformed, _shading(context)
    objects = [member.obj for member in batch.members[run.first : run.first + run.count]]

    def surface(alpha: float) -> None:
        looks = (tuple(surface_materials(obj, shading, alpha)) for obj in objects)
        for look, alike in _alike(looks, run.first):
            draw_solid(deformed, view, placements, look, alike)

    def wire() -> None:
        colours = (_wire_colour(o, context) if has_wire(o, context) else None for o in objects)
        for colour, alike in _alike(colours, run.first):
            if colour is not None:
                draw_wire(deformed, view, placements, (*colour, 1.0), alike)

    draw_as_shown(surface, wire, context)


def _alike(looks: Iterable[Look], first: int) -> Iterator[tuple[Look, DrawnRun]]:
    """Equal neighbours, from the place `first` on, and what they have in common."""
    for look, equal in groupby(looks):
        run = DrawnRun(first, sum(1 for _ in equal))
        yield look, run
        first += run.count


def _wire_colour(obj: bpy.types.Object, context: bpy.types.Context) -> Rgb:
    layer = context.view_layer
    return wire_colour(
        obj,
        _shading(context),
        active=obj.original == layer.objects.active,
        selected=obj.original.select_get(view_layer=layer),
    )


def _shading(context: bpy.types.Context) -> Any:
    return context.space_data.shading
