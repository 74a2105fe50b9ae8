"""README's pictures: what is on which side."""

from __future__ import annotations

from PIL import Image

from demos import softened
from demos.before_after import CELL_HEIGHT, CELL_WIDTH, close_ups, sheet
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
