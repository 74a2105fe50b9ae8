"""Skins all instances of one mesh by one dispatch, with their shape keys.

The values of most keys are given. What these keys make of the rest positions is kept until a
value changes. The values of the others follow the pose of each instance, from a take or as the
weights of example poses; the skinning pass adds those keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import is_not
from weakref import WeakValueDictionary

import gpu
import numpy as np
from gpu.types import GPUBatch, GPUTexture
from numpy.typing import ArrayLike

from ..arrays import Float32s, Floats, Indices
from ..core.deform import Deformation
from ..core.example_poses import ExamplePoses
from ..core.influences import Influences
from ..core.skeleton import Skeleton
from ..core.solved_shapes import SolvedShapes
from ..core.topology import Topology
from ..scene.binding.binding import Binding
from ..scene.binding.kept_examples import Examples
from .array_textures import (
    TEXTURE_WIDTH,
    array_from_texture,
    empty_texture,
    row_count,
    run_pass,
    texture_from_array,
)
from .gpu_objects import indexed_batch
from .instance_poses import InstanceGroup, InstancePoses, ListPart, PosedGroup
from .kernels import (
    JOINT_STRIDE,
    KERNELS,
    MAX_INSTANCES,
    MAX_TEXELS,
    OPTIONS,
    PosedTexture,
    RestTextures,
    kernel_of,
    pack_influences,
)
from .shaders import pass_shader, skinning_shader
from .shape_textures import OFFSETS, WEIGHTS, counts_of, solved_of


class KeyOffsets(dict[str, GPUTexture]):
    """The offsets of some shape keys, by the samplers of `shape_key_sum.glsl`."""


class GpuMesh:
    """The static textures and index buffers of one binding; built when they are first needed.

    Args:
        rest: shape (n, 3), the Basis positions in object space.
        influences: `Deformation.skinning` of what it will be deformed by; kept as `moved_by`.
        topology: triangles, edges and normal groups; without it there are no normals and nothing
            can be drawn.
        shape_offsets: shape (K, n, 3), the offset of each shape key in object space; what is added
            to `rest` is the sum of values times offsets.

    Raises:
        ValueError: shapes do not agree, or the mesh is beyond what the textures can address.
    """

    def __init__(
        self,
        rest: Floats,
        influences: Influences,
        *,
        topology: Topology | None = None,
        shape_offsets: Floats | None = None,
    ) -> None:
        count = len(rest)
        if influences.vertex_count != count:
            raise ValueError(
                f"GpuMesh: influences of {influences.vertex_count} vertices for {count}"
            )
        if shape_offsets is not None and shape_offsets.shape[1:] != (count, 3):
            raise ValueError(f"GpuMesh: shape offsets {shape_offsets.shape} for {count} vertices")
        if count > MAX_TEXELS:
            raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} vertices for a mesh")
        self.vertex_count = count
        self.group_count = topology.group_count if topology is not None else 0
        self.key_count = len(shape_offsets) if shape_offsets is not None else 0
        self.topology = topology
        self.moved_by = influences
        texels, starts = pack_influences(influences)
        self.rest = texture_from_array(
            np.column_stack((rest, starts)).astype(np.float32), 4, padding=-1.0
        )
        self.influences = texture_from_array(texels, 4)
        self._shape_offsets = shape_offsets
        self._key_offsets: WeakValueDictionary[tuple[int, ...], KeyOffsets] = WeakValueDictionary()

    def key_offsets(self, keys: tuple[int, ...]) -> KeyOffsets:
        """The offsets of some shape keys; the same object as long as somebody has it.

        Raises:
            ValueError: there are more than a texture can address.
        """
        offsets = self._key_offsets.get(keys)
        if offsets is None:
            assert self._shape_offsets is not None
            offsets = self._key_offsets[keys] = _packed_offsets(self._shape_offsets[list(keys)])
        return offsets

    @cached_property
    def groups(self) -> GPUTexture:
        """RG32F: the vertex and the first corner of each normal group; then (-1, end)."""
        topology = self.topology
        assert topology is not None
        count = topology.group_count
        rows = np.full((count + 1, 2), -1.0, np.float32)
        rows[:count, 0] = topology.group_vertex
        rows[:, 1] = topology.fan_offsets
        return texture_from_array(rows, 2, padding=-1.0)

    @cached_property
    def fans(self) -> GPUTexture:
        """R32F: the previous, next and opposite vertex of each corner."""
        topology = self.topology
        assert topology is not None
        fans = (topology.fan_previous, topology.fan_next, topology.fan_opposite)
        return texture_from_array(np.stack(fans, axis=1).astype(np.float32).reshape(-1), 1)

    @cached_property
    def material_batches(self) -> tuple[tuple[int, GPUBatch], ...]:
        """The triangles of each material slot in use. Their indices are normal groups."""
        topology, batches = self.topology, []
        assert topology is not None
        for slot in np.unique(topology.triangle_material).tolist():
            triangles = topology.triangle_groups[topology.triangle_material == slot]
            batch = indexed_batch("TRIS", triangles)
            assert batch is not None
            batches.append((slot, batch))
        return tuple(batches)

    @cached_property
    def edge_batch(self) -> GPUBatch | None:
        """The edges as lines between vertices; None without any."""
        assert self.topology is not None
        return indexed_batch("LINES", self.topology.edges)


# By what says that bindings are equal, and by the influences of segments of bendy bones.
_meshes: WeakValueDictionary[tuple[object, ...], GpuMesh] = WeakValueDictionary()


def gpu_mesh_of(binding: Binding, influences: Influences, equal: object = None) -> GpuMesh:
    """The static data of a binding; the same object as long as somebody has it.

    Args:
        influences: `Deformation.skinning` of the deformations.
        equal: says that bindings are equal; by default only the same one is.
    """
    key = (
        binding if equal is None else equal,
        None if influences is binding.influences else influences,
    )
    mesh = _meshes.get(key)
    if mesh is None:
        keys = binding.shape_keys
        mesh = _meshes[key] = GpuMesh(
            binding.rest,
            influences,
            topology=binding.topology,
            shape_offsets=keys.offsets if keys else None,
        )
    return mesh


def _packed_offsets(offsets: Floats) -> KeyOffsets:
    """The offsets of the vertices that a key moves, out of all: shape (K, n, 3)."""
    vertex_count = offsets.shape[1]
    vertices, keys = np.nonzero(np.any(offsets != 0.0, axis=2).T)
    counts = np.bincount(vertices, minlength=vertex_count)
    # Invocations fill rows, and each reads the place behind its own: past a texture anything is.
    starts = np.full(row_count(vertex_count) * TEXTURE_WIDTH + 1, len(vertices))
    starts[: vertex_count + 1] = np.concatenate(([0], np.cumsum(counts)))
    if len(vertices) > MAX_TEXELS:
        raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} shape key offsets")
    rows = np.empty((len(vertices), 4), np.float32)
    rows[:, :3] = offsets[keys, vertices]
    rows[:, 3] = keys
    textures = (texture_from_array(starts, 1), texture_from_array(rows, 4))
    return KeyOffsets(zip(("key_starts", "key_offsets"), textures, strict=True))


_OF_MOTION, _OF_EXAMPLE = 1.0, 2.0


class GpuKeys:
    """The K shape keys of I instances, on the GPU.

    Attributes:
        rest: RGBA32F texture, the rest positions with the keys whose values are given.
        rest_rows: the rows of `rest` for each instance; 0 where all share them.
        moving: the keys whose values follow the pose; None without any.
    """

    def __init__(self, mesh: GpuMesh, count: int) -> None:
        self.rest, self.rest_rows = mesh.rest, 0
        self.moving: MovingKeys | None = None
        self._mesh, self._count = mesh, count
        self._given = np.zeros((1, mesh.key_count), np.float32)
        self._resting = tuple(range(mesh.key_count))
        self._changed = False
        self._values: GPUTexture | None = None
        self._shaped: GPUTexture | None = None
        self._offsets: KeyOffsets | None = None

    def give(self, values: Floats) -> bool:
        """Set the values of the keys that do not follow the pose.

        Args:
            values: shape (K,) for all instances, or (I, K); muted keys are 0.

        Returns:
            whether one has changed.

        Raises:
            ValueError: there are not K of them.
        """
        values = np.atleast_2d(np.array(values, np.float32))
        if values.shape[1] != self._mesh.key_count:
            raise ValueError(f"{values.shape[1]} shape key values for {self._mesh.key_count} keys")
        if (values == values[0]).all():
            values = values[:1]
        if np.array_equal(values, self._given):
            return False
        self._given, self._changed = values, True
        return True

    def connect(
        self,
        group: InstanceGroup,
        named: Mapping[int, tuple[str, str]],
        examples: Examples | None = None,
    ) -> None:
        """Connect keys whose values change with the pose: by motions of a group, or by examples.

        Args:
            named: of each key that may follow a motion, the mesh and the key in `value_names`.
        """
        motion_rows = {key: group.value_row(*name) for key, name in named.items()}
        sources = {
            key: (_OF_MOTION, row, 0.0, 0.0) for key, row in motion_rows.items() if row is not None
        }
        texels = np.zeros((1, 4))
        if examples is not None:
            poses = examples.poses
            texels, places = _example_rows(poses)
            bones, numbers = np.divmod(poses.rows, max(poses.solution.shape[2], 1))
            rows, factors = examples.rows.tolist(), examples.factors.tolist()
            of_examples = zip(rows, places[bones].tolist(), numbers.tolist(), factors, strict=True)
            sources |= {key: (_OF_EXAMPLE, *source) for key, *source in of_examples}
        self.moving = MovingKeys(self._mesh, sources, texels, self._count) if sources else None
        resting = tuple(key for key in range(self._mesh.key_count) if key not in sources)
        if resting != self._resting:
            self._resting, self._offsets, self._changed = resting, None, True

    def find(self, posed: PosedGroup) -> None:
        """Find the shapes if given values have changed, and the values that poses give."""
        if self._changed:
            self._find_shapes()
            self._changed = False
        if self.moving is not None:
            self.moving.find_values(posed)

    def _find_shapes(self) -> None:
        values, mesh = self._given[:, self._resting], self._mesh
        if not values.any():
            self.rest, self.rest_rows = mesh.rest, 0
            return
        rows, count = row_count(mesh.vertex_count), len(values)
        if self._shaped is None or self._shaped.height < count * rows:
            self._shaped = empty_texture(count * rows * TEXTURE_WIDTH, "RGBA32F")
        if self._offsets is None:
            self._offsets = mesh.key_offsets(self._resting)
        self._values = texture_from_array(values.reshape(-1), 1)
        textures = {"rest": mesh.rest, "key_values": self._values, **self._offsets}
        ints = {"mesh_rows": rows, "key_count": len(self._resting)}
        shader = pass_shader("shape_keys")
        shader.bind()
        run_pass(shader, textures, ("shaped", self._shaped), mesh.vertex_count, count, **ints)
        self.rest, self.rest_rows = self._shaped, rows if count > 1 else 0


class MovingKeys:
    """The keys whose values follow the poses of I instances.

    Args:
        sources: by key, as `key_values.glsl` says; `examples` likewise.

    Attributes:
        keys: M of them.
        values: R32F texture, M values for each instance.
    """

    def __init__(
        self, mesh: GpuMesh, sources: Mapping[int, tuple[float, ...]], examples: Floats, count: int
    ) -> None:
        self.keys, self._count = tuple(sources), count
        self.values = empty_texture(len(sources) * count, "R32F")
        self._offsets = mesh.key_offsets(self.keys)
        self._sources = texture_from_array(np.array(list(sources.values())), 4)
        self._examples = texture_from_array(examples, 4)

    @property
    def textures(self) -> dict[str, GPUTexture]:
        """The textures that skinning reads, by the names of its samplers."""
        return {**self._offsets, "key_values": self.values}

    @property
    def constants(self) -> dict[str, int]:
        """The push constants of skinning."""
        return {"key_count": len(self.keys)}

    def find_values(self, posed: PosedGroup) -> None:
        """Find the values of the keys for poses."""
        shader = posed.shader("key_values", scaled=posed.poses.scaled)
        textures = {
            "key_sources": self._sources,
            "locals": posed.poses.locals or self._sources,
            "examples": self._examples,
        }
        count, written = posed.count(self._count), ("key_values", self.values)
        run_pass(shader, textures, written, len(self.keys), count, **self.constants)


def _example_rows(examples: ExamplePoses) -> tuple[Floats, Indices]:
    """Texels of `examples` in `key_values.glsl`, shape (t, 4); each bone's place in them, (E,)."""
    rows: list[Floats] = []
    places, place = np.zeros(len(examples.bones), np.intp), 0
    most, hats, joints = examples.solution.shape[2], examples.hats, examples.linear.tolist()
    counts = np.bincount(examples.rows // max(most, 1), minlength=len(places))
    for bone, count in enumerate(counts.tolist()):
        weights = -(-count // 4)
        texels = np.zeros((2 + (count + 1) * (2 + weights), 4))
        parent = -1 if examples.is_root[bone] else examples.parents[bone]
        texels[0] = (examples.bones[bone], parent, count, examples.twists[bone])
        texels[1] = (*examples.limbs[bone], examples.falloff[bone, 0])
        points = texels[2:].reshape(count + 1, 2 + weights, 4)
        points[:, 0, :3] = examples.directions[bone, : count + 1]
        points[:, 1] = examples.rotations[bone, : count + 1]
        solution = points[:, 2:].reshape(count + 1, 4 * weights)
        solution[:, :count] = examples.solution[bone, : count + 1, :count]
        points[:, 2:] = solution.reshape(count + 1, weights, 4)
        if bone in joints:
            joint = joints.index(bone)
            of_joint = hats.joints == joint
            texels[1] = (*hats.frames[joint, 0], hats.kinds[joint])
            points[0, 0, :3] = hats.frames[joint, 1]
            points[1:, 0, :3] = hats.angles[of_joint]
            points[1:, 1, 0], points[1:, 1, 1:3] = hats.azimuths[of_joint], hats.widths[of_joint]
        places[bone] = place
        place += len(texels)
        rows.append(texels)
    return np.concatenate(rows), places


# For each instance: two matrices, its factor and its spread.
_SPACE_TEXELS = 7
# What every driver allows for a texture.
_MAX_TEXTURE_ROWS = 16_384


def most_instances(vertex_count: int, group_count: int, bone_count: int) -> int:
    """The number of instances of a mesh that the textures hold.

    Args:
        group_count: of its normal groups.
        bone_count: of its skeleton; joints of the mesh at most double those of the hierarchy.
    """
    rows = max(row_count(vertex_count), row_count(group_count))
    joints = max(2 * bone_count * JOINT_STRIDE, 1)
    return min(_MAX_TEXTURE_ROWS // rows, MAX_TEXELS // joints, MAX_INSTANCES)


_Uploaded = tuple[Sequence[object], dict[str, GPUTexture]]
"""The objects that textures at rest were made from, and the textures by their samplers."""


class DeformedMesh:
    """The deformed vertices and normals of all instances of a mesh, on the GPU, in object space.

    Nothing is allocated per frame.

    Args:
        mesh: the static data, which all instances share.
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
        self._at_rest: dict[RestTextures, _Uploaded] = {}
        # By their samplers, those that passes fill for each pose.
        self._posed: dict[str, GPUTexture] = {}
        self._spaces_of: tuple[bytes, bytes] | None = None
        self._space_stride = 0
        self._object_space: GPUTexture | None = None

    def deform(
        self,
        deformation: Deformation,
        poses: InstancePoses,
        group: InstanceGroup,
        objects_to_armature: Floats | None = None,
        shares: ArrayLike | None = None,
        *,
        first: int = 0,
        chosen: ListPart | None = None,
        with_normals: bool = True,
    ) -> None:
        """Deform the vertices of instances, and find their normals.

        Args:
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
        shares = (deformation.factor, deformation.twist_spread) if shares is None else shares
        self._set_spaces(objects_to_armature, np.asarray(shares, np.float64))
        posed = PosedGroup(poses, group, first, chosen)
        try:
            if self.keys is not None:
                self.keys.find(posed)
            self._skin(deformation, posed)
            if (solved := solved_of(deformation)) is not None:
                self._add_shapes(solved, deformation, posed)
            if with_normals and self.mesh.group_count:
                self._find_normals(posed)
        finally:
            gpu.shader.unbind()

    def read_positions(self) -> Float32s:
        """Shape (I, n, 3), object space. Waits for the GPU."""
        stride = self.mesh_rows * TEXTURE_WIDTH
        pixels = array_from_texture(self.positions, self.count * stride)
        return pixels.reshape(self.count, stride, 4)[:, : self.mesh.vertex_count, :3]

    def _set_spaces(self, matrices: Floats | None, shares: Floats) -> None:
        matrices = np.eye(4) if matrices is None else np.asarray(matrices, np.float64)
        spaces = (matrices.tobytes(), shares.tobytes())
        if spaces == self._spaces_of:
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
        self._spaces_of = spaces

    def _skin(self, deformation: Deformation, posed: PosedGroup) -> None:
        mesh, keys, kernel = self.mesh, self.keys, kernel_of(deformation)
        traits, moving = KERNELS[kernel], None if keys is None else keys.moving
        textures = {
            "rest": mesh.rest if keys is None else keys.rest,
            "influences": mesh.influences,
            "object_space": self._object_space,
        }
        constants = {
            "mesh_rows": self.mesh_rows,
            "rest_rows": 0 if keys is None else keys.rest_rows,
            "space_stride": self._space_stride,
        }
        options = [name for name, option in OPTIONS.items() if option.acts(deformation) is not None]
        for at_rest in (traits.at_rest, *(OPTIONS[name].at_rest for name in options)):
            if at_rest is not None:
                textures |= self._rest_textures(at_rest, deformation)
        if traits.posed is not None:
            textures[traits.posed.name] = self._pose(traits.posed, deformation, posed)
            constants |= dict.fromkeys(traits.constants, traits.posed.count(deformation))
        scaled = posed.poses.scaled or "blend" in options
        if moving is not None:
            options.append("shape_keys")
            textures |= moving.textures
            constants |= moving.constants
        layout = posed.poses.layout
        shader = skinning_shader(kernel, layout, scaled, tuple(options), posed.listed)
        shader.bind()
        posed.bind(shader)
        count, written = posed.count(self.count), ("positions", self.positions)
        run_pass(shader, textures, written, mesh.vertex_count, count, **constants)

    def _add_shapes(
        self, solved: SolvedShapes, deformation: Deformation, posed: PosedGroup
    ) -> None:
        counts, instances = counts_of(solved), posed.count(self.count)
        weights = self._posed_texture("shape_weights", self.count * counts["weight_count"])
        textures = self._rest_textures(WEIGHTS, deformation)
        shader = posed.shader("shape_weights", scaled=posed.poses.scaled)
        written = ("shape_weights", weights)
        ints = {name: counts[name] for name in ("block_count", "weight_count")}
        run_pass(shader, textures, written, counts["block_count"], instances, **ints)
        shader = pass_shader("add_shapes", listed=posed.listed)
        shader.bind()
        if posed.chosen is not None:
            posed.chosen.bind(shader)
        textures = self._rest_textures(OFFSETS, deformation)
        textures |= {"shape_weights": weights, "object_space": self._object_space}
        ints = {
            "mesh_rows": self.mesh_rows,
            "space_stride": self._space_stride,
            "by_factor": int(deformation.method == "COMPENSATED"),
            "moved_count": counts["moved_count"],
            "weight_count": counts["weight_count"],
        }
        run_pass(
            shader, textures, ("positions", self.positions), ints["moved_count"], instances, **ints
        )

    def _rest_textures(
        self, at_rest: RestTextures, deformation: Deformation
    ) -> dict[str, GPUTexture]:
        """Textures at rest, by their samplers; uploaded where their sources have changed."""
        made_from = [getattr(deformation, name) for name in at_rest.made_from]
        uploaded = self._at_rest.get(at_rest)
        if uploaded is None or any(map(is_not, uploaded[0], made_from)):
            pairs = zip(at_rest.samplers, at_rest.arrays(deformation), strict=True)
            textures = {
                sampler: texture_from_array(array, 1 if array.ndim == 1 else array.shape[1])
                for sampler, array in pairs
            }
            uploaded = self._at_rest[at_rest] = (made_from, textures)
        return uploaded[1]

    def _pose(
        self, posing: PosedTexture, deformation: Deformation, posed: PosedGroup
    ) -> GPUTexture:
        """Run the pass of a kernel; returns its texture."""
        count = posing.count(deformation)
        size = self.count * (posing.texels * count or posed.group.row_count)
        texture = self._posed_texture(posing.name, size)
        if count:
            shader = posed.shader(posing.shader, scaled=posing.scales and posed.poses.scaled)
            textures = self._rest_textures(posing.at_rest, deformation)
            constants = {posing.constant: count} if posing.constant else {}
            instances, written = posed.count(self.count), (posing.name, texture)
            run_pass(shader, textures, written, count, instances, **constants)
        return texture

    def _posed_texture(self, name: str, size: int) -> GPUTexture:
        """The texture of a pass by its name, with so many texels."""
        texture = self._posed.get(name)
        if texture is None or texture.height != row_count(size):
            texture = self._posed[name] = empty_texture(size, "RGBA32F")
        return texture

    def _find_normals(self, posed: PosedGroup) -> None:
        mesh = self.mesh
        if self.normals is None:
            self.normals = empty_texture(self.count * self.group_rows * TEXTURE_WIDTH, "RGBA16F")
        shader, count = pass_shader("normals", listed=posed.listed), posed.count(self.count)
        shader.bind()
        if posed.chosen is not None:
            posed.chosen.bind(shader)
        textures = {"positions": self.positions, "groups": mesh.groups, "fans": mesh.fans}
        ints = {"mesh_rows": self.mesh_rows, "group_rows": self.group_rows}
        run_pass(shader, textures, ("normals", self.normals), mesh.group_count, count, **ints)
