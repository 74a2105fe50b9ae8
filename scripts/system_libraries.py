"""The system libraries that bpy's wheels expect and bare Linux machines lack.

The wheels bring almost everything; what they link to of the system is X11's client libraries and
OpenGL, even with no display. On Debian and Ubuntu, and as root, the missing ones are installed;
elsewhere they are named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# Shared library -> Debian's package. The last two are loaded at run time, for GPU work without a
# display: EGL, and Mesa's software driver behind it (its package says nothing to the linker).
DEBIAN_PACKAGES: dict[str, str] = {
    "libGL.so.1": "libgl1",
    "libICE.so.6": "libice6",
    "libSM.so.6": "libsm6",
    "libX11.so.6": "libx11-6",
    "libXext.so.6": "libxext6",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libXrender.so.1": "libxrender1",
    "libXxf86vm.so.1": "libxxf86vm1",
    "libgomp.so.1": "libgomp1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libEGL.so.1": "libegl1",
    "Mesa's OpenGL driver": "libgl1-mesa-dri",
}


class SystemLibrariesError(RuntimeError):
    """bpy cannot be loaded for want of system libraries; says which packages have them."""


def provide_system_libraries(interpreter: Path) -> None:
    """Make sure that bpy can be loaded and the GPU be used by this interpreter.

    Installs Debian's packages when that is possible, that is as root; else raises
    SystemLibrariesError, which names what is missing.
    """
    failure = load_failure(interpreter)
    if failure is None:
        return
    packages = list(DEBIAN_PACKAGES.values())
    if sys.platform != "linux":
        raise SystemLibrariesError(f"bpy cannot be loaded by {interpreter}:\n{failure}")
    if not (shutil.which("apt-get") and os.geteuid() == 0):
        raise SystemLibrariesError(
            f"bpy cannot be loaded by {interpreter}, probably for want of system libraries.\n"
            f"  Debian or Ubuntu:  sudo apt-get install {' '.join(packages)}\n"
            f"  Elsewhere:         whatever has {', '.join(DEBIAN_PACKAGES)}\n{failure}"
        )
    print(f"   system libraries: apt-get install {' '.join(packages)}", flush=True)
    _apt_get("update")
    _apt_get("install", "--yes", "--no-install-recommends", *packages)
    failure = load_failure(interpreter)
    if failure is not None:
        raise SystemLibrariesError(f"bpy still cannot be loaded by {interpreter}:\n{failure}")


def load_failure(interpreter: Path) -> str | None:
    """Return why bpy, or the GPU where it works without a window (5.2), cannot be used, or None."""
    code = (
        "import bpy, gpu\n"
        "if bpy.app.version >= (5, 2, 0):\n"
        "    gpu.init()\n"
        "    print('renderer', gpu.platform.renderer_get())\n"
    )
    run = subprocess.run(
        [str(interpreter), "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if run.returncode == 0:
        return None
    lines = (run.stdout + run.stderr).strip().splitlines()[-8:]
    return "\n".join(f"  {line}" for line in lines) or f"  exit code {run.returncode}"


def _apt_get(*arguments: str) -> None:
    run = subprocess.run(
        ["apt-get", "-q", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    )
    if run.returncode:
        tail = "\n".join(f"  {line}" for line in run.stdout.splitlines()[-8:])
        raise SystemLibrariesError(f"`apt-get {arguments[0]}` failed:\n{tail}")
