"""The kind of tree that a mesh needs. All meshes of one kind share a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..core.deform import Deformation, Method
from ..core.measured_joints import MeasuredJoints
from ..scene.binding.stored_examples import Examples

# Bump it when trees or attributes of older versions of the add-on have to be made anew.
TREE_VERSION = 23

Base = Literal["ARMATURE", "OWN"]
"""What the tree adds to. ARMATURE: the Armature modifier stays on, and the tree adds the offset of
the compensation alone. OWN: the tree skins the mesh, and the Armature modifier is hidden."""

# Of COMPENSATED: where at least so many vertices share each set of bones, our own skinning is
# faster. A real human has 20 to 200 for a set, and is twice as fast on the Armature modifier.
OWN_FROM_VERTICES_PER_SET = 500

# With fewer vertices for each set of bones, what sets take up outweighs what they save. Small
# meshes are quick either way.
_VERTICES_PER_SET = 3
# The methods whose trees can go bone by bone alone, without sets.
_BY_SETS_OR_BONES: frozenset[Method] = frozenset(("DUAL_QUATERNION", "COMPENSATED"))


@dataclass(frozen=True)
class ExampleCounts:
    """How many example poses a tree knows.

    Attributes:
        poses: of all bones.
        most: poses of one bone.
        twisting: whether full rotations count for any bone.
    """

    bones: int
    poses: int
    most: int
    twisting: bool

    @classmethod
    def of(cls, examples: Examples) -> ExampleCounts:
        """Count the example poses that act on a mesh."""
        poses = examples.poses
        bones, _, most = poses.solution.shape
        return cls(bones, poses.pose_count, most, bool(poses.twists.any()))

    @property
    def table_rows(self) -> int:
        """The rows of the larger one of the two tables: rest and the poses of every bone."""
        return self.bones * (self.most + 1)


@dataclass(frozen=True)
class TreeKind:
    """The kind of a tree; meshes of one kind share one tree.

    Attributes:
        slots: how many influences it can blend: 4, 7, 10, ...; 0 where the base is ARMATURE.
        masked: whether the Armature modifier is limited to a vertex group.
        painted: whether a vertex group scales the compensation.
        scattered: whether so few vertices share a set of bones that sets save nothing.
        measured: whether COMPENSATED is MEASURED.
        swung: how many joints of MEASURED take a vertex along chords, at most.
        shaped: whether shape keys or modifiers change what is measured.
        blended: whether a vertex group blends to LINEAR.
        sampled: whether the attributes are copied from an attribute object.
        switched: whether the Armature modifier that is the base is off, in viewports or renders.
        examples: the example poses that act; None without any.
    """

    method: Method
    base: Base
    slots: int
    masked: bool
    painted: bool = False
    scattered: bool = False
    measured: bool = False
    swung: int = 0
    shaped: bool = False
    blended: bool = False
    sampled: bool = False
    switched: bool = False
    examples: ExampleCounts | None = None

    @property
    def key(self) -> str:
        """The key that is stored in the tree."""
        names = (
            "masked",
            "painted",
            "scattered",
            "measured",
            "shaped",
            "blended",
            "sampled",
            "switched",
        )
        options = "".join(f" {name}" for name in names if getattr(self, name))
        options += f" swung {self.swung}" * bool(self.swung)
        if self.examples is not None:
            of = self.examples
            options += f" examples {of.bones} {of.poses} {of.most}{' twisting' * of.twisting}"
        return f"{TREE_VERSION} {self.method} {self.base} {self.slots}{options}"

    @property
    def reads_shape(self) -> bool:
        """Whether the tree reads the shape that arrives at the Armature modifier."""
        return self.shaped and self.base == "ARMATURE"

    @property
    def lets_pass(self) -> bool:
        """Whether the base is the whole deformation: the tree adds nothing and reads no pose."""
        return self.base == "ARMATURE" and self.method != "COMPENSATED"

    @property
    def tree_name(self) -> str:
        """The tree's name in Blender's interface."""
        method = self.method.replace("_", " ").title()
        return f"DQ Compensation: {method}{' by Example' if self.examples else ''}"


def base_for(
    deformation: Deformation,
    examples: Examples | None,
    *,
    masked: bool,
    followed: bool,
    forced: bool,
    count_sets: Callable[[], int],
) -> Base:
    """The base of the tree that deforms a mesh: the faster one of those that serve.

    Args:
        masked: whether the Armature modifier is limited to a vertex group.
        followed: whether modifiers before the Armature modifier make the mesh. Where they make
            other vertices than were bound, as in renders, the base deforms those, too.
        forced: whether the Armature modifier does what our own tree does not: bendy bones,
            envelopes, mixing with other Armature modifiers.
        count_sets: gives the number of sets of bones; it takes milliseconds.
    """
    method = deformation.method
    if method == "SPHERICAL_JOINT" or deformation.blend is not None or examples is not None:
        return "OWN"
    if method != "COMPENSATED" or forced:
        return "ARMATURE"
    if deformation.segments is not None:
        return "ARMATURE"  # our own tree knows no bendy bones
    if masked:
        return "OWN"  # the offset depends on the position that is not masked
    if followed:
        return "ARMATURE"
    least = OWN_FROM_VERTICES_PER_SET * count_sets()
    return "OWN" if deformation.influences.vertex_count >= least else "ARMATURE"


def kind_for(
    deformation: Deformation,
    examples: Examples | None,
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
    compensation = deformation.compensation
    painted = method == "COMPENSATED" and deformation.painted is not None
    measured = isinstance(compensation, MeasuredJoints)
    swings = compensation.swings if compensation is not None else None
    swung = swings.amounts.shape[1] if swings is not None and swings.acts else 0
    if base == "ARMATURE":
        adds = method == "COMPENSATED"
        return TreeKind(
            method,
            base,
            0,
            masked and adds,
            painted,
            measured=measured,
            swung=swung * adds,
            shaped=measured and shape_varies,
            sampled=sampled,
            switched=adds and not base_is_on,
        )
    scattered = method in _BY_SETS_OR_BONES and _VERTICES_PER_SET * sets > influences.vertex_count
    return TreeKind(
        method,
        base,
        slots_for(influences.width),
        masked,
        painted,
        scattered,
        measured,
        swung=swung * (method == "COMPENSATED"),
        shaped=measured and shape_varies,
        blended=deformation.blend is not None,
        sampled=sampled,
        examples=None if examples is None else ExampleCounts.of(examples),
    )


def slots_for(influences: int) -> int:
    """The slots of a tree that blends that many influences: three per vector of weights and one."""
    return 3 * max(1, -(-(influences - 1) // 3)) + 1
