"""Skins many instances of one mesh: one dispatch, whatever their number.

mesh = GpuMesh(...)                                        # once, shared by all instances
poses = GivenPoses(skeleton, count, layout)                # or Playback
deformed = DeformedMesh(mesh, skeleton, count)
...
poses.upload(matrices)                                     # each frame
deformed.deform(deformation, poses, poses.groups[0])
"""

from __future__ import annotations

import gpu
import numpy as np
from gpu.types import GPUTexture
from numpy.typing import ArrayLike, NDArray

from ...core.deform import Deformation, Method
from ...core.skeleton import Skeleton
from ..gpu import shaders
from ..gpu.influence_packing import MAX_TEXELS
from ..gpu.kernels import (
    JOINT_STRIDE,
    KERNELS,
    SWING_SAMPLERS,
    TWIST_SAMPLERS,
    kernel_of,
    swings_of,
    twists_of,
)
from ..gpu.shader_building import TEXTURE_WIDTH
from ..gpu.take_tables import MAX_INSTANCES, InstanceGroup
from ..gpu.textures import (
    array_from_texture,
    empty_texture,
    row_count,
    run_pass,
    texture_from_array,
)
from ..gpu.vertex_textures import VertexTextures
from ..poses.instance_lists import ListPart
from ..poses.instance_poses import InstancePoses, PosedGroup
from ..poses.posed_limbs import PosedLimbs
from .gpu_keys import GpuKeys
from .gpu_mesh import GpuMesh

# For each instance: two matrices, its factor and its spread.
_SPACE_TEXELS = 7
# What every driver allows for a texture.
_MAX_TEXTURE_ROWS = 16_384


def most_instances(vertex_count: int, group_count: int, bone_count: int) -> int:
    """How many instances of a mesh the textures hold.

    Args:
        group_count: of its normal groups.
        bone_count: of its skeleton; joints of the mesh at most double those of the hierarchy.
    """
    rows = max(row_count(vertex_count), row_count(group_count))
    joints = max(2 * bone_count * JOINT_STRIDE, 1)
    return min(_MAX_TEXTURE_ROWS // rows, MAX_TEXELS // joints, MAX_INSTANCES)


class DeformedMesh:
    """The deformed vertices and normals of all instances of a mesh, on the GPU, in object space.

    Nothing is allocated per frame.

    Args:
        mesh: the static data, which all instances share.
        skeleton: that moves it.
        count: of the instances; at most `most_instances`.

    Attributes:
        positions: RGBA32F texture; each instance begins `mesh_rows` rows after the one before.
        normals: RGBA16F texture, likewise with `group_rows`; None until they are computed.
        keys: the shape keys of all instances; None for a mesh without.

    Raises:
        ValueError: there are more instances than a texture holds.
    """

    def __init__(self, mesh: GpuMesh, skeleton: Skeleton, count: int = 1) -> None:
        most = most_instances(mesh.vertex_count, mesh.group_count, skeleton.bone_count)
        if count > most:
            raise ValueError(f"{count} instances of a mesh where {most} fit")
        self.mesh, self.skeleton, self.count = mesh, skeleton, count
        self.mesh_rows = row_count(mesh.vertex_count)
        self.group_rows = row_count(mesh.group_count)
        self.positions = empty_texture(count * self.mesh_rows * TEXTURE_WIDTH, "RGBA32F")
        self.normals: GPUTexture | None = None
        self.keys = GpuKeys(mesh, count) if mesh.key_count else None
        # Of each method that is in use.
        self._of_vertices: dict[Method, VertexTextures] = {}
        self._spaces_of: tuple[bytes, bytes] | None = None
        self._space_stride = 0
        self._object_space: GPUTexture | None = None
        self._limbs: PosedLimbs | None = None
        self._centres: GPUTexture | None = None

    def deform(
        self,
        deformation: Deformation,
        poses: InstancePoses,
        group: InstanceGroup,
        objects_to_armature: NDArray[np.floating] | None = None,
        shares: ArrayLike | None = None,
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
            shares: the factor of the compensation and how much twists are spread: shape (2,) for
                all or (I, 2); by default those of the deformation. These must not be 0 then.
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
        shares = (deformation.factor, deformation.twist_spread) if shares is None else shares
        self._set_spaces(objects_to_armature, np.asarray(shares, np.float64))
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
        stride = self.mesh_rows * TEXTURE_WIDTH
        pixels = array_from_texture(self.positions, self.count * stride)
        return pixels.reshape(self.count, stride, 4)[:, : self.mesh.vertex_count, :3]

    def _set_spaces(
        self, matrices: NDArray[np.floating] | None, shares: NDArray[np.floating]
    ) -> None:
        matrices = np.eye(4) if matrices is None else np.asarray(matrices, np.float64)
        wanted = (matrices.tobytes(), shares.tobytes())
        if wanted == self._spaces_of:
            return
        try:
            inverse = np.linalg.inv(matrices)
        except np.linalg.LinAlgError:
            inverse = np.full((4, 4), np.nan)
        if not np.isfinite(inverse).all():
            raise ValueError("The object or its armature is scaled to nothing")
        shared = matrices.ndim == 2 and shares.ndim == 1
        self._space_stride = 0 if shared else _SPACE_TEXELS
        rows = np.zeros((1 if shared else self.count, _SPACE_TEXELS, 4), np.float32)
        rows[:, 0:3], rows[:, 3:6] = matrices[..., :3, :], inverse[..., :3, :]
        rows[:, 6, :2] = shares
        self._object_space = texture_from_array(rows.reshape(-1, 4), 4)
        self._spaces_of = wanted

    def _skin(
        self, deformation: Deformation, of_vertices: VertexTextures, posed: PosedGroup
    ) -> None:
        mesh, kernel, poses = self.mesh, kernel_of(deformation), posed.poses
        traits = KERNELS[kernel]
        limbs = None
        if kernel in {"MEASURED", "PUBLISHED"}:
            compensation, limbs, rows = deformation.compensation, self._limbs, posed.group.row_count
            assert compensation is not None
            if limbs is None or limbs.compensation is not compensation:
                limbs = self._limbs = PosedLimbs(compensation, self.skeleton, self.count, rows)
            limbs.pose(posed)
        if "centres" in traits.samplers:
            self._find_centres(posed)
        moving = None if self.keys is None else self.keys.moving
        textures = of_vertices.optional
        names = tuple(textures)
        textures |= {
            "rest": mesh.rest if self.keys is None else self.keys.rest,
            "influences": mesh.influences,
            "object_space": self._object_space,
        }
        constants = {
            "mesh_rows": self.mesh_rows,
            "rest_rows": 0 if self.keys is None else self.keys.rest_rows,
            "space_stride": self._space_stride,
        }
        if "amounts" in traits.samplers:
            textures["amounts"] = of_vertices.amounts
        if limbs is not None:
            textures |= limbs.textures
            constants |= limbs.constants
        elif kernel == "SPHERICAL_JOINT":
            textures |= {"joint_of_vertex": mesh.joint_of_vertex, "centres": self._centres}
            constants["set_count"] = mesh.set_count
        if moving is not None:
            names = (*names, "shape_keys")
            textures |= moving.textures
            constants |= moving.constants
        if swings_of(deformation) is not None:
            names = (*names, "swings")
            textures |= {name: getattr(of_vertices, name) for name in SWING_SAMPLERS}
        if twists_of(deformation) is not None:
            names = (*names, "twists")
            textures |= {name: getattr(of_vertices, name) for name in TWIST_SAMPLERS}
        scaled = poses.scaled or of_vertices.blend is not None
        shader = shaders.skinning_shader(kernel, poses.layout, scaled, names, posed.listed)
        shader.bind()
        posed.bind(shader)
        count, written = posed.count(self.count), ("positions", self.positions)
        run_pass(shader, textures, written, mesh.vertex_count, count, **constants)

    def _find_centres(self, posed: PosedGroup) -> None:
        mesh = self.mesh
        if self._centres is None:
            self._centres = empty_texture(self.count * mesh.set_count, "RGBA32F")
        if not mesh.set_count:
            return
        shader = posed.shader("joint_centres")
        textures = {"joint_sets": mesh.joint_sets, "joint_bones": mesh.joint_bones}
        count, written = posed.count(self.count), ("centres", self._centres)
        run_pass(shader, textures, written, mesh.set_count, count, set_count=mesh.set_count)

    def _find_normals(self, chosen: ListPart | None) -> None:
        mesh = self.mesh
        if self.normals is None:
            self.normals = empty_texture(self.count * self.group_rows * TEXTURE_WIDTH, "RGBA16F")
        shader, count = shaders.pass_shader("normals", listed=chosen is not None), self.count
        shader.bind()
        if chosen is not None:
            chosen.bind(shader)
            count = chosen.count
        textures = {"positions": self.positions, "groups": mesh.groups, "fans": mesh.fans}
        ints = {"mesh_rows": self.mesh_rows, "group_rows": self.group_rows}
        run_pass(shader, textures, ("normals", self.normals), mesh.group_count, count, **ints)
