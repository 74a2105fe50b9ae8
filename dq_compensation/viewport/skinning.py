"""Runs the passes that deform a mesh on the GPU: shape keys, joint centres, skinning, normals.

In use, from a draw, timer or frame handler:

    mesh = GpuMesh(rest, influences, topology=..., sets=..., shape_offsets=...)     # at binding
    deformed = DeformedMesh(mesh)                                                   # one per object
    palette = Palette(limb_directions, limb_joints)                                 # per armature
    deformed.set_amounts(amounts * painted, measured)                               # when painted
    deformed.set_blend(blend_weights)                                               # likewise
    ...
    palette.update(Pose.from_matrices(...))                                         # each frame
    deformed.set_shape_key_values(values)
    deformed.deform("COMPENSATED", palette, object_to_armature, factor)
    draw_solid(deformed, view, object_matrix, materials)                            # each region
"""

from __future__ import annotations

import gpu
import numpy as np
from gpu.types import GPUTexture, GPUUniformBuf
from numpy.typing import NDArray

from ..core.deform import BLENDED_METHODS, Method
from ..core.measured_joints import MeasuredJoints
from . import shaders
from .gpu_mesh import GpuMesh
from .gpu_objects import new_uniform_buffer, update_uniform_buffer
from .influence_packing import floats_from_bits
from .palette import Palette
from .textures import (
    array_from_texture,
    dispatch,
    empty_texture,
    texture_bytes,
    texture_from_array,
)

_IDENTITY = np.eye(4)


class DeformedMesh:
    """The deformed vertices and normals of one object, on the GPU, in object space.

    Nothing is allocated per frame.

    Attributes:
        mesh: what it deforms.
        positions: RGBA32F texture, xyz of vertex i at pixel i.
        normals: RGBA16F texture, xyz of normal group i at pixel i; None until they are computed.
    """

    def __init__(self, mesh: GpuMesh) -> None:
        self.mesh = mesh
        self.positions: GPUTexture = empty_texture(mesh.vertex_count, "RGBA32F")
        self.normals: GPUTexture | None = None
        self._amounts: GPUTexture | None = None
        self._measured = False
        self._blend: GPUTexture | None = None
        self._centres: GPUTexture | None = None
        self._shaped: GPUTexture | None = None
        self._key_values = np.zeros(mesh.key_count, np.float32)
        self._key_texels = np.zeros(
            (shaders.KEY_VALUES_TEXELS if mesh.key_count else 0, 4), np.float32
        )
        self._key_block: GPUUniformBuf | None = None
        self._space_values: tuple[bytes, float] | None = None
        self._space_texels = np.zeros((shaders.OBJECT_SPACE_TEXELS, 4), np.float32)
        self._space = new_uniform_buffer(self._space_texels)

    def set_amounts(
        self, amounts: NDArray[np.floating] | None, measured: MeasuredJoints | None = None
    ) -> None:
        """How far COMPENSATED may move each vertex; None: not at all.

        Args:
            amounts: shape (n,): `compensation_amounts` times what the artist painted, without the
                object's factor.
            measured: of the vertices, where the curve is MEASURED.
        """
        self._measured = measured is not None
        if amounts is None:
            self._amounts = None
            return
        if len(amounts) != self.mesh.vertex_count:
            raise ValueError(f"{len(amounts)} amounts for {self.mesh.vertex_count} vertices")
        rows = np.zeros((len(amounts), 2), np.float32)
        rows[:, 0] = amounts
        if measured is None:
            rows[:, 1] = self.mesh.strongest_bones
        else:
            rows[:, 1] = floats_from_bits(measured.joints, measured.bones)
        self._amounts = texture_from_array(rows, 2)

    def set_blend(self, weights: NDArray[np.floating] | None) -> None:
        """How much of the method acts on each vertex against LINEAR.

        Args:
            weights: shape (n,), 0 to 1, for `BLENDED_METHODS`; None: 1 everywhere.
        """
        if weights is None:
            self._blend = None
            return
        if len(weights) != self.mesh.vertex_count:
            raise ValueError(f"{len(weights)} blend weights for {self.mesh.vertex_count} vertices")
        self._blend = texture_from_array(weights, 1)

    def set_shape_key_values(self, values: NDArray[np.floating]) -> bool:
        """Apply the shape keys, if a value has changed since the last call.

        Args:
            values: shape (K,), in the order of `shape_offsets`; muted keys are 0.

        Returns:
            whether a pass ran; then `deform` has to run too.
        """
        values = np.asarray(values, np.float32)
        if values.shape != self._key_values.shape:
            raise ValueError(f"{len(values)} shape key values for {self.mesh.key_count} keys")
        if np.array_equal(values, self._key_values):
            return False
        self._key_values = values.copy()
        if self._shaped is None:
            self._shaped = empty_texture(self.mesh.vertex_count, "RGBA32F")
        self._key_texels.reshape(-1)[: len(values)] = values
        if self._key_block is None:
            self._key_block = new_uniform_buffer(self._key_texels)
        else:
            update_uniform_buffer(self._key_block, self._key_texels)
        shader = shaders.shape_keys_shader()
        try:
            shader.bind()
            shader.uniform_sampler("basis", self.mesh.rest)
            shader.uniform_sampler("key_starts", self.mesh.key_starts)
            shader.uniform_sampler("key_offsets", self.mesh.key_offsets)
            shader.uniform_block("key_values", self._key_block)
            shader.image("shaped", self._shaped)
            dispatch(shader, self.mesh.vertex_count)
        finally:
            gpu.shader.unbind()
        return True

    def deform(
        self,
        method: Method,
        palette: Palette,
        object_to_armature: NDArray[np.floating] = _IDENTITY,
        factor: float = 1.0,
        *,
        with_normals: bool = True,
    ) -> None:
        """Deform the vertices, and find the normals of the deformed surface.

        Args:
            method: how.
            palette: the armature's, updated with this frame's pose.
            object_to_armature: shape (4, 4), A^-1 O of the world matrices.
            factor: of COMPENSATED; 0 is DUAL_QUATERNION.
            with_normals: off where only positions are read back.

        Raises:
            ValueError: the armature or the object is scaled to nothing.
        """
        if not self.mesh.vertex_count:
            return
        if method == "COMPENSATED" and (self._amounts is None or factor == 0.0):
            method = "DUAL_QUATERNION"
        self._set_object_space(object_to_armature, factor)
        try:
            self._skin(method, palette)
            if with_normals and self.mesh.group_count:
                self._find_normals()
        finally:
            gpu.shader.unbind()

    def read_positions(self) -> NDArray[np.float32]:
        """Shape (n, 3), object space. Waits for the GPU."""
        return array_from_texture(self.positions, self.mesh.vertex_count)[:, :3]

    def read_normals(self) -> NDArray[np.float32]:
        """Shape (g, 3), object space, one for each normal group. Waits for the GPU."""
        if self.normals is None:
            return np.zeros((0, 3), np.float32)
        return array_from_texture(self.normals, self.mesh.group_count)[:, :3]

    def gpu_bytes(self) -> dict[str, int]:
        """What is on the GPU now, by name, the mesh's own included."""
        sizes = self.mesh.gpu_bytes()
        for name, value in vars(self).items():
            if isinstance(value, GPUTexture):
                sizes[name.lstrip("_")] = texture_bytes(value)
        return sizes

    def _set_object_space(self, object_to_armature: NDArray[np.floating], factor: float) -> None:
        matrix = np.asarray(object_to_armature, np.float64)
        wanted = (matrix.tobytes(), float(factor))
        if wanted == self._space_values:
            return
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            inverse = np.full((4, 4), np.nan)
        if not np.isfinite(inverse).all():
            raise ValueError("The object or its armature is scaled to nothing")
        self._space_texels[0:3] = matrix[:3]
        self._space_texels[3:6] = inverse[:3]
        self._space_texels[6, 0] = factor
        update_uniform_buffer(self._space, self._space_texels)
        self._space_values = wanted

    def _skin(self, method: Method, palette: Palette) -> None:
        mesh = self.mesh
        blend = self._blend if method in BLENDED_METHODS else None
        scaled = (palette.scaled or blend is not None) and method != "LINEAR"
        measured = method == "COMPENSATED" and self._measured
        layout = shaders.palette_layout(method, scaled, measured)
        in_texture = palette.in_texture(layout)
        joints_in_texture = palette.in_texture(shaders.JOINTS_LAYOUT) if measured else None
        centres = None
        if method == "SPHERICAL_JOINT":
            centres = self._find_centres(palette, layout, in_texture)
        shader = shaders.skinning_shader(
            method, scaled, in_texture, joints_in_texture, blended=blend is not None
        )
        shader.bind()
        palette.bind(shader, layout)
        if measured:
            palette.bind(shader, shaders.JOINTS_LAYOUT)
        shader.uniform_block("object_space", self._space)
        shader.uniform_sampler("rest", self._shaped or mesh.rest)
        shader.uniform_sampler("influences", mesh.influences)
        if method == "COMPENSATED" and self._amounts is not None:
            shader.uniform_sampler("amounts", self._amounts)
        elif centres is not None:
            shader.uniform_sampler("joint_of_vertex", mesh.joint_of_vertex)
            shader.uniform_sampler("centres", centres)
        if blend is not None:
            shader.uniform_sampler("blend", blend)
        shader.image("positions", self.positions)
        dispatch(shader, mesh.vertex_count)

    def _find_centres(
        self, palette: Palette, layout: shaders.PaletteLayout, in_texture: bool
    ) -> GPUTexture:
        mesh = self.mesh
        if self._centres is None:
            self._centres = empty_texture(mesh.set_count, "RGBA32F")
        if not mesh.set_count:
            return self._centres
        shader = shaders.joint_centres_shader(in_texture)
        shader.bind()
        palette.bind(shader, layout)
        shader.uniform_sampler("joint_sets", mesh.joint_sets)
        shader.uniform_sampler("joint_bones", mesh.joint_bones)
        shader.image("centres", self._centres)
        dispatch(shader, mesh.set_count)
        return self._centres

    def _find_normals(self) -> None:
        mesh = self.mesh
        if self.normals is None:
            self.normals = empty_texture(mesh.group_count, "RGBA16F")
        shader = shaders.normals_shader()
        shader.bind()
        shader.uniform_sampler("positions", self.positions)
        shader.uniform_sampler("groups", mesh.groups)
        shader.uniform_sampler("fans", mesh.fans)
        shader.image("normals", self.normals)
        dispatch(shader, mesh.group_count)
