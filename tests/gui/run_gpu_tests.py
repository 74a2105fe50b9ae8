"""Runs tests/gpu inside a Blender with a window, so on the GPU backend that the window uses.

    blender --gpu-backend vulkan --factory-startup --python tests/gui/run_gpu_tests.py -- [options]

Blender's own Python has no pytest, which is plain Python: it comes from the project's environment
of Blender 5.2 (`make test-5.2` makes it). Blender ends with pytest's exit code.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import bpy

PROJECT = Path(__file__).resolve().parents[2]
NOT_RUN = 3


def add_project_paths() -> None:
    """Make the project and its environment's pytest importable, after Blender's own modules."""
    sys.path[:0] = [str(PROJECT), str(PROJECT / "scripts")]
    sys.path += [str(path) for path in PROJECT.glob(".venv-5.2/lib/python*/site-packages")]


def run_tests() -> None:
    """Run pytest, as a timer, when the window and its GPU context are there; then end."""
    status = NOT_RUN
    try:
        import gpu
        import pytest

        sys.stdout.write(f"GPU backend {gpu.platform.backend_type_get()}, ")
        sys.stdout.write(f"{gpu.platform.renderer_get()}, Blender {bpy.app.version_string}\n")
        os.chdir(PROJECT)
        # Plugins of the environment may hold code compiled for another Python.
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        wanted = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
        # The demo's pictures need Pillow, which is compiled for the environment's Python.
        always = ["-p", "no:cacheprovider", "--ignore=tests/gpu/test_demo.py"]
        status = int(pytest.main([*always, *(wanted or ["tests/gpu"])]))
    except Exception:  # noqa: BLE001 - nothing may escape into Blender
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Quitting would ask whether to save.
        os._exit(status)


add_project_paths()
bpy.app.timers.register(run_tests, first_interval=2.0)
