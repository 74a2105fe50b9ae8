"""The figures of each crowd of the session, found again only when something has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.crowds import Figures, Variation, figures_of, grid_places
from ..errors import UserError
from ..scene.settings.addon_preferences import crowd_limits
from ..scene.settings.crowd_settings import DQCompensationCrowd, crowd_of, roles_of
from ..scene.settings.events import CROWD_CHANGED, ROLE_CHANGED
from ..session.changes import EDIT, FRAME, LOADED, RESTORED, Changes
from ..session.delayed_call import DelayedCall
from ..session.known_crowds import all_crowds, any_crowd, change, forget_crowds, note_change
from ..session.memory import keep_only, memory_of
from ..session.status import check_soon, tag_redraw
from ..wording import counted, sized
from .crowd_places import (
    Worlds,
    forget_edited,
    forget_places,
    layout_signature,
    layout_worlds,
    wanted_places,
)
from .crowd_roles import Role, Signature, enabled_meshes, playable_role, role_signature

# Seconds from the last change until the panel shows what came of it.
CHECK_AFTER = 0.1


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
    start_frame: float
    problems: tuple[str, ...]
    bytes: int


@dataclass
class _Found:
    """The last state of a crowd in a view layer, and its origin."""

    change: int
    worlds: Worlds
    signature: Signature
    state: CrowdState


@dataclass
class _Known:
    """The states of a crowd: by the session_uid of the scene and the view layer; as shown."""

    found: dict[tuple[int, str], _Found] = field(default_factory=dict)
    shown: CrowdState | None = None


def figures_of_crowd(crowd: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> CrowdState:
    """The figures of a crowd, evaluated; the same object as long as nothing has changed."""
    crowd = cast("bpy.types.Object", crowd.original)
    found = memory_of(crowd, _Known).found
    key = (depsgraph.scene.session_uid, depsgraph.view_layer.name)
    worlds, known = layout_worlds(crowd, depsgraph), found.get(key)
    if known is not None and known.worlds == worlds:
        if known.change == change():
            return known.state
        if known.signature == _signature(crowd, depsgraph):
            known.change = change()
            return known.state
    state = _state(crowd, worlds, depsgraph)
    # Only now: what figures stand on has been read.
    found[key] = _Found(change(), worlds, _signature(crowd, depsgraph), state)
    return state


def known_state(crowd: bpy.types.Object) -> CrowdState | None:
    """The last state of a crowd; None before it was drawn or asked for."""
    return next((found.state for found in memory_of(crowd, _Known).found.values()), None)


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


def _signature(crowd: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Signature:
    """Differs where `_state` gives another result, but for the place of the layout's object."""
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
        *(role_signature(item, meshes) for item in roles_of(crowd)),
    )


def _state(crowd: bpy.types.Object, worlds: Worlds, depsgraph: bpy.types.Depsgraph) -> CrowdState:
    meshes = enabled_meshes()
    problems: list[str] = []
    roles = [
        playable_role(number, item, meshes, problems) for number, item in enumerate(roles_of(crowd))
    ]
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
    crowd: bpy.types.Object,
    roles: Sequence[Role | None],
    worlds: Worlds,
    depsgraph: bpy.types.Depsgraph,
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


def _sizes(roles: Sequence[Role | None]) -> NDArray[np.int64]:
    """The bytes of one figure of each role; 0 of one that is not drawn."""
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


def crowd_changed(_owner: object, _context: bpy.types.Context) -> None:
    """A setting of a crowd was changed, or a preference."""
    note_change()
    _delayed_check.request()
    tag_redraw()


def role_changed(owner: object, context: bpy.types.Context) -> None:
    """A role was changed: its character may not be bound yet."""
    forget_crowds()
    check_soon()
    crowd_changed(owner, context)


def _on_edit(changes: Changes) -> None:
    note_change()
    forget_edited(changes)
    if any_crowd():
        _delayed_check.request()


def _on_frame(changes: Changes) -> None:
    if forget_edited(changes):
        note_change()


def _on_other_state() -> None:
    forget_places()
    note_change()
    _delayed_check.request()


def _check() -> None:
    """Find every crowd of the scene again, and show in the panel what came of it."""
    context, crowds = bpy.context, all_crowds()
    keep_only(_Known, {crowd.session_uid for crowd in crowds})
    for crowd in crowds:
        if context.scene in crowd.users_scene:
            state = figures_of_crowd(crowd, context.evaluated_depsgraph_get())
            known = memory_of(crowd, _Known)
            if known.shown is not state:
                known.shown = state
                tag_redraw()


_delayed_check = DelayedCall(_check, CHECK_AFTER, "QUIET")

FOLLOWS = (
    (EDIT, _on_edit),
    (FRAME, _on_frame),
    (RESTORED, _on_other_state),
    (LOADED, _on_other_state),
    (CROWD_CHANGED, crowd_changed),
    (ROLE_CHANGED, role_changed),
)

unregister = _delayed_check.cancel
