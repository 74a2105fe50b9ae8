"""Objects that share their static data, posed and skinned together.

Copies of a character whose settings are equal are one *batch*: one dispatch skins them all. The
poses of all batches are one upload; those of takes are the two passes of playback.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

import bpy
import numpy as np
from gpu.types import GPUTexture
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.pose import Pose
from ..errors import PoseError
from ..scene.armature import matrices_of_poses
from ..scene.binding import Binding
from ..scene.twins import twin_digest
from ..session.status import status_of
from .characters import gpu_mesh_of
from .gpu_mesh import GpuMesh
from .instance_poses import GivenPoses, InstancePoses, Playback
from .instanced_mesh import InstancedMesh, most_instances, wanted_layout
from .instanced_surface import placements_texture
from .kernels import PosePaletteLayout
from .members import Key, Member, Places, member_of
from .played_takes import Instances, Playing
from .playing import plays, scene_time
from .take_tables import InstanceGroup

# How many arrangements are kept: viewports may show different objects.
_KEPT = 3

Problem = Callable[[Member, PoseError | None], None]
"""Called with each member and whether its pose is shown."""


class Batch:
    """The members of one key on the GPU.

    Attributes:
        members: of the current drawing.
        instances: their surfaces, in this order.
    """

    def __init__(self, members: Sequence[Member], meshes: Meshes) -> None:
        first = members[0]
        self.members = list(members)
        # What acts on each member differs: a factor of 0 for one does not make it another method.
        settings = replace(first.settings, factor=1.0)
        self.deformation = first.binding.deformation(settings, first.to_armature)
        self.instances = InstancedMesh(
            meshes.of(first, self.deformation.skinning), first.binding.skeleton, len(members)
        )
        self._inputs: tuple[bytes, ...] = ()
        self._placed = b""
        self._placements: GPUTexture | None = None

    @property
    def layout(self) -> PosePaletteLayout:
        """The layout of the pose palette that it reads."""
        return wanted_layout(self.deformation)

    def follow(self, group: InstanceGroup) -> None:
        """Say where the shape keys' values come from."""
        first, keys = self.members[0], self.instances.keys
        shape_keys = first.binding.shape_keys
        if keys is None or shape_keys is None or first.obj.show_only_shape_key:
            return
        found = {
            row: group.value_row(first.value_mesh, shape_keys.key_names[row])
            for row in first.followed_keys
        }
        tracks = {row: track for row, track in found.items() if track is not None}
        examples = first.binding.acting_examples(first.settings)
        if examples is None:
            keys.follow(tracks)
        else:
            keys.follow(tracks, examples.poses, examples.rows, examples.factors)

    def update(self, poses: InstancePoses, group: InstanceGroup, *, posed: bool) -> None:
        """Skin the members again if anything has changed.

        Args:
            posed: whether a pose has changed.
        """
        spaces = np.stack([member.to_armature for member in self.members])
        factors = np.array([member.settings.factor for member in self.members])
        if self.instances.keys is not None:
            values = [each.key_values for each in self.members if each.key_values is not None]
            posed |= self.instances.keys.give(np.stack(values))
        inputs = (spaces.tobytes(), factors.tobytes())
        if posed or inputs != self._inputs:
            self.instances.deform(self.deformation, poses, group, spaces, factors)
            self._inputs = inputs

    def placements(self) -> GPUTexture:
        """The places of the members in the world."""
        matrices = np.array([member.obj.matrix_world for member in self.members], np.float32)
        placed = matrices.tobytes()
        if self._placements is None or placed != self._placed:
            self._placements, self._placed = placements_texture(matrices), placed
        return self._placements


class Meshes:
    """The static data of meshes, which copies share; freed when no batch uses it."""

    def __init__(self) -> None:
        self._meshes: WeakValueDictionary[tuple[object, ...], GpuMesh] = WeakValueDictionary()

    def of(self, member: Member, skinning: Influences) -> GpuMesh:
        """The mesh of a member.

        Args:
            skinning: its influences, of bones or of segments of bendy bones.
        """
        binding = member.binding
        of_bones = skinning is binding.influences
        key = (member.key[0], of_bones, b"" if of_bones else member.to_armature.tobytes())
        found = self._meshes.get(key)
        if found is None:
            found = self._meshes[key] = gpu_mesh_of(binding, skinning)
        return found


class Arrangement:
    """The batches of one set of members, which either all play takes or all follow armatures.

    Batches of the same armatures, as those of a character of many meshes, share their poses.
    """

    def __init__(self, keyed: Iterable[Sequence[Member]], meshes: Meshes, fps: float) -> None:
        self.batches = [Batch(members, meshes) for members in keyed]
        self.object_uids = {
            member.binding.object_uid for batch in self.batches for member in batch.members
        }
        layout = PosePaletteLayout()
        places: dict[tuple[object, ...], int] = {}
        # Of each batch, its group; of each group, one of its batches.
        self._group_of: list[int] = []
        self._batch_of: list[Batch] = []
        for batch in self.batches:
            rigs = tuple(member.motion for member in batch.members)
            if rigs not in places:
                places[rigs] = len(places)
                self._batch_of.append(batch)
            self._group_of.append(places[rigs])
            layout |= batch.layout
        self._told = False
        # As read last, and with the last good poses in the place of broken ones.
        self._read: NDArray[np.floating] | None = None
        self._matrices: NDArray[np.floating] | None = None
        self._playings = self._current_playings()
        self.poses: Playback | GivenPoses
        if self.batches[0].members[0].playing is not None:
            self.poses = Playback(list(map(Instances.of, self._playings)), layout, fps)
        else:
            rigs_of = [(of.members[0].binding.skeleton, len(of.members)) for of in self._batch_of]
            self.poses = GivenPoses(rigs_of, layout)
        for batch, group in zip(self.batches, self._group_of, strict=True):
            batch.follow(self.poses.groups[group])

    def update(self, keyed: Iterable[Sequence[Member]], frame: float, problem: Problem) -> None:
        """Pose and skin everything for one drawing.

        Args:
            keyed: the same objects as before.
            frame: of the scene, with its fraction.
        """
        for batch, members in zip(self.batches, keyed, strict=True):
            batch.members = list(members)
        if isinstance(self.poses, Playback):
            playings = self._current_playings()
            if playings != self._playings:
                self.poses.change(list(map(Instances.of, playings)))
                self._playings = playings
            posed = self.poses.play(frame)
            if not self._told:
                self._tell(problem, {})
        else:
            posed = self._upload_poses(self.poses, problem)
        for batch, group in zip(self.batches, self._group_of, strict=True):
            batch.update(self.poses, self.poses.groups[group], posed=posed)

    def _current_playings(self) -> list[list[Playing]]:
        """What the members of each group play; empty where they follow armatures."""
        return [
            [each.playing for each in batch.members if each.playing is not None]
            for batch in self._batch_of
        ]

    def _upload_poses(self, poses: GivenPoses, problem: Problem) -> bool:
        """Upload the poses of the armatures; returns whether one has changed."""
        read = [_read_poses(batch.members) for batch in self._batch_of]
        matrices = np.concatenate([each.reshape(-1, 4, 4) for each in read])
        members = [member for batch in self._batch_of for member in batch.members]
        if self._read is not None and np.array_equal(matrices, self._read):
            return False
        self._read, matrices, errors = matrices, matrices.copy(), {}
        if not np.isfinite(matrices).all():
            errors = self._hold_broken(matrices, members)
        self._tell(problem, errors)
        poses.upload(matrices)
        self._matrices = matrices
        return True

    def _tell(self, problem: Problem, errors: dict[int, PoseError]) -> None:
        """Report the errors of poses, by armature."""
        for member in (member for batch in self.batches for member in batch.members):
            problem(member, errors.get(member.binding.armature_uid))
        self._told = True

    def _hold_broken(
        self, matrices: NDArray[np.floating], members: Sequence[Member]
    ) -> dict[int, PoseError]:
        """Replace poses that are no numbers by the last good ones; the errors by armature."""
        errors, start = {}, 0
        for member in members:
            skeleton = member.binding.skeleton
            rows = slice(start, start := start + skeleton.row_count)
            try:
                Pose.from_matrices(matrices[rows], skeleton)
            except PoseError as error:
                errors[member.binding.armature_uid] = error
                matrices[rows] = np.eye(4) if self._matrices is None else self._matrices[rows]
        return errors


def _read_poses(members: Sequence[Member]) -> NDArray[np.floating]:
    """Shape (I, R, 4, 4), the poses of the armatures of members of one batch."""
    binding = members[0].binding
    if binding.skeleton.bendy is None:
        return matrices_of_poses([each.armature for each in members], binding.pose_order)
    return np.stack([each.binding.pose_matrices(each.armature) for each in members])


def _twins(bindings: Sequence[Binding]) -> set[Binding]:
    """Those that have an equal one among them."""
    # Digests take a look at every vertex: only where sizes say that there can be another one.
    sizes = Counter((each.vertex_count, each.skeleton.bone_count) for each in bindings)
    alike = [b for b in bindings if sizes[b.vertex_count, b.skeleton.bone_count] > 1]
    counts = Counter(map(twin_digest, alike))
    return {binding for binding in alike if counts[twin_digest(binding)] > 1}


class Batches:
    """The arrangements of what viewports show."""

    def __init__(self) -> None:
        self._meshes = Meshes()
        self._places = Places()
        self._arrangements: dict[tuple[object, ...], Arrangement] = {}

    def members(
        self, objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph
    ) -> tuple[list[list[Member]], list[bpy.types.Object]]:
        """Sort enabled objects.

        Returns:
            those that play takes and those that have copies, and the objects that are skinned
            alone.
        """
        bound = [(obj, status_of(obj).binding) for obj in objects]
        twins = _twins([binding for _, binding in bound if binding is not None])
        playing: list[Member] = []
        following: list[Member] = []
        alone = []
        for obj, binding in bound:
            if binding is None or not (binding in twins or plays(obj)):
                alone.append(obj)
                continue
            try:
                member = member_of(obj, binding, depsgraph, self._places)
            except Exception:  # noqa: BLE001 - drawn alone, it fails again and is reported
                alone.append(obj)
            else:
                (following if member.playing is None else playing).append(member)
        self._places.keep_only({obj.session_uid for obj, _ in bound})
        keys = Counter(member.key for member in following)
        alone += [member.original for member in following if keys[member.key] == 1]
        following = [member for member in following if keys[member.key] > 1]
        return [some for some in (playing, following) if some], alone

    def update(
        self, members: Iterable[Member], depsgraph: bpy.types.Depsgraph, problem: Problem
    ) -> list[Batch]:
        """Pose and skin members.

        Args:
            members: which either all play takes or all follow their armatures.

        Returns:
            their batches.
        """
        frame, fps = scene_time(depsgraph)
        by_key: dict[Key, list[Member]] = {}
        for member in members:
            by_key.setdefault(member.key, []).append(member)
        keyed = [part for found in by_key.values() for part in self._parts(found)]
        if not keyed:
            return []
        signature = (
            fps,
            *((part[0].key, *(member.signature for member in part)) for part in keyed),
        )
        arrangement = self._arrangements.pop(signature, None)
        if arrangement is None:
            arrangement = Arrangement(keyed, self._meshes, fps)
        # The oldest is first.
        self._arrangements[signature] = arrangement
        while len(self._arrangements) > _KEPT:
            del self._arrangements[next(iter(self._arrangements))]
        arrangement.update(keyed, frame, problem)
        return arrangement.batches

    def keep_only(self, object_uids: set[int]) -> None:
        """Free what belongs to other objects, too."""
        self._arrangements = {
            signature: arrangement
            for signature, arrangement in self._arrangements.items()
            if arrangement.object_uids <= object_uids
        }

    def clear(self) -> None:
        """Free everything."""
        self._arrangements.clear()

    def _parts(self, members: list[Member]) -> Iterable[Sequence[Member]]:
        """The members of one key, in as many parts as textures need."""
        binding = members[0].binding
        of_mesh = (binding.vertex_count, binding.topology.group_count)
        most = most_instances(*of_mesh, binding.skeleton.bone_count)
        return [members[start : start + most] for start in range(0, len(members), most)]
