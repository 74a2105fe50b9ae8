"""Every planted scene: what breaks a clean human so that a check finds it.

Each check has its own in a file `plant_<check>.py` beside this one, which ends with
`PLANTED = {"check/variant": function, ...}`; a function gets the human and breaks it. The first of
each file can be planted on top of the first ones of the others. A variant whose name begins with
`refuses_` is found, but its fix says why it cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tests.blender.conftest import Human

PLANTED: dict[str, Callable[[Human], None]] = {}

for _path in sorted(Path(__file__).parent.glob("plant_*.py")):
    _found = import_module(f"tests.setup_check.{_path.stem}").PLANTED
    assert not PLANTED.keys() & _found.keys(), f"{_path.name} repeats a name"
    PLANTED.update(_found)
