"""`bake pose`, `bake frames`, `bake correctives`, `bake bones`: they change .blend files."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import bpy

from .. import api
from ..bake.bones.bones_options import BonesOptions
from ..bake.key_options import CorrectiveOptions, PoseOptions, RangeOptions
from .bake_options import add_bake_options, chosen
from .command import Command, ObjectFacts, Run, each_saved_file, said_facts
from .options import (
    add_blend_output_options,
    add_frames_option,
    add_input_options,
    add_setting_options,
    frames_of_scene,
    setting_values,
)

Bake = Callable[[Run, list[bpy.types.Object]], Sequence[Any]]
"""Bakes the characters of a file; returns the reports of `api`."""


def _command(
    kind: str,
    summary: str,
    examples: tuple[str, ...],
    bake: Bake,
    add_options: Callable[[ArgumentParser], None],
) -> Command:
    """A command that bakes in each file and saves it."""

    def add_all_options(parser: ArgumentParser) -> None:
        add_input_options(parser)
        add_setting_options(parser)
        add_options(parser)
        add_blend_output_options(parser)

    def run_it(run: Run) -> None:
        def change(objects: list[bpy.types.Object]) -> list[ObjectFacts]:
            if values := setting_values(run.arguments):
                for obj in objects:
                    api.change_settings(obj, **values)
            return said_facts(run, bake(run, objects))

        each_saved_file(run, change)

    return Command(f"bake {kind}", summary, examples, add_all_options, run_it)


def _add_pose_options(parser: ArgumentParser) -> None:
    parser.add_argument("--frame", type=int, help="of the pose; without it the current one")
    add_bake_options(parser, PoseOptions)


def _bake_pose(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
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


def _bake_frames(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
    first, last, step = frames_of_scene(run.arguments)
    bake = partial(api.bake_frames, first=first, last=last, step=step)
    return _bake_each(run, objects, bake, RangeOptions)


def _bake_correctives(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
    return _bake_each(run, objects, api.bake_correctives, CorrectiveOptions)


def _bake_each(
    run: Run, objects: list[bpy.types.Object], bake: Callable[..., Any], task: type
) -> Sequence[Any]:
    options = chosen(run.arguments, task)
    return [
        bake(obj, **options, progress=run.part(number, len(objects)))
        for number, obj in enumerate(objects)
    ]


def _bake_bones(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
    options = chosen(run.arguments, BonesOptions)
    return api.bake_bones(objects, **options, progress=run.progress)


COMMANDS = (
    _command(
        "pose",
        "make a pose a shape key",
        ("bake pose --file hero.blend --frame 40 --name Crouch --output hero_pose.blend",),
        _bake_pose,
        _add_pose_options,
    ),
    _command(
        "frames",
        "make each frame of a range a shape key",
        ("bake frames --file shot.blend --frames 1-250 --tolerance 0.1 --output baked.blend",),
        _bake_frames,
        _add_frames_options,
    ),
    _command(
        "correctives",
        "make corrective shape keys that follow the bones",
        ("bake correctives --file hero.blend --angles 45 90 --output engine/",),
        _bake_correctives,
        partial(add_bake_options, task=CorrectiveOptions),
    ),
    _command(
        "bones",
        "add helper bones and new weights for plain linear skinning",
        ("bake bones --file hero.blend --helpers 2 --influences 4 --output engine/",),
        _bake_bones,
        partial(add_bake_options, task=BonesOptions),
    ),
)
