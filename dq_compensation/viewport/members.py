"""Reads mesh objects for a drawing, and poses them by their motions or by their armatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np
from bpy.types import Depsgraph, Object
from mathutils import Matrix

from ..arrays import Float32s, Float64s, Floats
from ..core.pose import Pose
from ..core.vectors import extent
from ..errors import PoseError
from ..scene.binding.binding import Binding
from ..scene.binding.kept_examples import Examples
from ..scene.binding.shape_key_offsets import ShapeKeys
from ..scene.blender.armature import matrices_of_poses
from ..scene.blender.mesh import mesh_of
from ..scene.blender.placement import object_to_armature, world_matrix
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import Settings
from .instance_poses import GivenPoses, PlayedPoses
from .kernels import PosePaletteLayout

# A^-1 O of copies may differ by this share of the mesh's size; see `placement.same_place`.
_SAME_PLACE = 5e-5

Key = tuple[object, ...]


class KeySource(Protocol):
    """What gives shape keys of meshes other values than those in the file."""

    def value_mesh(self, mesh_name: str) -> str:
        """The name that a mesh has there; another one for a copy."""
        ...

    def value_names(self, mesh_name: str) -> frozenset[str]:
        """The shape keys of a mesh that have their values from there."""
        ...


class Motion(KeySource, Protocol):
    """What poses an armature in the place of Blender's evaluation, and shape keys with it."""

    @property
    def parts(self) -> Key:
        """Equal for motions whose instances can be posed together."""
        ...

    def begin(self, motions: Sequence[Any], layout: PosePaletteLayout, fps: float) -> PlayedPoses:
        """The poses of instances with these motions, whose parts are equal."""
        ...


MOTION_SOURCES: list[Callable[[Object, Binding], Motion | None]] = []
"""Give the motion of an armature object for the bones of a binding; None where its pose counts."""

_Place = tuple[Matrix, Matrix, Float64s, bytes]
# By the binding of an object: the world matrices of the object and of its armature, A^-1 O, and
# that as rounded bytes. It is computed anew only when one of the two has moved.
_places: WeakKeyDictionary[Binding, _Place] = WeakKeyDictionary()


@dataclass(eq=False)
class Member:
    """One mesh object in one drawing.

    Attributes:
        obj, armature: evaluated. They do not outlive the drawing.
        to_armature: shape (4, 4), A^-1 O; the same array as long as neither of the two moves.
        place: equal for objects at nearly the same place relative to their armatures.
        motion: None: it has the pose of its armature.
        is_pinned: whether one shape key acts alone.
        key_values: shape (K,), of the shape keys; 0 of those that have their values from a motion
            or an example pose. None without shape keys.
        motion_keys: the shape keys that may have their values from the motion.
        value_mesh: the name of the mesh there.
        examples: the example poses that act.
    """

    obj: Object
    armature: Object
    binding: Binding
    settings: Settings
    to_armature: Float64s
    place: bytes
    motion: Motion | None = None
    is_pinned: bool = False
    key_values: Float32s | None = None
    motion_keys: tuple[int, ...] = ()
    value_mesh: str = ""
    examples: Examples | None = None

    @property
    def original(self) -> Object:
        """The object in the file."""
        return cast("Object", self.obj.original)

    @property
    def key_sources(self) -> Key:
        """Equal for members whose shape keys have their values from the same keys of motions."""
        return self.is_pinned, self.motion_keys, self.value_mesh

    @property
    def traits(self) -> Key:
        """Equal for copies that one dispatch can skin, where `acting_place` is equal, too."""
        return (*self.settings.all_but_followed, self.motion is not None, *self.key_sources)

    @property
    def acting_place(self) -> bytes:
        """`place`, where that matters."""
        # Neither methods that do not compensate nor straight bones look at the places of vertices.
        placed = self.settings.compensates or self.binding.skeleton.bendy is not None
        return self.place if placed else b""

    @property
    def pose_source(self) -> Key:
        """Equal for members whose poses are the same: the armature, and the parts of its motion."""
        return self.binding.armature_uid, () if self.motion is None else self.motion.parts

    @property
    def shares(self) -> tuple[float, float]:
        """How much of the compensation acts, and how much twists are spread."""
        return self.settings.factor, self.settings.twist_spread


def member_of(
    obj: Object,
    binding: Binding,
    depsgraph: Depsgraph,
    settings: Settings | None = None,
) -> Member:
    """Read a mesh object in the state of a depsgraph, with the motion of its armature.

    Args:
        obj: the original object, which is bound.
        settings: how to deform it; by default its own.

    Raises:
        BindingError: the object does not fit its binding any more, or it or its armature is scaled
            to nothing.
    """
    evaluated, rig = obj.evaluated_get(depsgraph), rig_of(obj)
    motion = next(filter(None, (source(rig, binding) for source in MOTION_SOURCES)), None)
    binding = binding.with_written_keys(evaluated)
    member = _member(evaluated, rig.evaluated_get(depsgraph), binding, motion, settings)
    member.motion = motion
    return member


def posed_member(
    obj: Object, binding: Binding, depsgraph: Depsgraph, source: KeySource | None = None
) -> Member:
    """The same for a mesh object that the caller poses, who may give values of shape keys."""
    armature = rig_of(obj).evaluated_get(depsgraph)
    return _member(obj.evaluated_get(depsgraph), armature, binding, source, None)


def _member(
    obj: Object,
    armature: Object,
    binding: Binding,
    source: KeySource | None,
    settings: Settings | None,
) -> Member:
    """A member without a motion, by its evaluated objects."""
    place = _relative_place(obj, armature, binding)
    member = Member(obj, armature, binding, settings or Settings.of(obj), *place)
    if binding.shape_keys is not None:
        _read_keys(member, source)
    return member


def motion_keys(keys: ShapeKeys, obj: Object) -> tuple[int, ...]:
    """The shape keys of a mesh object that a motion may move: not the Basis, no muted one.

    None of them while one is pinned.
    """
    key = mesh_of(obj).shape_keys
    if key is None or obj.show_only_shape_key:
        return ()
    return tuple(
        row
        for row, block in zip(range(len(keys.key_names)), key.key_blocks, strict=False)
        if row != keys.basis_key and not block.mute
    )


def _read_keys(member: Member, source: KeySource | None) -> None:
    """Read the shape keys of a member; those that the source moves are 0."""
    keys, obj = member.binding.shape_keys, member.obj
    assert keys is not None
    values, member.is_pinned = keys.values(obj), obj.show_only_shape_key
    if source is not None:
        member.value_mesh = source.value_mesh(mesh_of(obj).name)
        member.motion_keys = motion_keys(keys, obj)
        names = source.value_names(member.value_mesh)
        values[[row for row in member.motion_keys if keys.key_names[row] in names]] = 0.0
    if not member.is_pinned:
        member.examples = member.binding.acting_examples(member.settings)
    if member.examples is not None:
        # They are muted, so that they have their values from nothing else.
        values[member.examples.rows] = 0.0
    member.key_values = values


def _relative_place(obj: Object, armature: Object, binding: Binding) -> tuple[Float64s, bytes]:
    """`Member.to_armature` and `Member.place` of an evaluated object."""
    placed = _places.get(binding)
    world, above = world_matrix(obj), world_matrix(armature)
    if placed is None or placed[0] != world or placed[1] != above:
        matrix = object_to_armature(obj, armature)
        steps = np.full((3, 4), _SAME_PLACE)
        steps[:, 3] *= max(extent(binding.rest), 1e-6)
        # Adding 0 makes 0 of -0.
        rounded = np.rint(matrix[:3] / steps) + 0.0
        placed = _places[binding] = (world.copy(), above.copy(), matrix, rounded.tobytes())
    return placed[2], placed[3]


class SharedPoses:
    """The poses of members with some armatures and motions, for all batches of these.

    Attributes:
        on_gpu: None before the first drawing.
        number: rises whenever a pose has changed.
        problems: why poses are held, by the session_uid of the armature.
    """

    def __init__(self) -> None:
        self.on_gpu: PlayedPoses | GivenPoses | None = None
        self.number = 0
        self.problems: dict[int, PoseError] = {}
        self._layout = PosePaletteLayout()
        self._motions: list[Motion] = []
        # As read last, and with the last good poses in the place of broken ones.
        self._read: Floats | None = None
        self._matrices: Floats | None = None

    def pose(
        self, members: Sequence[Member], layout: PosePaletteLayout, frame: float, fps: float
    ) -> None:
        """Pose the members for one drawing.

        Args:
            members: of one of the batches, in the same order as before.
            layout: what all batches of the drawing read of a pose.

        Raises:
            BindingError: an armature has other bones than the bindings.
        """
        if layout != self._layout:
            layout |= self._layout
            if layout != self._layout:
                self.on_gpu = None
        motions = [each.motion for each in members if each.motion is not None]
        if motions:
            self._play(motions, layout, frame, fps)
        else:
            self._upload(members, layout)
        self._layout = layout

    def _play(
        self, motions: list[Motion], layout: PosePaletteLayout, frame: float, fps: float
    ) -> None:
        """Pose the members by their motions."""
        poses = self.on_gpu
        assert poses is None or isinstance(poses, PlayedPoses)
        if poses is None:
            poses = self.on_gpu = motions[0].begin(motions, layout, fps)
        elif motions != self._motions:
            poses.change_to(motions)
        self._motions = motions
        self.number += poses.play(frame)

    def _upload(self, members: Sequence[Member], layout: PosePaletteLayout) -> None:
        """Upload the poses of the armatures, if one has changed."""
        matrices, poses = _read_poses(members), self.on_gpu
        assert poses is None or isinstance(poses, GivenPoses)
        if poses is None:
            poses = GivenPoses(members[0].binding.skeleton, len(members), layout)
        elif self._read is not None and np.array_equal(matrices, self._read):
            return
        self._read, matrices = matrices, matrices.copy()
        if not np.isfinite(matrices).all():
            self.problems = self._hold(matrices, members)
        elif self.problems:
            self.problems = {}
        poses.upload(matrices.reshape(-1, 4, 4))
        self.on_gpu, self._matrices = poses, matrices
        self.number += 1

    def _hold(self, matrices: Floats, members: Sequence[Member]) -> dict[int, PoseError]:
        """Replace poses that are no numbers by the last good ones; the errors by armature."""
        errors = {}
        for number, member in enumerate(members):
            try:
                Pose.from_matrices(matrices[number], member.binding.skeleton)
            except PoseError as error:
                errors[member.binding.armature_uid] = error
                matrices[number] = np.eye(4) if self._matrices is None else self._matrices[number]
        return errors


def _read_poses(members: Sequence[Member]) -> Floats:
    """Shape (I, R, 4, 4), the poses of the armatures of a batch; errors as `SharedPoses.pose`."""
    binding, armatures = members[0].binding, [each.armature for each in members]
    if binding.skeleton.bendy is None:
        return matrices_of_poses(armatures, binding.pose_order)
    return np.stack([binding.pose_matrices(each) for each in armatures])
