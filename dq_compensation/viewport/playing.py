"""The takes that an armature object plays."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import bpy

from ..core.take_fitting import fitted
from ..core.takes import Take
from ..scene.binding import Binding
from ..scene.object_settings import settings_of
from ..scene.setup import find_rig
from ..scene.twins import skeleton_digest
from ..session.known_takes import take_named
from .take_tables import Playing, TakeTiming

# By the take, and the bones that it moves.
_fitted: WeakKeyDictionary[Take, dict[str, Take]] = WeakKeyDictionary()


def plays(obj: bpy.types.Object) -> bool:
    """Whether the armature of an object plays a take."""
    rig = find_rig(obj)
    return rig is not None and settings_of(rig).playback.playing


def playing_of(armature: bpy.types.Object, binding: Binding) -> Playing | None:
    """The takes that an armature object plays on an object that it deforms.

    None where it plays none; then its pose counts.
    """
    playback = settings_of(armature).playback
    if not playback.playing:
        return None
    first = take_named(armature, playback.take)
    if first is None:
        return None

    def timing(take: Take) -> TakeTiming:
        return TakeTiming(
            fitted_take(take, binding), playback.phase, playback.speed, loop=playback.loop
        )

    second = take_named(armature, playback.second_take) if playback.second_take else None
    if second is None:
        return Playing(timing(first))
    return Playing(timing(first), timing(second), playback.fade_start, playback.fade_frames)


def fitted_take(take: Take, binding: Binding) -> Take:
    """The take for the bones of a binding; the same object each time."""
    known, bones = _fitted.setdefault(take, {}), skeleton_digest(binding.skeleton)
    if bones not in known:
        known[bones] = fitted(take, binding.skeleton).take
    return known[bones]
