"""Run a benchmark with these arguments and end the process at once.

    .venv-5.2/bin/python scripts/run_benchmark.py benchmark_modifier.py [arguments]

Blender can crash or hang while Python shuts down, when all has been measured.
"""

import runpy
import sys
from pathlib import Path

from leaving import run_and_leave


def main() -> None:
    """Run the benchmark that the first argument names."""
    del sys.argv[0]
    runpy.run_path(str(Path(__file__).with_name(sys.argv[0])), run_name="__main__")


run_and_leave(main)
