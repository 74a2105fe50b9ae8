"""Draws the enabled objects into every 3D viewport region."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import gpu
import numpy as np

from ..core.pose import PoseError
from ..scene.enabled_objects import enabled_objects
from ..scene.errors import BindingError
from ..scene.object_settings import settings_of
from ..scene.status import check_soon, fail, is_drawn, status_of
from .camera_rays import follows_viewports
from .characters import Character, Characters
from .shaders import free_shaders
from .studio_light import studio_lights, surface_materials, wire_colour
from .surface import ViewUniforms, draw_solid, draw_wire, drawing_state


@dataclass
class _Session:
    """What lives on the GPU from the first drawing until the add-on is unregistered."""

    characters: Characters
    view: ViewUniforms


_session: _Session | None = None
_handle: object | None = None


def draw() -> None:
    """Draw the enabled objects that are visible in the region that is being drawn."""
    context = bpy.context
    space = context.space_data
    enabled = enabled_objects()
    if _session is not None:
        _session.characters.keep_only({obj.session_uid for obj in enabled})
    objects = [obj for obj in enabled if _is_shown(obj, context)]
    if not objects:
        return
    if not all(map(follows_viewports, objects)):
        check_soon()
    depsgraph = context.evaluated_depsgraph_get()
    session = _get_session()
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
        # Nobody has put the scene's depth there: what is there is not a depth at all.
        gpu.state.active_framebuffer_get().clear(depth=1.0)
    for obj in objects:
        try:
            character = _up_to_date(session.characters, obj, depsgraph)
            if character is not None:
                _draw_object(character, session.view, obj.evaluated_get(depsgraph), context)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still drawn
            fail(obj, error)
            check_soon()


def free() -> None:
    """Free what is on the GPU and belongs to objects; the next drawing uploads it again."""
    if _session is not None:
        _session.characters.clear()


def _get_session() -> _Session:
    global _session
    if _session is None:
        _session = _Session(Characters(), ViewUniforms())
    return _session


def _is_shown(obj: bpy.types.Object, context: bpy.types.Context) -> bool:
    """Whether the region shows an object, and shows it by us."""
    return (
        settings_of(obj).native.hidden
        and is_drawn(obj)
        and context.view_layer.objects.get(obj.name) == obj
        and obj.visible_get(view_layer=context.view_layer, viewport=context.space_data)
        and obj.visible_in_viewport_get(context.space_data)
    )


def _up_to_date(
    characters: Characters, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Character | None:
    """The character in the pose of now, or as it was when that pose cannot be shown."""
    status = status_of(obj)
    if status.binding is None:
        return None
    try:
        character = characters.update(obj, status.binding, depsgraph)
    except PoseError as error:
        status.pose_problem = f"{obj.name} keeps its last good pose. {error}."
        return characters.last(status.binding)
    except BindingError:
        # Its mesh or its bones have changed just now: the check that follows binds it again.
        check_soon()
        return characters.last(status.binding)
    status.pose_problem = None
    return character


def _draw_object(
    character: Character, view: ViewUniforms, obj: bpy.types.Object, context: bpy.types.Context
) -> None:
    """Draw one object as the viewport's shading mode asks."""
    space = context.space_data
    shading, overlay = space.shading, space.overlay
    deformed, matrix = character.deformed, np.array(obj.matrix_world)
    colour = wire_colour(
        obj,
        shading,
        active=obj.original == context.view_layer.objects.active,
        selected=obj.original.select_get(view_layer=context.view_layer),
    )
    wire_only = shading.type == "WIREFRAME"
    xray = shading.show_xray if shading.type == "SOLID" else shading.show_xray_wireframe
    xray &= shading.type in {"SOLID", "WIREFRAME"}
    if xray != wire_only:
        # Depth alone: it hides the lines behind the surface, and in X-ray the surface's own back,
        # which would otherwise shine through in patches.
        with drawing_state(blend="ADDITIVE"):
            draw_solid(deformed, view, matrix, surface_materials(obj, shading, 0.0))
    if wire_only:
        with drawing_state():
            draw_wire(deformed, view, matrix, (*colour, 1.0))
        return
    alpha = shading.xray_alpha if xray else 1.0
    with drawing_state(blend="ALPHA" if xray else "NONE"):
        draw_solid(deformed, view, matrix, surface_materials(obj, shading, alpha))
    if obj.show_wire or (overlay.show_overlays and overlay.show_wireframes):
        with drawing_state(blend="ALPHA"):
            draw_wire(deformed, view, matrix, (*colour, 1.0))


def register() -> None:
    """Start drawing."""
    global _handle
    _handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    """Stop drawing and free the GPU."""
    global _handle, _session
    if _handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
        _handle = None
    _session = None
    free_shaders()
