"""Runs the passes that deform a mesh on the GPU: shape keys, joint centres, skinning, normals.

In use, from a draw, timer or frame handler:

    mesh = GpuMesh(rest, influences, topology=..., sets=..., shape_offsets=...)     # at binding
    deformed = DeformedMesh(mesh)                                                   # one per object
    palette = PosePalette(skeleton)                                                 # per armature
    ...
    palette.update(Pose.from_matrices(...))                                         # each frame
    deformed.set_shape_key_values(values)
    deformed.deform(deformation, palette, object_to_armature)
    draw_solid(deformed, view, object_matrix, materials)                            # each region
"""

from __future__ import annotations

import gpu
import numpy as np
from gpu.types import GPUTexture, GPUUniformBuf
from numpy.typing import NDArray

from ..core.compensation import PublishedCompensation
from ..core.deform import Deformation
from ..core.limb_joints import LimbJoints
from ..core.measured_joints import MeasuredJoints
from . import shaders
from .gpu_mesh import GpuMesh
from .gpu_objects import new_uniform_buffer, update_uniform_buffer
from .kernels import (
    JOINTS_LAYOUT,
    KERNELS,
    SWING_SAMPLERS,
    PosePaletteLayout,
    kernel_of,
    pose_palette_layout,
    swings_of,
)
from .pose_palette import PosePalette
from .shader_building import KEY_VALUES_TEXELS, OBJECT_SPACE_TEXELS
from .textures import array_from_texture, dispatch, empty_texture, texture_bytes
from .vertex_textures import VertexTextures

_IDENTITY = np.eye(4)


class DeformedMesh:
    """The deformed vertices and normals of one object, on the GPU, in object space.

    Nothing is allocated per frame.

    Attributes:
        positions: RGBA32F texture, xyz of vertex i at pixel i.
        normals: RGBA16F texture, xyz of normal group i at pixel i; None until they are computed.
    """

    def __init__(self, mesh: GpuMesh) -> None:
        self.mesh = mesh
        self.positions: GPUTexture = empty_texture(mesh.vertex_count, "RGBA32F")
        self.normals: GPUTexture | None = None
        self._of_vertices = VertexTextures()
        self._centres: GPUTexture | None = None
        self._shaped: GPUTexture | None = None
        self._key_values = np.zeros(mesh.key_count, np.float32)
        self._key_texels = np.zeros((KEY_VALUES_TEXELS if mesh.key_count else 0, 4), np.float32)
        self._key_block: GPUUniformBuf | None = None
        self._space_values: tuple[bytes, float] | None = None
        self._space_texels = np.zeros((OBJECT_SPACE_TEXELS, 4), np.float32)
        self._space = new_uniform_buffer(self._space_texels)

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
        deformation: Deformation,
        palette: PosePalette,
        object_to_armature: NDArray[np.floating] = _IDENTITY,
        *,
        with_normals: bool = True,
    ) -> None:
        """Deform the vertices, and find the normals of the deformed surface.

        Args:
            deformation: of the mesh. Its arrays are uploaded when they are others than before.
            palette: the armature's, updated with this frame's pose.
            object_to_armature: shape (4, 4), A^-1 O of the world matrices.
            with_normals: off where only positions are read back.

        Raises:
            ValueError: the deformation has another number of vertices, or the armature or the
                object is scaled to nothing.
        """
        count = deformation.skinning.vertex_count
        if count != self.mesh.vertex_count:
            raise ValueError(f"A deformation of {count} vertices for {self.mesh.vertex_count}")
        if not count:
            return
        self._of_vertices.update(deformation)
        self._set_object_space(object_to_armature, deformation.factor)
        try:
            self._skin(deformation, palette)
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
        """The current bytes on the GPU, by name, those of the mesh included."""
        sizes = self.mesh.gpu_bytes()
        for name, value in (vars(self) | vars(self._of_vertices)).items():
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

    def _skin(self, deformation: Deformation, palette: PosePalette) -> None:
        mesh, kernel, of_vertices = self.mesh, kernel_of(deformation), self._of_vertices
        blended = of_vertices.blend is not None
        traits = KERNELS[kernel]
        swing_samplers = SWING_SAMPLERS if swings_of(deformation) is not None else ()
        scaled = palette.scaled or blended
        joints = _limb_joints(deformation) if traits.with_joints else None
        layout = pose_palette_layout(kernel, scaled)
        in_texture = palette.in_texture(layout)
        if "centres" in traits.samplers:
            self._find_centres(palette, layout, in_texture)
        shader = shaders.skinning_shader(
            kernel,
            scaled and traits.scales,
            in_texture,
            joints is not None and palette.in_texture(JOINTS_LAYOUT, joints),
            blended=blended,
            masked=of_vertices.mask is not None,
            swung=bool(swing_samplers),
        )
        shader.bind()
        palette.bind(shader, layout, limb_directions=_limb_directions(deformation))
        if joints is not None:
            palette.bind(shader, JOINTS_LAYOUT, joints)
        shader.uniform_block("object_space", self._space)
        shader.uniform_sampler("rest", self._shaped or mesh.rest)
        shader.uniform_sampler("influences", mesh.influences)
        for name in (*traits.samplers, *of_vertices.names, *swing_samplers):
            shader.uniform_sampler(name, self._texture(name))
        shader.image("positions", self.positions)
        dispatch(shader, mesh.vertex_count)

    def _texture(self, name: str) -> GPUTexture:
        """The texture for a sampler of a kernel."""
        if name == "centres" and self._centres is not None:
            return self._centres
        return getattr(self.mesh if hasattr(type(self.mesh), name) else self._of_vertices, name)

    def _find_centres(
        self, palette: PosePalette, layout: PosePaletteLayout, in_texture: bool
    ) -> None:
        mesh = self.mesh
        if self._centres is None:
            self._centres = empty_texture(mesh.set_count, "RGBA32F")
        if not mesh.set_count:
            return
        shader = shaders.joint_centres_shader(in_texture)
        shader.bind()
        palette.bind(shader, layout)
        shader.uniform_sampler("joint_sets", mesh.joint_sets)
        shader.uniform_sampler("joint_bones", mesh.joint_bones)
        shader.image("centres", self._centres)
        dispatch(shader, mesh.set_count)

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


def _limb_directions(deformation: Deformation) -> NDArray[np.floating] | None:
    published = deformation.compensation
    return published.limb_directions if isinstance(published, PublishedCompensation) else None


def _limb_joints(deformation: Deformation) -> LimbJoints:
    assert isinstance(deformation.compensation, MeasuredJoints)
    return deformation.compensation.limbs
