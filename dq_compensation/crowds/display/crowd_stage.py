"""The figures of crowds in viewports: posed, skinned and drawn, those of all crowds together.

In each frame a list says which figures a region sees. Two passes pose those that are not posed
yet; each mesh of each character is skinned and drawn for its part of the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from gpu.types import GPUTexture
from numpy.typing import NDArray

from ...analysis.program_bounds import ProgramBounds, SkinBalls
from ...core.crowds import Program
from ...scene.binding.binding import Binding
from ...scene.blender.armature import world_matrix
from ...scene.blender.rigging import rig_of
from ...session.status import status_of
from ...viewport.gpu.kernels import PosePaletteLayout
from ...viewport.look.surface import ViewUniforms, placements_texture
from ...viewport.objects.members import Places
from ...viewport.poses.instance_lists import InstanceList, ListPart
from ...viewport.poses.instance_poses import Playback
from ...viewport.skinning.deformed_mesh import DeformedMesh
from ...viewport.takes.playing import scene_time
from ..crowd_figures import CrowdState
from .crowd_cast import Cast, CastGroup, GroupKey
from .crowd_mesh import CrowdMesh
from .crowd_sight import CrowdSight, EntryBounds, ShownCrowd, Sight

# How many lists are kept: what regions see stays the same from frame to frame.
_LISTS = 8

Objects = Mapping[int, bpy.types.Object]
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

    obj: bpy.types.Object
    parts: Sequence[tuple[DeformedMesh, ListPart]]
    placements: GPUTexture
    to_character: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Character:
    """A group of the cast, and its objects in one drawing, evaluated."""

    group: CastGroup
    armature: bpy.types.Object
    objects: dict[int, bpy.types.Object]
    # Its world matrix, shape (4, 4).
    of_armature: NDArray[np.float64]

    def to_character(self, obj: bpy.types.Object) -> NDArray[np.float64]:
        """From an object to the space of the character, whose origin is that of the armature."""
        found = self.of_armature if obj is self.armature else np.array(world_matrix(obj))
        found = found.copy()
        found[:3, 3] -= self.of_armature[:3, 3]
        return found


class CrowdStage:
    """The crowds of one view layer on the GPU."""

    def __init__(self) -> None:
        self._signature: tuple[object, ...] = ()
        self._states: tuple[CrowdState, ...] = ()
        self._cast = Cast((), {}, {})
        self._sight = CrowdSight(self._cast)
        self._programs: dict[tuple[object, ...], Program] = {}
        # Characters that are copies of each other play the same programs.
        self._bounds: dict[tuple[GroupKey, Program], tuple[SkinBalls, ProgramBounds]] = {}
        self._balls: dict[GroupKey, tuple[tuple[SkinBalls, ...], SkinBalls]] = {}
        self._stretches: dict[GroupKey, tuple[NDArray[np.float64], float]] = {}
        self._meshes: dict[int, CrowdMesh] = {}
        self._playback: Playback | None = None
        self._layout = PosePaletteLayout()
        self._fps, self._linear = 0.0, False
        self._lists: list[InstanceList] = []
        self._object_places = Places()
        # Where all figures are in the world, by `CrowdSight.moved`.
        self._placements: tuple[int, GPUTexture] | None = None

    def update(
        self,
        crowds: Sequence[ShownCrowd],
        states: Sequence[CrowdState],
        objects: Objects,
        view: ViewUniforms,
        depsgraph: bpy.types.Depsgraph,
    ) -> list[FigureMesh]:
        """Pose and skin what a region sees; returns the meshes to draw."""
        frame, fps = scene_time(depsgraph)
        bindings = _bindings(states, objects)
        signature = (fps, *states, *bindings.values())
        rebuilt = signature != self._signature
        if rebuilt:
            self._rebuild(states, bindings)
        characters = [_character(group, objects, depsgraph) for group in self._cast.groups]
        looks_different = [self._follow(character) for character in characters]
        linear = any(crowd.far_distance and crowd.far_figures == "LINEAR" for crowd in crowds)
        if rebuilt or linear != self._linear or any(looks_different):
            self._play(characters, fps, linear=linear, rebuilt=rebuilt)
            self._linear = linear
        self._signature = signature
        for character, changed in zip(characters, looks_different, strict=True):
            if changed:
                self._sight.forget(character.group.numbers)
        self._sight.place(crowds)
        bounds = [self._bounds_of(character) for character in characters]
        matrices = (view.to_view, view.to_clip)
        sight = self._sight.look(crowds, bounds, *matrices, frame, fps)
        if not len(sight.seen):
            return []
        seen = self._skin(characters, sight, frame)
        if self._placements is None or self._placements[0] != self._sight.moved:
            self._placements = (self._sight.moved, placements_texture(self._sight.places))
        placements, groups = self._placements[1], self._playback.groups if self._playback else ()
        return [
            FigureMesh(
                obj, self._meshes[uid].shown(group, seen), placements, character.to_character(obj)
            )
            for character, group in zip(characters, groups, strict=True)
            for uid, obj in character.objects.items()
        ]

    def _rebuild(self, states: Sequence[CrowdState], bindings: Mapping[int, Binding]) -> None:
        """Take other figures; what their characters and takes need is kept."""
        self._cast = Cast(states, bindings, self._programs)
        self._sight = CrowdSight(self._cast)
        self._placements = None
        groups = self._cast.groups
        played = {(group.key, entry.program) for group in groups for entry in group.entries}
        programs = {program for _, program in played}
        self._programs = {key: each for key, each in self._programs.items() if each in programs}
        self._bounds = {each: found for each, found in self._bounds.items() if each in played}
        wanted = {uid: binding for group in groups for uid, binding in group.bindings.items()}
        self._meshes = {
            uid: mesh for uid, mesh in self._meshes.items() if wanted.get(uid) is mesh.binding
        }
        for uid, binding in wanted.items():
            if uid not in self._meshes:
                self._meshes[uid] = CrowdMesh(binding)
        self._object_places.keep_only(set(wanted))

    def _follow(self, character: _Character) -> bool:
        """Read the settings of a character's meshes; returns whether it looks different."""
        changed, group = False, character.group
        takes, numbers = group.takes, group.numbers
        for uid, obj in character.objects.items():
            mesh = self._meshes[uid]
            changed |= mesh.follow(obj, character.armature, takes, self._object_places)
            changed |= mesh.resize(numbers.stop - numbers.start)
        return changed

    def _play(
        self, characters: Sequence[_Character], fps: float, *, linear: bool, rebuilt: bool
    ) -> None:
        """Have the takes and the times of all figures on the GPU.

        Args:
            linear: whether some figures may be skinned by LINEAR.
            rebuilt: whether the figures are others.
        """
        layout = PosePaletteLayout()
        for character in characters:
            for uid in character.objects:
                layout |= self._meshes[uid].layout(linear=linear)
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
        self._sight.forget(slice(None))

    def _bounds_of(self, character: _Character) -> list[EntryBounds]:
        """The spheres around the figures of each entry, see `CrowdSight.look`."""
        balls = tuple(self._meshes[uid].balls() for uid in character.objects)
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
        found = []
        for entry in character.group.entries:
            key = (character.group.key, entry.program)
            known = self._bounds.get(key)
            if known is None or known[0] is not every:
                bounds = ProgramBounds.of(entry.program, heads, every)
                known = self._bounds[key] = (every, bounds)
            found.append(EntryBounds(known[1], *known_matrix))
        return found

    def _skin(self, characters: Sequence[_Character], sight: Sight, frame: float) -> InstanceList:
        """Pose and skin what is due; returns the list of what is seen."""
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
                for uid in character.objects:
                    self._meshes[uid].skin(self._playback, group, chosen, linear=linear)
        return seen

    def _list(self, numbers: NDArray[np.intp]) -> InstanceList:
        """A list on the GPU; one of the last few where it is the same."""
        for known in self._lists:
            if np.array_equal(known.numbers, numbers):
                return known
        found = InstanceList(numbers)
        self._lists = [found, *self._lists[: _LISTS - 1]]
        return found


def _bindings(states: Sequence[CrowdState], objects: Objects) -> dict[int, Binding]:
    """The bindings of the meshes of all roles, by the session_uid of the object."""
    uids = (uid for state in states for role in state.roles for uid in role.mesh_uids)
    bound = {uid: status_of(objects[uid]).binding for uid in uids if uid in objects}
    return {uid: binding for uid, binding in bound.items() if binding is not None}


def _character(group: CastGroup, objects: Objects, depsgraph: bpy.types.Depsgraph) -> _Character:
    originals = {uid: objects[uid] for uid in group.bindings}
    armature = rig_of(next(iter(originals.values()))).evaluated_get(depsgraph)
    evaluated = {uid: obj.evaluated_get(depsgraph) for uid, obj in originals.items()}
    return _Character(group, armature, evaluated, np.array(world_matrix(armature)))
