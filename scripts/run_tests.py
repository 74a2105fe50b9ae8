"""Run every check of the project, each under a heading, and sum up what passed in what time.

    python3 scripts/run_tests.py [lint] [types] [demo] [test-5.2] [test-4.5] [test-4.2]     or all

Makes the environments that the checks need. Every check runs even when one before it failed; the
exit code is 1 when any did. Standard library only, runs on Python 3.8 or newer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass

from environments import BLENDER_VERSIONS, ENVIRONMENTS, PROJECT
from setup_environments import SetupError, set_up
from system_libraries import SystemLibrariesError

# Far above what a check takes (about a minute or two); a hang must not eat the whole CI run.
TIME_LIMIT = 25 * 60


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
        # Window-less Blenders before 5.2 have a GPU only inside a render engine's render().
        *_older_blender_checks("4.2"),
        *_older_blender_checks("4.5"),
        Check(
            "demo",
            "Demo",
            ("5.2",),
            (str(ENVIRONMENTS["5.2"].interpreter), "scripts/demo.py"),
        ),
        # The tests of the package build the zip and install it into every Blender.
        Check(
            "test-5.2",
            "Blender 5.2: core, scene, GPU, package",
            BLENDER_VERSIONS,
            (
                str(ENVIRONMENTS["5.2"].interpreter),
                "scripts/run_pytest.py",
                "tests/core",
                "tests/blender",
                "tests/checks",
                "tests/gpu",
                "tests/package",
            ),
        ),
    ]


def _older_blender_checks(version: str) -> list[Check]:
    target = f"test-{version}"
    python = str(ENVIRONMENTS[version].interpreter)
    return [
        Check(
            target,
            f"Blender {version}: scene",
            (version,),
            (python, "scripts/run_pytest.py", "tests/blender", "tests/checks"),
        ),
        Check(
            target,
            f"Blender {version}: GPU, inside a render engine",
            (version,),
            (python, "scripts/run_in_render.py", "tests/gpu"),
        ),
    ]


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

    outcomes = [(check, *_run(check)) for check in chosen]
    print("\n== Summary")
    for check, passed, seconds in outcomes:
        print(f"   {'passed' if passed else 'FAILED'} {seconds:6.1f} s  {check.heading}")
    return 0 if all(passed for _, passed, _ in outcomes) else 1


def _run(check: Check) -> tuple[bool, float]:
    """Run one check with its output on the terminal; return whether it passed, and its seconds."""
    print(f"\n== {check.heading}", flush=True)
    start = time.monotonic()
    try:
        run = subprocess.run(
            check.command,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=TIME_LIMIT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        passed = run.returncode == 0
    except subprocess.TimeoutExpired:
        print(f"   stopped after {TIME_LIMIT} s")
        passed = False
    seconds = time.monotonic() - start
    print(f"   {'passed' if passed else 'FAILED'} in {seconds:.1f} s", flush=True)
    return passed, seconds


if __name__ == "__main__":
    sys.exit(main())
