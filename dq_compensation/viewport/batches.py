"""Poses and skins the enabled objects of viewports, copies of a character together.

Copies of a character whose settings are equal are one *batch*: one dispatch skins them all. Any
other object is a batch of one. Batches of the same armatures, as those of a character of many
meshes, share their poses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from bpy.types import Depsgraph, Object
from gpu.types import GPUTexture

from ..errors import BindingError, PoseError
from ..scene.binding.binding import Binding, equality_digest
from ..scene.blender.scenes import scene_time
from ..scene.settings.object_settings import Settings
from ..session.status import check_soon, fail, fail_overlay, status_of
from .deformed_mesh import DeformedMesh, GpuMesh, gpu_mesh_of, most_instances
from .instance_poses import InstanceGroup
from .kernels import PosePaletteLayout, wanted_layout
from .look import placements_texture
from .members import Key, Member, SharedPoses, member_of


class SkinnedMesh:
    """A bound mesh on the GPU with the surfaces of its instances.

    Args:
        member: the object, or the first one of equal objects.
        equal: says that bindings are equal: their meshes share the static data. By default only
            the same binding is.

    Attributes:
        member: as it was read last.
        deformation: by the settings of the member. Compensation and spread act fully in it: what
            acts on each instance may differ, and a factor of 0 does not make it another method.
        parts: the surfaces, as many as textures need; the first instances are in the first one.
        most: the number of instances in each part but the last.
    """

    def __init__(self, member: Member, equal: object = None) -> None:
        binding = member.binding
        self.member = member
        self.parts: list[DeformedMesh] = []
        self.most = most_instances(
            binding.vertex_count, binding.topology.group_count, binding.skeleton.bone_count
        )
        self._equal = equal
        self._mesh: GpuMesh | None = None
        self._key_sources: Key = ()
        self._deform()

    @property
    def layout(self) -> PosePaletteLayout:
        """The parts of a pose that skinning reads."""
        return wanted_layout(self.deformation)

    def read(self, member: Member) -> bool:
        """Take the member as it is now; returns whether it is deformed in another way."""
        former, self.member = self.member, member
        if (
            member.to_armature is former.to_armature
            and member.settings.all_but_followed == former.settings.all_but_followed
        ):
            return False
        self._deform()
        return True

    def resize(self, count: int) -> bool:
        """Make room for a number of instances; returns whether all have to be skinned again."""
        sizes = [min(self.most, count - first) for first in range(0, count, self.most)]
        # Those with room for so many instances, and not for more than twice as many.
        pairs = zip(self.parts, sizes, strict=False)
        fitting = takewhile(lambda pair: pair[1] <= pair[0].count <= 2 * pair[1], pairs)
        self.parts = [part for part, _ in fitting]
        missing = sizes[len(self.parts) :]
        assert self._mesh is not None
        for size in missing:
            self.parts.append(DeformedMesh(self._mesh, self.member.binding.skeleton, size))
        if missing:
            self._key_sources = ()
        return bool(missing)

    def connect_keys(self, group: InstanceGroup) -> None:
        """Connect shape keys with the sources of their values, if these have changed."""
        member = self.member
        keys, examples = member.binding.shape_keys, member.examples
        if keys is None:
            return
        sources = (group.value_names, group.bone_rows, *member.key_sources, examples)
        if sources == self._key_sources:
            return
        named = {row: (member.value_mesh, keys.key_names[row]) for row in member.motion_keys}
        for part in self.parts:
            if part.keys is not None:
                part.keys.connect(group, named, examples)
        self._key_sources = sources

    def _deform(self) -> None:
        """Find the deformation and its static mesh on the GPU."""
        binding, to_armature = self.member.binding, self.member.to_armature
        self.deformation = binding.deformation(self.member.settings.acting_fully, to_armature)
        mesh = gpu_mesh_of(binding, self.deformation.skinning, self._equal)
        if mesh is not self._mesh:
            self._mesh, self.parts = mesh, []


class BatchKey(NamedTuple):
    """The properties that the members of a batch share.

    Attributes:
        equal: says that bindings are equal.
        traits: `Member.traits`, and what else must be equal.
        reference: whether an overlay compares with them.
    """

    equal: object
    traits: Key
    reference: bool = False


class Batch(SkinnedMesh):
    """Objects with equal data and settings on the GPU: copies of a character, or one object alone.

    Attributes:
        members: of the current drawing.
        bones: says that skeletons are equal.
        poses: those of the members; None before the first update.
        reported: the problems of the poses that the panel shows.
        revision: rises whenever the members are skinned again.
    """

    def __init__(self, key: BatchKey, members: Sequence[Member]) -> None:
        super().__init__(members[0], key.equal)
        self.key, self.members = key, members
        self.poses: SharedPoses | None = None
        self.reported: Mapping[int, PoseError] | None = None
        self.revision = 0
        self.bones = equality_digest(members[0].binding.skeleton)
        self._inputs: tuple[object, ...] = ()
        self._placed = b""
        self._placements: GPUTexture | None = None
        self.resize(len(members))

    @property
    def deformed(self) -> DeformedMesh:
        """The surfaces of the members, in their order."""
        return self.parts[0]

    def update(self, poses: SharedPoses) -> None:
        """Skin the members in these poses if anything has changed."""
        self.poses, on_gpu = poses, poses.on_gpu
        assert on_gpu is not None
        first = self.members[0]
        if first.to_armature is not self.member.to_armature:  # the key has all settings
            self.read(first)
            self.resize(len(self.members))
        (group,), keys, deformation = on_gpu.groups, self.deformed.keys, self.deformation
        self.connect_keys(group)
        spaces = np.array([member.to_armature for member in self.members])
        shares = np.array([member.shares for member in self.members])
        changed = False
        if keys is not None:
            values = [each.key_values for each in self.members if each.key_values is not None]
            changed = keys.give(np.array(values))
        inputs = (on_gpu, poses.number, spaces.tobytes(), shares.tobytes(), deformation)
        if changed or inputs != self._inputs:
            if not shares[:, 0].any():
                deformation = replace(deformation, factor=0.0)
            self.deformed.deform(deformation, on_gpu, group, spaces, shares)
            self._inputs = inputs
            self.revision += 1

    def placements(self) -> GPUTexture:
        """The places of the members in the world, as a texture."""
        matrices = np.array([member.obj.matrix_world for member in self.members], np.float32)
        placed = matrices.tobytes()
        if self._placements is None or placed != self._placed:
            self._placements, self._placed = placements_texture(matrices), placed
        return self._placements


def deformed_object(
    obj: Object, binding: Binding, depsgraph: Depsgraph, settings: Settings | None = None
) -> DeformedMesh:
    """The deformed mesh of an object for the state that a depsgraph is in, for scripts.

    Nothing of it is kept from frame to frame.

    Args:
        settings: how to deform; by default the object's own.

    Raises:
        BindingError: the object does not fit its binding any more.
        PoseError: a bone's matrix is not finite.
    """
    member, poses = member_of(obj, binding, depsgraph, settings), SharedPoses()
    batch = Batch(BatchKey(binding, ()), [member])
    poses.pose([member], batch.layout, *scene_time(depsgraph))
    for error in poses.problems.values():
        raise error
    batch.update(poses)
    return batch.deformed


# How many batches of an object are kept: viewports may show different ones.
_KEPT = 3

Failed = Callable[[Object, Exception], None]
"""A function that leaves an object alone after an error."""


Slot = tuple[tuple[int, ...], bool]
"""The session_uid of the objects of a batch, and whether an overlay compares with them."""


class Batches:
    """The batches of all viewports."""

    def __init__(self) -> None:
        # Those that were used last are at the end.
        self._batches: dict[Slot, Batch] = {}
        # By the frame rate, the bones and the motions of members. Batches keep them.
        self._poses: WeakValueDictionary[Key, SharedPoses] = WeakValueDictionary()

    def update(self, objects: Iterable[Object], depsgraph: Depsgraph) -> list[Batch]:
        """Pose and skin enabled objects for one drawing.

        An object that fails is left alone. One that does not fit its binding any more is shown as
        it was last, until it is bound again.
        """
        stale: list[Batch] = []
        members: list[Member] = []
        for obj in objects:
            binding = status_of(obj).binding
            if binding is None:
                continue
            try:
                members.append(member_of(obj, binding, depsgraph))
            except BindingError:
                check_soon()
                stale += self._as_last(obj, depsgraph, reference=False)
            except Exception as error:  # noqa: BLE001 - the others are drawn all the same
                fail(obj, error)
                check_soon()
        return stale + self._show(_batched(members), depsgraph, fail)

    def compare(
        self, obj: Object, depsgraph: Depsgraph, settings: Settings | None = None
    ) -> list[Batch]:
        """Pose and skin an object alone, and as a reference once more by other settings.

        Args:
            settings: of the reference; None: there is none.

        Returns:
            a batch of each; fewer where one fails.
        """
        binding = status_of(obj).binding
        if binding is None:
            return []
        references, batched = (False,) if settings is None else (False, True), []
        try:
            for reference in references:
                member = member_of(obj, binding, depsgraph, settings if reference else None)
                batched.append((BatchKey(binding, member.traits, reference), [member]))
        except BindingError:
            check_soon()
            last = (self._as_last(obj, depsgraph, reference=each) for each in references)
            return [batch for batches in last for batch in batches]
        return self._show(batched, depsgraph, fail_overlay)

    def keep_only(self, drawn: set[int], coloured: set[int]) -> None:
        """Free the batches of other objects than those we draw or colour, by their session_uid."""
        shown = drawn | coloured
        self._batches = {
            (uids, reference): batch
            for (uids, reference), batch in self._batches.items()
            if (coloured if reference else shown).issuperset(uids)
        }

    def clear(self) -> None:
        """Free everything."""
        self._batches.clear()

    def _show(
        self,
        batched: Iterable[tuple[BatchKey, Sequence[Member]]],
        depsgraph: Depsgraph,
        failed: Failed,
    ) -> list[Batch]:
        """Pose and skin the members of each batch; returns the batches that can be drawn."""
        frame, fps = scene_time(depsgraph)
        moving_together: dict[Key, list[Batch]] = {}
        for key, members in batched:
            try:
                batch = self._batch(key, members)
            except Exception as error:  # noqa: BLE001 - the others are drawn all the same
                leave_alone(members, error, failed)
            else:
                motion = (fps, batch.bones, *[member.pose_source for member in members])
                moving_together.setdefault(motion, []).append(batch)
        drawn: list[Batch] = []
        for motion, batches in moving_together.items():
            poses = self._poses.get(motion)
            if poses is None:
                poses = self._poses[motion] = SharedPoses()
            try:
                poses.pose(batches[0].members, _layout_of(batches), frame, fps)
            except BindingError:
                # Bones have changed just now: the check that follows binds the objects again.
                check_soon()
                drawn += [batch for batch in batches if batch.revision]
            except Exception as error:  # noqa: BLE001
                leave_alone([each for batch in batches for each in batch.members], error, failed)
            else:
                drawn += [batch for batch in batches if _is_skinned(batch, poses, failed)]
        return drawn

    def _batch(self, key: BatchKey, members: Sequence[Member]) -> Batch:
        """The batch of some members; the same one as long as it has the same key."""
        slot = (tuple(member.binding.object_uid for member in members), key.reference)
        former = batch = self._batches.pop(slot, None)
        if batch is None or batch.key != key:
            batch = Batch(key, members)
            # Its last good pose is there.
            batch.poses = None if former is None else former.poses
            self._drop_old()
        batch.members = members
        self._batches[slot] = batch
        return batch

    def _drop_old(self) -> None:
        """Free the batches of objects beyond the last few."""
        seen: Counter[tuple[int, bool]] = Counter()
        for uids, reference in reversed(tuple(self._batches)):
            shown = [(uid, reference) for uid in uids]
            seen.update(shown)
            if any(seen[each] >= _KEPT for each in shown):
                del self._batches[uids, reference]

    def _as_last(self, obj: Object, depsgraph: Depsgraph, *, reference: bool) -> list[Batch]:
        """The batch of a single object as the last drawing skinned it; none if there was none."""
        batch = self._batches.get(((obj.session_uid,), reference))
        if batch is None or not batch.revision:
            return []
        batch.members = [replace(batch.members[0], obj=obj.evaluated_get(depsgraph))]
        return [batch]


def leave_alone(members: Iterable[Member], error: Exception, failed: Failed) -> None:
    """Report an error of some objects, which are not drawn again before a refresh."""
    for member in members:
        failed(member.original, error)
    check_soon()


def _layout_of(batches: Sequence[Batch]) -> PosePaletteLayout:
    """The parts of a pose that any of the batches reads."""
    layout = batches[0].layout
    for batch in batches:
        if batch.layout is not layout:
            layout |= batch.layout
    return layout


def _is_skinned(batch: Batch, poses: SharedPoses, failed: Failed) -> bool:
    """Skin a batch; returns whether that succeeded."""
    try:
        batch.update(poses)
    except Exception as error:  # noqa: BLE001 - the others are drawn all the same
        leave_alone(batch.members, error, failed)
        return False
    if batch.reported is not poses.problems:
        # The panel says which members keep an earlier pose.
        batch.reported = poses.problems
        for member in batch.members:
            error = batch.reported.get(member.binding.armature_uid)
            problem = error and f"{member.obj.name} keeps its last good pose. {error}."
            status_of(member.original).pose_problem = problem
    return True


def _batched(members: Sequence[Member]) -> Iterator[tuple[BatchKey, Sequence[Member]]]:
    """Sort members: copies together, in as many batches as textures need, and the others alone."""
    twins = _twins([member.binding for member in members])
    alike: dict[BatchKey, list[Member]] = {}
    for member in members:
        digest = twins.get(member.binding)
        key = BatchKey(member.binding, member.traits)
        if digest is not None:
            key = BatchKey(digest, (*member.traits, member.acting_place))
        alike.setdefault(key, []).append(member)
    for key, copies in alike.items():
        first = copies[0]
        if len(copies) == 1:
            alone = key.equal is first.binding
            yield key if alone else BatchKey(first.binding, first.traits), copies
            continue
        mesh, bones = first.binding, first.binding.skeleton.bone_count
        most = most_instances(mesh.vertex_count, mesh.topology.group_count, bones)
        for start in range(0, len(copies), most):
            yield key, copies[start : start + most]


def _twins(bindings: Sequence[Binding]) -> dict[Binding, str]:
    """The digests of the bindings that equal another one in the list."""
    if len(bindings) < 2:
        return {}
    # A digest reads every vertex. So it is made only for bindings of the same size.
    sizes = Counter((each.vertex_count, each.skeleton.bone_count) for each in bindings)
    alike = [b for b in bindings if sizes[b.vertex_count, b.skeleton.bone_count] > 1]
    digests = {binding: equality_digest(binding) for binding in alike}
    counts = Counter(digests.values())
    return {binding: digest for binding, digest in digests.items() if counts[digest] > 1}
