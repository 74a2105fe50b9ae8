"""The crowds of viewports: all their figures posed, skinned and drawn together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import bpy
import numpy as np
from gpu.types import GPUTexture
from numpy.typing import NDArray

from ..analysis.figure_bounds import ProgramBounds, SkinBalls
from ..core.crowds import Program
from ..core.deform import Deformation
from ..core.takes import Take
from ..core.vectors import transformed_points
from ..errors import BindingError
from ..scene.binding.binding import Binding
from ..scene.binding.shape_key_offsets import Examples
from ..scene.blender.armature import world_matrix
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import rig_of
from ..scene.settings.crowd_settings import crowd_of
from ..scene.settings.object_settings import Settings
from ..session.known_objects import crowds_of_layer
from ..session.memory import memories
from ..session.status import check_soon, status_of
from ..viewport.batches import Places
from ..viewport.deformed_mesh import DeformedMesh, GpuMesh, gpu_mesh_of, most_instances
from ..viewport.draw_handler import ALSO_DRAWN, draw_as_shown, has_wire, is_visible
from ..viewport.gpu_objects import drawing_refusal
from ..viewport.look import (
    DrawnFigures,
    ViewUniforms,
    draw_solid,
    draw_wire,
    placements_texture,
    surface_materials,
    wire_colour,
)
from ..viewport.playing import followed_keys, scene_time, value_mesh
from ..viewport.poses import InstanceList, InstancePoses, ListPart, Playback
from ..viewport.shaders import PosePaletteLayout, wanted_layout
from ..viewport.take_tables import InstanceGroup
from .crowd_cast import Cast, CastGroup, CrowdSight, EntryBounds, GroupKey, ShownCrowd, Sight
from .crowd_figures import CrowdState, figures_of_crowd

# One mesh of a character on the GPU, skinned for all its figures in all crowds.


class CrowdMesh:
    """The figures' surfaces.

    Attributes:
        parts: as many as textures need; the first figures in the first one.
        most: the figures of a part but the last.
    """

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self.parts: list[DeformedMesh] = []
        self.most = most_instances(
            binding.vertex_count, binding.topology.group_count, binding.skeleton.bone_count
        )
        self._mesh: GpuMesh | None = None
        # As they are, and acting fully; those that it is deformed by.
        self._read: tuple[Settings, Settings] | None = None
        self._settings: Settings | None = None
        # How much of compensation and spread acts.
        self._shares = (1.0, 0.0)
        self._to_armature: NDArray[np.float64] = np.eye(4)
        self._place = b""
        self._deformation: Deformation | None = None
        self._linear: Deformation | None = None
        self._given: NDArray[np.float32] | None = None
        self._followed: tuple[int, ...] = ()
        # Whether one shape key is pinned: then it alone acts.
        self._pinned = False
        self._value_mesh = ""
        self._keys_follow: tuple[object, ...] = ()
        self._balls: tuple[tuple[object, ...], SkinBalls] | None = None

    def follow(
        self,
        obj: bpy.types.Object,
        armature: bpy.types.Object,
        takes: tuple[Take, ...],
        places: Places,
    ) -> bool:
        """Read what the object and its settings say now.

        Args:
            obj, armature: evaluated.
            takes: that the figures play.

        Returns:
            whether figures look different by it.

        Raises:
            BindingError: the object does not fit its binding any more.
        """
        read = Settings.of(obj)
        if self._read is None or self._read[0] != read:
            # What acts on it may be 0 for a while: that does not make it another method.
            self._read = (read, read.acting_fully)
        shares, settings = (read.factor, read.twist_spread), self._read[1]
        to_armature, place = places.of(obj, armature, self.binding)
        changed = shares != self._shares or to_armature is not self._to_armature
        if settings != self._settings or to_armature is not self._to_armature:
            self._deform_by(self.binding.deformation(settings, to_armature))
            changed = True
        self._settings, self._shares = settings, shares
        self._to_armature, self._place = to_armature, place
        return self._follow_keys(obj, takes) or changed

    def _deform_by(self, deformation: Deformation) -> None:
        self._deformation = deformation
        self._linear = replace(
            deformation,
            method="LINEAR",
            influences=deformation.skinning,
            compensation=None,
            painted=None,
            sets=None,
            blend=None,
            segments=None,
            twist_limbs=None,
        )
        if self._mesh is None or self._mesh.moved_by is not deformation.skinning:
            self._mesh = gpu_mesh_of(self.binding, deformation.skinning)
            self.parts = []

    def _follow_keys(self, obj: bpy.types.Object, takes: tuple[Take, ...]) -> bool:
        """Read the values of shape keys that do not follow a take; whether one has changed."""
        keys = self.binding.shape_keys
        if keys is None:
            return False
        followed, named = followed_keys(keys, obj), value_mesh(takes, mesh_of(obj).name)
        tracks = {key for take in takes for mesh, key in take.values.names if mesh == named}
        values = keys.values(obj)
        values[[row for row in followed if keys.key_names[row] in tracks]] = 0.0
        former = (self._followed, self._value_mesh, self._pinned)
        found = (followed, named, obj.show_only_shape_key)
        self._followed, self._value_mesh, self._pinned = found
        examples = self._examples()
        if examples is not None:
            values[examples.rows] = 0.0
        if former == found and np.array_equal(values, self._given):
            return False
        self._given = values
        return True

    def layout(self, *, linear: bool) -> PosePaletteLayout:
        """The layout of the pose palette that it reads; `linear`: some figures by LINEAR."""
        assert self._deformation is not None
        assert self._linear is not None
        layout = wanted_layout(self._deformation)
        return layout | wanted_layout(self._linear) if linear else layout

    def resize(self, count: int) -> bool:
        """Have room for so many figures; returns whether all have to be skinned again."""
        sizes = [min(self.most, count - first) for first in range(0, count, self.most)]
        # Those with room for so many figures, and not for twice as many.
        pairs = zip(self.parts, sizes, strict=False)
        fit = takewhile(lambda pair: pair[1] <= pair[0].count <= 2 * pair[1], pairs)
        self.parts = [part for part, _ in fit]
        missing = sizes[len(self.parts) :]
        assert self._mesh is not None
        for size in missing:
            self.parts.append(DeformedMesh(self._mesh, self.binding.skeleton, size))
        if missing:
            self._keys_follow = ()
        return bool(missing)

    def skin(
        self, poses: InstancePoses, group: InstanceGroup, chosen: InstanceList, *, linear: bool
    ) -> None:
        """Skin the chosen ones of its figures, of a group; `linear`: by LINEAR in any case."""
        deformation = self._linear if linear else self._deformation
        assert deformation is not None
        self._connect_keys(group)
        for number, (part, some) in enumerate(self.shown(group, chosen)):
            if part.keys is not None and self._given is not None:
                part.keys.give(self._given)
            part.deform(
                deformation,
                poses,
                group,
                self._to_armature,
                self._shares,
                first=number * self.most,
                chosen=some,
            )

    def shown(
        self, group: InstanceGroup, chosen: InstanceList
    ) -> list[tuple[DeformedMesh, ListPart]]:
        """The parts, each with the chosen ones of its figures."""
        found = []
        for number, part in enumerate(self.parts):
            first = number * self.most
            count = min(part.count, group.count - first)
            found.append((part, chosen.part(group.first_instance + first, count)))
        return found

    def balls(self) -> SkinBalls:
        """How far its skin reaches; the same object as long as it is true."""
        assert self._deformation is not None
        limit = 1.0 if self._given is None else max(1.0, float(np.abs(self._given).max(initial=0)))
        key = (self._place, self._deformation.skinning, limit)
        if self._balls is not None and self._balls[0] == key:
            return self._balls[1]
        binding, to_armature = self.binding, self._to_armature
        reach: NDArray[np.floating] | float = 0.0
        if binding.shape_keys is not None:
            moves = np.linalg.norm(binding.shape_keys.offsets @ to_armature[:3, :3].T, axis=2)
            reach = limit * moves.sum(axis=0)
        found = SkinBalls.of(
            binding.skeleton.frames[:, :3, 3],
            self._deformation.skinning,
            transformed_points(to_armature, binding.rest.astype(np.float64)),
            reach,
            binding.mask,
        )
        self._balls = (key, found)
        return found

    def _examples(self) -> Examples | None:
        """The example poses that act. Their keys are muted, so that they follow nothing else."""
        settings = None if self._pinned else self._settings
        return None if settings is None else self.binding.acting_examples(settings)

    def _connect_keys(self, group: InstanceGroup) -> None:
        """Say where the values of shape keys come from, if that has changed."""
        keys = self.binding.shape_keys
        if keys is None:
            return
        examples = self._examples()
        wanted = (group.value_names, group.bone_rows, self._followed, self._value_mesh, examples)
        if wanted == self._keys_follow:
            return
        named = {row: (self._value_mesh, keys.key_names[row]) for row in self._followed}
        for part in self.parts:
            if part.keys is not None:
                part.keys.follow(group, named, examples)
        self._keys_follow = wanted


# The figures of crowds in viewports: posed, skinned and drawn, those of all crowds together.
#
# In each frame a list says which figures a region sees. Two passes pose those that are not posed
# yet; each mesh of each character is skinned and drawn for its part of the list.


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


# The crowds of viewports: whose figures are posed, skinned and drawn together, and what fails.


# How many view layers are kept: windows may show different ones.
_KEPT = 2

FAILED = "Drawing {crowd} failed: {error}. Change the crowd to try again; the console says more."
_log = logging.getLogger(__name__)

_Drawn = tuple[bpy.types.Object, bool, CrowdState]


@dataclass(frozen=True)
class _Failure:
    """The state of a crowd that could not be drawn: it is left alone in it; and a sentence."""

    state: CrowdState
    text: str


def failure_of(crowd: bpy.types.Object, state: CrowdState | None) -> str | None:
    """Why a crowd cannot be drawn in a state, a sentence; None where nothing is wrong."""
    failed = memories(_Failure).get(crowd.session_uid)
    return failed.text if failed is not None and failed.state is state else None


class Crowds:
    """The stages of what viewports show."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, str], CrowdStage] = {}

    def in_region(
        self, context: bpy.types.Context, enabled: Sequence[bpy.types.Object]
    ) -> Callable[[ViewUniforms, bpy.types.Depsgraph], None] | None:
        """See `viewport.draw_handler.Drawing`."""
        crowds = crowds_of_layer(context.view_layer)
        if not crowds:
            self._stages.pop((context.scene.session_uid, context.view_layer.name), None)
            return None

        def draw(view: ViewUniforms, depsgraph: bpy.types.Depsgraph) -> None:
            if drawing_refusal() is None:
                shown = [(crowd, is_visible(crowd, context)) for crowd in crowds]
                for figures in self.update(shown, enabled, view, depsgraph):
                    _draw_figures(figures, view, context)

        return draw

    def update(
        self,
        crowds: Sequence[tuple[bpy.types.Object, bool]],
        enabled: Sequence[bpy.types.Object],
        view: ViewUniforms,
        depsgraph: bpy.types.Depsgraph,
    ) -> list[FigureMesh]:
        """Pose and skin the figures that a region sees; returns the meshes to draw.

        Args:
            crowds: those of the view layer, and whether the region shows each.
            enabled: the enabled objects of the file.
        """
        assert depsgraph.scene is not None
        key = (depsgraph.scene.session_uid, depsgraph.view_layer.name)
        objects = {obj.session_uid: obj for obj in enabled}
        drawn = []
        for crowd, visible in crowds:
            state = figures_of_crowd(crowd, depsgraph)
            if len(state.figures) and failure_of(crowd, state) is None:
                drawn.append((crowd, visible, state))
        if not drawn:
            self._stages.pop(key, None)
            return []
        if not any(visible for _, visible, _ in drawn):
            return []
        stage = self._stages.pop(key, None)
        stage = CrowdStage() if stage is None else stage

        def update(stage: CrowdStage, some: Sequence[_Drawn]) -> list[FigureMesh]:
            shown = [_shown(crowd, visible, depsgraph) for crowd, visible, _ in some]
            states = [state for _, _, state in some]
            return stage.update(shown, states, objects, view, depsgraph)

        try:
            found = update(stage, drawn)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still drawn
            check_soon()
            stage, drawn = CrowdStage(), _without_broken(drawn, update, error)
            found = update(stage, drawn)
        # The oldest is first.
        self._stages[key] = stage
        while len(self._stages) > _KEPT:
            del self._stages[next(iter(self._stages))]
        return found

    def free(self) -> None:
        """Free everything, and try again what has failed."""
        self._stages.clear()
        memories(_Failure).clear()


def _draw_figures(figures: FigureMesh, view: ViewUniforms, context: bpy.types.Context) -> None:
    """Draw a mesh of all figures at once. Seen through, a figure hides those behind it."""
    obj, shading = figures.obj, context.space_data.shading
    parts = [
        (part, DrawnFigures(chosen, figures.to_character))
        for part, chosen in figures.parts
        if chosen.count
    ]

    def surface(alpha: float) -> None:
        look = surface_materials(obj, shading, alpha)
        for part, drawn in parts:
            draw_solid(part, view, figures.placements, look, drawn)

    def wire() -> None:
        if has_wire(obj, context):
            colour = (*wire_colour(obj, shading, active=False, selected=False), 1.0)
            for part, drawn in parts:
                draw_wire(part, view, figures.placements, colour, drawn)

    draw_as_shown(surface, wire, context)


def _without_broken(
    drawn: Sequence[_Drawn],
    update: Callable[[CrowdStage, Sequence[_Drawn]], object],
    error: Exception,
) -> list[_Drawn]:
    """The crowds that can be drawn; those that cannot are reported.

    Each is tried alone. Where all of them can, they are too many together.
    """
    errors: dict[int, Exception] = {}
    for number, one in enumerate(drawn):
        try:
            update(CrowdStage(), [one])
        except Exception as found:  # noqa: BLE001 - it is the crowd's own
            errors[number] = found
    errors = errors or {len(drawn) - 1: error}
    for number, found in errors.items():
        # A mesh that has changed just now is bound again by the check that follows.
        if not isinstance(found, BindingError):
            crowd, _, state = drawn[number]
            _log.error("Drawing %s failed", crowd.name, exc_info=found)
            text = FAILED.format(crowd=crowd.name, error=str(found).rstrip("."))
            memories(_Failure)[crowd.session_uid] = _Failure(state, text)
    return [one for number, one in enumerate(drawn) if number not in errors]


def _shown(crowd: bpy.types.Object, visible: bool, depsgraph: bpy.types.Depsgraph) -> ShownCrowd:
    settings = crowd_of(crowd)
    matrix = np.array(crowd.evaluated_get(depsgraph).matrix_world, np.float64)
    return ShownCrowd(matrix, visible, settings.far_distance, settings.far_figures)


_crowds = Crowds()


def register() -> None:
    """Start drawing crowds."""
    ALSO_DRAWN.append(_crowds)


def unregister() -> None:
    """Stop drawing them and free the GPU."""
    ALSO_DRAWN.remove(_crowds)
    _crowds.free()
