"""Draws the enabled objects and their overlays into every 3D viewport region."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol, TypeVar

import bpy
import gpu
import numpy as np
from bpy.types import Context, Depsgraph, Object
from gpu.types import GPUTexture, GPUUniformBuf

from ..scene.binding.capture import support_of, support_weights
from ..scene.blender.scenes import world_millimetres
from ..scene.settings.addon_preferences import ColourMap, overlay_colours
from ..scene.settings.object_settings import Settings, settings_of
from ..scene.stack import find_rig
from ..session.known_objects import enabled_objects
from ..session.status import check_soon, fail, fail_overlay, is_coloured, is_drawn, status_of
from .batches import Batch, Batches, leave_alone
from .camera_rays import camera_visibility_is_current
from .drawn_bones import draw_bones, shows_bones
from .gpu_objects import drawing_refusal
from .legends import Legend, draw_legends
from .look import DrawnRun, ViewUniforms, draw_solid, draw_wire, drawing_state
from .overlay import ColouredObject, colour_block, reference_settings
from .see_through import surface_alpha
from .shaders import free_shaders
from .shading import Rgb, studio_lights, surface_materials, wire_colour

_log = logging.getLogger(__name__)

Look = TypeVar("Look")


def draw_batch(batch: Batch, view: ViewUniforms, context: Context) -> None:
    """Draw the objects of a batch: those that follow one another and look the same at once."""
    placements, count = batch.placements(), len(batch.members)
    # Seen through, each hides its own back and not those behind it.
    opaque = surface_alpha(context.space_data, context.mode) == 1.0
    for run in [DrawnRun(0, count)] if opaque else [DrawnRun(each, 1) for each in range(count)]:
        _draw_run(batch, placements, run, view, context)


def draw_as_shown(
    surface: Callable[[float], None], wire: Callable[[], None], context: Context
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


def has_wire(obj: Object, context: Context) -> bool:
    """Whether the region shows the edges of an object."""
    overlay = context.space_data.overlay
    edges = overlay.show_overlays and overlay.show_wireframes
    return edges or obj.show_wire or _shading(context).type == "WIREFRAME"


def _draw_run(
    batch: Batch, placements: GPUTexture, run: DrawnRun, view: ViewUniforms, context: Context
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


def _wire_colour(obj: Object, context: Context) -> Rgb:
    layer = context.view_layer
    return wire_colour(
        obj,
        _shading(context),
        active=obj.original == layer.objects.active,
        selected=obj.original.select_get(view_layer=layer),
    )


def _shading(context: Context) -> Any:
    return context.space_data.shading


class Drawer(Protocol):
    """A drawer of `EXTRA_DRAWERS`: it draws something besides the enabled objects."""

    def in_region(
        self, context: Context, enabled: Sequence[Object]
    ) -> Callable[[ViewUniforms, Depsgraph], None] | None:
        """A function that draws into the current region, before the enabled objects are drawn.

        None where the view layer has nothing to draw; the data of that layer are freed then.
        """
        ...

    def free(self) -> None:
        """Free the data of the drawer on the GPU."""
        ...


EXTRA_DRAWERS: list[Drawer] = []


@dataclass
class _Session:
    """The data on the GPU, from the first drawing until the add-on is unregistered."""

    batches: Batches
    view: ViewUniforms
    colour_blocks: dict[ColourMap, GPUUniformBuf] = field(default_factory=dict)
    coloured: dict[int, ColouredObject] = field(default_factory=dict)
    # Not after an error.
    draws_bones: bool = True
    # The legends of the current region, which are drawn after its view.
    legends: list[Legend] = field(default_factory=list)

    @property
    def colours(self) -> GPUUniformBuf:
        """The colours of the overlay, as chosen in the preferences."""
        name = overlay_colours()
        if name not in self.colour_blocks:
            self.colour_blocks[name] = colour_block(name)
        return self.colour_blocks[name]


_session: _Session | None = None
_handles: list[object] = []


def draw() -> None:
    """Draw the enabled objects that are visible in the current region."""
    global _session
    context = bpy.context
    enabled = enabled_objects()
    if _session is not None:
        _session.legends.clear()
        _keep_only_drawn(_session, enabled)
    objects = [obj for obj in enabled if _is_shown(obj, context)]
    coloured = [obj for obj in enabled if _is_shown_coloured(obj, context)]
    drawers = (drawer.in_region(context, enabled) for drawer in EXTRA_DRAWERS)
    others = [draw_other for draw_other in drawers if draw_other is not None]
    if not objects and not coloured and not others:
        return
    if not all(map(camera_visibility_is_current, objects)):
        check_soon()
    depsgraph = context.evaluated_depsgraph_get()
    session = _session = _session or _Session(Batches(), ViewUniforms())
    _update_view(session, context.space_data)
    for draw_other in others:
        draw_other(session.view, depsgraph)
    for batch in session.batches.update(objects, depsgraph):
        try:
            draw_batch(batch, session.view, context)
        except Exception as error:  # noqa: BLE001 - the others are drawn all the same
            leave_alone(batch.members, error, fail)
    for obj in coloured:
        try:
            _draw_overlay(session, obj, depsgraph, context)
        except Exception as error:  # noqa: BLE001
            fail_overlay(obj, error)
            check_soon()
    _draw_bones(session, [*objects, *coloured], depsgraph, context)


def _draw_bones(
    session: _Session, covering: Sequence[Object], depsgraph: Depsgraph, context: Context
) -> None:
    """Draw the bones that objects cover; after an error not before the data are freed."""
    if not session.draws_bones:
        return
    rigs = dict.fromkeys(map(find_rig, covering))
    try:
        for rig in rigs:
            if rig is not None and shows_bones(rig, context) and is_visible(rig, context):
                draw_bones(rig, depsgraph, context)
    except Exception:  # noqa: BLE001 - nothing may escape into Blender's drawing
        session.draws_bones = False
        _log.exception("Drawing bones failed")


def _draw_over() -> None:
    """Draw the legends of the current region, after its view."""
    if _session is not None and _session.legends:
        draw_legends(_session.legends, bpy.context)


def _update_view(session: _Session, space: Any) -> None:
    shading = space.shading
    view_matrix = gpu.matrix.get_model_view_matrix()
    lights, ambient = studio_lights(shading, view_matrix)
    session.view.update(
        np.array(view_matrix),
        np.array(gpu.matrix.get_projection_matrix()),
        lights,
        ambient,
        highlights=shading.show_specular_highlight and shading.light != "FLAT",
    )
    if shading.type in {"MATERIAL", "RENDERED"} and not space.overlay.show_overlays:
        # Blender has written no depth here, and the buffer holds other numbers.
        gpu.state.active_framebuffer_get().clear(depth=1.0)


def free() -> None:
    """Free the objects' data on the GPU. The next drawing uploads it again."""
    if _session is not None:
        _session.batches.clear()
        _session.coloured.clear()
        _session.legends.clear()
        _session.draws_bones = True
    for drawer in EXTRA_DRAWERS:
        drawer.free()


def _keep_only_drawn(session: _Session, enabled: list[Object]) -> None:
    """Free the data of objects that we neither draw nor colour in any region."""
    coloured = {obj.session_uid for obj in enabled if settings_of(obj).overlay != "NONE"}
    drawn = {obj.session_uid for obj in enabled if settings_of(obj).display == "GPU"}
    session.batches.keep_only(drawn, coloured)
    for uid in [uid for uid in session.coloured if uid not in coloured]:
        del session.coloured[uid]


def _is_shown(obj: Object, context: Context) -> bool:
    """Whether we draw an object in the region."""
    return settings_of(obj).native.hidden and is_drawn(obj) and is_visible(obj, context)


def _is_shown_coloured(obj: Object, context: Context) -> bool:
    """Whether we draw the overlay of an object in the region."""
    space = context.space_data
    return (
        is_coloured(obj)
        and space.overlay.show_overlays
        and space.shading.type != "WIREFRAME"
        and drawing_refusal() is None
        and is_visible(obj, context)
    )


def is_visible(obj: Object, context: Context) -> bool:
    """Whether the current region shows an object."""
    return (
        context.view_layer.objects.get(obj.name) == obj
        and obj.visible_get(view_layer=context.view_layer, viewport=context.space_data)
        and obj.visible_in_viewport_get(context.space_data)
    )


def _draw_overlay(session: _Session, obj: Object, depsgraph: Depsgraph, context: Context) -> None:
    """Draw the overlay of one object, and note its legend."""
    evaluated = obj.evaluated_get(depsgraph)
    chosen, matrix = settings_of(evaluated), np.array(evaluated.matrix_world)
    shows_weights = chosen.overlay == "SUPPORT"
    reference = reference_settings(Settings.of(evaluated), chosen.overlay)
    batches = session.batches.compare(obj, depsgraph, None if shows_weights else reference)
    if len(batches) < 2 - shows_weights:
        return
    shown = batches[0]
    coloured = session.coloured.get(obj.session_uid)
    if coloured is None or coloured.mesh is not shown.deformed.mesh:
        coloured = session.coloured[obj.session_uid] = ColouredObject(shown)
    alpha = surface_alpha(context.space_data, context.mode)
    if shows_weights:
        bone = chosen.support_bone
        support, binding = support_of(obj, bone), shown.members[0].binding
        coloured.show_weights((bone, support), lambda: support_weights(binding, bone, support))
        coloured.draw(shown.deformed, session.view, session.colours, matrix, 1.0, alpha)
        session.legends.append(Legend(obj.name, chosen.overlay, 1.0, bone))
        return
    coloured.update(shown, batches[1], matrix)
    millimetres = world_millimetres(context.scene)
    maximum = chosen.overlay_maximum or coloured.automatic_maximum(millimetres)
    distance = maximum / millimetres
    coloured.draw(shown.deformed, session.view, session.colours, matrix, distance, alpha)
    session.legends.append(Legend(obj.name, chosen.overlay, maximum))
    status = status_of(obj)
    if status.overlay_maximum != maximum:
        status.overlay_maximum = maximum
        # The panel shows it, but no region can be tagged for a redraw while another is drawn.
        check_soon()


def register() -> None:
    """Start drawing."""
    for function, kind in ((draw, "POST_VIEW"), (_draw_over, "POST_PIXEL")):
        _handles.append(bpy.types.SpaceView3D.draw_handler_add(function, (), "WINDOW", kind))


def unregister() -> None:
    """Stop drawing and free the GPU."""
    global _session
    for handle in _handles:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    _handles.clear()
    _session = None
    free_shaders()
