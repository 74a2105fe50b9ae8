"""The commands, and what reads the command line and runs one of them."""

from __future__ import annotations

import json
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import bpy

from ..bake.files.whole_files import beside
from ..errors import UserError
from . import (
    bake_commands,
    check_command,
    evaluate_command,
    report_command,
    setting_commands,
    soften_command,
)
from .command import JSON_FORMAT, Command, Run
from .console import PROGRAM, UNREADABLE, Console, complain, complain_of_bug, own_output
from .exit_codes import ExitCode, StoppedError, code_of
from .options import (
    OneLineParser,
    add_blend_output_options,
    add_general_options,
    add_input_options,
)
from .outputs import target_refusal
from .progress import Progress, stoppable

COMMANDS: tuple[Command, ...] = (
    *check_command.COMMANDS,
    *report_command.COMMANDS,
    *setting_commands.COMMANDS,
    *soften_command.COMMANDS,
    *evaluate_command.COMMANDS,
    *bake_commands.COMMANDS,
)

_TYPED = f"blender --command {PROGRAM}"
_EXIT_CODES = """\
exit codes:
  0 fine, 1 check found something, 2 the options are wrong, 3 a file cannot be read or written,
  4 a character cannot be worked on, 5 stopped by Ctrl C, 6 a bug of this program"""


def main(argv: Sequence[str]) -> int:
    """Run what comes after ``blender --command dq_compensation``.

    Returns:
        the exit code. What went wrong is one line on the standard error.
    """
    try:
        arguments = _parsed(argv)
    except UserError as error:
        complain(str(error))
        return code_of(error)
    except SystemExit:
        # The help was shown.
        return ExitCode.FINE
    try:
        with own_output(verbose=arguments.verbose) as output:
            return _run(arguments, output)
    except Exception as error:  # noqa: BLE001 - Blender would return 1, which means findings
        complain_of_bug(error)
        return ExitCode.BUG


def _run(arguments: Namespace, output: TextIO) -> ExitCode:
    quiet = arguments.quiet or arguments.json == "-"
    run = Run(arguments, Console(output, quiet), Progress(quiet=arguments.quiet))
    try:
        with stoppable(run.progress):
            if arguments.json not in {None, "-"} and (
                reason := target_refusal(Path(arguments.json))
            ):
                raise reason
            arguments.command.run(run)
            _report(run)
    except (StoppedError, KeyboardInterrupt):
        complain("stopped")
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - Blender would return 1, which means findings
        run.fail(error)
    return run.code


def _report(run: Run) -> None:
    """Write the JSON document, if it is wanted."""
    wanted = run.arguments.json
    if wanted is None:
        return
    document = {
        "format": JSON_FORMAT,
        "command": run.arguments.command.name,
        "blender": bpy.app.version_string,
        "exit_code": int(run.code),
        "files": run.files,
    }
    text = json.dumps(document, ensure_ascii=False, default=str)
    if wanted == "-":
        run.console.document(text)
        return
    with beside(Path(wanted)) as unfinished:
        unfinished.write_text(f"{text}\n", encoding="utf-8", errors=UNREADABLE)


def _parsed(argv: Sequence[str]) -> Namespace:
    """The options; raises `UsageError` where they are wrong, `SystemExit` for the help."""
    parser = OneLineParser(
        prog=_TYPED,
        description="Works on characters in .blend files. COMMAND --help shows more.",
        epilog=_EXIT_CODES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    groups = {"": parser.add_subparsers(title="commands", metavar="COMMAND", required=True)}
    for command in COMMANDS:
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            above = groups[""].add_parser(group, help=f"{group} characters: see {group} --help")
            groups[group] = above.add_subparsers(title="what", metavar="WHAT", required=True)
        examples = (f"  {_TYPED} {example}" for example in command.examples)
        own = groups[group].add_parser(
            name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog="\n".join(("examples:", *examples, "", _EXIT_CODES)),
            formatter_class=RawDescriptionHelpFormatter,
        )
        add_input_options(own, command.kind.several)
        if command.saves:
            add_blend_output_options(own)
        if command.add_options is not None:
            command.add_options(own)
        add_general_options(own)
        own.set_defaults(command=command)
    return parser.parse_args(argv)
