"""`check`: what Setup Check finds."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import bpy

from .. import api
from ..wording import counted
from .command import Command, ObjectFacts, Run, each_object
from .exit_codes import ExitCode

_SEVERITIES = ("ERROR", "WARNING", "INFORMATION")


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "information", "never"),
        default="error",
        help="the least severity that gives exit code 1 (default: error)",
    )


def _run(run: Run) -> None:
    chosen = run.arguments.fail_on.upper()
    fatal = _SEVERITIES[: _SEVERITIES.index(chosen) + 1] if chosen in _SEVERITIES else ()
    found = dict.fromkeys(_SEVERITIES, 0)

    def check(source: Path, obj: bpy.types.Object) -> ObjectFacts:
        issues = api.check(obj)
        for issue in issues:
            found[issue.severity] += 1
            run.console.say(f"{source}: {obj.name}: {issue.severity.lower()}: {issue.message}")
        return {"name": obj.name_full, "issues": [_facts(issue) for issue in issues]}

    each_object(run, "checking", check)
    checked = sum(file["error"] is None for file in run.files)
    nouns = dict(zip(_SEVERITIES, ("error", "warning", "note"), strict=True))
    counts = ", ".join(counted(found[each], nouns[each]) for each in _SEVERITIES)
    run.console.say(f"{counted(checked, 'file')} checked: {counts}")
    if run.code == ExitCode.FINE and any(found[severity] for severity in fatal):
        run.code = ExitCode.FINDINGS


def _facts(issue: api.Issue) -> ObjectFacts:
    return {
        "check": issue.check,
        "key": issue.key,
        "severity": issue.severity,
        "message": issue.message,
        "bones": list(issue.bones),
        "vertices": issue.vertices.tolist(),
        "fixes": [fix.name for fix in issue.fixes],
    }


COMMANDS = (
    Command(
        "check",
        "find what spoils the deformation of characters",
        (
            "check --file hero.blend",
            "check --file 'assets/*.blend' --fail-on warning --json findings.json",
        ),
        _run,
        _add_options,
    ),
)
