"""Fixtures of the tests of Setup Check: those of the tests on real bpy."""

from tests.blender.conftest import (
    Human,
    _annotations_read_once,
    _trees_built_once,
    addon,
    body_with_rig,
    empty_file,
    human,
    human_with_rig,
    whole_human,
    with_timers,
)

__all__ = [
    "Human",
    "_annotations_read_once",
    "_trees_built_once",
    "addon",
    "body_with_rig",
    "empty_file",
    "human",
    "human_with_rig",
    "whole_human",
    "with_timers",
]
