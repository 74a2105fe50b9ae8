"""Times what *Enable*, an edit, an opened file and an undo take with several meshes or characters.

    .venv-5.2/bin/python scripts/run.py benchmarks.several

Everything is a ratio within one run, of the least times, which are taken in turn: a character of
several meshes to the same ones joined into one mesh, and what Blender does to the same without the
add-on's handlers.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import bpy

import dq_compensation
from benchmarks.characters import Prototype, human_in_clothes, human_in_pieces
from benchmarks.scenes import humans
from benchmarks.targets import record
from dq_compensation import api

Object = bpy.types.Object
ROUNDS, HUMANS = 4, 20


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def built(build: Callable[[], Prototype], *, joined: bool) -> list[Object]:
    """The meshes of a character in a new file, as they are or joined into one."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    _, meshes = build()
    bpy.context.view_layer.update()
    if joined:
        for obj in bpy.context.view_layer.objects:
            obj.select_set(obj in meshes)
        bpy.context.view_layer.objects.active = meshes[0]
        bpy.ops.object.join()
        meshes = meshes[:1]
    bpy.context.view_layer.update()
    return meshes


def edit(meshes: Iterable[Object]) -> None:
    """Move a vertex of each mesh, and let the add-on follow."""
    for obj in meshes:
        obj.data.vertices[0].co.x += 1e-4
        obj.data.update()
    bpy.context.view_layer.update()


def measured_character(build: Callable[[], Prototype], rounds: int) -> dict[str, float]:
    """What *Enable* and an edit of all meshes take, as parts of the same for the joined one."""
    enabling: dict[bool, list[float]] = {False: [], True: []}
    editing: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds):
        for joined in (False, True):
            meshes = built(build, joined=joined)
            enabling[joined].append(seconds(partial(api.enable, meshes)))
            editing[joined] += [seconds(partial(edit, meshes)) for _ in range(2)]
    return {
        "Enable": min(enabling[False]) / min(enabling[True]),
        "edit of all meshes": min(editing[False]) / min(editing[True]),
    }


@contextmanager
def without_handlers() -> Generator[None]:
    """Let nobody follow what Blender does in the block."""
    events = (getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers))
    found = [each for each in events if isinstance(each, list)]
    before = [handlers[:] for handlers in found]
    for handlers in found:
        handlers.clear()
    try:
        yield
    finally:
        for handlers, each in zip(found, before, strict=True):
            handlers[:] = each


def undo(step: int) -> float:
    """The seconds of an undo of a moved armature."""
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    bpy.ops.ed.undo_push(message="before")
    rig.location.z = 0.1 * step
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="after")
    return seconds(bpy.ops.ed.undo)


def measured_file(path: str) -> dict[str, float]:
    """What opening a file and an undo take, as parts of what they take without the handlers."""
    opening = partial(bpy.ops.wm.open_mainfile, filepath=path)
    found: dict[str, list[float]] = {
        name: [] for name in ("open", "undo", "bare open", "bare undo")
    }
    for _ in range(ROUNDS):
        found["open"].append(seconds(opening))
        found["undo"] += [undo(step) for step in range(1, 4)]
        with without_handlers():
            found["bare open"].append(seconds(opening))
            found["bare undo"] += [undo(step) for step in range(1, 4)]
    least = {name: min(each) for name, each in found.items()}
    return {name: least[name] / least[f"bare {name}"] for name in ("open", "undo")}


def _saved(meshes: Sequence[Object], path: str) -> str:
    api.enable(meshes)
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return path


def main() -> None:
    """Measure and print."""
    dq_compensation.register()
    print(f"Blender {bpy.app.version_string}")
    # Measured 2.1 to 2.3 and 2.6 to 3.0, 1.5 to 2.0 and 1.5 to 1.9, 3.5 to 3.7 and 1.5 to 2.0, 4.6
    # to 5.1 and 3.1 to 3.4, and a tenth. Two fifths of opening are weights, which Blender gives one
    # by one.
    rows: dict[str, tuple[dict[str, float], dict[str, float]]] = {
        "Dressed human of 12 meshes, to one mesh": (
            measured_character(human_in_clothes, ROUNDS),
            {"Enable": 2.5, "edit of all meshes": 3.3},
        ),
        "Body of 25 meshes of 8,000 vertices, to one mesh": (
            measured_character(partial(human_in_pieces, 25, 8000), 2),
            {"Enable": 2.25, "edit of all meshes": 2.1},
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        path = _saved(humans(HUMANS).meshes, str(Path(folder) / "humans.blend"))
        name = f"File of {HUMANS} humans, to the same without the add-on's handlers"
        rows[name] = measured_file(path), {"open": 4.1, "undo": 2.2}
        bpy.ops.wm.read_factory_settings(use_empty=True)
        path = _saved(human_in_clothes()[1], str(Path(folder) / "dressed.blend"))
        name = "File of a dressed human, to the same without the add-on's handlers"
        rows[name] = measured_file(path), {"open": 5.5, "undo": 3.7}
    for name, (ratios, targets) in rows.items():
        print(f"\n{name}")
        for row, ratio in ratios.items():
            print(f"  {row:28}{ratio:8.2f}{targets[row]:8.2f}")
            record(f"{name}: {row}", ratio, targets[row])


if __name__ == "__main__":
    main()
