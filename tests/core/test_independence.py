"""`core` needs numpy and nothing of Blender."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import importlib, pkgutil, sys

class Blocker:
    names = {"bpy", "mathutils", "bmesh", "gpu", "blf", "bpy_extras", "gpu_extras", "_bpy"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ImportError(f"{name} is blocked")
        return None

sys.meta_path.insert(0, Blocker())
from dq_compensation import core
modules = [module.name for module in pkgutil.iter_modules(core.__path__)]
for module in modules:
    importlib.import_module(f"dq_compensation.core.{module}")
third_party = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(",".join(modules))
print(",".join(sorted(name for name in third_party if not name.startswith("_"))))
"""


def test_core_imports_without_blender() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    modules, third_party = done.stdout.split("\n")[:2]
    assert {"pose", "skinning", "compensation", "deform"} <= set(modules.split(","))
    assert {"numpy", "dq_compensation"} <= set(third_party.split(","))
    assert not {"bpy", "mathutils", "scipy"} & set(third_party.split(","))
