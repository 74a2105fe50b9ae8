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

from ..core.compensation import Compensation, PublishedCompensation
from ..core.deform import BLENDED_METHODS, Deformation
from ..core.limb_joints import LimbJoints
from ..core.measured_joints import MeasuredJoints
from . import shaders
from .gpu_mesh import GpuMesh
from .gpu_objects import new_uniform_buffer, update_uniform_buffer
from .influence_packing import floats_from_bits
from .pose_palette import PosePalette
from .textures import array_from_texture, dispatch, empty_texture, texture_bytes, texture_from_array

_IDENTITY = np.eye(4)
_Weights = NDArray[np.floating] | None


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
        self._amounts: GPUTexture | None = None
        self._blend: GPUTexture | None = None
        self._mask: GPUTexture | None = None
        # What the textures hold: a compensation, its painted weights, blend weights and the mask.
        self._uploaded: tuple[Compensation | None, _Weights, _Weights, _Weights] = (
            None,
            None,
            None,
            None,
        )
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
        self._upload(deformation)
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

    def _upload(self, deformation: Deformation) -> None:
        """Bring the textures of amounts, blend weights and the mask up to date."""
        compensation, painted, blend = deformation.compensation, deformation.painted, None
        if deformation.method in BLENDED_METHODS:
            blend = deformation.blend
        former_compensation, former_painted, former_blend, former_mask = self._uploaded
        if compensation is None:
            compensation, painted = former_compensation, former_painted
        elif compensation is not former_compensation or painted is not former_painted:
            amounts = compensation.amounts
            rows = np.zeros((len(amounts), 2), np.float32)
            rows[:, 0] = amounts if painted is None else amounts * painted
            if isinstance(compensation, MeasuredJoints):
                rows[:, 1] = floats_from_bits(_sides(compensation), compensation.joints)
            elif isinstance(compensation, PublishedCompensation):
                rows[:, 1] = floats_from_bits(*compensation.rows.T)
            self._amounts = texture_from_array(rows, 2)
        if blend is not former_blend:
            self._blend = None if blend is None else texture_from_array(blend, 1)
        mask = deformation.mask
        if mask is not former_mask:
            self._mask = None if mask is None else texture_from_array(mask, 1)
        self._uploaded = (compensation, painted, blend, mask)

    def _skin(self, deformation: Deformation, palette: PosePalette) -> None:
        mesh, kernel, blended = self.mesh, shaders.kernel_of(deformation), self._blend is not None
        traits = shaders.KERNELS[kernel]
        scaled = palette.scaled or blended
        joints = _limb_joints(deformation) if traits.with_joints else None
        layout = shaders.pose_palette_layout(kernel, scaled)
        in_texture = palette.in_texture(layout)
        if "centres" in traits.samplers:
            self._find_centres(palette, layout, in_texture)
        shader = shaders.skinning_shader(
            kernel,
            scaled and traits.scales,
            in_texture,
            joints is not None and palette.in_texture(shaders.JOINTS_LAYOUT, joints),
            blended=blended,
            masked=self._mask is not None,
        )
        shader.bind()
        palette.bind(shader, layout)
        if joints is not None:
            palette.bind(shader, shaders.JOINTS_LAYOUT, joints)
        shader.uniform_block("object_space", self._space)
        shader.uniform_sampler("rest", self._shaped or mesh.rest)
        shader.uniform_sampler("influences", mesh.influences)
        of_vertices = [name for name in ("blend", "mask") if getattr(self, f"_{name}") is not None]
        for name in (*traits.samplers, *of_vertices):
            shader.uniform_sampler(name, self._texture(name))
        shader.image("positions", self.positions)
        dispatch(shader, mesh.vertex_count)

    def _texture(self, name: str) -> GPUTexture:
        """The texture for a sampler of a kernel."""
        texture: GPUTexture | None = getattr(self, f"_{name}", None)
        return texture if texture is not None else getattr(self.mesh, name)

    def _find_centres(
        self, palette: PosePalette, layout: shaders.PosePaletteLayout, in_texture: bool
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


def _sides(measured: MeasuredJoints) -> NDArray[np.intp]:
    return measured.limbs.sides(measured.joints, measured.bones)


def _limb_joints(deformation: Deformation) -> LimbJoints:
    assert isinstance(deformation.compensation, MeasuredJoints)
    return deformation.compensation.limbs
