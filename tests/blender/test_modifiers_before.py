"""Modifiers before the Armature modifier are followed: groups and vertices as they are after them.

Positions are compared in parts of the size. 1e-4: the nodes and Blender's modifiers count in 32
bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.scene.setup import armature_modifier
from tests.blender.enabled_scenes import check, disable, enable
from tests.blender.scene_builders import evaluated_positions
from tests.limb import build_limb, pose_limb

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object
Pair = tuple[Object, Object]
TOLERANCE = 1e-4


@pytest.fixture
def limb() -> Pair:
    obj, rig = build_limb()
    pose_limb(rig)
    return obj, rig


def put_first(obj: Object, kind: str, **settings: object) -> Any:
    """A new modifier before all others."""
    modifier = obj.modifiers.new(kind.title(), kind)
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    for name, value in settings.items():
        setattr(modifier, name, value)
    bpy.context.view_layer.update()
    return modifier


def blenders_own(obj: Object, *, preserve_volume: bool = True) -> NDArray[np.float32]:
    """What the Armature modifier makes of an object that is not enabled."""
    modifier = armature_modifier(obj)
    assert modifier is not None
    modifier.use_deform_preserve_volume = preserve_volume
    bpy.context.view_layer.update()
    return evaluated_positions(obj)


def distance(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """The largest distance, in parts of the size."""
    assert one.shape == other.shape
    size = float(np.ptp(other, axis=0).max())
    return float(np.linalg.norm(one - other, axis=1).max() / size)


def shown(obj: Object, method: str) -> NDArray[np.float32]:
    obj.dq_compensation.method = method
    bpy.context.view_layer.update()
    check()
    return evaluated_positions(obj)


def mirror(obj: Object) -> None:
    put_first(obj, "MIRROR", use_axis=(True, False, False), use_bisect_axis=(True, False, False))


def mirror_three_axes(obj: Object) -> None:
    put_first(obj, "MIRROR", use_axis=(True, True, True), merge_threshold=0.01)


def subdivision(obj: Object) -> None:
    put_first(obj, "SUBSURF", levels=1)


def solidify(obj: Object) -> None:
    put_first(obj, "SOLIDIFY", thickness=0.02)


def array(obj: Object) -> None:
    put_first(obj, "ARRAY", count=3, relative_offset_displace=(0.0, 1.5, 0.0))


def decimate(obj: Object) -> None:
    put_first(obj, "DECIMATE", ratio=0.5)


def remesh(obj: Object) -> None:
    """Its vertices have no weights but by a transfer from the mesh itself."""
    source = obj.copy()
    source.data = obj.data.copy()
    source.modifiers.clear()
    bpy.context.scene.collection.objects.link(source)
    transfer = put_first(obj, "DATA_TRANSFER", object=source, use_vert_data=True)
    transfer.data_types_verts = {"VGROUP_WEIGHTS"}
    transfer.vert_mapping = "NEAREST"
    put_first(obj, "REMESH", mode="VOXEL", voxel_size=0.04)


def mask(obj: Object) -> None:
    put_first(obj, "MASK", vertex_group="Lower")


def bevel(obj: Object) -> None:
    put_first(obj, "BEVEL", width=0.004)


def weight_edit(obj: Object) -> None:
    edit = put_first(obj, "VERTEX_WEIGHT_EDIT", vertex_group="Hand", falloff_type="STEP")
    edit.use_add, edit.add_threshold, edit.default_weight = True, 0.0, 0.5


def weight_mix(obj: Object) -> None:
    put_first(obj, "VERTEX_WEIGHT_MIX", vertex_group_a="Lower", vertex_group_b="Upper", mix_set="B")


def weight_proximity(obj: Object) -> None:
    target = bpy.data.objects.new("Target", None)
    target.location = (0.7, 0.0, 0.0)
    bpy.context.scene.collection.objects.link(target)
    put_first(obj, "VERTEX_WEIGHT_PROXIMITY", vertex_group="Lower", target=target, max_dist=0.8)


def weighted_normal(obj: Object) -> None:
    put_first(obj, "WEIGHTED_NORMAL")


def node_tree(*kinds: str) -> Callable[[Object], Any]:
    """A node tree with these nodes in a row."""

    def put(obj: Object) -> Any:
        tree: Any = bpy.data.node_groups.new("Users", "GeometryNodeTree")
        for in_out in ("INPUT", "OUTPUT"):
            tree.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
        nodes = [tree.nodes.new(kind) for kind in ("NodeGroupInput", *kinds, "NodeGroupOutput")]
        for one, other in pairwise(nodes):
            tree.links.new(one.outputs[0], other.inputs[0])
        for node in nodes:
            if node.bl_idname == "GeometryNodeStoreNamedAttribute":
                node.inputs["Name"].default_value, node.inputs["Value"].default_value = "Hand", 0.5
        put_first(obj, "NODES", node_group=tree)
        return nodes

    return put


nodes_that_add_vertices = node_tree("GeometryNodeSubdivideMesh")
nodes_that_write_groups = node_tree("GeometryNodeStoreNamedAttribute")

CHANGES = {
    "mirror": mirror,
    "mirror_three_axes": mirror_three_axes,
    "subdivision": subdivision,
    "solidify": solidify,
    "array": array,
    "decimate": decimate,
    "remesh": remesh,
    "mask": mask,
    "bevel": bevel,
    "weight_edit": weight_edit,
    "weight_mix": weight_mix,
    "weight_proximity": weight_proximity,
    "weighted_normal": weighted_normal,
    "nodes_that_add_vertices": nodes_that_add_vertices,
    "nodes_that_write_groups": nodes_that_write_groups,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_equals_blenders_modifier_and_numpy(limb: Pair, change: Callable[[Object], None]) -> None:
    obj, _ = limb
    change(obj)
    linear = blenders_own(obj, preserve_volume=False)
    preserved = blenders_own(obj)
    assert distance(linear, preserved) > 0.01, "otherwise this tests nothing"
    enable(obj)
    assert distance(shown(obj, "DUAL_QUATERNION"), preserved) < TOLERANCE
    assert distance(api.evaluate(obj), preserved) < TOLERANCE
    assert distance(shown(obj, "LINEAR"), linear) < TOLERANCE
    compensated = shown(obj, "COMPENSATED")
    assert distance(compensated, preserved) > 0.003, "it acts"
    assert distance(compensated, api.evaluate(obj)) < TOLERANCE
    obj.dq_compensation.factor = 0.0
    assert distance(shown(obj, "COMPENSATED"), preserved) < TOLERANCE
    disable(obj)
