"""The reports of bakes to shape keys, and the last report of each object, for the panel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import bpy

from ..scene.blender.mesh import mesh_of
from ..scene.kept_weights import kept_record
from ..scene.settings.object_settings import Settings, is_enabled
from ..session.memory import memories, memory_of
from ..session.status import status_of
from ..wording import counted, rounded
from .deviations import Deviation


@dataclass(frozen=True)
class _LastReport:
    """The last report of an object.

    Attributes:
        summary: the part of the text that the panel shows.
        key_names: the keys that it is about.
        of_bones: whether it is about helper bones.
        enabled: whether the object was enabled then. Once that changes, it is old news.
        state: of an estimate, what it was made from; see `_state`.
    """

    text: str = ""
    summary: str = ""
    key_names: tuple[str, ...] = ()
    of_bones: bool = False
    enabled: bool = False
    state: tuple[Any, Settings] | None = None


def _state(obj: bpy.types.Object) -> tuple[Any, Settings]:
    """What changes with the mesh, the weights, the bones or the settings of an enabled object."""
    binding = status_of(obj).binding
    return None if binding is None else ref(binding), Settings.of(obj)


@dataclass(frozen=True)
class KeyReport:
    """The result of baking shape keys onto one object.

    Attributes:
        onto_name: the object that has the keys; the character itself or its copy.
        unreached: how many vertices stay off in some pose; see `PoseOffsets`.
    """

    object_name: str
    onto_name: str
    key_names: tuple[str, ...]
    unreached: int

    def sentence(self) -> str:
        """For the status line and the panel."""
        raise NotImplementedError

    def summary(self) -> str:
        """The part that the panel shows; its details are behind a button."""
        return self.sentence()

    @property
    def _onto(self) -> str:
        return "" if self.onto_name == self.object_name else f" onto {self.onto_name}"

    @property
    def _ending(self) -> str:
        """The end of every report."""
        text = ""
        if self.unreached:
            vertices = counted(self.unreached, "vertex")
            stay = "stays" if self.unreached == 1 else "stay"
            text = f" {vertices} {stay} off: the Armature modifier collapses the mesh there."
        if self._onto:
            text += f" {self.object_name} is hidden; Alt H in Object Mode shows it."
        return text


@dataclass(frozen=True)
class PoseReport(KeyReport):
    """The result of baking a pose onto one object.

    Attributes:
        deviation: Blender's own modifier with the keys from our deformation.
    """

    deviation: Deviation

    def sentence(self) -> str:
        """See `KeyReport`."""
        baked = f"Baked the pose of {self.object_name}{self._onto} to {self.key_names[0]}"
        return f"{baked}: {_largest_error(self.deviation)}.{self._ending}"


@dataclass(frozen=True)
class RangeReport(KeyReport):
    """The result of baking a range of frames onto one object.

    Attributes:
        separate: why glTF does not export bones and keys as one animation; None where it does.
        deviation: Blender's own modifier with the keys from our deformation.
    """

    frames: int
    separate: str | None = None
    deviation: Deviation = field(default_factory=Deviation)

    def sentence(self) -> str:
        """See `KeyReport`."""
        frames, keys = counted(self.frames, "frame"), counted(len(self.key_names), "shape key")
        baked = f"Baked {frames} of {self.object_name}{self._onto} to {keys}"
        separate = f" {self.separate}" if self.separate else ""
        return f"{baked}: {_largest_error(self.deviation)}.{self._ending}{separate}"


def _largest_error(deviation: Deviation) -> str:
    if not deviation.poses:
        return "the result was not checked"
    poses = "" if deviation.poses == 1 else f" ({deviation.poses} frames checked)"
    return f"largest error {rounded(deviation.largest)} mm{poses}"


def last_report(obj: bpy.types.Object) -> str | None:
    """The last report about an object, as long as what it is about is there.

    It is gone once the object is enabled or disabled; that of an estimate once the object changes.
    """
    last = memory_of(obj, _LastReport)
    if last.state is not None and last.state != _state(obj):
        return None
    if last.enabled != is_enabled(obj):
        return None
    if last.of_bones and kept_record(obj) is None:
        return None
    key, names = mesh_of(obj).shape_keys, last.key_names
    if names and (key is None or names[0] not in key.key_blocks):
        return None
    return last.text or None


def last_summary(obj: bpy.types.Object) -> str:
    """The part of the last report about an object that the panel shows."""
    return memory_of(obj, _LastReport).summary


def forget_report(obj: bpy.types.Object) -> None:
    """Forget the report about an object."""
    memories(_LastReport).pop(obj.session_uid, None)


def remember_report(
    obj: bpy.types.Object,
    text: str,
    names: tuple[str, ...] = (),
    *,
    summary: str | None = None,
    of_bones: bool = False,
    estimate: bool = False,
) -> None:
    """Keep the report about an object for `last_report`.

    Args:
        names: of the shape keys that it is about.
        summary: the part that the panel shows; None: all of it.
        of_bones: whether it is about helper bones.
        estimate: whether it is true only until the object changes.
    """
    state = _state(obj) if estimate else None
    memories(_LastReport)[obj.session_uid] = _LastReport(
        text, text if summary is None else summary, names, of_bones, is_enabled(obj), state
    )
