"""The node tree of palette objects: what depends on the pose alone, once per armature and frame.

From the palette's posed points it makes a cloud with one point per row, on which the trees of
meshes find the bones (`bone_nodes`), and what meshes have asked for in the tables of
`palette_tables`: joints with a limb or a swing (`measured_nodes`) and pairs of bones (`set_nodes`).
A mesh then takes one *Sample Index* for a joint or a pair. What no mesh reads is not computed.

A *Sample Index* from a cloud of points takes a third of the time that it takes from a mesh.

All palettes of a file share one tree.
"""

from __future__ import annotations

import bpy

from .attribute_names import POSED_PAIR
from .bone_nodes import (
    any_stretched,
    bone_matrices,
    bone_turns,
    with_bones,
    with_state,
    with_straightness,
)
from .measured_nodes import with_limbs, with_rigid_limbs, with_swings
from .node_builder import TreeBuilder
from .node_groups import grouped
from .node_values import Cloud, Geometry, Scalar
from .own_trees import TreeInput, in_one_group
from .set_nodes import pair_offset
from .tree_kind import TREE_VERSION

PALETTE_TREE_KEY = f"{TREE_VERSION} palette"


INPUTS = (
    TreeInput("Rows", "Int", 1, True, "How many rows the longest table has"),
    TreeInput("Bone Rows", "Int", 1, True, "How many rows the bones have"),
    TreeInput("Length", "Float", 1.0, True, "How far the points of the axes are from the origin"),
    TreeInput("Bendy", "Bool", False, True, "Whether there are bendy bones"),
    TreeInput("Bones", "Bool", False, True, "Whether trees of meshes read the bones"),
    TreeInput("Joints", "Bool", False, True, "Whether meshes have asked for joints"),
    TreeInput("Swings", "Bool", False, True, "Whether meshes have asked for swings of joints"),
    TreeInput("Pairs", "Bool", False, True, "Whether meshes have asked for pairs of bones"),
)


def build_palette_tree() -> bpy.types.NodeTree:
    """A new tree."""
    return in_one_group("DQ Compensation: Palette", INPUTS, _add_nodes)


def _add_nodes(tree: bpy.types.NodeTree) -> None:
    build = TreeBuilder(tree)
    outputs = build.node("NodeGroupInput").outputs
    inputs = {each.name: Scalar(build, outputs[each.name]) for each in INPUTS}
    palette = Geometry(build, outputs["Geometry"])
    of_any = _with_any_bones(build, palette, inputs)
    turned = grouped(
        build,
        "DQ Compensation bone turns",
        bone_turns,
        palette,
        inputs["Bone Rows"],
        inputs["Length"],
    )
    # Nobody looks where it does not matter.
    stretched = any_stretched(build, palette, inputs["Length"])
    stretched = build.choose(inputs["Joints"], 0.0, stretched)
    scaled = turned.geometry.greatest(turned.fields["scaled"])
    scaled = build.choose(inputs["Pairs"], 0.0, scaled)
    always = inputs["Bendy"] + inputs["Bones"]
    needed = build.choose(always, stretched + scaled, 1.0)
    of_rigid = _with_rigid_bones(build, palette, turned, inputs)
    shown = build.choose(needed, of_rigid, of_any)
    swings = grouped(build, "DQ Compensation swings", with_swings, shown)
    build.node("NodeGroupOutput", build.choose(inputs["Swings"], shown, swings))


def _with_rigid_bones(
    build: TreeBuilder, palette: Geometry, turned: Cloud, inputs: dict[str, Scalar]
) -> Geometry:
    """What meshes read where no bone is scaled or bendy, and no joint comes apart.

    Args:
        turned: `bone_turns`.
    """
    shown = with_state(build, build.points(inputs["Rows"]), inputs["Length"])
    joints = grouped(
        build,
        "DQ Compensation rigid joints",
        with_rigid_limbs,
        palette,
        shown,
        inputs["Bone Rows"],
    )
    shown = build.choose(inputs["Joints"], shown, joints)
    offset = grouped(build, "DQ Compensation rigid pairs", pair_offset, palette, turned)
    return build.choose(inputs["Pairs"], shown, shown.store(POSED_PAIR, offset))


def _with_any_bones(build: TreeBuilder, palette: Geometry, inputs: dict[str, Scalar]) -> Geometry:
    """What meshes read."""
    bendy = inputs["Bendy"]
    bones, any_scaled = grouped(
        build,
        "DQ Compensation bones",
        bone_matrices,
        palette,
        build.points(inputs["Rows"]),
        inputs["Bone Rows"] - 1.0,
        inputs["Length"],
        bendy,
    )
    bones = grouped(build, "DQ Compensation bendy bones", with_straightness, palette, bones, bendy)
    shown = with_state(build, bones.geometry, inputs["Length"])
    stored = grouped(
        build, "DQ Compensation dual quaternions", with_bones, Cloud(shown, bones.fields)
    )
    shown = build.choose(inputs["Bones"], shown, stored)
    joints = grouped(
        build,
        "DQ Compensation joints",
        with_limbs,
        palette,
        Cloud(shown, bones.fields),
        any_scaled,
        bendy,
        inputs["Length"],
    )
    shown = build.choose(inputs["Joints"], shown, joints)
    turned = bones.geometry.capture({"turn": bones.fields["rigid"].rotation()})
    straight = build.choose(bendy, 1.0, bones.fields["straight"])
    turned = Cloud(turned.geometry, {**turned.fields, "straight": straight})
    offset = grouped(build, "DQ Compensation pairs", pair_offset, palette, turned)
    return build.choose(inputs["Pairs"], shown, shown.store(POSED_PAIR, offset))
