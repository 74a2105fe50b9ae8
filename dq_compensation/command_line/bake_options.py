"""The options of the bakes: those of the functions of `api`, with their defaults."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Callable
from inspect import signature
from typing import Any

from .options import tolerance

Described = dict[str, Any]

_TARGET: Described = {
    "choices": ("LINEAR", "DUAL_QUATERNION"),
    "type": str.upper,
    "help": "what the Armature modifier does where the keys are used: plain, or Preserve Volume",
}
_ONTO: Described = {
    "choices": ("THIS", "COPY"),
    "type": str.upper,
    "help": "the object itself, or a copy of it",
}
_TOLERANCE: Described = {"type": tolerance, "metavar": "MM"}

KEYS: dict[str, Described] = {
    "target": _TARGET,
    "onto": _ONTO,
    "overwrite": {
        "action": BooleanOptionalAction,
        "help": "remove keys of such names from an earlier bake first",
    },
}
MANY_KEYS: dict[str, Described] = {
    "tolerance": {**_TOLERANCE, "help": "leave out keys that move no vertex by more, millimetres"},
    "pattern": {"metavar": "NAME", "help": "the names of the keys"},
    **KEYS,
    "much_memory": {"action": BooleanOptionalAction, "help": "go on above 1 GB"},
}
JOINTS: dict[str, Described] = {
    "bones": {"nargs": "+", "metavar": "BONE", "help": "the joints; without it all of them"},
    "mirror": {"action": BooleanOptionalAction, "help": "the bones of the other side, too"},
}
CORRECTIVES: dict[str, Described] = {
    **JOINTS,
    "directions": {
        "choices": ("LIMBS", "X", "Z", "FOUR", "EIGHT", "ACTION", "EXAMPLES"),
        "type": str.upper,
        "help": "about which axes the bones bend",
    },
    "angles": {"nargs": "+", "type": float, "metavar": "DEGREES", "help": "of the bends"},
    "twists": {"nargs": "+", "type": float, "metavar": "DEGREES", "help": "of the twists"},
    "both_ways": {"action": BooleanOptionalAction, "help": "bend hinges backwards as well"},
    **MANY_KEYS,
}
BONES: dict[str, Described] = {
    **JOINTS,
    "helpers": {"type": int, "help": "for each joint; 0: as few as the tolerance needs"},
    "influences": {"type": int, "help": "of a vertex at most; 0: any number"},
    "tolerance": {**_TOLERANCE, "help": "a joint that is nearer gets no more helpers, millimetres"},
    "poses": {
        "choices": ("RANGE", "KEYED", "FRAMES"),
        "type": str.upper,
        "help": "that it is fitted to: a range of motion, keyed frames, or all of the action",
    },
    "bend": {"type": float, "metavar": "DEGREES", "help": "of the range of motion"},
    "twist": {"type": float, "metavar": "DEGREES", "help": "of the range of motion, both ways"},
    "onto": _ONTO,
    "keys": {"action": BooleanOptionalAction, "help": "key the helpers in the action"},
    "key_every_frame": {"action": BooleanOptionalAction, "help": "not only where needed"},
    "bone_limit": {"type": int, "help": "the most deforming bones of the engine; 0: any number"},
    "with_correctives": {
        "action": BooleanOptionalAction,
        "help": "bake what the bones leave off to shape keys",
    },
    "overwrite": {"action": BooleanOptionalAction, "help": "take an earlier bake back first"},
}


def add_bake_options(
    parser: ArgumentParser, function: Callable[..., object], described: dict[str, Described]
) -> None:
    """Add options for arguments of a function of `api`; it has the defaults."""
    parameters = signature(function).parameters
    group = parser.add_argument_group("the bake")
    for name, options in described.items():
        default = parameters[name].default
        text = options["help"]
        if options.get("nargs") is None and "action" not in options:
            text = f"{text} (default: {default})"
        elif "action" in options:
            text = f"{text} (default: {'yes' if default else 'no'})"
        elif default:
            text = f"{text} (default: {' '.join(f'{each:g}' for each in default)})"
        complete: Described = {**options, "help": text.replace("%", "%%"), "default": SUPPRESS}
        group.add_argument(f"--{name.replace('_', '-')}", **complete)


def chosen(arguments: Namespace, described: dict[str, Described]) -> dict[str, Any]:
    """The arguments for the function that were chosen."""
    return {name: getattr(arguments, name) for name in described if hasattr(arguments, name)}
