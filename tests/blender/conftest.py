"""Fixtures on real bpy: an empty file, and the human with each of its rigs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

import dq_compensation
from dq_compensation.lifecycle import enabling
from human_model import HumanArrays, Rig, build_human, load_human_arrays


@pytest.fixture
def empty_file() -> None:
    """A file with one empty scene."""
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.fixture
def addon(empty_file: None) -> Iterator[None]:
    """The add-on, registered in an empty file."""
    dq_compensation.register()
    yield
    dq_compensation.unregister()


@pytest.fixture
def with_viewport(addon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a session with a window: what has the GPU display is drawn by us."""
    monkeypatch.setattr(enabling, "drawing_refusal", lambda: None)


@dataclass(frozen=True, eq=False)
class Human:
    """The skinned body in the scene, with the arrays that it was made from."""

    mesh_object: bpy.types.Object
    armature_object: bpy.types.Object
    arrays: HumanArrays

    def evaluated_positions(self) -> NDArray[np.float32]:
        """Shape (n, 3), object space: what Blender's own modifiers make of the body now."""
        bpy.context.view_layer.update()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        mesh = self.mesh_object.evaluated_get(depsgraph).data
        positions = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.attributes["position"].data.foreach_get("vector", positions)
        return positions.reshape(-1, 3)


@pytest.fixture
def human_with_rig(
    empty_file: None, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Rig], Human]:
    """A function that adds the human with the rig of that name to the empty file.

    It is built once and kept in a file: to append it takes a third of the time. Blender 4.2 may
    crash in a later reset then.
    """

    def build(rig: Rig) -> Human:
        path = tmp_path_factory.getbasetemp() / f"human_{rig}.blend"
        if bpy.app.version < (4, 5):
            objects = build_human(rig)
        elif path.exists():
            objects = _appended(path)
        else:
            objects = build_human(rig)
            bpy.data.libraries.write(str(path), set(objects))
        return Human(*objects, _arrays(rig))

    return build


def _appended(path: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The mesh object and the armature object of a file, in the scene as `build_human` has them."""
    with bpy.data.libraries.load(str(path)) as (_, wanted):
        wanted.objects = ["Human", "Human Rig"]
    body, rig = wanted.objects
    for obj in (rig, body):
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = rig
    for library in list(bpy.data.libraries):
        bpy.data.libraries.remove(library)
    return body, rig


@cache
def _arrays(rig: Rig) -> HumanArrays:
    return load_human_arrays(rig)


@pytest.fixture
def human(human_with_rig: Callable[[Rig], Human]) -> Human:
    """The human with its rig of 163 bones, up to 9 influences per vertex."""
    return human_with_rig("default")
