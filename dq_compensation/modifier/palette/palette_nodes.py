"""The node tree of palette objects: what depends on the pose alone, once per armature and frame.

From the palette's posed points it makes a cloud with one point per row, on which the trees of
meshes find the bones (`bone_nodes`), and what meshes have asked for in the tables of
`palette_tables`: joints with a limb or a swing (`measured_nodes`), limbs that twist (`twist_nodes`)
and pairs of bones (`set_nodes`).
A mesh then takes one *Sample Index* for a joint or a pair. What no mesh reads is not computed.

A *Sample Index* from a cloud of points takes a third of the time that it takes from a mesh.

Where no bone is scaled or bendy and no joint comes apart, that takes a few nodes: they are asked
first, in each frame.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial, reduce
from operator import add

import bpy

from ..attribute_names import POSED_PAIR
from ..nodes.bone_nodes import (
    any_stretched,
    bone_matrices,
    bone_turns,
    with_bones,
    with_rigid_parts,
    with_straightness,
)
from ..nodes.measured_nodes import rigid_limbs, with_limbs, with_swings
from ..nodes.node_builder import TreeBuilder, grouped
from ..nodes.node_values import Cloud, Geometry, Scalar, Vector
from ..nodes.own_trees import TreeInput, in_one_group
from ..nodes.set_nodes import pair_offset
from ..nodes.twist_nodes import with_twists
from ..tree_kind import TREE_VERSION


@dataclass(frozen=True)
class PaletteKind:
    """The needs of the meshes of a palette. Palettes of one kind share a tree.

    Attributes:
        bendy: whether there are bendy bones.
        bones: whether trees of meshes read the bones themselves.
        joints: whether they read joints.
        swings: whether any of these swings.
        twists: whether any of these is of a limb that twists.
        pairs: whether they read pairs of bones.
    """

    bendy: bool = False
    bones: bool = False
    joints: bool = False
    swings: bool = False
    twists: bool = False
    pairs: bool = False

    @property
    def is_read(self) -> bool:
        """Whether anybody reads anything; else a palette needs no tree."""
        return self.bones or self.joints or self.pairs

    @property
    def key(self) -> str:
        """The key that is stored in the tree."""
        options = "".join(f" {field.name}" for field in fields(self) if getattr(self, field.name))
        return f"{TREE_VERSION} palette{options}"


INPUTS = (
    TreeInput("Points", "Int", 1, True, "How many it shows: as many as the longest table needs"),
    TreeInput("Bone Rows", "Int", 1, True, "How many rows the bones have"),
    TreeInput("Length", "Float", 1.0, True, "How far the points of the axes are from the origin"),
)


def build_palette_tree(kind: PaletteKind) -> bpy.types.NodeTree:
    """A new tree."""

    def add_nodes(tree: bpy.types.NodeTree) -> None:
        _Assembly(TreeBuilder(tree), kind).build()

    return in_one_group("DQ Compensation: Palette", INPUTS, add_nodes)


class _Assembly:
    """Puts the parts together."""

    def __init__(self, build: TreeBuilder, kind: PaletteKind) -> None:
        self.b = build
        self.kind = kind
        outputs = build.node("NodeGroupInput").outputs
        self.palette = Geometry(build, outputs["Geometry"])
        self.points, self.bone_rows, self.length = (
            Scalar(build, outputs[each.name]) for each in INPUTS
        )

    def build(self) -> None:
        """All nodes, from the group's inputs to its output."""
        shown = self._shown()
        if self.kind.swings:
            shown = grouped(self.b, "DQ Compensation swings", with_swings, shown)
        if self.kind.twists:
            shown = grouped(self.b, "DQ Compensation twists", with_twists, shown)
        self.b.node("NodeGroupOutput", shown)

    def _shown(self) -> Geometry:
        if self.kind.bendy or self.kind.bones:
            return self._of_any_bones()
        build, palette, length = self.b, self.palette, self.length
        shown = build.points(self.points, self._state())
        doubts: list[Scalar] = []
        if self.kind.joints:
            doubts.append(any_stretched(build, palette, length))
            shown = build.points(self.points, self._rigid_limbs())
        if self.kind.pairs:
            of_bones = (palette, self.bone_rows, length)
            turned = grouped(build, "DQ Compensation bone turns", bone_turns, *of_bones)
            doubts.append(turned.geometry.greatest(turned.fields["scaled"]))
            shown = self._with_pairs(shown, turned)
        if not doubts:
            return shown
        return build.choose(reduce(add, doubts), shown, self._of_any_bones())

    def _rigid_limbs(self) -> Vector:
        of_joints = (self.palette, self.bone_rows, self.length)
        return grouped(self.b, "DQ Compensation rigid joints", rigid_limbs, *of_joints)

    def _state(self) -> Vector:
        """The state in the first point where there are no joints: `bone_nodes.palette_state`."""
        return self.b.vector(self.length, 0.0, 0.0)

    def _of_any_bones(self) -> Geometry:
        """The points for meshes where bones may be scaled or bendy, and joints come apart."""
        build, kind, palette, length = self.b, self.kind, self.palette, self.length
        cloud, last = build.points(self.points, self._state()), self.bone_rows - 1.0
        part = partial(bone_matrices, bendy=kind.bendy)
        bones = grouped(build, "DQ Compensation bones", part, palette, cloud, last, length)
        any_scaled = bones.geometry.greatest(bones.fields["scaled"]) > 0.5
        if kind.bones or kind.pairs:
            of_bones = (palette, bones, any_scaled, last)
            bones = grouped(build, "DQ Compensation rigid parts", with_rigid_parts, *of_bones)
        if kind.bendy:
            bones = grouped(build, "DQ Compensation bendy bones", with_straightness, palette, bones)
        shown = bones.geometry
        if kind.bones:
            named = Cloud(shown, bones.fields)
            shown = grouped(build, "DQ Compensation dual quaternions", with_bones, named)
        if kind.joints:
            part = partial(with_limbs, bendy=kind.bendy)
            named = Cloud(shown, bones.fields)
            of_joints = (palette, named, any_scaled, length)
            limbs = grouped(build, "DQ Compensation joints", part, *of_joints)
            if kind.bones and not kind.bendy:
                rigid = shown.set_position(self._rigid_limbs())
                limbs = build.choose(any_stretched(build, palette, length), rigid, limbs)
            shown = limbs
        if kind.pairs:
            turned = bones.geometry.capture({"turn": bones.fields["rigid"].rotation()})
            straight = {name: bones.fields[name] for name in ("straight",) if kind.bendy}
            shown = self._with_pairs(shown, Cloud(turned.geometry, {**turned.fields, **straight}))
        return shown

    def _with_pairs(self, shown: Geometry, turned: Cloud) -> Geometry:
        """Points with POSED_PAIR, from rotations of bones, and how `straight` bendy ones are."""
        offset = grouped(self.b, "DQ Compensation pairs", pair_offset, self.palette, turned)
        return shown.store(POSED_PAIR, offset)
