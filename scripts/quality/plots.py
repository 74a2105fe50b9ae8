"""The plots of the quality report: sections of a bent cylinder, bulge by angle, and the human.

matplotlib is a development package. Colours are those of Okabe and Ito, which all eyes tell apart.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quality.cylinders import DEGREES, SHAPES, WIDTHS, Cylinder, Motion
from quality.methods import deformers
from quality.report import HUMAN, Column, Row

Array = NDArray[np.float64]

# Method: its name in plots, its colour.
_STYLES = {
    "LINEAR": ("Linear", "#56b4e9"),
    "DUAL_QUATERNION": ("Dual Quaternion", "#e69f00"),
    "BALL_JOINTS": ("DQ Compensation", "#009e73"),
    "KH14": ("Bulging-free [KH14]", "#cc79a7"),
    "LH16": ("Centres of rotation [LH16]", "#0072b2"),
}
# On the human also Blender's own remedy, and weights that were softened.
_ON_HUMAN = {
    "LINEAR": _STYLES["LINEAR"],
    "DUAL_QUATERNION": _STYLES["DUAL_QUATERNION"],
    "CORRECTIVE_SMOOTH": ("and Corrective Smooth", "#f0c869"),
    "BALL_JOINTS": _STYLES["BALL_JOINTS"],
    "SOFTENED": ("and soft weights", "#00533c"),
    "KH14": _STYLES["KH14"],
    "LH16": _STYLES["LH16"],
}
_INK, _QUIET = "#333333", "#888888"
_SECTION_WIDTH, _SECTION_BEND = 0.63, 90.0
_DOTS_PER_INCH = 110


def write_plots(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write the plots as PNG files and return their paths."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    pyplot.rcParams.update(
        {
            "font.size": 12,
            "text.color": _INK,
            "axes.labelcolor": _INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": _QUIET,
            "xtick.color": _QUIET,
            "ytick.color": _QUIET,
        }
    )
    paths = []
    for name, draw in (
        ("quality_sections.png", lambda: _sections(pyplot)),
        ("quality_bulge.png", lambda: _bulges(pyplot, rows)),
        ("quality_human.png", lambda: _human(pyplot, rows)),
    ):
        figure = draw()
        paths.append(folder / name)
        figure.savefig(paths[-1], dpi=_DOTS_PER_INCH, facecolor="white")
        pyplot.close(figure)
    return paths


def _sections(pyplot: Any) -> Any:
    """A cylinder bent by 90 degrees, cut along the plane of the bend."""
    cylinder = Cylinder.of(SHAPES["round"], _SECTION_WIDTH)
    pose = cylinder.pose(Motion(_SECTION_BEND, 0.0))
    methods = deformers(cylinder.body)
    figure, axes = pyplot.subplots(1, len(_STYLES), figsize=(12.0, 3.4), layout="constrained")
    outer, inner = _ideal_section()
    for axis, (method, (title, colour)) in zip(axes, _STYLES.items(), strict=True):
        section = _section(cylinder, methods[method](pose))
        axis.fill(*section.T, color=colour, alpha=0.85, linewidth=0)
        for line in (outer, inner):
            axis.plot(*line.T, color=_INK, linewidth=1.6, linestyle=(0, (4, 2)))
        axis.set(aspect="equal", xlim=(-1.5, 2.6), ylim=(-2.6, 1.5), xticks=[], yticks=[])
        axis.set_title(title, fontsize=12)
        axis.spines[:].set_visible(False)
    figure.supxlabel("A limb bent by 90°. Dashed: the ideal, as thick as at rest.", fontsize=12)
    return figure


def _section(cylinder: Cylinder, deformed: Array) -> Array:
    """The outline (m, 2) in the plane of the bend: up the outer side, down the inner one."""
    columns = int(np.argmax(cylinder.body.rest[:, 2] > cylinder.body.rest[0, 2]))
    grid = deformed.reshape(-1, columns, 3)[:, :, [0, 2]]
    return np.concatenate((grid[:, columns // 2], grid[::-1, 0]))


def _ideal_section() -> tuple[Array, Array]:
    """The outer and the inner line of two capsules that share the joint."""
    far = 6.0
    turned = np.radians(np.linspace(180.0, 90.0, 24))
    arc = np.stack((np.cos(turned), np.sin(turned)), axis=1)
    return np.concatenate(([[-1.0, -far]], arc, [[far, 1.0]])), np.array(
        [[1.0, -far], [1.0, -1.0], [far, -1.0]]
    )


def _bulges(pyplot: Any, rows: Sequence[Row]) -> Any:
    """Bulge above, dent below, by the angle of the bend; a panel for each width."""
    figure, axes = pyplot.subplots(
        1, len(WIDTHS), figsize=(12.0, 4.0), sharey=True, layout="constrained"
    )
    for axis, width in zip(axes, WIDTHS, strict=True):
        for method, (title, colour) in _STYLES.items():
            found = [_bend(rows, method, width, angle) for angle in DEGREES]
            # Ours and [KH14] are 0: one line lies on the other.
            line, order = {"BALL_JOINTS": (6.0, 3), "KH14": (2.2, 4)}.get(method, (2.2, 2))
            style: dict[str, Any] = {"color": colour, "linewidth": line, "zorder": order}
            bulge = [row.figures.bulge for row in found]
            dent = [-row.figures.dent for row in found]
            axis.plot(DEGREES, bulge, label=title, **style)
            if min(dent) < -1.0:
                axis.plot(DEGREES, dent, linestyle=(0, (3, 1.5)), **style)
        axis.axhline(0.0, color=_QUIET, linewidth=0.8, zorder=1)
        axis.set_title(f"weights {width:g} radii wide", fontsize=13)
        axis.set(xticks=DEGREES, xticklabels=[f"{angle:.0f}°" for angle in DEGREES])
    axes[0].set_ylabel("too thin  ←  % of the radius  →  too thick")
    axes[0].set_ylim(-45.0, 32.0)
    handles, titles = axes[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=5, frameon=False)
    return figure


def _bend(rows: Sequence[Row], method: str, width: float, angle: float) -> Row:
    title = f"c {width}, {Motion(angle, 0.0).title}"
    return next(
        row
        for row in rows
        if (row.subject, row.body, row.pose, row.method) == ("cylinder", "round", title, method)
    )


def _human(pyplot: Any, rows: Sequence[Row]) -> Any:
    """Six figures of the human, less is better."""
    columns = {column.title: column for column in HUMAN}
    panels: tuple[tuple[str, Callable[[str], float]], ...] = (
        (
            "Bulge of elbows and knees\n% of the limb's radius",
            _of(columns["elbow, knee: bulge"], rows),
        ),
        ("Dent of elbows and knees\n% of the limb's radius", _of(columns["dent"], rows)),
        ("Hand twisted by 90°\n% of the volume lost", lambda m: _volume_lost(rows, m)),
        (
            "Stretch of elbows, knees, wrists\nLinear is 100",
            _of(columns["stretch: hinges (Linear 100)"], rows),
        ),
        ("Stretch of shoulders, hips, feet\nLinear is 100", _of(columns["ball joints"], rows)),
        ("Skin that passes through itself\npairs of triangles", _of(columns["crossings"], rows)),
    )
    figure, grid = pyplot.subplots(
        2, len(panels) // 2, figsize=(12.0, 6.4), sharey=True, layout="constrained"
    )
    axes = grid.ravel()
    places = np.arange(len(_ON_HUMAN))
    for axis, (heading, value_of) in zip(axes, panels, strict=True):
        values = [value_of(method) for method in _ON_HUMAN]
        bars = axis.barh(places, values, color=[colour for _, colour in _ON_HUMAN.values()])
        axis.bar_label(bars, [f"{value:.0f}" for value in values], padding=4, color=_INK)
        axis.set_title(heading, fontsize=12)
        axis.set(xticks=[], xlim=(0.0, 1.2 * max(values)))
        axis.spines["bottom"].set_visible(False)
        axis.tick_params(left=False, labelcolor=_INK)
    axes[0].set_yticks(places, [title for title, _ in _ON_HUMAN.values()])
    axes[0].invert_yaxis()
    return figure


def _of(column: Column, rows: Sequence[Row]) -> Callable[[str], float]:
    return lambda method: column.value(rows, method)


def _volume_lost(rows: Sequence[Row], method: str) -> float:
    volumes = [
        row.figures.volume for row in rows if row.pose == "hand twisted 90" and row.method == method
    ]
    return 100.0 - float(np.mean(volumes))
