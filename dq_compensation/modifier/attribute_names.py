"""The names of attributes in meshes, and the kind of tree that a mesh needs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

from ..arrays import Float32s
from ..core.deform import RULES, Deformation, Method
from ..core.measured_joints import MeasuredJoints
from ..scene.binding.shape_key_offsets import Examples

# The names of what the modifier display keeps in meshes; the dot hides them in the spreadsheet.


PREFIX = ".dqc_"

# Of what is evaluated, where other vertices arrive than there were when the rest was written.
MISFIT = f"{PREFIX}misfit"

# Of what is evaluated: where vertices are before the Armature modifier; `arriving_shape`.
ARRIVING = f"{PREFIX}arriving"
# And where an Armature modifier of ours takes them to LINEAR, by what the blend group leaves of 1.
LINEAR = f"{PREFIX}linear"
# And that shape before example poses move it, where the Armature modifier may be off.
UNMOVED = f"{PREFIX}unmoved"

# The inputs of a tree with the soft copy, and with that which is deformed to LINEAR.
SOFT_COPY, LINEAR_COPY = "Soft Copy", "Linear Copy"
# And with the object that has the tables and offsets of solved shapes.
SOLVED_INPUT = "Solved Shapes"

# Of every vertex.
SET = f"{PREFIX}set"  # the row of its bones in the table of sets
WEIGHTS = f"{PREFIX}weights"  # three weights each, in blending order; the last slot takes the rest
STRONGEST = f"{PREFIX}strongest"  # the palette row of its strongest bone
PAIR = f"{PREFIX}pair"  # where the evaluated palette has its joint or its pair of bones
# The limb that it is measured against by MEASURED: how far it is from that at rest,
REST_DISTANCE = f"{PREFIX}kept"
JOINT_DISTANCE = f"{PREFIX}farthest"  # and how far from the joint;
# where shape keys change these, the joint and the direction of the limb at rest.
REST_HEAD = f"{PREFIX}joint"
REST_RAY = f"{PREFIX}limb"
AMOUNT = f"{PREFIX}amount"  # `amounts` of its `core.compensation.Compensation`
# The joints whose swing takes it along chords, points of the evaluated palette, and
SWING_JOINT = f"{PREFIX}swing_joint"
SWING_AMOUNT = f"{PREFIX}swing_amount"  # twice their `amounts`, one attribute each.

# The limbs whose twists are spread along it, points of the evaluated palette, and
TURN_LIMB = f"{PREFIX}turn_limb"
TURN_AMOUNTS = f"{PREFIX}turn_amounts"  # their `amounts` as x and y, one attribute each.

# The blocks of solved shapes that move it, in slots: the first shape of the block in the tables of
# `solved_points`, or one without a block; and the row of the vertex in the block.
SOLVED_FIRST = f"{PREFIX}solved_first"
SOLVED_ROW = f"{PREFIX}solved_row"

# Tables, written from the first vertex on: a mesh has never more sets than vertices.
SET_BONE = f"{PREFIX}set_bone"  # palette rows, one attribute per slot
SET_CENTROID = f"{PREFIX}set_centroid"
SET_JOINT = f"{PREFIX}set_joint"  # 1 the joint is shared, 0 it is not
SET_REFERENCE = f"{PREFIX}set_reference"  # palette row of the controlling bone, -1 without one
SET_SIZE = f"{PREFIX}set_size"  # the number of bones

# The example poses, see `core.example_poses`: of every vertex how many bones have poses that move
# it; for each of these the first row of the bone in the tables below, and the offsets of its poses,
# times their factors: the columns of matrices, three poses in each.
EXAMPLES_REACH = f"{PREFIX}examples_reach"
EXAMPLE_BONE = f"{PREFIX}example_bone"
EXAMPLE_OFFSETS = f"{PREFIX}example_offsets"
# Tables with a row for rest, then one for each pose of a bone, for every bone with examples: the
# limb at rest; the direction; the palette rows of the bone and its parent, and the falloff; what
# the row counts for the poses of its bone, three in each; and where rotations count for any bone,
# the rotation, and 1 where it counts, 0 where the direction does. Where weights of any bone are
# linear: the kind of its joint, 0 of a bone with Gaussians; the angles of the hat of the row; its
# azimuth, and how far the hat reaches below and above it. Its direction is the side of the limb.
EXAMPLE_LIMB = f"{PREFIX}example_limb"
EXAMPLE_DIRECTION = f"{PREFIX}example_direction"
EXAMPLE_BONES = f"{PREFIX}example_bones"
EXAMPLE_SOLUTION = f"{PREFIX}example_solution"
EXAMPLE_ROTATION = f"{PREFIX}example_rotation"
EXAMPLE_TWISTS = f"{PREFIX}example_twists"
EXAMPLE_KIND = f"{PREFIX}example_kind"
EXAMPLE_ANGLES = f"{PREFIX}example_angles"
EXAMPLE_WAY = f"{PREFIX}example_way"

# Of the palette, row by row: of each bone its own axes at rest and where its first point is,
PALETTE_REST = f"{PREFIX}palette_rest"
PALETTE_LENGTH = f"{PREFIX}length"  # and how far from that the points of the axes are;
# of the ends of bendy bones the head or tail, and where the row of the other end is: 1 or -1;
PALETTE_END = f"{PREFIX}palette_end"
PALETTE_PARTNER = f"{PREFIX}palette_partner"
PALETTE_GROUP = f"{PREFIX}palette_group"  # the vertex group that moves it, -1 for none.
# Of the points that the evaluated palette has: what is kept at least of LIMB_HOLD.
LEAST_HOLD = f"{PREFIX}least_hold"
# With bendy bones: x the first of the palette's points for it, y 1 where it is the joint of a limb.
JOINT_POINTS = f"{PREFIX}joint_points"
# Of its edges.
REST_LENGTH = f"{PREFIX}rest_length"
# The tables that meshes have asked for, see `palette_points`:
JOINT_ROWS = f"{PREFIX}joint_rows"
PAIR_ROWS = f"{PREFIX}pair_rows"

# Of the evaluated palette: row by row see `bone_nodes.posed_bones` and `vertex_nodes.pair_offset`,
# at the points of joints `measured_nodes`;
BONE = f"{PREFIX}bone"
BONE_MATRIX = f"{PREFIX}bone_matrix"
BONE_TURN = f"{PREFIX}bone_turn"
BONE_GROWTH = f"{PREFIX}bone_growth"  # its mean size less 1; only where any bone is scaled
SWING = f"{PREFIX}swing"
TWIST = f"{PREFIX}twist"
LIMB_HOLD = f"{PREFIX}limb_hold"
LIMB_STATE = f"{PREFIX}limb_state"  # only where there is more to tell of a limb than positions
POSED_PAIR = f"{PREFIX}posed_pair"

# Of what is evaluated, made by our modifiers as they go.
OF_EVALUATED = frozenset({ARRIVING, UNMOVED, LINEAR})
OF_PALETTE = frozenset(
    {PALETTE_REST, PALETTE_LENGTH, PALETTE_END, PALETTE_PARTNER, PALETTE_GROUP, JOINT_ROWS}
    | {
        LEAST_HOLD,
        JOINT_POINTS,
        PAIR_ROWS,
        BONE,
        BONE_MATRIX,
        BONE_TURN,
        BONE_GROWTH,
        SWING,
        TWIST,
        LIMB_HOLD,
        LIMB_STATE,
        POSED_PAIR,
    }
)


def numbered(name: str, number: int) -> str:
    """One of several attributes."""
    return f"{name}_{number}"


# The kind of tree that a mesh needs. All meshes of one kind share a tree.


# Bump it when trees or attributes of older versions of the add-on have to be made anew.
TREE_VERSION = 38

Base = Literal["ARMATURE", "SOFT", "OWN"]
"""What the tree adds to. ARMATURE: the Armature modifier stays on, and the tree adds the offset of
the compensation alone. SOFT: the same to what the Armature modifier of the soft copy gives, and
that of the object is hidden. OWN: the tree skins the mesh, and the Armature modifier is hidden."""

READS = frozenset({"bones", "turns", "sizes"})
"""What trees may read of the bones in a palette: all that skins vertices; their rotations, for the
weights of example poses and solved shapes; and how large they are, for solved shapes."""

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
        swung=swings.amounts.shape[1] if swings is not None and swings.acts else 0,
        turns=twists.limbs.shape[1] if twists is not None and len(twists.rows) else 0,
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
