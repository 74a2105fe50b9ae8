"""What happens to shapes at the border of a support and outside it, on a limb with a clavicle.

The bones have the names and the weights of a character from Mixamo: the clavicle moves few
vertices, and traces of the forearm's weight are everywhere.
"""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Quaternion
from numpy.typing import NDArray

from dq_compensation.core.example_support import support
from dq_compensation.examples import posed_copy
from dq_compensation.examples.authoring import OutsideSupportError
from dq_compensation.examples.posed_copy import failure_of
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.capture import support_of, support_weights
from dq_compensation.scene.blender.bulk_arrays import read_property
from dq_compensation.scene.copies import posed_copy_of
from dq_compensation.session.status import status_of
from dq_compensation.ui_shared.sentences import shortened, shown_width
from tests.blender.enabled_scenes import enable, select
from tests.blender.scene_builders import add_armature, add_mesh, evaluated_positions
from tests.replaced_functions import replace_everywhere

SPINE, CLAVICLE, ARM, FOREARM = (
    f"mixamorig:{name}" for name in ("Spine2", "LeftShoulder", "LeftArm", "LeftForeArm")
)
RINGS, SIDES, RADIUS = 61, 12, 0.15
# Of the size 2 of the limb: float32 positions and offsets, through the node modifier.
TOLERANCE = 2e-4


def build() -> tuple[Object, Object]:
    """A tube along X over four bones of length 0.5, enabled, the armature in Pose Mode."""
    armature = add_armature((SPINE, CLAVICLE, ARM, FOREARM), name="Rig")
    x, turn = np.meshgrid(
        np.linspace(0.0, 2.0, RINGS), np.arange(SIDES) * (2.0 * np.pi / SIDES), indexing="ij"
    )
    tube = np.stack((x, RADIUS * np.cos(turn), RADIUS * np.sin(turn)), axis=-1).reshape(-1, 3)
    index = np.arange(RINGS * SIDES).reshape(RINGS, SIDES)
    after = np.roll(index, -1, axis=1)
    faces = np.stack((index[:-1], after[:-1], after[1:], index[1:]), axis=-1).reshape(-1, 4)
    obj = add_mesh(tube.tolist(), faces.tolist(), name="Body")
    along = tube[:, 0]
    arm = np.clip((along - 0.85) / 0.3, 0.0, 1.0)
    forearm = np.clip((along - 1.4) / 0.2, 0.0, 1.0)
    clavicle = 0.2 * np.exp(-(((along - 0.9) / 0.12) ** 2)) * (along < 1.1)
    weights = {
        SPINE: 1.0 - arm,
        CLAVICLE: np.where(clavicle > 0.02, clavicle, 0.0),
        ARM: arm * (1.0 - forearm),
        FOREARM: np.maximum(forearm, 2e-4),
    }
    for bone, values in weights.items():
        group = obj.vertex_groups.new(name=bone)
        for vertex in np.flatnonzero(values).tolist():
            group.add([vertex], float(values[vertex]), "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    enable(obj)
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    armature.data.bones.active = armature.data.bones[ARM]
    bone = armature.pose.bones[ARM]
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = Quaternion((0.0, 0.0, 1.0), np.radians(70.0))
    bpy.context.view_layer.update()
    return obj, armature


@pytest.fixture
def body(addon: None) -> Object:
    return build()[0]


def bell(copy: Object, centre: NDArray, radius: float, height: float) -> NDArray:
    """Move the vertices of a posed copy as proportional editing would; the movements (n, 3)."""
    if copy.mode == "EDIT":
        bpy.ops.object.mode_set(mode="OBJECT")
    positions = read_property(copy.data.vertices, "co", np.float32, (3,))
    near = np.clip(1.0 - np.linalg.norm(positions - centre, axis=1) / radius, 0.0, 1.0)
    moves = (height * near * near * (3.0 - 2.0 * near))[:, None] * [0.0, 0.0, 1.0]
    copy.data.vertices.foreach_set("co", (positions + moves).astype(np.float32).ravel())
    copy.data.update()
    return moves


def edges_of(obj: Object) -> NDArray:
    return np.array([edge.vertices[:] for edge in obj.data.edges])


def add_and_move(body: Object, place: int, radius: float) -> tuple[NDArray, NDArray]:
    """Begin an example and move the surface about a vertex; how it was and the movements."""
    before = evaluated_positions(body)
    assert bpy.ops.dqc.example_add(mode="EDIT") == {"FINISHED"}
    copy = bpy.context.active_object
    copy.update_from_editmode()
    assert not any(vertex.select for vertex in copy.data.vertices), "the first G moves nothing"
    return before, bell(copy, before[place], radius, 0.05)


def follow() -> None:
    """What handlers and timer of a session with a window do."""
    bpy.context.view_layer.update()
    posed_copy.observe()
    posed_copy.follow()


# The top of the shoulder: where the arm takes over from the spine.
TOP = round(0.93 / 2.0 * (RINGS - 1)) * SIDES + SIDES // 4
CHEST = round(0.3 / 2.0 * (RINGS - 1)) * SIDES


def test_a_shape_on_top_of_the_shoulder_is_kept_and_leaves_no_spike(body: Object) -> None:
    before, moves = add_and_move(body, TOP, 0.3)
    assert bpy.ops.dqc.example_apply(outside="LEAVE") == {"FINISHED"}
    kept = evaluated_positions(body) - before
    sizes = np.linalg.norm(moves, axis=1)
    # Much of what was moved is as it was made ...
    exact = np.linalg.norm(kept - moves, axis=1) < TOLERANCE
    assert exact[sizes > 0.3 * sizes.max()].mean() > 0.85
    # ... and where the support ends, no edge is bent more than a little.
    one, other = edges_of(body).T
    steepest = np.linalg.norm(moves[one] - moves[other], axis=1).max()
    assert np.linalg.norm(kept[one] - kept[other], axis=1).max() < 1.3 * steepest


def test_a_shape_outside_the_support_is_asked_about_and_not_lost(body: Object) -> None:
    before, moves = add_and_move(body, CHEST, 0.25)
    copy = posed_copy_of(body)
    assert copy is not None
    count = int((np.linalg.norm(moves, axis=1) > 0.02 * 0.05).sum())
    with pytest.raises(RuntimeError, match=f"{count} vertices that you moved .* Support from My"):
        bpy.ops.dqc.example_apply()
    assert posed_copy_of(body) == copy
    assert isinstance(failure_of(copy), OutsideSupportError)
    assert bpy.ops.dqc.example_apply(outside="WIDEN") == {"FINISHED"}
    assert np.abs(evaluated_positions(body) - before - moves).max() < TOLERANCE
    chosen = support_of(body, ARM)
    assert chosen.group == f"Support {ARM}"
    assert (bind(body).painted(chosen.group)[np.linalg.norm(moves, axis=1) > 1e-4] == 1.0).all()


def test_leaving_the_mode_asks_as_well_and_inside_only_is_a_choice(body: Object) -> None:
    before, moves = add_and_move(body, CHEST, 0.25)
    bpy.ops.object.mode_set(mode="EDIT")
    follow()
    bpy.ops.object.mode_set(mode="OBJECT")
    follow()
    copy = posed_copy_of(body)
    assert copy is not None
    assert isinstance(failure_of(copy), OutsideSupportError)
    assert bpy.ops.dqc.example_apply(outside="LEAVE") == {"FINISHED"}
    left = np.linalg.norm(moves, axis=1) > 1e-4
    assert np.abs(evaluated_positions(body) - before)[left].max() < TOLERANCE
    assert "stayed as they were" in str(status_of(body).example_result)


def test_edit_mode_hides_what_is_outside_and_sculpt_mode_masks_it(body: Object) -> None:
    bpy.ops.dqc.example_add(mode="EDIT")
    copy = bpy.context.active_object
    outside = support_weights(bind(body), ARM) < 0.1
    assert 0 < outside.sum() < len(outside)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert np.array_equal(read_property(copy.data.vertices, "hide", np.bool_), outside)
    faces = np.array([outside[list(face.vertices)].any() for face in copy.data.polygons])
    assert np.array_equal(read_property(copy.data.polygons, "hide", np.bool_), faces)
    assert bpy.ops.dqc.example_edit(mode="SCULPT") == {"FINISHED"}
    assert not read_property(copy.data.vertices, "hide", np.bool_).any()
    mask = read_property(copy.data.attributes[".sculpt_mask"].data, "value", np.float32)
    assert np.array_equal(mask > 0.9, outside)


def test_a_shape_that_is_edited_again_keeps_what_it_had_at_the_border(body: Object) -> None:
    before, _ = add_and_move(body, TOP, 0.5)
    bpy.ops.dqc.example_apply(outside="LEAVE")
    kept = evaluated_positions(body)
    assert np.abs(kept - before).max() > 0.04
    bpy.ops.dqc.example_edit(mode="EDIT")
    assert bpy.ops.dqc.example_apply() == {"FINISHED"}
    assert np.abs(evaluated_positions(body) - kept).max() < TOLERANCE


def test_supports_are_as_published_or_of_both_sides_as_those_of_new_bones(body: Object) -> None:
    item = body.dq_compensation.example_bones.add()
    item.name, item.support_kind = FOREARM, "PARENT"
    binding = bind(body)
    published = support(binding.skeleton.names.index(FOREARM), binding.influences, binding.skeleton)
    assert np.array_equal(support_weights(binding, FOREARM, support_of(body, FOREARM)), published)
    bpy.ops.dqc.example_add(mode="NONE")
    assert support_of(body, ARM).kind == "JOINT"


def test_paint_support_begins_with_the_support_that_there_is(body: Object) -> None:
    weights = support_weights(bind(body), ARM)
    assert bpy.ops.dqc.support_paint() == {"FINISHED"}
    assert (bpy.context.mode, bpy.context.active_object) == ("PAINT_WEIGHT", body)
    assert body.vertex_groups.active.name == support_of(body, ARM).group
    assert np.allclose(support_weights(bind(body), ARM, support_of(body, ARM)), weights, atol=1e-6)


def test_apply_in_sculpt_mode_is_undone_stroke_by_stroke(body: Object) -> None:
    bpy.ops.ed.undo_push(message="Before")
    bpy.ops.dqc.example_add("EXEC_DEFAULT", True)
    heights = [height_of_copy()]
    for _ in range(2):
        bpy.ops.sculpt.mesh_filter("EXEC_DEFAULT", True, type="INFLATE", strength=0.02)
        heights.append(height_of_copy())
    assert None not in heights
    assert len(set(heights)) == 3
    bpy.ops.dqc.example_apply("EXEC_DEFAULT", True, outside="LEAVE")
    assert height_of_copy() is None
    seen = []
    # The mode, then the strokes; the last one brings back what was before them.
    for _ in range(5):
        bpy.ops.ed.undo()
        seen.append(height_of_copy())
    assert seen == pytest.approx([heights[2], heights[2], heights[1], heights[0], None])
    assert not len(bpy.data.objects["Body"].dq_compensation.examples)


def height_of_copy() -> float | None:
    """The sum of the distances of the copy's vertices from the middle; None without a copy."""
    copy = bpy.data.objects.get("Body posed")
    if copy is None or not len(copy.users_collection):
        return None
    return float(np.linalg.norm(read_property(copy.data.vertices, "co", np.float32, (3,))[:, 2]))


@pytest.mark.parametrize("has_basis", [False, True])
def test_cancel_takes_back_the_basis_that_it_made_and_no_other(
    body: Object, has_basis: bool
) -> None:
    if has_basis:
        body.shape_key_add(name="Basis")
    bpy.ops.dqc.example_add()
    assert bpy.ops.dqc.example_cancel() == {"FINISHED"}
    assert (body.data.shape_keys is not None) == has_basis
    assert status_of(body).example_result is None


def test_apply_leaves_the_armature_selected_and_its_result_ends_with_it(body: Object) -> None:
    bpy.ops.ed.undo_push(message="Before")
    add_and_move(body, TOP, 0.1)
    bpy.ops.dqc.example_apply()
    assert [obj.name for obj in bpy.context.selected_objects] == ["Rig"]
    assert bpy.context.mode == "POSE"
    result = status_of(body).example_result
    assert result is not None
    assert result.startswith("LeftArm 1 has your shape: it moves ")
    posed_copy._after_undo()
    assert status_of(body).example_result is None


def test_names_of_bones_lose_their_middle_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replace_everywhere(monkeypatch, shown_width, lambda text: 10.0 * len(text))
    preferences = SimpleNamespace(system=SimpleNamespace(ui_scale=1.0))
    context = SimpleNamespace(region=SimpleNamespace(width=184.0), preferences=preferences)
    assert shortened(context, "Hips") == "Hips"
    assert shortened(context, "mixamorig:RightForeArm") == "mix\u2026oreArm"
    assert len(shortened(context, "mixamorig:RightForeArm", "Of ")) == 10
