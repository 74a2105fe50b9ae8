"""The node tree of palette objects: what depends on the pose alone, once per armature and frame.

It adds attributes to the palette's points, a row of each on a point: the bones (`bone_nodes`), and
what meshes have asked for in the tables of `palette_tables`, joints with a limb (`measured_nodes`)
and pairs of bones (`set_nodes`). A mesh then takes one *Sample Index* for a joint or a pair. What
no mesh reads is not computed.

All palettes of a file share one tree.
"""

from __future__ import annotations

import bpy

from .attribute_names import POSED_JOINT, POSED_PAIR
from .bone_nodes import bone_matrices, with_bones
from .measured_nodes import posed_joint
from .node_builder import TreeBuilder
from .node_groups import grouped
from .node_values import Geometry, Scalar
from .own_trees import TreeInput, new_modifier_tree
from .set_nodes import pair_offset
from .tree_kind import TREE_VERSION

PALETTE_TREE_KEY = f"{TREE_VERSION} palette"


INPUTS = (
    TreeInput("Bones", "Bool", False, True, "Whether trees of meshes read the bones"),
    TreeInput("Joints", "Bool", False, True, "Whether meshes have asked for joints"),
    TreeInput("Pairs", "Bool", False, True, "Whether meshes have asked for pairs of bones"),
)


def build_palette_tree() -> bpy.types.NodeTree:
    """A new tree."""
    tree = new_modifier_tree("DQ Compensation: Palette", INPUTS)
    build = TreeBuilder(tree)
    outputs = build.node("NodeGroupInput").outputs
    with_bones_too, with_joints, with_pairs = (Scalar(build, outputs[each.name]) for each in INPUTS)
    palette = Geometry(build, outputs["Geometry"])
    bones, any_scaled = grouped(build, "DQ Compensation bones", bone_matrices, palette)
    stored = grouped(build, "DQ Compensation dual quaternions", with_bones, bones)
    shown = build.choose(with_bones_too, bones.geometry, stored)
    joint = grouped(build, "DQ Compensation joints", posed_joint, bones, any_scaled)
    shown = build.choose(with_joints, shown, shown.store(POSED_JOINT, joint))
    offset = grouped(build, "DQ Compensation pairs", pair_offset, bones)
    shown = build.choose(with_pairs, shown, shown.store(POSED_PAIR, offset))
    build.node("NodeGroupOutput", shown)
    return tree
