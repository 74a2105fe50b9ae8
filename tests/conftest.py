"""What all tests share: a folder for what is made once, and what older Blenders need not repeat."""

import os
from fnmatch import fnmatch

import pytest

from tests.newest_only import NEWEST_ONLY


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--older",
        action="store_true",
        help="leave out what runs on the newest Blender only: see tests/newest_only.py",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--older"):
        return
    left_out = [item for item in items if _is_for_the_newest(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def _is_for_the_newest(item: pytest.Item) -> bool:
    listed = any(fnmatch(item.nodeid, pattern) for pattern in NEWEST_ONLY)
    return listed or item.get_closest_marker("newest_only") is not None


@pytest.fixture(scope="session", autouse=True)
def _folder_of_kept_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """`tests.kept_files` puts its files here. `core` is tested without Blender: no bpy here."""
    os.environ.setdefault("DQC_KEPT_FILES", str(tmp_path_factory.mktemp("kept")))
