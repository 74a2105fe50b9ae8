"""Characters as people import them: small meshes on one rig, of the sizes of public ones.

The body is the human's, with fewer vertices; hair, a skirt and eyes are made. Bones are scaled by
what a file with numbers of 32 bits leaves of a rotation: `ROUNDED`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from human.dressed import (
    HAND,
    HEAD,
    LEG,
    SHIRT,
    SHOES,
    TROUSERS,
    add_mesh,
    begins_with,
    cut,
    garment,
    some_faces,
)
from human.model import HumanArrays, build_armature, load_human_arrays

Array = NDArray[np.floating]
Character = tuple[bpy.types.Object, list[bpy.types.Object]]
"""An armature object and its meshes."""
# By how much the axes of an imported bone are off those of a rotation.
ROUNDED = 2.4e-5

SKIN = begins_with("")


@dataclass(frozen=True)
class Chain:
    """Bones one after the other, from a bone of the body.

    Attributes:
        parent: the name of that bone.
        places: shape (k + 1, 3), heads and the last tail, metres.
    """

    name: str
    parent: str
    places: Array

    @property
    def names(self) -> list[str]:
        """Of its k bones."""
        return [f"{self.name}_{number}" for number in range(len(self.places) - 1)]


def with_chains(arrays: HumanArrays, chains: Iterable[Chain]) -> HumanArrays:
    """The human with further bones, which have no weights yet."""
    names, parents = list(arrays.names), arrays.parents.tolist()
    heads, tails = list(arrays.heads), list(arrays.tails)
    for chain in chains:
        above = names.index(chain.parent)
        for name, head, tail in zip(chain.names, chain.places, chain.places[1:], strict=False):
            parents.append(above)
            above = len(names)
            names.append(name)
            heads.append(head)
            tails.append(tail)
    further = len(names) - len(arrays.names)
    return replace(
        arrays,
        names=tuple(names),
        parents=np.array(parents, np.int16),
        heads=np.array(heads, np.float32),
        tails=np.array(tails, np.float32),
        rolls=np.concatenate((arrays.rolls, np.zeros(further, np.float32))),
    )


def ends(arrays: HumanArrays, names: Iterable[str]) -> list[Chain]:
    """Bones at the ends of others, as exporters add them."""
    found = []
    for name in names:
        row = arrays.names.index(name)
        head, tail = arrays.heads[row], arrays.tails[row]
        found.append(Chain(f"{name}_end", name, np.stack((tail, tail + 0.3 * (tail - head)))))
    return found


def _of_rings(arrays: HumanArrays, points: Array, around: int, weights: Array) -> HumanArrays:
    """A mesh on the bones of a human: closed rings of so many points, one behind the other.

    Args:
        weights: shape (n, B).
    """
    ring = np.arange(around)
    sides = np.stack((ring, np.roll(ring, -1)), axis=1)
    first = around * np.arange(len(points) // around - 1)
    quads = np.concatenate((sides, sides[:, ::-1] + around), axis=1)
    faces = (first[:, None, None] + quads).reshape(-1, 4)
    vertices, bones = np.nonzero(weights > 1e-4)
    return replace(
        arrays,
        vertices=points.astype(np.float32),
        faces=faces.astype(np.int32),
        weight_vertex=vertices.astype(np.int32),
        weight_bone=bones.astype(np.int16),
        weight=weights[vertices, bones].astype(np.float32),
    )


def tube(arrays: HumanArrays, chain: Chain, rows: int, around: int, radius: float) -> HumanArrays:
    """A strand of hair along a chain of bones, thinner towards its end."""
    along = np.linspace(0.0, len(chain.places) - 1.0, rows)
    middles = np.stack(
        [np.interp(along, np.arange(len(chain.places)), each) for each in chain.places.T], axis=1
    )
    angles = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    ring = np.stack((np.cos(angles), np.sin(angles), np.zeros(around)), axis=1)
    size = radius * np.linspace(1.0, 0.2, rows)[:, None, None]
    points = (middles[:, None] + size * ring).reshape(-1, 3)
    return _of_rings(arrays, points, around, _along(arrays, [chain], np.repeat(along, around)))


def _along(
    arrays: HumanArrays, chains: Sequence[Chain], along: Array, which: Array | None = None
) -> Array:
    """Weights (n, B) of places along chains, in bones; `which` blends from chain to chain."""
    weights = np.zeros((len(along), len(arrays.names)))
    for number, chain in enumerate(chains):
        share = np.ones(len(along)) if which is None else _hat(which, number, len(chains))
        bones = [chain.parent, *chain.names]
        for row, bone in enumerate(bones):
            # Each bone acts most in its middle; the one that holds the chain at its beginning.
            place = 0.0 if row == 0 else row - 0.5
            near = np.clip(1.0 - np.abs(along - place) / (0.5 if row < 2 else 1.0), 0.0, None)
            if row == len(bones) - 1:
                near = np.where(along >= place, 1.0, near)
            weights[:, arrays.names.index(bone)] += share * near
    return weights / weights.sum(axis=1, keepdims=True)


def _hat(which: Array, number: int, count: int) -> Array:
    apart = np.abs((which - number + 0.5 * count) % count - 0.5 * count)
    return np.clip(1.0 - apart, 0.0, None)


def skirt(arrays: HumanArrays, chains: Sequence[Chain], rows: int, around: int) -> HumanArrays:
    """A skirt over chains that stand in a circle."""
    last = len(chains[0].places) - 1.0
    along = np.linspace(0.0, last, rows)
    which = np.linspace(0.0, len(chains), around, endpoint=False)
    tops = np.stack([chain.places for chain in chains])
    closed = np.concatenate((tops, tops[:1]))
    low, share = np.floor(which).astype(int), (which % 1.0)[:, None, None]
    columns = closed[low] * (1.0 - share) + closed[low + 1] * share
    steps = np.minimum(np.floor(along).astype(int), int(last) - 1)
    part = (along - steps)[:, None]
    points = columns[:, steps] * (1.0 - part) + columns[:, steps + 1] * part
    points = points.transpose(1, 0, 2).reshape(-1, 3)
    weights = _along(arrays, chains, np.repeat(along, around), np.tile(which, rows))
    return _of_rings(arrays, points, around, weights)


def ball(arrays: HumanArrays, bone: str, centre: Array, size: Array, rows: int) -> HumanArrays:
    """An eye, teeth or a brow: an ellipsoid on one bone."""
    around = 2 * rows
    up = np.linspace(-0.5 * np.pi, 0.5 * np.pi, rows + 2)[1:-1, None]
    angles = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    unit = np.stack(
        (np.cos(up) * np.cos(angles), np.cos(up) * np.sin(angles), np.sin(up) + 0.0 * angles), -1
    )
    points = centre + size * unit.reshape(-1, 3)
    weights = np.zeros((len(points), len(arrays.names)))
    weights[:, arrays.names.index(bone)] = 1.0
    return _of_rings(arrays, points, around, weights)


FINGER_ENDS = tuple(
    f"{name}_03_{side}" for name in ("thumb", "index", "middle", "ring", "pinky") for side in "lr"
)
FEET_ENDS = ("ball_l", "ball_r")


def _eyes(arrays: HumanArrays) -> list[Chain]:
    face = _face(arrays)
    return [
        Chain(f"eye_{side}", "head", face + np.array([[x, 0.0, 0.0], [x, -0.02, 0.0]]))
        for side, x in (("l", 0.032), ("r", -0.032))
    ]


def _face(arrays: HumanArrays) -> Array:
    """Between the eyes."""
    head = arrays.names.index("head")
    return arrays.heads[head] + np.array((0.0, -0.07, 0.09))


def avatar() -> Character:
    """An avatar: head, hands, clothes, hair, eyes and teeth in 9 meshes on 67 bones."""
    human = load_human_arrays("game_engine")
    eyes = _eyes(human)
    human = with_chains(human, [*eyes, *ends(human, (*FINGER_ENDS, *FEET_ENDS))])
    face = _face(human)
    skin = garment(human, SKIN, 0.0, 0.52)
    parts = cut(skin, {"Head": HEAD, "Hands": HAND})
    meshes = {"Head": parts["Head"], "Hands": parts["Hands"]}
    meshes["Top"] = garment(human, SHIRT, 0.004, 0.61)
    meshes["Bottom"] = garment(human, TROUSERS, 0.006, 0.5)
    meshes["Shoes"] = garment(human, SHOES, 0.003, 0.5)
    meshes["Hair"] = garment(human, begins_with("head"), 0.012, 0.2)
    for side, eye in zip("lr", eyes, strict=True):
        centre = eye.places[0]
        meshes[f"Eye {side}"] = ball(human, eye.names[0], centre, np.full(3, 0.012), 9)
    low = face + np.array((0.0, 0.01, -0.06))
    meshes["Teeth"] = ball(human, "head", low, np.array((0.02, 0.01, 0.01)), 12)
    return _built(human, meshes)


def performer() -> Character:
    """A character for motion capture: the human with fewer vertices, on 75 bones."""
    human = load_human_arrays("game_engine")
    further = ends(human, (*FINGER_ENDS, *FEET_ENDS, "head"))
    further += _eyes(human)
    row = {name: human.names.index(name) for name in human.names}
    for name in ("thigh_l", "thigh_r", "calf_l", "calf_r", "upperarm_l", "upperarm_r", "spine_03"):
        middle = 0.5 * (human.heads[row[name]] + human.tails[row[name]])
        further.append(Chain(f"{name}_socket", name, np.stack((middle, human.tails[row[name]]))))
    human = with_chains(human, further)
    return _built(human, {"Body": garment(human, SKIN, 0.0, 0.697)})


def anime() -> Character:
    """An anime character: hair in strands, a skirt, a face of several meshes: 15 on 140 bones."""
    human = load_human_arrays("game_engine")
    face, eyes = _face(human), _eyes(human)
    strands = []
    for number, angle in enumerate(np.linspace(-0.15, 1.15, 7) * np.pi):
        out = np.array((np.cos(angle), np.sin(angle), 0.0))
        top = face + np.array((0.0, 0.09, 0.06)) + 0.1 * out
        down = np.linspace(0.0, 1.0, 8)[:, None]
        places = top + down * (0.06 * out - np.array((0.0, 0.0, 0.45)))
        strands.append(Chain(f"hair{number}", "head", places))
    hips = human.heads[human.names.index("pelvis")]
    panels = []
    for number, angle in enumerate(np.linspace(0.0, 2.0 * np.pi, 9, endpoint=False)):
        out = np.array((np.cos(angle), 0.8 * np.sin(angle), 0.0))
        down = np.linspace(0.0, 1.0, 5)[:, None]
        places = hips + (0.17 + 0.12 * down) * out - down * np.array((0.0, 0.0, 0.4))
        panels.append(Chain(f"skirt{number}", "pelvis", places))
    human = with_chains(human, [*eyes, *strands, *panels])
    skin = garment(human, SKIN, 0.0, 0.25)
    parts = cut(
        skin,
        {
            "Head": HEAD,
            "Arms": begins_with("lowerarm", "hand", "index", "middle", "ring", "pinky", "thumb"),
            "Legs": LEG,
        },
    )
    meshes = dict(parts)
    meshes["Blouse"] = garment(human, SHIRT, 0.004, 0.33)
    meshes["Skirt"] = skirt(human, panels, 21, 45)
    for strand in strands:
        meshes[f"Hair {strand.name}"] = tube(human, strand, 38, 8, 0.025)
    for side, eye in zip("lr", eyes, strict=True):
        meshes[f"Eye {side}"] = ball(human, eye.names[0], eye.places[0], np.full(3, 0.012), 9)
    return _built(human, meshes)


def nine_by_height() -> Character:
    """The human on a game rig, cut into 9 meshes at heights."""
    human = load_human_arrays("game_engine")
    return _built(human, cut_by_height(human, 9))


def cut_by_height(arrays: HumanArrays, count: int) -> dict[str, HumanArrays]:
    """The human in so many parts of equal numbers of faces, one over the other."""
    heights = arrays.vertices[arrays.faces, 2].mean(axis=1)
    place = heights.argsort().argsort() * count // len(heights)
    return {f"Part {number}": some_faces(arrays, place == number) for number in range(count)}


def _built(arrays: HumanArrays, meshes: dict[str, HumanArrays]) -> Character:
    armature = build_armature(arrays)
    return armature, [add_mesh(name, each, armature) for name, each in meshes.items()]


def round_bones(armature: bpy.types.Object) -> None:
    """Scale each bone as rounding does in files with matrices of 32 bits."""
    rng = np.random.default_rng(3)
    for bone in armature.pose.bones:
        bone.scale = (1.0 + rng.uniform(-0.5, 0.5, 3) * ROUNDED / 4.0).tolist()
