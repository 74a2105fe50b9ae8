"""Bodies of generated characters: cut into meshes, or of boxes."""

from __future__ import annotations

import numpy as np

from quality.generated.making import Maker
from quality.generated.weights import Piece


def cut(maker: Maker) -> None:
    """Cut the body into 2 to 12 meshes; some of them may have caps."""
    body = maker.pieces.pop("Body")
    labels = np.array(maker.labels(body.skin))
    groups = [("Head", ["Head", "Neck"]), ("Hips", ["Hips"]), ("Waist", ["Spine"])]
    groups += [
        (f"{one}.{side}", [f"{each}.{side}" for each in several])
        for side in "LR"
        for one, several in (
            ("Arm", ["UpperArm", "ForeArm", "Hand"]),
            ("Leg", ["Thigh", "Shin", "Foot"]),
            ("Hand", ["Hand"]),
            ("Sleeve", ["ForeArm"]),
            ("Shoe", ["Foot"]),
            ("Stocking", ["Shin"]),
        )
    ]
    count = int(maker.rng.integers(1, 12))
    order = maker.rng.permutation(len(groups))[:count].tolist()
    left, names = np.ones(len(labels), np.bool_), list[str]()
    # What is smaller first: the hand of an arm that is cut off, too.
    for index in sorted(order, key=lambda each: len(groups[each][1])):
        name, several = groups[index]
        chosen = left & np.isin(labels, several)
        if chosen.any() and (left & ~chosen).any():
            maker.pieces[name] = body.part(chosen)
            names.append(name)
            left &= ~chosen
    maker.pieces["Body"] = body.part(left)
    if maker.rng.random() < 0.7:
        names = [*names, "Body"]
        for name in maker.rng.permutation(names)[: (len(names) + 1) // 2].tolist():
            piece = maker.pieces[name]
            skin = piece.skin.capped()
            caps = len(skin.faces) - len(piece.skin.faces)
            maker.pieces[name] = Piece(skin, piece.weights, caps)


def boxes(maker: Maker) -> None:
    """Limbs without rings between their ends, or a box for each bone."""
    choice = int(maker.rng.integers(3))
    body = maker.body(subdivisions=0, joints=True)
    if choice == 1:
        body = Piece(body.skin, maker.weigh(body.skin, 0))
    if choice == 2:
        body = _box_for_each_bone(maker)
    maker.pieces["Body"] = body


def _box_for_each_bone(maker: Maker) -> Piece:
    found = list[Piece]()
    for name, bone in maker.bones.items():
        if name.startswith("Shoulder"):
            continue
        half = np.maximum(0.51 * np.abs(bone.tail - bone.head), 0.05 * maker.form.thick)
        if name in ("Hips", "Spine", "Chest"):
            half = np.array((0.16, 0.09, half[2]))
        found.append(maker.box(0.5 * (bone.head + bone.tail), half.tolist(), name))
    whole = found[0]
    for each in found[1:]:
        whole = whole.beside(each)
    return whole
