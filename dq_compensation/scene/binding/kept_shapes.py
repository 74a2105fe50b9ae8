"""Solved shapes as a file keeps them: relative to the bones of their joints.

Each mesh object has its own part: bytes in a mesh that no object shows. The settings of the object
point to it, so that both are saved, appended and undone together, and a duplicate shares it. The
bytes never change: another set of shapes is a new mesh. Bones are numbers in a list of names, which
stands in the settings, too: renamed bones leave the bytes alone.

Directions and offsets are along the rest axes of the bone before the (first) joint, offsets in its
length: *Apply Rotation* and *Apply Scale* leave them true. Offsets have 16 bits: of the largest one
of a combination of joints, 0.2 m of a human, that is 0.003 mm.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import bpy
import numpy as np
from numpy.typing import NDArray

from ...arrays import Float64s, Floats, Indices, Int32s
from ...core.deform import METHODS, Method
from ...core.skeleton import Skeleton
from ...core.solved_shapes import (
    MOST_JOINTS,
    PoseHats,
    ShapeBlock,
    SolvedJoint,
    SolvedShapes,
)
from ...errors import UserError
from ...wording import listed
from ..settings.bone_texts import names_in, text_of_names
from ..settings.object_settings import settings_of
from ..stack import written_settings

# Of a mesh that no object has: the bytes of solved shapes.
SHAPES_PROPERTY = "dq_compensation_solved_shapes"

# The newest format of the bytes that this version reads.
_FORMAT = 1
_LARGEST = 32767

# What reading other bytes raises.
_BROKEN = (
    *(KeyError, ValueError, TypeError, AttributeError, NotImplementedError),
    *(EOFError, OSError, BadZipFile, zlib.error),
)


def relative_joint(joint: SolvedJoint, ends: tuple[int, int], skeleton: Skeleton) -> SolvedJoint:
    """A joint as it is kept: its bones by numbers, directions along the rest axes of the first.

    Args:
        ends: the numbers of the bone before it and of the one behind it.
    """
    axes = skeleton.rest[joint.before, :3, :3]
    ways = (np.array(joint.limb) @ axes, np.array(joint.toward) @ axes)
    return _with_bones(joint, ends, *ways)


def joint_in_armature(joint: SolvedJoint, bones: Indices, skeleton: Skeleton) -> SolvedJoint:
    """A joint that was kept, in armature space; `bones` are those of the numbers."""
    ends = int(bones[joint.before]), int(bones[joint.behind])
    axes = skeleton.rest[ends[0], :3, :3]
    return _with_bones(joint, ends, axes @ joint.limb, axes @ joint.toward)


def _with_bones(
    joint: SolvedJoint, ends: tuple[int, int], limb: Float64s, toward: Float64s
) -> SolvedJoint:
    before, behind = ends
    ways = _direction(limb), _direction(toward)
    return SolvedJoint(before, behind, *ways, joint.hinge, joint.poses)


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
        scale: what the largest number of `offsets` stands for.
        offsets: shape (K, m, 3), int16.
    """

    joints: Int32s
    poses: Int32s
    vertices: Int32s
    scale: float
    offsets: NDArray[np.int16]

    @classmethod
    def of(cls, joints: Int32s, poses: Int32s, vertices: Indices, offsets: Floats) -> KeptBlock:
        """Round offsets, shape (K, m, 3), in lengths of the bone."""
        largest = float(np.abs(offsets).max(initial=0.0))
        rounded = np.round(offsets / (largest or 1.0) * _LARGEST).astype(np.int16)
        return cls(joints, poses, vertices.astype(np.int32), largest, rounded)

    @property
    def in_lengths(self) -> Float64s:
        """The offsets, shape (K, m, 3), in lengths of the bone."""
        return self.offsets.astype(np.float64) * (self.scale / _LARGEST)


@dataclass(frozen=True, eq=False)
class KeptShapes:
    """The solved shapes of one mesh.

    Attributes:
        base: the method on which they were made: they act with no other.
        softness: of that method then.
        vertex_count: of the mesh, n.
        joints: as `relative_joint` gives them, with listed poses.
        blocks: one for each combination of joints.
    """

    base: Method
    softness: float
    vertex_count: int
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
            arrays[f"offsets of {row}"] = block.offsets
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
                joints,
                blocks,
            )
            kept._require_whole()
        except _BROKEN as error:
            raise UserError(DAMAGED) from error
        return kept

    def _require_whole(self) -> None:
        """Raise ValueError unless all fits together and is finite."""
        if self.base not in METHODS:
            raise ValueError(f"base {self.base}")
        for joint in self.joints:
            numbers = np.array((*joint.limb, *joint.toward, *np.ravel(joint.poses)))
            if not np.isfinite(numbers).all() or min(joint.before, joint.behind) < 0:
                raise ValueError("joints")
        for block in self.blocks:
            shape = (len(block.poses), len(block.vertices), 3)
            listed = [len(self.joints[joint].poses) for joint in block.joints.tolist()]
            poses = block.poses
            fits = block.offsets.dtype == np.int16 and block.offsets.shape == shape
            fits &= 1 <= len(listed) <= MOST_JOINTS and poses.shape[1:] == (len(listed),)
            fits &= bool((poses >= 0).all() and (poses < listed).all())
            fits &= bool((np.diff(block.joints) > 0).all() and np.isfinite(block.scale))
            if not fits or not (np.diff(block.vertices) > 0).all():
                raise ValueError("blocks")
            if len(block.vertices) and not 0 <= block.vertices[-1] < self.vertex_count:
                raise ValueError("vertices")

    def joints_in(self, names: Sequence[str], skeleton: Skeleton) -> list[SolvedJoint | None]:
        """The joints in armature space; None for those whose bones are not there.

        Args:
            names: of the bones, by their numbers.
        """
        place = {name: index for index, name in enumerate(skeleton.names)}
        bones = np.array([place.get(name, -1) for name in names], np.intp)
        ends = [np.array((joint.before, joint.behind)) for joint in self.joints]
        there = [each.max() < len(bones) and bool((bones[each] >= 0).all()) for each in ends]
        return [
            joint_in_armature(joint, bones, skeleton) if is_there else None
            for joint, is_there in zip(self.joints, there, strict=True)
        ]

    def solved(self, joints: Sequence[SolvedJoint | None], skeleton: Skeleton) -> SolvedShapes:
        """The shapes of those joints that are there; `joints_in` gives them."""
        found = [joint for joint in joints if joint is not None]
        row = np.cumsum([joint is not None for joint in joints]) - 1
        first = np.cumsum([0 if each is None else len(each.poses) for each in joints])
        first -= [0 if each is None else len(each.poses) for each in joints]
        blocks = []
        for block in self.blocks:
            of_block = [joints[number] for number in block.joints.tolist()]
            if (before := of_block[0]) is not None and None not in of_block:
                blocks.append(
                    ShapeBlock(
                        row[block.joints].astype(np.int32),
                        (block.poses + first[block.joints]).astype(np.int32),
                        block.vertices.astype(np.intp),
                        (block.in_lengths @ frame_of(before.before, skeleton).T).astype(np.float32),
                    )
                )
        return SolvedShapes(PoseHats.of(found), tuple(blocks), self.vertex_count)


def frame_of(bone: int, skeleton: Skeleton) -> Float64s:
    """The rest axes of a bone times its length, shape (3, 3): to armature space."""
    length = float(np.linalg.norm(skeleton.tails[bone] - skeleton.heads[bone]))
    return skeleton.rest[bone, :3, :3] * (length or 1.0)


# Keeps them in the file.


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
    return KeptShapes.unpacked(mesh[SHAPES_PROPERTY])


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
        digest, vertex_count: of what was read, and for how many vertices.
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
    joints = kept.joints_in(names, skeleton)
    lost = sorted(set(names).difference(skeleton.names))
    text = _LOST_BONES.format(obj=obj.name, bones=listed(lost)) if lost else ""
    return ReadShapes(found, count, kept.base, kept.solved(joints, skeleton), text)
