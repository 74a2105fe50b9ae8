"""The end of scripts that run Blender as a module."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn


def leave(exit_code: int) -> NoReturn:
    """End the process at once: Blender can crash or hang while Python shuts down."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


def run_and_leave(run: Callable[[], int | None]) -> NoReturn:
    """Run a program and end the process with its exit code; what it raises is printed."""
    try:
        leave(int(run() or 0))
    except SystemExit as end:
        leave(end.code if isinstance(end.code, int) else int(bool(end.code)))
    except BaseException:  # noqa: BLE001 - whatever it is, it ends here
        traceback.print_exc()
        leave(1)
