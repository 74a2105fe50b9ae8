"""Run a benchmark with these arguments and end the process at once.

    .venv-5.2/bin/python scripts/run_benchmark.py benchmark_modifier.py [arguments]

Blender can crash or hang while Python shuts down, when all has been measured.
"""

import os
import runpy
import sys
import traceback
from pathlib import Path

exit_code = 0
try:
    del sys.argv[0]
    runpy.run_path(str(Path(__file__).with_name(sys.argv[0])), run_name="__main__")
except SystemExit as end:
    exit_code = end.code if isinstance(end.code, int) else int(bool(end.code))
except BaseException:  # noqa: BLE001 - whatever it is, it ends here
    traceback.print_exc()
    exit_code = 1
sys.stdout.flush()
sys.stderr.flush()
os._exit(exit_code)
