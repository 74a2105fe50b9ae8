"""The kind of tree that a mesh needs. All meshes of one kind share a tree."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

from ..arrays import Float32s
from ..core.deform import RULES, Deformation, Method
from ..core.measured_joints import MeasuredJoints
from ..scene.binding.kept_examples import Examples

# Bump it when trees or attributes of older versions of the add-on have to be made anew.
TREE_VERSION = 42

Base = Literal["ARMATURE", "SOFT", "OWN"]
"""What the tree adds to. ARMATURE: the Armature modifier stays on, and the tree adds the offset of
the compensation alone. SOFT: the same to what the Armature modifier of the soft copy gives, and
that of the object is hidden. OWN: the tree skins the mesh, and the Armature modifier is hidden."""

READS = frozenset({"bones", "turns", "sizes"})
"""What trees may read of the bones in a palette: all that skins vertices; their rotations, for the
weights of example poses and solved shapes; and how large they are, for solved shapes."""

# With fewer vertices, one step for compensation, swings and turns is quicker than one for each that
# acts on the vertices concerned alone: Blender prepares fewer nodes. Between the two numbers where
# this share of the vertices is concerned.
_SMALL, _LARGE = 1000, 4000
_SHARE_AT_ONCE = 0.4

# With fewer vertices for each set of bones, what sets take up outweighs what they save. Small
# meshes are quick either way.
_VERTICES_PER_SET = 3


@dataclass(frozen=True)
class ExampleCounts:
    """How many example poses a tree knows.

    Attributes:
        bones: that have any.
        most: poses of one bone.
        reach: bones whose poses move one vertex, at most.
        twisting: whether full rotations count for any bone.
        linear: whether any bone has linear weights.
    """

    bones: int
    most: int
    reach: int
    twisting: bool
    linear: bool

    @classmethod
    def of(cls, examples: Examples, offsets: Float32s) -> ExampleCounts:
        """Count the example poses that act on a mesh; `offsets` as of `Examples.reached`."""
        poses = examples.poses
        bones, _, most = poses.solution.shape
        reach = int(examples.reached(offsets).sum(axis=0).max(initial=0))
        return cls(bones, most, reach, bool(poses.twists.any()), len(poses.linear) > 0)

    @property
    def key(self) -> str:
        """Their part in the key of a tree."""
        options = " twisting" * self.twisting + " linear" * self.linear
        return f" examples {self.bones} {self.most} {self.reach}{options}"

    @property
    def threes(self) -> int:
        """How many vectors hold a number for each pose of a bone."""
        return -(-self.most // 3)

    @property
    def table_rows(self) -> int:
        """The rows of the tables: rest and the poses of every bone."""
        return self.bones * (self.most + 1)


@dataclass(frozen=True)
class SolvedCounts:
    """How many solved shapes a tree adds to a vertex.

    Attributes:
        slots: of each slot how many shapes of one block act at once, at most.
        large: how many of these, the first ones, have blocks of many vertices.
        joints: of one block, at most.
    """

    slots: tuple[int, ...]
    large: int
    joints: int

    @property
    def key(self) -> str:
        """Their part in the key of a tree."""
        return f" solved {self.joints} {self.large} {'-'.join(map(str, self.slots))}"


@dataclass(frozen=True)
class TreeKind:
    """The kind of a tree; meshes of one kind share one tree.

    Attributes:
        slots: how many influences it can blend: 4, 7, 10, ...; 0 where it skins nothing.
        masked: whether the Armature modifier is limited to a vertex group.
        unmasks: whether what is added is computed as without the group, and masked then.
        painted: whether a vertex group scales the compensation.
        scattered: whether so few vertices share a set of bones that sets save nothing.
        measured: whether COMPENSATED is MEASURED.
        aside: whether any vertex is measured against a limb that points aside.
        swung: how many joints of MEASURED take a vertex along chords, at most.
        turns: how many limbs whose twists are spread turn a vertex, at most.
        at_once: whether MEASURED, its swings and turns are one step.
        shaped: whether shape keys or modifiers change what is measured.
        blended: whether a vertex group blends to LINEAR.
        sampled: whether the attributes are copied from an attribute object.
        switched: whether the Armature modifier that is the base is off, in viewports or renders.
        stepped: whether the soft copy has steps, for a shape that varies.
        examples: the example poses that act; None without any.
        solved: the solved shapes that act; None without any.
    """

    method: Method
    base: Base
    slots: int
    masked: bool
    unmasks: bool = False
    painted: bool = False
    scattered: bool = False
    measured: bool = False
    aside: bool = False
    swung: int = 0
    turns: int = 0
    at_once: bool = False
    shaped: bool = False
    blended: bool = False
    sampled: bool = False
    switched: bool = False
    stepped: bool = False
    examples: ExampleCounts | None = None
    solved: SolvedCounts | None = None

    @property
    def key(self) -> str:
        """The key that is stored in the tree."""
        options = "".join(
            f" {each.name}" for each in fields(self) if getattr(self, each.name) is True
        )
        options += f" swung {self.swung}" * bool(self.swung)
        options += f" turns {self.turns}" * bool(self.turns)
        for counts in (self.examples, self.solved):
            options += counts.key if counts is not None else ""
        return f"{TREE_VERSION} {self.method} {self.base} {self.slots}{options}"

    @property
    def reads(self) -> frozenset[str]:
        """What it, or the tree that keeps the shape for it, reads of bones."""
        skins, solved = self.base == "OWN", self.solved is not None
        turns = solved or self.examples is not None
        return frozenset(["bones"] * skins + ["turns"] * turns + ["sizes"] * solved)

    @property
    def record(self) -> dict[str, object]:
        """What the tree has in its record beside its key: its base, and what has to go with it.

        `reads` as above; the key of the tree that keeps the shape for it, or ""; whether it takes
        what Blender's LINEAR makes of that.
        """
        return {
            "role": "DEFORMS",
            "base": self.base,
            "reads": sorted(self.reads),
            "shape": self.keeper_key,
            "linear": self.reads_linear,
        }

    @property
    def keeper_key(self) -> str:
        """The key of the tree that makes and keeps the shape for the Armature modifier, or ""."""
        keeps = self.shaped or self.unmasks or self.blended or self.examples is not None
        if not keeps or self.base != "ARMATURE":
            return ""
        of_examples = ""
        if self.examples is not None:
            of_examples = f"{self.examples.key}{' sampled' * self.sampled}"
            of_examples += " switched" * self.switched
        return f"{TREE_VERSION} arriving shape{of_examples}"

    @property
    def blends_softness(self) -> bool:
        """Whether the positions of the soft copy can be blended with those that arrive posed.

        What reads the shape at rest from the arriving mesh needs that unposed.
        """
        reads_shape = self.stepped or self.shaped or self.unmasks or self.examples is not None
        return self.base == "SOFT" and not (reads_shape or self.blended)

    @property
    def reads_linear(self) -> bool:
        """Whether Blender has to deform that shape to LINEAR for it, too."""
        return self.blended and self.base == "ARMATURE"

    @property
    def lets_pass(self) -> bool:
        """Whether the base is the whole deformation: the tree adds nothing and reads no pose."""
        is_all = RULES[self.method].armature_modifier == "ALL"
        is_all &= not self.blended and self.solved is None
        return self.base == "ARMATURE" and is_all


class ShapeCounts(NamedTuple):
    """The shapes that act on a mesh, in numbers; None for none."""

    examples: ExampleCounts | None = None
    solved: SolvedCounts | None = None


def kind_for(
    deformation: Deformation,
    shapes: ShapeCounts,
    base: Base,
    *,
    masked: bool,
    shape_varies: bool,
    sets: int,
    sampled: bool = False,
    base_is_on: bool = True,
) -> TreeKind:
    """The kind of tree that deforms a mesh.

    Args:
        masked: whether the Armature modifier is limited to a vertex group.
        shape_varies: whether shape keys or modifiers can change the shape before skinning.
        sets: how many sets of bones it has.
        sampled: whether an attribute object has its attributes.
        base_is_on: whether the Armature modifier is on, in viewports and renders.
    """
    influences, method = deformation.influences, deformation.method
    own, compensates = base == "OWN", method == "COMPENSATED"
    blended = deformation.blend is not None
    adds = compensates or blended or shapes != ShapeCounts()
    compensation = deformation.compensation
    measured = isinstance(compensation, MeasuredJoints)
    aside = isinstance(compensation, MeasuredJoints) and compensation.points_aside
    swings = compensation.swings if compensation is not None else None
    twists = deformation.twist_limbs
    swung = swings.amounts if swings is not None and swings.acts else None
    turned = twists if twists is not None and len(twists.rows) else None
    most = max(
        0 if swung is None else int((swung[:, 0] > 0.0).sum()),
        0 if turned is None else len(turned.rows),
    )
    count = influences.vertex_count
    share = 0.0 if count < _SMALL else _SHARE_AT_ONCE
    at_once = count < _LARGE and most > share * count
    few_share = RULES[method].by_bones and _VERTICES_PER_SET * sets > influences.vertex_count
    return TreeKind(
        method,
        base,
        slots_for(influences.width) if own else 0,
        masked=masked and (own or adds),
        unmasks=masked and adds and not own,
        painted=compensates and deformation.painted is not None,
        scattered=own and few_share,
        measured=measured,
        aside=aside,
        swung=0 if swung is None else swung.shape[1],
        turns=0 if turned is None else turned.limbs.shape[1],
        at_once=measured and not own and at_once,
        shaped=measured and shape_varies,
        blended=blended,
        sampled=sampled,
        switched=adds and base == "ARMATURE" and not base_is_on,
        examples=shapes.examples,
        solved=shapes.solved,
    )


def slots_for(influences: int) -> int:
    """The slots of a tree for so many influences: three per vector of weights, and one."""
    return 3 * max(1, -(-(influences - 1) // 3)) + 1
