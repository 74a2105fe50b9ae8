"""Finds the roles and the figures of each crowd, again only when something has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import bpy
import numpy as np
from bpy.types import Context, Depsgraph, Object, ViewLayer
from mathutils import Matrix

from ..arrays import Float64s, Int32s, Int64s
from ..core.crowds import Figures, Variation, curve_places, figures_of, grid_places, point_places
from ..core.takes import Take, node_names
from ..errors import UserError
from ..scene.binding.binding import Binding
from ..scene.blender.armature import deforming_bones, is_invertible, is_place_unknown
from ..scene.blender.own_objects import is_hidden
from ..scene.blender.rigging import find_rig
from ..scene.settings.addon_preferences import crowd_limits
from ..scene.settings.crowd_settings import (
    TYPES,
    DQCompensationCrowd,
    DQCompensationCrowdRole,
    Layout,
    crowd_of,
    roles_of,
)
from ..scene.settings.declaration import (
    CROWD_CHANGED,
    FOLLOWED_SETTING_CHANGED,
    ROLE_CHANGED,
    only_with,
)
from ..scene.settings.take_settings import find_take
from ..session.changes import EDIT, FRAME, LOADED, RESTORED, Changes
from ..session.known_objects import (
    all_crowds,
    change_count,
    crowds,
    enabled_objects,
    forget_crowds,
    note_change,
)
from ..session.known_takes import read_take, take_problem
from ..session.memory import keep_only, memories, memory_of
from ..session.status import DelayedCall, check_soon, status_of, tag_redraw
from ..viewport.gpu_objects import TEXTURE_WIDTH, row_count
from ..wording import counted, sized

# The places of the figures: points and splines of the object that the figures of a crowd stand on.

_DISABLED = (
    "{obj} is disabled in viewports or excluded, so Blender does not evaluate it. Enable it; the "
    "eye in the Outliner may hide it."
)

Spline = tuple[Float64s, bool]
"""The points of a spline as straight lines, shape (P, 3), and whether it is closed."""


def _layout_refusal(obj: Object, layout: Layout, depsgraph: Depsgraph) -> str | None:
    """The reason why figures cannot stand on an object in any case, or None; cheap."""
    if obj.type not in TYPES[layout]:
        kind = "a curve" if layout == "CURVE" else "a mesh or a point cloud"
        return f"{obj.name} is not {kind}. Choose one as the layout's object."
    if obj.hide_viewport or not _is_in_enabled_collection(obj, depsgraph.view_layer):
        return _DISABLED.format(obj=obj.name)
    return None


def _is_in_enabled_collection(obj: Object, view_layer: ViewLayer | None) -> bool:
    """Whether the collections of an object let Blender evaluate it for the viewport.

    `is_evaluated` does not say: the crowd's pointer brings the object into the dependency graph, as
    it is without modifiers.
    """
    collections = set(obj.users_collection)
    left = [view_layer.layer_collection] if view_layer is not None else []
    while left:
        layer = left.pop()
        if layer.collection.hide_viewport:
            continue
        if not layer.exclude and layer.collection in collections:
            return True
        left.extend(layer.children)
    return False


def _layout_points(obj: Object, depsgraph: Depsgraph) -> Float64s:
    """The points of a mesh object or a point cloud behind its modifiers, object space: (P, 3).

    Where modifiers leave no vertices, those of the point cloud that they make; Blender 4.2 does not
    give it to Python.

    The object has no `_layout_refusal`. Without points it is a UserError.
    """
    evaluated: Any = obj.evaluated_get(depsgraph)
    data = evaluated.data
    if not _point_count(data) and hasattr(evaluated, "evaluated_geometry"):
        data = evaluated.evaluated_geometry().pointcloud
    if data is None or not (count := _point_count(data)):
        raise UserError(f"{obj.name} has no points behind its modifiers. Give it vertices.")
    points = np.empty((count, 3), np.float32)
    data.attributes["position"].data.foreach_get("vector", points.ravel())
    return points.astype(np.float64)


def longest_side(objects: Iterable[Object]) -> float:
    """The longest side of the objects' common box, along the axes of the world."""
    corners = [
        np.array(obj.bound_box) @ np.array(obj.matrix_world.to_3x3()).T
        + obj.matrix_world.translation
        for obj in objects
    ]
    return float(np.ptp(np.concatenate(corners), axis=0).max())


def _point_count(data: Any) -> int:
    position = data.attributes.get("position")
    return 0 if position is None else len(position.data)


def _layout_splines(obj: Object, depsgraph: Depsgraph) -> list[Spline]:
    """The splines of a curve object behind its modifiers, object space.

    The object has no `_layout_refusal`. Without a spline for figures it is a UserError.
    """
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        if mesh is None or not len(mesh.edges):
            raise UserError(f"{obj.name} has no length. Draw a curve in it.")
        if len(mesh.polygons):
            raise UserError(
                f"{obj.name} has a surface. Set its Bevel and Extrude to 0 and its Fill Mode to "
                "None, or choose a copy without them."
            )
        points = np.empty((len(mesh.vertices), 3), np.float32)
        edges = np.empty((len(mesh.edges), 2), np.int32)
        mesh.vertices.foreach_get("co", points.ravel())
        mesh.edges.foreach_get("vertices", edges.ravel())
    finally:
        evaluated.to_mesh_clear()
    return _splines_of(points.astype(np.float64), edges)


def _splines_of(points: Float64s, edges: Int32s) -> list[Spline]:
    """The splines of a mesh that was made from a curve. The points of a spline are neighbours.

    Args:
        points: shape (P, 3).
        edges: shape (E, 2), from each point to the next of its spline.
    """
    low, high = edges.min(axis=1), edges.max(axis=1)
    follows = np.zeros(len(points), np.bool_)
    follows[high[high == low + 1]] = True
    starts = np.flatnonzero(~follows)
    closing = set(zip(low.tolist(), high.tolist(), strict=True))
    splines = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(points)], strict=True):
        closed = end - start > 2 and (start, end - 1) in closing
        if end - start > 1:
            splines.append((points[start:end], closed))
    return splines


_LAYOUT_DELETED = "{obj} was deleted. Undo that, or choose another object to stand on."

Worlds = tuple[Matrix, Matrix] | None
"""The world matrices of a crowd and of the object that its figures stand on."""


class LayoutPoints(dict[str, list[Spline]]):
    """The points or splines of an object by the layout, object space."""


def layout_worlds(crowd: Object, depsgraph: Depsgraph) -> Worlds:
    """The world matrices of the crowd and the layout's object; None without such an object."""
    settings = crowd_of(crowd)
    if settings.layout == "GRID" or settings.layout_object is None:
        return None
    both = (crowd, settings.layout_object)
    of_crowd, of_object = (obj.evaluated_get(depsgraph).matrix_world.copy() for obj in both)
    return of_crowd, of_object


def layout_signature(settings: DQCompensationCrowd, depsgraph: Depsgraph) -> tuple[object, ...]:
    """A key that differs where `wanted_places` gives another result, but for the object's place."""
    obj = settings.layout_object
    if settings.layout == "GRID" or obj is None:
        return ()
    refusal = _layout_refusal(obj, settings.layout, depsgraph)
    read = settings.layout in memory_of(obj, LayoutPoints)
    return obj.session_uid, obj.name, bool(obj.users_collection), refusal, read


def wanted_places(
    crowd: Object, worlds: Worlds, depsgraph: Depsgraph, most: int
) -> tuple[int, Float64s | None]:
    """The number of figures, and the places of at most so many; None for a grid.

    Raises:
        UserError: there is nothing to stand on.
    """
    settings = crowd_of(crowd)
    if settings.layout == "GRID":
        return settings.count, None
    obj = settings.layout_object
    if obj is None:
        raise UserError(f"{crowd.name} has no object to stand on. Choose one, or the layout Grid.")
    if not obj.users_collection:
        raise UserError(_LAYOUT_DELETED.format(obj=obj.name))
    assert worlds is not None
    world, world_below = (np.array(matrix, np.float64) for matrix in worlds)
    if not is_invertible(world):
        raise UserError(
            f"{crowd.name} has a scale of zero on at least one axis. Give it a size again."
        )
    to_crowd = np.linalg.inv(world) @ world_below
    if reason := _layout_refusal(obj, settings.layout, depsgraph):
        raise UserError(reason)
    splines = [
        (points @ to_crowd[:3, :3].T + to_crowd[:3, 3], closed)
        for points, closed in _splines(obj, settings, depsgraph)
    ]
    if settings.layout == "CURVE":
        return settings.count, curve_places(splines, min(settings.count, most))
    points = splines[0][0][: settings.count]
    return len(points), point_places(points[:most])


def _splines(obj: Object, settings: DQCompensationCrowd, depsgraph: Depsgraph) -> list[Spline]:
    read, layout = memory_of(obj, LayoutPoints), settings.layout
    if layout not in read:
        points = layout == "POINTS"
        read[layout] = (
            [(_layout_points(obj, depsgraph), False)] if points else _layout_splines(obj, depsgraph)
        )
    return read[layout]


# Finds the characters, meshes and takes of the roles of a crowd.
#
# A role with a problem plays nothing; its figures are left out, and the others stay as they are.

_CHARACTER_DELETED = "{character} was deleted. Undo that, or choose another character."
_NO_MESH = "{character} deforms no mesh. Append its meshes, too, or choose another character."
_NOT_ENABLED = "{character} deforms no enabled mesh. Select it and press Enable."
_NO_TAKE = "The role of {character} has no take. Choose one."
_POSITION_BYTES, _NORMAL_BYTES = 16, 8
# Of each row of a pose: its transform against its parent, three pixels; its row in a palette, five
# at most; the joints and the limb at its head, eight at most.
_POSE_ROW_BYTES = 16 * 16


@dataclass(frozen=True, eq=False)
class Role:
    """The character and takes of some figures, without Blender data; see `role_objects`.

    Attributes:
        number: in the list of the crowd.
        armature_uid, mesh_uids: the session_uid of the character and of its enabled meshes.
        take_names: of the first take, and of the second one if there is one.
        first, second, fade_frames: as cached; they are fitted to a binding before they are played.
        bytes: of one figure on the GPU.
    """

    number: int
    armature_uid: int
    armature_name: str
    mesh_uids: tuple[int, ...]
    take_names: tuple[str, ...]
    first: Take
    second: Take | None
    fade_frames: float
    bytes: int


Signature = tuple[object, ...]


def enabled_meshes() -> dict[int, list[Object]]:
    """The enabled meshes of the file that are in a collection, by the uid of their armature."""
    by_armature: dict[int, list[Object]] = {}
    for obj in enabled_objects():
        rig = find_rig(obj)
        if rig is not None and obj.users_collection:
            by_armature.setdefault(rig.session_uid, []).append(obj)
    return by_armature


def _role_signature(
    item: DQCompensationCrowdRole, meshes: Mapping[int, Sequence[Object]]
) -> Signature:
    """A key that differs where `_role` gives another result."""
    character = item.character
    if character is None:
        return (None, item.share)
    return (
        character.session_uid,
        character.name,
        bool(character.users_collection),
        is_place_unknown(character),
        item.share,
        item.take,
        item.then,
        item.fade_frames,
        *(_stored(character, name) for name in (item.take, item.then)),
        *(
            (obj.session_uid, obj.name, status_of(obj).binding, status_of(obj).problem)
            for obj in meshes.get(character.session_uid, ())
        ),
    )


def _role(
    number: int,
    item: DQCompensationCrowdRole,
    meshes: Mapping[int, Sequence[Object]],
    problems: list[str],
) -> Role:
    """A role that can be played; UserError where nothing of it can be drawn."""
    character = item.character
    if character is None:
        raise UserError(f"Role {number + 1} has no character. Choose an armature.")
    name = character.name
    if character.type != "ARMATURE":
        raise UserError(f"{name} is not an armature. Choose the armature of the character.")
    if not character.users_collection:
        raise UserError(_CHARACTER_DELETED.format(character=name))
    objects = meshes.get(character.session_uid, ())
    if not objects:
        shown = [obj for obj in bpy.data.objects if obj.users_collection and not is_hidden(obj)]
        deforms = any(find_rig(obj) == character for obj in shown)
        raise UserError((_NOT_ENABLED if deforms else _NO_MESH).format(character=name))
    for obj in objects:
        if reason := status_of(obj).problem:
            raise UserError(reason)
    if not item.take:
        raise UserError(_NO_TAKE.format(character=name))
    if is_place_unknown(character):
        problems.append(
            f"{name} is excluded from the view layer, and a bone or a constraint places it: its "
            "turn and its size are not known. Include its collection once after opening the file."
        )
    names = tuple(filter(None, (item.take, item.then)))
    bindings = [binding for obj in objects if (binding := status_of(obj).binding) is not None]
    takes = [_take(character, take, bindings, problems) for take in names]
    second = takes[1] if len(takes) > 1 else None
    rows = max((binding.skeleton.row_count for binding in bindings), default=0)
    return Role(
        number,
        character.session_uid,
        name,
        tuple(obj.session_uid for obj in objects),
        names,
        takes[0],
        second,
        item.fade_frames,
        figure_bytes(map(_counts, objects), rows or takes[0].node_count),
    )


def _take(character: Object, name: str, bindings: Sequence[Binding], problems: list[str]) -> Take:
    if problem := take_problem(character, name):
        raise UserError(problem)
    item = find_take(character, name)
    assert item is not None
    take = read_take(item)
    rows = node_names(bindings[0].skeleton) if bindings else take.node_names
    missing = set(rows) - set(take.node_names)
    if len(missing) == len(rows):
        raise UserError(
            f"The take {name} has none of the bones of {character.name}. Copy it from an armature "
            "with bones of the same names, or cache another one."
        )
    still = missing & deforming_bones(character)
    if still:
        verb, rest = ("is", "rests") if len(still) == 1 else ("are", "rest")
        problems.append(
            f"{counted(len(still), 'bone')} of {character.name} {verb} not in the take {name} and "
            f"{rest}. If bones were added or renamed, cache the take again."
        )
    return take


def figure_bytes(meshes: Iterable[tuple[int, int]], pose_rows: int) -> int:
    """The memory of one figure on the GPU.

    Args:
        meshes: of each mesh, the number of its vertices and of its normals.
        pose_rows: the rows of a pose of its armature.
    """
    return pose_rows * _POSE_ROW_BYTES + TEXTURE_WIDTH * sum(
        row_count(vertices) * _POSITION_BYTES + row_count(normals) * _NORMAL_BYTES
        for vertices, normals in meshes
    )


def _counts(obj: Object) -> tuple[int, int]:
    """The vertices and the normals of a mesh object."""
    binding = status_of(obj).binding
    if binding is not None:
        return binding.vertex_count, binding.topology.group_count
    count = len(obj.data.vertices)  # type: ignore[union-attr]
    return count, count


def _stored(character: Object, name: str) -> tuple[bool, int | None]:
    """Whether there is a take of a name, and the session_uid of its data-block."""
    item = find_take(character, name) if name else None
    stored = item.stored if item is not None else None
    return item is not None, stored.session_uid if stored is not None else None


# Seconds from the last change until the panel shows its result.
_PANEL_AFTER = 0.1


@dataclass(frozen=True, eq=False)
class CrowdState:
    """The roles and figures of a crowd. It is the same object as long as nothing has changed.

    Attributes:
        roles: those that can be played.
        figures: in the crowd's space; `figures.roles` are places in `roles`.
        start_frame: the frame of the scene at which each figure is at its phase.
        problems: sentences for the panel.
        bytes: what the figures take on the GPU.
    """

    roles: tuple[Role, ...]
    figures: Figures
    start_frame: float
    problems: tuple[str, ...]
    bytes: int

    @cached_property
    def ground(self) -> Float64s:
        """Shape (2, 2): the least and the largest x and y at which figures stand."""
        places = self.figures.places[:, :2, 3]
        return np.stack((places.min(axis=0), places.max(axis=0)))


@dataclass
class _LayerState:
    """The last state of a crowd in a view layer, and its sources."""

    change_count: int
    worlds: Worlds
    signature: Signature
    state: CrowdState


@dataclass
class _CrowdMemory:
    """The states of a crowd by scene (session_uid) and view layer, and the state of the panel."""

    states: dict[tuple[int, str], _LayerState] = field(default_factory=dict)
    shown: CrowdState | None = None


def figures_of_crowd(crowd: Object, depsgraph: Depsgraph) -> CrowdState:
    """The figures of a crowd, evaluated; the same object as long as nothing has changed."""
    crowd = cast("Object", crowd.original)
    states = memory_of(crowd, _CrowdMemory).states
    key = (depsgraph.scene.session_uid, depsgraph.view_layer.name)
    worlds, last = layout_worlds(crowd, depsgraph), states.get(key)
    if last is not None and last.worlds == worlds:
        if last.change_count == change_count():
            return last.state
        if last.signature == _signature(crowd, depsgraph):
            last.change_count = change_count()
            return last.state
    state = _state(crowd, worlds, depsgraph)
    # Only now: what figures stand on has been read.
    states[key] = _LayerState(change_count(), worlds, _signature(crowd, depsgraph), state)
    return state


def known_state(crowd: Object) -> CrowdState | None:
    """The last state of a crowd; None before it was drawn or asked for."""
    return next((last.state for last in memory_of(crowd, _CrowdMemory).states.values()), None)


def role_objects(crowd: Object, state: CrowdState) -> list[tuple[Object, tuple[Object, ...]]]:
    """The armature and the meshes of each role of a state, in its order.

    They must not outlive the function that asks for them.
    """
    items, meshes = roles_of(crowd), enabled_meshes()
    objects = []
    for role in state.roles:
        character = items[role.number].character
        assert character is not None
        objects.append((character, tuple(meshes.get(role.armature_uid, ()))))
    return objects


def meshes_inside(crowd: Object, state: CrowdState) -> list[Object]:
    """The meshes of the characters of a crowd that stand among its figures and are shown."""
    found: list[Object] = []
    if not len(state.figures):
        return found
    settings, into = crowd_of(crowd), crowd.matrix_world.inverted_safe()
    around = settings.spacing / 2.0 if settings.layout == "GRID" else 0.0
    items = roles_of(crowd)
    if any(r.number >= len(items) or items[r.number].character is None for r in state.roles):
        return found  # the roles have changed since
    for character, meshes in role_objects(crowd, state):
        place = np.array((into @ character.matrix_world.translation)[:2])
        if (place >= state.ground[0] - around).all() and (place <= state.ground[1] + around).all():
            # One in an excluded collection is not in the view layer.
            here = [mesh for mesh in meshes if mesh.name in bpy.context.view_layer.objects]
            found += [mesh for mesh in here if mesh.visible_get() or not mesh.hide_render]
    return list(dict.fromkeys(found))


def _signature(crowd: Object, depsgraph: Depsgraph) -> Signature:
    """A key that differs where `_state` gives another result, but for the layout's place."""
    settings, meshes = crowd_of(crowd), enabled_meshes()
    return (
        crowd.name,
        settings.count,
        settings.layout,
        settings.spacing,
        settings.columns,
        settings.start_frame,
        _variation(settings),
        crowd_limits(),
        layout_signature(settings, depsgraph),
        *(_role_signature(item, meshes) for item in roles_of(crowd)),
    )


def _state(crowd: Object, worlds: Worlds, depsgraph: Depsgraph) -> CrowdState:
    meshes = enabled_meshes()
    problems: list[str] = []
    roles: list[Role | None] = []
    for number, item in enumerate(roles_of(crowd)):
        try:
            roles.append(_role(number, item, meshes, problems))
        except UserError as error:
            problems.append(str(error))
            roles.append(None)
    figures = Figures(np.zeros(0, np.intp), np.zeros((0, 4, 4)), np.zeros(0), np.zeros(0))
    try:
        figures = _figures(crowd, roles, worlds, depsgraph, problems)
    except UserError as error:
        problems.append(str(error))
    taken = int(_sizes(roles)[figures.roles].sum())
    played = np.array([role is not None for role in roles], np.bool_)
    figures = figures[played[figures.roles]]
    figures = replace(figures, roles=(np.cumsum(played) - 1)[figures.roles])
    return CrowdState(
        tuple(role for role in roles if role is not None),
        figures,
        float(crowd_of(crowd).start_frame),
        tuple(dict.fromkeys(problems)),
        taken,
    )


def _figures(
    crowd: Object,
    roles: Sequence[Role | None],
    worlds: Worlds,
    depsgraph: Depsgraph,
    problems: list[str],
) -> Figures:
    """The figures of all roles, as many as the limits allow; UserError where there are none."""
    settings = crowd_of(crowd)
    if not roles:
        raise UserError(f"{crowd.name} has no role. Press + to add one.")
    shares = np.array([item.share for item in roles_of(crowd)], np.float64)
    if not shares.any():
        raise UserError(f"All shares of {crowd.name} are 0. Raise one.")
    most, most_bytes = crowd_limits()
    count, places = wanted_places(crowd, worlds, depsgraph, most)
    sizes = _sizes(roles)
    of_one = float(shares @ sizes / shares.sum())
    shown = min(count, most, int(most_bytes / of_one) if of_one else count)
    if shown < count:
        problems.append(
            f"{shown:,} of {counted(count, 'figure')} are shown: all of them would take "
            f"{sized(count * of_one)} on the graphics card. Raise "
            f"{'Figures' if shown == most else 'Memory'} of a Crowd in the add-on's preferences to "
            "see more."
        )
    if places is None:
        places = grid_places(shown, settings.spacing, settings.columns)
    lengths = [0.0 if role is None else float(role.first.length) for role in roles]
    figures = figures_of(places[:shown], shares.tolist(), lengths, _variation(settings))
    # Shares are met but for a figure or two.
    taken = np.cumsum(sizes[figures.roles])
    return figures[: np.searchsorted(taken, most_bytes, side="right")]


def _sizes(roles: Sequence[Role | None]) -> Int64s:
    """The bytes of one figure of each role; 0 for a role that is not drawn."""
    return np.array([0 if role is None else role.bytes for role in roles], np.int64)


def _variation(settings: DQCompensationCrowd) -> Variation:
    in_grid = settings.layout == "GRID"
    return Variation(
        settings.seed,
        settings.phase_spread,
        settings.speed,
        settings.speed_spread,
        settings.scale,
        settings.scale_spread,
        settings.turn,
        settings.turn_spread,
        settings.place_spread * settings.spacing / 2.0 if in_grid else 0.0,
    )


def crowd_changed(_owner: object, _context: Context) -> None:
    """React to a changed setting of a crowd, or to a changed preference."""
    note_change()
    _delayed_check.request()
    tag_redraw()


def _role_changed(owner: object, context: Context) -> None:
    """React to a changed role, whose character may not be bound yet."""
    forget_crowds()
    check_soon()
    crowd_changed(owner, context)


@only_with(crowds)
def _on_edit(_changes: Changes) -> None:
    note_change()
    _delayed_check.request()


@only_with(crowds)
def _on_followed_setting(*_about: object) -> None:
    note_change()


# Points may be known longer than there is a crowd.
@only_with(memories(LayoutPoints))
def _forget_reshaped(changes: Changes) -> None:
    """Forget the points of objects that have new geometry."""
    read = memories(LayoutPoints)
    gone = read.keys() & changes.reshaped()
    for uid in gone:
        del read[uid]
    if gone:
        note_change()


@only_with(memories(LayoutPoints))
def _forget_points(owner: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Forget the points of an object that drivers give another shape."""
    memories(LayoutPoints).pop(owner.id_data.session_uid, None)


def _on_other_state() -> None:
    memories(LayoutPoints).clear()
    note_change()
    _delayed_check.request()


def _check() -> None:
    """Find the figures of every crowd of the scene again, and redraw the panel."""
    context, crowds = bpy.context, all_crowds()
    keep_only(_CrowdMemory, {crowd.session_uid for crowd in crowds})
    for crowd in crowds:
        if context.scene in crowd.users_scene:
            state = figures_of_crowd(crowd, context.evaluated_depsgraph_get())
            memory = memory_of(crowd, _CrowdMemory)
            if memory.shown is not state:
                memory.shown = state
                tag_redraw()


_delayed_check = DelayedCall(_check, _PANEL_AFTER, "QUIET")

FOLLOWS = (
    (EDIT, _forget_reshaped),
    (EDIT, _on_edit),
    (FRAME, _forget_reshaped),
    (RESTORED, _on_other_state),
    (LOADED, _on_other_state),
    (FOLLOWED_SETTING_CHANGED, _forget_points),
    (FOLLOWED_SETTING_CHANGED, _on_followed_setting),
    (CROWD_CHANGED, crowd_changed),
    (ROLE_CHANGED, _role_changed),
)

unregister = _delayed_check.cancel
