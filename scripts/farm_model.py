"""A small model of a farm: how long many files take on some workers, and what holds them up.

Every file costs the same, and no worker waits for another one but at the shared disk. What engines
add for themselves (seconds between two tasks, machines that start) is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Task:
    """What one file costs.

    Attributes:
        seconds: of one core.
        transferred: bytes that are read from and written to the shared disk.
        memory: bytes at most.
    """

    name: str
    seconds: float
    transferred: float
    memory: float


@dataclass(frozen=True)
class Plan:
    """How long a job takes.

    Attributes:
        seconds: from the first task to the last.
        limit: what decides: "workers", "disk", or "files" when there are more workers than those.
    """

    seconds: float
    limit: str


def plan(task: Task, files: int, workers: int, bandwidth: float) -> Plan:
    """How long so many files take.

    Args:
        workers: tasks that run at once, each on a core of its own.
        bandwidth: of the shared disk, bytes per second, for all workers together.
    """
    rounds = ceil(files / workers)
    computing = rounds * task.seconds
    transferring = files * task.transferred / bandwidth
    if transferring > computing:
        return Plan(transferring, "disk")
    return Plan(computing, "files" if rounds == 1 else "workers")


def most_workers(task: Task, bandwidth: float) -> float:
    """How many workers the shared disk feeds; more of them wait for it."""
    return bandwidth * task.seconds / task.transferred
