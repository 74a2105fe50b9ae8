"""Runs every benchmark, each in a process of its own, prints their tables and what misses a target.

    python3 scripts/benchmark.py

Standard library only; makes the environments that it needs. The exit code is 1 only when a
benchmark crashed: a missed target is a result.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.targets import RESULTS_VARIABLE, Result, recorded
from environments import ENVIRONMENTS, PROJECT
from setup_environments import SetupError, set_up
from system_libraries import SystemLibrariesError

# Script, the Blender versions that it runs on, and its arguments on those before the newest.
NEWEST = "5.2"
ALL_VERSIONS = (NEWEST, "4.5", "4.2")
BENCHMARKS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("benchmarks.bake", ALL_VERSIONS, ()),
    ("benchmarks.bind", ALL_VERSIONS, ()),
    ("benchmarks.bones", (NEWEST,), ()),
    ("benchmarks.characters", ALL_VERSIONS, ("human", "body", "pieces")),
    ("benchmarks.checks", ALL_VERSIONS, ()),
    ("benchmarks.folds", (NEWEST,), ("--all",)),
    ("benchmarks.graphics", (NEWEST,), ()),
    ("benchmarks.playback", (NEWEST,), ()),
    ("benchmarks.python", (NEWEST,), ()),
    ("benchmarks.scenes", (NEWEST,), ()),
    ("benchmarks.modifier", (NEWEST,), ()),
    ("benchmarks.shapes", (NEWEST,), ()),
    ("benchmarks.soften", (NEWEST,), ()),
    ("benchmarks.several", (NEWEST,), ()),
)


def main() -> int:
    """Run them all; return 1 when one of them crashed."""
    versions = sorted({version for _, needed, _ in BENCHMARKS for version in needed})
    try:
        set_up([ENVIRONMENTS[version] for version in versions])
    except (SetupError, SystemLibrariesError) as error:
        print(f"\nSet-up stopped: {error}", file=sys.stderr)
        return 1
    results: dict[str, list[Result]] = {}
    crashed = []
    for script, needed, if_older in BENCHMARKS:
        for version in needed:
            name = f"{script}, Blender {version}"
            print(f"\n== {name}", flush=True)
            exit_code, results[name] = _run(version, script, if_older if version != NEWEST else ())
            if exit_code:
                crashed.append(f"{name}: exit code {exit_code}")
    _print_summary(results, crashed)
    return 1 if crashed else 0


def _run(version: str, script: str, arguments: Sequence[str]) -> tuple[int, list[Result]]:
    """Run one benchmark; return its exit code and its rows with a target."""
    command = [str(ENVIRONMENTS[version].interpreter), "scripts/run.py", script]
    command += arguments
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results")
        path.touch()
        environment = {**os.environ, RESULTS_VARIABLE: str(path)}
        run = subprocess.run(command, cwd=PROJECT, env=environment, check=False)
        return run.returncode, recorded(path)


def _print_summary(results: dict[str, list[Result]], crashed: list[str]) -> None:
    """Every row that misses its target, or that all are met; and what crashed."""
    print("\n== Summary")
    count = sum(len(rows) for rows in results.values())
    missed = [(name, row) for name, rows in results.items() for row in rows if row.missed]
    print(
        f"   {len(missed)} of {count} rows miss their target:"
        if missed
        else f"   All {count} targets are met."
    )
    for name, row in missed:
        unit = f" {row.unit}" if row.unit else ""
        print(f"   {name}: {row.row}: {row.measured:.2f}{unit}, target {row.target:.2f}{unit}")
    for name in crashed:
        print(f"   CRASHED {name}")


if __name__ == "__main__":
    sys.exit(main())
