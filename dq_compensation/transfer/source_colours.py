"""Colours on clothes that say where their new weights came from, while these can be adjusted.

They show until another operator runs: as long as *Adjust Last Operation* shows the options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy
import gpu
import numpy as np
from bpy.types import Context, Depsgraph, Object
from gpu_extras.batch import batch_for_shader

from ..analysis.weights_from_body import Source
from ..arrays import Float32s, Int32s
from ..scene.blender.bulk_arrays import read_property
from ..scene.blender.mesh import mesh_of
from ..scene.kept_weights import BEFORE_BODY, kept_record
from ..scene.settings.setting_events import only_with
from ..session.changes import EDIT, FRAME, RESTORED
from ..session.memory import memories
from ..viewport.draw_handler import is_visible
from ..viewport.look import drawing_state
from .body_weights import ShownSources

# Of those that are kept, matched, filled and carried; light and dark for those who see no colours.
COLOURS = {
    Source.KEPT: (0.5, 0.5, 0.5, 0.0),
    Source.MATCHED: (0.2, 0.5, 0.9, 0.7),
    Source.FILLED: (1.0, 0.8, 0.3, 0.7),
    Source.CARRIED: (0.8, 0.2, 0.5, 0.7),
}
# The operator whose options are adjusted.
_OPERATOR = "DQC_OT_weights_from_body"
# Towards the eye, in parts of the size of the clothes.
_LIFT = 5e-3


@dataclass
class _Drawn:
    """What is drawn of an object until something changes; None where nothing is."""

    batch: Any


def is_adjusted(context: Context) -> bool:
    """Whether *Weights from Body* is the last operation, so that its options can be changed."""
    last = context.active_operator
    return last is not None and last.bl_idname == _OPERATOR


def coloured_surface(
    obj: Object, sources: Any, depsgraph: Depsgraph
) -> tuple[Float32s, Float32s, Int32s] | None:
    """What is drawn of clothes, as they are posed; None where other vertices are shown.

    Returns:
        positions (n, 3), world space; colours (n, 4); triangles (t, 3).
    """
    if sources is None or kept_record(obj, BEFORE_BODY) is None:
        return None
    evaluated = obj.evaluated_get(depsgraph)
    mesh = mesh_of(evaluated)
    if len(mesh.vertices) != len(sources):
        # Before what makes others, at rest.
        mesh = mesh_of(obj)
    if len(mesh.vertices) != len(sources):
        return None
    places = read_property(mesh.vertices, "co", np.float32, (3,))
    matrix = np.array(evaluated.matrix_world, np.float32)
    mesh.calc_loop_triangles()
    triangles = read_property(mesh.loop_triangles, "vertices", np.int32, (3,))
    colours = np.array([COLOURS[each] for each in Source], np.float32)
    return places @ matrix[:3, :3].T + matrix[:3, 3], colours[sources], triangles


def draw() -> None:
    """Draw the colours of all clothes that are visible in the current region."""
    context = bpy.context
    known = memories(ShownSources)
    if not known or not is_adjusted(context):
        _forget_drawn()
        return
    if not context.space_data.overlay.show_overlays:
        return
    depsgraph = context.evaluated_depsgraph_get()
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    with drawing_state(blend="ALPHA"):
        for obj in context.view_layer.objects:
            shown = known.get(obj.session_uid)
            if shown is not None and is_visible(obj, context):
                _draw_one(obj, shown.sources, depsgraph, shader)


def _draw_one(obj: Object, sources: Any, depsgraph: Depsgraph, shader: Any) -> None:
    """Draw the colours of one piece of clothes."""
    drawn = memories(_Drawn)
    if obj.session_uid not in drawn:
        drawn[obj.session_uid] = _Drawn(_batch(coloured_surface(obj, sources, depsgraph), shader))
    batch = drawn[obj.session_uid].batch
    if batch is None:
        return
    view: Any = gpu.matrix.get_model_view_matrix()
    to_eye = (
        view.to_3x3().inverted_safe().col[2].normalized() * _LIFT * max(cast("Any", obj.dimensions))
    )
    gpu.matrix.push()
    try:
        gpu.matrix.translate(to_eye)
        batch.draw(shader)
    finally:
        gpu.matrix.pop()


def _batch(surface: tuple[Float32s, Float32s, Int32s] | None, shader: Any) -> Any:
    if surface is None:
        return None
    places, colours, triangles = surface
    content: Any = {"pos": places, "color": colours}
    return batch_for_shader(shader, "TRIS", content, indices=cast("Any", triangles))


@only_with(memories(_Drawn))
def _forget_drawn(*_changes: object) -> None:
    memories(_Drawn).clear()


FOLLOWS = ((EDIT, _forget_drawn), (FRAME, _forget_drawn), (RESTORED, _forget_drawn))

_handles: list[Any] = []


def register() -> None:
    """Let viewports draw the colours."""
    _handles.append(bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_VIEW"))


def unregister() -> None:
    """Stop drawing them."""
    for handle in _handles:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    _handles.clear()
