"""What users do with the add-on: every operator of it, its settings, what scripts call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import bpy

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.lifecycle.following import end_comparison
from dq_compensation.modifier.plain_view import show_plain
from dq_compensation.pipeline.crowds.settings import crowd_of
from dq_compensation.pipeline.takes.settings import takes_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import (
    CHARACTER_CHOICES,
    CHARACTER_SETTINGS,
    FOLLOWED_SETTINGS,
    settings_of,
)
from dq_compensation.setup_check import findings
from tests.blender.enabled_scenes import select
from tests.soak.choosing import (
    Action,
    among,
    any_character,
    any_crowd,
    any_mesh,
    any_rig,
    object_mode,
    on_crowd,
    on_mesh,
    on_rig,
)

_GROUPS = {"group": ("COMPENSATION", "BLEND")}
_ONTO = {"onto": ("THIS", "COPY")}
_BONES = ("Lower", "Hand")


def operator(
    name: str,
    of: Callable[[Random], bpy.types.Object | None] = any_character,
    also: Callable[[Random], bpy.types.Object | None] | None = None,
    **choices: Any,
) -> Action:
    """An operator of ours on a random object; each option is one of its choices.

    Args:
        of: chooses the active object.
        also: chooses another one that is selected besides.
    """

    def done(rng: Random) -> str | None:
        obj, other = of(rng), also(rng) if also is not None else None
        if obj is None:
            return None
        object_mode()
        select(obj, *filter(None, [other]))
        called = getattr(bpy.ops.dqc, name)
        if not called.poll():
            return None
        options = {key: rng.choice(values) for key, values in choices.items()}
        what = f"dqc.{name} {options or ''} on {obj.name}"
        if other is not None:
            what += f" with {other.name}"
        called(**options)
        return what

    return done


def _of_a_problem(name: str, **choices: Any) -> Action:
    """An operator on one of the problems that Setup Check has found."""

    def done(rng: Random) -> str | None:
        obj = any_mesh(rng)
        found = None if obj is None else findings.known(obj)
        issue = among(rng, found.issues) if found is not None else None
        if obj is None or issue is None:
            return None
        fix = among(rng, issue.fixes)
        of_fix = {"fix": fix.name} if fix is not None and name == "fix" else {}
        options = {key: rng.choice(values) for key, values in choices.items()} | of_fix
        what = f"dqc.{name} {issue.check} {options} on {obj.name}"
        called = getattr(bpy.ops.dqc, name)
        called(object_name=obj.name, check=issue.check, key=issue.key, **options)
        return what

    return done


def _preset(rng: Random) -> str | None:
    """Add a preset of the settings of one character, and give it to another one."""
    source, target = any_mesh(rng), any_mesh(rng)
    if source is None or target is None:
        return None
    object_mode()
    with tempfile.TemporaryDirectory() as folder:

        def user_resource(_kind: str, *, path: str = "", create: bool = False) -> str:
            Path(folder, path).mkdir(parents=True, exist_ok=create)
            return str(Path(folder, path))

        select(source)
        if not bpy.ops.dqc.preset_add.poll():
            return None
        with mock.patch.object(bpy.utils, "user_resource", user_resource):
            bpy.ops.dqc.preset_add(name="Soak")
        written = Path(folder, "presets", "dq_compensation", "Soak.py")
        select(target)
        if not bpy.ops.dqc.preset_apply.poll():
            return None
        bpy.ops.dqc.preset_apply(filepath=str(written))
    return f"preset of {source.name} to {target.name}"


def _compare(preserved: bool | None = None) -> Action:
    """Hold a key of the comparison: the operators themselves wait for events."""

    def done(rng: Random) -> str | None:
        obj = any_mesh(rng)
        if obj is None or not settings_of(obj).enabled:
            return None
        show_plain([obj], preserved=preserved)
        bpy.context.view_layer.update()
        end_comparison()
        return f"compare {obj.name} with {'Preserve Volume' if preserved else 'its modifier'}"

    return done


def _bake_cache(rng: Random) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "soak"))
        cache = operator("bake_cache", filepath=(path,), cache_format=("PC2", "MDD"), **_RANGE)
        return cache(rng)


_RANGE: dict[str, Any] = {"first": (1,), "last": (3,)}


def _switch_mesh(rng: Random) -> str | None:
    """Switch one mesh in the list of a character."""
    obj = any_mesh(rng)
    if obj is None or SkinnedObject(obj).find_modifier() is None:
        return None
    return operator("switch_mesh", of=lambda _rng: obj, mesh=(obj.name,))(rng)


OPERATORS: dict[str, tuple[int, Action]] = {
    "enable": (10, operator("enable")),
    "disable": (4, operator("disable")),
    "disable_all": (1, operator("disable_all")),
    "refresh": (3, operator("refresh")),
    "toggle": (2, operator("toggle")),
    "switch_mesh": (2, _switch_mesh),
    "own_settings": (1, operator("own_settings", of=any_mesh)),
    "character_settings": (1, operator("character_settings", of=any_mesh)),
    "compare": (1, _compare()),
    "compare_volume": (1, _compare(preserved=True)),
    "switch_twist": (2, operator("switch_twist", bone=_BONES, both_sides=(True, False))),
    "switch_shapes": (2, operator("switch_shapes", bone=_BONES, both_sides=(True, False))),
    "joint_strength": (
        2,
        operator(
            "joint_strength",
            bone=_BONES,
            strength=(0.0, 0.35, 1.0),
            both_sides=(True, False),
        ),
    ),
    "joint_softness": (
        2,
        operator(
            "joint_softness",
            bone=_BONES,
            softness=(0.0, 0.5, 1.0),
            automatic=(True, False),
            both_sides=(True, False),
        ),
    ),
    "take_bone_for": (
        2,
        operator(
            "take_bone_for",
            bone=_BONES,
            kind=("AUTO", "LIMB", "ROW", "TWIST_BONE", "FACE", "RIGID"),
            both_sides=(True, False),
        ),
    ),
    "settings_copy": (2, operator("settings_copy", also=any_mesh)),
    "preset_add": (1, _preset),
    "preset_apply": (1, _preset),
    "check": (4, operator("check")),
    "fix": (2, _of_a_problem("fix")),
    "fix_all": (3, operator("fix_all")),
    "ignore_issue": (1, _of_a_problem("ignore_issue", ignored=(True, False))),
    "select_issue": (2, _of_a_problem("select_issue", what=("VERTICES", "BONES"))),
    "paint_weights": (1, operator("paint_weights", **_GROUPS)),
    "paint_done": (1, operator("paint_done")),
    "weights_fill": (2, operator("weights_fill", **_GROUPS, value=(0.0, 0.5))),
    "weights_invert": (1, operator("weights_invert", **_GROUPS)),
    "weights_from_transition": (1, operator("weights_from_transition")),
    "soften_weights": (2, operator("soften_weights", amount=(0.1, 0.8), influences=(1, 4, 8))),
    "weights_from_body": (2, operator("weights_from_body", only_missing=(False, True))),
    "restore_weights": (1, operator("restore_weights")),
    "update_softness": (1, operator("update_softness")),
    "bake_pose": (2, operator("bake_pose", **_ONTO)),
    "bake_range": (1, operator("bake_range", **_RANGE, **_ONTO)),
    "bake_correctives": (
        1,
        operator("bake_correctives", bones=("ALL",), angles=("60",), **_ONTO),
    ),
    "bake_bones": (
        1,
        operator("bake_bones", bones=("ALL",), budget=(2,), tolerance=(20.0,), **_ONTO),
    ),
    "bake_cache": (1, _bake_cache),
    "remove_bake": (2, operator("remove_bake")),
    "take_cache": (3, operator("take_cache", first=(1,), last=(4,), take_name=("", "Walk"))),
    "take_refresh": (1, operator("take_refresh")),
    "take_remove": (1, operator("take_remove")),
    "take_copy": (1, operator("take_copy", of=any_rig, also=any_rig)),
    "crowd_add": (3, operator("crowd_add", count=(0, 4), seed=(0, 1))),
    "crowd_role_add": (1, operator("crowd_role_add", of=any_crowd)),
    "crowd_role_remove": (1, operator("crowd_role_remove", of=any_crowd)),
    "crowd_role_move": (1, operator("crowd_role_move", of=any_crowd, direction=("UP", "DOWN"))),
    "bake_crowd": (3, operator("bake_crowd", of=any_crowd, tolerance=(200.0,))),
    "crowd_hide_sources": (1, operator("crowd_hide_sources", of=any_crowd)),
    "crowd_bake_remove": (1, operator("crowd_bake_remove", of=any_crowd)),
    "example_add": (3, operator("example_add", bone=_BONES, mode=("NONE", "EDIT", "SCULPT"))),
    "example_edit": (1, operator("example_edit", mode=("EDIT", "SCULPT"))),
    "example_apply": (2, operator("example_apply", outside=("LEAVE", "WIDEN"))),
    "example_cancel": (1, operator("example_cancel")),
    "example_go_to_pose": (1, operator("example_go_to_pose")),
    "example_mirror": (1, operator("example_mirror", by=("POSITION", "TOPOLOGY"))),
    "example_update": (1, operator("example_update", of=any_mesh, also=any_mesh)),
    "example_remove": (1, operator("example_remove")),
    "examples_take_over": (1, operator("examples_take_over")),
    "support_show": (1, operator("support_show", bone=_BONES)),
    "support_paint": (1, operator("support_paint", bone=_BONES)),
    "examples_to_correctives": (1, operator("examples_to_correctives", **_ONTO)),
    "examples_from_correctives": (
        1,
        operator("examples_from_correctives", drivers=("MUTE", "REMOVE", "KEEP")),
    ),
}
"""By the name of each operator: how often users call it, and the action."""

EXCUSED = {
    "export_plain": "writes other files; `test_plain_export.py` compares this one",
    "add_sample_character": "adds a character; the soak has its own",
    "choose_groups": "opens a popup with fields of the panel and touches no file",
    "messages": "shows what the panel knows and touches no file",
    "help": "opens a web browser and touches no file",
    "test_motion": "draws in a window and touches no file; `tests/gui` presses it",
    "stop_softness": "stops a timer that only a window has; `test_softness_waits.py` stops it",
    "solve_folds": "takes too long; `test_solve_folds.py` runs it",
    "compare_solved": "needs solved shapes; `test_solved_look.py` holds the key",
    "solve_folds_again": "as `solve_folds`",
    "remove_solved": "removes what `solve_folds` makes",
    "preferences_reset": "changes the user's preferences and no file",
}
"""Operators that are no action, and why."""


# --- settings

_SOFT = ("softness", "softness_group", "as_painted", "by_itself")


def settings(rng: Random, obj: bpy.types.Object) -> str:
    """Change one setting of a mesh; of an armature, one of its character."""
    of_object: Any = settings_of(obj)
    groups = ["", *(group.name for group in obj.vertex_groups)]
    of_meshes = [*CHARACTER_CHOICES, *_SOFT, "overlay"]
    name = rng.choice(of_meshes if obj.type == "MESH" else CHARACTER_SETTINGS)
    described = of_object.bl_rna.properties[name]
    values: dict[str, Any] = {"FLOAT": (0.0, 0.3, 1.0), "BOOLEAN": (True, False), "STRING": groups}
    if described.type == "ENUM":
        values["ENUM"] = described.enum_items.keys()
    value = rng.choice(list(values[described.type]))
    setattr(of_object, name, value)
    return f"{name} {value}"


def key_followed(rng: Random, obj: bpy.types.Object) -> str:
    """Animate a setting that acts in each frame."""
    of_object: Any = settings_of(obj)
    name = rng.choice(FOLLOWED_SETTINGS)
    setattr(of_object, name, rng.choice((0.0, rng.random())))
    of_object.keyframe_insert(name, frame=rng.randint(1, 6))
    return name


def solved_shape(rng: Random, obj: bpy.types.Object) -> str:
    """Add a solved shape in the current pose by a script, or remove all."""
    try:
        if rng.random() < 0.2:
            return f"removed {api.remove_solved_shapes(obj)} shapes"
        joints = rng.sample(_BONES, rng.randint(1, 2))
        positions = api.evaluate(obj)
        positions[rng.randrange(100) :: 3] += (0.0, 0.02, 0.01)
        shape = api.add_solved_shape(obj, joints, positions)
        return f"shape of {joints}, {shape.vertices} vertices"
    except UserError as error:
        return str(error)


def playback(rng: Random, rig: bpy.types.Object) -> str:
    """Change how an armature plays its takes, or rename one."""
    played: Any = settings_of(rig).playback
    takes = ["", *(take.name for take in takes_of(rig))]
    name, values = rng.choice(
        [
            ("playing", (True, True, False)),
            ("take", takes),
            ("second_take", takes),
            ("speed", (-1.0, 0.0, 1.5)),
            ("fade_frames", (0.0, 3.0)),
            ("rename", ("Walk", "Run", "")),
        ]
    )
    value = rng.choice(values)
    if name != "rename":
        setattr(played, name, value)
    elif len(takes) > 1:
        takes_of(rig)[0].name = value
    return f"{name} {value}"


def crowd_settings(rng: Random, crowd: bpy.types.Object) -> str:
    """Change one setting of a crowd, or of its first role."""
    of_crowd: Any = crowd_of(crowd)
    name, values = rng.choice(
        [
            ("count", (0, 1, 5)),
            ("seed", (0, 3)),
            ("columns", (0, 3)),
            ("spacing", (0.0, 2.0)),
            ("speed_spread", (0.0, 0.5)),
            ("scale_spread", (0.0, 0.5)),
            ("share", (0.0, 2.0)),
            ("then", ("", "Walk")),
            ("character", (None, any_rig(rng))),
        ]
    )
    value = rng.choice(values)
    if name not in ("share", "then", "character"):
        setattr(of_crowd, name, value)
    elif len(of_crowd.roles):
        setattr(of_crowd.roles[0], name, value)
    return f"{name} {getattr(value, 'name', value)}"


SETTINGS: tuple[tuple[int, Action], ...] = (
    (12, on_mesh(settings)),
    (4, on_rig(settings)),
    (4, on_mesh(solved_shape)),
    (1, on_mesh(key_followed)),
    (1, on_rig(key_followed)),
    (2, on_rig(playback)),
    (3, on_crowd(crowd_settings)),
)
