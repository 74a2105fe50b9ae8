"""The reports of a bake, for the status line and the panel."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import bpy
import numpy as np

from ..arrays import Float32s, Floats
from ..core.rest_offsets import Target
from ..errors import UserError
from ..modifier.users_settings import end_meanwhile, set_meanwhile
from ..scene.blender.mesh import AttributeType, mesh_of, read_attribute
from ..scene.blender.own_objects import temporary_copy
from ..scene.blender.scenes import world_millimetres
from ..scene.settings.object_settings import Settings, is_enabled
from ..scene.vertex_groups import kept_record
from ..session.changes import unfollowed
from ..session.memory import memories, memory_of
from ..session.status import status_of
from ..wording import counted, listed, rounded

# Checks a bake: how far Blender's own Armature modifier is from our deformation.


@dataclass(frozen=True)
class Deviation:
    """The distance between two deformations, in millimetres of the world.

    Attributes:
        largest: of any vertex in any pose.
        poses: how many were compared.
    """

    largest: float = 0.0
    rms: float = 0.0
    poses: int = 0

    @classmethod
    def of(cls, distances: Floats, unit: float) -> Deviation:
        """The deviation of distances (n,) in one pose.

        Args:
            unit: the millimetres of one unit.
        """
        if not len(distances):
            return cls(poses=1)
        return cls(float(distances.max()) * unit, float(np.sqrt(np.mean(distances**2))) * unit, 1)

    def instead_of(self, before: Deviation) -> str:
        """For sentences: ``1.2 mm instead of 3.4 (rms 0.5 instead of 1.1)``."""
        return (
            f"{rounded(self.largest)} mm instead of {rounded(before.largest)} (rms "
            f"{rounded(self.rms, 2)} instead of {rounded(before.rms, 2)})"
        )

    def and_also(self, other: Deviation) -> Deviation:
        """The deviation of both together."""
        poses = self.poses + other.poses
        if not poses:
            return self
        squares = (self.poses * self.rms**2 + other.poses * other.rms**2) / poses
        return Deviation(max(self.largest, other.largest), float(np.sqrt(squares)), poses)


@contextmanager
def only_armature_shown(obj: bpy.types.Object, target: Target) -> Generator[None]:
    """Show only the result of an object's Armature modifier; restore the modifiers after the block.

    Args:
        obj: a mesh object with an Armature modifier.
        target: whether that preserves volume meanwhile.
    """
    volume = "preserves_volume" if target == "DUAL_QUATERNION" else "linear"
    try:
        set_meanwhile(obj, "baked", volume)
        yield
    finally:
        end_meanwhile(obj, "baked", volume)


def deviation(wanted: Float32s, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Deviation:
    """The distance of the positions that Blender has evaluated from others, in this pose.

    Args:
        wanted: shape (n, 3), object space.
        obj: the baked object; nothing but its Armature modifier is shown.

    Raises:
        UserError: the evaluated mesh has another number of vertices.
    """
    evaluated = obj.evaluated_get(depsgraph)
    mesh = mesh_of(evaluated)
    if len(mesh.vertices) != len(wanted):
        raise UserError(f"The mesh of {obj.name} has changed while it was baked.")
    shown = read_attribute(mesh, "position", AttributeType.VECTOR, len(wanted))
    linear = np.array(evaluated.matrix_world, np.float64)[:3, :3]
    distances = np.linalg.norm((shown.astype(np.float64) - wanted) @ linear.T, axis=1)
    return Deviation.of(distances, world_millimetres(bpy.context.scene))


@contextmanager
def still_copy(obj: bpy.types.Object) -> Generator[bpy.types.Object]:
    """A copy of an object and its mesh in the scene that keeps its current state when others move.

    Values that animation and drivers give are kept, those themselves are not. Nobody follows it.
    """
    with unfollowed(), temporary_copy(obj) as copy:
        depsgraph = bpy.context.evaluated_depsgraph_get()
        evaluated_key = mesh_of(obj.evaluated_get(depsgraph)).shape_keys
        values = [block.value for block in evaluated_key.key_blocks] if evaluated_key else []
        key = mesh_of(copy).shape_keys
        if key is not None:
            key.animation_data_clear()
            for block, value in zip(key.key_blocks, values, strict=True):
                block.slider_min, block.slider_max = min(0.0, value), max(1.0, value)
                block.value = value
        yield copy


# The reports of a bake, for the status line and the panel.


@dataclass(frozen=True)
class _LastReport:
    """The last report of an object.

    Attributes:
        key_names: the keys that it is about.
        of_bones: whether it is about helper bones.
        enabled: whether the object was enabled then. Once that changes, it is old news.
        state: of a dry run, what it was made from; see `_state`.
    """

    text: str = ""
    key_names: tuple[str, ...] = ()
    of_bones: bool = False
    enabled: bool = False
    state: tuple[Any, Settings] | None = None


def _state(obj: bpy.types.Object) -> tuple[Any, Settings]:
    """What changes with the mesh, the weights, the bones or the settings of an enabled object."""
    binding = status_of(obj).binding
    return None if binding is None else ref(binding), Settings.of(obj)


@dataclass(frozen=True)
class KeyReport:
    """The result of baking shape keys onto one object.

    Attributes:
        onto_name: the object that has the keys; the character itself or its copy.
        unreached: how many vertices stay off in some pose; see `PoseOffsets`.
    """

    object_name: str
    onto_name: str
    key_names: tuple[str, ...]
    unreached: int

    def sentence(self) -> str:
        """For the status line and the panel."""
        raise NotImplementedError

    @property
    def _onto(self) -> str:
        return "" if self.onto_name == self.object_name else f" onto {self.onto_name}"

    @property
    def _ending(self) -> str:
        """The end of every report."""
        text = ""
        if self.unreached:
            vertices = counted(self.unreached, "vertex")
            stay = "stays" if self.unreached == 1 else "stay"
            text = f" {vertices} {stay} off: the Armature modifier collapses the mesh there."
        if self._onto:
            text += f" {self.object_name} is hidden; Alt H in Object Mode shows it."
        return text


@dataclass(frozen=True)
class PoseReport(KeyReport):
    """The result of baking a pose onto one object.

    Attributes:
        deviation: Blender's own modifier with the keys from our deformation.
    """

    deviation: Deviation

    def sentence(self) -> str:
        """See `KeyReport`."""
        baked = f"Baked the pose of {self.object_name}{self._onto} to {self.key_names[0]}"
        return f"{baked}: {_largest_error(self.deviation)}.{self._ending}"


@dataclass(frozen=True)
class RangeReport(KeyReport):
    """The result of baking a range of frames onto one object.

    Attributes:
        separate: why glTF does not export bones and keys as one animation; None where it does.
        deviation: Blender's own modifier with the keys from our deformation.
    """

    frames: int
    separate: str | None = None
    deviation: Deviation = field(default_factory=Deviation)

    def sentence(self) -> str:
        """See `KeyReport`."""
        frames, keys = counted(self.frames, "frame"), counted(len(self.key_names), "shape key")
        baked = f"Baked {frames} of {self.object_name}{self._onto} to {keys}"
        separate = f" {self.separate}" if self.separate else ""
        return f"{baked}: {_largest_error(self.deviation)}.{self._ending}{separate}"


def _largest_error(deviation: Deviation) -> str:
    if not deviation.poses:
        return "the result was not checked"
    poses = "" if deviation.poses == 1 else f" ({deviation.poses} frames checked)"
    return f"largest error {rounded(deviation.largest)} mm{poses}"


@dataclass(frozen=True)
class Verdict:
    """The distance of Blender's own Armature modifier from our deformation in a test motion.

    Attributes:
        before, after: without and with the keys, one bone at a time, between the poses of the keys.
        before_at_once, after_at_once: most of the bones turned together, at random in their ranges.
    """

    before: Deviation = field(default_factory=Deviation)
    after: Deviation = field(default_factory=Deviation)
    before_at_once: Deviation = field(default_factory=Deviation)
    after_at_once: Deviation = field(default_factory=Deviation)

    @property
    def worse_at_once(self) -> bool:
        """Whether the keys do harm where several joints turn."""
        before, after = self.before_at_once, self.after_at_once
        return after.largest > before.largest or after.rms > before.rms


@dataclass(frozen=True)
class CorrectiveReport(KeyReport):
    """The result of baking correctives onto one object.

    Attributes:
        bones: how many bones the keys follow.
        tolerance: millimetres.
        within_tolerance: bones without keys, as no pose of them needs any.
        beyond_budget: bones without keys, for which the budget did not suffice.
        left: the part of what is missing in the poses of all keys that these leave, root mean
            square.
        other_budgets: about half and twice as many keys, where there may be as many, and the part
            that these would leave.
        unparented: bones without keys, whose joints are found from the mesh alone.
        dry_run: whether nothing was written; the keys are those that would come.
        verdict: Blender's own modifier without and with the keys from our deformation. Bones
            without keys count.
    """

    bones: int
    tolerance: float = 0.0
    within_tolerance: tuple[str, ...] = ()
    beyond_budget: tuple[str, ...] = ()
    left: float = 0.0
    other_budgets: tuple[tuple[int, float], ...] = ()
    unparented: tuple[str, ...] = ()
    dry_run: bool = False
    verdict: Verdict = field(default_factory=Verdict)

    def sentence(self) -> str:
        """See `KeyReport`."""
        if not self.key_names:
            needs = f"{self.object_name} needs no correctives of these bones: nothing was baked."
            return needs + self._left_out
        bones = counted(self.bones, "bone")
        keys = counted(len(self.key_names), "corrective")
        verdict = self.verdict
        if self.dry_run:
            would = f"Nothing was changed. A bake of {self.object_name} gives {keys} of {bones}."
            return would + self._spent + self._left_out + self._ending
        worse = (
            "Worse than the plain Armature modifier where several joints turn at once, as keys of "
            "neighbouring joints add up: use Bake to Bones. "
        )
        return (
            (worse if verdict.worse_at_once else "")
            + f"Baked {keys} of {bones} of {self.object_name}{self._onto}."
            + _comparison(
                "In {poses} poses of several joints", verdict.before_at_once, verdict.after_at_once
            )
            + _comparison("In {poses} poses of one joint", verdict.before, verdict.after)
            + self._spent
            + self._left_out
            + self._ending
        )

    @property
    def _spent(self) -> str:
        """What these keys leave, and other numbers of keys."""
        if not self.other_budgets:
            return ""
        parts = [
            f"{rounded(100.0 * part, 2)} % with {counted(count, 'corrective')}"
            for count, part in self.other_budgets
        ]
        left = rounded(100.0 * self.left, 2)
        return f" In the poses of all keys {left} % (rms) remain, {' and '.join(parts)}."

    @property
    def _left_out(self) -> str:
        """The joints without keys, and why."""
        text = ""
        if self.key_names and self.within_tolerance:
            text = (
                f" No keys for {listed(self.within_tolerance)}: all is within the Tolerance of "
                f"{rounded(self.tolerance)} mm there."
            )
        if self.beyond_budget:
            text += f" No keys for {listed(self.beyond_budget)}: the Budget is spent elsewhere."
        if self.unparented:
            text += (
                f" No keys for {listed(self.unparented)}, whose joints are found from the mesh "
                "alone: press Check and Parent Bones, and bake again."
            )
        return text


def _comparison(where: str, before: Deviation, after: Deviation) -> str:
    if not after.poses:
        return ""
    return f" {where.format(poses=after.poses)} the largest error is {after.instead_of(before)}."


@dataclass(frozen=True)
class Remaining:
    """The part of the error of plain linear skinning that remains: 0 nothing, 1 all of it.

    Attributes:
        rms, largest: of the root mean square, and of the largest error.
    """

    rms: float
    largest: float

    @classmethod
    def of(cls, before: Deviation, after: Deviation) -> Remaining:
        """The part of an error that remains; of none at all 0, or 1 where there is one now."""

        def part(now: float, once: float) -> float:
            return now / once if once > 0.0 else float(now > 0.0)

        return cls(part(after.rms, before.rms), part(after.largest, before.largest))


@dataclass(frozen=True, kw_only=True)
class HelperErrors:
    """The distance from the live deformation in poses that were not fitted.

    Attributes:
        before, after: plain linear skinning without and with the helper bones.
        remaining: the part of `before` that `after` is.
    """

    before: Deviation
    after: Deviation
    remaining: Remaining = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "remaining", Remaining.of(self.before, self.after))

    @classmethod
    def of(cls, before: Deviation, after: Deviation) -> HelperErrors:
        """The errors of two deviations."""
        return HelperErrors(before=before, after=after)

    @property
    def _compared(self) -> str:
        """For sentences: ``1 mm instead of 2 (rms 0.3 instead of 1); 50 % (rms 30 %) remain``."""
        largest, rms = (
            rounded(100.0 * each, 2) for each in (self.remaining.largest, self.remaining.rms)
        )
        return f"{self.after.instead_of(self.before)}; {largest} % (rms {rms} %) remain"


@dataclass(frozen=True, kw_only=True)
class JointReport(HelperErrors):
    """One joint: the errors at the vertices that its bones share.

    Attributes:
        bone: below the joint.
        helpers: how many helper bones it got.
    """

    bone: str
    helpers: int

    def sentence(self) -> str:
        """For the Info editor and the command line."""
        return (
            f"{self.bone}, {counted(self.helpers, 'helper bone')}: largest error {self._compared}."
        )


@dataclass(frozen=True, kw_only=True)
class BonesReport(HelperErrors):
    """The result of baking helper bones for the characters on one armature.

    Without any helper bone nothing was changed; the plain Armature modifier remains then. Nothing
    was changed either where the helpers would be `worse`.

    Attributes:
        before, after: in random poses, or in frames of the action if these were chosen.
        in_actions: the errors in frames of all actions, where these were fitted, too.
        worse: whether more of the error remains than plain linear skinning has.
        object_names: the meshes that were baked.
        onto_names: the meshes that have the weights: themselves, or their copies.
        vertices: how many of them follow helpers now.
        gauges: how many more bones there are that do not deform.
        deforming: how many deforming bones the armature has with the helpers.
        advice: a sentence about what to change, where more than half of the error remains, or why
            there are no helpers; else empty.
        used: sentences about what else uses the weights that have changed; empty without any.
        correctives: a sentence about the correctives that were added; empty without any.
        dry_run: whether nothing was written.
        other_budgets: about half and twice as many helper bones, where there may be as many, and
            the part of the root mean square that would remain with them, about.
        bones: how many helper bones there are.
    """

    object_names: tuple[str, ...]
    onto_names: tuple[str, ...]
    armature_name: str
    joints: tuple[JointReport, ...]
    vertices: int
    gauges: int
    deforming: int
    advice: str
    in_actions: HelperErrors | None = None
    worse: bool = False
    used: str = ""
    correctives: str = ""
    dry_run: bool = False
    other_budgets: tuple[tuple[int, float], ...] = ()
    bones: int = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bones", sum(joint.helpers for joint in self.joints))

    @property
    def written(self) -> bool:
        """Whether the characters, or their copies, have the helper bones."""
        return bool(self.bones) and not self.worse and not self.dry_run

    def sentence(self) -> str:
        """For the status line and the panel."""
        names = ", ".join(self.object_names)
        if self.bones and self.worse:
            return (
                f"Nothing was changed: {counted(self.bones, 'helper bone')} would make {names} "
                f"worse than the plain Armature modifier. {self._compared_in_poses} {self.advice}"
            ).rstrip()
        if not self.bones:
            return (
                f"{names} needs no helper bones: the plain Armature modifier is off by "
                f"{rounded(self.before.largest)} mm at most. {self.advice} "
                "Nothing was changed."
            )
        joints = sum(joint.helpers > 0 for joint in self.joints)
        onto = "" if self.onto_names == self.object_names else f" onto {', '.join(self.onto_names)}"
        begin = f"Nothing was changed. A bake of {names} gives"
        if not self.dry_run:
            begin = f"Baked {names}{onto} to"
        text = (
            f"{begin} {counted(self.bones, 'helper bone')} of "
            f"{counted(joints, 'joint')}; {counted(self.vertices, 'vertex')} "
            f"{'follows' if self.vertices == 1 else 'follow'} them. There are "
            f"{counted(self.deforming, 'deforming bone')} in all. {self._compared_in_poses}"
        )
        worst = max(self.joints, key=lambda joint: joint.after.largest)
        others = self.in_actions.after.largest if self.in_actions is not None else 0.0
        if worst.after.largest == max(self.after.largest, others):
            text += f" The largest is at {worst.bone}."
        for count, part in self.other_budgets:
            text += (
                f" With {counted(count, 'helper')} about {rounded(100.0 * part, 2)} % (rms) remain."
            )
        if self.gauges:
            text += (
                f" {counted(self.gauges, 'more bone')} {'does' if self.gauges == 1 else 'do'} not "
                "deform: export deforming bones only."
            )
        if onto:
            text += f" {names} is hidden; Alt H in Object Mode shows it."
        return " ".join(filter(None, (text, self.advice, self.used, self.correctives)))

    @property
    def _compared_in_poses(self) -> str:
        """Sentences about what remains in the poses that were not fitted."""
        text = (
            f"In {counted(self.after.poses, 'pose')} that were not fitted the largest error is "
            f"{self._compared}."
        )
        if self.in_actions is not None:
            frames = counted(self.in_actions.after.poses, "frame")
            text += f" In {frames} of its actions, not fitted either: {self.in_actions._compared}."
        return text


def last_report(obj: bpy.types.Object) -> str | None:
    """The last report about an object, as long as what it is about is there.

    It is gone once the object is enabled or disabled; that of a dry run once the object changes.
    """
    last = memory_of(obj, _LastReport)
    if last.state is not None and last.state != _state(obj):
        return None
    if last.enabled != is_enabled(obj):
        return None
    if last.of_bones and kept_record(obj) is None:
        return None
    key, names = mesh_of(obj).shape_keys, last.key_names
    if names and (key is None or names[0] not in key.key_blocks):
        return None
    return last.text or None


def forget_report(obj: bpy.types.Object) -> None:
    """Forget the report about an object."""
    memories(_LastReport).pop(obj.session_uid, None)


def remember_report(
    obj: bpy.types.Object,
    text: str,
    names: tuple[str, ...] = (),
    *,
    of_bones: bool = False,
    dry_run: bool = False,
) -> None:
    """Keep the report about an object for `last_report`.

    Args:
        names: of the shape keys that it is about.
        of_bones: whether it is about helper bones.
        dry_run: whether it is true only until the object changes.
    """
    state = _state(obj) if dry_run else None
    enabled = is_enabled(obj)
    memories(_LastReport)[obj.session_uid] = _LastReport(text, names, of_bones, enabled, state)
