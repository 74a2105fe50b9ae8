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
    if choice == 0:
        maker.pieces["Body"] = body
    elif choice == 1:
        skin = body.skin
        weights = maker.weigh(skin, 0)
        maker.pieces["Body"] = Piece(skin, weights)
    else:
        pieces = []
        for name in maker.bones:
            if name.startswith("Shoulder"):
                continue
            bone = maker.bones[name]
            along = bone.tail - bone.head
            middle = 0.5 * (bone.head + bone.tail)
            half = np.maximum(0.5 * np.abs(along) * 1.02, 0.05 * maker.form.thick)
            if name in ("Hips", "Spine", "Chest"):
                half = np.array((0.16, 0.09, half[2]))
            pieces.append(maker.box(middle, half.tolist(), name))
        whole = pieces[0]
        for each in pieces[1:]:
            whole = whole.beside(each)
        maker.pieces["Body"] = whole
