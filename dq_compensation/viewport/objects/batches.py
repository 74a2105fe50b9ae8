"""The enabled objects of viewports on the GPU: posed, and skinned together where they can be.

Copies of a character whose settings are equal are one *batch*: one dispatch skins them all. Any
other object is a batch of one. Batches of the same armatures, as those of a character of many
meshes, share their poses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakValueDictionary

import bpy

from ...errors import BindingError
from ...scene.binding.binding import Binding
from ...scene.binding.twins import twin_digest
from ...scene.settings.object_settings import Settings
from ...session.status import check_soon, fail, fail_overlay, status_of
from ..gpu.kernels import PosePaletteLayout
from ..skinning.deformed_mesh import most_instances
from ..takes.playing import scene_time
from .arrangement import Arrangement
from .batch import Batch, Meshes
from .members import Key, Member, Places, member_of

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
