"""What older Blenders leave out exists: a renamed test would come back unnoticed."""

from pathlib import Path

import pytest

from tests.newest_only import BETWEEN, NEWEST_ONLY

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("pattern", [each for each in NEWEST_ONLY + BETWEEN if ".py" in each])
def test_every_pattern_names_tests(pattern: str) -> None:
    files, _, test = pattern.partition("::")
    found = [path for path in PROJECT.glob(files.split(".py")[0] + "*") if path.is_file()]
    beginning = test.replace("?", "*").split("*")[0]
    assert any(f"def {beginning}" in path.read_text(encoding="utf-8") for path in found)
