"""Keeps takes in the file: each as bytes in a mesh of its own, which no object shows.

The armature object points to the mesh, so that both are saved, appended and undone together, and a
duplicate shares it. Without a user Blender leaves it out of the next file. The bytes never change:
a take that is cached anew is a new mesh.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, get_args

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import UNREADABLE, UserError
from .local_poses import Interpolation
from .takes import Keys, Take, TakeValues

# Of a mesh that no object has: the bytes of a take.
TAKE_PROPERTY = "dq_compensation_take"

# The newest format of the bytes that this version reads.
_FORMAT = 1


def store_take(take: Take, name: str) -> bpy.types.Mesh:
    """A new data-block with a take."""
    # Names that begin with a dot are not offered in Blender's lists.
    mesh = bpy.data.meshes.new(f".{name}")
    mesh[TAKE_PROPERTY] = packed(take)
    return mesh


def stored_take(mesh: bpy.types.Mesh) -> Take:
    """The take of a data-block; UserError where it cannot be read."""
    return unpacked(mesh[TAKE_PROPERTY])


def stored_bytes(mesh: bpy.types.Mesh) -> int:
    """The bytes of a take in the file, before the file is compressed."""
    return len(mesh[TAKE_PROPERTY])


def is_take(mesh: bpy.types.Mesh | None) -> bool:
    """Whether a data-block has a take."""
    return mesh is not None and isinstance(mesh.get(TAKE_PROPERTY), bytes)


def remove_unused_take(mesh: bpy.types.Mesh | None) -> None:
    """Free a take that no armature has any more."""
    if mesh is not None and is_take(mesh) and not mesh.users and mesh.library is None:
        bpy.data.meshes.remove(mesh)


def packed(take: Take) -> bytes:
    """A take as bytes: an archive of NumPy arrays, compressed."""
    arrays: dict[str, Any] = {
        "format": np.int32(_FORMAT),
        "node_names": np.array(take.node_names, np.str_),
        "parents": take.parents,
        "rest": take.rest,
        "range": np.array((take.frame_start, take.frame_end), np.int32),
        "fps": np.float64(take.fps),
        "offsets": take.keys.offsets,
        "frames": take.keys.frames,
        "locations": take.locations,
        "rotations": take.rotations,
        "value_names": np.array(take.values.names, np.str_).reshape(-1, 2),
        "value_offsets": take.values.keys.offsets,
        "value_frames": take.values.keys.frames,
        "values": take.values.values,
        "interpolation": np.str_(take.interpolation),
    }
    if take.scales is not None:
        arrays["scales"] = take.scales
    target = BytesIO()
    np.savez_compressed(target, **arrays)
    return target.getvalue()


def unpacked(data: bytes) -> Take:
    """The take of such bytes; UserError where they cannot be read."""
    try:
        with np.load(BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if int(arrays["format"].item()) > _FORMAT:
            raise KeyError("format")
        start, end = arrays["range"].tolist()
        take = Take(
            tuple(arrays["node_names"].tolist()),
            arrays["parents"],
            arrays["rest"],
            start,
            end,
            float(arrays["fps"].item()),
            Keys(arrays["offsets"], arrays["frames"]),
            arrays["locations"],
            arrays["rotations"],
            arrays.get("scales"),
            TakeValues(
                tuple((mesh, key) for mesh, key in arrays["value_names"].tolist()),
                Keys(arrays["value_offsets"], arrays["value_frames"]),
                arrays["values"],
            ),
            str(arrays["interpolation"]),  # type: ignore[arg-type]
        )
        _require_whole(take)
    except UNREADABLE as error:
        raise UserError(
            "The take cannot be read: it is damaged, or a newer version of DQ Compensation has "
            "made it. Cache it again."
        ) from error
    return take


def _require_whole(take: Take) -> None:
    """Raise ValueError unless the arrays of a take fit each other and are finite."""
    count, keys = take.node_count, take.keys.key_count
    _require_shape(take.rest, (count, 4, 4))
    _require_shape(take.locations, (keys, 3))
    _require_shape(take.rotations, (keys, 4))
    if take.scales is not None:
        _require_shape(take.scales, (keys, 3))
    _require_shape(take.values.values, (take.values.keys.key_count,))
    _require_tracks(take.keys, count)
    _require_tracks(take.values.keys, len(take.values.names))
    if np.any(np.linalg.norm(take.rotations, axis=1) < 1e-6):
        raise ValueError("rotations: zero")
    if np.any(np.abs(np.linalg.det(take.rest[:, :3, :3])) < 1e-12):
        raise ValueError("rest: no frames")
    parents = take.parents
    if parents.shape != (count,) or not np.issubdtype(parents.dtype, np.integer):
        raise ValueError(f"parents: {parents.dtype} {parents.shape}")
    if np.any(parents < -1) or np.any(parents >= np.arange(count)):
        raise ValueError("parents: not before their children")
    if not count or take.frame_end < take.frame_start or not 0.0 < take.fps < np.inf:
        raise ValueError(f"{count} nodes, {take.frame_start} to {take.frame_end}, {take.fps} fps")
    if take.interpolation not in get_args(Interpolation):
        raise ValueError(f"interpolation: {take.interpolation}")


def _require_shape(values: NDArray[Any], shape: tuple[int, ...]) -> None:
    if values.shape != shape or not np.issubdtype(values.dtype, np.floating):
        raise ValueError(f"{values.dtype} {values.shape} in the place of {shape}")
    if not np.isfinite(values).all():
        raise ValueError("not finite")


def _require_tracks(keys: Keys, count: int) -> None:
    """So many tracks, each with keys."""
    offsets, frames = keys.offsets, keys.frames
    for array, length in ((offsets, count + 1), (frames, len(frames))):
        if array.shape != (length,) or not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"keys: {array.dtype} {array.shape}")
    if offsets[0] != 0 or offsets[-1] != len(frames) or np.any(np.diff(offsets) < 1):
        raise ValueError("keys: tracks without keys")
    rising = np.diff(frames.astype(np.int64)) > 0
    rising[offsets[1:-1] - 1] = True  # where the next track begins
    if not rising.all():
        raise ValueError("keys: frames not rising")
