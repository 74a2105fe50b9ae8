"""Keeps takes in the file: each as bytes in a mesh of its own, which no object shows.

The armature object points to the mesh, so that both are saved, appended and undone together, and a
duplicate shares it. Without a user Blender leaves it out of the next file. The bytes never change:
a take that is cached anew is a new mesh.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import bpy
import numpy as np

from ..core.takes import Keys, Take, TakeValues
from ..errors import UserError
from .own_objects import TAKE_PROPERTY

# The newest format of the bytes that this version reads.
_FORMAT = 1


def store_take(take: Take, name: str) -> bpy.types.Mesh:
    """A new data-block with a take."""
    # Names that begin with a dot are not offered in Blender's lists.
    mesh = bpy.data.meshes.new(f".{name}")
    mesh[TAKE_PROPERTY] = packed(take)
    return mesh


def stored_take(mesh: bpy.types.Mesh) -> Take:
    """The take of a data-block.

    Raises:
        UserError: it cannot be read; a newer version of the add-on may have written it.
    """
    return unpacked(mesh[TAKE_PROPERTY])


def stored_bytes(mesh: bpy.types.Mesh) -> int:
    """How many bytes a take takes in the file, before the file is compressed."""
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
    """The take of such bytes.

    Raises:
        UserError: they cannot be read.
    """
    try:
        with np.load(BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if int(arrays["format"]) > _FORMAT:
            raise KeyError("format")
        start, end = arrays["range"].tolist()
        return Take(
            tuple(arrays["node_names"].tolist()),
            arrays["parents"],
            arrays["rest"],
            start,
            end,
            float(arrays["fps"]),
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
    except (KeyError, ValueError, OSError, BadZipFile) as error:
        raise UserError(
            "The take cannot be read: a newer version of DQ Compensation may have made it. "
            "Cache it again."
        ) from error
