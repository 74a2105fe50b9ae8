"""Solved shapes for tests: offsets at random, given to whatever is bound."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation
from dq_compensation.core.influences import Influences
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.solved_shapes import PoseHats, ShapeBlock, SolvedJoint, SolvedShapes
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.settings.object_settings import Settings

HINGE = tuple((0.0, np.radians(angle)) for angle in (-40.0, 45.0, 90.0, 125.0))
BALL = tuple(
    (np.radians(way), np.radians(angle)) for way in (-60.0, 20.0, 150.0) for angle in (40, 100)
)


def solved_joint(skeleton: Skeleton, bone: int, *, hinge: bool) -> SolvedJoint:
    """The joint at the head of a bone, bent to a side of the bone's own axes."""
    limb = skeleton.rest[bone, :3, 1]
    toward = skeleton.rest[bone, :3, 0]
    before = int(skeleton.parents[bone])
    poses = HINGE if hinge else BALL
    return SolvedJoint(before, bone, tuple(limb), tuple(toward), hinge, poses)


def solved_shapes(
    skeleton: Skeleton,
    influences: Influences,
    joints: dict[str, bool],
    size: float,
    combined: int = 1,
) -> SolvedShapes:
    """Shapes with random offsets, as large as `size`, of joints and combinations of neighbours.

    Args:
        joints: whether each is a hinge, by the bone behind it.
        combined: of so many joints in a row, at most.
    """
    rng = np.random.default_rng(0)
    bones = [skeleton.names.index(name) for name in joints]
    made = [
        solved_joint(skeleton, bone, hinge=hinge)
        for bone, hinge in zip(bones, joints.values(), strict=True)
    ]
    hats = PoseHats.of(made)
    blocks = list[ShapeBlock]()
    for count in range(1, combined + 1):
        for first in range(len(made) - count + 1):
            of_block = np.arange(first, first + count, dtype=np.int32)
            poses = [np.flatnonzero(hats.joints == joint) for joint in of_block]
            rows = np.array(list(product(*poses)), np.int32)
            near = np.isin(influences.bones, [bones[joint] for joint in of_block])
            vertices = np.flatnonzero((near * influences.weights).sum(axis=1) > 0.05)
            offsets = size * rng.normal(size=(len(rows), len(vertices), 3)) / count
            blocks.append(ShapeBlock(of_block, rows, vertices, offsets.astype(np.float32)))
    return SolvedShapes(hats, tuple(blocks), influences.vertex_count)


def give_solved_shapes(
    monkeypatch: pytest.MonkeyPatch, joints: dict[str, bool], size: float, combined: int = 1
) -> None:
    """Let every binding have such shapes."""
    original, known = Binding.deformation, dict[int, tuple[Binding, SolvedShapes]]()

    def deformation(
        self: Binding, settings: Settings, object_to_armature: NDArray[np.float64] | None = None
    ) -> Deformation:
        if id(self) not in known:
            of_mesh = (self.skeleton, self.influences)
            known[id(self)] = self, solved_shapes(*of_mesh, joints, size, combined)
        found = original(self, settings, object_to_armature)
        return replace(found, solved=known[id(self)][1])

    monkeypatch.setattr(Binding, "deformation", deformation)
