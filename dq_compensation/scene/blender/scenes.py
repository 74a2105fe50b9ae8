"""Scenes: their unit in millimetres, their frames, and the objects that move in them."""

from __future__ import annotations

import numbers
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np

from ...errors import UserError, raise_refusal
from ...wording import bounded
from .animation_curves import animated_paths
from .rna_properties import data_used_by

# Millimetres of the world: the scene's unit, and the size of an object's own units.


def world_millimetres(scene: bpy.types.Scene) -> float:
    """The millimetres of one world unit; 1000 where the scene has the unit system None."""
    units = scene.unit_settings
    return 1000.0 * (units.scale_length if units.system != "NONE" else 1.0)


def length_words(millimetres: float, scene: bpy.types.Scene, precision: int = 2) -> str:
    """A length in the units of the scene, for sentences: ``2 cm``."""
    system, metres = scene.unit_settings.system, millimetres / 1000.0
    return bpy.utils.units.to_string(system, "LENGTH", metres, precision=precision).strip()


def object_millimetres(obj: bpy.types.Object, scene: bpy.types.Scene) -> float:
    """The millimetres of one unit of an object's space, in the direction in which it is largest."""
    linear = np.array(obj.matrix_world, np.float64)[:3, :3]
    return float(np.linalg.norm(linear, 2)) * world_millimetres(scene)


# The frames of a scene: those of a range, and the current one, put back after others were set.


MOST_FRAME = 1_048_574
"""The last frame that Blender has; the first one is as far below zero."""


def frame_refusal(frame: float) -> str | None:
    """Why a scene has no such frame; None where it has."""
    if isinstance(frame, numbers.Real) and -MOST_FRAME <= frame <= MOST_FRAME:
        return None
    return f"{frame!r} is not a frame. Give a number {bounded(-MOST_FRAME, MOST_FRAME)}."


def frames_of_range(first: int, last: int, step: int) -> tuple[int, ...]:
    """The frames of a range; the last one is always among them.

    Raises:
        UserError: it is empty, or its numbers are not whole, or beyond Blender's frames.
    """
    for frame in (first, last):
        raise_refusal(frame_refusal(frame))
        if not isinstance(frame, numbers.Integral):
            raise UserError(f"{frame!r} is not a whole frame. Ranges have whole frames.")
    if last < first:
        raise UserError(f"The range ends with frame {last}, before it begins with frame {first}.")
    frames = list(range(first, last + 1, max(step, 1)))
    return tuple(frames if frames[-1] == last else [*frames, last])


def spread_frames(frames: Sequence[int], most: int) -> list[int]:
    """So many of the frames, evenly spread."""
    places = np.linspace(0, len(frames) - 1, min(most, len(frames)))
    return [frames[place] for place in np.unique(places.round().astype(int)).tolist()]


@contextmanager
def frame_kept(scene: bpy.types.Scene) -> Generator[None]:
    """Restore the current frame of the scene after the block."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        if (scene.frame_current, scene.frame_subframe) != (frame, subframe):
            scene.frame_set(frame, subframe=subframe)


# A scene of its own, in which copies are evaluated: the user does not see them, nothing else is
# evaluated, and it works while Blender's handlers run.


@contextmanager
def scene_aside(like: bpy.types.Scene) -> Generator[bpy.types.Scene]:
    """A scene without objects, in the frame of another one; gone afterwards.

    Where a frame was set, Blender plays all animations when it evaluates next, into the originals,
    too: what somebody has posed and not keyed would be lost. So it does that while none is there.
    """
    scene = bpy.data.scenes.new("DQ Compensation")
    try:
        scene.frame_current, scene.frame_subframe = like.frame_current, like.frame_subframe
        scene.view_layers[0].update()
        yield scene
    finally:
        bpy.data.scenes.remove(scene)


# Which objects are not at the same place, or not of the same shape, in every frame.


# Modifiers that need no other data-block to give another shape in each frame.
_BY_TIME = frozenset(
    ("BUILD", "CLOTH", "DYNAMIC_PAINT", "EXPLODE", "FLUID", "MESH_CACHE", "NODES", "OCEAN")
    + ("PARTICLE_SYSTEM", "SOFT_BODY", "WAVE")
)
_TRANSFORM = ("location", "rotation_", "scale", "delta_")


def is_moving(obj: bpy.types.Object) -> bool:
    """Whether keys, drivers, constraints, physics or a parent that moves may move an object.

    Poses of its bones do not count.
    """
    if any(path.startswith(_TRANSFORM) for path in animated_paths(obj)):
        return True
    if obj.rigid_body is not None or any(not each.mute for each in obj.constraints):
        return True
    # A bone can move in as many ways as there are rigs.
    return obj.parent is not None and (obj.parent_type != "OBJECT" or is_moving(obj.parent))


def is_reshaped(obj: bpy.types.Object) -> bool:
    """Whether modifiers, keys or drivers may give an object another shape in each frame."""
    data = obj.data
    if data is None:
        return False
    keys = getattr(data, "shape_keys", None)
    animated = bool(animated_paths(data)) or (keys is not None and bool(animated_paths(keys)))
    if animated or any(path.startswith("modifiers[") for path in animated_paths(obj)):
        return True
    return any(each.show_viewport and _may_follow_time(each) for each in obj.modifiers)


def _may_follow_time(modifier: bpy.types.Modifier) -> bool:
    """Whether it may give another shape in each frame with the same settings: by time or data."""
    return modifier.type in _BY_TIME or any(data_used_by(modifier))
