"""The colours of *Weights from Body* on clothes, as long as its options can be adjusted."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.analysis.weights_from_body import Source
from dq_compensation.scene.kept_weights import BEFORE_BODY, keep_weights
from dq_compensation.session.memory import memory_of
from dq_compensation.transfer import source_colours
from dq_compensation.transfer.body_weights import ShownSources
from dq_compensation.transfer.source_colours import draw, is_adjusted
from dq_compensation.viewport.draw_handler import is_visible
from tests.gpu.regions import picture, region
from tests.limb import build_limb, pose_limb
from tests.replaced_functions import replace_everywhere

# World Z up on the screen, seen along +Y, three units wide.
FRONT = Matrix(((1, 0, 0, -0.75), (0, 0, 1, 0), (0, -1, 0, -4), (0, 0, 0, 1)))
ORTHOGRAPHIC = Matrix(np.diag([1.0 / 1.5, 1.0 / 1.5, -0.1, 1.0]).tolist())


def shown() -> NDArray[np.float32]:
    bpy.context.view_layer.update()
    return picture(FRONT, ORTHOGRAPHIC, draw)


def test_they_follow_the_pose_and_end_when_the_weights_are_put_back(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, rig = build_limb()
    replace_everywhere(monkeypatch, is_visible, lambda obj, _: obj.visible_get())
    replace_everywhere(monkeypatch, is_adjusted, lambda _: True)
    context = region(monkeypatch)
    monkeypatch.setattr(source_colours, "bpy", SimpleNamespace(context=context))
    assert not shown().any()
    keep_weights(obj, ["Upper"], BEFORE_BODY, added=[])
    memory_of(obj, ShownSources).sources = np.full(len(obj.data.vertices), Source.MATCHED)
    straight = shown()
    assert (straight[..., 3] > 0.0).sum() > 200
    assert np.array_equal(shown(), straight)
    pose_limb(rig, 1.2)
    assert (np.abs(shown() - straight).max(axis=2) > 0.02).sum() > 200
    api.restore_weights(obj)
    assert not shown().any()
