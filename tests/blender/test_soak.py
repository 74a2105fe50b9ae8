"""A short soak: `make soak` does thousands of actions."""

from __future__ import annotations

from tests.soak.soak import soak


def test_sixty_random_actions_leave_the_file_right(addon: None, empty_file: None) -> None:
    seen = soak(60, seed=1)
    assert seen.compared > 20
