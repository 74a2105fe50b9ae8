"""What makes a generated character, and the pieces that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from quality.generated.cages import Array, Cell, Skin, skin_of
from quality.generated.form import Form, Lattice, bones_of
from quality.generated.weights import Piece, nearest_weights


class Maker:
    """A character that is being made.

    Attributes:
        kind: what it is made for, one of `KINDS`.
        rng: whatever is random comes from it, in one order.
        form, bones: its measures, and its rig so far.
        rounds: how far its weights are spread.
        segments, controls: of `GeneratedCharacter`.
        leaves: bones that take weights from a limb, and their shares of them at its beginning, in
            its middle and at its end.
        naked: the body without anything.
        pieces: its meshes so far.
        strands: where strands of hair hang, unit and level, and how long they are, metres.
    """

    naked: Piece

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.rng = np.random.default_rng(seed)
        self.segments = dict[str, int]()
        self.controls = frozenset[str]()
        self.leaves = list[tuple[str, str, tuple[float, ...]]]()
        self.pieces = dict[str, Piece]()
        self.strands = list[tuple[Array, float]]()

    def stand(self, droop: tuple[float, float]) -> None:
        """Give it a form, with arms that hang by some degrees, and plain bones."""
        self.form = Form.random(self.rng, droop)
        self.bones = bones_of(self.form)
        self.rounds = int(self.rng.integers(3, 14))

    def weigh(self, skin: Skin, rounds: int, only: Iterable[str] | None = None) -> Array:
        """Weights (n, b), automatic ones: hair, twist leaves and controls have none."""
        left_out = {*self.controls, *(leaf for leaf, _, _ in self.leaves)}
        names = [n for n in (self.bones if only is None else only) if not n.startswith("Hair")]
        return nearest_weights(skin, self.bones, rounds, [n for n in names if n not in left_out])

    def body(self, subdivisions: int = 2, joints: bool = False) -> Piece:
        """The naked body; `cells` of its skin name the block of each face."""
        lattice = Lattice(self.form, joints)
        self.bone_of_cell = lattice.cells()
        skin = skin_of(list(self.bone_of_cell), lattice.place)
        for _ in range(subdivisions):
            skin = skin.subdivided()
        return Piece(skin, self.weigh(skin, self.rounds if subdivisions > 1 else 1))

    def labels(self, skin: Skin) -> list[str]:
        """The bone along which each face lies."""
        return [self.bone_of_cell[each] for each in map(tuple, skin.cells.tolist())]

    def one_bone(self, skin: Skin, bone: str) -> Piece:
        """A piece that follows one bone."""
        weights = np.zeros((len(skin.points), len(self.bones)))
        weights[:, list(self.bones).index(bone)] = 1.0
        return Piece(skin, weights)

    def cloth(self, body: Piece, chosen: NDArray[np.bool_], above: float, own: bool) -> Piece:
        """Clothes over some faces of the body; with weights of its own, or those of the body."""
        part = body.part(chosen)
        skin = part.skin.above(above)
        if not own:
            return Piece(skin, part.weights)
        return Piece(skin, self.weigh(skin, int(self.rng.integers(2, 10))))

    def box(self, centre: Array, half: Sequence[float], bone: str) -> Piece:
        """A box that follows one bone."""

        def place(corner: Cell) -> Array:
            return centre + (2.0 * np.array(corner) - 1.0) * half

        return self.one_bone(skin_of([(0, 0, 0)], place), bone)

    def tube(
        self,
        rings: int,
        sides: int,
        place: Callable[[float, float], Sequence[float]],
        closed: bool = True,
    ) -> Skin:
        """A tube of rings, or a strip of rows: places by shares 0 to 1 along and around."""
        around = np.arange(sides) / (sides if closed else sides - 1)
        points = np.array([place(r / (rings - 1), a) for r in range(rings) for a in around])
        rows = range(sides if closed else sides - 1)
        faces = [
            (
                r * sides + a,
                r * sides + (a + 1) % sides,
                (r + 1) * sides + (a + 1) % sides,
                (r + 1) * sides + a,
            )
            for r, a in product(range(rings - 1), rows)
        ]
        return Skin(points, np.array(faces, np.int32), np.zeros((len(faces), 3), np.int32))
