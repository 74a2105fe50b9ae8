"""Compares the methods on a real human: a contact sheet, a table, and a file to open in Blender.

make demo        or        .venv-5.2/bin/python scripts/demo.py
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import bpy
import gpu

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dq_compensation
from demo_blend import DemoFileError, save_demo_file
from demo_closeups import CLOSE_FRAMINGS, FRAMINGS, METHODS, Row, Studio
from demo_sheet import CELL_HEIGHT, CELL_WIDTH, contact_sheet
from human_model import build_human
from human_poses import named_poses

PROJECT = Path(__file__).resolve().parent.parent
FOLDER = PROJECT / "build" / "demo"
SHEET = FOLDER / "comparison.png"
BLEND = FOLDER / "human.blend"

OWN_WEIGHTS = "The character's own weights: half and half some 5 cm from the elbow and the knee"
AUTOMATIC_WEIGHTS = "Blender's automatic weights: half and half at the joint, as the method assumes"
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


def own_weights() -> Studio:
    """The human with the weights that come with it."""
    return Studio(*build_human("default"), OWN_WEIGHTS)


def automatic_weights() -> Studio:
    """The human with the same rig, and the weights that Blender's Automatic Weights give it."""
    mesh_object, armature_object = build_human("default")
    mesh_object.name = f"{mesh_object.name} (automatic weights)"
    mesh_object.modifiers.clear()
    mesh_object.vertex_groups.clear()
    mesh_object.parent = None
    for obj in bpy.context.scene.objects:
        obj.select_set(obj in {mesh_object, armature_object})
    bpy.context.view_layer.objects.active = armature_object
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    return Studio(mesh_object, armature_object, AUTOMATIC_WEIGHTS)


def compare(progress: Callable[[str], None]) -> tuple[list[Row], Studio]:
    """Draw and measure every row; also the character with its own weights."""
    poses = named_poses("default")
    own = own_weights()
    automatic = automatic_weights()
    plan = [(own, key, framing) for key, framing in FRAMINGS.items()]
    plan += [(automatic, key, framing) for key, framing in CLOSE_FRAMINGS.items()]
    rows = []
    for number, (studio, key, framing) in enumerate(plan, 1):
        progress(f"[{number}/{len(plan)}] {poses[key].title}: {studio.weights.split(':')[0]}")
        rows.append(studio.close_up(key, poses[key], framing, (CELL_WIDTH, CELL_HEIGHT)))
    bpy.data.objects.remove(automatic.mesh_object)
    bpy.data.objects.remove(automatic.armature_object)
    return rows, own


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
        if row.weights == AUTOMATIC_WEIGHTS and not compensated.bulge < 0.5 * dual.bulge:
            raise DemoError(f"{row.title}: compensation does not halve the bulge")
        if row.key == "wrist" and not dual.pinch < 0.5 * linear.pinch:
            raise DemoError(f"{row.title}: dual quaternions do not keep the wrist from collapsing")


def table(rows: Sequence[Row]) -> str:
    """The numbers, for the terminal."""
    lines = [f"{'':41}" + "".join(f"{name:>17}" for name in METHODS.values())]
    section = ""
    for row in rows:
        if row.weights != section:
            section = row.weights
            lines += ["", section]
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
        rows, human = compare(lambda line: print(line, flush=True))
        contact_sheet(rows).save(SHEET, optimize=True)
        check_rows(rows)
        print("Saving a file to open in Blender", flush=True)
        with _quiet_driver():
            pose = named_poses("default")["elbow"]
            save_demo_file(human.mesh_object, human.armature_object, pose, BLEND)
    except (DemoError, DemoFileError) as error:
        print(f"The demo failed: {error}.", file=sys.stderr, flush=True)
        return 1
    print(f"\n{table(rows)}\n")
    print(f"{time.monotonic() - start:.1f} s. To look at:")
    for path, what in ((SHEET, "the picture"), (BLEND, "the animated human, enabled")):
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
    exit_code = main()
    sys.stdout.flush()
    # Blender's own clean-up can hang without a window.
    os._exit(exit_code)
