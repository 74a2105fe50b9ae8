"""The version of the add-on, as its manifest has it."""

from __future__ import annotations

import tomllib
from pathlib import Path

_MANIFEST = Path(__file__).parents[2] / "blender_manifest.toml"

VERSION: tuple[int, ...] = tuple(
    map(int, tomllib.loads(_MANIFEST.read_text(encoding="utf-8"))["version"].split("."))
)
"""Compares as `bpy.app.version` does: ``api.VERSION >= (0, 2, 0)``."""
