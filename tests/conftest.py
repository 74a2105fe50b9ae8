"""What all tests share: a folder for what is made once, and what older Blenders need not repeat."""

import gc
import os
import signal
from fnmatch import fnmatch

import pytest

from tests.newest_only import NEWEST_ONLY, NOT_BETWEEN


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--older",
        action="store_true",
        help="leave out what runs on the newest Blender only: see tests/newest_only.py",
    )
    parser.addoption(
        "--between",
        action="store_true",
        help="leave out what runs on the newest and the oldest Blender only, too",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    between = config.getoption("--between")
    if not (between or config.getoption("--older")):
        return
    patterns = NEWEST_ONLY + (NOT_BETWEEN if between else ())
    left_out = [item for item in items if _is_left_out(item, patterns)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the collector what lives as long as the run: it took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000)


def _is_left_out(item: pytest.Item, patterns: tuple[str, ...]) -> bool:
    listed = any(fnmatch(item.nodeid, pattern) for pattern in patterns)
    return listed or item.get_closest_marker("newest_only") is not None


@pytest.fixture(scope="session", autouse=True)
def _folder_of_kept_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """`tests.kept_files` puts its files here. `core` is tested without Blender: no bpy here."""
    os.environ.setdefault("DQC_KEPT_FILES", str(tmp_path_factory.mktemp("kept")))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """A shell starts what runs in the background with Ctrl C ignored; tests send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
