"""Who may import whom, from the top down.

command_line -> ui -> panels and operators of the rooms, api -> pipeline, folds ->
setup_check, examples, motion_test, sample -> bake -> lifecycle -> viewport, modifier, softness ->
painting -> session -> scene -> analysis -> core.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from environments import PROJECT

PACKAGE = PROJECT / "dq_compensation"
FILES = sorted(PACKAGE.rglob("*.py"))

# A layer imports from layers of a smaller number, and from itself. Modules at the top of the
# package (the package itself) stand above all layers; those that know nothing of the rest are below
# all.
LAYERS: dict[str, int] = {
    "core": 0,
    "translations": 0,
    "analysis": 1,
    "scene": 2,
    "session": 3,
    "painting": 3,
    "softness": 4,
    "transfer": 5,
    "viewport": 4,
    "modifier": 4,
    "ui_shared": 4,
    "lifecycle": 5,
    "bake": 6,
    "setup_check": 7,
    "examples": 7,
    "motion_test": 7,
    "sample": 7,
    "folds": 8,
    "pipeline": 8,
    "api": 9,
    "ui": 10,
    "command_line": 11,
}
TOP = 12
BELOW_ALL = frozenset({"registration", "holding", "steps", "wording", "errors", "arrays"})
# A room that is a feature has its panel and its operators beside what they call. These files stand
# above all such rooms, and may use each other.
PANELS = 9
PANEL_FILES = frozenset({"panel", "operators"})
# Its command of the command line lies there, too.
COMMAND_FILE = "command"
# So that who knows one feature knows all, these files have the same names in each: what it shows,
# its buttons, the options of what it does, and its settings in the file.
FEATURE_FILES = PANEL_FILES | {"options", "settings"}

# What leaves Blender stands behind a wall: the rest works without it.
BEHIND_THE_WALL = "pipeline"
DOORS = frozenset({BEHIND_THE_WALL, "ui", "api", "command_line"})
# The files there that are mathematics, as all of `core` and `analysis` are.
MATHEMATICS = frozenset(
    (
        *("helper_bones", "helper_budget", "helper_fitting", "twist_bones"),
        *("corrective_joints", "pose_curves", "key_budget"),
        *("takes", "fitted_takes", "local_poses", "take_reduction"),
        *("crowds", "figure_bounds", "pose_choice"),
    )
)


def imports_of(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the level (0: absolute) and the dotted name of each import, names included.

    ``from ..scene import mesh`` gives (2, ("scene", "mesh")).
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            for alias in node.names:
                yield node.level, (*module, alias.name)


def resolved(path: Path, level: int, name: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name below the package that a relative import means."""
    folders = path.relative_to(PACKAGE).parts[:-1]
    up = level - 1
    assert up <= len(folders), f"{path}: the import leaves the package"
    return (*folders[: len(folders) - up], *name)


def imported_files(path: Path) -> Iterator[Path]:
    """Yield the files of the package that a file imports."""
    for level, name in imports_of(path):
        if level:
            target = PACKAGE.joinpath(*resolved(path, level, name))
            # The last name may be of what is in a module.
            found = (target.with_suffix(".py"), target.parent.with_suffix(".py"))
            yield from (each for each in found if each.is_file())


def layer_of(name: tuple[str, ...]) -> tuple[str, int]:
    if name[0] in BELOW_ALL:
        return name[0], -1
    if name[0] == BEHIND_THE_WALL and COMMAND_FILE in name[2:3]:
        return "command_line", LAYERS["command_line"]
    if name[0] != "ui" and PANEL_FILES & set(name[1:3]):
        return "panels", PANELS
    return name[0], LAYERS.get(name[0], TOP)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    own_name, own_layer = layer_of(parts)
    for level, name in imports_of(path):
        if level == 0:
            continue
        target = resolved(path, level, name)
        target_name, target_layer = layer_of(target)
        assert target_layer < own_layer or target_name == own_name or own_layer == TOP, (
            f"{'.'.join(parts)} must not import {'.'.join(target)}"
        )


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "setup_check" / "fixes").glob("*.py")), ids=lambda path: path.stem
)
def test_what_carries_fixes_out_knows_no_check(path: Path) -> None:
    targets = {resolved(path, level, name)[:2] for level, name in imports_of(path) if level}
    within = {name for folder, name in targets if folder == "setup_check"}
    assert within <= {"fixes", "issue", "subject"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_package_is_imported_relatively(path: Path) -> None:
    absolute = {name[0] for level, name in imports_of(path) if level == 0}
    assert not absolute & {"dq_compensation", "bl_ext"}


def test_the_rest_works_without_what_leaves_blender() -> None:
    """Only its doors import what stands behind the wall; there, only crowds import crowds."""
    for path in FILES:
        own = path.relative_to(PACKAGE).with_suffix("").parts
        for level, name in imports_of(path):
            target = resolved(path, level, name) if level else ()
            text = f"{'.'.join(own)} must not import {'.'.join(target)}"
            assert own[0] in DOORS or target[:1] != (BEHIND_THE_WALL,), text
            if own[0] == BEHIND_THE_WALL and own[1:2] != ("crowds",):
                assert target[:2] != (BEHIND_THE_WALL, "crowds"), text


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in FILES
        if path.relative_to(PACKAGE).parts[0] in {"core", "analysis"} or path.stem in MATHEMATICS
    ],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_mathematics_needs_numpy_and_the_standard_library_only(path: Path) -> None:
    absolute = {name[0] for level, name in imports_of(path) if level == 0}
    assert absolute <= sys.stdlib_module_names | {"numpy"}


def test_only_what_blender_bundles_is_imported_and_nothing_that_uses_a_network() -> None:
    absolute = {name[0] for path in FILES for level, name in imports_of(path) if level == 0}
    blender = {"bpy", "bmesh", "gpu", "gpu_extras", "blf", "mathutils", "bl_operators", "bl_ui"}
    blender |= {"rna_keymap_ui"}
    assert absolute <= sys.stdlib_module_names | blender | {"numpy"}
    network = {"asyncio", "ftplib", "http", "smtplib", "socket", "ssl", "urllib", "webbrowser"}
    assert not absolute & (network | {"subprocess", "pip", "ensurepip"})


def test_every_layer_is_where_the_rules_expect_it() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= set(LAYERS), "a new folder needs its layer here"
    assert {"core", "scene", "viewport", "ui"} <= folders


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in FILES}), ids=lambda path: path.name
)
def test_rooms_form_no_circle(folder: Path) -> None:
    """Files of a folder, and its folders as one room each."""

    def room_of(path: Path) -> str | None:
        return path.relative_to(folder).parts[0] if folder in path.parents else None

    below: dict[str, set[str]] = {}
    for path in FILES:
        room = room_of(path)
        if folder == PACKAGE and path.stem in {*PANEL_FILES, COMMAND_FILE}:
            continue
        if room is not None and path.name != "__init__.py":
            others = {room_of(each) for each in imported_files(path)} - {room, None}
            below.setdefault(room, set()).update(filter(None, others))
    # Raises CycleError, which names the rooms.
    assert len(list(TopologicalSorter(below).static_order())) >= len(below)


def test_a_folder_has_at_most_twenty_files() -> None:
    files = [path for path in FILES if path.name != "__init__.py"]
    counts = Counter(path.parent for path in (*files, *(PROJECT / "scripts").glob("*.py")))
    full = {folder.name for folder, count in counts.items() if count > 20}
    # What these hold is a list by itself: the mathematics, and the checks.
    assert full <= {"core", "checks"}


def test_no_file_name_stands_twice_but_for_those_of_features() -> None:
    names = [path.name for path in FILES if path.stem not in {"__init__", *FEATURE_FILES}]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def classes_in(path: Path) -> Iterator[ast.ClassDef]:
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    yield from (node for node in nodes if isinstance(node, ast.ClassDef))


@pytest.mark.parametrize(
    ("beginning", "stem"), [("DQC_OT_", "operators"), ("DQC_PT_", "panel"), ("DQC_UL_", "panel")]
)
def test_each_feature_has_its_operators_and_panels_in_files_of_these_names(
    beginning: str, stem: str
) -> None:
    features = [
        path for path in FILES if path.relative_to(PACKAGE).parts[0] not in {"ui", "ui_shared"}
    ]
    elsewhere = [
        f"{path.relative_to(PACKAGE)}: {each.name}"
        for path in features
        for each in classes_in(path)
        if each.name.startswith(beginning) and path.stem != stem
    ]
    assert elsewhere == []


def test_each_feature_has_the_options_of_what_it_does_in_a_file_of_this_name() -> None:
    elsewhere = [
        f"{path.relative_to(PACKAGE)}: {each.name}"
        for path in FILES
        for each in classes_in(path)
        if each.name.endswith("Options")
        and "frozen_values" in map(ast.unparse, each.decorator_list)
        and path.stem != "options"
    ]
    assert elsewhere == []


def test_a_file_has_one_subject() -> None:
    """Its docstring names it: no comment stands by itself, as the heading of a part."""
    headings = list[str]()
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        rows, nodes = [*text.splitlines(), ""], ast.parse(text).body
        inside = {row for node in nodes for row in range(node.lineno - 1, node.end_lineno or 0)}
        headings += [
            f"{path.relative_to(PACKAGE)}:{number + 1}"
            for number, row in enumerate(rows)
            if row.startswith("#") and number not in inside and not rows[number + 1].strip()
        ]
    assert not headings
