"""Draws crowds in viewports: all figures of a mesh at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
from bpy.types import Context, Depsgraph, Object

from ...errors import BindingError
from ...session.memory import memories
from ...session.status import check_soon
from ...viewport.draw_handler import EXTRA_DRAWERS, draw_as_shown, has_wire, is_visible
from ...viewport.gpu_objects import drawing_refusal
from ...viewport.look import DrawnFigures, ViewUniforms, draw_solid, draw_wire
from ...viewport.shading import surface_materials, wire_colour
from .crowd_cast import ShownCrowd
from .crowd_figures import CrowdState, Failure, failure_of, figures_of_crowd
from .crowd_stage import CrowdStage, FigureMesh
from .known_crowds import crowds_of_layer
from .settings import crowd_of

# How many view layers are kept: windows may show different ones.
_KEPT = 2

FAILED = "Drawing {crowd} failed: {error}. Change the crowd to try again; the console says more."
_log = logging.getLogger(__name__)

_Drawn = tuple[Object, bool, CrowdState]


class Crowds:
    """The crowds of all viewports, with a stage for each view layer."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, str], CrowdStage] = {}

    def in_region(
        self, context: Context, enabled: Sequence[Object]
    ) -> Callable[[ViewUniforms, Depsgraph], None] | None:
        """See `viewport.draw_handler.Drawer`."""
        crowds = crowds_of_layer(context.view_layer)
        if not crowds:
            self._stages.pop((context.scene.session_uid, context.view_layer.name), None)
            return None

        def draw(view: ViewUniforms, depsgraph: Depsgraph) -> None:
            if drawing_refusal() is None:
                shown = [(crowd, is_visible(crowd, context)) for crowd in crowds]
                for figures in self.update(shown, enabled, view, depsgraph):
                    _draw_figures(figures, view, context)

        return draw

    def update(
        self,
        crowds: Sequence[tuple[Object, bool]],
        enabled: Sequence[Object],
        view: ViewUniforms,
        depsgraph: Depsgraph,
    ) -> list[FigureMesh]:
        """Pose and skin the figures that a region sees; returns their meshes.

        Args:
            crowds: those of the view layer, and whether the region shows each.
        """
        assert depsgraph.scene is not None
        key = (depsgraph.scene.session_uid, depsgraph.view_layer.name)
        objects = {obj.session_uid: obj for obj in enabled}
        drawn = []
        for crowd, visible in crowds:
            state = figures_of_crowd(crowd)
            if len(state.figures) and failure_of(crowd, state) is None:
                drawn.append((crowd, visible, state))
        if not drawn:
            self._stages.pop(key, None)
            return []
        if not any(visible for _, visible, _ in drawn):
            return []
        stage = self._stages.pop(key, None)
        stage = CrowdStage() if stage is None else stage

        def update(stage: CrowdStage, some: Sequence[_Drawn]) -> list[FigureMesh]:
            shown = [_shown(crowd, visible, depsgraph) for crowd, visible, _ in some]
            states = [state for _, _, state in some]
            return stage.update(shown, states, objects, view, depsgraph)

        try:
            meshes = update(stage, drawn)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still drawn
            check_soon()
            stage, drawn = CrowdStage(), _without_broken(drawn, update, error)
            meshes = update(stage, drawn)
        # The oldest is first.
        self._stages[key] = stage
        while len(self._stages) > _KEPT:
            del self._stages[next(iter(self._stages))]
        return meshes

    def free(self) -> None:
        """Free all stages; crowds that have failed are tried again."""
        self._stages.clear()
        memories(Failure).clear()


def _draw_figures(figures: FigureMesh, view: ViewUniforms, context: Context) -> None:
    """Draw a mesh of all figures at once. Seen through, a figure hides those behind it."""
    obj, shading = figures.obj, context.space_data.shading
    parts = [
        (part, DrawnFigures(chosen, figures.to_character))
        for part, chosen in figures.parts
        if chosen.count
    ]

    def surface(alpha: float) -> None:
        look = surface_materials(obj, shading, alpha)
        for part, drawn in parts:
            draw_solid(part, view, figures.placements, look, drawn)

    def wire() -> None:
        if has_wire(obj, context):
            colour = (*wire_colour(obj, shading, active=False, selected=False), 1.0)
            for part, drawn in parts:
                draw_wire(part, view, figures.placements, colour, drawn)

    draw_as_shown(surface, wire, context)


def _without_broken(
    drawn: Sequence[_Drawn],
    update: Callable[[CrowdStage, Sequence[_Drawn]], object],
    error: Exception,
) -> list[_Drawn]:
    """The crowds that can be drawn; the others are reported.

    Each is tried alone. Where all of them can, they are too many together.
    """
    errors: dict[int, Exception] = {}
    for number, alone in enumerate(drawn):
        try:
            update(CrowdStage(), [alone])
        except Exception as failure:  # noqa: BLE001 - it is the crowd's own
            errors[number] = failure
    errors = errors or {len(drawn) - 1: error}
    for number, failure in errors.items():
        # A mesh that has changed just now is bound again by the check that follows.
        if not isinstance(failure, BindingError):
            crowd, _, state = drawn[number]
            _log.error("Drawing %s failed", crowd.name, exc_info=failure)
            text = FAILED.format(crowd=crowd.name, error=str(failure).rstrip("."))
            memories(Failure)[crowd.session_uid] = Failure(state, text)
    return [alone for number, alone in enumerate(drawn) if number not in errors]


def _shown(crowd: Object, visible: bool, depsgraph: Depsgraph) -> ShownCrowd:
    settings = crowd_of(crowd)
    matrix = np.array(crowd.evaluated_get(depsgraph).matrix_world, np.float64)
    return ShownCrowd(matrix, visible, settings.far_distance, settings.far_figures)


_crowds = Crowds()


def register() -> None:
    """Start drawing crowds."""
    EXTRA_DRAWERS.append(_crowds)


def unregister() -> None:
    """Stop drawing crowds and free the GPU."""
    EXTRA_DRAWERS.remove(_crowds)
    _crowds.free()
