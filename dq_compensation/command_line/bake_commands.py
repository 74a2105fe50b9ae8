"""The commands `bake ...`: all change .blend files but `bake cache`, which writes other ones."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import bpy

from .. import api
from ..bake.bones.bones_options import BonesOptions
from ..bake.files.cache_baking import REFUSAL_NOT_ENABLED, SUFFIXES
from ..bake.key_options import CorrectiveOptions, PoseOptions, RangeOptions
from ..crowds.bake.crowd_baking import CrowdBakeOptions
from ..errors import UserError
from ..wording import listed
from .choosing import CROWDS
from .command import (
    Command,
    ObjectFacts,
    Run,
    each_exported_file,
    each_file,
    each_saved_file,
    said_facts,
)
from .options import (
    add_bake_options,
    add_export_options,
    add_frames_option,
    add_setting_options,
    chosen,
    frame_number,
    frames_of_scene,
    setting_values,
)

Objects = list[bpy.types.Object]
Bake = Callable[[Run, Objects], Sequence[Any]]
"""Bakes the characters of a file; returns the reports of `api`."""


def _command(
    kind: str, summary: str, example: str, bake: Bake, add_options: Callable[[ArgumentParser], None]
) -> Command:
    """A command that bakes in each file and saves it, unless it is a dry run."""

    def add_all_options(parser: ArgumentParser) -> None:
        add_setting_options(parser)
        add_options(parser)

    def change(run: Run, objects: Objects) -> list[ObjectFacts]:
        if values := setting_values(run.arguments):
            for obj in objects:
                api.change_settings(obj, **values)
        return said_facts(run, bake(run, objects))

    def run_it(run: Run) -> None:
        if getattr(run.arguments, "dry_run", False):
            each_file(run, lambda source: change(run, run.objects(source)))
        else:
            each_saved_file(run, change)

    return Command(f"bake {kind}", summary, (example,), run_it, add_all_options, saves=True)


def _add_pose_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--frame", type=frame_number, help="of the pose; without it the current one"
    )
    add_bake_options(parser, PoseOptions)


def _bake_pose(run: Run, objects: Objects) -> Sequence[Any]:
    arguments, scene = run.arguments, bpy.context.scene
    before, subframe = scene.frame_current, scene.frame_subframe
    if arguments.frame is not None:
        scene.frame_set(arguments.frame)
    options = chosen(arguments, PoseOptions)
    reports = [api.bake_pose(obj, **options) for obj in objects]
    scene.frame_set(before, subframe=subframe)
    return reports


def _add_frames_options(parser: ArgumentParser) -> None:
    add_frames_option(parser, "the scene's range")
    # It is a part of --frames.
    add_bake_options(parser, RangeOptions, without=("step",))


def _bake_frames(run: Run, objects: Objects) -> Sequence[Any]:
    first, last, step = frames_of_scene(run.arguments)
    bake = partial(api.bake_frames, first=first, last=last, step=step)
    return _bake_each(run, objects, bake, RangeOptions)


def _bake_each(run: Run, objects: Objects, bake: Callable[..., Any], task: type) -> Sequence[Any]:
    options = chosen(run.arguments, task)
    return [
        bake(obj, **options, progress=run.part(number, len(objects)))
        for number, obj in enumerate(objects)
    ]


def _bake_bones(run: Run, objects: Objects) -> Sequence[Any]:
    options = chosen(run.arguments, BonesOptions)
    reports = api.bake_bones(objects, **options, progress=run.progress)
    for report in reports:
        for joint in report.joints:
            run.console.say(joint.sentence())
    return reports


def _bake_crowds(run: Run, crowds: Objects) -> list[ObjectFacts]:
    found = _bake_each(run, crowds, api.bake_crowd, CrowdBakeOptions)
    for crowd, baked in zip(crowds, found, strict=True):
        run.console.say(f"Baked {crowd.name} to {baked.name}")
    return [
        {"name": crowd.name, "baked": baked.name}
        for crowd, baked in zip(crowds, found, strict=True)
    ]


_CACHE_SUFFIXES = tuple(SUFFIXES.values())


def _add_cache_options(parser: ArgumentParser) -> None:
    meaning = "a file that ends with .pc2, .mdd or .abc, or a folder"
    add_export_options(parser, "the scene's range", meaning, _CACHE_SUFFIXES)


def _bake_cache(run: Run, objects: Objects, target: Path) -> list[ObjectFacts]:
    first, last, step = frames_of_scene(run.arguments)
    disabled = [obj.name for obj in objects if not api.settings(obj).enabled]
    if disabled and target.suffix.lower() == SUFFIXES["ALEMBIC"]:
        refusal = REFUSAL_NOT_ENABLED.format(objects=listed(disabled))
        raise UserError(f"{refusal}, by the command enable --file {bpy.data.filepath} --output ...")
    target, progress = target.resolve(), run.progress
    return said_facts(
        run, api.bake_cache(objects, target, first, last, step=step, progress=progress)
    )


COMMANDS = (
    _command(
        "pose",
        "make a pose a shape key",
        "bake pose --file hero.blend --frame 40 --name Crouch --output hero_pose.blend",
        _bake_pose,
        _add_pose_options,
    ),
    _command(
        "frames",
        "make each frame of a range a shape key",
        "bake frames --file shot.blend --frames 1-250 --tolerance 0.1 --output baked.blend",
        _bake_frames,
        _add_frames_options,
    ),
    _command(
        "correctives",
        "make corrective shape keys that follow the bones",
        "bake correctives --file hero.blend --angles 45 90 --output engine/",
        partial(_bake_each, bake=api.bake_correctives, task=CorrectiveOptions),
        partial(add_bake_options, task=CorrectiveOptions),
    ),
    _command(
        "bones",
        "add helper bones and new weights for plain linear skinning",
        "bake bones --file hero.blend --helpers 2 --influences 4 --output engine/",
        _bake_bones,
        partial(add_bake_options, task=BonesOptions),
    ),
    Command(
        "bake cache",
        "write the positions of every frame for programs that play point caches",
        (
            "bake cache --file shot.blend --frames 1-250 --output hero.pc2",
            "bake cache --file 'shots/*.blend' --format mdd --output caches/",
        ),
        partial(each_exported_file, suffixes=_CACHE_SUFFIXES, work=_bake_cache),
        _add_cache_options,
    ),
    Command(
        "bake crowd",
        "make posed meshes of crowds, for renders and for files without the add-on",
        ("bake crowd --file street.blend --tolerance 5 --output street_baked.blend",),
        partial(each_saved_file, work=_bake_crowds),
        partial(add_bake_options, task=CrowdBakeOptions),
        saves=True,
        kind=CROWDS,
    ),
)
