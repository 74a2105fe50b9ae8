"""What generated characters wear: coats, trousers, hair, glasses, gear."""

from __future__ import annotations

import math

import numpy as np

from quality.generated.cages import Array, Cell, Skin, skin_of
from quality.generated.form import Bone, Lattice, X, Y, Z
from quality.generated.making import Maker
from quality.generated.weights import Piece, few, nearest, spread


def coat(maker: Maker) -> None:
    """A coat with two sides to the knees."""
    body = maker.naked
    lattice, top = Lattice(maker.form), maker.form.top
    rows = 4
    sleeves = ("UpperArm", "ForeArm") if maker.rng.random() < 0.6 else ("UpperArm",)
    cells = [
        cell
        for cell, bone in lattice.cells().items()
        if bone in ("Hips", "Spine", "Chest") or bone.startswith(sleeves)
    ]
    ends = [
        cell
        for cell in cells
        if max(abs(cell[0] - 1), 0) == max(abs(each[0] - 1) for each in cells)
    ]
    cells += [(i, 0, -1 - m) for i in range(3) for m in range(rows)]
    opened = [((i, 0, -rows), (0, 0, -1)) for i in range(3)]
    opened += [(cell, (1 if cell[0] > 1 else -1, 0, 0)) for cell in ends]
    opened += [((1, 0, top - 1), (0, 0, 1))]
    flare = maker.rng.uniform(1.0, 1.4)

    def place(corner: Cell) -> Array:
        i, j, k = corner
        if k >= 0:
            return lattice.place(corner)
        low = -k / rows
        x = (-1.0, -0.3, 0.3, 1.0)[i] * 0.185 * (1.0 + (flare - 1.0) * low)
        y = (1.0 if j else -1.0) * 0.12 * (1.0 + (flare - 1.0) * low)
        return np.array((x, y, 0.84 - low * 0.36))

    skin = skin_of(cells, place, opened).subdivided().subdivided()
    above, thickness = maker.rng.uniform(0.012, 0.025), maker.rng.uniform(0.003, 0.009)
    outer = Skin(skin.points + (above + thickness) * skin.normals(), skin.faces, skin.cells)
    kept = [name for name in maker.bones if not name.startswith(("Head", "Hand", "Foot"))]
    if maker.rng.random() < 0.5:
        weights = maker.weigh(outer, int(maker.rng.integers(4, 14)), kept)
    else:
        weights = body.weights[nearest(body, outer.points)]
        weights = few(spread(outer, weights, 2))
    if maker.rng.random() < 0.6:  # what nobody sees is left out
        hidden = np.isin(maker.labels(body.skin), ["Hips", "Spine"])
        maker.pieces["Body"] = body.part(~hidden)
    maker.pieces["Coat"] = Piece(outer.thick(thickness), np.concatenate((weights, weights)))


def trousers(maker: Maker) -> None:
    """A shirt, and trousers whose belt lies on it and has most of their vertices."""
    body = maker.naked
    labels = np.array(maker.labels(body.skin))
    naked = np.isin(labels, ["Head", "Neck", "Hand.L", "Hand.R", "Foot.L", "Foot.R"])
    whole = maker.rng.random() < 0.4
    maker.pieces["Body"] = body if whole else body.part(naked)
    own = bool(maker.rng.random() < 0.5)
    arms = [f"{each}.{side}" for each in ("UpperArm", "ForeArm") for side in "LR"]
    above = 0.004 if whole else 0.0
    trunk = np.isin(labels, ["Hips", "Spine", "Chest", *arms])
    heights = body.skin.points[body.skin.faces].mean(axis=1)[:, 2]
    maker.pieces["Top"] = maker.cloth(body, trunk & (heights > 0.9), above + 0.004, own)
    legs = [f"{each}.{side}" for each in ("Thigh", "Shin") for side in "LR"]
    below = np.isin(labels, ["Hips", *legs]) & (heights < 0.96)
    cloth = maker.cloth(body, below, above + maker.rng.uniform(0.01, 0.018), own)
    waist = np.isin(labels, ["Hips", "Spine"]) & (heights > 0.93)
    waist &= heights < maker.rng.uniform(1.0, 1.08)
    belt = maker.cloth(body, waist, above + 0.022, own).skin.subdivided()
    if maker.rng.random() < 0.5:
        belt = belt.subdivided()
    maker.pieces["Bottom"] = cloth.beside(maker.one_bone(belt, "Hips"))


def add_hair_bones(maker: Maker) -> None:
    """Where strands hang, and two bones for each, or none."""
    count, length = int(maker.rng.integers(8, 15)), maker.rng.uniform(0.22, 0.42)
    for angle in math.pi * np.linspace(-0.15, 1.15, count):
        out = np.array((math.cos(angle), math.sin(angle), 0.0))
        # Those at the sides end above the shoulders.
        maker.strands.append((out, length if out[1] > 0.6 else min(length, 0.2)))
    if maker.rng.random() < 0.6:
        for number, (out, long) in enumerate(maker.strands):
            beside = 0.105 * out * _OVAL
            high, middle, low = (beside + (1.72 - part * long) * Z for part in (0.0, 0.5, 1.0))
            maker.bones[f"Hair{number}.1"] = Bone(high, middle, "Head")
            maker.bones[f"Hair{number}.2"] = Bone(middle, low, f"Hair{number}.1")


# A head is so much deeper than wide.
_OVAL = np.array((1.0, 1.1, 1.0))


def hair(maker: Maker) -> None:
    """A cap of hair, and strands that hang beside the neck or down to the shoulders."""
    body, of_own = maker.naked, "Hair0.1" in maker.bones
    labels = np.array(maker.labels(body.skin))
    head = np.isin(labels, ["Head", "Neck"])
    if maker.rng.random() < 0.5:
        maker.pieces["Body"], maker.pieces["Face"] = body.part(~head), body.part(head)
    middles = body.skin.points[body.skin.faces].mean(axis=1)
    behind = (middles[:, 2] > 1.66) & (middles[:, 1] > -0.03)
    hairy = (labels == "Head") & ((middles[:, 2] > 1.74) | behind)
    cap, close = body.part(hairy).skin.above(0.008).subdivided(), maker.rng.uniform(0.0, 1.0)
    whole = maker.one_bone(cap.subdivided() if close > 0.4 else cap, "Head")
    for number, (out, length) in enumerate(maker.strands):
        strand = maker.one_bone(_strand(maker, out, length, close), "Head")
        if of_own:
            along = (1.72 - strand.skin.points[:, 2]) / length
            below = np.clip((along - 0.08) / 0.2, 0.0, 1.0)
            further = np.clip((along - 0.5) / 0.25 + 0.5, 0.0, 1.0)
            for bone, weights in (
                ("Head", 1.0 - below),
                (f"Hair{number}.1", below * (1.0 - further)),
                (f"Hair{number}.2", below * further),
            ):
                strand.weights[:, list(maker.bones).index(bone)] = weights
        whole = whole.beside(strand)
    maker.pieces["Hair"] = whole


def _strand(maker: Maker, out: Array, length: float, close: float) -> Skin:
    """A strip of 18 rows; `close` is 1 where it lies against the neck, 0 where it hangs down."""

    def place(along: float, across: float) -> Array:
        z, aside = 1.74 - length * along, 2.0 * across - 1.0
        at_neck = np.interp(z, (1.4, 1.5, 1.58, 1.66, 1.74), (0.12, 0.085, 0.085, 0.105, 0.095))
        wide = (1.0 - close) * 0.112 + close * at_neck + 0.006 * (1.0 - aside**2)
        return wide * out * _OVAL + 0.014 * aside * np.cross(Z, out) + z * Z

    return maker.tube(18, 3, place, closed=False)


def glasses(maker: Maker) -> None:
    """A head of its own with glasses, eyes and teeth, and a collar around the neck."""
    body = maker.naked
    labels = np.array(maker.labels(body.skin))
    head = np.isin(labels, ["Head", "Neck"])
    face = body.part(head)
    rows = int(maker.rng.integers(14, 23))
    mouth = maker.one_bone(_arch(maker, rows, 36, 0.05, (1.665, 1.705)), "Head")
    maker.pieces["Body"] = body.part(~head)
    maker.pieces["Face"] = face.beside(mouth)
    nose = float(face.skin.points[:, 1].min())
    frame = maker.box(np.array((0.0, nose - 0.012, 1.735)), (0.012, 0.003, 0.003), "Head")
    for side in (-1.0, 1.0):
        ring = maker.tube(
            3,
            12,
            lambda r, a, side=side: (
                0.034 * side + (0.024 + 0.004 * (r == 0.5)) * math.cos(2 * math.pi * a),
                nose - 0.014 + 0.004 * r,
                1.735 + (0.02 + 0.004 * (r == 0.5)) * math.sin(2 * math.pi * a),
            ),
        )
        frame = frame.beside(maker.one_bone(ring, "Head"))
        frame = frame.beside(
            maker.box(np.array((side * 0.095, nose + 0.06, 1.735)), (0.003, 0.07, 0.003), "Head")
        )
    maker.pieces["Glasses"] = frame
    teeth = _arch(maker, 4, 15, 0.045, (1.67, 1.7))
    maker.pieces["Teeth"] = maker.one_bone(teeth, "Head")
    collar = head & (body.skin.points[body.skin.faces].mean(axis=1)[:, 2] < 1.585)
    labels_of_chest = np.isin(labels, ["Chest"])
    maker.pieces["Shirt"] = maker.cloth(
        body,
        collar | labels_of_chest,
        maker.rng.uniform(0.004, 0.012),
        bool(maker.rng.random() < 0.5),
    )


def _arch(
    maker: Maker, rows: int, columns: int, radius: float, heights: tuple[float, float]
) -> Skin:
    """Half a tube around the place of a tongue."""

    def place(along: float, around: float) -> Array:
        angle = math.pi * (1.0 + around)
        z = heights[0] + (heights[1] - heights[0]) * along
        return np.array((radius * math.cos(angle), radius * math.sin(angle) - 0.03, z))

    return maker.tube(rows, columns, place, closed=False)


def gear(maker: Maker) -> None:
    """Boxes, straps and plates on the body, as its islands or as a mesh of their own."""
    body, boxes = maker.naked, _boxes(maker)
    chosen = [boxes[i] for i in maker.rng.permutation(len(boxes))[:6]]
    for pad in _pads(maker):
        if maker.rng.random() < 0.5:
            thick = pad.skin.above(0.004).thick(0.004)
            chosen.append(Piece(thick, np.tile(pad.weights, (2, 1))))
        else:
            chosen.append(pad)
    whole = chosen[0]
    for each in chosen[1:]:
        whole = whole.beside(each)
    if maker.rng.random() < 0.5:
        maker.pieces["Body"] = body.beside(whole)
    else:
        maker.pieces["Gear"] = whole


def _boxes(maker: Maker) -> list[Piece]:
    """A backpack, a badge, a holster, a knee pad, a watch, a pauldron, pouches, an elbow pad."""
    shoulder, elbow, wrist, _ = maker.form.arm(1)
    hip, knee, _, _ = maker.form.leg(1)
    on_shoulder = str(maker.rng.choice(["UpperArm.L", "Shoulder.L"]))
    around = maker.rng.uniform(0.0, 2.0 * math.pi, 4)
    return [
        maker.box(np.array((0.0, 0.2, 1.3)), (0.1, 0.05, 0.12), "Chest"),
        maker.box(np.array((0.06, _front(maker) - 0.004, 1.3)), (0.03, 0.012, 0.02), "Chest"),
        maker.box(0.5 * (hip + knee) + 0.085 * X, (0.015, 0.04, 0.06), "Thigh.L"),
        maker.box(knee - 0.06 * Y, (0.04, 0.02, 0.05), "Shin.L"),
        maker.box(wrist + 0.03 * Z, (0.02, 0.02, 0.012), "ForeArm.L"),
        maker.box(shoulder + 0.05 * Z + 0.02 * X, (0.06, 0.06, 0.025), on_shoulder),
        *(
            maker.box(np.array((0.17 * math.cos(a), 0.13 * math.sin(a), 0.99)), _POUCH, "Hips")
            for a in around
        ),
        maker.box(elbow + 0.045 * Y, (0.02, 0.02, 0.02), "ForeArm.L"),
    ]


_POUCH = (0.02, 0.02, 0.03)


def _front(maker: Maker) -> float:
    points = maker.naked.skin.points
    return float(points[points[:, 2] > 1.2][:, 1].min())


def _pads(maker: Maker) -> list[Piece]:
    """A strap and pads that bend with the skin below them, side by side."""
    body, rng = maker.naked, maker.rng
    shoulder, elbow, _, _ = maker.form.arm(1)
    hip, knee, _, _ = maker.form.leg(1)
    labels = np.array(maker.labels(body.skin))
    middles = body.skin.points[body.skin.faces].mean(axis=1)
    strap = np.abs(middles[:, 2] - 1.25 - 0.6 * middles[:, 0]) < 0.03
    strap &= np.isin(labels, ["Chest", "Spine", "Hips"])
    found, free = [maker.cloth(body, strap, 0.006, bool(rng.random() < 0.5))], ~strap
    belly = np.array((0.0, _front(maker), 1.12))
    for place in (knee, elbow, hip - 0.08 * Y, belly, shoulder + 0.05 * Z):
        near = np.linalg.norm(middles - place, axis=1) < rng.uniform(0.06, 0.1)
        if (near & free).any():
            found.append(maker.cloth(body, near & free, rng.uniform(0.003, 0.01), False))
            free &= ~near
    return found
