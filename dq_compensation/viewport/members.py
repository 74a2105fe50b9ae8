"""Reads mesh objects for a drawing, and poses them by their takes or by their armatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
from bpy.types import Depsgraph, Object
from mathutils import Matrix

from ..arrays import Float32s, Float64s, Floats
from ..core.pose import Pose
from ..core.vectors import extent
from ..errors import PoseError
from ..pipeline.takes.played_takes import (
    Instances,
    Playing,
    playing_of,
    take_driven_keys,
    value_mesh,
)
from ..pipeline.takes.takes import Take
from ..scene.binding.binding import Binding
from ..scene.binding.shape_key_offsets import Examples
from ..scene.blender.armature import matrices_of_poses, object_to_armature, world_matrix
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import Settings
from .instance_poses import GivenPoses, Playback
from .kernels import PosePaletteLayout

# A^-1 O of copies may differ by this share of the mesh's size; see `armature.same_place`.
_SAME_PLACE = 5e-5

Key = tuple[object, ...]

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
        playing: the takes that it plays; None: it has the pose of its armature.
        is_pinned: whether one shape key acts alone.
        key_values: shape (K,), of the shape keys; 0 of those that have their values from a take or
            an example pose. None without shape keys.
        take_driven_keys: the shape keys that may have their values from a take.
        value_mesh: the mesh of the take whose values these are.
        examples: the example poses that act.
    """

    obj: Object
    armature: Object
    binding: Binding
    settings: Settings
    to_armature: Float64s
    place: bytes
    playing: Playing | None
    is_pinned: bool = False
    key_values: Float32s | None = None
    take_driven_keys: tuple[int, ...] = ()
    value_mesh: str = ""
    examples: Examples | None = None

    @property
    def original(self) -> Object:
        """The object in the file."""
        return cast("Object", self.obj.original)

    @property
    def key_sources(self) -> Key:
        """Equal for members whose shape keys have their values from the same keys of takes."""
        return self.is_pinned, self.take_driven_keys, self.value_mesh

    @property
    def traits(self) -> Key:
        """Equal for copies that one dispatch can skin, where `acting_place` is equal, too."""
        sources = (self.playing is not None, self.is_pinned, self.take_driven_keys, self.value_mesh)
        return self.settings.all_but_followed + sources

    @property
    def acting_place(self) -> bytes:
        """`place`, where that matters."""
        # Neither methods that do not compensate nor straight bones look at the places of vertices.
        placed = self.settings.compensates or self.binding.skeleton.bendy is not None
        return self.place if placed else b""

    @property
    def motion(self) -> Key:
        """Equal for members whose poses are the same: the armature, and its takes if it plays."""
        takes = () if self.playing is None else self.playing.takes
        return self.binding.armature_uid, takes

    @property
    def shares(self) -> tuple[float, float]:
        """How much of the compensation acts, and how much twists are spread."""
        return self.settings.factor, self.settings.twist_spread


def member_of(
    obj: Object,
    binding: Binding,
    depsgraph: Depsgraph,
    settings: Settings | None = None,
    takes: tuple[Take, ...] | None = None,
) -> Member:
    """Read a mesh object in the state of a depsgraph.

    Args:
        obj: the original object, which is bound.
        settings: how to deform it; by default its own.
        takes: that its figures play; by default those that its armature plays.

    Raises:
        BindingError: the object does not fit its binding any more, or it or its armature is scaled
            to nothing.
    """
    evaluated, rig = obj.evaluated_get(depsgraph), rig_of(obj)
    armature = rig.evaluated_get(depsgraph)
    settings = settings or Settings.of(evaluated)
    playing = playing_of(rig, binding) if takes is None else None
    if takes is None:
        binding = binding.with_written_keys(evaluated)
    to_armature, place = _relative_place(evaluated, armature, binding)
    member = Member(evaluated, armature, binding, settings, to_armature, place, playing)
    if binding.shape_keys is not None:
        _read_keys(member, playing.takes if playing is not None else takes or ())
    return member


def _read_keys(member: Member, takes: tuple[Take, ...]) -> None:
    """Read the shape keys of a member that plays takes."""
    keys, obj = member.binding.shape_keys, member.obj
    assert keys is not None
    values, member.is_pinned = keys.values(obj), obj.show_only_shape_key
    if takes:
        named = member.value_mesh = value_mesh(takes, mesh_of(obj).name)
        followed = member.take_driven_keys = take_driven_keys(keys, obj)
        tracks = {key for take in takes for mesh, key in take.values.names if mesh == named}
        values[[row for row in followed if keys.key_names[row] in tracks]] = 0.0
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
    """The poses of members with some armatures and takes, for all batches of these.

    Attributes:
        on_gpu: None before the first drawing.
        number: rises whenever a pose has changed.
        problems: why poses are held, by the session_uid of the armature.
    """

    def __init__(self) -> None:
        self.on_gpu: Playback | GivenPoses | None = None
        self.number = 0
        self.problems: dict[int, PoseError] = {}
        self._layout = PosePaletteLayout()
        self._playings: list[Playing] = []
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
        playings = [each.playing for each in members if each.playing is not None]
        if playings:
            self._play(playings, layout, frame, fps)
        else:
            self._upload(members, layout)
        self._layout = layout

    def _play(
        self, playings: list[Playing], layout: PosePaletteLayout, frame: float, fps: float
    ) -> None:
        """Pose the members by takes."""
        playback = self.on_gpu
        assert playback is None or isinstance(playback, Playback)
        if playback is None:
            playback = self.on_gpu = Playback([Instances.of(playings)], layout, fps)
        elif playings != self._playings:
            playback.change([Instances.of(playings)])
        self._playings = playings
        self.number += playback.play(frame)

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
