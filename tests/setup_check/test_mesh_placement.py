"""A mesh object that is off its rig: found before all else, and put back to where it fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import bmesh
import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from dq_compensation import api
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.setup_check import findings
from dq_compensation.setup_check.checks import bone_hierarchy
from dq_compensation.setup_check.checks.mesh_placement import CHECK
from dq_compensation.setup_check.fixes import followers
from dq_compensation.setup_check.fixes.bone_dependents import all_constraints
from human.model import RIGS, Rig
from tests.blender.enabled_scenes import enabled_limb, error, select
from tests.blender.scene_builders import edit_mode, link, linked_copy, save_and_open
from tests.limb import build_limb
from tests.replaced_functions import count_calls
from tests.rigify_human import new_file_with_rigify_human

from .animated_human import add_child, world_positions
from .conftest import Human
from .moving_rigs import fix, found_by
from .plant_bone_hierarchy import forearm_alone
from .plant_mesh_placement import PLANTED, another_axis_up, turned
from .test_unweighted_vertices import dense_weights

pytestmark = pytest.mark.usefixtures("addon")

# In metres: what is left of float32 after a rotation of a human.
SAME = 1e-5
# A place that no plain number stands for is found by the joints alone, whose skin is not quite
# symmetric: 1 mm on the human of 1.7 m.
FITTED = 2e-3


def errors(obj: bpy.types.Object) -> list[str]:
    return [issue.check for issue in api.check(obj) if issue.severity == "ERROR"]


def keep_bones(human: Human, *prefixes: str) -> None:
    """Remove the vertices that other bones move most: a glove, shoes, trousers stay."""
    obj, arrays = human.mesh_object, human.arrays
    order = np.lexsort((arrays.weight, arrays.weight_vertex))
    strongest = np.zeros(len(arrays.vertices), np.intp)
    strongest[arrays.weight_vertex[order]] = arrays.weight_bone[order]
    kept = [name.startswith(prefixes) for name in arrays.names]
    mesh = bmesh.new()
    mesh.from_mesh(obj.data)
    mesh.verts.ensure_lookup_table()
    lost = [mesh.verts[int(index)] for index in np.flatnonzero(~np.array(kept)[strongest])]
    bmesh.ops.delete(mesh, geom=lost, context="VERTS")
    mesh.to_mesh(obj.data)
    mesh.free()


@pytest.mark.parametrize("tree", ["none", "of a missing library"])
def test_node_modifiers_without_inputs_stop_nothing(tree: str, tmp_path: Path) -> None:
    obj, _ = build_limb()
    name, library = obj.name, str(tmp_path / "trees.blend")
    other = link(bpy.data.objects.new("Other", bpy.data.meshes.new("Other")))
    modifier = other.modifiers.new("Nodes", "NODES")
    if tree != "none":
        group = bpy.data.node_groups.new("Tree", "GeometryNodeTree")
        bpy.data.libraries.write(library, {group}, fake_user=True)
        with bpy.data.libraries.load(library, link=True) as (_, wanted):
            wanted.node_groups = ["Tree"]
        modifier.node_group = wanted.node_groups[0]
        Path(library).unlink()
        save_and_open(tmp_path / "shot.blend")
    obj = bpy.data.objects[name]
    obj.rotation_euler.z = math.radians(20.0)
    bpy.context.view_layer.update()
    (issue,) = found_by(CHECK, obj)
    assert "turned by 20 degrees" in issue.message


@pytest.mark.parametrize("rig", RIGS)
def test_a_turned_mesh_with_hard_weights_is_found(
    rig: Rig, human_with_rig: Callable[[Rig], Human]
) -> None:
    """No vertex follows two bones: the edges between those of two bones show the joints."""
    human = human_with_rig(rig)
    weights = dense_weights(human.mesh_object)
    hard = weights == weights.max(axis=1, keepdims=True)
    names = [group.name for group in human.mesh_object.vertex_groups]
    write_groups(human.mesh_object, {name: hard[:, n] * 1.0 for n, name in enumerate(names)})
    assert not found_by(CHECK, human.mesh_object)
    turned(human)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert "turned by 20 degrees" in issue.message


@pytest.mark.parametrize("rig", RIGS)
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.3), (1.5, 1.0, 1.0)], ids=["tall", "broad"])
@pytest.mark.parametrize("turn", [0.0, 20.0])
def test_an_unequal_scale_hides_no_turn(
    turn: float, scale: tuple[float, float, float], rig: Rig, human_with_rig: Callable[[Rig], Human]
) -> None:
    """Both are undone in one fix; a person who is broad by half is within most of its skin."""
    body = human_with_rig(rig).mesh_object
    before = world_positions(body)
    body.scale, body.rotation_euler.z = scale, math.radians(turn)
    bpy.context.view_layer.update()
    found = found_by(CHECK, body)
    if not found:
        assert scale[0] > 1.0
        assert turn == 0.0
        return
    assert api.check(body)[0].check == "mesh_placement"
    fix(CHECK, body, "move_mesh")
    assert tuple(body.scale) == pytest.approx((1.0, 1.0, 1.0), abs=1e-6)
    assert np.abs(world_positions(body) - before).max() <= SAME
    assert not found_by(CHECK, body)


def test_an_unequal_scale_of_the_rig_is_no_scale_of_the_mesh(human: Human) -> None:
    human.armature_object.scale = (1.0, 1.2, 1.0)
    turned(human)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert "has to be turned by 20 degrees: then" in issue.message


@pytest.mark.parametrize("rig", RIGS)
def test_an_unequal_scale_that_the_vertices_make_up_for_is_right(
    rig: Rig, body_with_rig: Callable[[Rig], Human]
) -> None:
    body = body_with_rig(rig).mesh_object
    before = world_positions(body)
    body.data.transform(Matrix.Diagonal((1.0, 1.0, 1.0 / 1.3, 1.0)))
    body.scale = (1.0, 1.0, 1.3)
    assert not found_by(CHECK, body)
    body.rotation_euler.z = math.radians(20.0)
    fix(CHECK, body, "move_mesh")
    assert np.abs(world_positions(body) - before).max() <= SAME


@pytest.mark.parametrize("rig", RIGS)
def test_a_mesh_that_fits_is_left_alone(rig: Rig, body_with_rig: Callable[[Rig], Human]) -> None:
    assert not found_by(CHECK, body_with_rig(rig).mesh_object)


@pytest.mark.newest_only
def test_rigify_is_left_alone_and_put_back() -> None:
    body, _ = new_file_with_rigify_human()
    assert not found_by(CHECK, body)
    before = world_positions(body)
    body.rotation_euler.z = math.radians(20.0)
    fix(CHECK, body, "move_mesh")
    assert np.abs(world_positions(body) - before).max() <= SAME


@pytest.mark.parametrize("rig", RIGS)
@pytest.mark.parametrize("plant", ["turned", "moved"])
def test_it_is_the_first_finding_and_no_other_follows_from_it(
    plant: str, rig: Rig, body_with_rig: Callable[[Rig], Human]
) -> None:
    human = body_with_rig(rig)
    body = human.mesh_object
    clean = {(issue.check, issue.key) for issue in api.check(body)}
    before = world_positions(body)
    PLANTED[f"mesh_placement/{plant}"](human)
    bpy.context.view_layer.update()
    issues = api.check(body)
    assert (issues[0].check, issues[0].severity) == ("mesh_placement", "ERROR")
    assert "20 degrees" in issues[0].message if plant == "turned" else "30 cm" in issues[0].message
    assert {(issue.check, issue.key) for issue in issues[1:]} <= clean
    fix(CHECK, body, "move_mesh")
    assert np.abs(world_positions(body) - before).max() <= SAME
    assert {(issue.check, issue.key) for issue in api.check(body)} == clean


def test_new_parents_are_advised_where_the_mesh_fits(human: Human) -> None:
    """Elsewhere no joint is found from the mesh, and the advice would be a warning."""
    forearm_alone(human)
    turned(human)
    assert not found_by(bone_hierarchy.CHECK, human.mesh_object)
    fix(CHECK, human.mesh_object, "move_mesh")
    (issue,) = found_by(bone_hierarchy.CHECK, human.mesh_object)
    assert issue.severity == "INFORMATION"


def test_the_fix_asks_and_names_what_goes_along(human: Human) -> None:
    child = add_child(human.mesh_object)
    bpy.context.view_layer.update()
    before = np.array(child.matrix_world)
    turned(human)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert "turned by 20 degrees" in issue.fixes[0].question
    assert "What follows it goes with it: Child." in issue.fixes[0].question
    fix(CHECK, human.mesh_object, "move_mesh")
    bpy.context.view_layer.update()
    assert np.abs(np.array(child.matrix_world) - before).max() <= SAME


def test_the_fix_names_what_follows(human: Human) -> None:
    """By a constraint, an object and a bone of another armature; by a driver; by a modifier."""
    hat = link(bpy.data.objects.new("Hat", None))
    copy = hat.constraints.new("COPY_TRANSFORMS")
    copy.target = human.mesh_object
    other = link(bpy.data.objects.new("Other", bpy.data.armatures.new("Other")))
    with edit_mode(other):
        other.data.edit_bones.new("bone").tail = (0.0, 0.0, 1.0)
    follow = other.pose.bones["bone"].constraints.new("COPY_LOCATION")
    follow.target = human.mesh_object
    reader = link(bpy.data.objects.new("Reader", None))
    variable = reader.driver_add("location", 0).driver.variables.new()
    variable.type, variable.targets[0].id = "TRANSFORMS", human.mesh_object
    hooked = link(bpy.data.objects.new("A Hook", bpy.data.meshes.new("Hooked")))
    hooked.modifiers.new("Hook", "HOOK").object = human.mesh_object
    turned(human)
    (issue,) = found_by(CHECK, human.mesh_object)
    said = "What follows it goes with it: A Hook, Hat, Reader and 1 more."
    assert said in issue.fixes[0].question
    bpy.data.objects.remove(hooked)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert "goes with it: Hat, Reader, bone (Other)." in issue.fixes[0].question
    bpy.context.view_layer.update()
    before = np.array(hat.matrix_world)
    fix(CHECK, human.mesh_object, "move_mesh")
    bpy.context.view_layer.update()
    assert np.abs(np.array(hat.matrix_world) - before).max() > 0.1


def test_the_file_is_searched_for_what_follows_once_for_all_meshes(
    human: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mesh of a character has its own followers; three of four are off the rig."""
    placed = linked_copy(human.mesh_object, own_data=True)
    for name in ("Second", "Third"):
        linked_copy(human.mesh_object, own_data=True).name = name
    for obj in human.armature_object.children:
        if obj != placed:
            obj.location.x = 1.0
            add_child(obj).name = f"Child of {obj.name}"
    calls = count_calls(monkeypatch, all_constraints, within=followers)
    select(human.armature_object)
    assert bpy.ops.dqc.check() == {"FINISHED"}
    assert calls == {"all_constraints": 1}
    for name in ("Human", "Second", "Third"):
        issue = findings.known(bpy.data.objects[name]).issue("mesh_placement", "misplaced")
        assert issue.fixes[0].question.endswith(f"What follows it goes with it: Child of {name}.")


def test_a_rotation_that_the_vertices_make_up_for_is_right(human: Human) -> None:
    another_axis_up(human)
    human.mesh_object.rotation_euler.x = math.radians(90.0)
    assert not found_by(CHECK, human.mesh_object)
    human.mesh_object.rotation_euler.x = 0.0
    fix(CHECK, human.mesh_object, "move_mesh")
    assert human.mesh_object.rotation_euler.x == pytest.approx(math.radians(90.0), abs=1e-6)


@pytest.mark.parametrize("parent", ["RIG", "NOTHING", "EMPTY", "INVERSE"])
def test_it_is_put_back_below_any_parent(parent: str, human: Human) -> None:
    """On a rig with a scale, away from the origin of the world, and with delta transforms."""
    body, rig = human.mesh_object, human.armature_object
    place = Matrix.LocRotScale(Vector((1.0, 2.0, 3.0)), Matrix.Rotation(0.7, 3, "X"), (2, 2, 2))
    rig.matrix_world = place
    empty = link(bpy.data.objects.new("Empty", None))
    empty.matrix_world = Matrix.Translation((0.0, 5.0, 0.0)) @ Matrix.Rotation(1.0, 4, "Y")
    bpy.context.view_layer.update()
    body.parent = {"NOTHING": None, "EMPTY": empty}.get(parent, rig)
    if parent == "INVERSE":
        body.matrix_parent_inverse = Matrix.Rotation(0.5, 4, "Z")
    body.delta_location = (0.1, 0.0, 0.0)
    body.delta_rotation_euler = (0.0, 0.3, 0.0)
    body.matrix_world = place
    before = world_positions(body)
    assert not found_by(CHECK, body)
    body.matrix_world = Matrix.Translation((0.0, 0.5, 0.0)) @ place @ Matrix.Rotation(0.4, 4, "Z")
    fix(CHECK, body, "move_mesh")
    # 2 m from a place 5 m away, in float32.
    assert np.abs(world_positions(body) - before).max() <= 2.0 * SAME


def test_a_place_like_no_other_is_found_by_the_joints(whole_human: Human) -> None:
    body = whole_human.mesh_object
    before = world_positions(body)
    body.data.transform(Matrix.Translation((0.2, 0.1, 0.3)) @ Matrix.Rotation(0.4, 4, (1, 2, 3)))
    fix(CHECK, body, "move_mesh")
    assert np.abs(world_positions(body) - before).max() <= FITTED
    assert not found_by(CHECK, body)


@pytest.mark.parametrize(
    ("rig", "part"),
    [
        ("default", ("wrist.L", "metacarpal", "finger")),
        ("default", ("foot.L", "toe")),
        ("game_engine", ("foot", "ball")),
        ("game_engine", ("pelvis", "thigh", "calf", "spine_01")),
        ("cmu_mb", ("Spine", "LowerBack", "LeftArm", "RightArm", "LeftShoulder", "RightShoulder")),
    ],
    ids=["glove", "shoe", "shoes", "trousers", "shirt"],
)
def test_clothes_with_few_bones(
    rig: Rig, part: tuple[str, ...], human_with_rig: Callable[[Rig], Human]
) -> None:
    human = human_with_rig(rig)
    keep_bones(human, *part)
    body = human.mesh_object
    assert not found_by(CHECK, body)
    before = world_positions(body)
    body.location, body.rotation_euler.z = (0.1, 0.2, 0.3), 0.5
    fix(CHECK, body, "move_mesh")
    assert np.abs(world_positions(body) - before).max() <= SAME


def test_what_joints_cannot_tell_is_not_guessed() -> None:
    """A straight limb may be turned about itself; two joints do not say where vertices were."""
    limb, _ = build_limb()
    limb.rotation_euler.x = 1.0
    assert not found_by(CHECK, limb)
    limb.data.transform(Matrix.Translation((0.2, 0.1, 0.3)) @ Matrix.Rotation(0.4, 4, (1, 2, 3)))
    assert not found_by(CHECK, limb)


def test_a_limb_is_put_back_where_its_channels_say_how() -> None:
    limb, _ = build_limb()
    before = world_positions(limb)
    limb.location.y = 0.3
    fix(CHECK, limb, "move_mesh")
    assert np.abs(world_positions(limb) - before).max() <= SAME


def test_a_skeleton_without_parents_is_not_judged(body_with_rig: Callable[[Rig], Human]) -> None:
    human = body_with_rig("game_engine")
    with edit_mode(human.armature_object) as armature:
        for bone in armature.data.edit_bones:
            bone.parent = None
    turned(human)
    assert not found_by(CHECK, human.mesh_object)


@pytest.mark.parametrize("off", ["ONE_LIMB", "AT_RANDOM", "ARMS_DOWN"])
def test_a_rig_whose_bones_are_off_is_not_this_error(off: str, human: Human) -> None:
    rng = np.random.default_rng(0)
    with edit_mode(human.armature_object) as armature:
        bones = armature.data.edit_bones
        for bone in bones:
            bone.use_connect = False
        if off == "ONE_LIMB":
            chosen = [bone for bone in bones if bone.name.startswith(("upperleg", "lowerleg"))]
        else:
            chosen = list(bones) if off == "AT_RANDOM" else []
        for bone in chosen:
            bone.translate(Vector((0.0, 0.15, 0.0)) if off == "ONE_LIMB" else _random(rng))
        for side in "LR" if off == "ARMS_DOWN" else "":
            first = bones[f"upperarm01.{side}"]
            turn = Matrix.Rotation(math.radians(40.0 if side == "L" else -40.0), 4, "Y")
            about = Matrix.Translation(first.head) @ turn @ Matrix.Translation(-first.head)
            for bone in (first, *first.children_recursive):
                bone.transform(about)
    assert not found_by(CHECK, human.mesh_object)
    assert errors(human.mesh_object) == []


def _random(rng: np.random.Generator) -> Vector:
    return Vector(rng.normal(0.0, 0.08, 3).tolist())


def test_an_enabled_character_follows_the_fix() -> None:
    limb, _ = enabled_limb()
    before = world_positions(limb)
    limb.location.y = 0.3
    bpy.context.view_layer.update()
    command = {"object_name": "Limb", "check": "mesh_placement", "key": "misplaced"}
    assert bpy.ops.dqc.fix(**command, fix="move_mesh") == {"FINISHED"}
    assert np.abs(world_positions(limb) - before).max() <= SAME
    assert error(limb) <= SAME


def test_a_mesh_on_a_bone_of_its_rig_has_its_own_finding(human: Human) -> None:
    """The pose moves it twice; its place follows from that."""
    body, rig = human.mesh_object, human.armature_object
    body.parent_type, body.parent_bone = "BONE", "spine01"
    rig.pose.bones["root"].location.z = 0.5
    bpy.context.view_layer.update()
    assert not found_by(CHECK, body)
    assert "parenting" in errors(body)
