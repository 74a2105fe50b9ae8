"""Run every check of the project, each under a heading, and sum up what passed in what time.

    python3 scripts/run_tests.py [lint] [types] [demo] [test-5.2] [test-4.5] [test-4.2]     or all

Makes the environments that the checks need. Two checks run at a time, where there are two cores;
every check runs even when another one failed; the exit code is 1 when any did. Standard library
only, runs on Python 3.8 or newer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from environments import BLENDER_VERSIONS, ENVIRONMENTS, PROJECT
from setup_environments import SetupError, set_up
from system_libraries import SystemLibrariesError

# Far above what a check takes (ten minutes or less); a hang must not eat the whole CI run.
TIME_LIMIT = 35 * 60
# Blender's tests keep one core busy each.
LANES = min(2, os.cpu_count() or 1)


@dataclass(frozen=True)
class Check:
    """One command: `target` is the make target that it belongs to."""

    target: str
    heading: str
    environments: tuple[str, ...]
    command: tuple[str, ...]


def checks() -> list[Check]:
    """Return all checks in the order in which they run: the quick ones first."""
    ruff = str(ENVIRONMENTS["tools"].folder / "bin" / "ruff")
    basedpyright = str(ENVIRONMENTS["tools"].folder / "bin" / "basedpyright")
    return [
        Check("lint", "Lint", ("tools",), (ruff, "check", "--output-format", "concise", ".")),
        Check("lint", "Format", ("tools",), (ruff, "format", "--check", ".")),
        Check("types", "Types", ("tools",), (basedpyright,)),
        *_scene_checks("5.2"),
        *_scene_checks("4.2"),
        *_scene_checks("4.5"),
        # Window-less Blenders before 5.2 have a GPU only inside a render engine's render().
        _gpu_check("4.2"),
        _gpu_check("4.5"),
        Check(
            "demo",
            "Demo",
            ("5.2",),
            (str(ENVIRONMENTS["5.2"].interpreter), "scripts/demo.py"),
        ),
        # The tests of the package build the zip and install it into every Blender.
        Check(
            "test-5.2",
            "Blender 5.2: core, GPU, package",
            BLENDER_VERSIONS,
            (
                str(ENVIRONMENTS["5.2"].interpreter),
                "scripts/run_pytest.py",
                "tests/core",
                "tests/gpu",
                "tests/package",
            ),
        ),
    ]


def _scene_checks(version: str) -> list[Check]:
    # The importers have a process of their own: what they leave behind has crashed Blender 4.2.
    imports = "tests/checks/test_imported_rigs.py"
    parts = (
        ("scene", ("tests/blender",)),
        ("Setup Check", ("tests/checks", f"--ignore={imports}")),
        ("imported rigs", (imports,)),
    )
    python = str(ENVIRONMENTS[version].interpreter)
    return [
        Check(
            f"test-{version}",
            f"Blender {version}: {heading}",
            (version,),
            (python, "scripts/run_pytest.py", *arguments),
        )
        for heading, arguments in parts
    ]


def _gpu_check(version: str) -> Check:
    return Check(
        f"test-{version}",
        f"Blender {version}: GPU, inside a render engine",
        (version,),
        (str(ENVIRONMENTS[version].interpreter), "scripts/run_in_render.py", "tests/gpu"),
    )


def main() -> int:
    chosen = checks()
    targets = list(dict.fromkeys(check.target for check in chosen))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets))
    names = parser.parse_args().targets or targets
    unknown = sorted(set(names) - set(targets))
    if unknown:
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(targets)}")
    chosen = [check for check in chosen if check.target in names]

    needed = {name for check in chosen for name in check.environments}
    try:
        set_up([environment for name, environment in ENVIRONMENTS.items() if name in needed])
    except (SetupError, SystemLibrariesError) as error:
        print(f"\nSet-up stopped: {error}", file=sys.stderr)
        return 1

    with ThreadPoolExecutor(LANES) as lanes:
        outcomes = list(lanes.map(_run, chosen))
    print("\n== Summary")
    for check, passed, seconds in outcomes:
        print(f"   {'passed' if passed else 'FAILED'} {seconds:6.1f} s  {check.heading}")
    return 0 if all(passed for _, passed, _ in outcomes) else 1


def _run(check: Check) -> tuple[Check, bool, float]:
    """Run one check, then print its output; return it, whether it passed, its seconds."""
    start = time.monotonic()
    try:
        run = subprocess.run(
            check.command,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=TIME_LIMIT,
        )
        passed, output = run.returncode == 0, run.stdout
    except subprocess.TimeoutExpired as stopped:
        passed, output = False, (stopped.output or b"") + f"\nstopped: {TIME_LIMIT} s".encode()
    seconds = time.monotonic() - start
    text = output.decode(errors="replace").rstrip()
    verdict = "passed" if passed else "FAILED"
    print(f"\n== {check.heading}\n{text}\n   {verdict} in {seconds:.1f} s", flush=True)
    return check, passed, seconds


if __name__ == "__main__":
    sys.exit(main())
