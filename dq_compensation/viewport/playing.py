"""The takes that an armature object plays."""

from __future__ import annotations

from functools import partial
from weakref import WeakKeyDictionary

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.local_poses import LocalPoses, cross_faded
from ..core.take_fitting import fitted, with_common_parents
from ..core.takes import Take, chained, interpolated, take_times
from ..scene.binding import Binding
from ..scene.mesh import mesh_of
from ..scene.object_settings import settings_of
from ..scene.setup import find_rig
from ..scene.shape_key_offsets import ShapeKeys
from ..scene.twins import skeleton_digest
from ..session.known_takes import take_named
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


def pose_at(playing: Playing, frame: float, fps: float) -> NDArray[np.float64]:
    """The pose as `core` has it: shape (R, 4, 4), D of every row.

    Args:
        frame: of the scene, with its fraction.
        fps: of the scene.
    """

    def local(timing: TakeTiming) -> LocalPoses:
        return interpolated(timing.take, _times(timing, frame, fps))

    found = local(playing.first)
    if playing.second is not None:
        found = cross_faded(found, local(playing.second), np.array([_fade(playing, frame)]))
    return chained(playing.first.take, found)[0]


def key_values_at(playing: Playing, mesh: str, frame: float, fps: float) -> dict[str, float]:
    """The values of the shape keys of a mesh, as takes have them.

    Args:
        mesh: its name in the takes, `Playing.value_mesh`.
        frame: of the scene, with its fraction.
        fps: of the scene.
    """

    def values(timing: TakeTiming) -> dict[str, float]:
        of_take = timing.take.values
        found = of_take.at(_times(timing, frame, fps))[0].tolist()
        named = zip(of_take.names, found, strict=True)
        return {key: value for (of_mesh, key), value in named if of_mesh == mesh}

    first = values(playing.first)
    if playing.second is None:
        return first
    second, share = values(playing.second), _fade(playing, frame)
    return {
        key: (1.0 - share) * first.get(key, 0.0) + share * second.get(key, 0.0)
        for key in first | second
    }


def _times(timing: TakeTiming, frame: float, fps: float) -> NDArray[np.float64]:
    times = take_times(timing.take, frame, timing.phase, timing.speed, loop=timing.loop, fps=fps)
    return np.atleast_1d(times)


def _fade(playing: Playing, frame: float) -> float:
    """The share of the second take, 0 to 1."""
    passed = frame - playing.fade_start
    share = float(passed >= 0.0) if not playing.fade_frames else passed / playing.fade_frames
    return min(max(share, 0.0), 1.0)


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
    known, bones = _fitted.setdefault(take, {}), skeleton_digest(binding.skeleton)
    if bones not in known:
        known[bones] = fitted(take, binding.skeleton).take
    return known[bones]
