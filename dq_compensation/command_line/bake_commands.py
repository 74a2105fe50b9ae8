"""`bake pose`, `bake frames`, `bake correctives`, `bake bones`: they change .blend files."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Any

import bpy

from .. import api
from .bake_options import BONES, CORRECTIVES, KEYS, MANY_KEYS, Described, add_bake_options, chosen
from .command import Command, ObjectFacts, Run, each_saved_file, report_facts
from .options import (
    add_blend_output_options,
    add_frames_option,
    add_input_options,
    add_setting_options,
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
            reports = bake(run, objects)
            for report in reports:
                run.console.say(report.sentence())
            return [facts for report in reports for facts in report_facts(report)]

        each_saved_file(run, change)

    return Command(f"bake {kind}", summary, examples, add_all_options, run_it)


def _options(
    function: Callable[..., object], described: dict[str, Described]
) -> Callable[[ArgumentParser], None]:
    return lambda parser: add_bake_options(parser, function, described)


def _add_pose_options(parser: ArgumentParser) -> None:
    parser.add_argument("--frame", type=int, help="of the pose; without it the current one")
    parser.add_argument("--name", default="Pose", help="of the shape key (default: Pose)")
    add_bake_options(parser, api.bake_pose, KEYS)


def _bake_pose(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
    arguments, scene = run.arguments, bpy.context.scene
    before, subframe = scene.frame_current, scene.frame_subframe
    if arguments.frame is not None:
        scene.frame_set(arguments.frame)
    options = chosen(arguments, KEYS)
    reports = [api.bake_pose(obj, arguments.name, **options) for obj in objects]
    scene.frame_set(before, subframe=subframe)
    return reports


def _add_frames_options(parser: ArgumentParser) -> None:
    add_frames_option(parser, "the scene's range")
    add_bake_options(parser, api.bake_frames, MANY_KEYS)


def _bake_frames(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
    scene, arguments = bpy.context.scene, run.arguments
    first, last, step = arguments.frames or (scene.frame_start, scene.frame_end, 1)
    options: dict[str, Any] = {**chosen(arguments, MANY_KEYS), "step": step}
    return [
        api.bake_frames(obj, first, last, **options, progress=run.part(number, len(objects)))
        for number, obj in enumerate(objects)
    ]


def _bake_correctives(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
    options = chosen(run.arguments, CORRECTIVES)
    return [
        api.bake_correctives(obj, **options, progress=run.part(number, len(objects)))
        for number, obj in enumerate(objects)
    ]


def _bake_bones(run: Run, objects: list[bpy.types.Object]) -> Sequence[Any]:
    return api.bake_bones(objects, **chosen(run.arguments, BONES), progress=run.progress)


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
        _options(api.bake_correctives, CORRECTIVES),
    ),
    _command(
        "bones",
        "add helper bones and new weights for plain linear skinning",
        ("bake bones --file hero.blend --helpers 2 --influences 4 --output engine/",),
        _bake_bones,
        _options(api.bake_bones, BONES),
    ),
)
