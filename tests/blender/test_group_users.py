"""Whoever uses a vertex group is found, so that nobody calls it unused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest

from dq_compensation.scene.group_users import group_users
from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import add_armature, add_grid, link, new_file
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")


def _by_modifier(obj: bpy.types.Object) -> None:
    obj.modifiers.new("User", "DISPLACE").vertex_group = "used"


def _by_cloth(obj: bpy.types.Object) -> None:
    obj.modifiers.new("User", "CLOTH").settings.vertex_group_mass = "used"


def _by_shape_key(obj: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="User").vertex_group = "used"


def _by_particles(obj: bpy.types.Object) -> None:
    obj.modifiers.new("User", "PARTICLE_SYSTEM")
    obj.particle_systems[0].vertex_group_density = "used"


def _by_material(obj: bpy.types.Object) -> None:
    material = bpy.data.materials.new("User")
    material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeAttribute")
    node.attribute_name = "used"
    obj.data.materials.append(material)


def _by_constraint(obj: bpy.types.Object) -> None:
    constraint = link(bpy.data.objects.new("User", None)).constraints.new("COPY_LOCATION")
    constraint.target, constraint.subtarget = obj, "used"


def _by_bone_constraint(obj: bpy.types.Object) -> None:
    constraint = add_armature().pose.bones[0].constraints.new("COPY_LOCATION")
    constraint.target, constraint.subtarget = obj, "used"


def _node_tree() -> bpy.types.NodeTree:
    tree = bpy.data.node_groups.new("Tree", "GeometryNodeTree")
    for direction in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Mask", in_out="INPUT", socket_type="NodeSocketString")
    return tree


def _by_node(obj: bpy.types.Object) -> None:
    inner = _node_tree()
    node = inner.nodes.new("GeometryNodeInputNamedAttribute")
    node.inputs["Name"].default_value = "used"
    outer = _node_tree()
    outer.nodes.new("GeometryNodeGroup").node_tree = inner
    obj.modifiers.new("User", "NODES").node_group = outer


def _by_node_input(obj: bpy.types.Object) -> None:
    tree = _node_tree()
    modifier = obj.modifiers.new("User", "NODES")
    modifier.node_group = tree
    identifier = tree.interface.items_tree["Mask"].identifier
    if hasattr(modifier, "properties"):
        getattr(modifier.properties.inputs, identifier).value = "used"
    else:
        modifier[identifier] = "used"


@pytest.mark.parametrize(
    "use",
    [
        _by_modifier,
        _by_cloth,
        _by_shape_key,
        _by_particles,
        _by_material,
        _by_constraint,
        _by_bone_constraint,
        _by_node,
        _by_node_input,
    ],
)
def test_the_user_of_a_group_is_found(use: Callable[[bpy.types.Object], None]) -> None:
    new_file()
    obj = add_grid()
    for name in ("used", "unused"):
        obj.vertex_groups.new(name=name)
    assert group_users(obj) == {}
    use(obj)
    assert list(group_users(obj)) == ["used"]


def test_our_compensation_weights_are_a_user(addon: None) -> None:
    obj = add_grid()
    obj.vertex_groups.new(name="paint")
    obj.dq_compensation.vertex_group = "paint"
    assert group_users(obj) == {"paint": "compensation weights"}


def test_a_tree_whose_library_is_gone(tmp_path: Path) -> None:
    """Blender 5.2 has no inputs of it. A Mirror before the Armature modifier has it read, too."""
    library, shot = str(tmp_path / "library.blend"), str(tmp_path / "shot.blend")
    new_file()
    _node_tree().use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=library)
    new_file()
    obj, _ = build_limb()
    with bpy.data.libraries.load(library, link=True) as (_there, here):
        here.node_groups = ["Tree"]
    obj.modifiers.new("User", "NODES").node_group = bpy.data.node_groups["Tree"]
    obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(0, 2)
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    Path(library).unlink()
    bpy.ops.wm.open_mainfile(filepath=shot)
    obj = bpy.data.objects["Limb"]
    assert not group_users(obj)
    select(obj)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
