"""A bake to shape keys: it reads every character, writes all keys at once, and checks the result.

Frames and correctives are baked by the same steps. The steps are generators, for a modal operator
and for scripts: they yield the progress and return the reports. Closed before the writing begins,
they leave everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import bpy

from ...core.rest_offsets import Target
from ...steps import Progress, with_progress
from ..bake_reports import KeyReport, remember
from ..bake_source import Source
from ..bake_targets import BakeOnto, bake_targets, let_armature_deform, show_copy

_Gathered = TypeVar("_Gathered")
_Report = TypeVar("_Report", bound=KeyReport)


@dataclass(frozen=True)
class CharacterBake(Generic[_Gathered, _Report]):
    """The steps for one character. The generators yield how much of their work is done, 0 to 1.

    Attributes:
        size: how many poses `gather` reads.
        gather: read the offsets; changes nothing.
        write: write the keys to an object; returns their names.
        report: describe the result before it is checked, from the object, the offsets, the names.
        verify: compare the object with the character; returns the finished report.
    """

    source: Source
    size: int
    gather: Callable[[], Generator[float, None, _Gathered]]
    write: Callable[[bpy.types.Object, _Gathered], list[str]]
    report: Callable[[bpy.types.Object, _Gathered, tuple[str, ...]], _Report]
    verify: Callable[[bpy.types.Object, _Report], Generator[float, None, _Report]]


def bake_characters(
    bakes: Sequence[CharacterBake[_Gathered, _Report]],
    target: Target,
    onto: BakeOnto,
    reading: float,
) -> Generator[Progress, None, list[_Report]]:
    """Bake several characters.

    An object that gets keys itself is disabled, and its Armature modifier deforms it. A copy is
    deformed like that; the object keeps its settings and is hidden in the viewport.

    Args:
        target: how the Armature modifier deforms the result.
        reading: the part of the time that reading takes, 0 to 1.

    Raises:
        UserError: a character cannot be baked; nothing has changed then.
    """
    poses = sum(bake.size for bake in bakes)
    gathered: list[_Gathered] = []
    done = 0
    for bake in bakes:
        start, length = reading * done / poses, reading * bake.size / poses
        doing = f"Baking {bake.source.obj.name}"
        gathered.append((yield from with_progress(bake.gather(), doing, start, length)))
        done += bake.size
    with bake_targets([bake.source.obj for bake in bakes], onto) as objects:
        names = [
            tuple(bake.write(obj, found))
            for bake, obj, found in zip(bakes, objects, gathered, strict=True)
        ]
    for obj in objects:
        let_armature_deform(obj, target)
    reports = [
        bake.report(obj, found, keys)
        for bake, obj, found, keys in zip(bakes, objects, gathered, names, strict=True)
    ]
    gathered.clear()
    for obj, report in zip(objects, reports, strict=True):
        remember(obj, report.sentence(), report.key_names)
    length = (1.0 - reading) / len(bakes)
    try:
        for number, (bake, obj) in enumerate(zip(bakes, objects, strict=True)):
            if not names[number]:
                continue
            steps, start = bake.verify(obj, reports[number]), reading + number * length
            reports[number] = yield from with_progress(
                steps, f"Checking {obj.name}", start, length, stoppable=False
            )
            remember(obj, reports[number].sentence(), reports[number].key_names)
    finally:
        # Also where the check is stopped.
        if onto == "COPY":
            for bake, obj in zip(bakes, objects, strict=True):
                show_copy(bake.source.obj, obj)
    return reports
