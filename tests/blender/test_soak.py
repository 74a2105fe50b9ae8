"""A short soak: `make soak` does thousands of actions."""

from __future__ import annotations

import bpy
import pytest

from tests.soak.addon_actions import EXCUSED, OPERATORS
from tests.soak.soak import soak

pytestmark = pytest.mark.usefixtures("addon")


def test_sixty_random_actions_leave_the_file_right() -> None:
    seen = soak(60, seed=1)
    assert seen.compared > 20


def test_each_operator_is_an_action_or_has_an_excuse() -> None:
    registered = {name for name in dir(bpy.ops.dqc) if not name.startswith("_")}
    assert registered == OPERATORS.keys() | EXCUSED.keys()
    assert not OPERATORS.keys() & EXCUSED.keys()
