"""Run pytest with the GPU passes on plain OpenGL, without Blender's own `gpu` module.

    python scripts/run_on_card.py tests/gpu/test_skinning.py [more pytest arguments]

For tests that draw nothing. A shader that compiles with a warning fails the run, too.
"""

from __future__ import annotations

import sys

import bpy  # before `install`, since it brings a `gpu` of its own
import pytest

from card.blender_gpu import install, problems
from leaving import run_and_leave


def main() -> int:
    """Run pytest with the command's arguments."""
    print(f"Blender {bpy.app.version_string}, {install()}")
    exit_code = int(pytest.main(sys.argv[1:]))
    found = problems()
    for problem in found:
        print(problem)
    return exit_code or int(bool(found))


run_and_leave(main)
