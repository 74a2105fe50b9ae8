"""Draws the enabled objects and their overlays into every 3D viewport region."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import bpy
import gpu
import numpy as np
from gpu.types import GPUUniformBuf

from ..errors import BindingError, PoseError
from ..scene.addon_preferences import ColourMap, overlay_colours
from ..scene.example_capture import support_of, support_weights
from ..scene.object_settings import Settings, settings_of
from ..scene.units import world_millimetres
from ..session.crowd_failures import forget_failures
from ..session.known_crowds import crowds_of_layer
from ..session.known_objects import enabled_objects
from ..session.status import check_soon, fail, fail_overlay, is_coloured, is_drawn, status_of
from .batches import Batches
from .camera_rays import follows_viewports
from .capability import drawing_refusal
from .characters import Character, Characters
from .crowd_display import Crowds
from .instance_shaders import free_instance_shaders
from .legend import Legend, draw_legends
from .members import Member
from .object_drawing import draw_batch, draw_figures, draw_object
from .overlay import ColouredCharacter, colour_block, reference_settings
from .see_through import surface_alpha
from .shaders import free_shaders
from .studio_light import studio_lights
from .surface import ViewUniforms


@dataclass
class _Session:
    """The data on the GPU, from the first drawing until the add-on is unregistered."""

    characters: Characters
    batches: Batches
    crowds: Crowds
    view: ViewUniforms
    colour_blocks: dict[ColourMap, GPUUniformBuf] = field(default_factory=dict)
    coloured: dict[int, ColouredCharacter] = field(default_factory=dict)
    # Of the current region: its legends are drawn after its view.
    legends: list[Legend] = field(default_factory=list)

    @property
    def colours(self) -> GPUUniformBuf:
        """The colours of the preferences."""
        name = overlay_colours()
        if name not in self.colour_blocks:
            self.colour_blocks[name] = colour_block(name)
        return self.colour_blocks[name]


KEEPS_LAST_POSE = "{obj} keeps its last good pose. {error}."

_session: _Session | None = None
_handles: list[object] = []


def draw() -> None:
    """Draw the enabled objects that are visible in the current region."""
    context = bpy.context
    enabled = enabled_objects()
    if _session is not None:
        _session.legends.clear()
        _keep_only_drawn(_session, enabled)
    objects = [obj for obj in enabled if _is_shown(obj, context)]
    coloured = [obj for obj in enabled if _is_shown_coloured(obj, context)]
    crowds = crowds_of_layer(context.view_layer)
    if _session is not None and not crowds:
        _session.crowds.drop(context.scene, context.view_layer)
    if not objects and not coloured and not crowds:
        return
    if not all(map(follows_viewports, objects)):
        check_soon()
    depsgraph = context.evaluated_depsgraph_get()
    session = _get_session()
    _update_view(session, context.space_data)
    _draw_crowds(session, crowds, enabled, depsgraph, context)
    with session.characters.drawing():
        alone = _draw_batches(session, objects, depsgraph, context)
        for drawn, draw_one, failed in (
            (alone, _draw_object, fail),
            (coloured, _draw_overlay, fail_overlay),
        ):
            for obj in drawn:
                try:
                    draw_one(session, obj, depsgraph, context)
                except Exception as error:  # noqa: BLE001 - the others are drawn all the same
                    failed(obj, error)
                    check_soon()


def _draw_crowds(
    session: _Session,
    crowds: list[bpy.types.Object],
    enabled: list[bpy.types.Object],
    depsgraph: bpy.types.Depsgraph,
    context: bpy.types.Context,
) -> None:
    """Draw the figures of crowds."""
    if not crowds or drawing_refusal() is not None:
        return
    shown = [(crowd, _is_visible(crowd, context)) for crowd in crowds]
    for figures in session.crowds.update(shown, enabled, session.view, depsgraph):
        draw_figures(figures, session.view, context)


def _draw_batches(
    session: _Session,
    objects: list[bpy.types.Object],
    depsgraph: bpy.types.Depsgraph,
    context: bpy.types.Context,
) -> list[bpy.types.Object]:
    """Draw copies of characters, and those that play takes; returns the other objects."""
    members, alone = session.batches.members(objects, depsgraph)
    for some in members:
        try:
            for batch in session.batches.update(some, depsgraph, _note_pose):
                draw_batch(batch, session.view, context)
        except BindingError:
            # What is drawn alone says what is wrong with it.
            alone += [member.original for member in some]
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still drawn
            for member in some:
                fail(member.original, error)
            check_soon()
    return alone


def _note_pose(member: Member, error: PoseError | None) -> None:
    """Tell the panel whether the picture of a member follows its pose."""
    status = status_of(member.original)
    status.pose_problem = error and KEEPS_LAST_POSE.format(obj=member.obj.name, error=error)


def draw_over() -> None:
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
        _session.characters.clear()
        _session.batches.clear()
        _session.crowds.clear()
        forget_failures()
        _session.coloured.clear()
        _session.legends.clear()


def _get_session() -> _Session:
    global _session
    if _session is None:
        _session = _Session(Characters(), Batches(), Crowds(), ViewUniforms())
    return _session


def _keep_only_drawn(session: _Session, enabled: list[bpy.types.Object]) -> None:
    """Free the data of objects that we neither draw nor colour in any region."""
    coloured = {obj.session_uid for obj in enabled if settings_of(obj).overlay != "NONE"}
    drawn = {obj.session_uid for obj in enabled if settings_of(obj).display == "GPU"}
    session.characters.keep_only(drawn | coloured)
    session.characters.drop_references(coloured)
    session.batches.keep_only(drawn)
    for uid in [uid for uid in session.coloured if uid not in coloured]:
        del session.coloured[uid]


def _is_shown(obj: bpy.types.Object, context: bpy.types.Context) -> bool:
    """Whether we draw an object in the region."""
    return settings_of(obj).native.hidden and is_drawn(obj) and _is_visible(obj, context)


def _is_shown_coloured(obj: bpy.types.Object, context: bpy.types.Context) -> bool:
    """Whether we draw the overlay of an object in the region."""
    space = context.space_data
    return (
        is_coloured(obj)
        and space.overlay.show_overlays
        and space.shading.type != "WIREFRAME"
        and drawing_refusal() is None
        and _is_visible(obj, context)
    )


def _is_visible(obj: bpy.types.Object, context: bpy.types.Context) -> bool:
    return (
        context.view_layer.objects.get(obj.name) == obj
        and obj.visible_get(view_layer=context.view_layer, viewport=context.space_data)
        and obj.visible_in_viewport_get(context.space_data)
    )


def _up_to_date(
    characters: Characters, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Character | None:
    """The character in the current pose; in the last one where that pose cannot be shown."""
    status = status_of(obj)
    if status.binding is None:
        return None
    try:
        character = characters.update(obj, status.binding, depsgraph)
    except PoseError as error:
        status.pose_problem = KEEPS_LAST_POSE.format(obj=obj.name, error=error)
        return characters.last(status.binding)
    except BindingError:
        # Its mesh or its bones have changed just now: the check that follows binds it again.
        check_soon()
        return characters.last(status.binding)
    status.pose_problem = None
    return character


def _draw_object(
    session: _Session,
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    context: bpy.types.Context,
) -> None:
    """Draw one object."""
    character = _up_to_date(session.characters, obj, depsgraph)
    if character is not None:
        draw_object(character.deformed, session.view, obj.evaluated_get(depsgraph), context)


def _draw_overlay(
    session: _Session,
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    context: bpy.types.Context,
) -> None:
    """Draw the overlay of one object, and note its legend."""
    character = _up_to_date(session.characters, obj, depsgraph)
    if character is None:
        return
    evaluated = obj.evaluated_get(depsgraph)
    chosen, matrix = settings_of(evaluated), np.array(evaluated.matrix_world)
    coloured = session.coloured.get(obj.session_uid)
    if coloured is None or coloured.mesh is not character.deformed.mesh:
        coloured = session.coloured[obj.session_uid] = ColouredCharacter(character)
    alpha = surface_alpha(context.space_data, context.mode)
    if chosen.overlay == "SUPPORT":
        bone = chosen.support_bone
        support = support_of(obj, bone)
        coloured.show_weights(
            (bone, support), lambda: support_weights(character.binding, bone, support)
        )
        coloured.draw(character.deformed, session.view, session.colours, matrix, 1.0, alpha)
        session.legends.append(Legend(obj.name, chosen.overlay, 1.0, bone))
        return
    wanted = reference_settings(Settings.of(evaluated), chosen.overlay)
    reference = session.characters.reference(obj, depsgraph, wanted)
    coloured.update(character, reference, matrix)
    millimetres = world_millimetres(context.scene)
    maximum = chosen.overlay_maximum or coloured.automatic_maximum(millimetres)
    distance = maximum / millimetres
    coloured.draw(character.deformed, session.view, session.colours, matrix, distance, alpha)
    session.legends.append(Legend(obj.name, chosen.overlay, maximum))
    status = status_of(obj)
    if status.overlay_maximum != maximum:
        status.overlay_maximum = maximum
        # The panel shows it, but no region can be tagged for a redraw while another is drawn.
        check_soon()


def register() -> None:
    """Start drawing."""
    for function, kind in ((draw, "POST_VIEW"), (draw_over, "POST_PIXEL")):
        _handles.append(bpy.types.SpaceView3D.draw_handler_add(function, (), "WINDOW", kind))


def unregister() -> None:
    """Stop drawing and free the GPU."""
    global _session
    for handle in _handles:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    _handles.clear()
    _session = None
    free_shaders()
    free_instance_shaders()
