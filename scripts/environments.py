"""Where the development environments are: one for each supported Blender, and two without.

Standard library only, and no syntax newer than Python 3.8: whatever `python3` is runs this.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Environment:
    """A virtual environment in the project's folder and what goes into it.

    name : "tools", "engines" or a Blender version, e.g. "5.2"
    python : the Python version it is made with, e.g. "3.13"
    """

    name: str
    python: str

    @property
    def folder(self) -> Path:
        return PROJECT / f".venv-{self.name}"

    @property
    def requirements(self) -> Path:
        name = f"blender-{self.name}" if self.has_blender else self.name
        return PROJECT / "requirements" / f"{name}.txt"

    @property
    def interpreter(self) -> Path:
        if sys.platform == "win32":
            return self.folder / "Scripts" / "python.exe"
        return self.folder / "bin" / "python"

    @property
    def has_blender(self) -> bool:
        return self.name not in ("tools", "engines")


# bpy comes for one Python version each, the one that its Blender embeds.
ENVIRONMENTS: dict[str, Environment] = {
    environment.name: environment
    for environment in (
        Environment("tools", "3.13"),
        Environment("5.2", "3.13"),
        Environment("4.5", "3.11"),
        Environment("4.2", "3.11"),
        # No omniverse-asset-validator for 3.13.
        Environment("engines", "3.11"),
    )
}
BLENDER_VERSIONS: tuple[str, ...] = tuple(
    name for name, environment in ENVIRONMENTS.items() if environment.has_blender
)
