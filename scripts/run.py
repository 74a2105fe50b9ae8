"""Run a script that needs Blender as a module, with these arguments, and end the process at once.

    .venv-5.2/bin/python scripts/run.py benchmarks.scenes [arguments]

Scripts import the package and each other from here. Blender can crash or hang while Python shuts
down, when all has been done.
"""

import runpy
import sys

from environments import PROJECT
from leaving import run_and_leave


def main() -> None:
    """Run the script that the first argument names."""
    del sys.argv[0]
    sys.path.insert(1, str(PROJECT))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


run_and_leave(main)
