"""How a bake is asked for, how far it is, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..bake.carriers import Onto
from ..bake.frames import frames_of_range
from ..bake.pose import PoseReport
from ..bake.verification import Deviation
from ..core.rest_offsets import Target
from ..scene.mesh import mesh_of
from ..wording import counted

# By session_uid: what was said of the last bake onto an object, and the keys that it was said of.
_said: dict[int, tuple[str, tuple[str, ...]]] = {}


@dataclass(frozen=True)
class Progress:
    """How far a bake is.

    Attributes:
        share: 0 to 1.
        doing: for the status line.
        stoppable: whether stopping now leaves everything as it was; later it only leaves out the
            check of the result.
    """

    share: float
    doing: str
    stoppable: bool = True


@dataclass(frozen=True)
class RangeOptions:
    """How a range of frames is baked.

    Attributes:
        first, last, step: frames; the last one is always baked.
        target: what deforms the baked object.
        pattern: of the keys' names, with {frame}.
        tolerance: millimetres within which a frame is left to interpolation; 0 keeps every frame.
        onto: what gets the keys.
        overwrite: whether keys of earlier bakes with this pattern are replaced.
    """

    first: int
    last: int
    step: int = 1
    target: Target = "LINEAR"
    pattern: str = "Frame {frame:04d}"
    tolerance: float = 0.0
    onto: Onto = "THIS"
    overwrite: bool = True

    @property
    def frames(self) -> tuple[int, ...]:
        """The frames, rising.

        Raises:
            BakeError: the range is empty.
        """
        return frames_of_range(self.first, self.last, self.step)


@dataclass(frozen=True)
class RangeReport:
    """What came of baking a range onto one object.

    Attributes:
        object_name: whose deformation it is.
        onto_name: what has the keys; the object itself or its copy.
        frames: how many were baked.
        key_names: of the shape keys.
        unreached: how many vertices do not get where they should in some frame.
        deviation: Blender's own modifier with the keys from our deformation.
    """

    object_name: str
    onto_name: str
    frames: int
    key_names: tuple[str, ...]
    unreached: int
    deviation: Deviation

    def sentence(self) -> str:
        """For the status line and the panel."""
        onto = "" if self.onto_name == self.object_name else f" onto {self.onto_name}"
        baked = (
            f"Baked {counted(self.frames, 'frame')} of {self.object_name}{onto} to "
            f"{counted(len(self.key_names), 'shape key')}"
        )
        return f"{baked}: {_result(self.deviation, self.unreached)}"


def last_report(obj: bpy.types.Object) -> str | None:
    """What was said of the last bake onto an object, as long as its keys are there."""
    text, names = _said.get(obj.session_uid, ("", ()))
    key = mesh_of(obj).shape_keys
    if not text or key is None or any(name not in key.key_blocks for name in names[:1]):
        return None
    return text


def remember(obj: bpy.types.Object, text: str, names: tuple[str, ...]) -> None:
    """Keep what was said of a bake onto an object, for `last_report`."""
    _said[obj.session_uid] = (text, names)


def _result(deviation: Deviation, unreached: int) -> str:
    if not deviation.poses:
        return "the result was not checked."
    poses = "" if deviation.poses == 1 else f" ({deviation.poses} frames checked)"
    vertices = counted(unreached, "vertex")
    return f"largest error {deviation.largest:.3g} mm{poses}, {vertices} could not be reached."


def pose_sentence(obj: bpy.types.Object, carrier: bpy.types.Object, report: PoseReport) -> str:
    """What is said of a baked pose; `carrier` has the key."""
    onto = "" if carrier == obj else f" of {carrier.name}"
    result = _result(report.deviation, report.unreached)
    return f"Baked the pose of {obj.name} to the shape key {report.key_name}{onto}: {result}"
