"""The overlay: the distance from another deformation as colour."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import gpu
import numpy as np
from gpu.types import GPUTexture, GPUUniformBuf

from ..arrays import Float32s, Floats
from ..core.vectors import extent
from ..scene.settings.addon_preferences import ColourMap
from ..scene.settings.object_settings import Overlay, Settings
from .array_textures import array_from_texture, empty_texture, run_pass, texture_from_array
from .batches import Batch
from .deformed_mesh import DeformedMesh
from .gpu_objects import new_uniform_buffer, set_matrix
from .look import ViewUniforms, drawing_state
from .shaders import COLOUR_STOPS, overlay_shader, pass_shader

# Viridis and Magma (van der Walt & Smith 2015, CC0) and Cividis (Nunez, Anderton & Renslow 2018) at
# ten even places. Their lightness rises evenly, and stays in order for those who see red and green
# as one, and in print without colours.
_HEXADECIMAL: dict[ColourMap, str] = {
    "VIRIDIS": "440154 482878 3E4A89 31688E 26828E 1F9E89 35B779 6DCD59 B4DE2C FDE725",
    "CIVIDIS": "00224E 123570 3B496C 575D6D 707173 8A8678 A59C74 C3B369 E1CC55 FEE838",
    "MAGMA": "000004 180F3D 440F76 721F81 9E2F7F CD4071 F1605D FD9668 FECA8D FCFDBF",
}


# Each of shape (10, 3), from no distance to the largest.
COLOURS_SRGB = {
    name: np.frombuffer(bytes.fromhex(text), np.uint8).reshape(-1, 3) / np.float32(255.0)
    for name, text in _HEXADECIMAL.items()
}

# Seconds between two measurements of the largest distance: reading back waits for the GPU.
MEASURE_EVERY = 0.08
# The range shrinks when the largest distance fills less than this of the smaller one.
_SHRINK_BELOW = 0.8
# Distances below this part of the object's size are nothing to look at.
_SMALLEST = 1e-3


def step_above(value: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below a value; 0 for 0."""
    if not (value > 0.0 and math.isfinite(value)):
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    # Where rounding has put a value just above a step, the step is meant.
    return next(s * power for s in (1.0, 2.0, 5.0, 10.0) if s * power >= value * (1.0 - 1e-9))


@dataclass
class AutomaticMaximum:
    """The upper end of the colours, in steps of 1, 2, 5, so that it does not flicker.

    It rises at once when a larger distance comes up, and falls when the largest one is well within
    a smaller step. The distances are measured not more often than every `MEASURE_EVERY` seconds.

    Attributes:
        maximum: in millimetres; 0 before the first measurement.
    """

    maximum: float = 0.0
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _revision: object = field(default=None, repr=False)
    _measured_at: float = field(default=-math.inf, repr=False)

    def update(self, revision: object, size: float, measure: Callable[[], float]) -> float:
        """The maximum for the current distances.

        Args:
            revision: what they are of; measured again only when it is another one.
            size: of the object, in millimetres.
        """
        now = self.clock()
        if revision == self._revision or now - self._measured_at < MEASURE_EVERY:
            return self.maximum
        self._revision, self._measured_at = revision, now
        largest = measure()
        lowest = step_above(_SMALLEST * size) or 1.0
        maximum = max(step_above(largest), lowest)
        if maximum < self.maximum:
            # Not yet where the smaller range would be all but full: it would come and go.
            maximum = min(max(step_above(largest / _SHRINK_BELOW), lowest), self.maximum)
        self.maximum = maximum
        return self.maximum


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

    def update(self, shown: Batch, reference: Batch, object_matrix: Floats) -> None:
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
        shader = pass_shader("overlay_distances")
        try:
            shader.bind()
            set_matrix(shader, "object_matrix", object_matrix)
            run_pass(shader, textures, ("distances", self.distances), self.mesh.vertex_count)
        finally:
            gpu.shader.unbind()
        self._of = of

    def show_weights(self, of: tuple[object, ...], weights: Callable[[], Floats]) -> None:
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

    def read_distances(self) -> Float32s:
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
        object_matrix: Floats,
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
        shader = overlay_shader()
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
