"""Fixtures on real bpy: an empty file, and the human with each of its rigs."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import holding
from dq_compensation.lifecycle.app_handlers import _has_window
from dq_compensation.viewport.gpu_objects import drawing_refusal
from human.model import HumanArrays, Rig
from tests.blender.command_runs import CommandLine, save_limb
from tests.blender.crowd_scenes import add_crowd
from tests.blender.enabled_scenes import enable, enabled_limb
from tests.blender.scene_builders import evaluated_positions
from tests.blender.take_scenes import playing_limb
from tests.human_body import HEAD_HANDS_AND_FEET, human_arrays
from tests.kept_files import Pair, new_file, new_file_with_human, trees_built_once
from tests.limb import build_limb
from tests.replaced_functions import replace_everywhere


@pytest.fixture
def empty_file() -> None:
    """A file with one empty scene."""
    new_file()


@pytest.fixture(scope="session", autouse=True)
def _held_answers_are_right() -> None:
    """Whatever an operation holds is compared with what there is, each time it is asked for."""
    holding.verifies = True


@pytest.fixture(scope="session", autouse=True)
def _trees_built_once() -> Iterator[None]:
    with trees_built_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _annotations_read_once() -> Iterator[None]:
    """Blender evaluates those of every class whenever it is registered: most of that time."""
    read_each_time = typing.get_type_hints
    typing.get_type_hints = functools.cache(read_each_time)
    yield
    typing.get_type_hints = read_each_time


@pytest.fixture
def addon(empty_file: None) -> Iterator[None]:
    """The add-on, registered in an empty file; afterwards Blender calls nothing of it any more."""
    dq_compensation.register()
    yield
    dq_compensation.unregister()
    assert not [
        f"{event}: {handler}"
        for event in dir(bpy.app.handlers)
        if isinstance(handlers := getattr(bpy.app.handlers, event), list)
        for handler in handlers
        if handler.__module__.startswith("dq_compensation")
    ]


@pytest.fixture
def with_viewport(with_timers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a session with a window: what has the GPU display is drawn by us."""
    replace_everywhere(monkeypatch, drawing_refusal, lambda: None)


@pytest.fixture
def with_timers(addon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a session with a window: what is dragged is looked at when it rests."""
    replace_everywhere(monkeypatch, _has_window, lambda: True)


@pytest.fixture
def command(addon: None, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line; Blender prints to the file descriptors."""
    return CommandLine(capfd)


@pytest.fixture
def limb(addon: None) -> bpy.types.Object:
    """The limb of `tests.limb`, enabled and at rest; its armature is its parent."""
    obj, _ = build_limb()
    enable(obj)
    return obj


@pytest.fixture
def posed_limb(addon: None) -> Pair:
    """The limb, posed and enabled, and its armature."""
    return enabled_limb()


@pytest.fixture
def limb_file(addon: None, tmp_path: Path) -> Path:
    """A file with a limb that moves; it is open."""
    return save_limb(tmp_path / "limb.blend")


@pytest.fixture
def limb_with_take(addon: None) -> Pair:
    """The limb, enabled and selected, with the take *Swing*, and its armature."""
    return playing_limb()


@pytest.fixture
def crowd(limb_with_take: Pair) -> bpy.types.Object:
    """Ten figures of the limb that play its take; selected and active."""
    return add_crowd()


@dataclass(frozen=True, eq=False)
class Human:
    """The skinned body in the scene, with the arrays that it was made from."""

    mesh_object: bpy.types.Object
    armature_object: bpy.types.Object
    arrays: HumanArrays

    def evaluated_positions(self) -> NDArray[np.float32]:
        """Shape (n, 3), object space: what Blender's own modifiers make of the body now."""
        bpy.context.view_layer.update()
        return evaluated_positions(self.mesh_object)


@pytest.fixture
def human_with_rig(empty_file: None) -> Callable[[Rig], Human]:
    """A function that reads a new file with the human on the rig of that name, head to toe."""
    return lambda rig: Human(*new_file_with_human(rig), human_arrays(rig))


@pytest.fixture
def body_with_rig(empty_file: None) -> Callable[[Rig], Human]:
    """The same without head, hands and feet, which have most of the vertices."""
    parts = HEAD_HANDS_AND_FEET
    return lambda rig: Human(*new_file_with_human(rig, parts), human_arrays(rig, parts))


@pytest.fixture
def whole_human(human_with_rig: Callable[[Rig], Human]) -> Human:
    """The human with its rig of 163 bones, up to 9 influences per vertex."""
    return human_with_rig("default")


@pytest.fixture
def human(body_with_rig: Callable[[Rig], Human]) -> Human:
    """The same without head, hands and feet."""
    return body_with_rig("default")
