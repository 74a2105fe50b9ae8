"""The commands and what runs them; apart, because Blender reads them only when one is called."""

from __future__ import annotations

import argparse
import json
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import bpy
import numpy as np
from bpy.types import Object

from .. import api
from ..errors import UserError
from ..pipeline.crowds.command import BAKE_CROWD
from ..pipeline.files.files import REFUSAL_NOT_ENABLED, SUFFIXES, object_files
from ..pipeline.files.plain_export import EXPORTERS
from ..pipeline.files.whole_files import beside, written_whole
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.scenes import frame_kept, frames_of_range
from ..scene.settings.addon_preferences import LOOKS
from ..scene.settings.object_settings import CHARACTER_CHOICES
from ..session.character import characters_of
from ..setup_check.joined_issues import by_character, said_once
from ..softness.softening import restoring_refusal
from ..wording import counted, listed
from . import console
from .options import (
    OneLineParser,
    add_blend_output_options,
    add_export_options,
    add_file_output_options,
    add_frames_option,
    add_general_options,
    add_input_options,
    add_options_of,
    add_setting_options,
    add_several_option,
    chosen,
    frame_number,
    frames_of_scene,
    number_between,
    sentence_of,
    setting_values,
)
from .running import (
    JSON_FORMAT,
    Command,
    ObjectFacts,
    Run,
    each_exported_file,
    each_file,
    each_object,
    each_saved_file,
    said_facts,
)
from .target_files import target_refusal


def _enable(run: Run, objects: list[Object]) -> list[ObjectFacts]:
    values = setting_values(run.arguments)
    for number, obj in enumerate(objects):
        run.progress(number / len(objects), f"enabling {obj.name}")
        api.enable(obj, look=run.arguments.look, **values)
    return [{"name": obj.name_full, "settings": asdict(api.settings(obj))} for obj in objects]


def _add_look_and_settings(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--look",
        choices=tuple(LOOKS),
        type=str.upper,
        help="the settings of a preset; an option of a setting counts more",
    )
    add_setting_options(parser, CHARACTER_CHOICES)


def _disable(_run: Run, objects: list[Object]) -> list[ObjectFacts]:
    api.disable(objects)
    return [{"name": obj.name_full} for obj in objects]


_SETTINGS = (
    Command(
        "enable",
        sentence_of(api.enable),
        (
            "enable --file hero.blend --output hero_dq.blend",
            "enable --file 'assets/*.blend' --look SOFT_WITH_TWIST --factor 0.8 --in-place",
        ),
        partial(each_saved_file, work=_enable),
        _add_look_and_settings,
        saves=True,
    ),
    Command(
        "disable",
        sentence_of(api.disable),
        ("disable --file hero_dq.blend --output hero.blend",),
        partial(each_saved_file, work=_disable),
        saves=True,
    ),
)


_SEVERITIES = ("ERROR", "WARNING", "INFORMATION")


def _add_check_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "information", "never"),
        default="error",
        help="the least severity that gives exit code 1 (default: error)",
    )


def _check_characters(run: Run) -> None:
    chosen = run.arguments.fail_on.upper()
    fatal = _SEVERITIES[: _SEVERITIES.index(chosen) + 1] if chosen in _SEVERITIES else ()
    found = dict.fromkeys(_SEVERITIES, 0)

    def check(source: Path) -> list[ObjectFacts]:
        objects = run.objects(source)
        issues: dict[int, list[api.Issue]] = {}
        for number, obj in enumerate(objects):
            run.progress(number / len(objects), f"checking {obj.name}")
            issues[obj.session_uid] = api.check(obj)
        for meshes in by_character(objects):
            for issue in said_once({obj: issues[obj.session_uid] for obj in meshes}):
                found[issue.severity] += 1
                where = f"{source}: {issue.meshes[0]}"
                run.console.say(f"{where}: {issue.severity.lower()}: {issue.message}")
        return [
            {"name": obj.name_full, "issues": [_facts(each) for each in issues[obj.session_uid]]}
            for obj in objects
        ]

    each_file(run, check)
    checked = sum(file["error"] is None for file in run.files)
    nouns = dict(zip(_SEVERITIES, ("error", "warning", "note"), strict=True))
    counts = ", ".join(counted(found[each], nouns[each]) for each in _SEVERITIES)
    run.console.say(f"{counted(checked, 'file')} checked: {counts}")
    if run.code == console.ExitCode.FINE and any(found[severity] for severity in fatal):
        run.code = console.ExitCode.FINDINGS


def _facts(issue: api.Issue) -> ObjectFacts:
    return {
        "check": issue.check,
        "key": issue.key,
        "severity": issue.severity,
        "message": issue.message,
        "bones": list(issue.bones),
        "vertices": issue.vertices.tolist(),
        "fixes": [fix.name for fix in issue.fixes],
    }


_CHECK = Command(
    "check",
    sentence_of(api.check),
    (
        "check --file hero.blend",
        "check --file 'assets/*.blend' --fail-on warning --json findings.json",
    ),
    _check_characters,
    _add_check_options,
)


def _add_report_options(parser: ArgumentParser) -> None:
    meaning = "bones behind the joints to measure; without it all joints that bend, so those of "
    add_several_option(parser, "bones", "--bones", help=f"{meaning}twist bones are left out")
    # Its name in version 0.1.
    add_several_option(parser, "bones", "--bone", help=argparse.SUPPRESS)
    parser.add_argument(
        "--bend",
        type=number_between(1.0, 180.0),
        default=90.0,
        metavar="DEGREES",
        help="by how much each joint is bent (default: 90)",
    )


def _report_characters(run: Run) -> None:
    arguments = run.arguments

    def report(source: Path, obj: Object) -> ObjectFacts:
        found = api.report(
            obj,
            degrees=arguments.bend,
            bones=arguments.bones,
            progress=run.progress,
        )
        run.console.say(f"{source}: {found.table()}")
        return {"name": obj.name_full, **found.facts()}

    each_object(run, "measuring", report)


_REPORT = Command(
    "report",
    sentence_of(api.report),
    (
        "report --file hero.blend",
        "report --file hero.blend --bones lowerarm_l lowerleg_l --bend 120",
        "report --file 'assets/*.blend' --json quality.json",
    ),
    _report_characters,
    _add_report_options,
)


_SUFFIXES = (".npy", ".pc2", ".mdd")


def _add_evaluate_options(parser: ArgumentParser) -> None:
    meaning = "the .npy file to write, .pc2 or .mdd for a point cache, or a folder"
    add_export_options(parser, "the current frame alone", meaning, _SUFFIXES)
    parser.add_argument(
        "--space",
        choices=("local", "world"),
        default="local",
        help="local for object space, world for world space, in .npy files (default: local)",
    )
    add_setting_options(parser)


def _evaluate_all(run: Run, objects: list[Object], output: Path) -> list[ObjectFacts]:
    if output.suffix.lower() != ".npy":
        return _write_cache(run, objects, output)
    targets = object_files(output, [obj.name for obj in objects])
    return [_evaluate(run, obj, target) for obj, target in zip(objects, targets, strict=True)]


def _write_cache(run: Run, objects: list[Object], output: Path) -> list[ObjectFacts]:
    if run.arguments.space != "local":
        raise UserError(
            f"{output.suffix} files are in object space. Leave out --space, or write .npy."
        )
    now, changed = bpy.context.scene.frame_current, setting_values(run.arguments)
    first, last, step = run.arguments.frames or (now, now, 1)
    for obj in objects if changed else ():
        # The file is not saved.
        api.change_settings(obj, **changed)
        if "factor" in changed and "dq_compensation.factor" in animated_paths(obj):
            raise UserError(
                f"The factor of {obj.name} is animated, so --factor has no effect in frames of "
                f"{output.suffix} files. Leave it out, or write .npy."
            )
    reports = api.bake_cache(
        objects, output.resolve(), first, last, step=step, progress=run.progress
    )
    numbers = frames_of_range(first, last, step)
    for report in reports:
        run.console.say(report.sentence())
    return [{"name": obj.name_full, "frames": numbers} for obj in objects]


def _evaluate(run: Run, obj: Object, target: Path) -> ObjectFacts:
    chosen = run.arguments.frames
    frames = frames_of_range(*chosen) if chosen else (bpy.context.scene.frame_current_final,)
    positions = api.evaluate_frames(
        obj,
        frames,
        **setting_values(run.arguments),
        space=run.arguments.space.upper(),
        progress=run.progress,
    )
    with written_whole(target) as file:
        np.save(file, positions)
    run.console.say(f"Wrote {counted(len(frames), 'frame')} of {obj.name} to {target}")
    return {"name": obj.name_full, "frames": frames, "vertices": positions.shape[1]}


_EVALUATE = Command(
    "evaluate",
    "write the positions of the deformed vertices to files",
    (
        "evaluate --file hero.blend --frames 1-250 --output hero.npy",
        "evaluate --file 'shots/*.blend' --object 'Body*' --method COMPENSATED --output out/",
    ),
    partial(each_exported_file, suffixes=_SUFFIXES, work=_evaluate_all),
    _add_evaluate_options,
)


def _add_soften_options(parser: ArgumentParser) -> None:
    add_options_of(api.soften_weights, parser, title="softening")
    parser.add_argument(
        "--put-back", action="store_true", help=f"instead, {sentence_of(api.restore_weights)}"
    )


def _soften(run: Run, objects: list[Object]) -> list[ObjectFacts]:
    if not run.arguments.put_back:
        options = chosen(run.arguments, api.soften_weights)
        return said_facts(run, api.soften_weights(objects, **options, progress=run.progress))
    # As the button: what was not softened stays, unless nothing was.
    softened = [obj for obj in objects if restoring_refusal(obj) is None] or objects
    api.restore_weights(softened)
    return [{"name": obj.name_full} for obj in softened]


_SOFTEN = Command(
    "soften",
    sentence_of(api.soften_weights),
    (
        "soften --file hero.blend --output hero_soft.blend",
        "soften --file hero.blend --amount 0.7 --influences 4 --body Body --in-place",
    ),
    partial(each_saved_file, work=_soften),
    _add_soften_options,
    saves=True,
)


def _add_body_options(parser: ArgumentParser) -> None:
    add_options_of(api.weights_from_body, parser, title="weights")


def _weigh(run: Run, objects: list[Object]) -> list[ObjectFacts]:
    options = chosen(run.arguments, api.weights_from_body)
    return said_facts(run, api.weights_from_body(objects, **options, progress=run.progress))


_WEIGHTS = Command(
    "weights",
    sentence_of(api.weights_from_body),
    (
        "weights --file hero.blend --object Skirt Coat --body Body --output hero_dressed.blend",
        "weights --file hero.blend --object 'Shirt*' --only-missing --influences 4 --in-place",
    ),
    partial(each_saved_file, work=_weigh),
    _add_body_options,
    saves=True,
)


def _add_solve_options(parser: ArgumentParser) -> None:
    meaning = "bones at whose heads joints are solved; without it all joints that fold"
    add_several_option(parser, "bones", "--bones", help=meaning)
    parser.add_argument(
        "--again", action="store_true", help="solve those of them that have solved shapes already"
    )
    parser.add_argument(
        "--remove", action="store_true", help=f"instead, {sentence_of(api.remove_solved_shapes)}"
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="say how many joints and shapes, and about what time and memory; save nothing",
    )


def _estimated(run: Run, objects: list[Object]) -> list[ObjectFacts]:
    facts = list[ObjectFacts]()
    for character in characters_of(objects):
        obj = character.meshes[0].obj
        estimate: Any = api.estimate_folds(obj, run.arguments.bones or None)
        run.console.say(f"{obj.name_full}: {estimate.sentence()}")
        facts.append({"name": obj.name_full, "estimate": asdict(estimate)})
    return facts


def _run_solve(run: Run) -> None:
    if run.arguments.estimate:
        each_file(run, lambda source: _estimated(run, run.objects(source)))
    else:
        each_saved_file(run, _solve)


def _solve(run: Run, objects: list[Object]) -> list[ObjectFacts]:
    bones = run.arguments.bones or None
    if run.arguments.remove:
        with_shapes = [obj for obj in objects if api.solved_shapes(obj)]
        for obj in with_shapes:
            api.remove_solved_shapes(obj, bones)
        return [{"name": obj.name_full} for obj in with_shapes]
    meshes = [character.meshes[0].obj for character in characters_of(objects)]
    again = run.arguments.again
    reports = [api.solve_folds(m, bones, again=again, progress=run.progress) for m in meshes]
    return said_facts(run, reports)


_SOLVE = Command(
    "solve",
    sentence_of(api.solve_folds),
    (
        "solve --file hero.blend --output hero_solved.blend",
        "solve --file hero.blend --bones forearm.L forearm.R --in-place",
        "solve --file hero.blend --estimate",
    ),
    _run_solve,
    _add_solve_options,
    saves=True,
)


Objects = list[Object]
Bake = Callable[[Run, Objects], Sequence[Any]]
"""Bakes the characters of a file; returns the reports of `api`."""


def _command(
    function: Any,
    example: str,
    bake: Bake,
    add_own: Callable[[ArgumentParser], None] | None = None,
    without: Sequence[str] = (),
) -> Command:
    """A command that bakes in each file and saves it, unless it is an estimate.

    Args:
        function: of `api`, which bakes. The command has its name, its first sentence, its options.
        add_own: adds options that only the command has.
        without: options that the command has in a way of its own.
    """

    def add_options(parser: ArgumentParser) -> None:
        add_setting_options(parser)
        if add_own is not None:
            add_own(parser)
        add_options_of(function, parser, without)

    def change(run: Run, objects: Objects) -> list[ObjectFacts]:
        if values := setting_values(run.arguments):
            for obj in objects:
                api.change_settings(obj, **values)
        return said_facts(run, bake(run, objects))

    def run_it(run: Run) -> None:
        if getattr(run.arguments, "estimate", False):
            each_file(run, lambda source: change(run, run.objects(source)))
        else:
            each_saved_file(run, change)

    name, summary = function.__name__.replace("_", " "), sentence_of(function)
    return Command(name, summary, (example,), run_it, add_options, saves=True)


def _add_frame_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--frame", type=frame_number, help="of the pose; without it the current one"
    )


def _bake_pose(run: Run, objects: Objects) -> Sequence[Any]:
    frame, scene = run.arguments.frame, bpy.context.scene
    options = chosen(run.arguments, api.bake_pose)
    with frame_kept(scene):
        if frame is not None:
            scene.frame_set(frame)
        return [api.bake_pose(obj, **options) for obj in objects]


def _bake_frames(run: Run, objects: Objects) -> Sequence[Any]:
    first, last, step = frames_of_scene(run.arguments)
    return _bake_each(run, objects, api.bake_frames, first=first, last=last, step=step)


def _bake_each(run: Run, objects: Objects, function: Any, **frames: int) -> Sequence[Any]:
    options = chosen(run.arguments, function) | frames
    return [
        function(obj, **options, progress=run.part(number, len(objects)))
        for number, obj in enumerate(objects)
    ]


def _bake_bones(run: Run, objects: Objects) -> Sequence[Any]:
    options = chosen(run.arguments, api.bake_bones)
    reports = api.bake_bones(objects, **options, progress=run.progress)
    for report in reports:
        for joint in report.joints:
            run.console.say(joint.sentence())
        if report.worse:
            run.note_worse(", ".join(report.object_names))
    return reports


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


_BAKE = (
    _command(
        api.bake_pose,
        "bake pose --file hero.blend --frame 40 --name Crouch --output hero_pose.blend",
        _bake_pose,
        _add_frame_option,
    ),
    _command(
        api.bake_frames,
        "bake frames --file shot.blend --frames 1-250 --tolerance 0.1 --output baked.blend",
        _bake_frames,
        partial(add_frames_option, otherwise="the scene's range"),
        without=("step",),  # It is a part of --frames.
    ),
    _command(
        api.bake_correctives,
        "bake correctives --file hero.blend --angles 45 90 --output engine/",
        partial(_bake_each, function=api.bake_correctives),
    ),
    _command(
        api.bake_bones,
        "bake bones --file hero.blend --budget 100 --influences 4 --output engine/",
        _bake_bones,
    ),
    Command(
        "bake cache",
        sentence_of(api.bake_cache),
        (
            "bake cache --file shot.blend --frames 1-250 --output hero.pc2",
            "bake cache --file 'shots/*.blend' --format mdd --output caches/",
        ),
        partial(
            each_exported_file,
            suffixes=_CACHE_SUFFIXES,
            work=_bake_cache,
            together={SUFFIXES["ALEMBIC"]},
        ),
        _add_cache_options,
    ),
    BAKE_CROWD,
)


_PLAIN_SUFFIXES = tuple(EXPORTERS)


def _add_plain_options(parser: ArgumentParser) -> None:
    meaning = f"a file that ends with {', '.join(_PLAIN_SUFFIXES)}, or a folder"
    add_file_output_options(parser, meaning, _PLAIN_SUFFIXES)
    parser.add_argument(
        "--animation",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="write the motion, too (default: yes)",
    )


def _export_plain(run: Run, objects: Objects, target: Path) -> list[ObjectFacts]:
    animation = run.arguments.animation
    return said_facts(run, api.export_plain(objects, target.resolve(), animation=animation))


_EXPORT = Command(
    "export",
    sentence_of(api.export_plain),
    (
        "export --file hero.blend --output hero.fbx",
        "export --file 'cast/*.blend' --format glb --output engine/",
    ),
    partial(
        each_exported_file, suffixes=_PLAIN_SUFFIXES, work=_export_plain, together=_PLAIN_SUFFIXES
    ),
    _add_plain_options,
)


COMMANDS: tuple[Command, ...] = (
    _CHECK,
    _REPORT,
    *_SETTINGS,
    _SOFTEN,
    _WEIGHTS,
    _SOLVE,
    _EVALUATE,
    *_BAKE,
    _EXPORT,
)

_TYPED = f"blender --command {console.PROGRAM}"
_EXIT_CODES = """\
exit codes:
  0 fine, 1 check found something, 2 the options are wrong, 3 a file cannot be read or written,
  4 a character cannot be worked on, 5 stopped by Ctrl C, 6 a bug of this program,
  7 a character was not baked, as helper bones would make it worse"""


def main(argv: Sequence[str]) -> int:
    """Run what comes after ``blender --command dq_compensation``.

    Returns:
        the exit code. What went wrong is one line on the standard error.
    """
    try:
        arguments = _parsed(argv)
    except UserError as error:
        console.complain(str(error))
        return console.code_of(error)
    except SystemExit:
        # The help was shown.
        return console.ExitCode.FINE
    try:
        with console.own_output(verbose=arguments.verbose) as output:
            return _run(arguments, output)
    except Exception as error:  # noqa: BLE001 - Blender would return 1, which means findings
        console.complain_of_bug(error)
        return console.ExitCode.BUG


def _run(arguments: Namespace, output: TextIO) -> console.ExitCode:
    quiet = arguments.quiet or arguments.json == "-"
    run = Run(
        arguments, console.Console(output, quiet), console.PrintedProgress(quiet=arguments.quiet)
    )
    try:
        with console.stoppable(run.progress):
            if arguments.json not in {None, "-"} and (
                reason := target_refusal(Path(arguments.json))
            ):
                raise reason
            arguments.command.run(run)
            _report(run)
    except (console.StoppedError, KeyboardInterrupt):
        console.complain("stopped")
        return console.ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - Blender would return 1, which means findings
        run.fail(error)
    return run.code


def _report(run: Run) -> None:
    """Write the JSON document, if it is wanted."""
    wanted = run.arguments.json
    if wanted is None:
        return
    document = {
        "format": JSON_FORMAT,
        "command": run.arguments.command.name,
        "blender": bpy.app.version_string,
        "exit_code": int(run.code),
        "files": run.files,
    }
    text = json.dumps(document, ensure_ascii=False, default=str)
    if wanted == "-":
        run.console.document(text)
        return
    with beside(Path(wanted)) as unfinished:
        unfinished.write_text(f"{text}\n", encoding="utf-8", errors=console.UNREADABLE)


def _parsed(argv: Sequence[str]) -> Namespace:
    """The options; raises `UsageError` where they are wrong, `SystemExit` for the help."""
    parser = OneLineParser(
        prog=_TYPED,
        description="Works on characters in .blend files. COMMAND --help shows more.",
        epilog=_EXIT_CODES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    groups = {"": parser.add_subparsers(title="commands", metavar="COMMAND", required=True)}
    for command in COMMANDS:
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            above = groups[""].add_parser(group, help=f"{group} characters: see {group} --help")
            groups[group] = above.add_subparsers(title="what", metavar="WHAT", required=True)
        examples = (f"  {_TYPED} {example}" for example in command.examples)
        own = groups[group].add_parser(
            name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog="\n".join(("examples:", *examples, "", _EXIT_CODES)),
            formatter_class=RawDescriptionHelpFormatter,
        )
        add_input_options(own, command.kind.several)
        if command.saves:
            add_blend_output_options(own)
        if command.add_options is not None:
            command.add_options(own)
        add_general_options(own)
        own.set_defaults(command=command)
    return parser.parse_args(argv)
