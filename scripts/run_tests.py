"""Run the checks of the project, each under a heading, and sum up what passed in what time.

    python3 scripts/run_tests.py [--all] [lint] [types] [test-5.2] [test-4.5] [test-4.2] [demo]

Without `--all`, Blender 4.5 and 4.2 leave out what `tests/newest_only.py` says, no other program
plays what was exported (`tests/engines`), and the demo is not drawn: `tests/gpu/test_demo.py` tests
its parts.
Makes the environments that the checks need. Two checks run at a time, where there are two cores;
every check runs even when another one failed; the exit code is 1 when any did. Standard library
only, runs on Python 3.8 or newer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
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
# In a process that has read hundreds of files, Blender 4.2 crashes at times when the window gets
# another scene (the glTF exporter does that) or when its screens are freed. So these tests have a
# process of their own, and the scene tests run in pieces.
APART = (
    "tests/setup_check/test_imported_rigs.py",
    "tests/blender/test_bake_exports.py",
    "tests/blender/test_bones_exports.py",
    "tests/blender/test_corrective_exports.py",
    "tests/blender/test_custom_properties.py",
    "tests/blender/test_export_table.py",
    "tests/blender/test_hidden_objects.py",
    "tests/blender/test_plain_export.py",
    "tests/blender/test_flat_hands.py::test_the_tails_that_an_importer_makes",
    "tests/blender/test_shape_bakes.py::test_an_export_has_the_skin_alone",
    "tests/blender/test_modifier_display_files.py::test_exporters_find_the_skin",
    "tests/blender/test_example_operators.py::test_gltf_gets_no_look_from_examples",
    "tests/blender/test_point_cache.py::test_gltf_takes_skin_keys_and_their_animation_along",
    "tests/blender/test_staleness.py::test_what_is_edited_in_another_scene_is_followed",
)
WITHOUT_APART = tuple(f"--deselect={path}" for path in APART)
# How often a check runs again that a crash has ended: a crash of ours comes again.
MORE_RUNS = 2


@dataclass(frozen=True)
class Check:
    """One command: `target` is the make target that it belongs to."""

    target: str
    heading: str
    environments: tuple[str, ...]
    command: tuple[str, ...]


def checks(everything: bool) -> list[Check]:
    """Return the checks in the order in which they start: the longest first, to fill both lanes.

    Args:
        everything: all tests on all Blenders, and the demo; otherwise what `make test` runs.
    """
    tools = ENVIRONMENTS["tools"].folder / "bin"
    ruff, checker = str(tools / "ruff"), str(tools / "basedpyright")
    python = str(ENVIRONMENTS["5.2"].interpreter)
    oldest, between = ((), ()) if everything else (("--older",), ("--between",))
    card = Check(
        "test-5.2",
        "Blender 5.2: GPU passes on plain OpenGL",
        ("5.2",),
        (python, "scripts/run.py", "card.measure", "--check"),
    )
    demo = Check("demo", "Demo", ("5.2",), (python, "scripts/run.py", "demos.human"))
    engines = [_tests(version, "engines", "tests/engines") for version in BLENDER_VERSIONS]
    newest = _in_pieces(2, "5.2", *WITHOUT_APART)
    first, *others = _in_pieces(3 if everything else 2, "4.2", *WITHOUT_APART, *oldest)
    return [
        *([demo, *engines, card] if everything else []),
        # At a time, one piece of each Blender: two would both make what the other could read.
        newest[0],
        first,
        newest[1],
        # The tests of the package build the zip and install it into every Blender.
        _tests("5.2", "core, GPU, package", "tests/core", "tests/gpu", "tests/package"),
        Check("types", "Types", ("tools",), (checker,)),
        *others,
        *_in_pieces(3 if everything else 1, "4.5", *WITHOUT_APART, *between),
        _tests("5.2", "Setup Check", "tests/setup_check", *WITHOUT_APART),
        _tests("5.2", "imports, exports, other scenes", *APART),
        _tests("4.2", "Setup Check", "tests/setup_check", *WITHOUT_APART, *oldest),
        # Window-less Blenders before 5.2 have a GPU only inside a render engine's render().
        _tests("4.2", "GPU, inside a render engine", "tests/gpu", *oldest),
        _tests("4.5", "GPU, inside a render engine", "tests/gpu", *between),
        _tests("5.2", "farm", "tests/farm"),
        _tests("4.5", "Setup Check", "tests/setup_check", *WITHOUT_APART, *between),
        _tests("4.2", "imports, exports, other scenes", *APART, *oldest),
        _tests("4.5", "imports, exports, other scenes", *APART, *between),
        Check("lint", "Lint", ("tools",), (ruff, "check", "--output-format", "concise", ".")),
        Check("lint", "Format", ("tools",), (ruff, "format", "--check", ".")),
    ]


def _in_pieces(count: int, version: str, *arguments: str) -> list[Check]:
    """The scene tests, in so many processes that read a part of the files each.

    Files are dealt by their length, so that the pieces take about as long as each other.
    """
    found = sorted((PROJECT / "tests" / "blender").glob("test_*.py"))
    found.sort(key=lambda path: path.stat().st_size, reverse=True)
    files = [str(path.relative_to(PROJECT)) for path in found]
    return [
        _tests(version, f"scene, {number + 1} of {count}", *files[number::count], *arguments)
        for number in range(count)
    ]


def _tests(version: str, heading: str, *arguments: str) -> Check:
    in_render = version != "5.2" and "tests/gpu" in arguments
    script = "scripts/run_in_render.py" if in_render else "scripts/run_pytest.py"
    environments = (version,)
    if "tests/package" in arguments:
        environments = BLENDER_VERSIONS
    elif "tests/engines" in arguments:
        environments = (version, "engines")
    return Check(
        f"test-{version}",
        f"Blender {version}: {heading}",
        environments,
        (str(ENVIRONMENTS[version].interpreter), script, "-q", *arguments),
    )


def main() -> int:
    targets = sorted({check.target for check in checks(everything=True)})
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets))
    parser.add_argument("--all", action="store_true", help="every test on every Blender")
    arguments = parser.parse_args()
    names = arguments.targets or targets
    unknown = sorted(set(names) - set(targets))
    if unknown:
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(targets)}")
    chosen = [check for check in checks(arguments.all) if check.target in names]

    needed = {name for check in chosen for name in check.environments}
    try:
        set_up([environment for name, environment in ENVIRONMENTS.items() if name in needed])
    except (SetupError, SystemLibrariesError) as error:
        print(f"\nSet-up stopped: {error}", file=sys.stderr)
        return 1

    # All processes share what the tests make once (`tests/kept_files.py`) and Python's bytecode:
    # to compile everything, and what pytest rewrites, takes each of them five seconds.
    with tempfile.TemporaryDirectory() as kept, ThreadPoolExecutor(LANES) as lanes:
        environment = {
            **os.environ,
            "DQC_KEPT_FILES": kept,
            "PYTHONPYCACHEPREFIX": os.path.join(kept, "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
            # Threads of NumPy wait busily for matrices as small as ours.
            "OPENBLAS_NUM_THREADS": "1",
        }
        outcomes = list(lanes.map(lambda check: _run(check, environment), chosen))
    print("\n== Summary")
    for check, passed, seconds in outcomes:
        print(f"   {'passed' if passed else 'FAILED'} {seconds:6.1f} s  {check.heading}")
    return 0 if all(passed for _, passed, _ in outcomes) else 1


def _process(check: Check, environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        check.command,
        cwd=PROJECT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=TIME_LIMIT,
    )


def _run(check: Check, environment: dict[str, str]) -> tuple[Check, bool, float]:
    """Run one check, then print its output; return it, whether it passed, its seconds."""
    start = time.monotonic()
    try:
        run = _process(check, environment)
        output = run.stdout
        for _ in range(MORE_RUNS):
            if run.returncode >= 0:
                break
            run = _process(check, environment)
            output += b"\nCRASHED, run once more\n" + run.stdout
        passed = run.returncode == 0
    except subprocess.TimeoutExpired as stopped:
        passed, output = False, (stopped.output or b"") + f"\nstopped: {TIME_LIMIT} s".encode()
    seconds = time.monotonic() - start
    text = output.decode(errors="replace").rstrip()
    verdict = "passed" if passed else "FAILED"
    print(f"\n== {check.heading}\n{text}\n   {verdict} in {seconds:.1f} s", flush=True)
    return check, passed, seconds


if __name__ == "__main__":
    sys.exit(main())
