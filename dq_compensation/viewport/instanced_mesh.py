"""Skins many instances of one mesh: one dispatch, whatever their number.

mesh = GpuMesh(...)                                        # once, shared by all instances
playback = Playback([Instances.of(playings)], layout)      # or GivenPoses
crowd = InstancedMesh(mesh, skeleton, len(playings))
...
playback.play(frame)                                       # each frame
crowd.deform(deformation, playback, playback.groups[0])
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import gpu
import numpy as np
from gpu.types import GPUShader, GPUTexture
from numpy.typing import NDArray

from ..core.compensation import Compensation
from ..core.deform import Deformation, Method
from ..core.skeleton import Skeleton
from . import instance_shaders
from .gpu_mesh import GpuMesh
from .gpu_objects import set_ints
from .influence_packing import MAX_TEXELS
from .instance_lists import ListPart
from .instance_poses import InstancePoses, PosedGroup
from .instanced_keys import InstancedKeys
from .instanced_limbs import InstancedLimbs
from .kernels import (
    JOINTS_LAYOUT,
    KERNELS,
    SWING_SAMPLERS,
    PosePaletteLayout,
    kernel_of,
    pose_palette_layout,
    swings_of,
)
from .shader_building import OBJECT_SPACE_TEXELS, TEXTURE_WIDTH
from .take_tables import MAX_INSTANCES, InstanceGroup
from .textures import (
    array_from_texture,
    dispatch,
    empty_texture,
    row_count,
    texture_bytes,
    texture_from_array,
)
from .vertex_textures import VertexTextures

# What every driver allows for a texture.
_MAX_TEXTURE_ROWS = 16_384


def most_instances(vertex_count: int, group_count: int, bone_count: int) -> int:
    """The number of instances of a mesh that the textures hold.

    Args:
        group_count: of its normal groups.
        bone_count: of its skeleton; joints of the mesh at most double those of the hierarchy.
    """
    rows = max(row_count(vertex_count), row_count(group_count))
    joints = max(2 * bone_count * JOINTS_LAYOUT.stride, 1)
    return min(_MAX_TEXTURE_ROWS // rows, MAX_TEXELS // joints, MAX_INSTANCES)


def wanted_layout(deformation: Deformation) -> PosePaletteLayout:
    """The layout of the pose palette that a deformation reads where no bone is scaled."""
    blended = deformation.blend is not None
    layout = replace(pose_palette_layout(kernel_of(deformation), scaled=blended), limb=False)
    # Points are moved by dual quaternions, where there are no matrices, to pose joints.
    return replace(layout, rotation=True)


class InstancedMesh:
    """The deformed vertices and normals of all instances of a mesh, on the GPU, in object space.

    Nothing is allocated per frame.

    Args:
        mesh: the static data, which all instances share.
        skeleton: that moves it.
        count: of the instances; at most `most_instances`.

    Attributes:
        positions: RGBA32F texture; each instance begins `mesh_rows` rows after the one before.
        normals: RGBA16F texture, likewise with `group_rows`; None until they are computed.
        keys: the shape keys' values of all instances; None for a mesh without.

    Raises:
        ValueError: there are more instances than a texture holds.
    """

    def __init__(self, mesh: GpuMesh, skeleton: Skeleton, count: int) -> None:
        most = most_instances(mesh.vertex_count, mesh.group_count, skeleton.bone_count)
        if count > most:
            raise ValueError(f"{count} instances of a mesh where {most} fit")
        self.mesh, self.skeleton, self.count = mesh, skeleton, count
        self.mesh_rows = row_count(mesh.vertex_count)
        self.group_rows = row_count(mesh.group_count)
        self.positions = empty_texture(count * self.mesh_rows * TEXTURE_WIDTH, "RGBA32F")
        self.normals: GPUTexture | None = None
        self.keys = InstancedKeys(mesh.key_count, count) if mesh.key_count else None
        # Of each method that is in use.
        self._of_vertices: dict[Method, VertexTextures] = {}
        self._spaces_of: tuple[bytes, bytes] | None = None
        self._shared_space = False
        self._object_space: GPUTexture | None = None
        self._limbs: InstancedLimbs | None = None
        self._centres: GPUTexture | None = None

    def deform(
        self,
        deformation: Deformation,
        poses: InstancePoses,
        group: InstanceGroup,
        objects_to_armature: NDArray[np.floating] | None = None,
        factors: NDArray[np.floating] | float | None = None,
        *,
        first: int = 0,
        chosen: ListPart | None = None,
        with_normals: bool = True,
    ) -> None:
        """Deform the vertices of instances, and find their normals.

        Args:
            deformation: of the mesh.
            poses: of this frame; its layout includes `wanted_layout` of the deformation.
            group: one of `poses.groups`, with the skeleton of the mesh.
            objects_to_armature: shape (4, 4) for all or (I, 4, 4), A^-1 O of the world matrices; by
                default the identity.
            factors: how much of the compensation acts on all, or shape (I,) on each; by default
                that of the deformation. That must not be 0 then.
            first: the instance of the group that is the first here.
            chosen: the instances to deform; by default all.

        Raises:
            ValueError: the deformation has another number of vertices, or an object or its armature
                is scaled to nothing.
        """
        vertices = deformation.skinning.vertex_count
        if vertices != self.mesh.vertex_count:
            raise ValueError(f"A deformation of {vertices} vertices for {self.mesh.vertex_count}")
        if not vertices or not (self.count if chosen is None else chosen.count):
            return
        of_vertices = self._of_vertices.setdefault(deformation.method, VertexTextures())
        of_vertices.update(deformation)
        factors = deformation.factor if factors is None else factors
        self._set_spaces(objects_to_armature, np.asarray(factors))
        posed = PosedGroup(poses, group, first, chosen)
        try:
            if self.keys is not None:
                self.keys.find(posed)
            self._skin(deformation, of_vertices, posed)
            if with_normals and self.mesh.group_count:
                self._find_normals(chosen)
        finally:
            gpu.shader.unbind()

    def read_positions(self) -> NDArray[np.float32]:
        """Shape (I, n, 3), object space. Waits for the GPU."""
        return self._read(self.positions, self.mesh_rows, self.mesh.vertex_count)

    def read_normals(self) -> NDArray[np.float32]:
        """Shape (I, g, 3), object space, one for each normal group. Waits for the GPU."""
        if self.normals is None:
            return np.zeros((self.count, 0, 3), np.float32)
        return self._read(self.normals, self.group_rows, self.mesh.group_count)

    def gpu_bytes(self) -> dict[str, int]:
        """The current bytes on the GPU, by name, without those of the mesh."""
        owners = [self, *self._of_vertices.values(), self.keys, self._limbs]
        found: Counter[str] = Counter()
        for name, value in (each for owner in owners if owner for each in vars(owner).items()):
            if isinstance(value, GPUTexture):
                found[name.lstrip("_")] += texture_bytes(value)
        return dict(found)

    def _read(self, texture: GPUTexture, rows: int, used: int) -> NDArray[np.float32]:
        stride = rows * TEXTURE_WIDTH
        pixels = array_from_texture(texture, self.count * stride)
        return pixels.reshape(self.count, stride, 4)[:, :used, :3]

    def _set_spaces(
        self, matrices: NDArray[np.floating] | None, factors: NDArray[np.floating]
    ) -> None:
        matrices = np.eye(4) if matrices is None else np.asarray(matrices, np.float64)
        wanted = (matrices.tobytes(), factors.tobytes())
        if wanted == self._spaces_of:
            return
        try:
            inverse = np.linalg.inv(matrices)
        except np.linalg.LinAlgError:
            inverse = np.full((4, 4), np.nan)
        if not np.isfinite(inverse).all():
            raise ValueError("The object or its armature is scaled to nothing")
        self._shared_space = matrices.ndim == 2 and not factors.ndim
        count = 1 if self._shared_space else self.count
        rows = np.zeros((count, OBJECT_SPACE_TEXELS, 4), np.float32)
        rows[:, 0:3], rows[:, 3:6] = matrices[..., :3, :], inverse[..., :3, :]
        rows[:, 6, 0] = factors
        self._object_space = texture_from_array(rows.reshape(-1, 4), 4)
        self._spaces_of = wanted

    def _skin(
        self, deformation: Deformation, of_vertices: VertexTextures, posed: PosedGroup
    ) -> None:
        mesh, kernel, poses = self.mesh, kernel_of(deformation), posed.poses
        traits = KERNELS[kernel]
        limbs = None
        if kernel in {"MEASURED", "PUBLISHED"}:
            assert deformation.compensation is not None
            limbs = self._limbs_of(deformation.compensation, posed.group)
            limbs.pose(posed)
        if "centres" in traits.samplers:
            self._find_centres(posed)
        swung = swings_of(deformation) is not None
        options = {"shape_keys": self.keys is not None, "swings": swung}
        names = (*of_vertices.names, *(name for name, there in options.items() if there))
        scaled = poses.scaled or of_vertices.blend is not None
        shader = instance_shaders.instanced_skinning_shader(
            kernel,
            poses.layout,
            scaled,
            names,
            shared_space=self._shared_space,
            listed=posed.listed,
        )
        shader.bind()
        posed.bind(shader)
        shader.uniform_sampler("rest", mesh.rest)
        shader.uniform_sampler("influences", mesh.influences)
        textures = {"object_space": self._object_space}
        constants = {"mesh_rows": self.mesh_rows}
        if "amounts" in traits.samplers:
            textures["amounts"] = of_vertices.amounts
        if limbs is not None:
            textures |= limbs.textures
            constants |= limbs.constants
        elif kernel == "SPHERICAL_JOINT":
            textures |= {"joint_of_vertex": mesh.joint_of_vertex, "centres": self._centres}
            constants["set_count"] = mesh.set_count
        if self.keys is not None:
            textures |= {"key_starts": mesh.key_starts, "key_offsets": mesh.key_offsets}
            textures["key_values"] = self.keys.values
            constants["key_count"] = mesh.key_count
        textures |= {name: getattr(of_vertices, name) for name in of_vertices.names}
        if swung:
            textures |= {name: getattr(of_vertices, name) for name in SWING_SAMPLERS}
        for name, texture in textures.items():
            shader.uniform_sampler(name, _there(texture))
        set_ints(shader, constants)
        shader.image("positions", self.positions)
        dispatch(shader, mesh.vertex_count, posed.count(self.count))

    def _limbs_of(self, compensation: Compensation, group: InstanceGroup) -> InstancedLimbs:
        limbs = self._limbs
        if limbs is None or limbs.compensation is not compensation:
            rows = group.row_count
            limbs = self._limbs = InstancedLimbs(compensation, self.skeleton, self.count, rows)
        return limbs

    def _find_centres(self, posed: PosedGroup) -> None:
        mesh = self.mesh
        if self._centres is None:
            self._centres = empty_texture(self.count * mesh.set_count, "RGBA32F")
        if not mesh.set_count:
            return
        shader: GPUShader = instance_shaders.instanced_centres_shader(
            posed.poses.layout, posed.listed
        )
        shader.bind()
        posed.bind(shader)
        shader.uniform_sampler("joint_sets", mesh.joint_sets)
        shader.uniform_sampler("joint_bones", mesh.joint_bones)
        set_ints(shader, {"set_count": mesh.set_count})
        shader.image("centres", self._centres)
        dispatch(shader, mesh.set_count, posed.count(self.count))

    def _find_normals(self, chosen: ListPart | None) -> None:
        mesh = self.mesh
        if self.normals is None:
            self.normals = empty_texture(self.count * self.group_rows * TEXTURE_WIDTH, "RGBA16F")
        shader = instance_shaders.instanced_normals_shader(chosen is not None)
        shader.bind()
        if chosen is not None:
            chosen.bind(shader)
        shader.uniform_sampler("positions", self.positions)
        shader.uniform_sampler("groups", mesh.groups)
        shader.uniform_sampler("fans", mesh.fans)
        set_ints(shader, {"mesh_rows": self.mesh_rows, "group_rows": self.group_rows})
        shader.image("normals", self.normals)
        dispatch(shader, mesh.group_count, self.count if chosen is None else chosen.count)


def _there(texture: GPUTexture | None) -> GPUTexture:
    assert texture is not None
    return texture
