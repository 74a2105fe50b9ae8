"""The frame of commands, a subject of its own: options, how they are read, how commands run."""

from __future__ import annotations

import argparse
import os
import re
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, NoReturn

import bpy
from bpy.types import Object

from .. import api
from ..errors import FileError, UserError, raise_refusal
from ..pipeline.files.files import object_files
from ..scene.blender.scenes import MOST_FRAME
from ..scene.settings.declaration import Declared, declared_in
from ..scene.settings.object_settings import CHARACTER_CHOICES, CharacterChoices
from ..scene.stack import find_rig
from ..wording import bounded, listed
from .blend_files import (
    in_scene,
    missing_data_refusal,
    open_file,
    require_writable_version,
    saved_to,
)
from .console import (
    Console,
    ExitCode,
    PrintedProgress,
    StoppedError,
    UsageError,
    code_of,
    complain,
    complain_of_bug,
)
from .target_files import blend_targets, file_targets, input_files, is_done, target_refusal

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


def add_bake_options(
    parser: ArgumentParser, task: type, without: Iterable[str] = (), title: str = "the bake"
) -> None:
    """Add the options of a bake without some, for which the command has its own way."""
    group = parser.add_argument_group(title)
    for each in declared_in(task).values():
        if each.name not in without:
            name = f"--{each.name.replace('_', '-')}"
            text = f"{each.sentence}{_default(each)}".replace("%", "%%")
            group.add_argument(name, default=argparse.SUPPRESS, help=text, **_reading(each))


def chosen(arguments: argparse.Namespace, task: type) -> dict[str, Any]:
    """The options that were chosen, for the function of `api`."""
    values = vars(arguments)
    return {name: values[name] for name in declared_in(task) if name in values}


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


@dataclass(frozen=True)
class Kind:
    """The kind of objects that a command works on.

    Attributes:
        one, several: in sentences.
        meaning: what makes an object one.
        found: all that the scene has.
    """

    one: str
    several: str
    meaning: str
    found: Callable[[], list[Object]]


SKINNED = Kind(
    "skinned mesh", "skinned meshes", "no mesh with an Armature modifier", api.skinned_meshes
)


def chosen_objects(file: Path, patterns: Sequence[str], kind: Kind = SKINNED) -> list[Object]:
    """The objects of the scene that names and patterns mean; without any, all of the kind.

    The name of an armature means all its meshes.

    Args:
        file: that is open, for messages.

    Raises:
        UserError: there is none.
        FileError: a part of one of them is in a library that is missing.
    """
    among = kind.found()
    found: dict[Object, None] = {} if patterns else dict.fromkeys(among)
    for pattern in patterns:
        named = [
            each
            for obj in bpy.context.scene.objects
            if pattern in {obj.name, obj.name_full}
            for each in ([mesh for mesh in among if find_rig(mesh) == obj] or [obj])
        ]
        matches = named or [obj for obj in among if fnmatchcase(obj.name, pattern)]
        if not matches:
            raise UserError(_unknown(file, pattern, among, kind))
        found.update(dict.fromkeys(matches))
    if not found:
        raise UserError(f"{file} has no {kind.one}: {kind.meaning}.")
    for obj in found:
        raise_refusal(missing_data_refusal(obj), FileError)
    return list(found)


def _unknown(file: Path, name: str, among: list[Object], kind: Kind) -> str:
    names = [obj.name for obj in among]
    folded = {each.casefold(): each for each in names}
    near = [folded[each] for each in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
    if near:
        return f"{file} has no object {name}. Did you mean {listed(near)}?"
    if names:
        return f"{file} has no object {name}. Its {kind.several}: {listed(names)}."
    return f"{file} has no object {name}, and no {kind.one}."


# Defines commands, and lets them go through files.


# The format of the JSON documents; it rises when what they had is not there any more.
JSON_FORMAT = 1

ObjectFacts = dict[str, Any]
"""The facts about one object, for JSON; `name` is the object's."""


@dataclass
class Run:
    """One call of a command: its options, and what has come of it so far.

    Attributes:
        files: for JSON, what was done with each file.
        written: the outputs for objects, and the input of each.
    """

    arguments: Namespace
    console: Console
    progress: PrintedProgress
    files: list[dict[str, Any]] = field(default_factory=list)
    written: dict[str, Path] = field(default_factory=dict)
    code: ExitCode = ExitCode.FINE

    def part(self, number: int, count: int) -> Callable[[float, str], None]:
        """The progress of one of several equal parts."""
        return lambda share, doing: self.progress((number + share) / count, doing)

    def begin(self, source: Path) -> dict[str, Any]:
        """Begin with a file; returns the facts about it, for JSON."""
        facts: dict[str, Any] = {"file": str(source), "output": [], "warnings": []}
        facts.update(skipped=False, error=None, objects=[], seconds=0.0)
        self.files.append(facts)
        return facts

    def objects(self, source: Path) -> list[Object]:
        """The characters, or what the command works on, of the open file that the options name.

        Raises:
            UserError: there are none.
        """
        return chosen_objects(source, self.arguments.objects, self.arguments.command.kind)

    def note_outputs(self, source: Path, targets: Sequence[Path]) -> None:
        """Note the files that are written for the objects of the current input.

        Raises:
            FileError: one cannot be written, or was written for another input.
        """
        for each in targets:
            first = self.written.setdefault(os.path.normcase(each.resolve()), source)
            if first != source:
                raise FileError(
                    f"{source} and {first} would both be written to {each}. Choose another "
                    "folder for one of them."
                )
            if (reason := target_refusal(each)) is not None:
                raise reason
        self.files[-1]["output"] = [str(each) for each in targets]

    def fail(self, error: Exception) -> dict[str, Any]:
        """Tell why something failed; the first failure makes the exit code. Returns it for JSON."""
        if isinstance(error, UserError):
            code, message = code_of(error), str(error)
            complain(message)
        else:
            code, message = ExitCode.BUG, complain_of_bug(error)
        self._note(code)
        return {"code": int(code), "message": message}

    def note_worse(self, name: str) -> None:
        """Tell that a character was not baked, as helper bones would make it worse."""
        complain(f"{name} was not baked to bones: they would make it worse")
        self._note(ExitCode.WORSE)

    def _note(self, code: ExitCode) -> None:
        """Keep the first exit code that is no success."""
        if self.code <= ExitCode.FINDINGS:
            self.code = code


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        name: one or two words, e.g. ``bake pose``.
        summary: for the list of the commands.
        examples: what is typed after ``blender --command dq_compensation``.
        run: does it. What it raises ends the process with the code of the error.
        add_options: adds the options that only it has; None without any.
    """

    name: str
    summary: str
    examples: tuple[str, ...]
    run: Callable[[Run], None]
    add_options: Callable[[ArgumentParser], None] | None = None
    saves: bool = False
    kind: Kind = SKINNED


def said_facts(run: Run, reports: Sequence[Any]) -> list[ObjectFacts]:
    """Print reports of `api`; returns them for JSON, for each object that they are about."""
    found: list[ObjectFacts] = []
    for report in reports:
        run.console.say(report.sentence())
        facts = {**asdict(report), "sentence": report.sentence()}
        names = getattr(report, "object_names", None) or (report.object_name,)
        found += [{"name": name, "report": facts} for name in names]
    return found


def each_file(
    run: Run,
    work: Callable[[Path], list[ObjectFacts] | None],
    sources: Iterable[Path] | None = None,
) -> None:
    """Open each file and work on it. A file that fails is reported, and the next one follows.

    Args:
        sources: the files; by default those of the options.
        work: gets the path; returns the facts of its objects, None where all was done already.
    """
    for source in input_files(run.arguments.files) if sources is None else sources:
        run.progress.begin(str(source))
        started, facts = time.monotonic(), run.begin(source)
        try:
            facts["warnings"] = open_file(source)
            for warning in facts["warnings"]:
                complain(warning)
            with in_scene(source, run.arguments.scene):
                found = work(source)
            facts["skipped"], facts["objects"] = found is None, found or []
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - the next files have nothing to do with it
            facts["error"] = run.fail(error)
        facts["seconds"] = round(time.monotonic() - started, 3)


def each_object(run: Run, doing: str, work: Callable[[Path, Object], ObjectFacts]) -> None:
    """Open each file and work on each of its characters; `work` gets the path of the file."""

    def work_on(source: Path) -> Iterator[ObjectFacts]:
        objects = run.objects(source)
        for number, obj in enumerate(objects):
            run.progress(number / len(objects), f"{doing} {obj.name}")
            yield work(source, obj)

    each_file(run, lambda source: list(work_on(source)))


def each_saved_file(run: Run, work: Callable[[Run, list[Object]], list[ObjectFacts]]) -> None:
    """Open each file, change its characters or crowds, and save it where the options say.

    Args:
        work: changes the objects; when it fails, nothing is saved.
    """
    arguments = run.arguments
    target_of = blend_targets(
        input_files(arguments.files), arguments.output, in_place=arguments.in_place
    )
    if arguments.skip_done and arguments.in_place:
        raise UsageError("--skip-done needs an --output: in place nothing says what is done.")
    for source, target in list(target_of.items()) if arguments.skip_done else ():
        if is_done([target], source):
            del target_of[source]
            run.begin(source).update(output=[str(target)], skipped=True)
            run.console.say(f"{target} is newer than {source}: nothing to do")

    def change_and_save(source: Path) -> list[ObjectFacts]:
        require_writable_version(source)
        target = target_of[source]
        with saved_to(target, source):
            found = work(run, run.objects(source))
            run.progress.look()
        run.files[-1]["output"] = [str(target)]
        run.console.say(f"Saved {target}")
        return found

    each_file(run, change_and_save, target_of)


def each_exported_file(
    run: Run,
    suffixes: Sequence[str],
    work: Callable[[Run, list[Object], Path], list[ObjectFacts]],
    together: Collection[str] = (),
) -> None:
    """Open each file, and write its characters to files of other formats where the options say.

    Args:
        work: writes the characters to the path. Several characters get a file each, with their
            names added (`object_files`).
        together: the endings of those that have all of them in one file.
    """
    arguments = run.arguments
    sources, in_folder = input_files(arguments.files), f".{arguments.format}"
    target_of = file_targets(sources, arguments.output, suffixes, in_folder)

    def export(source: Path) -> list[ObjectFacts] | None:
        objects, target = run.objects(source), target_of[source]
        in_one = target.suffix.lower() in together
        files = [target] if in_one else object_files(target, [obj.name for obj in objects])
        run.note_outputs(source, files)
        if arguments.skip_done and is_done(files, source):
            run.console.say(f"{source}: nothing to do")
            return None
        return work(run, objects, target)

    each_file(run, export, target_of)
