"""The options of commands, and how they are read."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from math import inf, isfinite, nan
from typing import Any, NoReturn

import bpy

from ..scene.blender.scenes import MOST_FRAME
from ..scene.settings.declaration import Declared, declared_in
from ..scene.settings.object_settings import CHARACTER_CHOICES, CharacterChoices
from ..wording import bounded
from .console import (
    UsageError,
)

_METAVARS = {"mm": "MM", "°": "DEGREES"}
_FRAMES = re.compile(r"(-?\d+)(?:-(-?\d+)(?:x([1-9]\d*))?)?")


class OneLineParser(ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise what the parser found.

        Raises:
            UsageError: always.
        """
        command = self.prog.rpartition("dq_compensation")[2].strip()
        message = f"{message}. --help shows what there is."
        raise UsageError(f"{command}: {message}" if command else message)


def add_general_options(parser: ArgumentParser) -> None:
    """Add what every command has."""
    group = parser.add_argument_group("what is printed")
    group.add_argument(
        "--json",
        nargs="?",
        const="-",
        type=_json_file,
        metavar="FILE",
        help="write what was done as JSON, to a .json file or to the standard output",
    )
    group.add_argument("--quiet", action="store_true", help="print errors only")
    group.add_argument(
        "--verbose", action="store_true", help="print Blender's own lines to the standard error"
    )


def add_input_options(parser: ArgumentParser, objects: str) -> None:
    """Add the files and objects."""
    meaning = ".blend files, or patterns such as 'shots/*.blend'"
    add_several_option(parser, "files", "--file", required=True, metavar="FILE", help=meaning)
    meaning = f"{objects}, by names or patterns, or the armature of some; without it all {objects}"
    add_several_option(parser, "objects", "--object", help=meaning)
    meaning = "the scene to work in; without it the one that was saved"
    parser.add_argument("--scene", metavar="NAME", help=meaning)


def add_several_option(
    parser: ArgumentParser, name: str, option: str, metavar: str = "NAME", **more: Any
) -> None:
    """Add an option with one value or several, which may be given more than once."""
    parser.add_argument(
        option, dest=name, nargs="+", action="extend", default=[], metavar=metavar, **more
    )


def add_blend_output_options(parser: ArgumentParser) -> None:
    """Add where a .blend file is saved."""
    _add_output_options(parser, "the .blend file to write, or a folder for several")
    parser.add_argument("--in-place", action="store_true", help="save to the input itself")


def _add_output_options(parser: ArgumentParser, meaning: str, *, required: bool = False) -> None:
    """Add where files are written."""
    parser.add_argument("--output", required=required, metavar="PATH", help=meaning)
    parser.add_argument(
        "--skip-done",
        action="store_true",
        help="leave out files whose output is newer than they are",
    )


def add_export_options(
    parser: ArgumentParser, otherwise: str, meaning: str, suffixes: Sequence[str]
) -> None:
    """Add what is written to files of other formats than .blend, and where.

    Args:
        otherwise: the frames without the option.
        suffixes: the first is that of files in folders.
    """
    add_frames_option(parser, otherwise)
    add_file_output_options(parser, meaning, suffixes)


def add_file_output_options(parser: ArgumentParser, meaning: str, suffixes: Sequence[str]) -> None:
    """Add where files of other formats than .blend are written; the first is that in folders."""
    _add_output_options(parser, meaning, required=True)
    formats = [suffix[1:] for suffix in suffixes]
    parser.add_argument(
        "--format",
        choices=formats,
        default=formats[0],
        help=f"of the files in a folder (default: {formats[0]})",
    )


def add_frames_option(parser: ArgumentParser, otherwise: str) -> None:
    """Add the frames; `otherwise` are those without the option."""
    parser.add_argument(
        "--frames",
        type=frames,
        metavar="1-250",
        help=f"the frames, 1-250x5 for every fifth; without it {otherwise}",
    )


def frames_of_scene(arguments: argparse.Namespace) -> tuple[int, int, int]:
    """First frame, last frame and step of the option; without it the scene's range."""
    scene = bpy.context.scene
    return arguments.frames or (scene.frame_start, scene.frame_end, 1)


def add_setting_options(
    parser: ArgumentParser, names: Iterable[str] = ("method", "factor")
) -> None:
    """Add settings that the objects get."""
    group = parser.add_argument_group("settings of the objects; without an option they stay")
    for name in names:
        _add_setting(group, name)


def _add_setting(parser: Any, name: str) -> None:
    """Add the option of a setting of objects, as it is declared."""
    setting = declared_in(CharacterChoices)[name]
    reading = _reading(setting)
    if setting.kind is float:
        reading["metavar"] = "{:g}..{:g}".format(*setting.bounds)
    option = f"--{name.removeprefix('use_').replace('_', '-')}"
    text = setting.description.replace("%", "%%")
    parser.add_argument(option, dest=name, default=argparse.SUPPRESS, help=text, **reading)


def setting_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that were chosen."""
    return {name: value for name, value in vars(arguments).items() if name in CHARACTER_CHOICES}


def sentence_of(function: Any) -> str:
    """The first sentence of a function of `api`, as the help of its command says it."""
    sentence = " ".join(function.__doc__.partition(".")[0].split())
    return sentence[0].lower() + sentence[1:]


def add_options_of(
    function: Any, parser: ArgumentParser, without: Iterable[str] = (), title: str = "the bake"
) -> None:
    """Add the options of a function of `api` without some, for which the command has its own."""
    group = parser.add_argument_group(title)
    for each in declared_in(function.options).values():
        if each.name not in without:
            name = f"--{each.name.replace('_', '-')}"
            text = f"{each.sentence}{_default(each)}".replace("%", "%%")
            group.add_argument(name, default=argparse.SUPPRESS, help=text, **_reading(each))


def chosen(arguments: argparse.Namespace, function: Any) -> dict[str, Any]:
    """The options that were chosen, for the function of `api`."""
    values = vars(arguments)
    return {name: values[name] for name in declared_in(function.options) if name in values}


def _reading(declared: Declared) -> dict[str, Any]:
    """How the parser reads a setting or an option."""
    if declared.kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if declared.allowed:
        return {"choices": declared.allowed, "type": str.upper}
    several = {"nargs": "+"} if declared.several else {}
    if declared.kind is str:
        return {"metavar": "NAME", **several}
    metavar = _METAVARS.get(declared.unit, declared.name.upper())
    read = number_between(*declared.bounds, int if declared.kind is int else float)
    return {"metavar": metavar, "type": read, **several}


def _default(option: Declared) -> str:
    """The words for a default in the help."""
    if option.kind is bool:
        return f" (default: {'yes' if option.default else 'no'})"
    if not option.several:
        return f" (default: {option.default})"
    values = " ".join(f"{each:g}" for each in option.default)
    return f" (default: {values})" if values else ""


def frames(text: str) -> tuple[int, int, int]:
    """First frame, last frame and step of ``12``, ``1-250`` or ``1-250x5``."""
    found = _FRAMES.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not like 12, 1-250 or 1-250x5")
    first, last, step = found.groups()
    for frame in filter(None, (first, last)):
        frame_number(frame)
    if last is not None and int(last) < int(first):
        raise argparse.ArgumentTypeError(f"'{text}' ends before it begins")
    return int(first), int(last or first), int(step or 1)


def frame_number(text: str) -> int:
    """A frame that Blender has."""
    return int(number_between(-MOST_FRAME, MOST_FRAME, int)(text))


def _json_file(text: str) -> str:
    """A file for the document. Any other ending may be that of an input behind ``--json``."""
    if text != "-" and not text.lower().endswith(".json"):
        raise argparse.ArgumentTypeError(f"'{text}' does not end with .json")
    return text


def number_between(least: float, most: float = inf, kind: type = float) -> Callable[[str], float]:
    """The type of an option that is a number from `least` to `most`."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = nan
        if not (isfinite(value) and least <= value <= most):
            number = "whole number" if kind is int else "number"
            raise argparse.ArgumentTypeError(f"'{text}' is not a {number} {bounded(least, most)}")
        return value

    return read
