"""The takes that an armature object plays, and what each instance plays when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.takes import Take, fitted, with_common_parents
from ..scene.binding.binding import Binding, twin_digest
from ..scene.binding.shape_key_offsets import ShapeKeys
from ..scene.blender.mesh import mesh_of
from ..scene.settings.object_settings import settings_of
from ..session.known_takes import take_named

# Keeps what instances play, and when: one by one, or as arrays of many.


# What Blender appends to the name of a copy.
_COPY_NUMBER = re.compile(r"\.\d{3,}$")


@dataclass(frozen=True)
class TakeTiming:
    """A take and when it is played; see `core.takes.take_times`.

    Attributes:
        take: fitted to the skeleton that it moves.
        phase: in frames of the take.
        speed: 1 is that of the take.
    """

    take: Take
    phase: float = 0.0
    speed: float = 1.0
    loop: bool = True


@dataclass(frozen=True)
class Playing:
    """The takes that an instance plays; the second fades in from the scene's frame `fade_start`."""

    first: TakeTiming
    second: TakeTiming | None = None
    fade_start: float = 0.0
    fade_frames: float = 0.0

    @property
    def takes(self) -> tuple[Take, ...]:
        """The takes, one or two."""
        first = self.first.take
        return (first,) if self.second is None else (first, self.second.take)


def value_mesh(takes: Sequence[Take], mesh_name: str) -> str:
    """The mesh of takes whose shape keys a mesh follows: a copy those of its original."""
    known = any(mesh_name in take.values.mesh_names for take in takes)
    return mesh_name if known else _COPY_NUMBER.sub("", mesh_name)


TIMING = np.dtype(
    [("take", np.intp), ("phase", "f8"), ("speed", "f8"), ("start", "f8"), ("loop", np.bool_)]
)
"""When an instance plays a take: t = phase + speed (frame - start), at the take's own rate.

The take is its number among those of the character, -1 for none; the start is a frame of the scene.
A take that is not a loop is held at its ends.
"""
INSTANCE = np.dtype(
    [("first", TIMING), ("second", TIMING), ("fade_start", "f8"), ("fade_frames", "f8")]
)
"""The fields of `Playing` for one instance."""


@dataclass(frozen=True, eq=False)
class Instances:
    """The takes that I instances of one character play.

    Attributes:
        takes: of all of them, fitted to the skeleton; the same objects as long as they are true.
        rows: shape (I,), of the type `INSTANCE`.
    """

    takes: tuple[Take, ...]
    rows: NDArray[np.void]

    @property
    def count(self) -> int:
        """The number of instances, I."""
        return len(self.rows)

    @classmethod
    def of(cls, playings: Sequence[Playing]) -> Instances:
        """The arrays of instances given one by one."""
        takes = tuple(dict.fromkeys(take for each in playings for take in each.takes))

        def row(timing: TakeTiming | None) -> tuple[float, ...]:
            if timing is None:
                return -1, 0.0, 0.0, 0.0, False
            take, start = takes.index(timing.take), timing.take.frame_start
            return take, timing.phase, timing.speed, start, timing.loop

        rows = [(row(p.first), row(p.second), p.fade_start, p.fade_frames) for p in playings]
        return cls(takes, np.array(rows, INSTANCE))


# The takes that an armature object plays.


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
