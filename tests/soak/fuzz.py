"""Opens and uses damaged files: nothing raises, and what is wrong is said."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import bpy

from dq_compensation.errors import UserError
from dq_compensation.pipeline.crowds.crowd_figures import figures_of_crowd
from dq_compensation.pipeline.crowds.settings import is_crowd
from dq_compensation.pipeline.takes.played_takes import playing_of
from dq_compensation.scene.blender.own_objects import is_hidden
from dq_compensation.scene.blender.scenes import scene_time
from dq_compensation.scene.stack import find_rig
from dq_compensation.session.status import status_of
from tests.blender.enabled_scenes import check, select
from tests.played_poses import pose_at
from tests.soak.damage import DAMAGES, build
from tests.soak.invariants import Seen, faults
from tests.soak.soak import errors_of_the_addon


def fuzz(
    count: int,
    seed: int,
    *,
    first: int = 0,
    brief: bool = False,
    tell: Callable[[str], None] | None = None,
) -> list[str]:
    """Damage a file, open it and use it, so many times. The add-on is registered.

    Args:
        first: the number of the first case; each has random numbers of its own.
        brief: without bakes, in the file and afterwards.
        tell: is called with each case before it is used.

    Returns:
        what raised, or is shown wrong without a word, a text each.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "whole.blend"))
        build(bakes=not brief)
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        for number in range(first, first + count):
            rng, name = Random(f"{seed} {number}"), f"Seed {seed}, case {number}"
            found += _faults_of_file(rng, path, name, _BRIEF if brief else _USES, tell)
    return found


def _faults_of_file(
    rng: Random,
    path: str,
    name: str,
    uses: tuple[Callable[[], None], ...],
    tell: Callable[[str], None] | None,
) -> list[str]:
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)
    damaged = f"{path}.damaged.blend"
    with errors_of_the_addon() as errors:
        done = [rng.choice(DAMAGES)(rng) for _ in range(rng.choice((1, 1, 2)))]
        if tell is not None:
            tell(f"{name}: {done}")
        if rng.random() < 0.7:
            bpy.ops.wm.save_as_mainfile(filepath=damaged, copy=True)
            bpy.ops.wm.open_mainfile(filepath=damaged, load_ui=False)
        for use in uses:
            try:
                use()
            except (UserError, RuntimeError) as error:
                # Operators of Blender refuse like this.
                if "Traceback" in str(error):
                    errors.found.append(str(error))
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                errors.found.append("".join(traceback.format_exception(error)))
            wrong = [*errors.found, *faults(Seen())]
            if wrong:
                listed = "\n".join(wrong)
                return [f"{name}: {done}, then {use.__name__.strip('_')}:\n{listed}"]
    return []


def _open() -> None:
    check()


def _check() -> None:
    _each("check")


def _play() -> None:
    """What the GPU display and crowds read in each frame."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for number in (1, 7):
        bpy.context.scene.frame_set(number)
        for obj in bpy.data.objects:
            if is_crowd(obj):
                figures_of_crowd(obj)
            binding, rig = status_of(obj).binding, find_rig(obj) if obj.type == "MESH" else None
            playing = playing_of(rig, binding) if rig is not None and binding is not None else None
            if playing is not None:
                pose_at(playing, *scene_time(depsgraph))


def _refresh() -> None:
    _each("refresh")


def _bake() -> None:
    _each("bake_pose")


def _cache() -> None:
    _each("take_cache", first=1, last=5)


def _bake_crowd() -> None:
    for crowd in [obj for obj in bpy.context.view_layer.objects if is_crowd(obj)]:
        select(crowd)
        if bpy.ops.dqc.bake_crowd.poll():
            bpy.ops.dqc.bake_crowd(tolerance=200.0)


def _bake_bones() -> None:
    _each("bake_bones", bones="ALL", budget=2, tolerance=20.0)


def _fix() -> None:
    _each("fix_all")


def _disable() -> None:
    _each("disable")


def _enable() -> None:
    _each("enable")


_BRIEF = (_open, _check, _play, _refresh, _disable)
_USES = (
    *(_open, _check, _play, _refresh, _play, _bake, _cache, _bake_crowd, _fix),
    *(_disable, _enable, _bake_bones, _disable),
)


def _each(name: str, **options: Any) -> None:
    """An operator of ours on every mesh; a refusal does not stop the others."""
    called = getattr(bpy.ops.dqc, name)
    for obj_name in [obj.name for obj in bpy.context.view_layer.objects if obj.type == "MESH"]:
        obj = bpy.data.objects.get(obj_name)
        if obj is None or is_hidden(obj) or not obj.visible_get():
            continue
        select(obj)
        if called.poll():
            try:
                called(**options)
            except RuntimeError as error:
                if "Traceback" in str(error):
                    raise
