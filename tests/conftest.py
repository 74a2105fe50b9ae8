"""What all tests share: a folder for what is made once, and what older Blenders need not repeat."""

import gc
import os
import signal
from fnmatch import fnmatch

import pytest

from tests.newest_only import BETWEEN, NEWEST_ONLY


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--older",
        action="store_true",
        help="leave out what runs on the newest Blender only: see tests/newest_only.py",
    )
    parser.addoption(
        "--between",
        action="store_true",
        help="run only what a Blender between the newest and the oldest has to repeat",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    between = config.getoption("--between")
    if not (between or config.getoption("--older")):
        return
    left_out = [
        item
        for item in items
        if item.get_closest_marker("newest_only")
        or _is_listed(item, NEWEST_ONLY)
        or (between and not _is_listed(item, BETWEEN))
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the collector what lives as long as the run: it took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000)


def _is_listed(item: pytest.Item, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(item.nodeid, pattern) for pattern in patterns)


@pytest.fixture(scope="session", autouse=True)
def _folder_of_kept_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """`tests.kept_files` puts its files here. `core` is tested without Blender: no bpy here."""
    os.environ.setdefault("DQC_KEPT_FILES", str(tmp_path_factory.mktemp("kept")))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """A shell starts what runs in the background with Ctrl C ignored; tests send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
