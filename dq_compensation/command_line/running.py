"""Defines commands, and lets them go through files."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bpy.types import Object

from ..errors import FileError, UserError
from ..pipeline.files.files import object_files
from .blend_files import (
    in_scene,
    open_file,
    require_writable_version,
    saved_to,
)
from .chosen_objects import SKINNED, Kind, chosen_objects
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
