"""Registers `blender --command dq_compensation`."""

from __future__ import annotations

from typing import Any

import bpy

from .console import PROGRAM

_handle: Any = None


def register() -> None:
    """Let Blender know the command."""
    global _handle
    _handle = bpy.utils.register_cli_command(PROGRAM, _execute)


def unregister() -> None:
    """Let Blender forget the command."""
    global _handle
    bpy.utils.unregister_cli_command(_handle)
    _handle = None


def _execute(argv: list[str]) -> int:
    from .commands import main

    return main(argv)
