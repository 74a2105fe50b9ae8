"""The skin of a character: of all its enabled meshes, on which its limbs and joints are found.

Each mesh of a character has vertices of its own; where limbs run, which of them twist, and how the
bones hang together are the same for all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from ...analysis.limbs import Limbs, mesh_parents
from ...core.influences import Influences
from ...core.limb_joints import SkinAtRest
from ...core.skeleton import LimbAxis, Skeleton
from ...core.twist_limbs import TwistLimbs
from .content import digest
from .layers import LayerMesh, inner_meshes


@dataclass(frozen=True, eq=False)
class CharacterSkin:
    """The skin of several meshes on one armature, at rest. See `inner_meshes`.

    Attributes:
        parts: its meshes.
        skeleton: the bones of all of them.
        sides: shape (B,), of `SkinAtRest`.
    """

    parts: tuple[LayerMesh, ...]
    skeleton: Skeleton
    sides: NDArray[np.int8]
    _skins: dict[tuple[LimbAxis, bool], SkinAtRest] = field(
        default_factory=dict, repr=False, init=False
    )

    def is_of(self, parts: Sequence[LayerMesh], skeleton: Skeleton) -> bool:
        """Whether it is the skin of just these meshes, on equal bones."""
        if len(parts) != len(self.parts) or not all(map(operator.is_, parts, self.parts)):
            return False
        ours, arrays = self.skeleton, attrgetter("parents", "rest", "tails")
        same = ours is skeleton or all(map(np.array_equal, arrays(ours), arrays(skeleton)))
        return same and ours.names == skeleton.names

    @cached_property
    def findings(self) -> str:
        """A digest of all that is found on the skin; it says the same in every session.

        Meshes of the character change only when it does.
        """
        skin = self.at_rest("AUTO", use_mesh_joints=True)
        no_vertex = Influences(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32))
        bare = replace(skin, positions=np.zeros((0, 3)), influences=no_vertex, whole=skin)
        limbs = TwistLimbs.of(bare)
        return digest(
            *(skin.skeleton.rest, skin.skeleton.tails, skin.moves, skin.body_parents),
            *(skin.mesh_parents, limbs.bones, limbs.before, limbs.behind),
            sorted(limbs.left_out.items()),
        )

    def at_rest(self, limb_axis: LimbAxis, *, use_mesh_joints: bool) -> SkinAtRest:
        """The skin with the limbs and joints that it shows; the same object each time."""
        key = (limb_axis, use_mesh_joints)
        if key not in self._skins:
            inner = [self.parts[row] for row in inner_meshes(self.parts, self.skeleton)]
            skin = SkinAtRest(
                np.concatenate([mesh.positions for mesh in inner]),
                joined_influences([mesh.influences for mesh in inner]),
                self.skeleton,
                limb_axis,
                sides=self.sides,
            )
            self._skins[key] = with_mesh_joints(skin) if use_mesh_joints else skin
        return self._skins[key]


def joined_influences(parts: Sequence[Influences]) -> Influences:
    """The influences of several meshes on the same bones, one behind the other."""
    width = max(part.width for part in parts)
    spaces = [((0, 0), (0, width - part.width)) for part in parts]
    pairs = list(zip(parts, spaces, strict=True))
    bones = [np.pad(part.bones, space) for part, space in pairs]
    return Influences(
        np.concatenate(bones),
        np.concatenate([np.pad(part.weights, space) for part, space in pairs]),
    )


def with_mesh_joints(skin: SkinAtRest) -> SkinAtRest:
    """A skin with the limbs and joints that its mesh shows where the hierarchy knows none."""
    limbs = Limbs.of(skin)
    parents = mesh_parents(limbs)
    skeleton = limbs.joined(parents) if limbs.by_skin.any() else skin.skeleton
    joined = parents if (parents >= 0).any() else None
    return replace(skin, skeleton=skeleton, mesh_parents=joined)
