"""Runs every benchmark, each in a process of its own, and prints their tables.

    python3 scripts/benchmark.py

Standard library only; makes the environments that it needs.
"""

from __future__ import annotations

import subprocess
import sys

from environments import ENVIRONMENTS, PROJECT
from setup_environments import SetupError, set_up
from system_libraries import SystemLibrariesError

# Script and the Blender versions that it runs on.
BENCHMARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("benchmark_bake.py", ("5.2", "4.5", "4.2")),
    ("benchmark_bind.py", ("5.2", "4.5", "4.2")),
    ("benchmark_checks.py", ("5.2", "4.5", "4.2")),
    ("benchmark_gpu.py", ("5.2",)),
    ("benchmark_modifier.py", ("5.2", "4.5", "4.2")),
)


def main() -> int:
    """Run them all; return 1 when one of them failed."""
    versions = sorted({version for _, needed in BENCHMARKS for version in needed})
    try:
        set_up([ENVIRONMENTS[version] for version in versions])
    except (SetupError, SystemLibrariesError) as error:
        print(f"\nSet-up stopped: {error}", file=sys.stderr)
        return 1
    failed = False
    for script, needed in BENCHMARKS:
        for version in needed:
            print(f"\n== {script}, Blender {version}", flush=True)
            command = [str(ENVIRONMENTS[version].interpreter), f"scripts/{script}"]
            failed |= subprocess.run(command, cwd=PROJECT, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
