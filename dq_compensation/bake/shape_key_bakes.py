"""A bake to shape keys: it reads every character, writes all keys at once, and checks the result.

Frames and correctives are baked by the same steps. The steps are generators, for a modal operator
and for scripts: they yield the progress and return the reports. Closed before the writing begins,
they leave everything as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import bpy

from ..steps import Progress, with_progress
from .bake_reports import KeyReport, remember_report
from .bake_source import Source
from .bake_targets import bake_targets, let_armature_deform, show_copy
from .options import KeyOptions

_Options = TypeVar("_Options", bound=KeyOptions)
_Gathered = TypeVar("_Gathered")
_Report = TypeVar("_Report", bound=KeyReport)


@dataclass(frozen=True, eq=False)
class CharacterBake(ABC, Generic[_Options, _Gathered, _Report]):
    """The steps for one character. The generators yield how much of their work is done, 0 to 1.

    Closed before its end, a generator leaves the scene, its frame and the modifiers as they were.
    """

    source: Source
    options: _Options

    @property
    @abstractmethod
    def size(self) -> int:
        """How many poses `gather` reads."""

    @abstractmethod
    def gather(self) -> Generator[float, None, _Gathered]:
        """Read the offsets; changes nothing.

        Raises:
            UserError: a pose cannot be evaluated, or memory does not suffice.
        """

    @abstractmethod
    def write(self, onto: bpy.types.Object, gathered: _Gathered) -> list[str]:
        """Write the keys to an object; returns their names."""

    @abstractmethod
    def report(
        self, onto: bpy.types.Object, gathered: _Gathered, names: tuple[str, ...]
    ) -> _Report:
        """Describe the result before it is checked."""

    @abstractmethod
    def verify(self, onto: bpy.types.Object, report: _Report) -> Generator[float, None, _Report]:
        """Compare Blender's own modifier and the keys with our deformation.

        Returns:
            the finished report.
        """


def bake_characters(
    bakes: Sequence[CharacterBake[_Options, _Gathered, _Report]],
    options: KeyOptions,
    reading: float,
) -> Generator[Progress, None, list[_Report]]:
    """Bake several characters.

    An object that gets keys itself is disabled, and its Armature modifier deforms it. A copy is
    deformed like that; the object keeps its settings and is hidden in the viewport.

    Args:
        reading: the part of the time that reading takes, 0 to 1.

    Raises:
        UserError: a character cannot be baked; nothing has changed then.
    """
    poses = max(sum(bake.size for bake in bakes), 1)
    gathered: list[_Gathered] = []
    done = 0
    for bake in bakes:
        start, length = reading * done / poses, reading * bake.size / poses
        doing = f"Baking {bake.source.obj.name}"
        gathered.append((yield from with_progress(bake.gather(), doing, start, length)))
        done += bake.size
    with bake_targets([bake.source.obj for bake in bakes], options.onto) as objects:
        names = [
            tuple(bake.write(obj, found))
            for bake, obj, found in zip(bakes, objects, gathered, strict=True)
        ]
    for obj in objects:
        let_armature_deform(obj, options.target)
    reports = [
        bake.report(obj, found, keys)
        for bake, obj, found, keys in zip(bakes, objects, gathered, names, strict=True)
    ]
    gathered.clear()
    for obj, report in zip(objects, reports, strict=True):
        remember_report(obj, report.sentence(), report.key_names, summary=report.summary())
    length = (1.0 - reading) / len(bakes)
    try:
        for number, (bake, obj) in enumerate(zip(bakes, objects, strict=True)):
            if not names[number]:
                continue
            steps, start = bake.verify(obj, reports[number]), reading + number * length
            reports[number] = yield from with_progress(
                steps, f"Checking {obj.name}", start, length, stoppable=False
            )
            report = reports[number]
            remember_report(obj, report.sentence(), report.key_names, summary=report.summary())
    finally:
        # Also where the check is stopped.
        if options.onto == "COPY":
            for bake, obj in zip(bakes, objects, strict=True):
                show_copy(bake.source.obj, obj)
    return reports


FRAME_REFUSALS: list[
    Callable[[bpy.types.Object, Sequence[float], Collection[str]], str | None]
] = []
"""Why frames of an object cannot be baked, or None; they get the frames, rising, and the keys that
the bake replaces."""


def frames_refusal(
    obj: bpy.types.Object, frames: Sequence[float], replaced: Collection[str] = ()
) -> str | None:
    """Why frames of an object cannot be baked, or None; see `FRAME_REFUSALS`."""
    return next(filter(None, (each(obj, frames, replaced) for each in FRAME_REFUSALS)), None)
