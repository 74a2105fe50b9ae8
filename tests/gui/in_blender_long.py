"""Runs the steps inside a Blender with a window; `run.py` starts it.

    blender --enable-event-simulate --python tests/gui/in_blender.py -- FOLDER ZIP [STEP ...]

A timer goes on with the current step each time Blender's main loop comes by, so that Blender
handles the events and draws in between. What has come out so far is always in FOLDER/results.json.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

import bpy

GUI = Path(__file__).resolve().parent
sys.path[:0] = [str(GUI), str(GUI.parents[1] / "scripts")]

from blender_window import BlenderWindow, StepError  # noqa: E402
from character import make_file  # noqa: E402
from judging import Step  # noqa: E402
from steps import INSTALL, STEPS, StepFunction  # noqa: E402

# A step takes 5 to 30 s with software rendering on two cores.
_LIMIT = 400.0
_TICK = 0.01
_FAILED = 1


def say(text: str) -> None:
    sys.stdout.write(f"[gui] {text}\n")
    sys.stdout.flush()


def all_steps(folder: Path, archive: Path, wanted: list[str]) -> Generator[None, None, bool]:
    """Run install and the wanted steps; each of the others begins with the character's file."""
    results: list[dict[str, Any]] = []
    window = BlenderWindow()
    yield from window.wait(100)
    character = folder / "character.blend"
    chosen = [step for step in STEPS if not wanted or step.__name__ in wanted]
    for number, function in enumerate((INSTALL, *chosen)):
        name = function.__name__
        step = Step(window, folder, f"{number:02}-{name}", archive)
        say(f"begins: {name}")
        begun = time.monotonic()
        message = yield from outcome(step, function, character)
        results.append(
            {
                "name": name,
                "about": (function.__doc__ or "").strip(),
                "seconds": round(time.monotonic() - begun, 1),
                "failure": message,
                "findings": step.findings,
            }
        )
        (folder / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
        say(f"{'FAILED' if message else 'passed'}: {name} {message}")
        if message and function is INSTALL:
            break
    return any(result["failure"] for result in results)


def outcome(step: Step, function: StepFunction, character: Path) -> Generator[None, None, str]:
    """Run a step; returns why it failed, or an empty string."""
    try:
        if function is not INSTALL:
            if not character.exists():
                make_file(character)
            bpy.ops.wm.open_mainfile(filepath=str(character))
            yield from step.window.wait(20)
        deadline = time.monotonic() + _LIMIT
        for _ in function(step):
            if time.monotonic() > deadline:
                message = f"It takes longer than {_LIMIT:.0f} s."
                raise StepError(message)
            yield
    except StepError as error:
        message = str(error)
    except Exception:  # noqa: BLE001 - nothing may escape into Blender
        message = traceback.format_exc()
    else:
        return ""
    step.show("where it failed")
    for _ in range(3):
        yield from step.window.key("ESC")
    return message


def main() -> None:
    """Begin when the window is there, and end Blender after the last step."""
    preferences = bpy.context.preferences
    preferences.view.show_splash = False
    # The sidebar lies beside the view: the mouse wheel in it never turns the view.
    preferences.system.use_region_overlap = False
    folder, archive, *wanted = sys.argv[sys.argv.index("--") + 1 :]
    running = all_steps(Path(folder), Path(archive), wanted)

    def go_on() -> float:
        status = _FAILED
        try:
            next(running)
        except StopIteration as end:
            status = int(end.value)
        except Exception:  # noqa: BLE001 - nothing may escape into Blender
            traceback.print_exc()
        else:
            return _TICK
        sys.stdout.flush()
        sys.stderr.flush()
        # Quitting would ask whether to save.
        os._exit(status)

    bpy.app.timers.register(go_on, first_interval=2.0, persistent=True)


main()
