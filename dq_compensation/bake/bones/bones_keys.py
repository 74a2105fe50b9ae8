"""Writes the motion of helper bones into the armature's action, for exporters without sampling.

Constraints go on moving the helpers: the limits before them leave nothing of what is keyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...errors import UserError, raise_refusal
from ...scene.blender.animation_curves import PlayedAction, key_linearly, played_actions
from ...scene.blender.linked import linked_refusal
from ..key_reduction import kept_frames

REFUSAL_NO_ACTION = (
    "{armature} has no action in which the helpers could be keyed. Assign one, or turn off Key "
    "Helpers."
)

_CHANNELS = (("location", 3), ("rotation_quaternion", 4), ("scale", 3))


def keyed_action(armature: bpy.types.Object) -> PlayedAction:
    """The action of an armature that gets the keys.

    Raises:
        UserError: there is none, or it is linked.
    """
    found = [played for played in played_actions(armature) if played.source == "ACTION"]
    if not found:
        raise UserError(REFUSAL_NO_ACTION.format(armature=armature.name))
    action, advice = found[0].action, "Make it local, or turn off Key Helpers."
    named = f"The action {action.name} of {armature.name}"
    raise_refusal(linked_refusal(named, [action], advice))
    return found[0]


def key_helpers(
    armature: bpy.types.Object,
    helpers: Sequence[str],
    frames: Sequence[int],
    posed: NDArray[np.float64],
    parents: NDArray[np.float64],
    tolerance: float,
) -> int:
    """Key helper bones in the action of an armature.

    Args:
        helpers: the names of H helper bones.
        frames: F frames, rising.
        posed: shape (F, H, 4, 4), D of the helpers, armature space.
        parents: shape (F, H, 4, 4), D of their parents.
        tolerance: in the armature's units; frames in which linear interpolation moves no point of
            a helper farther get no key. 0 keys all frames.

    Returns:
        how many keyframes each channel of all helpers has, together.
    """
    played, count = keyed_action(armature), 0
    for number, name in enumerate(helpers):
        bone = armature.pose.bones[name].bone
        rest = np.array(bone.matrix_local)
        basis = np.linalg.inv(parents[:, number] @ rest) @ posed[:, number] @ rest
        # The head and the ends of the axes, in the rest axes.
        corners = np.concatenate(
            (basis[:, :3, 3:], basis[:, :3, 3:] + bone.length * basis[:, :3, :3]), 2
        )
        offsets = corners.transpose(0, 2, 1).astype(np.float32)
        kept = kept_frames(offsets, tuple(frames), tolerance)
        _write(played, name, [frames[place] for place in kept], basis[kept])
        count += len(kept)
    return count


def _write(played: PlayedAction, bone: str, frames: list[int], basis: NDArray[np.float64]) -> None:
    """Key the channels of one bone; `basis` has shape (F, 4, 4), in its rest axes."""
    rows: list[list[float]] = []
    last = None
    for matrix in basis.tolist():
        location, rotation, scale = Matrix(matrix).decompose()
        if last is not None:
            rotation.make_compatible(last)
        last = rotation.copy()
        rows.append([*location, *rotation, *scale])
    path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"]'
    group: Any = played.groups.get(bone) or played.groups.new(bone)
    values = iter(np.array(rows, np.float32).T)
    for channel, size in _CHANNELS:
        for index in range(size):
            known = played.curves.find(f"{path}.{channel}", index=index)
            if known is not None:
                played.curves.remove(known)
            curve = played.curves.new(f"{path}.{channel}", index=index)
            curve.group = group
            key_linearly(curve, frames, next(values))
