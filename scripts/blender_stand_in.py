"""Stands in for the Blender program where only `bpy` from PyPI is: runs `--command NAME ...`.

    .venv-5.2/bin/python scripts/blender_stand_in.py --command dq_compensation check --help

Options before `--command` are left out. The extension is the one that is installed in the folder of
`BLENDER_USER_RESOURCES`, as in Blender; where none is installed, it is this project's.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import bpy

from leaving import run_and_leave

Command = Callable[[list[str]], int]

EXTENSION = "bl_ext.user_default.dq_compensation"


def main(arguments: Sequence[str]) -> int:
    if "--command" not in arguments:
        print("blender_stand_in: it runs --command NAME only", file=sys.stderr)
        return 2
    name, *rest = arguments[arguments.index("--command") + 1 :]
    commands = {"extension": extension_command, **extension_commands()}
    if name not in commands:
        print(f"blender_stand_in: no command {name}", file=sys.stderr)
        return 2
    return commands[name](rest)


def extension_command(arguments: list[str]) -> int:
    """Blender's own command `extension`, from one of its add-ons."""
    return import_module("bl_pkg.bl_extension_cli").cli_extension_handler(arguments)


def extension_commands() -> dict[str, Command]:
    """The commands that the extension registers, by name."""
    found: dict[str, Command] = {}

    def register_cli_command(name: str, execute: Command) -> str:
        found[name] = execute
        return name

    # Blender runs registered commands from its own main function only.
    bpy.utils.register_cli_command = register_cli_command
    if not _enable_installed():
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
        import dq_compensation

        dq_compensation.register()
    return found


def _enable_installed() -> bool:
    import addon_utils  # Blender's own, found once bpy is imported

    if "BLENDER_USER_RESOURCES" not in os.environ:
        return False
    installed = {module.__name__ for module in addon_utils.modules()}
    return EXTENSION in installed and addon_utils.enable(EXTENSION) is not None


if __name__ == "__main__":
    run_and_leave(lambda: main(sys.argv[1:]))
