"""Declares the kernels of skinning: the textures, the pass and the constants of each in one row.

A new method is a row in `KERNELS` with the functions that fill its textures. Parts of kernels that
act for some deformations only are rows in `OPTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from operator import attrgetter
from typing import Literal

import numpy as np

from ..arrays import Float32s, Floats, Int32s, Int64s, Integers
from ..core.compensation import PublishedCompensation
from ..core.deform import BLENDED_METHODS, Deformation
from ..core.influences import Influences
from ..core.measured_joints import MeasuredJoints
from ..core.skeleton import Skeleton
from ..core.swing_joints import MOST_SWUNG, SWINGS, SwingJoints
from ..core.twist_limbs import TURNS, TwistLimbs
from ..core.vectors import places_in_rows

# Influences have 4 bytes each: 14 bits of bone and 16 bits of weight, in a float's bits.
MAX_BONES = 1 << 14
# The quantised weights of a vertex sum to this exactly, which is how the shaders find their end.
WEIGHT_SUM = 65535
# Pixel addresses travel in float32, which holds whole numbers up to here.
MAX_TEXELS = 1 << 24
# The texels of an instance and of a bone at rest, as `instance_rows.glsl` and `chain_bones.glsl`
# say.
INSTANCE_STRIDE, BONE_STRIDE = 5, 8
MAX_INSTANCES = 65_535
"""The largest count of one dimension of a dispatch on every driver."""
_SLOTS_PER_TEXEL = 4


def pack_influences(influences: Influences) -> tuple[Float32s, Int64s]:
    """Quantise the weights to 16 bits and lay them out as `influences.glsl` reads them.

    Returns:
        texels of shape (t, 4): four influences each, in blending order, 0 where unused; a vertex
        begins with a texel of its own. And the first texel of each vertex, shape (n,), -1 for one
        that no bone moves.

    Raises:
        ValueError: there are more bones or influences than the layout can name.
    """
    if int(influences.bones.max(initial=0)) >= MAX_BONES:
        raise ValueError(f"The GPU display has a limit of {MAX_BONES} bones for an armature")
    shares = quantised_weights(influences.weights)
    counts = np.count_nonzero(shares, axis=1)
    texel_counts = -(-counts // _SLOTS_PER_TEXEL)
    ends = np.cumsum(texel_counts)
    total = int(ends[-1]) if len(ends) else 0
    if total > MAX_TEXELS:
        raise ValueError(f"The GPU display has a limit of {4 * MAX_TEXELS} influences for a mesh")
    starts = ends - texel_counts
    bones = influences.bones
    if influences.blending_order is not None:
        order = influences.blending_order.astype(np.intp)
        bones = np.take_along_axis(bones, order, axis=1)
        shares = np.take_along_axis(shares, order, axis=1)
    vertices, slots = np.nonzero(shares)
    # Shares that rounding took away leave no gaps.
    places = places_in_rows(vertices, counts)
    texels = np.zeros(total * _SLOTS_PER_TEXEL, np.float32)
    texels[starts[vertices] * _SLOTS_PER_TEXEL + places] = floats_from_bits(
        bones[vertices, slots], shares[vertices, slots]
    )
    return texels.reshape(-1, _SLOTS_PER_TEXEL), np.where(counts > 0, starts, -1)


def floats_from_bits(upper: Integers, lower: Integers) -> Float32s:
    """14 and 16 bits in the bits of ordinary floats, which survive every copy and conversion.

    The exponent is 64 to 127, whatever the bits are: never a denormal, an infinity or a NaN.
    """
    payload = (upper.astype(np.uint32) << np.uint32(16)) | lower.astype(np.uint32)
    word = (payload & np.uint32(0x1FFFFFFF)) | np.uint32(1 << 29)
    word |= (payload >> np.uint32(29)) << np.uint32(31)
    return word.view(np.float32)


def quantised_weights(weights: Floats) -> Int32s:
    """Weights (n, k) in 1/65535, shape (n, k); each row sums to `WEIGHT_SUM` or is all zeros.

    What rounding leaves over goes to the strongest influences, one unit each, so that no weight is
    off by more than two units for any usual number of influences.
    """
    shares = np.rint(weights * np.float64(WEIGHT_SUM)).astype(np.int32)
    left_over = np.where(shares[:, :1] > 0, WEIGHT_SUM - shares.sum(axis=1, keepdims=True), 0)
    if left_over.any():
        units = np.arange(shares.shape[1]) < np.abs(left_over)
        # A share that became 0 before others would end the row.
        units &= shares >= 2
        shares += np.sign(left_over) * units
        shares[:, :1] += left_over - np.sign(left_over) * units.sum(axis=1, keepdims=True)
    return shares


Kernel = Literal["LINEAR", "DUAL_QUATERNION", "PUBLISHED", "MEASURED", "SPHERICAL_JOINT"]
"""The ways to skin vertices: the methods, with COMPENSATED by the published curves and MEASURED."""


@dataclass(frozen=True)
class PosePaletteLayout:
    """The parts of a bone in the pose palette, in this order: one vec4 each, three of the matrix.

    Attributes:
        rotation: the unit quaternion of the rigid part.
        matrix: the first three rows of D.
    """

    rotation: bool = False
    dual: bool = False
    matrix: bool = False

    @property
    def stride(self) -> int:
        """The number of vec4 of a bone."""
        return self.rotation + self.dual + 3 * self.matrix

    @property
    def places(self) -> dict[str, str]:
        """The places of the parts of a bone, by their names in shaders; the rotation is first."""
        places = {"PALETTE_STRIDE": str(self.stride)}
        if self.dual:
            places["PALETTE_DUAL"] = str(int(self.rotation))
        if self.matrix:
            places["PALETTE_MATRIX"] = str(self.rotation + self.dual)
        return places

    def __or__(self, other: PosePaletteLayout) -> PosePaletteLayout:
        """The parts of both layouts."""
        return PosePaletteLayout(
            self.rotation or other.rotation, self.dual or other.dual, self.matrix or other.matrix
        )

    def with_scales(self) -> PosePaletteLayout:
        """The layout for bones with a scale, which a dual quaternion cannot represent."""
        return replace(self, dual=False, matrix=True) if self.dual else self


JOINT_STRIDE = 6
"""The number of vec4 of a joint, posed and at rest, see `measured_compensation.glsl`."""


@dataclass(frozen=True)
class RestTextures:
    """Textures of a mesh or its joints at rest, which are uploaded once for a deformation.

    Attributes:
        samplers: their names in shaders.
        made_from: the attributes of `Deformation` that are read. The textures are uploaded again
            where one of these is another object.
        arrays: makes the content: for each sampler an array of shape (t,), (t, 2) or (t, 4).
    """

    samplers: tuple[str, ...]
    made_from: tuple[str, ...]
    arrays: Callable[[Deformation], tuple[Floats, ...]]


@dataclass(frozen=True)
class PosedTexture:
    """A texture that a pass fills for each pose before the kernel reads it.

    Attributes:
        name: of the image that the pass writes, and of the sampler of the kernel.
        shader: the file of the pass, without the suffix.
        at_rest: what the pass reads besides the palettes.
        count: the number of invocations for an instance.
        texels: of each invocation; 0: they stand at the rows of a pose.
        constant: the integer of both shaders that has the count; "" for none.
        scales: whether the pass has another way for bones with a scale.
    """

    name: str
    shader: str
    at_rest: RestTextures
    count: Callable[[Deformation], int]
    texels: int = 1
    constant: str = ""
    scales: bool = False


@dataclass(frozen=True)
class KernelTraits:
    """The source of a kernel, and its input besides rest positions and influences.

    Attributes:
        source: its file, without the suffix.
        palette: what it needs of each bone.
        at_rest: what it reads of each vertex; None: nothing.
        posed: the pass that runs before it; None: none.
        defines: for the compiler.
        scales: whether it has another way for bones with a scale, which SCALED chooses.
    """

    source: str
    palette: PosePaletteLayout
    at_rest: RestTextures | None = None
    posed: PosedTexture | None = None
    defines: tuple[str, ...] = ()
    scales: bool = True

    @property
    def samplers(self) -> tuple[str, ...]:
        """The names of the textures of `at_rest` and `posed`."""
        at_rest = () if self.at_rest is None else self.at_rest.samplers
        return at_rest if self.posed is None else (*at_rest, self.posed.name)

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of the integers of `posed`."""
        return () if self.posed is None or not self.posed.constant else (self.posed.constant,)


@dataclass(frozen=True)
class KernelOption:
    """A part of a kernel for some deformations; its name in capitals is defined for the compiler.

    Attributes:
        acts: its numbers in a deformation; None where the deformation does not ask for it.
        defines: more names and values for the compiler.
    """

    acts: Callable[[Deformation], object]
    at_rest: RestTextures
    defines: Mapping[str, str] = field(default_factory=dict)


def kernel_of(deformation: Deformation) -> Kernel:
    """The kernel of a method; where compensation does not act, that of dual quaternions."""
    if deformation.method != "COMPENSATED":
        return deformation.method
    if deformation.factor == 0.0:
        return "DUAL_QUATERNION"
    return "MEASURED" if isinstance(deformation.compensation, MeasuredJoints) else "PUBLISHED"


def swings_of(deformation: Deformation) -> SwingJoints | None:
    """The joints whose swings the kernel of a deformation takes along chords; None without any."""
    if kernel_of(deformation) != "MEASURED" or deformation.compensation is None:
        return None
    swings = deformation.compensation.swings
    return swings if swings is not None and swings.acts else None


def _twists_of(deformation: Deformation) -> TwistLimbs | None:
    """The limbs whose twists the kernel of a deformation spreads; None without any."""
    limbs = deformation.twist_limbs if deformation.method == "COMPENSATED" else None
    return limbs if limbs is not None and deformation.twist_spread and len(limbs.rows) else None


def _blend_of(deformation: Deformation) -> Floats | None:
    """The weights that take a deformation back to linear skinning, shape (n,); None without any."""
    return deformation.blend if deformation.method in BLENDED_METHODS else None


def _measured_amounts(deformation: Deformation) -> tuple[Floats, ...]:
    """`amounts` in `skin_dual_quaternion.glsl` with MEASURE."""
    compensation = deformation.compensation
    assert isinstance(compensation, MeasuredJoints)
    sides = compensation.limbs.sides(compensation.joints, compensation.bones)
    return _amount_rows(deformation, sides, compensation.joints)


def _published_amounts(deformation: Deformation) -> tuple[Floats, ...]:
    """`amounts` in `skin_dual_quaternion.glsl` with COMPENSATE."""
    compensation = deformation.compensation
    assert isinstance(compensation, PublishedCompensation)
    return _amount_rows(deformation, *compensation.rows.T)


def _amount_rows(deformation: Deformation, upper: Integers, lower: Integers) -> tuple[Floats, ...]:
    compensation, painted = deformation.compensation, deformation.painted
    assert compensation is not None
    amounts = compensation.amounts if painted is None else compensation.amounts * painted
    return (np.column_stack((amounts.astype(np.float32), floats_from_bits(upper, lower))),)


def _rest_joints(deformation: Deformation) -> tuple[Floats, ...]:
    """`rest_joints` and `bone_limbs` in `pose_joints.glsl`."""
    compensation = deformation.compensation
    assert isinstance(compensation, MeasuredJoints)
    limbs, skeleton = compensation.limbs, compensation.limbs.skeleton
    rows = np.zeros((len(limbs.heads), 4, 4))
    rows[:, 0, :3], rows[:, 0, 3] = limbs.heads, skeleton.start_rows[limbs.children]
    rows[:, 1, :3], rows[:, 1, 3] = limbs.forth, skeleton.end_rows[limbs.parents]
    rows[:, 2, :3], rows[:, 2, 3] = limbs.back, limbs.aside
    rows[:, 3, 0], rows[:, 3, 1] = limbs.children, limbs.parents
    return rows.reshape(-1, 4), _bone_limbs(skeleton)


def _limb_directions(deformation: Deformation) -> tuple[Floats, ...]:
    """`limb_directions` and `bone_limbs` in `pose_limbs.glsl`."""
    compensation = deformation.compensation
    assert isinstance(compensation, PublishedCompensation)
    bones = compensation.skeleton.bone_of_row
    rows = np.zeros((len(bones), 4))
    rows[:, :3], rows[:, 3] = compensation.limb_directions[bones], bones
    return rows, _bone_limbs(compensation.skeleton)


def _bone_limbs(skeleton: Skeleton) -> Floats:
    rows = np.zeros((skeleton.bone_count, 2, 4))
    rows[:, 0, :3], rows[:, 0, 3] = skeleton.heads, skeleton.start_rows
    rows[:, 1, :3], rows[:, 1, 3] = skeleton.tails, skeleton.end_rows
    return rows.reshape(-1, 4)


def _joint_count(deformation: Deformation) -> int:
    assert isinstance(deformation.compensation, MeasuredJoints)
    return len(deformation.compensation.limbs.heads)


def _pose_row_count(deformation: Deformation) -> int:
    assert isinstance(deformation.compensation, PublishedCompensation)
    return deformation.compensation.skeleton.row_count


def _vertex_sets(deformation: Deformation) -> tuple[Floats, ...]:
    """The set of each vertex, and the bone that the signs of its bones follow."""
    sets, influences = deformation.sets, deformation.influences
    assert sets is not None
    rows = np.zeros((influences.vertex_count, 2), np.float32)
    if sets.set_count:
        rows[:, 0] = np.maximum(sets.set_of_vertex, 0)
        controlling = sets.controlling[np.maximum(sets.set_of_vertex, 0)]
        rows[:, 1] = np.where(controlling >= 0, controlling, influences.bones[:, 0])
    return (rows,)


def _joint_sets(deformation: Deformation) -> tuple[Floats, ...]:
    """`joint_sets` and `joint_bones` in `joint_centres.glsl`."""
    sets = deformation.sets
    assert sets is not None
    rows = np.zeros((sets.set_count, 2, 4), np.float32)
    rows[:, 0, :3] = sets.centroid
    rows[:, 1, 0] = sets.offsets[:-1]
    rows[:, 1, 1] = np.where(sets.shared, 0, np.diff(sets.offsets))
    return rows.reshape(-1, 4), sets.bones.astype(np.float32)


def _set_count(deformation: Deformation) -> int:
    return 0 if deformation.sets is None else deformation.sets.set_count


def _weights(name: str) -> RestTextures:
    """The texture of an attribute of the deformation: one weight for each vertex."""
    return RestTextures((name,), (name,), lambda deformation: (getattr(deformation, name),))


def _swing_rows(deformation: Deformation) -> tuple[Floats, ...]:
    """`swings` and `swing_joints` in `swings.glsl`."""
    swings, painted = swings_of(deformation), deformation.painted
    assert swings is not None
    amounts = swings.amounts if painted is None else swings.amounts * painted[:, None]
    shares = np.rint(amounts * (WEIGHT_SUM / MOST_SWUNG)).astype(np.int32)
    rows = np.zeros((len(amounts), 4), np.float32)
    rows[:, : amounts.shape[1]] = floats_from_bits(swings.joints, shares)
    skeleton = swings.skeleton
    joints = np.zeros((len(swings.heads), 2, 4), np.float32)
    joints[:, 0, :3], joints[:, 0, 3] = swings.heads, skeleton.start_rows[swings.children]
    joints[:, 1, :3], joints[:, 1, 3] = swings.axes, skeleton.end_rows[swings.parents]
    return rows, joints.reshape(-1, 4)


def _twist_rows(deformation: Deformation) -> tuple[Floats, ...]:
    """`twists` and `twist_limbs` in `twists.glsl`."""
    limbs = deformation.twist_limbs
    assert limbs is not None
    count, width = limbs.limbs.shape
    rows = np.zeros((count, TURNS, 4), np.float32)
    rows[:, :width, 0] = np.where(limbs.amounts.any(axis=2), limbs.limbs, -1)
    rows[:, width:, 0] = -1.0
    rows[:, :width, 1:3] = limbs.amounts
    before, own, behind = limbs.rows_of_pose
    at_rest = np.zeros((len(own), 3, 4), np.float32)
    for part, (vectors, moving) in enumerate(
        ((limbs.heads, own), (limbs.axes, before), (limbs.across[:, 0], behind))
    ):
        at_rest[:, part, :3], at_rest[:, part, 3] = vectors, moving
    return rows.reshape(-1, 4), at_rest.reshape(-1, 4)


_RIGID = PosePaletteLayout(rotation=True, dual=True)
_OF_COMPENSATION = ("compensation", "painted")
KERNELS: dict[Kernel, KernelTraits] = {
    "LINEAR": KernelTraits("skin_linear", PosePaletteLayout(matrix=True), scales=False),
    "DUAL_QUATERNION": KernelTraits("skin_dual_quaternion", _RIGID),
    "PUBLISHED": KernelTraits(
        "skin_dual_quaternion",
        _RIGID,
        RestTextures(("amounts",), _OF_COMPENSATION, _published_amounts),
        PosedTexture(
            "limbs",
            "pose_limbs",
            RestTextures(("limb_directions", "bone_limbs"), ("compensation",), _limb_directions),
            _pose_row_count,
            texels=0,
        ),
        defines=("COMPENSATE",),
    ),
    "MEASURED": KernelTraits(
        "skin_dual_quaternion",
        _RIGID,
        RestTextures(("amounts",), _OF_COMPENSATION, _measured_amounts),
        PosedTexture(
            "joints",
            "pose_joints",
            RestTextures(("rest_joints", "bone_limbs"), ("compensation",), _rest_joints),
            _joint_count,
            texels=JOINT_STRIDE,
            constant="joint_count",
            scales=True,
        ),
        defines=("MEASURE",),
    ),
    "SPHERICAL_JOINT": KernelTraits(
        "skin_spherical_joint",
        PosePaletteLayout(rotation=True, matrix=True),
        RestTextures(("joint_of_vertex",), ("sets", "influences"), _vertex_sets),
        PosedTexture(
            "centres",
            "joint_centres",
            RestTextures(("joint_sets", "joint_bones"), ("sets",), _joint_sets),
            _set_count,
            constant="set_count",
        ),
    ),
}
OPTIONS: dict[str, KernelOption] = {
    "blend": KernelOption(_blend_of, _weights("blend")),
    # The weights by which vertices leave their places at rest; without them by 1.
    "mask": KernelOption(attrgetter("mask"), _weights("mask")),
    "swings": KernelOption(
        swings_of,
        RestTextures(("swings", "swing_joints"), _OF_COMPENSATION, _swing_rows),
        {"SWINGS": str(SWINGS)},
    ),
    "twists": KernelOption(
        _twists_of,
        RestTextures(("twists", "twist_limbs"), ("twist_limbs",), _twist_rows),
        {"TURNS": str(TURNS)},
    ),
}


def wanted_layout(deformation: Deformation) -> PosePaletteLayout:
    """The parts of a pose without scale that a deformation reads.

    The same object each time for the same kernel.
    """
    return _layout_of(kernel_of(deformation), deformation.blend is not None)


@cache
def _layout_of(kernel: Kernel, blended: bool) -> PosePaletteLayout:
    layout = KERNELS[kernel].palette
    layout = layout.with_scales() if blended else layout
    # Joints are posed by dual quaternions where there are no matrices.
    return replace(layout, rotation=True)
