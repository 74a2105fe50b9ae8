"""The rows of the quality report, its tables and its CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from quality.measures import Figures

# What the tables show, and by which names. Other published curves are in the CSV alone.
SHOWN = {
    "LINEAR": "Linear (Armature modifier)",
    "DUAL_QUATERNION": "Dual Quaternion (Preserve Volume)",
    "CORRECTIVE_SMOOTH": "Preserve Volume, Corrective Smooth",
    "MEASURED": "Compensated, Measured",
    "BALL_JOINTS": "Compensated, Measured, Ball Joints",
    "SOFTENED": "the same, softened",
    "SOFTENED_4": "softened, 4 influences",
    "FITTED": "Compensated, Fitted",
    "SPHERICAL_JOINT": "Spherical Joint",
    "KH14": "Bulging-free [KH14]",
    "LH16": "Centres of rotation [LH16]",
    "LL19": "Direct delta mush [LL19]",
}

# Beyond, nobody bends a cylinder: limbs of flesh touch each other.
MOST_BEND = 120.0


@dataclass(frozen=True)
class Row:
    """What one method makes of one body in one pose.

    Attributes:
        subject: `cylinder`, `human` or `character`.
        body: the shape of the cylinder, the rig, or the character.
        pose: for the table.
        kind: of the motion or of the joint.
        bend: of a cylinder, degrees; 0 for others.
        method: a key of `quality.methods`.
    """

    subject: str
    body: str
    pose: str
    kind: str
    bend: float
    method: str
    figures: Figures


@dataclass(frozen=True)
class Column:
    """A column of the main table: one figure of some rows, summed up.

    Attributes:
        relative: whether 100 is what LINEAR has.
    """

    title: str
    subject: str
    kinds: tuple[str, ...]
    figure: str
    sum_up: Callable[[Sequence[float]], float]
    relative: bool = False

    def value(self, rows: Sequence[Row], method: str) -> float:
        """The entry of a method."""
        found = self._sum(rows, method)
        return 100.0 * found / self._sum(rows, "LINEAR") if self.relative else found

    def _sum(self, rows: Sequence[Row], method: str) -> float:
        values = [
            getattr(row.figures, self.figure)
            for row in rows
            if row.subject == self.subject
            and row.kind in self.kinds
            and row.method == method
            and row.bend <= MOST_BEND
        ]
        return float(self.sum_up([value for value in values if not math.isnan(value)]))


# The kinds of the 24 poses of the human.
RANGE = ("hinge", "ball joint", "twist")
_BENDS = ("bend", "bend and twist")
CYLINDERS = (
    Column("bulge, worst", "cylinder", ("bend",), "bulge", max),
    Column("dent, worst", "cylinder", ("bend",), "dent", max),
    Column("rms, mean", "cylinder", ("bend",), "rms", np.mean),
    Column("with twist: bulge", "cylinder", ("bend and twist",), "bulge", max),
    Column("dent", "cylinder", ("bend and twist",), "dent", max),
    Column("volume, least", "cylinder", _BENDS, "volume", min),
    Column("twist radius, least", "cylinder", ("twist",), "twist_radius", min),
    Column("stretch (Linear 100)", "cylinder", _BENDS, "stretch", sum, relative=True),
)
HUMAN = (
    Column("elbow, knee: bulge", "human", ("hinge",), "bulge", max),
    Column("dent", "human", ("hinge",), "dent", max),
    Column("stretch: hinges (Linear 100)", "human", ("hinge",), "stretch", sum, relative=True),
    Column("ball joints", "human", ("ball joint",), "stretch", sum, relative=True),
    Column("twists", "human", ("twist",), "stretch", sum, relative=True),
    Column("twist volume, mean", "human", ("twist",), "volume", np.mean),
    Column("twist radius, least", "human", ("twist",), "twist_radius", min),
    Column("roughness, mean", "human", RANGE, "roughness", np.mean),
    Column("crossings", "human", RANGE, "crossings", sum),
)


def _shown(rows: Sequence[Row]) -> dict[str, str]:
    """What the tables show of these rows: what is not installed has none."""
    there = {row.method for row in rows}
    return {method: title for method, title in SHOWN.items() if method in there}


def table(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[str]]:
    """The head and a line for each method that is shown."""
    lines = [["method", *(column.title for column in columns)]]
    for method, title in _shown(rows).items():
        values = (column.value(rows, method) for column in columns)
        lines.append([title, *(_number(value) for value in values)])
    return lines


def pose_table(rows: Sequence[Row], figure: str) -> list[list[str]]:
    """A line for each pose of the human: one figure by each method, the mean of the rigs."""
    human = [row for row in rows if row.subject == "human"]
    shown = _shown(human)
    lines = [["pose", *shown.values()]]
    for pose in dict.fromkeys(row.pose for row in human):
        means = (
            np.mean(
                [
                    getattr(row.figures, figure)
                    for row in human
                    if row.pose == pose and row.method == method
                ]
            )
            for method in shown
        )
        lines.append([pose, *(_number(float(mean)) for mean in means)])
    return lines


def characters_table(rows: Sequence[Row]) -> list[list[str]]:
    """A line for each character: the worst bulge and dent by each method."""
    of_characters = [row for row in rows if row.subject == "character"]
    shown = _shown(of_characters)
    lines = [["character", *shown.values()]]
    for body in dict.fromkeys(row.body for row in of_characters):
        cells = []
        for method in shown:
            figures = [r.figures for r in of_characters if (r.body, r.method) == (body, method)]
            worst = (max(getattr(each, name) for each in figures) for name in ("bulge", "dent"))
            cells.append(" / ".join(map(_number, worst)))
        lines.append([body, *cells])
    return lines


def as_markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown, whose columns are as wide as their entries."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join((padded[0], rule, *padded[1:]))


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Every figure of every row."""
    head = [field.name for field in fields(Row)][:-1] + [field.name for field in fields(Figures)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for row in rows:
            *labels, _ = (getattr(row, field.name) for field in fields(Row))
            writer.writerow([*labels, *(f"{value:.5g}" for value in astuple(row.figures))])


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
