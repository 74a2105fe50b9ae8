"""Solved shapes as a file keeps them: relative to the bones of their joints.

Each mesh object has its own part: bytes in a mesh that no object shows. The settings of the object
point to it, so that both are saved, appended and undone together, and a duplicate shares it. The
bytes never change: another set of shapes is a new mesh. Bones are numbers in a list of names, which
stands in the settings, too: renamed bones leave the bytes alone.

Directions and offsets are in armature space as it was then. The bones at rest are kept, too: where
all have been turned and scaled alike since, as *Apply Rotation* and *Apply Scale* do, so are these.
Bones that were turned alone, as a new roll does, leave them. Offsets have 16 bits: of the largest
one of a combination of joints, 0.2 m of a human, that is 0.003 mm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...arrays import Float64s, Floats, Int32s, Integers
from ...core.deform import METHODS, Method
from ...core.skeleton import Skeleton
from ...core.solved_shapes import (
    MOST_JOINTS,
    PoseHats,
    ShapeBlock,
    SolvedJoint,
    SolvedShapes,
)
from ...errors import UNREADABLE, UserError
from ...wording import listed
from ..blender.bulk_arrays import AttributeType, read_attribute, write_attribute
from ..blender.mesh import mesh_of
from ..settings.bone_texts import names_in, text_of_names
from ..settings.object_settings import settings_of
from ..stack import written_settings

# An attribute of a mesh with solved shapes: which vertex each was when they were kept. It tells
# vertices apart when others are deleted, or all are sorted.
NUMBERS = ".dqs_shape_vertices"

# Of a mesh that no object has: the bytes of solved shapes.
SHAPES_PROPERTY = "dq_compensation_solved_shapes"

# The newest format of the bytes that this version reads.
_FORMAT = 1
_LARGEST = 32767


def _direction(way: Floats) -> tuple[float, float, float]:
    x, y, z = way.tolist()
    return float(x), float(y), float(z)


@dataclass(frozen=True, eq=False)
class KeptBlock:
    """The shapes of one combination of joints.

    Attributes:
        joints: shape (c,), rising, numbers of joints.
        poses: shape (K, c), the listed pose of each, numbers within the joint's own list.
        vertices: shape (m,), rising.
        scale: what the largest number of `rounded` stands for.
        rounded: shape (K, m, 3), int16.
    """

    joints: Int32s
    poses: Int32s
    vertices: Int32s
    scale: float
    rounded: NDArray[np.int16]

    @classmethod
    def of(cls, joints: Int32s, poses: Int32s, vertices: Integers, offsets: Floats) -> KeptBlock:
        """Round offsets, shape (K, m, 3), in armature space."""
        largest = float(np.abs(offsets).max(initial=0.0))
        rounded = np.round(offsets / (largest or 1.0) * _LARGEST).astype(np.int16)
        return cls(joints, poses, vertices.astype(np.int32), largest, rounded)

    @property
    def offsets(self) -> Float64s:
        """Shape (K, m, 3), in armature space."""
        return self.rounded.astype(np.float64) * (self.scale / _LARGEST)


@dataclass(frozen=True, eq=False)
class KeptShapes:
    """The solved shapes of one mesh.

    Attributes:
        base: the method on which they were made: they act with no other.
        softness: of that method then.
        vertex_count: of the mesh, n.
        rest: shape (N, 4, 4), float64, the rest matrices of the bones, by their numbers.
        joints: with listed poses, their bones by numbers.
        blocks: one for each combination of joints.
    """

    base: Method
    softness: float
    vertex_count: int
    rest: Float64s
    joints: tuple[SolvedJoint, ...]
    blocks: tuple[KeptBlock, ...]

    def packed(self) -> bytes:
        """The shapes as bytes: an archive of NumPy arrays, compressed."""
        joints, blocks = self.joints, self.blocks
        arrays: dict[str, Any] = {
            "format": np.int32(_FORMAT),
            "base": np.str_(self.base),
            "softness": np.float64(self.softness),
            "vertex_count": np.int32(self.vertex_count),
            "rest": self.rest,
            "bones": np.array([(j.before, j.behind) for j in joints], np.int32).reshape(-1, 2),
            "limbs": np.array([(j.limb, j.toward) for j in joints], np.float64).reshape(-1, 2, 3),
            "hinges": np.array([j.hinge for j in joints], np.bool_),
        }
        for row, joint in enumerate(joints):
            arrays[f"poses {row}"] = np.array(joint.poses, np.float64).reshape(-1, 2)
        for row, block in enumerate(blocks):
            arrays[f"joints of {row}"], arrays[f"poses of {row}"] = block.joints, block.poses
            arrays[f"vertices of {row}"] = np.diff(block.vertices, prepend=0)
            arrays[f"scale of {row}"] = np.float64(block.scale)
            arrays[f"offsets of {row}"] = block.rounded
        target = BytesIO()
        np.savez_compressed(target, **arrays)
        return target.getvalue()

    @classmethod
    def unpacked(cls, data: bytes) -> KeptShapes:
        """The shapes of such bytes.

        Raises:
            UserError: they cannot be read.
        """
        try:
            with np.load(BytesIO(data), allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
            if int(found["format"].item()) > _FORMAT:
                raise KeyError("format")
            joints = tuple(
                SolvedJoint(
                    int(before),
                    int(behind),
                    _direction(limb),
                    _direction(toward),
                    bool(hinge),
                    tuple((float(way), float(angle)) for way, angle in found[f"poses {row}"]),
                )
                for row, ((before, behind), (limb, toward), hinge) in enumerate(
                    zip(found["bones"], found["limbs"], found["hinges"], strict=True)
                )
            )
            count = sum(name.startswith("joints of ") for name in found)
            blocks = tuple(
                KeptBlock(
                    found[f"joints of {row}"].astype(np.int32),
                    found[f"poses of {row}"].astype(np.int32),
                    np.cumsum(found[f"vertices of {row}"]).astype(np.int32),
                    float(found[f"scale of {row}"].item()),
                    found[f"offsets of {row}"],
                )
                for row in range(count)
            )
            base = str(found["base"])
            kept = cls(
                base,  # type: ignore[arg-type]
                float(found["softness"].item()),
                int(found["vertex_count"].item()),
                found["rest"].astype(np.float64),
                joints,
                blocks,
            )
            kept._require_whole()
        except UNREADABLE as error:
            raise UserError(DAMAGED) from error
        return kept

    def _require_whole(self) -> None:
        """Raise ValueError unless all fits together and is finite."""
        if self.base not in METHODS:
            raise ValueError(f"base {self.base}")
        if self.rest.shape[1:] != (4, 4) or not np.isfinite(self.rest).all():
            raise ValueError("rest")
        for joint in self.joints:
            numbers = np.array((*joint.limb, *joint.toward, *np.ravel(joint.poses)))
            ends = (joint.before, joint.behind)
            if not np.isfinite(numbers).all() or min(ends) < 0 or max(ends) >= len(self.rest):
                raise ValueError("joints")
        for block in self.blocks:
            shape = (len(block.poses), len(block.vertices), 3)
            listed = [len(self.joints[joint].poses) for joint in block.joints.tolist()]
            poses = block.poses
            fits = block.rounded.dtype == np.int16 and block.rounded.shape == shape
            fits &= 1 <= len(listed) <= MOST_JOINTS and poses.shape[1:] == (len(listed),)
            fits &= bool((poses >= 0).all() and (poses < listed).all())
            fits &= bool((np.diff(block.joints) > 0).all() and np.isfinite(block.scale))
            if not fits or not (np.diff(block.vertices) > 0).all():
                raise ValueError("blocks")
            if len(block.vertices) and not 0 <= block.vertices[-1] < self.vertex_count:
                raise ValueError("vertices")

    def joints_in(self, names: Sequence[str], skeleton: Skeleton) -> list[SolvedJoint | None]:
        """The joints by the bones of a skeleton; None for those whose bones are not there.

        Args:
            names: of the bones, by their numbers.
        """
        bones = _places(names, skeleton)
        both = [(bones.get(joint.before), bones.get(joint.behind)) for joint in self.joints]
        return [
            None
            if before is None or behind is None
            else replace(joint, before=before, behind=behind)
            for joint, (before, behind) in zip(self.joints, both, strict=True)
        ]

    def at_rest_in(self, names: Sequence[str], skeleton: Skeleton) -> KeptShapes:
        """The same in the armature space of a skeleton as it is now.

        Args:
            names: of the bones, by their numbers.
        """
        bones = _places(names, skeleton)
        known = [number for number in bones if number < len(self.rest)]
        if not known:
            return self
        now = skeleton.rest[[bones[number] for number in known]]
        turn, size = _moved_together(self.rest[known], now)
        rest = self.rest.copy()
        rest[known] = now
        if np.array_equal(turn, np.eye(3)) and size == 1.0:
            return replace(self, rest=rest)
        joints = tuple(
            replace(
                joint,
                limb=_direction(turn @ joint.limb),
                toward=_direction(turn @ joint.toward),
            )
            for joint in self.joints
        )
        blocks = tuple(
            KeptBlock.of(each.joints, each.poses, each.vertices, each.offsets @ turn.T * size)
            for each in self.blocks
        )
        return replace(self, rest=rest, joints=joints, blocks=blocks)

    def of_vertices(self, numbers: Integers) -> KeptShapes:
        """The same for a mesh whose vertices are some of those that it had, in any order.

        Args:
            numbers: shape (n,), which vertex each was. Where it is not some of those, each once,
                the shapes stay as they are.
        """
        place = np.full(self.vertex_count, -1)
        if numbers.min(initial=0) < 0 or numbers.max(initial=0) >= self.vertex_count:
            return self
        place[numbers] = np.arange(len(numbers))
        if np.count_nonzero(place >= 0) < len(numbers):
            return self
        blocks = []
        for block in self.blocks:
            vertices = place[block.vertices]
            order = np.argsort(vertices, kind="stable")[np.count_nonzero(vertices < 0) :]
            rounded = np.ascontiguousarray(block.rounded[:, order])
            known = vertices[order].astype(np.int32)
            blocks.append(replace(block, vertices=known, rounded=rounded))
        return replace(self, vertex_count=len(numbers), blocks=tuple(blocks))

    def solved(self, joints: Sequence[SolvedJoint | None]) -> SolvedShapes:
        """The shapes of those joints that are there; `joints_in` gives them."""
        found = [joint for joint in joints if joint is not None]
        row = np.cumsum([joint is not None for joint in joints]) - 1
        first = np.cumsum([0 if each is None else len(each.poses) for each in joints])
        first -= [0 if each is None else len(each.poses) for each in joints]
        blocks = [
            ShapeBlock(
                row[block.joints].astype(np.int32),
                (block.poses + first[block.joints]).astype(np.int32),
                block.vertices.astype(np.intp),
                block.offsets.astype(np.float32),
            )
            for block in self.blocks
            if len(block.vertices)
            and None not in [joints[number] for number in block.joints.tolist()]
        ]
        return SolvedShapes(PoseHats.of(found), tuple(blocks), self.vertex_count)


def _places(names: Sequence[str], skeleton: Skeleton) -> dict[int, int]:
    """The bone of each number whose name is there."""
    place = {name: bone for bone, name in enumerate(skeleton.names)}
    return {number: place[name] for number, name in enumerate(names) if name in place}


# Of sizes and of unit vectors: bones that are nearer to each other have not moved.
_SAME = 1e-4


def _moved_together(before: Float64s, after: Float64s) -> tuple[Float64s, float]:
    """How all bones have been turned and scaled together: a rotation (3, 3), and a size.

    Nothing where heads are where they were, or bones have not all been turned alike.

    Args:
        before, after: shape (k, 4, 4), rest matrices.
    """
    heads, new_heads = before[:, :3, 3], after[:, :3, 3]
    turns = after[:, :3, :3] @ before[:, :3, :3].transpose(0, 2, 1)
    still = np.abs(new_heads - heads).max() <= _SAME * max(np.ptp(heads, axis=0).max(), 1e-30)
    if still or np.abs(turns - turns[0]).max() > _SAME:
        return np.eye(3), 1.0
    spread, new_spread = (np.linalg.norm(each - each.mean(axis=0)) for each in (heads, new_heads))
    return turns[0], float(new_spread / spread) if spread > 0.0 else 1.0


DAMAGED = (
    "The solved shapes of a mesh cannot be read: they are damaged, or a newer version of DQ "
    "Compensation has made them. Solve them again."
)


def keep_shapes(obj: bpy.types.Object, kept: KeptShapes | None, names: Sequence[str]) -> None:
    """Give an object these solved shapes in the place of others; None: none.

    Args:
        names: of their bones, by their numbers.
    """
    settings = settings_of(obj)
    former = settings.solved_shapes
    if kept is None:
        settings.solved_shapes, settings.solved_bones, settings.solved_digest = None, "", ""
    else:
        # Names that begin with a dot are not offered in Blender's lists.
        mesh = bpy.data.meshes.new(f".DQ Compensation shapes: {obj.name}")
        mesh[SHAPES_PROPERTY] = data = kept.packed()
        settings.solved_shapes, settings.solved_bones = mesh, text_of_names(names)
        settings.solved_digest = hashlib.blake2b(data, digest_size=10).hexdigest()
    _number_vertices(mesh_of(obj), kept)
    if former is not None and not former.users and former.library is None:
        bpy.data.meshes.remove(former)


def are_shapes(mesh: bpy.types.Mesh | None) -> bool:
    """Whether a data-block has solved shapes."""
    return mesh is not None and isinstance(mesh.get(SHAPES_PROPERTY), bytes)


def kept_shapes(obj: bpy.types.Object) -> KeptShapes | None:
    """The solved shapes of an object; None without any.

    Raises:
        UserError: they cannot be read.
    """
    settings = written_settings(obj)
    mesh = None if settings is None else settings.solved_shapes
    if mesh is None:
        return None
    if not are_shapes(mesh):
        raise UserError(DAMAGED)
    kept, numbers = KeptShapes.unpacked(mesh[SHAPES_PROPERTY]), _numbers(mesh_of(obj))
    return kept if numbers is None else kept.of_vertices(numbers)


def _number_vertices(mesh: bpy.types.Mesh, kept: KeptShapes | None) -> None:
    """Number the vertices of a mesh with solved shapes, or take the numbers away."""
    if mesh.library is not None or mesh.override_library is not None or mesh.is_editmode:
        return
    if kept is not None:
        write_attribute(mesh, NUMBERS, np.arange(len(mesh.vertices), dtype=np.int32))
    elif NUMBERS in mesh.attributes and mesh.users == 1:
        mesh.attributes.remove(mesh.attributes[NUMBERS])


def _numbers(mesh: bpy.types.Mesh) -> Int32s | None:
    """Which vertex each of a mesh was when solved shapes were kept; None where nobody knows."""
    if NUMBERS not in mesh.attributes or mesh.is_editmode:
        return None
    return read_attribute(mesh, NUMBERS, AttributeType.INTEGER, len(mesh.vertices))


def digest_of_shapes(obj: bpy.types.Object) -> str:
    """The text that is another one for other shapes; empty without any."""
    settings = written_settings(obj)
    has_any = settings is not None and settings.solved_shapes is not None
    return settings.solved_digest if has_any else ""


def names_of_shapes(obj: bpy.types.Object) -> tuple[str, ...]:
    """The names of the bones of an object's solved shapes, by their numbers."""
    settings = written_settings(obj)
    return () if settings is None else names_in(settings.solved_bones)


@dataclass(frozen=True, eq=False)
class ReadShapes:
    """The solved shapes of an object as they were read for a binding.

    Attributes:
        digest, vertex_count: of what was read, and for how many vertices, in this session.
        base: the method with which they act.
        shapes: in armature space; None where they cannot act on this mesh.
        problem: why they do not act, or not all of them, a sentence.
    """

    digest: str
    vertex_count: int
    base: Method
    shapes: SolvedShapes | None
    problem: str = ""


_OTHER_COUNT = (
    "The solved shapes of {obj} were made for {made} vertices, and it has {count}. Solve them "
    "again, or remove them."
)
_LOST_BONES = (
    "Solved shapes of {obj} belong to bones that are not there any more: {bones}. Undo the change "
    "of the bones, or solve the shapes again."
)


def read_shapes(
    obj: bpy.types.Object, count: int, skeleton: Skeleton, known: ReadShapes | None = None
) -> ReadShapes | None:
    """Read the solved shapes of an object with so many vertices; None without any.

    Args:
        known: what was read with the same skeleton: it comes back where it is true.
    """
    found = digest_of_shapes(obj)
    if not found:
        return None
    numbers = _numbers(mesh_of(obj))
    found += "" if numbers is None else str(hash(numbers.tobytes()))
    if known is not None and (known.digest, known.vertex_count) == (found, count):
        return known
    try:
        kept = kept_shapes(obj)
    except UserError as error:
        return ReadShapes(found, count, "COMPENSATED", None, problem=f"{obj.name}: {error}")
    assert kept is not None
    if kept.vertex_count != count:
        text = _OTHER_COUNT.format(obj=obj.name, made=kept.vertex_count, count=count)
        return ReadShapes(found, count, kept.base, None, problem=text)
    names = names_of_shapes(obj)
    kept = kept.at_rest_in(names, skeleton)
    joints = kept.joints_in(names, skeleton)
    lost = sorted(set(names).difference(skeleton.names))
    text = _LOST_BONES.format(obj=obj.name, bones=listed(lost)) if lost else ""
    return ReadShapes(found, count, kept.base, kept.solved(joints), text)
