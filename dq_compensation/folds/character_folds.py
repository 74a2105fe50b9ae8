"""Solves the folds of a character: finds joints, solves, proves and keeps them.

All meshes of a character are one skin, at rest as its armature gets it. Nothing is posed in the
scene: `core.deform` gives the base in each pose.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

import numpy as np
from bpy.types import Depsgraph, Object

from ..analysis.flesh.measures import SkinFigures, SkinMeasures
from ..analysis.flesh.region import FleshRegion
from ..analysis.flesh.solving import KeptPose, SolvedFolds, solve_folds
from ..analysis.folding_joints import (
    FoldingJoint,
    FoldWay,
    FoundJoints,
    JointsTogether,
    folding_joints,
    mirrored_way,
    way_matrices,
)
from ..analysis.mirror_map import mirrored_bones, partners_by_position
from ..arrays import Float64s, Indices, Int64s
from ..core.pose import Pose
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import extent
from ..errors import UserError
from ..scene.binding.binding import Binding
from ..scene.binding.facts import changed_since
from ..scene.binding.kept_shapes import digest_of_shapes
from ..scene.blender.own_objects import parsed_record
from ..scene.blender.rigging import rig_of
from ..scene.blender.triangle_trees import SurfaceTree
from ..scene.settings.object_settings import Settings, settings_of
from ..session.character import character_of
from ..session.status import status_of
from ..steps import Progress, part_of, with_progress
from ..wording import counted, listed
from .joined_body import JoinedBody
from .motion import known_motion
from .shape_editing import ShapeEditing, joints_with_shapes
from .shared_folds import Place, SharedFolds, SharedReport

# A joint stays where one of its figures gets better by this part, and stretch is at most so many
# times that of the base.
_BETTER, _MOST_STRETCH = 0.1, 1.15
# Half way to the last pose, what is played may be so far from what is solved there, in parts of how
# far the base is: from the first on what is solved there is kept, too; beyond the second it is
# another shape, as of skin that has buckled.
_FAR, _MOST_FAR = 0.5, 1.0
# Cells and steps of a joint that would not stay are smaller by this where it is tried again.
_FINER = 1.3
# How far the base of a joint may be from the mirror image of the other one's, in parts of the size.
_ALIKE = 2e-4
# Of ways that mirror each other: between their axes, and between their angles, degrees.
_SAME_AXIS, _SAME_ANGLE = 1e-3, 0.1

# The part of the work that is solving.
_SOLVING = 0.95

STOPPED = "Stopped. The joints that are finished keep their shapes."
NOT_BETTER = "{bone}: solved, its skin is no better than before, so it stays as it was"
FAR_BETWEEN = (
    "{bone}: between two poses its skin is far from what is solved there, so it stays as it was"
)
MORE_CROSSINGS = "{bone}: solved, its skin crosses itself more than before, so it stays as it was"


@dataclass(frozen=True)
class FoldFigures:
    """The skin round a joint in all poses that were looked at.

    Attributes:
        crossings: pairs of triangles that cross, of all poses together.
        between: those of them in the poses half way between two that are kept.
        volume_error: the mean difference of the volume from that at rest, in parts of it.
        stretch: the largest 99th percentile of the lengths of edges, in parts of those at rest.
        roughness: the mean of the root mean squares of changed angles between faces, degrees.
        far: half way to the last pose of the longest way, the distance from what is solved there,
            root mean square, in parts of that of the base.
    """

    crossings: int
    between: int
    volume_error: float
    stretch: float
    roughness: float
    far: float

    @classmethod
    def of(
        cls, figures: Sequence[SkinFigures], is_between: Sequence[bool], far: float
    ) -> FoldFigures:
        """The figures of several poses as one."""
        crossings = [each.crossings for each in figures]
        return cls(
            sum(crossings),
            sum(n for n, between in zip(crossings, is_between, strict=True) if between),
            float(np.mean([abs(each.volume - 1.0) for each in figures])),
            max(each.stretch for each in figures),
            float(np.mean([each.roughness for each in figures])),
            far,
        )


@dataclass(frozen=True)
class SolvedJointReport:
    """A joint that was solved.

    Attributes:
        bone: behind it.
        poses: how many are kept.
        before, after: the base, and with the solved shapes as they are played.
        seconds: that it took.
        mirrored: the bone of the other side whose shapes these are; empty: its own.
    """

    bone: str
    poses: int
    before: FoldFigures
    after: FoldFigures
    seconds: float
    mirrored: str = ""

    def sentence(self) -> str:
        """The figures in a line."""
        before, after = self.before, self.after
        return (
            f"{self.bone}: {counted(self.poses, 'pose')}, crossings {before.crossings} to "
            f"{after.crossings}, volume off by {before.volume_error:.1%} to "
            f"{after.volume_error:.1%}, stretch {before.stretch:.2f} to {after.stretch:.2f}, "
            f"half way {after.far:.0%} off what is solved there"
        )


@dataclass(frozen=True)
class FoldsReport:
    """What *Solve Folds* has done to a character.

    Attributes:
        character: the name of its armature.
        object_names: of its meshes.
        solved: the joints that have shapes now.
        left_out: by bone, why a joint has none.
        seconds: that it took.
        together: the joints that have shapes of combined poses besides.
        not_shared: why other ones have none, though their skin meets.
    """

    character: str
    object_names: tuple[str, ...]
    solved: tuple[SolvedJointReport, ...]
    left_out: dict[str, str]
    seconds: float
    together: tuple[SharedReport, ...] = ()
    not_shared: tuple[str, ...] = ()

    def sentence(self) -> str:
        """In a line."""
        before = sum(each.before.crossings for each in self.solved)
        after = sum(each.after.crossings for each in self.solved)
        joints = counted(len(self.solved), "joint")
        text = (
            f"{self.character}: solved {joints} in {self.seconds:.0f} s, crossings {before} to "
            f"{after}."
        )
        return text + (f" Left out: {listed(list(self.left_out))}." if self.left_out else "")

    def details(self) -> list[str]:
        """Joint by joint."""
        reports = [*self.solved, *self.together]
        found = [each.sentence() for each in reports]
        return found + [*self.left_out.values(), *self.not_shared]


def solve_character_folds(
    obj: Object, depsgraph: Depsgraph, bones: Sequence[str] | None = None, *, again: bool = False
) -> Generator[Progress, None, FoldsReport]:
    """Solve the joints of the character that an object is a mesh of; each that is finished stays.

    Args:
        bones: at whose heads joints are solved; None: all that fold. Their shapes from before go,
            those that name other joints besides, too.
        again: solve those of them that have shapes already. Shapes for another method, or for
            another number of vertices, go.

    Yields:
        progress. Closed in between, it keeps the joints that are finished.

    Raises:
        UserError: a mesh cannot be written, a bone is not there, or nothing folds; nothing has
            changed.
    """
    start = time.perf_counter()
    yield Progress(0.0, "Read the character")
    work = _Work.of(obj, depsgraph, bones, again=again)
    try:
        yield from work.run()
    finally:
        work.keep()
    left_out = {work.name(bone): reason for bone, reason in work.left_out.items()}
    names = rig_of(obj).name, tuple(mesh.editing.obj.name_full for mesh in work.body.meshes)
    seconds = time.perf_counter() - start
    combined = tuple(work.together), tuple(work.not_shared)
    return FoldsReport(*names, tuple(work.solved), left_out, seconds, *combined)


@dataclass(frozen=True, eq=False)
class FoldsPlan:
    """What *Solve Folds* would solve, before it does.

    Attributes:
        skin: n points, all meshes as one.
        triangles: shape (t, 3), points.
        joints: each is followed by that of the other side.
        partners: of each joint whose other side comes before it, the bone of that.
    """

    skin: SkinAtRest
    triangles: Int64s
    joints: list[FoldingJoint]
    partners: dict[int, int]


def folds_to_solve(
    obj: Object, depsgraph: Depsgraph, bones: Sequence[str] | None = None
) -> FoldsPlan:
    """What `solve_character_folds` would solve; its arguments, and what it raises."""
    work = _Work.of(obj, depsgraph, bones, again=False)
    joints = work.in_pairs()
    partners = {
        after.bone: before.bone
        for before, after in pairwise(joints)
        if work.partners[after.bone] == before.bone
    }
    return FoldsPlan(work.body.skin, work.body.triangles, joints, partners)


class _Work:
    """The joints of a character while they are solved.

    Attributes:
        solved: reports of those that are finished.
        left_out: reasons, by bone.
        partners: shape (B,), the bone of the other side of each, or -1.
        together, not_shared: of joints that bend together.
    """

    def __init__(self, body: JoinedBody, found: FoundJoints) -> None:
        self.body, self._found = body, found
        self.solved = list[SolvedJointReport]()
        self.left_out = dict(found.left_out)
        self.together, self.not_shared = list[SharedReport](), list[str]()
        # Of the joint that was solved last: that of the other side comes next.
        self._last: tuple[int, list[_SolvedWay]] | None = None
        self._last_figures: tuple[FoldFigures, FoldFigures]
        skeleton = body.skeleton
        self.partners = mirrored_bones(skeleton.heads, skeleton.tails)
        self._points: Indices | None = None

    @classmethod
    def of(
        cls, obj: Object, depsgraph: Depsgraph, bones: Sequence[str] | None, *, again: bool
    ) -> _Work:
        objects = [mesh.obj for mesh in character_of(cast("Object", obj.original)).meshes]
        if again:
            known = {bone for each in objects for bone in joints_with_shapes(each)}
            bones = sorted(known if bones is None else known.intersection(bones))
            if not bones:
                raise UserError(f"{obj.name} has no solved shapes to solve again.")
        body = JoinedBody.of(objects, depsgraph, anew=again)
        names = body.skeleton.names
        if unknown := sorted(set(bones or ()).difference(names)):
            raise UserError(f"{rig_of(obj).name} has no bone {listed(unknown)}.")
        editing = body.meshes[0].editing
        skin = editing.binding.skin(editing.settings)
        wanted = None if bones is None else [names.index(bone) for bone in bones]
        found = folding_joints(skin, known_motion(rig_of(obj), body.skeleton), wanted)
        if not found.joints:
            reasons = list(found.left_out.values())
            raise UserError(
                f"{reasons[0]}."
                if reasons
                else f"No joint of {rig_of(obj).name} folds. Select the bones at "
                "whose heads it does."
            )
        return cls(body, found)

    def name(self, bone: int) -> str:
        """The name of a bone."""
        return self.body.skeleton.names[bone]

    def run(self) -> Generator[Progress, None, None]:
        """Solve all joints, one after the other."""
        joints = self.in_pairs()
        sizes = [sum(len(way.degrees) for way in joint.ways) for joint in joints]
        lengths = _SOLVING * np.array(sizes) / sum(sizes)
        starts = np.cumsum(lengths) - lengths
        each = zip(joints, starts.tolist(), lengths.tolist(), strict=True)
        for joint, start, length in each:
            steps = self._solve(joint)
            doing = f"Solve {self.name(joint.bone)}"
            stoppable = not self.solved
            try:
                yield from with_progress(steps, doing, start, length, stoppable=stoppable)
            except UserError as error:
                self.left_out[joint.bone] = str(error).rstrip(".")
        yield from self._share()

    def _share(self) -> Generator[Progress, None, None]:
        """Let joints share what they move when they bend together, where skin would cross."""
        reports = {each.bone: each for each in self.solved}
        names = self.body.skeleton.names
        joints = [
            each
            for each in self._found.together
            if all(names[bone] in reports for bone in each.bones)
        ]
        looked_at = list[tuple[JointsTogether, dict[Place, bool], SharedReport | str | None]]()
        for number, each in enumerate(joints):
            shared = SharedFolds(self.body, each)
            of_other = None
            if all(reports[name].mirrored for name in shared.names):
                of_other = next((it for it in looked_at if self._mirror(each, it[0])), None)
            if of_other is None:
                start, length = number / len(joints), (1.0 - _SOLVING) / len(joints)
                doing = f"Bend {listed(shared.names, 4)} together"
                start = _SOLVING + start * (1.0 - _SOLVING)
                steps = with_progress(shared.run(), doing, start, length, stoppable=False)
                found = yield from steps
            else:
                found = shared.mirror(*of_other[1:])
            looked_at.append((each, shared.chosen, found))
            if isinstance(found, SharedReport):
                self.together.append(found)
            elif found is not None and found not in self.not_shared:
                self.not_shared.append(found)

    def _mirror(self, one: JointsTogether, other: JointsTogether) -> bool:
        """Whether joints that bend together are those of the other side, on the same ways."""
        if other.bones != tuple(self.partners[list(one.bones)].tolist()):
            return False
        ways = zip(one.ways, other.ways, strict=True)
        return all(_are_same(mirrored_way(way), of_other) for way, of_other in ways)

    def in_pairs(self) -> list[FoldingJoint]:
        """The joints, each followed by that of the other side."""
        left = {joint.bone: joint for joint in self._found.joints}
        found = list[FoldingJoint]()
        for joint in self._found.joints:
            for bone in (joint.bone, int(self.partners[joint.bone])):
                if bone in left:
                    found.append(left.pop(bone))
        return found

    def keep(self) -> None:
        """Write what is finished."""
        if self.solved:
            for mesh in self.body.meshes:
                if mesh.editing.blocks != list(mesh.editing.base.blocks):
                    text = json.dumps(_solved_from(mesh.base, mesh.editing.settings))
                    settings_of(mesh.editing.obj).solved_from = text
                    mesh.editing.keep()

    def _solve(self, joint: FoldingJoint) -> Generator[float, None, None]:
        begin, name = time.perf_counter(), self.name(joint.bone)
        ways, other = self._mirrored(joint), self.name(int(self.partners[joint.bone]))
        if ways is None:
            ways, figures = yield from part_of(self._tried(joint, 1.0), 0.0, 0.9)
            if _refusal(name, *figures) is not None:
                ways, figures = yield from part_of(self._tried(joint, _FINER), 0.9, 0.09)
            self._last_figures, other = figures, ""
        # Mirrored skin has the same figures.
        before, after = self._last_figures
        self._last = joint.bone, ways
        if (reason := _refusal(name, before, after)) is not None:
            self.left_out[joint.bone] = reason
            return
        for mesh, editing in zip(self.body.meshes, self._with(joint, ways), strict=True):
            mesh.editing = editing
        poses, seconds = sum(len(way.rows) for way in ways), time.perf_counter() - begin
        self.solved.append(SolvedJointReport(name, poses, before, after, seconds, other))

    def _tried(
        self, joint: FoldingJoint, fineness: float
    ) -> Generator[float, None, tuple[list[_SolvedWay], tuple[FoldFigures, FoldFigures]]]:
        """Solve a joint; returns its ways, and its figures as it was and as it is played."""
        ways = list[_SolvedWay]()
        for number, way in enumerate(joint.ways):
            half_way = way is joint.longest
            steps = self._solve_way(joint.bone, way, fineness, half_way=half_way)
            part = 0.95 / len(joint.ways)
            found = yield from part_of(steps, number * part, part)
            ways.append(found)
        figures = self._figures(joint.bone, ways, self._with(joint, ways))
        if _FAR < figures[1].far <= _MOST_FAR:
            ways = [each.with_half_way() for each in ways]
            figures = self._figures(joint.bone, ways, self._with(joint, ways))
        return ways, figures

    def _solve_way(
        self, bone: int, way: FoldWay, fineness: float, *, half_way: bool
    ) -> Generator[float, None, _SolvedWay]:
        """Solve the poses of a way.

        Args:
            half_way: solve half way to the last pose, too, to compare with.
        """
        degrees = list(way.degrees)
        if half_way:
            degrees.insert(-1, way.half_way)
        poses = _Poses.of(self.body, bone, way, degrees)
        kept = [
            KeptPose(each / degrees[-1], base)
            for each, base in zip(degrees, poses.bases, strict=True)
        ]
        body, rows = self.body, poses.rows[-1]
        skin, joint, end = body.skin, bone, Pose.from_matrices(rows, body.skeleton)
        if (bones := body.bones_in(rows)) is not None:
            skin, joint, end = bones.skin, int(bones.first[bone]), bones.pose(rows)
        found: SolvedFolds = yield from solve_folds(
            skin, body.triangles, [joint], end, kept, SurfaceTree, fineness=fineness
        )
        offsets = [body.everywhere(found.vertices, each) for each in found.offsets]
        middle = None
        if half_way:
            middle = degrees.pop(-2), poses.rows.pop(-2), poses.bases.pop(-2), offsets.pop(-2)
        return _SolvedWay(way, degrees, poses.rows, poses.bases, offsets, middle)

    def _mirrored(self, joint: FoldingJoint) -> list[_SolvedWay] | None:
        """The ways of the other side's joint on this side; None where the sides differ."""
        if self._last is None or self._last[0] != int(self.partners[joint.bone]):
            return None
        solved = self._last[1]
        if self._points is None:
            positions = self.body.skin.positions
            self._points = partners_by_position(positions, _ALIKE * extent(positions))
        partners, flip = self._points, np.array((-1.0, 1.0, 1.0))
        size = extent(self.body.skin.positions)
        ways, left = list[_SolvedWay](), list(solved)
        for way in joint.ways:
            image = mirrored_way(way)
            match = next((each for each in left if _are_same(each.way, image)), None)
            if match is None:
                return None
            left.remove(match)
            poses = _Poses.of(self.body, joint.bone, way, match.degrees)
            offsets = list[Float64s]()
            for base, other, offset in zip(poses.bases, match.bases, match.offsets, strict=True):
                moved = np.flatnonzero(np.abs(offset).max(axis=1) > 0.0)
                images = partners[moved]
                if (images < 0).any():
                    return None
                if np.abs(base[images] - other[moved] * flip).max(initial=0.0) > _ALIKE * size:
                    return None
                here = np.zeros_like(offset)
                here[images] = offset[moved] * flip
                offsets.append(here)
            ways.append(_SolvedWay(way, match.degrees, poses.rows, poses.bases, offsets))
        return ways

    def _with(self, joint: FoldingJoint, ways: Sequence[_SolvedWay]) -> list[ShapeEditing]:
        """The shapes of the meshes with those of a joint, in the place of those that it had."""
        name, points = self.name(joint.bone), self.body.point_of_vertex
        editings = [mesh.editing.copied() for mesh in self.body.meshes]
        moved = np.zeros(len(self.body.vertices), np.bool_)
        for way in ways:
            for offset in way.offsets:
                moved |= offset.any(axis=1)
        kind = "HINGE" if joint.hinge else "BALL"
        for mesh, editing in zip(self.body.meshes, editings, strict=True):
            editing.clear(name)
            if not moved[points[mesh.rows]].any():
                continue
            for way in ways:
                for rows, offset in zip(way.rows, way.offsets, strict=True):
                    self.body.add_shape(mesh, editing, [name], rows, offset, kind=kind)
        return editings

    def _figures(
        self, bone: int, ways: Sequence[_SolvedWay], editings: Sequence[ShapeEditing]
    ) -> tuple[FoldFigures, FoldFigures]:
        """The skin round a joint as it was, and as it is played, in kept poses and between them."""
        body = self.body
        region = FleshRegion.of(body.skin, body.triangles, [bone])
        measures = SkinMeasures(region, SurfaceTree)
        shapes = [editing.shapes() for editing in editings]
        before, after, is_between = list[SkinFigures](), list[SkinFigures](), list[bool]()
        far = 0.0
        for way in ways:
            degrees = (0.0, *way.degrees)
            middles = [0.5 * (a + b) for a, b in pairwise(degrees)]
            between = body.rows_in([way_matrices(body.skin, bone, way.way, a) for a in middles])
            bases = [*way.bases, *map(body.base, between)]
            for number, (rows, base) in enumerate(zip([*way.rows, *between], bases, strict=True)):
                played = base + body.displaced(shapes, rows)
                before.append(measures.of(base[region.vertices]))
                after.append(measures.of(played[region.vertices]))
                is_between.append(number >= len(way.rows))
            if way.half_way is not None:
                _, rows, _, direct = way.half_way
                apart = body.displaced(shapes, rows) - direct
                sizes = [float(np.linalg.norm(each[region.vertices])) for each in (apart, direct)]
                far = sizes[0] / sizes[1] if sizes[1] else 0.0
        return FoldFigures.of(before, is_between, 1.0), FoldFigures.of(after, is_between, far)


@dataclass(frozen=True, eq=False)
class _Poses:
    """The poses of a way: rows (R, 4, 4) each, and the base (n, 3) in each."""

    rows: list[Float64s]
    bases: list[Float64s]

    @classmethod
    def of(cls, body: JoinedBody, bone: int, way: FoldWay, degrees: Sequence[float]) -> _Poses:
        rows = body.rows_in([way_matrices(body.skin, bone, way, each) for each in degrees])
        return cls(rows, [body.base(each) for each in rows])


@dataclass(frozen=True, eq=False)
class _SolvedWay:
    """A way with its poses and the offsets of all points, (n, 3), armature space, in each.

    `half_way` is the same of the pose half way to the last one.
    """

    way: FoldWay
    degrees: list[float]
    rows: list[Float64s]
    bases: list[Float64s]
    offsets: list[Float64s]
    half_way: tuple[float, Float64s, Float64s, Float64s] | None = None

    def with_half_way(self) -> _SolvedWay:
        """The pose half way to the last one is kept, too."""
        if self.half_way is None:
            return self
        kept = (self.degrees, self.rows, self.bases, self.offsets)
        degrees, rows, bases, offsets = (
            [*each[:-1], half, each[-1]] for each, half in zip(kept, self.half_way, strict=True)
        )
        return replace(self, degrees=degrees, rows=rows, bases=bases, offsets=offsets)


def changed_since_solved(obj: Object) -> tuple[str, ...]:
    """What has changed since the folds of an enabled mesh were solved, for riggers; cheap."""
    binding, solved_from = status_of(obj).binding, settings_of(obj).solved_from
    if binding is None or not solved_from or not digest_of_shapes(obj):
        return ()
    return changed_since(parsed_record(solved_from), _solved_from(binding, Settings.of(obj)))


def _solved_from(binding: Binding, settings: Settings) -> dict[str, str | None]:
    """What shapes depend on, by names for riggers."""
    content = binding.content
    return {
        "mesh": content["vertices"],
        "weights": content["weights"],
        "rest pose": binding.bones_at_rest,
        "method": settings.acting_method,
    }


def _are_same(one: FoldWay, other: FoldWay) -> bool:
    if len(one.degrees) != len(other.degrees):
        return False
    apart = np.abs(np.subtract(one.axis, other.axis)).max()
    angles = np.abs(np.subtract(one.degrees, other.degrees)).max()
    return bool(apart < _SAME_AXIS and angles < _SAME_ANGLE)


def _refusal(bone: str, before: FoldFigures, after: FoldFigures) -> str | None:
    """Why a solved joint does not stay, or None."""
    if after.crossings > before.crossings:
        return MORE_CROSSINGS.format(bone=bone)
    names = ("crossings", "volume_error", "stretch", "roughness")
    pairs = [(getattr(before, name), getattr(after, name)) for name in names]
    better = any(old > 0.0 and new <= (1.0 - _BETTER) * old for old, new in pairs)
    if not better or after.stretch > _MOST_STRETCH * before.stretch:
        return NOT_BETTER.format(bone=bone)
    return FAR_BETWEEN.format(bone=bone) if after.far > _MOST_FAR else None
