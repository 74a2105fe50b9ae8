"""README's pictures: what is on which side."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from demos import motion, softened
from demos.before_after import CELL_HEIGHT, CELL_WIDTH, close_ups, save, sheet
from human.model import load_human_arrays


def test_before_is_on_the_left_and_after_on_the_right_at_the_same_places() -> None:
    labels = [label for label, *_ in close_ups()]
    halves = [
        [Image.new("RGB", (CELL_WIDTH, CELL_HEIGHT), (half, 0, 50 * cell)) for cell in range(4)]
        for half in (100, 200)
    ]
    page = sheet(labels, halves)
    # As the page of the extension wants it.
    assert page.size == (1920, 1080)
    columns = (240, 708, 1212, 1680)
    for row, y in enumerate((315, 810)):
        found = [page.getpixel((x, y)) for x in columns]
        cells = [2 * row, 2 * row + 1]
        assert found == [(half, 0, 50 * cell) for half in (100, 200) for cell in cells]


def test_every_close_up_is_of_bones_that_the_human_has() -> None:
    names = set(load_human_arrays("default").names)
    for _, pose, _ in close_ups():
        assert {pose.joint, pose.parent, *pose.rotations} <= names


def test_soft_weights_are_below_what_they_are_compared_with() -> None:
    wanted = softened.close_ups()
    rows = [
        [Image.new("RGB", (CELL_WIDTH, CELL_HEIGHT), (row, 0, 50 * cell)) for cell in range(4)]
        for row in (100, 200)
    ]
    page = softened.sheet([label for label, *_ in wanted], rows)
    assert page.size == (1920, 1080)
    for y, row in ((300, 100), (810, 200)):
        found = [page.getpixel((x, y)) for x in (255, 723, 1191, 1659)]
        assert found == [(row, 0, 50 * cell) for cell in range(4)]
    names = set(load_human_arrays(softened.RIG).names)
    for _, pose, _ in wanted:
        assert {pose.joint, pose.parent, *pose.rotations} <= names


def test_the_animation_goes_there_and_back_with_a_column_for_each_method() -> None:
    size = (motion.CELL_WIDTH, motion.CELL_HEIGHT)
    columns = [
        [
            [Image.new("RGB", size, (50 * method, 100 * joint, 20 * step)) for step in range(11)]
            for joint in range(len(motion.JOINTS))
        ]
        for method in range(len(motion.METHODS))
    ]
    pages, durations = motion.animation(columns)
    assert len(pages) == len(durations) == 20
    steps = [page.getpixel((100, 200))[2] // 20 for page in pages]  # type: ignore[index]
    assert steps == [*range(11), *range(9, 0, -1)]
    # Longest where it is bent most, and at rest.
    assert [step for step, shown in zip(steps, durations, strict=True) if shown > 100] == [0, 10]
    found = [[pages[0].getpixel((100 + 314 * m, 200 + 278 * j)) for m in range(4)] for j in (0, 1)]
    assert found == [[(50 * m, 100 * j, 0) for m in range(4)] for j in (0, 1)]
    names = set(load_human_arrays(softened.RIG).names)
    assert {name for joint, parent, *_ in motion.JOINTS for name in (joint, parent)} <= names


def test_a_picture_for_the_manual_is_two_thirds_of_that_of_the_listing(tmp_path: Path) -> None:
    page = Image.new("RGB", (1920, 1080), (200, 0, 0))
    save(page, tmp_path / "new" / "picture.jpg")
    save(page, tmp_path / "shown.jpg", in_listing=True)
    found = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.jpg")}
    assert {name: Image.open(path).size for name, path in found.items()} == {
        "new/picture.jpg": (1280, 720),
        "shown.jpg": (1280, 720),
        "listing/shown.jpg": (1920, 1080),
    }
