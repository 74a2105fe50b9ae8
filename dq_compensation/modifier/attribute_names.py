"""The names of attributes in meshes, and the kind of tree that a mesh needs."""

from __future__ import annotations

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
# How far vertices go from where the painted weights take them to where the soft copy does.
SOFT_SHARE = "Soft Share"
# The input with the object that has the tables and offsets of solved shapes.
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
# Of these, too: the first of the palette's points for it; 1 where it is the joint of a limb.
JOINT_POINT = f"{PREFIX}joint_point"
LIMB_JOINT = f"{PREFIX}limb_joint"
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
        JOINT_POINT,
        LIMB_JOINT,
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
