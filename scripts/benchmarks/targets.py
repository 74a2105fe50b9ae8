"""Passes what a benchmark measured against its targets on to `benchmark.py`, which sums it up."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

# The environment variable that names the file, one JSON object a line.
RESULTS_VARIABLE = "DQC_BENCHMARK_RESULTS"


@dataclass(frozen=True)
class Result:
    """One row with a target: the smaller the measured number, the better.

    Attributes:
        row: of the table.
        measured: in the unit of the target.
        target: at most this much.
        unit: of both; empty for a ratio.
    """

    row: str
    measured: float
    target: float
    unit: str = ""

    @property
    def missed(self) -> bool:
        """Whether more was measured than the target allows."""
        return self.measured > self.target


def record(row: str, measured: float, target: float, unit: str = "") -> None:
    """Note a row that has a target; does nothing in a benchmark that is run by itself."""
    path = os.environ.get(RESULTS_VARIABLE)
    if path:
        with Path(path).open("a", encoding="utf-8") as results:
            results.write(json.dumps(asdict(Result(row, measured, target, unit))) + "\n")


def recorded(path: Path) -> list[Result]:
    """What the benchmarks have noted in that file."""
    return [Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
