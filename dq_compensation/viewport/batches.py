"""The enabled objects of viewports on the GPU: posed, and skinned together where they can be.

Copies of a character whose settings are equal are one *batch*: one dispatch skins them all. Any
other object is a batch of one. Batches of the same armatures, as those of a character of many
meshes, share their poses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast
from weakref import WeakValueDictionary

import bpy
import numpy as np
from gpu.types import GPUTexture
from mathutils import Matrix
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.pose import Pose
from ..core.vectors import extent
from ..errors import BindingError, PoseError
from ..scene.binding.binding import Binding, twin_digest
from ..scene.blender.armature import matrices_of_poses, object_to_armature, world_matrix
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import Settings
from ..session.status import check_soon, fail, fail_overlay, status_of
from .deformed_mesh import DeformedMesh, GpuMesh, gpu_mesh_of, most_instances
from .look import placements_texture
from .playing import Instances, Playing, followed_keys, playing_of, scene_time, value_mesh
from .poses import GivenPoses, Playback
from .shaders import PosePaletteLayout, wanted_layout
from .take_tables import InstanceGroup

# The objects of a drawing that are skinned together: what each of them brings along.


# A^-1 O of copies may differ by this share of the mesh's size; see `armature.same_place`.
_SAME_PLACE = 5e-5

Key = tuple[object, ...]


@dataclass(eq=False)
class Member:
    """One object in one drawing.

    Attributes:
        obj, armature: evaluated. They do not outlive the drawing.
        look: equal for copies that one dispatch can skin, if `acting_place` is.
        place: equal for objects at nearly the same place in their armatures.
        playing: the takes that it plays; None: it follows its armature.
        to_armature: shape (4, 4), A^-1 O.
        key_values: shape (K,), of the shape keys; None without any.
        followed_keys: those that follow a take, and `value_mesh` the mesh whose values they are.
    """

    obj: bpy.types.Object
    armature: bpy.types.Object
    binding: Binding
    settings: Settings
    look: Key
    place: bytes
    playing: Playing | None
    to_armature: NDArray[np.float64]
    key_values: NDArray[np.float32] | None
    followed_keys: tuple[int, ...]
    value_mesh: str

    @property
    def original(self) -> bpy.types.Object:
        """The object in the file."""
        return cast("bpy.types.Object", self.obj.original)

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


class Places:
    """A^-1 O of objects, computed anew only when one of the two has moved."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Matrix, Matrix, NDArray[np.float64], bytes]] = {}

    def of(
        self, obj: bpy.types.Object, armature: bpy.types.Object, binding: Binding
    ) -> tuple[NDArray[np.float64], bytes]:
        """The matrix, and bytes that are equal for objects that are at nearly the same place.

        Raises:
            BindingError: one of the two is scaled to nothing.
        """
        known = self._known.get(binding.object_uid)
        world, above = world_matrix(obj), world_matrix(armature)
        if known is None or known[0] != world or known[1] != above:
            matrix = object_to_armature(obj, armature)
            steps = np.full((3, 4), _SAME_PLACE)
            steps[:, 3] *= max(extent(binding.rest), 1e-6)
            # Adding 0 makes 0 of -0.
            rounded = np.rint(matrix[:3] / steps) + 0.0
            known = (world.copy(), above.copy(), matrix, rounded.tobytes())
            self._known[binding.object_uid] = known
        return known[2], known[3]

    def keep_only(self, object_uids: set[int]) -> None:
        """Forget other objects."""
        self._known = {uid: known for uid, known in self._known.items() if uid in object_uids}


def member_of(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    places: Places,
    settings: Settings | None = None,
) -> Member:
    """The member that an object is in the state of a depsgraph.

    Args:
        obj: the original object, which is bound.
        settings: how to deform it; by default its own.

    Raises:
        BindingError: the object does not fit its binding any more.
    """
    evaluated, rig = obj.evaluated_get(depsgraph), rig_of(obj)
    armature = rig.evaluated_get(depsgraph)
    settings = settings or Settings.of(evaluated)
    playing = playing_of(rig, binding)
    to_armature, place = places.of(evaluated, armature, binding)
    keys, values, followed, named = binding.shape_keys, None, (), ""
    if keys is not None:
        values = keys.values(evaluated)
        if playing is not None:
            followed = followed_keys(keys, evaluated)
            named = value_mesh(playing.takes, mesh_of(evaluated).name)
    look = (
        *settings.all_but_followed,
        playing is not None,
        keys is not None and evaluated.show_only_shape_key,
        followed,
        named,
    )
    return Member(
        evaluated,
        armature,
        binding,
        settings,
        look,
        place,
        playing,
        to_armature,
        values,
        followed,
        named,
    )


# The poses that batches share: of their takes, or of their armatures.


class Arrangement:
    """The poses of members with some armatures and takes, for all batches that have these.

    Attributes:
        poses: None before the first drawing.
        number: rises whenever a pose has changed.
        problems: why poses are held, by the session_uid of the armature.
    """

    def __init__(self) -> None:
        self.poses: Playback | GivenPoses | None = None
        self.number = 0
        self.problems: dict[int, PoseError] = {}
        self._layout = PosePaletteLayout()
        self._playings: list[Playing] = []
        # As read last, and with the last good poses in the place of broken ones.
        self._read: NDArray[np.floating] | None = None
        self._matrices: NDArray[np.floating] | None = None

    def pose(
        self, members: Sequence[Member], layout: PosePaletteLayout, frame: float, fps: float
    ) -> None:
        """Pose the members for one drawing.

        Args:
            members: of one of the batches, in the same order as before.
            layout: what all batches of the drawing read of a pose.
            frame, fps: of the scene.

        Raises:
            BindingError: an armature has other bones than the bindings.
        """
        known = self.poses
        if layout != self._layout:
            layout |= self._layout
            known = known if layout == self._layout else None
        playings = [each.playing for each in members if each.playing is not None]
        if playings:
            assert known is None or isinstance(known, Playback)
            self.poses = self._play(known, playings, layout, frame, fps)
        else:
            assert known is None or isinstance(known, GivenPoses)
            self.poses = self._follow(known, members, layout)
        self._layout = layout

    def _play(
        self,
        poses: Playback | None,
        playings: list[Playing],
        layout: PosePaletteLayout,
        frame: float,
        fps: float,
    ) -> Playback:
        """Play takes."""
        if poses is None:
            poses = Playback([Instances.of(playings)], layout, fps)
        elif playings != self._playings:
            poses.change([Instances.of(playings)])
        self._playings = playings
        self.number += poses.play(frame)
        return poses

    def _follow(
        self, poses: GivenPoses | None, members: Sequence[Member], layout: PosePaletteLayout
    ) -> GivenPoses:
        """Upload the poses of the armatures, if one has changed."""
        matrices = _read_poses(members)
        if poses is not None and self._read is not None and np.array_equal(matrices, self._read):
            return poses
        if poses is None:
            poses = GivenPoses(members[0].binding.skeleton, len(members), layout)
        self._read, matrices = matrices, matrices.copy()
        if not np.isfinite(matrices).all():
            self.problems = self._hold(matrices, members)
        elif self.problems:
            self.problems = {}
        poses.upload(matrices.reshape(-1, 4, 4))
        self._matrices = matrices
        self.number += 1
        return poses

    def _hold(
        self, matrices: NDArray[np.floating], members: Sequence[Member]
    ) -> dict[int, PoseError]:
        """Replace poses that are no numbers by the last good ones; the errors by armature."""
        errors = {}
        for number, member in enumerate(members):
            try:
                Pose.from_matrices(matrices[number], member.binding.skeleton)
            except PoseError as error:
                errors[member.binding.armature_uid] = error
                matrices[number] = np.eye(4) if self._matrices is None else self._matrices[number]
        return errors


def _read_poses(members: Sequence[Member]) -> NDArray[np.floating]:
    """Shape (I, R, 4, 4), the poses of the armatures of members of one batch.

    Raises:
        BindingError: an armature has other bones than the bindings.
    """
    binding, armatures = members[0].binding, [each.armature for each in members]
    if binding.skeleton.bendy is None:
        return matrices_of_poses(armatures, binding.pose_order)
    return np.stack([binding.pose_matrices(each) for each in armatures])


# Objects that one dispatch skins: copies of a character, or one object alone.


class Batch:
    """Objects with equal data and settings on the GPU.

    Args:
        key: equal for objects that one batch can have; it begins with what says that their bindings
            are equal.

    Attributes:
        members: of the current drawing.
        deformed: their surfaces, in this order.
        layout: what they read of a pose.
        bones: says that skeletons are equal.
        arrangement: their poses; None before the first update.
        reported: the problems of the arrangement that the panel shows.
        revision: rises whenever they are skinned again.
    """

    def __init__(self, key: Key, members: Sequence[Member], meshes: Meshes) -> None:
        self.key, self.members, self._meshes = key, members, meshes
        self.arrangement: Arrangement | None = None
        self.reported: Mapping[int, PoseError] | None = None
        self.revision = 0
        self.bones = twin_digest(members[0].binding.skeleton)
        self._inputs: tuple[object, ...] = ()
        self._group: InstanceGroup | None = None
        self.deformed = self._deformed(None)
        self._placed = b""
        self._placements: GPUTexture | None = None

    def update(self, arrangement: Arrangement) -> None:
        """Skin the members in these poses again if anything has changed."""
        self.arrangement, poses = arrangement, arrangement.poses
        assert poses is not None
        if self.members[0].to_armature is not self._to_armature:
            self.deformed = self._deformed(self.deformed)
        (group,), keys = poses.groups, self.deformed.keys
        if group != self._group:
            self._follow(group)
            self._group = group
        spaces = np.array([member.to_armature for member in self.members])
        acting = [member.settings for member in self.members]
        shares = np.array([(settings.factor, settings.twist_spread) for settings in acting])
        changed = False
        if keys is not None:
            values = [each.key_values for each in self.members if each.key_values is not None]
            changed = keys.give(np.array(values))
        inputs = (poses, arrangement.number, spaces.tobytes(), shares.tobytes(), self._deformation)
        if changed or inputs != self._inputs:
            deformation = self._deformation if shares[:, 0].any() else self._uncompensated
            self.deformed.deform(deformation, poses, group, spaces, shares)
            self._inputs = inputs
            self.revision += 1

    def placements(self) -> GPUTexture:
        """Where the members are in the world."""
        matrices = np.array([member.obj.matrix_world for member in self.members], np.float32)
        placed = matrices.tobytes()
        if self._placements is None or placed != self._placed:
            self._placements, self._placed = placements_texture(matrices), placed
        return self._placements

    def _deformed(self, known: DeformedMesh | None) -> DeformedMesh:
        """Find how the members are deformed where they are; their surfaces, if need be new ones."""
        first = self.members[0]
        # What acts on each member differs: a factor of 0 for one does not make it another method.
        settings = first.settings.acting_fully
        self._to_armature = first.to_armature
        self._deformation = first.binding.deformation(settings, first.to_armature)
        self._uncompensated = replace(self._deformation, factor=0.0)
        self.layout = wanted_layout(self._deformation)
        skinning, self._group = self._deformation.skinning, None
        if known is not None and known.mesh.moved_by is skinning:
            return known
        mesh = self._meshes.of(self.key[0], first, skinning)
        return DeformedMesh(mesh, first.binding.skeleton, len(self.members))

    def _follow(self, group: InstanceGroup) -> None:
        """Say which shape keys' values follow poses."""
        first, keys = self.members[0], self.deformed.keys
        shape_keys = first.binding.shape_keys
        if keys is None or shape_keys is None or first.obj.show_only_shape_key:
            return
        named = {row: (first.value_mesh, shape_keys.key_names[row]) for row in first.followed_keys}
        keys.follow(group, named, first.binding.acting_examples(first.settings))


class Meshes:
    """The static data of meshes, which batches share; freed when none uses it."""

    def __init__(self) -> None:
        self._meshes: WeakValueDictionary[Key, GpuMesh] = WeakValueDictionary()

    def of(self, equal: object, member: Member, skinning: Influences) -> GpuMesh:
        """The mesh of a member.

        Args:
            equal: says that bindings are equal.
            skinning: its influences, of bones or of segments of bendy bones.
        """
        of_bones = skinning is member.binding.influences
        key = (equal, of_bones, b"" if of_bones else member.to_armature.tobytes())
        found = self._meshes.get(key)
        if found is None:
            found = self._meshes[key] = gpu_mesh_of(member.binding, skinning)
        return found


def deformed_object(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    settings: Settings | None = None,
) -> DeformedMesh:
    """The deformed mesh of an object for the state that a depsgraph is in, for scripts.

    Nothing of it is kept from frame to frame.

    Args:
        obj: the original object.
        settings: how to deform; by default the object's own.

    Raises:
        BindingError: the object does not fit its binding any more.
        PoseError: a bone's matrix is not finite.
    """
    member, arrangement = member_of(obj, binding, depsgraph, Places(), settings), Arrangement()
    batch = Batch((binding,), [member], Meshes())
    arrangement.pose([member], batch.layout, *scene_time(depsgraph))
    for error in arrangement.problems.values():
        raise error
    batch.update(arrangement)
    return batch.deformed


# The enabled objects of viewports on the GPU: posed, and skinned together where they can be.


# How many batches of an object are kept: viewports may show different ones.
_KEPT = 3

Failed = Callable[[bpy.types.Object, Exception], None]
"""Leaves an object alone after an error."""


class _Part(NamedTuple):
    """The members of one batch.

    Attributes:
        key: as `Batch` has it.
        reference: whether they are what an overlay compares with.
    """

    key: Key
    members: Sequence[Member]
    reference: bool = False

    @property
    def slot(self) -> tuple[tuple[int, ...], bool]:
        """The session_uid of the objects, and `reference`."""
        return tuple(member.binding.object_uid for member in self.members), self.reference


class Batches:
    """The batches that viewports show."""

    def __init__(self) -> None:
        self._meshes, self._places = Meshes(), Places()
        # By `_Part.slot`. Those that were used last are at the end.
        self._batches: dict[tuple[tuple[int, ...], bool], Batch] = {}
        # By the frame rate, the bones and the motions of members. Batches keep them.
        self._arrangements: WeakValueDictionary[Key, Arrangement] = WeakValueDictionary()

    def update(
        self, objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph
    ) -> list[Batch]:
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
                members.append(member_of(obj, binding, depsgraph, self._places))
            except BindingError:
                check_soon()
                stale += self._as_last(obj, depsgraph, reference=False)
            except Exception as error:  # noqa: BLE001 - the others are drawn all the same
                fail(obj, error)
                check_soon()
        return stale + self._show(_parts(members), depsgraph, fail)

    def compare(
        self,
        obj: bpy.types.Object,
        depsgraph: bpy.types.Depsgraph,
        settings: Settings | None = None,
    ) -> list[Batch]:
        """Pose and skin an object alone, and a reference: the same one by other settings.

        Args:
            settings: of the reference; None: there is none.

        Returns:
            a batch of each; fewer where one fails.
        """
        binding, place = status_of(obj).binding, self._places
        wanted = (None,) if settings is None else (None, settings)
        if binding is None:
            return []
        try:
            members = [member_of(obj, binding, depsgraph, place, each) for each in wanted]
        except BindingError:
            check_soon()
            both = (False, True)[: len(wanted)]
            return [last for each in both for last in self._as_last(obj, depsgraph, reference=each)]
        numbered = enumerate(members)
        parts = [_Part((binding, *each.look), [each], bool(number)) for number, each in numbered]
        return self._show(parts, depsgraph, fail_overlay)

    def keep_only(self, drawn: set[int], coloured: set[int]) -> None:
        """Free what belongs to objects that we neither draw nor colour, by their session_uid."""
        shown = drawn | coloured
        self._places.keep_only(shown)
        self._batches = {
            (uids, reference): batch
            for (uids, reference), batch in self._batches.items()
            if (coloured if reference else shown).issuperset(uids)
        }

    def clear(self) -> None:
        """Free everything."""
        self._batches.clear()

    def _show(
        self, parts: Iterable[_Part], depsgraph: bpy.types.Depsgraph, failed: Failed
    ) -> list[Batch]:
        """Pose and skin; returns what can be drawn."""
        frame, fps = scene_time(depsgraph)
        together: dict[Key, list[Batch]] = {}
        for part in parts:
            try:
                batch = self._batch(part)
            except Exception as error:  # noqa: BLE001 - the others are drawn all the same
                leave_alone(part.members, error, failed)
            else:
                motion = (fps, batch.bones, *[member.motion for member in part.members])
                together.setdefault(motion, []).append(batch)
        found: list[Batch] = []
        for motion, batches in together.items():
            arrangement = self._arrangements.get(motion)
            if arrangement is None:
                arrangement = self._arrangements[motion] = Arrangement()
            try:
                arrangement.pose(batches[0].members, _layout_of(batches), frame, fps)
            except BindingError:
                # Bones have changed just now: the check that follows binds the objects again.
                check_soon()
                found += [batch for batch in batches if batch.revision]
            except Exception as error:  # noqa: BLE001
                leave_alone([each for batch in batches for each in batch.members], error, failed)
            else:
                found += [batch for batch in batches if _is_skinned(batch, arrangement, failed)]
        return found

    def _batch(self, part: _Part) -> Batch:
        """The batch of a part; the same one as long as it has the same key."""
        slot = part.slot
        former = found = self._batches.pop(slot, None)
        if found is None or found.key != part.key:
            found = Batch(part.key, part.members, self._meshes)
            # Its last good pose is there.
            found.arrangement = None if former is None else former.arrangement
            self._drop_old()
        found.members = part.members
        self._batches[slot] = found
        return found

    def _drop_old(self) -> None:
        """Free the batches of objects beyond the last few."""
        seen: Counter[tuple[int, bool]] = Counter()
        for uids, reference in reversed(tuple(self._batches)):
            each = [(uid, reference) for uid in uids]
            seen.update(each)
            if any(seen[one] >= _KEPT for one in each):
                del self._batches[uids, reference]

    def _as_last(
        self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, *, reference: bool
    ) -> list[Batch]:
        """An object alone as it was skinned last, if it was."""
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
    """The parts of a pose that any of them reads."""
    layout = batches[0].layout
    for batch in batches:
        if batch.layout is not layout:
            layout |= batch.layout
    return layout


def _is_skinned(batch: Batch, arrangement: Arrangement, failed: Failed) -> bool:
    """Skin a batch; returns whether it did not fail."""
    try:
        batch.update(arrangement)
    except Exception as error:  # noqa: BLE001 - the others are drawn all the same
        leave_alone(batch.members, error, failed)
        return False
    if batch.reported is not arrangement.problems:
        # The panel says whether the pictures of members follow their poses.
        batch.reported = arrangement.problems
        for member in batch.members:
            error = batch.reported.get(member.binding.armature_uid)
            problem = error and f"{member.obj.name} keeps its last good pose. {error}."
            status_of(member.original).pose_problem = problem
    return True


def _parts(members: Sequence[Member]) -> Iterator[_Part]:
    """Sort members: copies together, in as many parts as textures need, and the others alone."""
    twins = _twins([member.binding for member in members])
    alike: dict[Key, list[Member]] = {}
    for member in members:
        binding = member.binding
        digest = twins.get(binding)
        equal = (binding,) if digest is None else (digest, member.acting_place)
        alike.setdefault((*equal, *member.look), []).append(member)
    for key, found in alike.items():
        if len(found) == 1:
            yield _Part((found[0].binding, *found[0].look), found)
            continue
        binding = found[0].binding
        of_mesh = (binding.vertex_count, binding.topology.group_count)
        most = most_instances(*of_mesh, binding.skeleton.bone_count)
        for start in range(0, len(found), most):
            yield _Part(key, found[start : start + most])


def _twins(bindings: Sequence[Binding]) -> dict[Binding, str]:
    """The digests of those that have an equal one among them."""
    if len(bindings) < 2:
        return {}
    # Digests take a look at every vertex: only where sizes say that there can be another one.
    sizes = Counter((each.vertex_count, each.skeleton.bone_count) for each in bindings)
    alike = [b for b in bindings if sizes[b.vertex_count, b.skeleton.bone_count] > 1]
    digests = {binding: twin_digest(binding) for binding in alike}
    counts = Counter(digests.values())
    return {binding: digest for binding, digest in digests.items() if counts[digest] > 1}
