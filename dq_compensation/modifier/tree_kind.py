"""The kind of tree that a mesh needs. All meshes of one kind share a tree."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from ..core.deform import Deformation, Method
from ..core.measured_joints import MeasuredJoints
from ..scene.binding.stored_examples import Examples

# Bump it when trees or attributes of older versions of the add-on have to be made anew.
TREE_VERSION = 24

Base = Literal["ARMATURE", "SOFT", "OWN"]
"""What the tree adds to. ARMATURE: the Armature modifier stays on, and the tree adds the offset of
the compensation alone. SOFT: the same to what the Armature modifier of the soft copy gives, and
that of the object is hidden. OWN: the tree skins the mesh, and the Armature modifier is hidden."""

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
        slots: how many influences it can blend: 4, 7, 10, ...; 0 where the base is not OWN.
        masked: whether the Armature modifier is limited to a vertex group.
        painted: whether a vertex group scales the compensation.
        scattered: whether so few vertices share a set of bones that sets save nothing.
        measured: whether COMPENSATED is MEASURED.
        swung: how many joints of MEASURED take a vertex along chords, at most.
        turns: how many limbs whose twists are spread turn a vertex, at most.
        shaped: whether shape keys or modifiers change what is measured.
        blended: whether a vertex group blends to LINEAR.
        sampled: whether the attributes are copied from an attribute object.
        switched: whether the Armature modifier that is the base is off, in viewports or renders.
        stepped: whether the soft copy has steps, for a shape that varies.
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
    turns: int = 0
    shaped: bool = False
    blended: bool = False
    sampled: bool = False
    switched: bool = False
    stepped: bool = False
    examples: ExampleCounts | None = None

    @property
    def key(self) -> str:
        """The key that is stored in the tree."""
        options = "".join(
            f" {each.name}" for each in fields(self) if getattr(self, each.name) is True
        )
        options += f" swung {self.swung}" * bool(self.swung)
        options += f" turns {self.turns}" * bool(self.turns)
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
    own, compensates = base == "OWN", method == "COMPENSATED"
    compensation = deformation.compensation
    measured = isinstance(compensation, MeasuredJoints)
    swings = compensation.swings if compensation is not None else None
    twists = deformation.twist_limbs
    few_share = method in _BY_SETS_OR_BONES and _VERTICES_PER_SET * sets > influences.vertex_count
    return TreeKind(
        method,
        base,
        slots_for(influences.width) if own else 0,
        masked=masked and (own or compensates),
        painted=compensates and deformation.painted is not None,
        scattered=own and few_share,
        measured=measured,
        swung=swings.amounts.shape[1] if swings is not None and swings.acts else 0,
        turns=twists.limbs.shape[1] if twists is not None and len(twists.rows) else 0,
        shaped=measured and shape_varies,
        blended=own and deformation.blend is not None,
        sampled=sampled,
        switched=compensates and base == "ARMATURE" and not base_is_on,
        examples=ExampleCounts.of(examples) if own and examples is not None else None,
    )


def slots_for(influences: int) -> int:
    """The slots of a tree that blends that many influences: three per vector of weights and one."""
    return 3 * max(1, -(-(influences - 1) // 3)) + 1
