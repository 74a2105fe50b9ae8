"""What older Blenders leave out, and what has a process of its own, exists.

A renamed test would come back unnoticed.
"""

from pathlib import Path

import pytest

from run_tests import APART
from tests.newest_only import BETWEEN, NEWEST_ONLY

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "pattern", [each for each in (*NEWEST_ONLY, *BETWEEN, *APART) if ".py" in each]
)
def test_every_pattern_names_tests(pattern: str) -> None:
    files, _, test = pattern.partition("::")
    found = [path for path in PROJECT.glob(files.split(".py")[0] + "*") if path.is_file()]
    beginning = test.replace("?", "*").split("*")[0]
    assert any(f"def {beginning}" in path.read_text(encoding="utf-8") for path in found)


@pytest.mark.parametrize(
    "path", sorted(PROJECT.glob("tests/blender/test_*.py")), ids=lambda path: path.stem
)
def test_the_gltf_exporter_is_used_apart(path: Path) -> None:
    """It crashes in a process that has read many files."""
    name = str(path.relative_to(PROJECT))
    is_used = ".export_scene.gltf" in path.read_text(encoding="utf-8")
    is_apart = any(each.split("::")[0] == name for each in APART)
    assert is_apart or not is_used, "add its tests to APART in scripts/run_tests.py"
