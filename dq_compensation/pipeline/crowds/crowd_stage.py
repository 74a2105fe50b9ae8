"""Poses and skins the figures of all crowds of a view layer together.

In each frame a list names the figures that a region sees. Two passes pose the figures that are not
posed yet; each mesh of each character is skinned and drawn for its part of the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from bpy.types import Depsgraph, Object
from gpu.types import GPUTexture

from ...arrays import Float64s, Floats, Indices
from ...core.deform import Deformation
from ...core.vectors import transformed_points
from ...scene.binding.binding import Binding
from ...scene.blender.placement import world_matrix
from ...scene.blender.scenes import scene_time
from ...session.status import status_of
from ...viewport.batches import SkinnedMesh
from ...viewport.deformed_mesh import DeformedMesh
from ...viewport.instance_poses import InstanceGroup, InstanceList, InstancePoses, ListPart
from ...viewport.kernels import PosePaletteLayout, wanted_layout
from ...viewport.look import ViewUniforms, placements_texture
from ...viewport.members import Member, posed_member
from ..takes.played_takes import Playback
from .crowd_cast import Cast, CastGroup, CrowdSight, EntryBounds, GroupKey, ShownCrowd, Sight
from .crowd_figures import CrowdState
from .crowds import Program
from .figure_bounds import ProgramBounds, SkinBalls


class CrowdMesh(SkinnedMesh):
    """The surfaces of the figures that have one mesh of a character."""

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._linear = _by_linear(self.deformation)
        self._balls: tuple[tuple[object, ...], SkinBalls] | None = None

    def changes(self, member: Member) -> bool:
        """Take the mesh as it is now; returns whether figures look different by that."""
        former = self.member
        if self.read(member):
            self._linear = _by_linear(self.deformation)
            return True
        return (
            member.shares != former.shares
            or member.key_sources != former.key_sources
            or not np.array_equal(member.key_values, former.key_values)
        )

    def layout_of_figures(self, *, linear: bool) -> PosePaletteLayout:
        """What skinning reads of a pose; `linear`: some figures are skinned by LINEAR."""
        return self.layout | wanted_layout(self._linear) if linear else self.layout

    def skin(
        self, poses: InstancePoses, group: InstanceGroup, chosen: InstanceList, *, linear: bool
    ) -> None:
        """Skin the chosen figures of a group; `linear`: by LINEAR in any case."""
        member, deformation = self.member, self._linear if linear else self.deformation
        self.connect_keys(group)
        for number, (part, figures) in enumerate(self.shown(group, chosen)):
            if part.keys is not None and member.key_values is not None:
                part.keys.give(member.key_values)
            first, placed = number * self.most, (member.to_armature, member.shares)
            part.deform(deformation, poses, group, *placed, first=first, chosen=figures)

    def shown(
        self, group: InstanceGroup, chosen: InstanceList
    ) -> list[tuple[DeformedMesh, ListPart]]:
        """The surfaces, each with the chosen figures among its own."""
        shown = []
        for number, part in enumerate(self.parts):
            first = number * self.most
            count = min(part.count, group.count - first)
            shown.append((part, chosen.part(group.first_instance + first, count)))
        return shown

    def balls(self) -> SkinBalls:
        """How far the skin reaches from each bone; the same object as long as it is true."""
        member, skinning, limit = self.member, self.deformation.skinning, 1.0
        binding, to_armature = member.binding, member.to_armature
        if member.key_values is not None:
            limit = max(1.0, float(np.abs(member.key_values).max(initial=0)))
        solved = self.deformation.solved
        key = (member.place, skinning, limit, solved)
        if self._balls is not None and self._balls[0] == key:
            return self._balls[1]
        reach: Floats | float = 0.0
        if binding.shape_keys is not None:
            moves = np.linalg.norm(binding.shape_keys.offsets @ to_armature[:3, :3].T, axis=2)
            reach = limit * moves.sum(axis=0)
        if solved is not None:
            reach = reach + solved.reach
        rest = transformed_points(to_armature, binding.rest.astype(np.float64))
        heads = binding.skeleton.frames[:, :3, 3]
        self._balls = (key, SkinBalls.of(heads, skinning, rest, reach, binding.mask))
        return self._balls[1]


def _by_linear(deformation: Deformation) -> Deformation:
    """A deformation by LINEAR instead, for figures that are far away."""
    return replace(
        deformation,
        method="LINEAR",
        influences=deformation.skinning,
        compensation=None,
        painted=None,
        sets=None,
        blend=None,
        segments=None,
        twist_limbs=None,
        solved=None,
    )


# The number of lists that are kept: regions often see the same figures from frame to frame.
_LISTS = 8

Objects = Mapping[int, Object]
"""The enabled objects of the file, by their session_uid."""


@dataclass(frozen=True, eq=False)
class FigureMesh:
    """One mesh of a character in one drawing, to be drawn for the figures that a region sees.

    Attributes:
        obj: the evaluated object, which does not outlive the drawing.
        parts: its surfaces, each with its part of the list of figures.
        placements: of all figures.
        to_character: shape (4, 4), from the object to the space of the character.
    """

    obj: Object
    parts: Sequence[tuple[DeformedMesh, ListPart]]
    placements: GPUTexture
    to_character: Float64s


@dataclass(frozen=True, eq=False)
class _Character:
    """A group of the cast in one drawing.

    Attributes:
        armature: evaluated.
        members: by the session_uid of the object.
        of_armature: shape (4, 4), its world matrix.
    """

    group: CastGroup
    armature: Object
    members: dict[int, Member]
    of_armature: Float64s

    def to_character(self, obj: Object) -> Float64s:
        """The matrix from an object to its character, relative to the origin of the armature."""
        matrix = self.of_armature if obj is self.armature else np.array(world_matrix(obj))
        matrix = matrix.copy()
        matrix[:3, 3] -= self.of_armature[:3, 3]
        return matrix


class CrowdStage:
    """All crowds of one view layer on the GPU."""

    def __init__(self) -> None:
        self._signature: tuple[object, ...] = ()
        self._states: tuple[CrowdState, ...] = ()
        self._cast = Cast((), {}, {})
        self._sight = CrowdSight(self._cast)
        self._programs: dict[tuple[object, ...], Program] = {}
        # Characters that are copies of each other play the same programs.
        self._bounds: dict[tuple[GroupKey, Program], tuple[SkinBalls, ProgramBounds]] = {}
        self._balls: dict[GroupKey, tuple[tuple[SkinBalls, ...], SkinBalls]] = {}
        self._stretches: dict[GroupKey, tuple[Float64s, float]] = {}
        self._meshes: dict[int, CrowdMesh] = {}
        self._playback: Playback | None = None
        self._layout = PosePaletteLayout()
        self._fps, self._linear = 0.0, False
        self._lists: list[InstanceList] = []
        # Where all figures are in the world, by `CrowdSight.moved`.
        self._placements: tuple[int, GPUTexture] | None = None

    def update(
        self,
        crowds: Sequence[ShownCrowd],
        states: Sequence[CrowdState],
        objects: Objects,
        view: ViewUniforms,
        depsgraph: Depsgraph,
    ) -> list[FigureMesh]:
        """Pose and skin the figures that a region sees; returns their meshes."""
        frame, fps = scene_time(depsgraph)
        bindings = _bindings(states, objects)
        signature = (fps, *states, *bindings.values())
        rebuilt = signature != self._signature
        if rebuilt:
            self._rebuild(states, bindings)
        characters = [_character(group, objects, depsgraph) for group in self._cast.groups]
        looks_different = [self._read(character) for character in characters]
        linear = any(crowd.far_distance and crowd.far_figures == "LINEAR" for crowd in crowds)
        if rebuilt or linear != self._linear or any(looks_different):
            self._play(characters, fps, linear=linear, rebuilt=rebuilt)
            self._linear = linear
        self._signature = signature
        for character, changed in zip(characters, looks_different, strict=True):
            if changed:
                self._sight.skin_again(character.group.numbers)
        self._sight.place(crowds)
        bounds = [self._bounds_of(character) for character in characters]
        matrices = (view.to_view, view.to_clip)
        sight = self._sight.figures_in_view(crowds, bounds, *matrices, frame, fps)
        if not len(sight.seen):
            return []
        seen = self._skin(characters, sight, frame)
        if self._placements is None or self._placements[0] != self._sight.moved:
            self._placements = (self._sight.moved, placements_texture(self._sight.places))
        placements, groups = self._placements[1], self._playback.groups if self._playback else ()
        return [
            FigureMesh(
                member.obj,
                self._meshes[uid].shown(group, seen),
                placements,
                character.to_character(member.obj),
            )
            for character, group in zip(characters, groups, strict=True)
            for uid, member in character.members.items()
        ]

    def _rebuild(self, states: Sequence[CrowdState], bindings: Mapping[int, Binding]) -> None:
        """Take other figures; the data of their characters and takes are kept."""
        self._cast = Cast(states, bindings, self._programs)
        self._sight = CrowdSight(self._cast)
        self._placements = None
        groups = self._cast.groups
        played = {(group.key, entry.program) for group in groups for entry in group.entries}
        programs = {program for _, program in played}
        self._programs = {key: each for key, each in self._programs.items() if each in programs}
        self._bounds = {each: bounds for each, bounds in self._bounds.items() if each in played}
        bound = {uid: binding for group in groups for uid, binding in group.bindings.items()}
        self._meshes = {
            uid: mesh for uid, mesh in self._meshes.items() if bound.get(uid) is mesh.member.binding
        }

    def _read(self, character: _Character) -> bool:
        """Take the meshes of a character as they are; returns whether it looks different."""
        changed, numbers = False, character.group.numbers
        for uid, member in character.members.items():
            mesh = self._meshes.get(uid)
            if mesh is None:
                mesh = self._meshes[uid] = CrowdMesh(member)
            changed |= mesh.changes(member)
            changed |= mesh.resize(numbers.stop - numbers.start)
        return changed

    def _play(
        self, characters: Sequence[_Character], fps: float, *, linear: bool, rebuilt: bool
    ) -> None:
        """Bring the takes and the times of all figures to the GPU."""
        layout = PosePaletteLayout()
        for character in characters:
            for uid in character.members:
                layout |= self._meshes[uid].layout_of_figures(linear=linear)
        enough = self._playback is not None and layout | self._layout == self._layout
        if enough and not rebuilt:
            return
        instances = [group.instances(fps) for group in self._cast.groups]
        playback = self._playback if enough and self._fps == fps else None
        if playback is not None and playback.has_takes_of(instances):
            playback.change(instances)
            return
        self._playback = None
        self._playback = Playback(instances, layout, fps)
        self._layout, self._fps = layout, fps
        self._sight.skin_again(slice(None))

    def _bounds_of(self, character: _Character) -> list[EntryBounds]:
        """The spheres around the figures of each entry, see `CrowdSight.figures_in_view`."""
        balls = tuple(self._meshes[uid].balls() for uid in character.members)
        known_balls = self._balls.get(character.group.key)
        if known_balls is None or known_balls[0] != balls:
            known_balls = self._balls[character.group.key] = (balls, SkinBalls.together(balls))
        every = known_balls[1]
        heads = character.group.binding.skeleton.frames[:, :3, 3]
        matrix = character.to_character(character.armature)
        known_matrix = self._stretches.get(character.group.key)
        if known_matrix is None or not np.array_equal(known_matrix[0], matrix):
            stretch = float(np.linalg.norm(matrix[:3, :3], 2))
            known_matrix = self._stretches[character.group.key] = (matrix, stretch)
        of_entries = []
        for entry in character.group.entries:
            key = (character.group.key, entry.program)
            known = self._bounds.get(key)
            if known is None or known[0] is not every:
                bounds = ProgramBounds.of(entry.program, heads, every)
                known = self._bounds[key] = (every, bounds)
            of_entries.append(EntryBounds(known[1], *known_matrix))
        return of_entries

    def _skin(self, characters: Sequence[_Character], sight: Sight, frame: float) -> InstanceList:
        """Pose and skin the figures that are due; returns the list of all visible figures."""
        seen = self._list(sight.seen)
        if not len(sight.due) or self._playback is None:
            return seen
        due = seen if len(sight.due) == len(sight.seen) else self._list(sight.due)
        self._playback.pose(frame, due)
        for numbers, linear in ((sight.near, False), (sight.linear, True)):
            if not len(numbers):
                continue
            chosen = due if len(numbers) == len(sight.due) else self._list(numbers)
            for character, group in zip(characters, self._playback.groups, strict=True):
                for uid in character.members:
                    self._meshes[uid].skin(self._playback, group, chosen, linear=linear)
        return seen

    def _list(self, numbers: Indices) -> InstanceList:
        """A list of figures on the GPU; one of the last few lists where it is equal."""
        for kept in self._lists:
            if np.array_equal(kept.numbers, numbers):
                return kept
        new = InstanceList(numbers)
        self._lists = [new, *self._lists[: _LISTS - 1]]
        return new


def _bindings(states: Sequence[CrowdState], objects: Objects) -> dict[int, Binding]:
    """The bindings of the meshes of all roles, by the session_uid of the object."""
    uids = (uid for state in states for role in state.roles for uid in role.mesh_uids)
    bound = {uid: status_of(objects[uid]).binding for uid in uids if uid in objects}
    return {uid: binding for uid, binding in bound.items() if binding is not None}


def _character(group: CastGroup, objects: Objects, depsgraph: Depsgraph) -> _Character:
    members = {
        uid: posed_member(objects[uid], binding, depsgraph, group)
        for uid, binding in group.bindings.items()
    }
    armature = next(iter(members.values())).armature
    return _Character(group, armature, members, np.array(world_matrix(armature)))
