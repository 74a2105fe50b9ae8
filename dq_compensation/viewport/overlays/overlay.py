"""Colours an object by how far its deformation is from another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import gpu
import numpy as np
from gpu.types import GPUTexture, GPUUniformBuf
from numpy.typing import NDArray

from ...core.vectors import extent
from ...scene.settings.addon_preferences import ColourMap
from ...scene.settings.object_settings import Overlay, Settings
from ..gpu import shaders
from ..gpu.gpu_objects import new_uniform_buffer, set_matrix
from ..gpu.shader_building import COLOUR_STOPS
from ..gpu.textures import array_from_texture, empty_texture, run_pass, texture_from_array
from ..look.surface import ViewUniforms, drawing_state
from ..objects.batch import Batch
from ..skinning.deformed_mesh import DeformedMesh
from .colour_scale import COLOURS_SRGB, AutomaticMaximum

# In parts of the object's size, towards the eye: more than two evaluators differ, and still nothing
# that could be seen through the skin.
_LIFT = 4e-4


def reference_settings(settings: Settings, overlay: Overlay) -> Settings:
    """The settings of the reference: without compensation, or another method."""
    if overlay == "COMPENSATION":
        return replace(settings, factor=0.0)
    if overlay == "LINEAR":
        return replace(settings, acting_method="LINEAR")
    return replace(settings, acting_method="DUAL_QUATERNION", blend_group="")


class ColouredObject:
    """The overlay of one object on the GPU.

    Attributes:
        distances: R32F texture; how far vertex i is from where the reference has it, world units.
        maximum: the automatic upper end of the colours.
    """

    def __init__(self, shown: Batch) -> None:
        self.mesh = shown.deformed.mesh
        self.distances: GPUTexture = empty_texture(self.mesh.vertex_count, "R32F")
        self.maximum = AutomaticMaximum()
        self._extent = extent(shown.members[0].binding.rest)
        self._of: tuple[object, ...] | None = None
        self._size = 0.0

    def update(self, shown: Batch, reference: Batch, object_matrix: NDArray[np.floating]) -> None:
        """Find the distances, if anything has changed since the last call.

        Args:
            shown: the object alone, as it is shown.
            reference: likewise, deformed by `reference_settings` in the same pose.
            object_matrix: shape (4, 4), object to world.
        """
        revisions = (shown.revision, reference.revision)
        of = (shown, reference, revisions, object_matrix.tobytes())
        if of == self._of or not self.mesh.vertex_count:
            return
        self._size = self._extent * float(np.linalg.norm(object_matrix[:3, :3], ord=2))
        textures = {
            "positions": shown.deformed.positions,
            "reference": reference.deformed.positions,
        }
        shader = shaders.pass_shader("overlay_distances")
        try:
            shader.bind()
            set_matrix(shader, "object_matrix", object_matrix)
            run_pass(shader, textures, ("distances", self.distances), self.mesh.vertex_count)
        finally:
            gpu.shader.unbind()
        self._of = of

    def show_weights(
        self, of: tuple[object, ...], weights: Callable[[], NDArray[np.floating]]
    ) -> None:
        """Show weights instead of distances.

        Args:
            of: identifies them; `weights` is called only when it has changed.
            weights: returns one for each vertex, shape (n,).
        """
        if of == self._of or not self.mesh.vertex_count:
            return
        self._size = self._extent
        self.distances = texture_from_array(weights(), 1)
        self._of = of

    def read_distances(self) -> NDArray[np.float32]:
        """Shape (n,), world units. Waits for the GPU."""
        return array_from_texture(self.distances, self.mesh.vertex_count)[:, 0]

    def automatic_maximum(self, millimetres: float) -> float:
        """The upper end of the colours for the current distances, in millimetres.

        Args:
            millimetres: in one world unit.
        """
        return self.maximum.update(
            (self._of, millimetres),
            millimetres * self._size,
            lambda: millimetres * float(self.read_distances().max(initial=0.0)),
        )

    def draw(
        self,
        deformed: DeformedMesh,
        view: ViewUniforms,
        colours: GPUUniformBuf,
        object_matrix: NDArray[np.floating],
        maximum: float,
        alpha: float = 1.0,
    ) -> None:
        """Draw the surface in its colours, over the surface that is drawn already.

        Args:
            deformed: as it is shown, with normals.
            object_matrix: shape (4, 4), object to world.
            maximum: the distance at the upper end of the colours, world units.
        """
        if deformed.normals is None or maximum <= 0.0:
            return
        shader = shaders.overlay_shader()
        try:
            shader.bind()
            shader.uniform_block("view", view.block)
            shader.uniform_block("colours", colours)
            shader.uniform_sampler("positions", deformed.positions)
            shader.uniform_sampler("normals", deformed.normals)
            shader.uniform_sampler("groups", self.mesh.groups)
            shader.uniform_sampler("distances", self.distances)
            set_matrix(shader, "object_matrix", object_matrix)
            shader.uniform_float("maximum", maximum)
            shader.uniform_float("lift", _LIFT * self._size)
            shader.uniform_float("alpha", alpha)
            with drawing_state(blend="ALPHA" if alpha < 1.0 else "NONE"):
                for _, batch in self.mesh.material_batches:
                    batch.draw(shader)
        finally:
            gpu.shader.unbind()


def colour_block(name: ColourMap) -> GPUUniformBuf:
    """Colours for `ColouredObject.draw`."""
    texels = np.ones((COLOUR_STOPS, 4), np.float32)
    texels[:, :3] = COLOURS_SRGB[name]
    return new_uniform_buffer(texels)
