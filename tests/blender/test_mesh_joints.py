"""Joints where the hierarchy knows none: the human with the parents of its bones taken away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.limbs import Limbs, mesh_parents
from dq_compensation.core.compensation import PUBLISHED_CURVES, PublishedCurve
from dq_compensation.core.deform import Deformation, Method, deform
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import LimbAxis, Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.modifier.attribute_names import AMOUNT
from dq_compensation.modifier.modifier_evaluator import evaluate_by_modifier
from dq_compensation.modifier.written_record import joint_counts
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.blender.bone_names import bone_side
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.ui import joints
from human.model import RIGS, Rig
from human.poses import apply_pose, named_poses, random_pose, rotation
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import edit_mode
from tests.rigify_human import new_file_with_rigify_human

pytestmark = pytest.mark.usefixtures("addon")

if TYPE_CHECKING:
    from conftest import Human

Joint = tuple[int, int]


def flatten(armature: bpy.types.Object, *, upwards: bool = False) -> None:
    """Take all parents away and leave the bones where they are, or let all tails point up."""
    with edit_mode(armature):
        for bone in armature.data.edit_bones:
            bone.parent = None
            if upwards:
                bone.tail = (*bone.head[:2], bone.head[2] + bone.length)


def by_hierarchy_and_flat(human: Human, *, upwards: bool = False) -> tuple[Binding, Binding]:
    before = bind(human.mesh_object)
    flatten(human.armature_object, upwards=upwards)
    return before, bind(human.mesh_object)


def joint_of_vertices(binding: Binding) -> NDArray[np.int32]:
    """The child and the parent of each vertex's joint, as one number by the bones' names."""
    measured, names = binding.measured(Settings()), binding.skeleton.names
    place = np.argsort(np.argsort(names)).astype(np.int32)
    limbs, joints = measured.limbs, measured.joints
    return len(names) * place[limbs.children[joints]] + place[limbs.parents[joints]]


@pytest.mark.parametrize("rig", RIGS)
def test_a_rig_with_a_hierarchy_gets_no_other_joints(
    rig: Rig, human_with_rig: Callable[[Rig], Human]
) -> None:
    binding = bind(human_with_rig(rig).mesh_object)
    measured = binding.measured(Settings())
    assert measured.joint_counts[1] == 0
    alone = binding.measured(Settings(use_mesh_joints=False))
    assert np.array_equal(measured.joints, alone.joints)
    assert np.array_equal(measured.amounts, alone.amounts)


@pytest.mark.parametrize("rig", RIGS)
def test_a_flat_skeleton_gets_the_joints_of_the_hierarchy(
    rig: Rig, human_with_rig: Callable[[Rig], Human]
) -> None:
    """Thumbs get another bone of the hand, the jaw and the eyes none."""
    before, flat = by_hierarchy_and_flat(human_with_rig(rig))
    expected, found = before.measured(Settings()), flat.measured(Settings())
    assert found.joint_counts[0] == 0
    assert 0.85 * expected.joint_counts[0] <= found.joint_counts[1] <= expected.joint_counts[0]
    same = joint_of_vertices(before) == joint_of_vertices(flat)
    compensated = expected.amounts > 0.05
    assert np.mean(same[compensated] & (found.amounts[compensated] > 0.0)) > 0.95
    # Hardly anything is compensated that was not, and that at the thumbs, and at the neck, which a
    # head without jaw and eyes goes on straight: no lips, no lids.
    amounts = found.amounts[expected.amounts == 0.0]
    assert amounts.sum() < 0.02 * expected.amounts.sum()


@pytest.mark.parametrize(("rig", "upwards"), [*((rig, False) for rig in RIGS), (RIGS[1], True)])
@pytest.mark.parametrize("key", ["elbow", "knee"])
def test_elbow_and_knee_are_those_of_the_hierarchy(
    rig: Rig, key: str, upwards: bool, human_with_rig: Callable[[Rig], Human]
) -> None:
    """Also where the tails of the bones say nothing."""
    human = human_with_rig(rig)
    named = named_poses(rig)[key]
    apply_pose(human.armature_object, {named.joint: rotation(90.0)})
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    matrices = bind(human.mesh_object).pose_matrices(human.armature_object.evaluated_get(depsgraph))
    before, flat = by_hierarchy_and_flat(human, upwards=upwards)
    order = [before.skeleton.names.index(name) for name in flat.skeleton.names]
    rest = before.rest.astype(np.float64)

    def shape(binding: Binding, pose: Pose, *, by_mesh: bool) -> NDArray[np.floating]:
        measured = binding.measured(Settings(use_mesh_joints=by_mesh))
        return deform(Deformation("COMPENSATED", binding.influences, measured), rest, None, pose)[0]

    expected = shape(before, Pose.from_matrices(matrices, before.skeleton), by_mesh=True)
    pose = Pose.from_matrices(matrices[order], flat.skeleton)
    found, without = (shape(flat, pose, by_mesh=by_mesh) for by_mesh in (True, False))
    # The same joints: what is left is float32, of other rest axes where the tails differ. Without
    # them the bulge is there, 4 mm and more.
    assert np.abs(found - expected).max() < (5e-6 if upwards else 1e-6)
    assert np.linalg.norm(without - expected, axis=1).max() > 0.004


def test_spherical_joints_need_no_hierarchy(body_with_rig: Callable[[Rig], Human]) -> None:
    """Bones that turn about a joint agree on it: the centre that fits them best lies there."""
    human = body_with_rig("game_engine")
    apply_pose(human.armature_object, random_pose(np.random.default_rng(3), "game_engine"))
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    matrices = bind(human.mesh_object).pose_matrices(human.armature_object.evaluated_get(depsgraph))
    before, flat = by_hierarchy_and_flat(human)
    order = [before.skeleton.names.index(name) for name in flat.skeleton.names]

    def shape(binding: Binding, method: Method, posed: NDArray[np.float64]) -> NDArray[np.floating]:
        pose = Pose.from_matrices(posed, binding.skeleton)
        of = Deformation(method, binding.influences, sets=binding.sets)
        return deform(of, binding.rest.astype(np.float64), None, pose)[0]

    expected = shape(before, "SPHERICAL_JOINT", matrices)
    # In metres. The damping of the centre leaves a hundredth of a millimetre.
    assert np.abs(shape(flat, "SPHERICAL_JOINT", matrices[order]) - expected).max() < 2e-5
    assert np.abs(shape(before, "LINEAR", matrices) - expected).max() > 0.01


@pytest.mark.parametrize("curve", PUBLISHED_CURVES)
def test_published_curves_act_as_with_the_hierarchy(
    curve: PublishedCurve, human_with_rig: Callable[[Rig], Human]
) -> None:
    """Where joints of the mesh are those of the hierarchy, limbs along the bones."""
    before, flat = by_hierarchy_and_flat(human_with_rig("game_engine"))
    expected = before.compensation(Settings(limb_axis="Y", curve=curve)).amounts
    found = flat.compensation(Settings(limb_axis="Y", curve=curve))
    near_joints = before.measured(Settings(limb_axis="Y")).amounts > 0.0
    np.testing.assert_allclose(found.amounts[near_joints], expected[near_joints], atol=1e-7)
    assert np.abs(found.amounts).max() > 0.01
    assert not flat.compensation(
        Settings(limb_axis="Y", curve=curve, use_mesh_joints=False)
    ).amounts.any()


def test_only_the_joints_that_lack_come_from_the_mesh(human: Human) -> None:
    """A forearm without its parent: its joint is the only one, and a limb of three bones bends."""
    expected = bind(human.mesh_object).measured(Settings())
    with edit_mode(human.armature_object):
        human.armature_object.data.edit_bones["lowerarm01.L"].parent = None
    found = bind(human.mesh_object).measured(Settings())
    assert found.joint_counts == (expected.joint_counts[0] - 1, 1)
    # Not equal: the upper arm ends at its tail now, not at the head of its child, and so does its
    # row of bones: two joints that are ropes by 0.08 are by 0.09.
    assert np.abs(found.amounts - expected.amounts).max() < 3e-3


def test_nodes_equal_core_on_a_flat_skeleton(human: Human) -> None:
    flatten(human.armature_object)
    binding = bind(human.mesh_object)
    settings = Settings()
    rng = np.random.default_rng(5)
    pose = random_pose(rng)
    apply_pose(human.armature_object, pose)
    for bone in list(human.armature_object.pose.bones)[::7]:
        bone.scale = rng.uniform(0.7, 1.4, 3)
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = evaluate_by_modifier(human.mesh_object, binding, settings)
    evaluated = (o.evaluated_get(depsgraph) for o in (human.mesh_object, human.armature_object))
    expected = evaluate(binding, settings, *evaluated)
    # As all evaluators promise, in parts of the size.
    assert np.abs(found - expected).max() <= 1e-4 * np.ptp(binding.rest, axis=0).max()


def test_the_setting_takes_them_away_and_the_panel_counts_them(whole_human: Human) -> None:
    flatten(whole_human.armature_object)
    obj = whole_human.mesh_object
    enable(obj)
    hierarchy, mesh = joint_counts(obj)
    assert hierarchy == 0
    assert mesh > 80
    said = joints._count(obj)
    assert said.startswith(f"Joints found: 0 from the hierarchy, {mesh} from the mesh, and ")
    obj.dq_compensation.use_mesh_joints = False
    bpy.context.view_layer.update()
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert joint_counts(obj) == (0, 0)
    said = joints._count(obj)
    assert said.startswith("Joints found: 0 from the hierarchy")
    assert "from the mesh" not in said
    amounts = np.empty(len(obj.data.vertices), np.float32)
    obj.data.attributes[AMOUNT].data.foreach_get("value", amounts)
    assert not amounts.any()


def test_limbs_along_another_axis_of_the_bones(human: Human) -> None:
    """As imported bones may be: their Y axes, and so their tails, point across the limb."""
    flatten(human.armature_object)
    binding = bind(human.mesh_object)
    skeleton = binding.skeleton
    sides = np.array([bone_side(name) for name in skeleton.names])

    def found_on(skeleton: Skeleton, limb_axis: LimbAxis = "AUTO") -> NDArray[np.int32]:
        skin = SkinAtRest(binding.rest, binding.influences, skeleton, limb_axis, sides=sides)
        return mesh_parents(Limbs.of(skin))

    expected = found_on(skeleton)
    turned = skeleton.rest.copy()
    turned[:, :3, 0], turned[:, :3, 1] = skeleton.rest[:, :3, 1], -skeleton.rest[:, :3, 0]
    lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)[:, None]
    across = replace(skeleton, rest=turned, tails=skeleton.heads + lengths * turned[:, :3, 1])
    # Rounding may decide a limit otherwise.
    assert np.count_nonzero(found_on(across, "X") != expected) <= 2
    # Without the name of the axis the skin tells most of it: where limbs are split, it is wide.
    assert np.count_nonzero(found_on(across) == expected) > 0.85 * len(expected)


def test_left_and_right_are_never_joined(human: Human) -> None:
    flatten(human.armature_object)
    measured: MeasuredJoints = bind(human.mesh_object).measured(Settings())
    names = bind(human.mesh_object).skeleton.names
    for child, parent in zip(measured.limbs.children, measured.limbs.parents, strict=True):
        sides = {names[child][-2:], names[parent][-2:]}
        assert not {".L", ".R"} <= sides


@pytest.mark.newest_only
def test_rigify_gets_its_shoulders_and_fingers(empty_file: None) -> None:
    """Its deforming bones hang under others, which do not deform. Limbs have a hierarchy."""
    human, _ = new_file_with_rigify_human()
    binding = bind(human)
    measured, names = binding.measured(Settings()), binding.skeleton.names
    joints = np.unique(measured.joints[measured.rows])
    of_mesh = joints[joints >= binding.skeleton.bone_count]
    limbs = measured.limbs
    found = {(names[limbs.children[j]], names[limbs.parents[j]]) for j in of_mesh}
    for side in "LR":
        assert (f"DEF-upper_arm.{side}", f"DEF-shoulder.{side}") in found
        for number, finger in enumerate(("index", "middle", "ring", "pinky"), 1):
            assert (f"DEF-f_{finger}.01.{side}", f"DEF-palm.0{number}.{side}") in found
    others = {child for child, _ in found if not child.startswith(("DEF-f_", "DEF-upper_arm"))}
    # Skin is around lips and the tongue as around a finger; not about lids, brows, jaws and ears.
    assert all(name.startswith(("DEF-lip", "DEF-tongue")) for name in others)
