"""Do what users do, at random, for a long time, and look after each action whether all is well.

.venv-5.2/bin/python scripts/soak.py [--actions 2000] [--seed 1] [--runs 1]
"""

import argparse
import os
import resource
import sys
import time

from environments import PROJECT

sys.path.insert(0, str(PROJECT))

import bpy

import dq_compensation
from tests.soak.soak import SoakError, soak


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--actions", type=int, default=2000, help="in each run")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--log", action="store_true", help="print each action")
    options = parser.parse_args()
    failed = 0
    for seed in range(options.seed, options.seed + options.runs):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        dq_compensation.register()
        began = time.perf_counter()
        try:
            seen = soak(options.actions, seed, log_actions=options.log)
        except SoakError as error:
            failed += 1
            print(error, flush=True)
        else:
            took = time.perf_counter() - began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"Seed {seed}: {options.actions} actions in {took:.0f} s, positions compared "
                f"{seen.compared} times, a reason shown {seen.reported} times, {memory:.0f} MB",
                flush=True,
            )
        finally:
            dq_compensation.unregister()
    return 1 if failed else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Blender's own clean-up is of no interest here.
    os._exit(status)
