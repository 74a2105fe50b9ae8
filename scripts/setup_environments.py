"""Make the development environments: `.venv-` tools, 5.2, 4.5, 4.2, engines.

    python3 scripts/setup_environments.py [NAME ...]        all of them without a name

An environment that is up to date costs nothing; one whose requirements changed, or that was left
half made, is made anew. Standard library only, runs on Python 3.8 or newer.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from environments import ENVIRONMENTS, PROJECT, Environment
from system_libraries import SystemLibrariesError, provide_system_libraries

# Downloads overlap with unpacking; more at once only compete for the disk.
PARALLEL_INSTALLS = 2


class SetupError(RuntimeError):
    """What keeps an environment from being made, and what to do about it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ENVIRONMENTS))
    names = parser.parse_args().names or list(ENVIRONMENTS)
    unknown = sorted(set(names) - set(ENVIRONMENTS))
    if unknown:
        parser.error(f"no environment {', '.join(unknown)}; there are {', '.join(ENVIRONMENTS)}")
    try:
        set_up([ENVIRONMENTS[name] for name in names])
    except (SetupError, SystemLibrariesError) as error:
        print(f"\nSet-up stopped: {error}", file=sys.stderr)
        return 1
    return 0


def set_up(environments: list[Environment]) -> None:
    """Bring the environments up to date. Raises SetupError or SystemLibrariesError."""
    stale = [environment for environment in environments if not _is_up_to_date(environment)]
    if not stale:
        return
    pythons = {
        environment.name: find_python(environment.python, environment.name) for environment in stale
    }
    print(f"== Set up {', '.join(f'.venv-{e.name}' for e in stale)} (bpy is large: minutes)")
    with ThreadPoolExecutor(PARALLEL_INSTALLS) as pool:
        installs = [pool.submit(_install, e, pythons[e.name]) for e in stale]
    # Every install has ended here; the first that failed is raised.
    for install in installs:
        install.result()
    for environment in stale:
        if environment.has_blender:
            provide_system_libraries(environment.interpreter)
        _stamp_path(environment).write_text(_stamp(environment), encoding="utf-8")


def find_python(version: str, name: str) -> str:
    """Return the path of an interpreter of this version that can make virtual environments.

    Looks at `PYTHON_3_13` (say), PATH, pyenv's versions whether chosen or not, uv's, this one.
    Raises SetupError with what to install.
    """
    for candidate in _python_candidates(version):
        if _is_usable_python(candidate, version):
            return candidate
    variable = _variable(version)
    raise SetupError(
        f".venv-{name} needs Python {version}, with its venv module, and none was found.\n"
        f"  With pyenv:        pyenv install {version}\n"
        f"  With uv:           uv python install {version}\n"
        f"  Debian or Ubuntu:  apt install python{version} python{version}-venv\n"
        f"  It is somewhere:   make {variable}=/path/to/python{version} ..."
    )


def _variable(version: str) -> str:
    return "PYTHON_" + version.replace(".", "_")


def _python_candidates(version: str) -> list[str]:
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    uv = home / ".local" / "share" / "uv" / "python"
    candidates = [
        os.environ.get(_variable(version)),
        shutil.which(f"python{version}"),
        *sorted(glob.glob(str(pyenv / "versions" / f"{version}.*" / "bin" / "python"))),
        *sorted(glob.glob(str(uv / f"cpython-{version}.*" / "bin" / f"python{version}"))),
        f"/usr/bin/python{version}",
        sys.executable,
    ]
    return [candidate for candidate in candidates if candidate]


def _is_usable_python(candidate: str, version: str) -> bool:
    # A pyenv shim is found on PATH even where no such version is chosen; only running it tells.
    # Debian ships Pythons without ensurepip, which cannot make an environment.
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        run = subprocess.run(
            [candidate, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0 and run.stdout.strip() == version


def _stamp_path(environment: Environment) -> Path:
    return environment.folder / "up-to-date"


def _stamp(environment: Environment) -> str:
    text = f"{environment.python}\n{environment.requirements.read_text(encoding='utf-8')}"
    return hashlib.sha256(text.encode()).hexdigest()


def _is_up_to_date(environment: Environment) -> bool:
    stamp = _stamp_path(environment)
    return (
        environment.interpreter.exists()
        and stamp.exists()
        and stamp.read_text(encoding="utf-8") == _stamp(environment)
    )


def _install(environment: Environment, python: str) -> None:
    start = time.monotonic()
    log = PROJECT / "build" / f"setup-{environment.name}.log"
    log.parent.mkdir(exist_ok=True)
    log.unlink(missing_ok=True)
    # From scratch: pip would leave what the requirements no longer name.
    _run([python, "-m", "venv", "--clear", str(environment.folder)], log)
    pip = [str(environment.interpreter), "-m", "pip", "--disable-pip-version-check"]
    # Python compiles what is imported; most of Blender's thousands of modules never are.
    options = ["--no-input", "--no-compile"]
    _run([*pip, "install", *options, "-r", str(environment.requirements)], log)
    print(f"   .venv-{environment.name} installed in {time.monotonic() - start:.0f} s", flush=True)


def _run(command: list[str], log: Path) -> None:
    with log.open("a", encoding="utf-8") as output:
        run = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
        )
    if run.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        tail = "\n".join(f"  {line}" for line in lines[-15:])
        raise SetupError(f"`{' '.join(command)}` failed, its output ({log}) ends with\n{tail}")


if __name__ == "__main__":
    sys.exit(main())
