"""Real window tests: starts a Blender, installs the add-on, and works with it as a user does.

    BLENDER=/path/to/blender .venv-5.2/bin/python tests/gui/run.py [options]

Blender gets a user folder of its own, and a virtual screen (Xvfb) where there is no display. The
gallery is `build/gui/<version>-<backend>/index.html`. The exit status is 0 if every step passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "scripts"))

from gallery import Result, write_gallery  # noqa: E402

from build import build  # noqa: E402

# Seconds without a word from Blender. A step ends itself after 150.
_SILENCE = 200.0
_FAILED, _NO_BLENDER = 1, 2
# Blender logs what fails without stopping.
_ERRORS = re.compile(r"^(Traceback|Error:|ERROR)|\| ERROR ")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--backend", choices=("opengl", "vulkan"), default="opengl")
    parser.add_argument("--only", nargs="+", default=[], metavar="STEP")
    parser.add_argument("--size", default="1600x900", help="of the window, in pixels")
    options = parser.parse_args()
    blender = os.environ.get("BLENDER") or shutil.which("blender")
    if blender is None:
        print("Say which Blender to test: BLENDER=/path/to/blender make test-gui", file=sys.stderr)
        return _NO_BLENDER
    version = subprocess.run([blender, "--version"], capture_output=True, text=True, check=True)
    name = f"{version.stdout.split()[1]}-{options.backend}"
    folder = PROJECT / "build" / "gui" / name
    shutil.rmtree(folder, ignore_errors=True)
    # Blender ignores a user folder that is not there.
    (folder / "user").mkdir(parents=True)
    archive = build(folder)
    with display(options.size) as screen:
        command = [
            *(blender, "--gpu-backend", options.backend, "--enable-event-simulate"),
            *("--window-geometry", "0", "0", *options.size.split("x")),
            *("--python", str(PROJECT / "tests" / "gui" / "in_blender.py")),
            *("--", str(folder), str(archive), *options.only),
        ]
        environment = {
            **os.environ,
            "DISPLAY": screen,
            "BLENDER_USER_RESOURCES": str(folder / "user"),
        }
        # The picture of the screen is asked from X11.
        environment.pop("WAYLAND_DISPLAY", None)
        begun = time.monotonic()
        log, status = run_blender(command, environment)
    (folder / "log.txt").write_text("".join(log), encoding="utf-8")
    results = read_results(folder)
    note_errors(results, log, status)
    write_gallery(folder, name, results)
    shutil.rmtree(folder / "user", ignore_errors=True)
    failed = [result["name"] for result in results if result["failure"]]
    taken = time.monotonic() - begun
    print(f"{name}: {len(results) - len(failed)} of {len(results)} steps passed in {taken:.0f} s")
    for result in results:
        if result["failure"]:
            print(f"FAILED {result['name']}: {result['failure'].strip()}")
    print(folder / "index.html")
    return _FAILED if failed or status else 0


@contextmanager
def display(size: str) -> Generator[str]:
    """The display that is there, or a virtual screen as large as the window while this runs."""
    if "DISPLAY" in os.environ or sys.platform in {"win32", "darwin"}:
        yield os.environ.get("DISPLAY", "")
        return
    if shutil.which("Xvfb") is None:
        print("There is no display. Install Xvfb, or set DISPLAY.", file=sys.stderr)
        raise SystemExit(_NO_BLENDER)
    # Xvfb chooses a number that is free, and says it when it is ready.
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", f"{size}x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield f":{server.stdout.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


def run_blender(command: list[str], environment: dict[str, str]) -> tuple[list[str], int]:
    """Run Blender, and end it if nothing comes from it for long.

    Returns:
        the lines that it has written, and its exit status; not 0 if it was ended.
    """
    blender = subprocess.Popen(
        command,
        env=environment,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    log: list[str] = []
    heard = time.monotonic()

    def listen() -> None:
        nonlocal heard
        assert blender.stdout is not None
        for line in blender.stdout:
            log.append(line)
            heard = time.monotonic()
            if line.startswith("[gui]"):
                print(line.removeprefix("[gui] ").rstrip(), flush=True)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    while blender.poll() is None:
        if time.monotonic() - heard > _SILENCE:
            blender.kill()
            log.append(f"[gui] Blender was ended: it said nothing for {_SILENCE:.0f} s.\n")
        time.sleep(0.2)
    listener.join(timeout=5.0)
    return log, blender.returncode


def read_results(folder: Path) -> list[Result]:
    """What the steps inside Blender have written, as far as they came."""
    path = folder / "results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def note_errors(results: list[Result], log: list[str], status: int) -> None:
    """Let a step fail in which Blender has logged an error, or has ended."""
    step = ""
    known = {result["name"]: result for result in results}
    for line in log:
        if line.startswith("[gui] begins: "):
            step = line.removeprefix("[gui] begins: ").strip()
        elif _ERRORS.search(line) and step in known and not known[step]["failure"]:
            known[step]["failure"] = f"Blender's log: {line.strip()}"
    if step not in known:
        failure = f"Blender ended with status {status}. {''.join(log[-12:])}"
        results.append(
            {
                "name": step or "start",
                "about": "",
                "seconds": 0.0,
                "failure": failure,
                "findings": [],
            }
        )


if __name__ == "__main__":
    sys.exit(main())
