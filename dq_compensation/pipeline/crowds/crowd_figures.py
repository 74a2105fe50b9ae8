"""Finds the roles and the figures of each crowd, again only when something has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import bpy
import numpy as np
from bpy.types import Context, Object

from ...arrays import Float64s, Int64s
from ...errors import UserError
from ...scene.binding.facts import Facts, digest
from ...scene.settings.addon_preferences import PREFERENCES_RESET
from ...scene.settings.setting_events import FOLLOWED_SETTING_CHANGED, only_with
from ...session.changes import EDIT, LOADED, RESTORED, Changes
from ...session.delayed_calls import DelayedCall
from ...session.memory import keep_only, memories, memory_of
from ...session.status import NEEDS_BINDING, RECONCILED, check_soon, tag_redraw
from ...wording import counted, sized
from ..takes.known_takes import TAKE_HAS_NEW_NAME, TAKES_CHANGED
from ..takes.takes import Take
from .crowd_roles import Role, Signature, meshes_by_armature, role_of, role_signature
from .crowds import Figures, Variation, figures_of, grid_places
from .known_crowds import (
    all_crowds,
    crowds,
    follow_name,
    forget_crowds,
    is_in_crowd,
    looked_at,
    note_change,
)
from .settings import (
    CROWD_CHANGED,
    ROLE_CHANGED,
    DQCompensationCrowd,
    crowd_limits,
    crowd_of,
    roles_of,
)


def longest_side(objects: Iterable[Object]) -> float:
    """The longest side of the objects' common box, along the axes of the world."""
    corners = [
        np.array(obj.bound_box) @ np.array(obj.matrix_world.to_3x3()).T
        + obj.matrix_world.translation
        for obj in objects
    ]
    return float(np.ptp(np.concatenate(corners), axis=0).max())


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

    @cached_property
    def facts(self) -> Facts:
        """The facts of its figures and of the takes that they play."""
        figures = self.figures
        arrays = (figures.roles, figures.places, figures.phases, figures.speeds)
        played = [(role.armature_name, role.fade_frames) for role in self.roles]
        takes = [take for role in self.roles for take in (role.first, role.second) if take]
        return {
            "figures": digest(*arrays, played, self.start_frame),
            "takes": digest(*(each for take in takes for each in _read_of_take(take))),
        }


def _read_of_take(take: Take) -> tuple[object, ...]:
    keys, values = take.keys, take.values
    of_values = (values.names, values.keys.frames, values.values)
    return take.rotations, take.locations, take.scales, keys.frames, take.fps, *of_values


@dataclass
class _CrowdMemory:
    """The last state of a crowd and what it was made from, and the state of the panel."""

    state: CrowdState | None = None
    signature: Signature = ()
    shown: CrowdState | None = None


def figures_of_crowd(crowd: Object) -> CrowdState:
    """The figures of a crowd, evaluated; the same object as long as nothing has changed."""
    crowd = cast("Object", crowd.original)
    memory = memory_of(crowd, _CrowdMemory)
    if memory.state is None or crowd.session_uid not in looked_at:
        signature = _signature(crowd)
        if memory.state is None or memory.signature != signature:
            memory.state, memory.signature = _state(crowd), signature
        looked_at.add(crowd.session_uid)
    return memory.state


def known_state(crowd: Object) -> CrowdState | None:
    """The last state of a crowd; None before it was drawn or asked for."""
    return memory_of(crowd, _CrowdMemory).state


@dataclass(frozen=True)
class Failure:
    """The state in which a crowd could not be drawn, and the reason as a sentence."""

    state: CrowdState
    text: str


def failure_of(crowd: Object, state: CrowdState | None) -> str | None:
    """The reason why a crowd cannot be drawn in a state, a sentence; None where it can be."""
    failed = memories(Failure).get(crowd.session_uid)
    return failed.text if failed is not None and failed.state is state else None


def role_objects(crowd: Object, state: CrowdState) -> list[tuple[Object, tuple[Object, ...]]]:
    """The armature and the meshes of each role of a state, in its order.

    They must not outlive the function that asks for them.
    """
    items, meshes = roles_of(crowd), meshes_by_armature()
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
    around = settings.spacing / 2.0
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


def _signature(crowd: Object) -> Signature:
    """A key that differs where `_state` gives another result."""
    settings, meshes = crowd_of(crowd), meshes_by_armature()
    return (
        crowd.name,
        settings.count,
        settings.spacing,
        settings.columns,
        settings.start_frame,
        _variation(settings),
        crowd_limits(),
        *(role_signature(item, meshes) for item in roles_of(crowd)),
    )


def _state(crowd: Object) -> CrowdState:
    meshes = meshes_by_armature()
    problems: list[str] = []
    roles: list[Role | None] = []
    for number, item in enumerate(roles_of(crowd)):
        try:
            roles.append(role_of(number, item, meshes, problems))
        except UserError as error:
            problems.append(str(error))
            roles.append(None)
    figures = Figures(np.zeros(0, np.intp), np.zeros((0, 4, 4)), np.zeros(0), np.zeros(0))
    try:
        figures = _figures(crowd, roles, problems)
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


def _figures(crowd: Object, roles: Sequence[Role | None], problems: list[str]) -> Figures:
    """The figures of all roles, as many as the limits allow; UserError where there are none."""
    settings = crowd_of(crowd)
    if not roles:
        raise UserError(f"{crowd.name} has no role. Press + to add one.")
    shares = np.array([item.share for item in roles_of(crowd)], np.float64)
    if not shares.any():
        raise UserError(f"All shares of {crowd.name} are 0. Raise one.")
    most, most_bytes = crowd_limits()
    count, sizes = settings.count, _sizes(roles)
    of_one = float(shares @ sizes / shares.sum())
    shown = min(count, most, int(most_bytes / of_one) if of_one else count)
    if shown < count:
        problems.append(
            f"{shown:,} of {counted(count, 'figure')} are shown: all of them would take "
            f"{sized(count * of_one)} on the graphics card. Raise "
            f"{'Figures' if shown == most else 'Memory'} of a Crowd in the add-on's preferences to "
            "see more."
        )
    places = grid_places(shown, settings.spacing, settings.columns)
    lengths = [0.0 if role is None else float(role.first.length) for role in roles]
    figures = figures_of(places, shares.tolist(), lengths, _variation(settings))
    # Shares are met but for a figure or two.
    taken = np.cumsum(sizes[figures.roles])
    return figures[: np.searchsorted(taken, most_bytes, side="right")]


def _sizes(roles: Sequence[Role | None]) -> Int64s:
    """The bytes of one figure of each role; 0 for a role that is not drawn."""
    return np.array([0 if role is None else role.bytes for role in roles], np.int64)


def _variation(settings: DQCompensationCrowd) -> Variation:
    return Variation(
        settings.seed,
        settings.phase_spread,
        settings.speed,
        settings.speed_spread,
        settings.scale,
        settings.scale_spread,
        settings.turn,
        settings.turn_spread,
        settings.place_spread * settings.spacing / 2.0,
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


def _on_other_state() -> None:
    note_change()
    _delayed_check.request()


def _check() -> None:
    """Find the figures of every crowd of the scene again, and redraw the panel."""
    context, crowds = bpy.context, all_crowds()
    keep_only(_CrowdMemory, {crowd.session_uid for crowd in crowds})
    for crowd in crowds:
        if context.scene in crowd.users_scene:
            state = figures_of_crowd(crowd)
            memory = memory_of(crowd, _CrowdMemory)
            if memory.shown is not state:
                memory.shown = state
                tag_redraw()


_delayed_check = DelayedCall(_check, _PANEL_AFTER, "QUIET")

FOLLOWS = (
    (EDIT, _on_edit),
    (RESTORED, _on_other_state),
    (LOADED, _on_other_state),
    (FOLLOWED_SETTING_CHANGED, _on_followed_setting),
    (CROWD_CHANGED, crowd_changed),
    (ROLE_CHANGED, _role_changed),
    (PREFERENCES_RESET, crowd_changed),
    (RECONCILED, note_change),
    (TAKES_CHANGED, note_change),
    (TAKE_HAS_NEW_NAME, follow_name),
    (NEEDS_BINDING, is_in_crowd),
)

unregister = _delayed_check.cancel
