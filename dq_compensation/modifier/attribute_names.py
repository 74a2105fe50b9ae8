"""The names of what the modifier display keeps in meshes; the dot hides them in the spreadsheet."""

from __future__ import annotations

PREFIX = ".dqc_"

# Of what is evaluated, where other vertices arrive than there were when the rest was written.
MISFIT = f"{PREFIX}misfit"

# Of what is evaluated: where vertices are before the Armature modifier; `arriving_shape`.
ARRIVING = f"{PREFIX}arriving"

# Of every vertex.
SET = f"{PREFIX}set"  # the row of its bones in the table of sets
WEIGHTS = f"{PREFIX}weights"  # three weights each, in blending order; the last slot takes the rest
STRONGEST = f"{PREFIX}strongest"  # the palette row of its strongest bone
PAIR = f"{PREFIX}pair"  # where the evaluated palette has its joint or its pair of bones
# The limb that it is measured against by MEASURED: how far it is from that at rest,
REST_DISTANCE = f"{PREFIX}kept"
JOINT_DISTANCE = f"{PREFIX}farthest"  # how far from the joint,
CORRECTION = f"{PREFIX}correction"  # and the difference, times AMOUNT, which is not there then;
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

# Tables, written from the first vertex on: a mesh has never more sets than vertices.
SET_BONE = f"{PREFIX}set_bone"  # palette rows, one attribute per slot
SET_CENTROID = f"{PREFIX}set_centroid"
SET_JOINT = f"{PREFIX}set_joint"  # 1 the joint is shared, 0 it is not
SET_REFERENCE = f"{PREFIX}set_reference"  # palette row of the controlling bone, -1 without one
SET_SIZE = f"{PREFIX}set_size"  # the number of bones

# The example poses, see `core.example_poses`: of every vertex the offset of each,
EXAMPLE_OFFSET = f"{PREFIX}example_offset"
# a table of their rotations (rest, then the poses of a bone, for every bone with examples):
EXAMPLE_BONE = f"{PREFIX}example_bone"  # palette rows: the bone,
EXAMPLE_PARENT = f"{PREFIX}example_parent"  # and its parent
EXAMPLE_LIMB = f"{PREFIX}example_limb"
EXAMPLE_DIRECTION = f"{PREFIX}example_direction"
EXAMPLE_ROTATION = f"{PREFIX}example_rotation"  # x, y, z
EXAMPLE_ROTATION_W = f"{PREFIX}example_rotation_w"
EXAMPLE_TWISTS = f"{PREFIX}example_twists"  # 1 where the rotation counts, 0 the direction
EXAMPLE_FALLOFF = f"{PREFIX}example_falloff"
# and a table of the poses:
EXAMPLE_FIRST = f"{PREFIX}example_first"  # the row of its bone's rest in the table above,
EXAMPLE_WEIGHT = f"{PREFIX}example_weight"  # what each row from there on counts, one attribute each
EXAMPLE_SIBLING = f"{PREFIX}example_sibling"  # the poses of its bone, one attribute each; -1: none
EXAMPLE_FACTOR = f"{PREFIX}example_factor"

# Of the palette, row by row: of each bone its own axes at rest and where its first point is,
PALETTE_REST = f"{PREFIX}palette_rest"
PALETTE_LENGTH = f"{PREFIX}length"  # and how far from that the points of the axes are;
# of the ends of bendy bones the head or tail, and where the row of the other end is: 1 or -1;
PALETTE_END = f"{PREFIX}palette_end"
PALETTE_PARTNER = f"{PREFIX}palette_partner"
PALETTE_GROUP = f"{PREFIX}palette_group"  # the vertex group that moves it, -1 for none.
# Of its edges.
REST_LENGTH = f"{PREFIX}rest_length"
# The tables that meshes have asked for, see `vertex_attributes`:
JOINT_ROWS = f"{PREFIX}joint_rows"
PAIR_ROWS = f"{PREFIX}pair_rows"

# Of the evaluated palette: row by row see `bone_nodes.posed_bones` and `set_nodes.pair_offset`, at
# the points of joints `measured_nodes`;
BONE = f"{PREFIX}bone"
BONE_MATRIX = f"{PREFIX}bone_matrix"
SWING = f"{PREFIX}swing"
TWIST = f"{PREFIX}twist"
LIMB_STATE = f"{PREFIX}limb_state"  # only where there is more to tell of a limb than positions
POSED_PAIR = f"{PREFIX}posed_pair"

OF_PALETTE = frozenset(
    {PALETTE_REST, PALETTE_LENGTH, PALETTE_END, PALETTE_PARTNER, PALETTE_GROUP, JOINT_ROWS}
    | {PAIR_ROWS, BONE, BONE_MATRIX, SWING, TWIST, LIMB_STATE, POSED_PAIR}
)


def numbered(name: str, number: int) -> str:
    """One of several attributes."""
    return f"{name}_{number}"
