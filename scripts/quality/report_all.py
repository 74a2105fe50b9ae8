"""How good each method is: cylinders, humans in poses and in clothes, other characters.

make quality        or        .venv-5.2/bin/python scripts/run.py quality.report_all

Compared are the methods of DQ Compensation, Blender's Armature modifier, and three published
methods, two as reference code here and one of libigl; and the default look with what it replaces,
on a hundred characters that are generated. `build/quality/` gets the tables, all figures as CSV,
and plots. A figure that misses its target has a star; then the exit status is 1.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

import dq_compensation
from dq_compensation.core.pose import Pose
from dq_compensation.core.vectors import extent
from environments import PROJECT
from human.model import RIGS, Rig
from leaving import leave
from quality import delta_mush
from quality.body import Body
from quality.characters import CHARACTERS
from quality.clothes import ClothesRow, clothes_of, clothes_table
from quality.cylinders import MOTIONS, SHAPES, WIDTHS, Cylinder
from quality.default_look import Compared, kinds_table, of_numbers, write_rows
from quality.human import Human
from quality.measures import Figures
from quality.methods import (
    BLENDERS,
    CORRECTIVE_SMOOTH,
    Array,
    BlenderBody,
    deformers,
    installed_deformers,
    soft_deformers,
)
from quality.plots import write_plots
from quality.poses import MeasuredPose, everyday_bends, range_of_motion
from quality.report import (
    CYLINDERS,
    HUMAN,
    Row,
    as_markdown,
    characters_table,
    pose_table,
    table,
    write_csv,
)
from quality.targets import Checked, check, check_clothes, check_default_look, worst_of_each

FOLDER = PROJECT / "build" / "quality"

# The characters that are generated; tests have the first twenty.
GENERATED = range(100)

# What a part of the report finds: its rows, and how far Blender's modifier is from our methods, in
# sizes of the body.
Found = tuple[list[Row], dict[str, float]]
Measure = Callable[[Array], Figures]


class _Bodies:
    """A body with every method, and what is found with it."""

    def __init__(self, body: Body) -> None:
        self._methods = deformers(body) | soft_deformers(body) | installed_deformers(body)
        self._blender = BlenderBody.of(body)
        self._size = extent(body.rest)
        self.differences: dict[str, float] = defaultdict(float)

    def figures(self, pose: Pose, measure: Measure) -> dict[str, Figures]:
        """The figures of each method in a pose."""
        found = {name: deform(pose) for name, deform in self._methods.items()}
        for preserve_volume, name in BLENDERS.items():
            by_blender = self._blender.deform(pose, preserve_volume)
            difference = float(np.abs(by_blender - found[name]).max()) / self._size
            self.differences[name] = max(self.differences[name], difference)
        found[CORRECTIVE_SMOOTH] = self._blender.deform(pose, True, smooth=True)
        return {name: measure(deformed) for name, deformed in found.items()}


def of_cylinders(shape: str) -> Found:
    """One shape with every width, in every motion, by every method."""
    rows, differences = [], {}
    for width in WIDTHS:
        cylinder = Cylinder.of(SHAPES[shape], width)
        bodies = _Bodies(cylinder.body)
        for motion in MOTIONS:
            measure = partial(cylinder.measure, motion=motion)
            figures = bodies.figures(cylinder.pose(motion), measure)
            title = f"c {width}, {motion.title}"
            rows += [
                Row("cylinder", shape, title, motion.kind, motion.bend, name, found)
                for name, found in figures.items()
            ]
        differences = _larger(differences, bodies.differences)
    return rows, differences


def of_human(rig: str) -> Found:
    """The human with one rig, in every pose, by every method."""
    rig = cast("Rig", rig)
    rows, human = [], Human.with_rig(rig)
    bodies = _Bodies(human)
    for each in (*range_of_motion(rig), *everyday_bends(rig)):
        measured = MeasuredPose(human, each)
        rows += [
            Row("human", rig, each.joint_pose.title, each.kind, 0.0, name, found)
            for name, found in bodies.figures(measured.pose, measured.measure).items()
        ]
    return rows, dict(bodies.differences)


def of_character(name: str) -> Found:
    """A character unlike the human, in its poses, by every method."""
    body, poses = CHARACTERS[name]()
    bodies = _Bodies(body)
    rows = [
        Row("character", name, each.title, "hinge", 0.0, method, found)
        for each in poses
        for method, found in bodies.figures(each.pose, each.measure).items()
    ]
    return rows, dict(bodies.differences)


def _larger(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: max(one.get(name, 0.0), value) for name, value in other.items()}


def find_all(progress: Callable[[str], None]) -> Found:
    """Every row of the report."""
    rows, differences = [], {}
    parts = [(of_human, rig) for rig in RIGS] + [(of_cylinders, shape) for shape in SHAPES]
    parts += [(of_character, name) for name in CHARACTERS]
    for number, (find, name) in enumerate(parts, 1):
        progress(f"[{number}/{len(parts)}] {name}")
        some, others = find(name)
        rows += some
        differences = _larger(differences, others)
    return rows, differences


def targets_table(checked: Sequence[Checked]) -> list[list[str]]:
    """The worst figure of each target."""
    lines = [["target", "limit", "worst", "where"]]
    for each in worst_of_each(checked):
        value = f"{each.value:.3g}{' *' if each.missed else ''}"
        lines.append([each.target, f"{each.limit:.3g}", value, each.where])
    return lines


def text_of(
    rows: Sequence[Row],
    clothes: Sequence[ClothesRow],
    compared: Sequence[Compared],
    checked: Sequence[Checked],
) -> str:
    """The whole report as Markdown."""
    missed = [each for each in checked if each.missed]
    parts = [
        "# Quality",
        "## Bent and twisted cylinders, bends to 120 degrees; % of the radius, volume in %",
        as_markdown(table(rows, CYLINDERS)),
        "## Human, three rigs, 24 poses; bulge and dent in % of the limb's radius",
        as_markdown(table(rows, HUMAN)),
        "## Stretch in each pose of the human, mean of the rigs",
        as_markdown(pose_table(rows, "stretch")),
        "## Other characters: bulge and dent, % of the radius",
        as_markdown(characters_table(rows)),
        "## Skin that comes through clothes: vertices; the farthest",
        as_markdown(clothes_table(clothes)),
        "## The default look on generated characters",
        as_markdown(kinds_table(compared)),
        "## Targets",
        as_markdown(targets_table(checked)),
        f"{len(missed)} of {len(checked)} figures miss their target.",
        *(
            f"* {each.target}: {each.where}: {each.value:.3g}, limit {each.limit:.3g}"
            for each in missed
        ),
    ]
    return "\n\n".join(parts)


def main() -> int:
    start = time.monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not delta_mush.is_installed():
        print(delta_mush.MISSING, flush=True)
    rows, differences = find_all(lambda line: print(line, flush=True))
    print("clothes", flush=True)
    dq_compensation.register()
    clothes = [row for rig in RIGS for row in clothes_of(rig)]
    print("generated characters", flush=True)
    compared = of_numbers(GENERATED, lambda line: print(line, flush=True))
    checked = [*check(rows, differences), *check_clothes(clothes), *check_default_look(compared)]
    text = text_of(rows, clothes, compared, checked)
    (FOLDER / "quality.md").write_text(text + "\n", encoding="utf-8")
    write_csv(rows, FOLDER / "quality.csv")
    write_rows(compared, FOLDER / "generated.csv")
    plots = write_plots(rows, FOLDER)
    print(text)
    print(f"\n{time.monotonic() - start:.0f} s. To look at:")
    for path in (FOLDER / "quality.md", FOLDER / "quality.csv", FOLDER / "generated.csv", *plots):
        print(f"  {path.relative_to(PROJECT)}")
    return int(any(each.missed for each in checked))


if __name__ == "__main__":
    leave(main())
