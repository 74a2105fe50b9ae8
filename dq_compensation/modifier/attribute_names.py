"""The names of what the modifier display keeps in meshes; the dot hides them in the spreadsheet."""

from __future__ import annotations

PREFIX = ".dqc_"

# Of what is evaluated, where other vertices arrive than there were when the rest was written.
MISFIT = f"{PREFIX}misfit"

# Of every vertex.
SET = f"{PREFIX}set"  # the row of its bones in the table of sets
WEIGHTS = f"{PREFIX}weights"  # three weights each, in blending order; the last slot takes the rest
STRONGEST = f"{PREFIX}strongest"  # the palette row of its strongest bone
PAIR = f"{PREFIX}pair"  # the row of its two strongest bones in the table of pairs
# The limb that it is measured against by MEASURED: how far it is from that at rest,
REST_DISTANCE = f"{PREFIX}kept"
MAX_CORRECTION = f"{PREFIX}room"  # and how much farther from the joint.
AMOUNT = f"{PREFIX}amount"  # `amounts` of its `core.compensation.Compensation`

# Tables, written from the first vertex on: a mesh has never more sets than vertices.
SET_BONE = f"{PREFIX}set_bone"  # palette rows, one attribute per slot
SET_CENTROID = f"{PREFIX}set_centroid"
SET_JOINT = f"{PREFIX}set_joint"  # 1 the joint is shared, 0 it is not
SET_REFERENCE = f"{PREFIX}set_reference"  # palette row of the controlling bone, -1 without one
SET_SIZE = f"{PREFIX}set_size"  # the number of bones
# The table of pairs for MEASURED: the joint and the limb that vertices are measured against.
JOINT = f"{PREFIX}joint"  # palette rows: the bone at whose head it is,
JOINT_PARENT = f"{PREFIX}joint_parent"  # the bone before it,
JOINT_LIMB = f"{PREFIX}joint_limb"  # and the one of the two whose limb it is
JOINT_HEAD = f"{PREFIX}joint_head"
JOINT_RAY = f"{PREFIX}joint_ray"
JOINT_ACROSS = (
    f"{PREFIX}joint_across"  # four directions: two across the limb of the bone, two of its parent
)
PAIR_FIRST = f"{PREFIX}pair_first"
PAIR_SECOND = f"{PREFIX}pair_second"

# The example poses, see `core.example_poses`: of every vertex the offset of each,
EXAMPLE_OFFSET = f"{PREFIX}example_offset"
# a table of what each is told by (rest, then the poses of a bone, for every bone with examples):
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

# Of the palette: of bone b in row 4 b the limb direction found by itself, in the rows after it the
# bone's own axes; and how far the points of the axes are from the origin.
PALETTE_AXES = f"{PREFIX}axes"
PALETTE_LENGTH = f"{PREFIX}length"
PALETTE_RIGID = f"{PREFIX}rigid"  # the matrix of each bone without its scale, while evaluated
OF_PALETTE = frozenset((PALETTE_AXES, PALETTE_LENGTH, PALETTE_RIGID))


def numbered(name: str, number: int) -> str:
    """One of several attributes."""
    return f"{name}_{number}"
