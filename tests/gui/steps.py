"""The steps in their order. Each is a function with a sentence that says what it does."""

from __future__ import annotations

from collections.abc import Callable

from blender_window import Wait
from judging import Step
from steps_basics import (
    alt,
    compare,
    enable,
    factor,
    first_minute,
    install,
    look,
    method,
    motion,
    save,
)
from steps_tools import (
    bake,
    bake_to_bones,
    beside,
    bones_on_gpu,
    by_example,
    check,
    clothes,
    gpu_display,
    joints,
    off_its_rig,
    paint,
    play_take,
    posed_by_hand,
    sculpt,
    soften,
    softness,
    softness_and_twist,
    softness_held,
    solve_folds,
    twist,
)

StepFunction = Callable[[Step], Wait]

INSTALL: StepFunction = install
STEPS: tuple[StepFunction, ...] = (
    first_minute,
    enable,
    factor,
    alt,
    look,
    method,
    compare,
    motion,
    posed_by_hand,
    joints,
    paint,
    soften,
    clothes,
    softness,
    softness_and_twist,
    softness_held,
    twist,
    check,
    off_its_rig,
    bake,
    bake_to_bones,
    by_example,
    sculpt,
    solve_folds,
    gpu_display,
    bones_on_gpu,
    beside,
    play_take,
    save,
)
