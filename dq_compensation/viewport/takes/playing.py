"""The takes that an armature object plays."""

from __future__ import annotations

from functools import partial
from weakref import WeakKeyDictionary

import bpy
import numpy as np

from ...core.take_fitting import fitted, with_common_parents
from ...core.takes import Take
from ...scene.binding.binding import Binding
from ...scene.binding.shape_key_offsets import ShapeKeys
from ...scene.binding.twins import twin_digest
from ...scene.blender.mesh import mesh_of
from ...scene.settings.object_settings import settings_of
from ...session.known_takes import take_named
from .played_takes import Playing, TakeTiming

# By the take, and the bones that it moves.
_fitted: WeakKeyDictionary[Take, dict[str, Take]] = WeakKeyDictionary()
# By two fitted takes.
_pairs: WeakKeyDictionary[Take, WeakKeyDictionary[Take, tuple[Take, Take]]] = WeakKeyDictionary()


def scene_time(depsgraph: bpy.types.Depsgraph) -> tuple[float, float]:
    """The frame of the scene, with its fraction, and the frames per second."""
    scene = depsgraph.scene
    if scene is None:
        raise ValueError("playback: a dependency graph without a scene")
    return scene.frame_current_final, scene.render.fps / scene.render.fps_base


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

    timing = partial(TakeTiming, phase=playback.phase, speed=playback.speed, loop=playback.loop)
    second = take_named(armature, playback.second_take) if playback.second_take else None
    if second is None:
        return Playing(timing(fitted_take(first, binding)))
    one, other = faded_takes(fitted_take(first, binding), fitted_take(second, binding))
    return Playing(timing(one), timing(other), playback.fade_start, playback.fade_frames)


def followed_keys(keys: ShapeKeys, obj: bpy.types.Object) -> tuple[int, ...]:
    """The shape keys of a mesh object that follow a take: without the Basis and muted ones.

    None of them while one is pinned.
    """
    key = mesh_of(obj).shape_keys
    if key is None or obj.show_only_shape_key:
        return ()
    return tuple(
        row
        for row, block in zip(range(len(keys.key_names)), key.key_blocks, strict=False)
        if row != keys.basis_key and not block.mute
    )


def faded_takes(first: Take, second: Take) -> tuple[Take, Take]:
    """Two takes that can be cross-faded; the same objects each time."""
    if np.array_equal(first.parents, second.parents):
        return first, second
    known = _pairs.setdefault(first, WeakKeyDictionary())
    if second not in known:
        known[second] = with_common_parents(first, second)
    return known[second]


def fitted_take(take: Take, binding: Binding) -> Take:
    """The take for the bones of a binding; the same object each time."""
    known, bones = _fitted.setdefault(take, {}), twin_digest(binding.skeleton)
    if bones not in known:
        known[bones] = fitted(take, binding.skeleton).take
    return known[bones]
