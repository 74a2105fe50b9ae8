"""Skins many instances of one mesh: one dispatch, whatever their number.

mesh = GpuMesh(...)                                        # once, shared by all instances
playback = Playback([instances], layout)                   # or GivenPoses
crowd = InstancedMesh(mesh, skeleton, len(instances))
...
playback.play(frame)                                       # each frame
crowd.deform(deformation, playback, playback.groups[0])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gpu
import numpy as np
from gpu.types import GPUShader, GPUTexture
from numpy.typing import NDArray

from ..core.compensation import Compensation, PublishedCompensation
from ..core.deform import Deformation
from ..core.limb_joints import LimbJoints
from ..core.measured_joints import MeasuredJoints
from ..core.skeleton import Skeleton
from . import instance_shaders
from .gpu_mesh import GpuMesh
from .gpu_objects import set_ints
from .influence_packing import MAX_TEXELS
from .instance_poses import InstancePoses
from .instanced_keys import InstancedKeys
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
    """How many instances of a mesh the textures hold.

    Args:
        group_count: of its normal groups.
        bone_count: of its skeleton; joints of the mesh at most double those of the hierarchy.
    """
    rows = max(row_count(vertex_count), row_count(group_count))
    joints = max(2 * bone_count * JOINTS_LAYOUT.stride, 1)
    return min(_MAX_TEXTURE_ROWS // rows, MAX_TEXELS // joints, MAX_INSTANCES)


def wanted_layout(deformation: Deformation) -> PosePaletteLayout:
    """What a deformation reads of the rows of a pose that has no scale."""
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
        self._of_vertices = VertexTextures()
        self._spaces_of: tuple[bytes, bytes] | None = None
        self._object_space: GPUTexture | None = None
        self._posed_of: Compensation | None = None
        self._joints: GPUTexture | None = None
        self._rest_joints: GPUTexture | None = None
        self._limbs: GPUTexture | None = None
        self._limb_directions: GPUTexture | None = None
        self._bone_limbs: GPUTexture | None = None
        self._centres: GPUTexture | None = None

    def deform(
        self,
        deformation: Deformation,
        poses: InstancePoses,
        group: InstanceGroup,
        objects_to_armature: NDArray[np.floating] | None = None,
        factors: NDArray[np.floating] | None = None,
        *,
        first: int = 0,
        with_normals: bool = True,
    ) -> None:
        """Deform the vertices of all instances, and find their normals.

        Args:
            deformation: of the mesh.
            poses: of this frame; its layout includes `wanted_layout` of the deformation.
            group: one of `poses.groups`, with the skeleton of the mesh.
            objects_to_armature: shape (4, 4) for all or (I, 4, 4), A^-1 O of the world matrices; by
                default the identity.
            factors: shape (I,), how much of the compensation acts on each; by default that of the
                deformation. That must not be 0 then.
            first: the instance of the group that is the first here.

        Raises:
            ValueError: the deformation has another number of vertices, or an object or its armature
                is scaled to nothing.
        """
        vertices = deformation.skinning.vertex_count
        if vertices != self.mesh.vertex_count:
            raise ValueError(f"A deformation of {vertices} vertices for {self.mesh.vertex_count}")
        if not vertices or not self.count:
            return
        self._of_vertices.update(deformation)
        every = np.full(self.count, deformation.factor) if factors is None else factors
        self._set_spaces(objects_to_armature, every)
        try:
            if self.keys is not None:
                self.keys.find(poses, group, first)
            self._skin(deformation, poses, group, first)
            if with_normals and self.mesh.group_count:
                self._find_normals()
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
        every = vars(self) | vars(self._of_vertices) | (vars(self.keys) if self.keys else {})
        return {
            name.lstrip("_"): texture_bytes(value)
            for name, value in every.items()
            if isinstance(value, GPUTexture)
        }

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
        rows = np.zeros((self.count, OBJECT_SPACE_TEXELS, 4), np.float32)
        rows[:, 0:3], rows[:, 3:6] = matrices[..., :3, :], inverse[..., :3, :]
        rows[:, 6, 0] = factors
        self._object_space = texture_from_array(rows.reshape(-1, 4), 4)
        self._spaces_of = wanted

    def _skin(
        self, deformation: Deformation, poses: InstancePoses, group: InstanceGroup, first: int
    ) -> None:
        mesh, kernel, of_vertices = self.mesh, kernel_of(deformation), self._of_vertices
        traits = KERNELS[kernel]
        if kernel in {"MEASURED", "PUBLISHED"}:
            assert deformation.compensation is not None
            self._pose_limbs(deformation.compensation, poses, group, first)
        if "centres" in traits.samplers:
            self._find_centres(poses, group, first)
        swung = swings_of(deformation) is not None
        options = {"shape_keys": self.keys is not None, "swings": swung}
        names = (*of_vertices.names, *(name for name, there in options.items() if there))
        scaled = poses.scaled or of_vertices.blend is not None
        shader = instance_shaders.instanced_skinning_shader(kernel, poses.layout, scaled, names)
        shader.bind()
        poses.bind(shader, group, first)
        shader.uniform_sampler("rest", mesh.rest)
        shader.uniform_sampler("influences", mesh.influences)
        textures = {"object_space": self._object_space}
        constants = {"mesh_rows": self.mesh_rows}
        if "amounts" in traits.samplers:
            textures["amounts"] = of_vertices.amounts
        if kernel == "MEASURED":
            assert isinstance(deformation.compensation, MeasuredJoints)
            textures["joints_texture"] = self._joints
            constants["joint_count"] = len(deformation.compensation.limbs.heads)
        elif kernel == "PUBLISHED":
            textures["limbs"] = self._limbs
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
        dispatch(shader, mesh.vertex_count, self.count)

    def _pose_limbs(
        self, compensation: Compensation, poses: InstancePoses, group: InstanceGroup, first: int
    ) -> None:
        """Find the posed limbs or joints of a compensation."""
        if compensation is not self._posed_of:
            self._upload_limbs(compensation, group)
            self._posed_of = compensation
        shader: Any
        if isinstance(compensation, MeasuredJoints):
            shader = instance_shaders.pose_joints_shader(poses.layout, poses.scaled)
            name, rest, count = "joints", self._rest_joints, len(compensation.limbs.heads)
        else:
            shader = instance_shaders.pose_limbs_shader(poses.layout)
            name, rest, count = "limbs", self._limb_directions, group.row_count
        shader.bind()
        poses.bind(shader, group, first)
        shader.uniform_sampler("bone_limbs", _there(self._bone_limbs))
        if name == "joints":
            shader.uniform_sampler("rest_joints", _there(rest))
            set_ints(shader, {"joint_count": count})
        else:
            shader.uniform_sampler("limb_directions", _there(rest))
        shader.image(name, _there(self._joints if name == "joints" else self._limbs))
        dispatch(shader, count, self.count)

    def _upload_limbs(self, compensation: Compensation, group: InstanceGroup) -> None:
        skeleton = self.skeleton
        rows = np.zeros((skeleton.bone_count, 2, 4))
        rows[:, 0, :3], rows[:, 0, 3] = skeleton.heads, skeleton.start_rows
        rows[:, 1, :3], rows[:, 1, 3] = skeleton.tails, skeleton.end_rows
        self._bone_limbs = texture_from_array(rows.reshape(-1, 4), 4)
        if isinstance(compensation, MeasuredJoints):
            limbs = compensation.limbs
            size = self.count * len(limbs.heads) * JOINTS_LAYOUT.stride
            self._joints = empty_texture(size, "RGBA32F")
            self._rest_joints = texture_from_array(_joint_rows(limbs), 4)
        elif isinstance(compensation, PublishedCompensation):
            bones = skeleton.bone_of_row
            directions = np.zeros((group.row_count, 4))
            directions[: len(bones), :3] = compensation.limb_directions[bones]
            directions[: len(bones), 3] = bones
            self._limbs = empty_texture(self.count * group.row_count, "RGBA32F")
            self._limb_directions = texture_from_array(directions, 4)

    def _find_centres(self, poses: InstancePoses, group: InstanceGroup, first: int) -> None:
        mesh = self.mesh
        if self._centres is None:
            self._centres = empty_texture(self.count * mesh.set_count, "RGBA32F")
        if not mesh.set_count:
            return
        shader: GPUShader = instance_shaders.instanced_centres_shader(poses.layout)
        shader.bind()
        poses.bind(shader, group, first)
        shader.uniform_sampler("joint_sets", mesh.joint_sets)
        shader.uniform_sampler("joint_bones", mesh.joint_bones)
        set_ints(shader, {"set_count": mesh.set_count})
        shader.image("centres", self._centres)
        dispatch(shader, mesh.set_count, self.count)

    def _find_normals(self) -> None:
        mesh = self.mesh
        if self.normals is None:
            self.normals = empty_texture(self.count * self.group_rows * TEXTURE_WIDTH, "RGBA16F")
        shader = instance_shaders.instanced_normals_shader()
        shader.bind()
        shader.uniform_sampler("positions", self.positions)
        shader.uniform_sampler("groups", mesh.groups)
        shader.uniform_sampler("fans", mesh.fans)
        set_ints(shader, {"mesh_rows": self.mesh_rows, "group_rows": self.group_rows})
        shader.image("normals", self.normals)
        dispatch(shader, mesh.group_count, self.count)


def _joint_rows(limbs: LimbJoints) -> NDArray[np.floating]:
    """The texels of `rest_joints` in `pose_joints.glsl`: shape (4 J, 4)."""
    skeleton = limbs.skeleton
    rows = np.zeros((len(limbs.heads), 4, 4))
    rows[:, 0, :3], rows[:, 0, 3] = limbs.heads, skeleton.start_rows[limbs.children]
    rows[:, 1, :3], rows[:, 1, 3] = limbs.forth, skeleton.end_rows[limbs.parents]
    rows[:, 2, :3] = limbs.back
    rows[:, 3, 0], rows[:, 3, 1] = limbs.children, limbs.parents
    return rows.reshape(-1, 4)


def _there(texture: GPUTexture | None) -> GPUTexture:
    assert texture is not None
    return texture
