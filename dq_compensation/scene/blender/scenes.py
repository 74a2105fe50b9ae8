"""Scenes: their unit in millimetres, their frames, what is selected, and what moves in them.

Blender plays all actions where frames are set, and when bones were edited: what is set and not
keyed, of all that actions play, is put back. Copies are evaluated in a scene of their own: the user
does not see them, nothing else is evaluated, and it works while Blender's handlers run.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from types import MappingProxyType
from typing import Any, cast

import bpy
import numpy as np

from ...errors import UserError, raise_refusal
from ...wording import bounded
from .animation_curves import animated_paths, played_actions

_NOTHING: Mapping[bpy.types.ID, Collection[str]] = MappingProxyType({})
# The keys of a data path: how many each curve has, and its value in the current frame.
_Keys = list[tuple[int, float]]


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


def select_alone(obj: bpy.types.Object, layer: bpy.types.ViewLayer) -> None:
    """Select an object of a view layer, and make it the active one; no other is selected then."""
    for other in layer.objects:
        other.select_set(other == obj, view_layer=layer)
    layer.objects.active = obj


def scene_time(depsgraph: bpy.types.Depsgraph) -> tuple[float, float]:
    """The frame of the scene, with its fraction, and the frames per second."""
    scene = depsgraph.scene
    if scene is None:
        raise ValueError("A dependency graph without a scene")
    return scene.frame_current_final, scene.render.fps / scene.render.fps_base


@contextmanager
def values_kept(also: Mapping[bpy.types.ID, Collection[str]] = _NOTHING) -> Generator[None]:
    """Put back, after the block, the values of all that actions play: some are not keyed.

    What got or lost keys in the block, or other ones, plays them.

    Args:
        also: data paths of data-blocks that the block lets other actions play.
    """
    kept = {
        place: {path: (keys, _value(owner, path)) for path, keys in paths.items()}
        for place, (owner, paths) in _played_paths(also).items()
    }
    try:
        yield
    finally:
        for place, (owner, paths) in _played_paths(also).items():
            known = kept.get(place, {})
            # Blender turns rotations into those of another mode that is set.
            for path in sorted(known, key=lambda path: not path.endswith("rotation_mode")):
                keys, value = known[path]
                is_played = value is None or paths.get(path, keys) != keys
                if is_played or _value(owner, path) in (None, value):
                    continue
                with suppress(AttributeError, TypeError, ValueError):  # which is read-only
                    _set_value(owner, path, value)
                    owner.update_tag()  # of custom properties Blender takes no notice by itself


def evaluate_unkeyed() -> None:
    """Evaluate the current scene after bones were edited, which plays all; no value is lost."""
    with values_kept():
        bpy.context.view_layer.update()


def _played_paths(
    also: Mapping[bpy.types.ID, Collection[str]],
) -> dict[tuple[int, bool], tuple[bpy.types.ID, dict[str, _Keys]]]:
    """The data-blocks that play actions, and the data paths with their keys, by session_uid.

    A node tree that belongs to a material or the like has the session_uid of that. Where a rotation
    mode is played, Blender turns the rotations, also those without keys.
    """
    found: dict[tuple[int, bool], tuple[bpy.types.ID, dict[str, _Keys]]] = {}
    users: Any = bpy.data.user_map(subset=cast("Any", bpy.data.actions))
    frame = bpy.context.scene.frame_current_final
    for user in {*also, *chain.from_iterable(users.values())}:
        for owner in (user, getattr(user, "node_tree", None)):
            if owner is not None and owner.library is None:
                paths: dict[str, _Keys] = {path: [] for path in also.get(owner, ())}
                for curve in chain.from_iterable(one.curves for one in played_actions(owner)):
                    keys = len(curve.keyframe_points), curve.evaluate(frame)
                    paths.setdefault(curve.data_path, []).append(keys)
                for path in [path for path in paths if path.endswith("rotation_mode")]:
                    for name in ("euler", "quaternion", "axis_angle"):
                        paths.setdefault(path.removesuffix("mode") + name, [])
                found[user.session_uid, owner is not user] = owner, paths
    return found


def _value(owner: bpy.types.ID, path: str) -> Any:
    """What a data path leads to; None where there is no such thing."""
    try:
        value: Any = owner.path_resolve(path)
    except ValueError:
        return None
    return tuple(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def _set_value(owner: bpy.types.ID, path: str, value: Any) -> None:
    """Give what a data path leads to a value: a property, or a custom property in brackets."""
    if path.endswith('"]'):
        place = path.rindex('["')
        holder: Any = owner.path_resolve(path[:place]) if place else owner
        holder[bpy.utils.unescape_identifier(path[place + 2 : -2])] = value
        return
    before, _, name = path.rpartition(".")
    setattr(owner.path_resolve(before) if before else owner, name, value)


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
def frame_kept(
    scene: bpy.types.Scene, also: Mapping[bpy.types.ID, Collection[str]] = _NOTHING
) -> Generator[None]:
    """Restore, after the block, the current frame of a scene, and what was set and not keyed.

    Args:
        also: as of `values_kept`.
    """
    frame, subframe = scene.frame_current, scene.frame_subframe
    with values_kept(also):
        try:
            yield
        finally:
            if (scene.frame_current, scene.frame_subframe) != (frame, subframe):
                scene.frame_set(frame, subframe=subframe)


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
