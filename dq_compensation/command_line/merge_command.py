"""`merge`: joins the frames that several processes have computed."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from .. import api
from ..bake.chunk_merging import CACHE_FORMATS
from ..errors import FileError, UserError
from ..wording import counted
from .command import Command, Run
from .exit_codes import UsageError
from .options import add_frames_option, frame_numbers
from .outputs import input_files, require_targets

_SUFFIXES = (".npz", *CACHE_FORMATS)


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("chunks", nargs="+", metavar="CHUNK", help=".npz files, or patterns")
    add_frames_option(parser, "any, at even steps")
    parser.add_argument(
        "--output", required=True, metavar="FILE", help=f"ends with {', '.join(_SUFFIXES)}"
    )


def _run(run: Run) -> None:
    arguments = run.arguments
    chunks, output = input_files(arguments.chunks), Path(arguments.output)
    if output.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--output {output} does not end with {', '.join(_SUFFIXES)}.")
    require_targets([output], [chunks[0]], in_place=True)
    if output.resolve() in {chunk.resolve() for chunk in chunks}:
        raise UsageError(f"{output} is one of the chunks. Choose another --output.")
    frames = frame_numbers(arguments.frames) or None
    try:
        reports = api.merge_chunks(chunks, output, frames=frames)
    except UserError as error:
        # No character is at hand, only files.
        raise FileError(str(error)) from error
    for report in reports:
        run.console.say(report.sentence())
    run.console.say(f"{counted(len(chunks), 'chunk')} merged")
    run.files.append(
        {"file": str(output), "output": [str(report.path) for report in reports]}
        | {"warnings": [], "skipped": False, "error": None}
        | {"objects": [{"name": report.object_name, "frames": report.frames} for report in reports]}
    )


COMMANDS = (
    Command(
        "merge",
        "join the frames that evaluate has written to several .npz files",
        (
            "merge 'chunks/hero *.npz' --frames 1-250 --output hero.pc2",
            "merge 1-125.npz 126-250.npz --output hero.npz",
        ),
        _add_options,
        _run,
    ),
)
