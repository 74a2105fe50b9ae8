"""Do what users do, at random, and look after each action whether all is well, on one Blender.

    .venv-5.2/bin/python scripts/soak.py [--actions 2000] [--seed 1] [--runs 1] [--log]
    .venv-5.2/bin/python scripts/soak.py --frames 10000
    .venv-5.2/bin/python scripts/soak.py --fuzz 300 [--seed 1]
    .venv-5.2/bin/python scripts/soak.py --characters 50 [--seed 1]

With `--fuzz` it opens and uses so many damaged files instead. With `--frames` it plays so many
frames, and measures what has grown. With `--characters` it generates so many, others for each seed
than `make quality` has, and compares the default look with what it replaces. The exit code is 1
when something was wrong. Run with `--log` what crashes: it prints each action before what it leaves
is looked at.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import sys
import time

from environments import PROJECT

sys.path.insert(0, str(PROJECT))

import bpy

import dq_compensation
from leaving import leave
from quality.default_look import failed, of_numbers
from tests.soak.fuzz import fuzz
from tests.soak.growth import grown, play
from tests.soak.soak import SoakError, soak

# Each seed has other characters; `make quality` has the first hundred.
SEEDS_APART = 1000
# Frames until caches and allocators have what they need.
WARM_UP = 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--actions", type=int, default=2000, help="of each run")
    parser.add_argument("--seed", type=int, default=1, help="of the first run, the next have more")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--frames", type=int, help="play so many frames instead")
    parser.add_argument("--fuzz", type=int, help="damage so many files instead")
    parser.add_argument("--characters", type=int, help="generate so many characters instead")
    parser.add_argument("--first", type=int, default=0, help="the first case of --fuzz")
    parser.add_argument("--log", action="store_true", help="print each action")
    options = parser.parse_args()
    faulthandler.enable()
    if options.frames:
        return 0 if _play(options.frames) else 1
    if options.fuzz:
        return 0 if _fuzz(options.fuzz, options.seed, options.first, options.log) else 1
    if options.characters:
        return 0 if _generate(options.characters, options.seed) else 1
    results = [
        _run(options.actions, seed, options.log)
        for seed in range(options.seed, options.seed + options.runs)
    ]
    return 0 if all(results) else 1


def _run(actions: int, seed: int, log: bool) -> bool:
    """Soak a new file and print the result; whether all was well."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    began = time.perf_counter()
    name = f"Blender {bpy.app.version_string}, seed {seed}"
    try:
        seen = soak(actions, seed, tell=_print_at_once if log else None)
    except SoakError as error:
        print(f"{name}: {error}", flush=True)
        return False
    finally:
        dq_compensation.unregister()
    took = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}: {actions} actions in {took:.0f} s, positions compared {seen.compared} times, "
        f"a reason shown {seen.reported} times, {memory:.0f} MB",
        flush=True,
    )
    if log:
        print(", ".join(f"{what} {count}" for what, count in sorted(seen.done.items())))
    return True


def _play(frames: int) -> bool:
    """Play frames and print what has grown; whether nothing has."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    began = time.perf_counter()
    before, after = play(frames, WARM_UP)
    took = time.perf_counter() - began
    print(
        f"Blender {bpy.app.version_string}: {frames} frames in {took:.0f} s, "
        f"{after.process / 1e6:.1f} MB ({(after.process - before.process) / 1e3:+.0f} KB), "
        f"Python objects {after.objects - before.objects:+}, "
        f"data-blocks {after.data - before.data:+}, handlers {after.handlers - before.handlers:+}",
        flush=True,
    )
    return not grown(before, after)


def _fuzz(count: int, seed: int, first: int, log: bool) -> bool:
    """Damage files and print the result; whether all was well."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    began, name = time.perf_counter(), f"Blender {bpy.app.version_string}"
    found = fuzz(count, seed, first=first, tell=_print_at_once if log else None)
    took = time.perf_counter() - began
    print(*found, sep="\n")
    print(f"{name}: {count} damaged files in {took:.0f} s, {len(found)} faults", flush=True)
    return not found


def _generate(count: int, seed: int) -> bool:
    """Generate characters and print where the default look is worse; whether it is nowhere."""
    dq_compensation.register()
    began, name = time.perf_counter(), f"Blender {bpy.app.version_string}, seed {seed}"
    first = SEEDS_APART * seed
    worse = failed(of_numbers(range(first, first + count), _print_at_once))
    took = time.perf_counter() - began
    print(f"{name}: {count} characters in {took:.0f} s, worse {worse.total()} {dict(worse)}")
    return not worse


def _print_at_once(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets have the same order in every run.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    leave(main())
