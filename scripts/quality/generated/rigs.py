"""Rigs of generated characters: twist bones in line or as leaves, bendy bones, controls."""

from __future__ import annotations

import numpy as np

from quality.generated.cages import Array
from quality.generated.form import Bone, Y, Z
from quality.generated.making import Maker
from quality.generated.weights import Piece

# Of each limb: where along it leaves are, and their shares of its weight at its beginning, in its
# middle and at its end.
_LEAVES = {
    "UpperArm": ((0.0, (0.9, 0.4, 0.1)), (0.5, (0.0, 0.4, 0.6))),
    "ForeArm": ((0.7, (0.0, 0.5, 1.0)),),
    "Thigh": ((0.0, (0.9, 0.5, 0.2)),),
    "Shin": ((0.6, (0.0, 0.5, 0.7)),),
}


def twist_in_line(maker: Maker) -> None:
    """Limbs of two bones in line, as Ready Player Me's."""
    limbs = [["UpperArm", "ForeArm"], ["ForeArm"], ["UpperArm", "ForeArm", "Thigh", "Shin"]]
    for limb in limbs[int(maker.rng.integers(len(limbs)))]:
        for side in "LR":
            bone = maker.bones[f"{limb}.{side}"]
            middle = 0.5 * (bone.head + bone.tail)
            _insert(maker, f"{limb}.{side}", f"{limb}Twist.{side}", middle)
    # Skin of a limb still follows the one before it a little.
    maker.rounds += int(maker.rng.integers(2, 14))


def _insert(maker: Maker, name: str, twist: str, middle: Array) -> None:
    """Put a bone behind the middle of another one, in the row of its children."""
    bone, rebuilt = maker.bones[name], dict[str, Bone]()
    for each, of_each in maker.bones.items():
        rebuilt[each] = of_each
        if of_each.parent == name:
            of_each.parent = twist
        if each == name:
            rebuilt[twist] = Bone(middle, bone.tail, name)
    bone.tail = middle
    maker.bones = rebuilt


def twist_leaves(maker: Maker) -> None:
    """Twist bones as leaves on their limbs, as Unreal's."""
    tail = str(maker.rng.choice(["along", "across", "up"]))
    for limb, some in _LEAVES.items():
        if maker.rng.random() < 0.25:
            continue
        for side in "LR":
            bone = maker.bones[f"{limb}.{side}"]
            way = bone.tail - bone.head
            for number, (at, shares) in enumerate(some):
                head, leaf = bone.head + at * way, f"{limb}Twist{number}.{side}"
                ends = {"along": 0.3 * way, "across": 0.1 * Y, "up": 0.1 * Z}
                maker.bones[leaf] = Bone(head, head + ends[tail], f"{limb}.{side}")
                maker.leaves.append((leaf, f"{limb}.{side}", shares))


def share_with_leaves(maker: Maker, piece: Piece) -> None:
    """Give twist leaves their shares of the weights of their limbs."""
    names, limbs = list(maker.bones), piece.weights.copy()
    for leaf, limb, shares in maker.leaves:
        bone = maker.bones[limb]
        way = bone.tail - bone.head
        along = (piece.skin.points - bone.head) @ way / (way @ way)
        share = np.interp(along, (0.0, 0.5, 1.0), shares)
        taken = limbs[:, names.index(limb)] * share
        piece.weights[:, names.index(limb)] -= taken
        piece.weights[:, names.index(leaf)] += taken
    piece.weights = np.maximum(piece.weights, 0.0)


def bendy(maker: Maker) -> None:
    """Limbs, and perhaps the trunk, of bendy bones; perhaps on controls, as Rigify's."""
    rng = maker.rng
    count = int(rng.choice([4, 8, 10]))
    choices = (
        ("UpperArm", "ForeArm", "Thigh", "Shin"),
        ("UpperArm", "ForeArm"),
        ("Thigh", "Shin"),
    )
    limbs = [f"{limb}.{side}" for limb in choices[int(rng.integers(3))] for side in "LR"]
    if rng.random() < 0.5:
        maker.segments |= {"Spine": 8, "Chest": 8}
    halves = bool(rng.random() < 0.5)
    for name in limbs:
        maker.segments[name] = count
        if halves:  # a limb of two bones, each of which bends
            bone, twist = maker.bones[name], name.replace(".", "Twist.")
            _insert(maker, name, twist, 0.5 * (bone.head + bone.tail))
            maker.segments[twist] = count
    maker.rounds = int(rng.integers(6, 20))
    if rng.random() < 0.7:
        _put_on_controls(maker)


def _put_on_controls(maker: Maker) -> None:
    """Let the trunk and the first bones of limbs hang on bones that do not deform."""
    on = ("Hips", "Spine", "Chest", "Neck", "Head", "Shoulder", "UpperArm", "Thigh")
    rebuilt = dict[str, Bone]()
    for name, bone in maker.bones.items():
        if name.split(".")[0] in on:
            parent = bone.parent
            above = f"ORG-{parent}" if f"ORG-{parent}" in rebuilt else parent
            rebuilt[f"ORG-{name}"] = Bone(bone.head, bone.tail, above)
            bone.parent = f"ORG-{name}"
        rebuilt[name] = bone
    maker.bones = rebuilt
    maker.controls = frozenset(name for name in rebuilt if name.startswith("ORG-"))
