"""Compares the methods on a real human: a contact sheet, a table, and a file to open in Blender.

make demo        or        .venv-5.2/bin/python scripts/run.py demos.human
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import bpy
import gpu

import dq_compensation
from demos.blend import DemoFileError, save_demo_file
from demos.closeups import FRAMINGS, METHODS, Row, Studio
from demos.sheet import CELL_HEIGHT, CELL_WIDTH, contact_sheet
from environments import PROJECT
from human.model import build_human
from human.poses import named_poses
from leaving import leave

FOLDER = PROJECT / "build" / "demo"
SHEET = FOLDER / "comparison.png"
BLEND = FOLDER / "human.blend"

_GPU_PROBE = """
import bpy, gpu, os
gpu.init()
gpu.types.GPUTexture((1, 1), format="R32F")
os._exit(0)
"""
# A cell that shows less of the character than this has missed it.
LEAST_COVERAGE = 0.1


class DemoError(Exception):
    """The demo cannot run, or what it shows is not what it should be."""


def start_gpu() -> None:
    """Make a GPU context without a window.

    Raises:
        DemoError: there is none.
    """
    if not hasattr(gpu, "init"):
        raise DemoError(f"Blender {bpy.app.version_string} has no GPU without a window; 5.2 has")
    # Where there is no driver, Blender crashes: let that happen to another process.
    probe = subprocess.run(
        [sys.executable, "-c", _GPU_PROBE], capture_output=True, check=False, timeout=120
    )
    if probe.returncode:
        raise DemoError(
            "There is no GPU that Blender can use. Install a graphics driver, or Mesa's software "
            "one (Debian, Ubuntu: libgl1 libegl1 libgl1-mesa-dri)"
        )
    with _quiet_driver():
        gpu.init()


def compare(progress: Callable[[str], None]) -> tuple[list[Row], Studio]:
    """Draw and measure every row; also the studio with the character."""
    poses = named_poses("default")
    studio = Studio(*build_human("default"))
    rows = []
    for number, (key, framing) in enumerate(FRAMINGS.items(), 1):
        progress(f"[{number}/{len(FRAMINGS)}] {poses[key].title}")
        rows.append(studio.close_up(key, poses[key], framing, (CELL_WIDTH, CELL_HEIGHT)))
    return rows, studio


def check_rows(rows: Sequence[Row]) -> None:
    """Hold what the picture is meant to show.

    Raises:
        DemoError: it does not.
    """
    for row in rows:
        for cell in row.cells:
            if cell.drawing.coverage < LEAST_COVERAGE:
                raise DemoError(f"{row.title}, {METHODS[cell.method]}: the picture is empty")
        linear, dual = row.of("LINEAR").measures, row.of("DUAL_QUATERNION").measures
        compensated = row.of("COMPENSATED").measures
        if row.key in ("elbow", "knee") and not compensated.bulge < 0.5 * dual.bulge:
            raise DemoError(f"{row.title}: compensation does not halve the bulge")
        if row.key == "wrist" and not dual.pinch < 0.5 * linear.pinch:
            raise DemoError(f"{row.title}: dual quaternions do not keep the wrist from collapsing")


def table(rows: Sequence[Row]) -> str:
    """The numbers, for the terminal."""
    lines = [f"{'':41}" + "".join(f"{name:>17}" for name in METHODS.values())]
    for row in rows:
        measures = [cell.measures for cell in row.cells]
        kinds = {
            "bulge, mm": [1000 * m.bulge for m in measures],
            "pinch, mm": [1000 * m.pinch for m in measures],
            "volume, % of rest": [100 * m.volume for m in measures],
        }
        title = row.title
        for kind, values in kinds.items():
            if math.isnan(values[0]):
                continue
            numbers = "".join(f"{value:17.1f}" for value in values)
            lines.append(f"  {title:21}{kind:18}{numbers}")
            title = ""
    return "\n".join(lines)


def main() -> int:
    start = time.monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("The MakeHuman body and its rig of 163 bones, four methods, on the GPU", flush=True)
    try:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        start_gpu()
        dq_compensation.register()
        rows, _ = compare(lambda line: print(line, flush=True))
        contact_sheet(rows).save(SHEET, optimize=True)
        check_rows(rows)
        print("Saving a file to open in Blender", flush=True)
        with _quiet_driver():
            save_demo_file(BLEND)
    except (DemoError, DemoFileError) as error:
        print(f"The demo failed: {error}.", file=sys.stderr, flush=True)
        return 1
    print(f"\n{table(rows)}\n")
    print(f"{time.monotonic() - start:.1f} s. To look at:")
    for path, what in ((SHEET, "the picture"), (BLEND, "the animated human, for the first minute")):
        print(f"  {path.relative_to(PROJECT)!s:28} {what}")
    return 0


@contextmanager
def _quiet_driver() -> Generator[None]:
    """Keep what Blender and the driver write past Python off the terminal."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        for number, descriptor in enumerate(kept, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)


if __name__ == "__main__":
    leave(main())
