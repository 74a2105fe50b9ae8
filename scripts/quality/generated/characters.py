"""Humanoids that a number makes: bodies, clothes, hair and rigs as characters of other tools have.

Each has one thing that the default look may get wrong, its *kind*, perhaps others, and twelve
poses. Its weights are as riggers have them: each vertex follows the nearest bone, and the borders
are spread over the surface, as by Blender's automatic weights, narrowly or widely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from human.model import HumanArrays
from quality.generated.bodies import boxes, cut
from quality.generated.making import Maker
from quality.generated.poses import Turns, poses_of
from quality.generated.rigs import bendy, share_with_leaves, twist_in_line, twist_leaves
from quality.generated.wear import add_hair_bones, coat, gear, glasses, hair, trousers

KINDS = (
    "cut",
    "coat",
    "trousers",
    "hair",
    "glasses",
    "gear",
    "twist bones in line",
    "twist leaves",
    "bendy bones",
    "boxes",
)
_WEAR: dict[str, Callable[[Maker], None]] = {
    "coat": coat,
    "trousers": trousers,
    "hair": hair,
    "glasses": glasses,
    "gear": gear,
}
_RIGS: dict[str, Callable[[Maker], None]] = {
    "twist bones in line": twist_in_line,
    "twist leaves": twist_leaves,
    "bendy bones": bendy,
}


@dataclass(frozen=True, eq=False)
class GeneratedCharacter:
    """A character, metres, Z up, facing -Y.

    Attributes:
        kind: one of `KINDS`.
        features: its kind, and what else it has.
        meshes: by their names; all have the same bones.
        caps: how many of the last faces of each mesh are caps, which nobody sees.
        segments: how many segments bones have that bend.
        connected: the bones that hang on their parents' tails.
        controls: the bones that do not deform.
        poses: twelve, by their titles.
    """

    kind: str
    features: str
    seed: int
    meshes: dict[str, HumanArrays]
    caps: dict[str, int]
    segments: dict[str, int]
    connected: frozenset[str]
    controls: frozenset[str]
    poses: dict[str, Turns]

    @property
    def title(self) -> str:
        """Its kind and its number."""
        return f"{self.kind} {self.seed}"


def generated(seed: int) -> GeneratedCharacter:
    """The character of a number; numbers that follow each other have other kinds."""
    maker = Maker(KINDS[seed % len(KINDS)], seed)
    rng, kind = maker.rng, maker.kind
    rig, wears = (kind if kind in known else "" for known in (_RIGS, _WEAR))
    is_cut = kind == "cut"
    if kind not in (*_RIGS, "boxes") and rng.random() < 0.3:
        rig = str(rng.choice(list(_RIGS)))
    if kind not in (*_WEAR, "boxes") and rng.random() < 0.5:
        wears = str(rng.choice(list(_WEAR)))
    if kind != "trousers" and rng.random() < (0.8 if kind == "boxes" else 0.4):
        is_cut = True
    maker.stand((50.0, 72.0) if wears == "trousers" else (0.0, 50.0))
    if rig:
        _RIGS[rig](maker)
    if wears == "hair":
        add_hair_bones(maker)
    if kind == "boxes":
        boxes(maker)
    else:
        maker.naked = maker.pieces["Body"] = maker.body()
        if wears:
            _WEAR[wears](maker)
    if is_cut:
        cut(maker)
    for piece in maker.pieces.values():
        share_with_leaves(maker, piece)
    features = filter(None, (kind, rig, wears, "cut" if is_cut else ""))
    return _made(maker, ", ".join(dict.fromkeys(features)))


def _made(maker: Maker, features: str) -> GeneratedCharacter:
    """What has been made, in its size."""
    size, bones = maker.form.size, maker.bones.values()
    names = tuple(maker.bones)
    parents = [-1 if bone.parent is None else names.index(bone.parent) for bone in bones]
    meshes = {}
    for name, piece in maker.pieces.items():
        of_vertex, of_bone = np.nonzero(piece.weights)
        meshes[name] = HumanArrays(
            vertices=(size * piece.skin.points).astype(np.float32),
            faces=piece.skin.faces,
            names=names,
            parents=np.array(parents, np.int16),
            heads=(size * np.array([bone.head for bone in bones])).astype(np.float32),
            tails=(size * np.array([bone.tail for bone in bones])).astype(np.float32),
            rolls=np.zeros(len(names), np.float32),
            weight_vertex=of_vertex.astype(np.int32),
            weight_bone=of_bone.astype(np.int16),
            weight=piece.weights[of_vertex, of_bone].astype(np.float32),
        )
    connected = frozenset(
        name
        for name, bone in maker.bones.items()
        if bone.parent is not None and np.allclose(maker.bones[bone.parent].tail, bone.head)
    )
    return GeneratedCharacter(
        maker.kind,
        features,
        maker.seed,
        meshes,
        {name: piece.caps for name, piece in maker.pieces.items()},
        maker.segments,
        connected,
        maker.controls,
        poses_of(maker),
    )
