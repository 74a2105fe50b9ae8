"""The node tree of palette objects: what depends on the pose alone, once per armature and frame.

From the palette's posed points it makes a cloud with one point per row, on which the trees of
meshes find the bones (`bone_nodes`), and what meshes have asked for in the tables of
`palette_tables`: joints with a limb (`measured_nodes`) and pairs of bones (`set_nodes`). A mesh
then takes one *Sample Index* for a joint or a pair.

All palettes of a file share one tree.
"""

from __future__ import annotations

import bpy

from .attribute_names import COUNTS, POSED_JOINT, POSED_PAIR
from .bone_nodes import posed_bones, stored_bones
from .measured_nodes import posed_joints
from .node_builder import TreeBuilder
from .node_groups import grouped
from .node_values import Geometry, Vector
from .own_trees import new_modifier_tree
from .set_nodes import pair_offsets
from .tree_kind import TREE_VERSION

PALETTE_TREE_KEY = f"{TREE_VERSION} palette"


def build_palette_tree() -> bpy.types.NodeTree:
    """A new tree."""
    tree = new_modifier_tree("DQ Compensation: Palette")
    build = TreeBuilder(tree)
    palette = Geometry(build, build.node("NodeGroupInput").outputs["Geometry"])
    counts = palette.sample(build.attribute(COUNTS, Vector), build.constant(0))
    bone_count, joint_count, pair_count = counts.components()
    points = build.points(bone_count.maximum(joint_count).maximum(pair_count))
    shown, any_scaled = grouped(
        build, "DQ Compensation bones", stored_bones, palette, points, bone_count
    )
    bones = posed_bones(build, shown)
    joint = grouped(build, "DQ Compensation joints", posed_joints, palette, bones, any_scaled)
    shown = build.choose(joint_count > 0.5, shown, shown.store(POSED_JOINT, joint))
    offset = grouped(build, "DQ Compensation pairs", pair_offsets, palette, bones)
    shown = build.choose(pair_count > 0.5, shown, shown.store(POSED_PAIR, offset))
    build.node("NodeGroupOutput", shown)
    return tree
