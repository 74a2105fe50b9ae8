"""The figures of each crowd of the session, found again only when something has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.crowds import (
    Figures,
    Variation,
    curve_places,
    figures_of,
    grid_places,
    point_places,
)
from ..errors import UserError
from ..scene.addon_preferences import crowd_limits
from ..scene.armature import is_invertible
from ..scene.crowd_layout import layout_points, layout_splines
from ..scene.crowd_settings import CrowdSettings, RoleItem, crowd_of, crowds_of, roles_of
from ..wording import counted
from .crowd_roles import Role, Signature, enabled_meshes, playable_role, role_signature
from .status import tag_redraw

NO_ROLE = "{crowd} has no role. Press + to add one."
NO_SHARES = "All shares of {crowd} are 0. Raise one."
NO_LAYOUT = "{crowd} has no object to stand on. Choose one, or the layout Grid."
LAYOUT_DELETED = "{obj} was deleted. Undo that, or choose another object to stand on."
NO_SIZE = "{crowd} has a scale of zero on at least one axis. Give it a size again."
SHOWN = (
    "{shown} of {wanted} are shown: all of them would take {memory} on the graphics card. {raised}"
)
RAISE_FIGURES = "Raise Figures of a Crowd in the add-on's preferences to see more."
RAISE_MEMORY = "Raise Memory of a Crowd in the add-on's preferences to see more."


@dataclass(frozen=True, eq=False)
class CrowdState:
    """A crowd as it can be drawn. The same object as long as nothing has changed.

    Attributes:
        roles: those that can be played.
        figures: in the crowd's space; `figures.roles` are places in `roles`.
        start_frame: the frame of the scene at which each figure is at its phase.
        problems: sentences for the panel.
        bytes: what the figures take on the GPU.
    """

    roles: tuple[Role, ...]
    figures: Figures
    start_frame: float = 0.0
    problems: tuple[str, ...] = ()
    bytes: int = 0


NO_FIGURES = Figures(np.zeros(0, np.intp), np.zeros((0, 4, 4)), np.zeros(0), np.zeros(0))


@dataclass
class _Known:
    """What was found last for a crowd, and what it was found from."""

    change: int
    places: bytes
    signature: Signature
    state: CrowdState


# By the session_uid of the crowd and of the scene, and the view layer.
_known: dict[tuple[int, int, str], _Known] = {}
# By the session_uid of an object that figures stand on, and the layout: what was read of it.
_layouts: dict[tuple[int, str], list[tuple[NDArray[np.float64], bool]]] = {}
# Counts the changes of the session that may concern a crowd.
_change = 0
# The session_uid of all crowds, as found at the change `_crowds_at`.
_crowds: set[int] = set()
_crowds_at = -1


def note_change() -> None:
    """Look at every crowd again when it is needed next."""
    global _change
    _change += 1


def visible_crowds(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The crowds of the view layer that the viewport of the context shows; cheap without any."""
    global _crowds_at
    objects = context.view_layer.objects
    if _crowds_at != _change:
        found = crowds_of(bpy.data.objects)
        _crowds.clear()
        _crowds.update(obj.session_uid for obj in found)
        _crowds_at = _change
    if not _crowds:
        return []
    space = cast("bpy.types.SpaceView3D", context.space_data)
    return [
        obj
        for obj in crowds_of(objects)
        if obj.visible_get(view_layer=context.view_layer, viewport=space)
        and obj.visible_in_viewport_get(space)
    ]


def figures_of_crowd(crowd: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> CrowdState:
    """The figures of a crowd; the same object as long as nothing has changed.

    Args:
        depsgraph: evaluated; the object that figures stand on is read from it.
    """
    crowd = cast("bpy.types.Object", crowd.original)
    key = (crowd.session_uid, depsgraph.scene.session_uid, depsgraph.view_layer.name)
    known, settings = _known.get(key), crowd_of(crowd)
    places = _to_crowd(crowd, settings, depsgraph)
    at = b"" if places is None else places.tobytes()
    if known is not None and known.change == _change and known.places == at:
        return known.state
    meshes = enabled_meshes()
    signature = (_values(settings), crowd.name, crowd_limits(), _layout_signature(settings))
    signature += tuple(role_signature(item, meshes) for item in roles_of(crowd))
    if known is not None and known.signature == signature and known.places == at:
        known.change = _change
        return known.state
    problems: list[str] = []
    roles = [
        playable_role(number, item, meshes, problems) for number, item in enumerate(roles_of(crowd))
    ]
    state = _state(crowd, roles, places, depsgraph, problems)
    _known[key] = _Known(_change, at, signature, state)
    return state


def known_state(crowd: bpy.types.Object) -> CrowdState | None:
    """What was found last for a crowd; None before it was drawn or asked for."""
    uid = crowd.session_uid
    return next((known.state for key, known in _known.items() if key[0] == uid), None)


def role_objects(
    crowd: bpy.types.Object, state: CrowdState
) -> list[tuple[bpy.types.Object, tuple[bpy.types.Object, ...]]]:
    """The armature and the meshes of each role of a state, in its order.

    They must not outlive the function that asks for them.
    """
    items, meshes = roles_of(crowd), enabled_meshes()
    found = []
    for role in state.roles:
        character = items[role.number].character
        assert character is not None
        found.append((character, tuple(meshes.get(role.armature_uid, ()))))
    return found


def _state(
    crowd: bpy.types.Object,
    roles: Sequence[Role | None],
    to_crowd: NDArray[np.float64] | None,
    depsgraph: bpy.types.Depsgraph,
    problems: list[str],
) -> CrowdState:
    settings, items = crowd_of(crowd), roles_of(crowd)
    played = tuple(role for role in roles if role is not None)
    figures, total = NO_FIGURES, 0
    try:
        if not items:
            raise UserError(NO_ROLE.format(crowd=crowd.name))
        if not sum(item.share for item in items):
            raise UserError(NO_SHARES.format(crowd=crowd.name))
        figures = _figures(crowd, items, roles, to_crowd, depsgraph, problems)
        total = _bytes(figures, roles)
        figures = _without_left_out(figures, roles)
    except UserError as error:
        problems.append(str(error))
    return CrowdState(played, figures, settings.start_frame, tuple(dict.fromkeys(problems)), total)


def _figures(
    crowd: bpy.types.Object,
    items: Sequence[RoleItem],
    roles: Sequence[Role | None],
    to_crowd: NDArray[np.float64] | None,
    depsgraph: bpy.types.Depsgraph,
    problems: list[str],
) -> Figures:
    """The figures of all roles, no more than the limits allow; `roles` number the list's items."""
    settings = crowd_of(crowd)
    most, most_bytes = crowd_limits()
    wanted = _wanted_places(crowd, settings, to_crowd, depsgraph)
    count = wanted if isinstance(wanted, int) else len(wanted)
    shares = [item.share for item in items]
    sizes = [0 if role is None else role.bytes for role in roles]
    of_one = sum(share * size for share, size in zip(shares, sizes, strict=True)) / sum(shares)
    shown = min(count, most, int(most_bytes / of_one) if of_one else count)
    if shown < count:
        raised = RAISE_FIGURES if shown == most else RAISE_MEMORY
        problems.append(
            SHOWN.format(
                shown=f"{shown:,}",
                wanted=counted(count, "figure"),
                memory=_size(count * of_one),
                raised=raised,
            )
        )
    if isinstance(wanted, int):
        places = grid_places(shown, settings.spacing, settings.columns)
    else:
        places = wanted[:shown]
    lengths = [0.0 if role is None else float(role.first.length) for role in roles]
    return figures_of(places, shares, lengths, _variation(settings))


def _wanted_places(
    crowd: bpy.types.Object,
    settings: CrowdSettings,
    to_crowd: NDArray[np.float64] | None,
    depsgraph: bpy.types.Depsgraph,
) -> int | NDArray[np.float64]:
    """The places of all figures, or of a grid how many there are.

    Raises:
        UserError: there is nothing to stand on.
    """
    if settings.layout == "GRID":
        return settings.count
    obj = settings.layout_object
    if obj is None:
        raise UserError(NO_LAYOUT.format(crowd=crowd.name))
    if not obj.users_collection:
        raise UserError(LAYOUT_DELETED.format(obj=obj.name))
    if to_crowd is None:
        raise UserError(NO_SIZE.format(crowd=crowd.name))
    key = (obj.session_uid, settings.layout)
    if key not in _layouts:
        if settings.layout == "POINTS":
            _layouts[key] = [(layout_points(obj, depsgraph), False)]
        else:
            _layouts[key] = layout_splines(obj, depsgraph)
    splines = [
        (points @ to_crowd[:3, :3].T + to_crowd[:3, 3], closed) for points, closed in _layouts[key]
    ]
    if settings.layout == "POINTS":
        return point_places(splines[0][0][: settings.count])
    return curve_places(splines, settings.count)


def _without_left_out(figures: Figures, roles: Sequence[Role | None]) -> Figures:
    """The figures of roles that are played, numbered without the others."""
    played = np.array([role is not None for role in roles])
    figures = figures[played[figures.roles]]
    return replace(figures, roles=(np.cumsum(played) - 1)[figures.roles])


def _bytes(figures: Figures, roles: Sequence[Role | None]) -> int:
    counts = np.bincount(figures.roles, minlength=len(roles)).tolist()
    return sum(n * role.bytes for n, role in zip(counts, roles, strict=True) if role is not None)


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"


def _variation(settings: CrowdSettings) -> Variation:
    return Variation(
        settings.seed,
        settings.phase_spread,
        settings.speed,
        settings.speed_spread,
        settings.scale,
        settings.scale_spread,
        settings.turn,
        settings.turn_spread,
        settings.place_spread * settings.spacing / 2.0 if settings.layout == "GRID" else 0.0,
    )


def _values(settings: CrowdSettings) -> Signature:
    return (
        settings.count,
        settings.layout,
        settings.spacing,
        settings.columns,
        settings.start_frame,
        _variation(settings),
    )


def _layout_signature(settings: CrowdSettings) -> Signature:
    obj = settings.layout_object
    if settings.layout == "GRID" or obj is None:
        return ()
    read = (obj.session_uid, settings.layout) in _layouts
    return obj.session_uid, obj.name, bool(obj.users_collection), read


def _to_crowd(
    crowd: bpy.types.Object, settings: CrowdSettings, depsgraph: bpy.types.Depsgraph
) -> NDArray[np.float64] | None:
    """From the layout's object to the crowd, shape (4, 4); None for a grid, or without a size."""
    obj = settings.layout_object
    if settings.layout == "GRID" or obj is None:
        return None
    world = np.array(crowd.evaluated_get(depsgraph).matrix_world, np.float64)
    if not is_invertible(world):
        return None
    return np.linalg.inv(world) @ np.array(obj.evaluated_get(depsgraph).matrix_world, np.float64)


def _on_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    note_change()
    _forget_edited_layouts(depsgraph)


def _on_frame(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    if _layouts and _forget_edited_layouts(depsgraph):
        note_change()


def _forget_edited_layouts(depsgraph: bpy.types.Depsgraph) -> bool:
    """Forget what was read of objects whose points have changed; returns whether there were any."""
    if not _layouts:
        return False
    edited = {
        update.id.original.session_uid
        for update in depsgraph.updates
        if update.is_updated_geometry and isinstance(update.id, bpy.types.Object)
    }
    gone = [key for key in _layouts if key[0] in edited]
    for key in gone:
        del _layouts[key]
    return bool(gone)


def _on_undo(*_args: object) -> None:
    _layouts.clear()
    note_change()


def _forget(*_args: object) -> None:
    _known.clear()
    _on_undo()


HANDLERS = (
    ("depsgraph_update_post", _on_update),
    ("frame_change_post", _on_frame),
    ("load_pre", _forget),
    ("load_post", _forget),
    ("undo_post", _on_undo),
    ("redo_post", _on_undo),
)


def changed(_owner: object, _context: bpy.types.Context) -> None:
    """A setting of a crowd or a preference was changed."""
    note_change()
    tag_redraw()


def unregister() -> None:
    """Forget all crowds."""
    _forget()
