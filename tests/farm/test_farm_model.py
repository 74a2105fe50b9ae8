"""The model of a farm, against figures by hand."""

from __future__ import annotations

import pytest

from farm_model import Task, most_workers, plan

# 10 s of a core and 50 MB for each file.
TASK = Task("bake", 10.0, 50e6, 400e6)


@pytest.mark.parametrize(
    ("workers", "seconds", "limit"),
    [
        (1, 1000.0, "workers"),
        # 15 rounds of 7 tasks, the last one with 2.
        (7, 150.0, "workers"),
        # 100 files of 50 MB at 100 MB per second take 50 s, the computing 20 s.
        (50, 50.0, "disk"),
    ],
)
def test_the_slower_of_computing_and_writing_decides(
    workers: int, seconds: float, limit: str
) -> None:
    found = plan(TASK, 100, workers, 100e6)
    assert (found.seconds, found.limit) == (pytest.approx(seconds), limit)


def test_more_workers_than_files_do_not_help() -> None:
    assert plan(TASK, 10, 1000, 1e9) == plan(TASK, 10, 10, 1e9)
    assert plan(TASK, 10, 10, 1e9).limit == "files"


def test_the_disk_feeds_as_many_workers_as_it_has_bytes_for() -> None:
    # One worker moves 5 MB per second.
    assert most_workers(TASK, 100e6) == pytest.approx(20.0)
