"""Steps: the tools of the panels. Paint, check, bake, example poses, the GPU display, takes."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import bpy
import numpy as np
from blender_window import CHECK, Wait
from bpy_extras.view3d_utils import location_3d_to_region_2d
from judging import CATEGORY, DISABLE, Step
from mathutils import Quaternion
from pictures import Picture, screen_picture
from steps_basics import CLOSE

from human.loose_clothes import loose_clothes

ELBOW = "lowerarm_l"
HAND = "hand_l"
# Where a checkbox in a panel's header is, as a part of the sidebar's width.
_CHECKBOX = 0.17
# Likewise the switch beside the slider Softness, and the button that mends what a line says.
_AS_PAINTED, _FIX = 0.75, 0.77


def paint(step: Step) -> Wait:
    """Paint compensation weights of 0 over the elbow; it moves as with a smaller factor; undo."""
    window = step.window
    yield from step.enable()
    compensated = yield from step.look("Compensated")
    yield from window.open_panel("Paint")
    yield from window.press("paint_weights(group='COMPENSATION'", 0.25)
    step.expect(step.human.mode == "WEIGHT_PAINT", "the button goes to Weight Paint")
    group = step.settings.vertex_group
    step.expect(bool(group), f"the weights go to the vertex group {group}")
    yield from step.look("Weight Paint")
    if has_brush("weight_paint"):
        for up in (0.45, 0.5, 0.55):
            yield from window.drag([window.in_view(0.35 + 0.03 * part, up) for part in range(11)])
    else:
        step.expect(True, "this Blender came without brushes: Fill 0 instead of strokes")
        yield from window.press("weights_fill(group='COMPENSATION', value=0", 0.15)
    yield from window.wait_until(
        lambda: (painted(step) < 0.5).sum() > 10, "No weight of the vertex group has changed."
    )
    weights = painted(step)
    step.expect((weights < 0.5).sum() > 10, f"{(weights < 0.5).sum()} vertices are painted")
    yield from step.look("Painted")
    yield from window.press("dqc.paint_done", 0.7)
    step.expect(step.human.mode == "OBJECT", "Done goes back to Object Mode")
    now = yield from step.look("Object Mode")
    step.expect_changed(now, compensated, "Painting changes the elbow", 0.001)
    yield from step.undo(lambda: not step.settings.vertex_group, "Ctrl Z takes everything back")
    step.expect_same((yield from step.look("After Ctrl Z")), compensated, "Undone")


def joints(step: Step) -> Wait:
    """Leave the elbow out in the list of joints: it bulges; drag the slider of a joint; undo."""
    window = step.window
    yield from step.enable()
    compensated = yield from step.look("Compensated")
    yield from window.open_panel("Joints")
    yield from step.look("The list")
    # The list has room for some bones only; the script shows the one that is looked for.
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.dqc.joint_strength(bone=ELBOW, strength=0.0)
        bpy.ops.ed.undo_push(message="Strength of Joint")
    without = yield from step.look("Without the elbow")
    step.expect_changed(without, compensated, "The elbow bulges", 0.001)
    step.settings.joints_left_out = ""
    yield from window.slide("dqc_strength", -20, 0.66)
    yield from step.look("A slider of the list")
    chosen = step.settings.joint_strengths
    step.expect("=0." in chosen, f"the slider of a joint writes {chosen}")
    yield from step.undo(lambda: not step.settings.joint_strengths, "Ctrl Z takes that back")


def soften(step: Step) -> Wait:
    """Soften the weights by the button, take it back by Ctrl Z and by Put Weights Back."""
    window = step.window
    yield from step.enable()
    as_painted = yield from step.look("As painted")
    yield from window.open_panel("Paint")
    yield from step.look("The panel")

    def softened() -> bool:
        return any("painted_weights" in name for name in step.human.data.keys())  # noqa: SIM118

    yield from window.press("dqc.soften_weights")
    yield from window.wait_until(softened, "The weights were not softened.")
    soft = yield from step.look("Softened")
    step.expect_changed(soft, as_painted, "The bent limbs are softer", 0.001)
    yield from step.undo(lambda: not softened(), "Ctrl Z takes it back")
    step.expect_same((yield from step.look("After Ctrl Z")), as_painted, "Undone")
    yield from window.press("dqc.soften_weights")
    yield from window.wait_until(softened, "The weights were not softened.")
    yield from window.press("dqc.restore_weights")
    step.expect(not softened(), "Put Weights Back forgets what it kept")
    step.expect_same((yield from step.look("Put back")), as_painted, "Put Weights Back")


def clothes(step: Step) -> Wait:
    """Give a skirt the weights of the body by the button, see where they came from; undo."""
    window = step.window
    bpy.context.scene.frame_set(1)
    skirt = loose_clothes("skirt").add("Skirt")
    skirt.select_set(True)
    bpy.context.view_layer.objects.active = skirt
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="Skirt")
    view = window.area.spaces.active.region_3d
    view.view_rotation, view.view_distance = Quaternion((0.8, 0.6, 0.0, 0.0)), 1.2
    view.view_location = (0.0, 0.0, -0.1)
    yield from window.open_sidebar(CATEGORY)
    bare = yield from step.look("A skirt beside its body")
    yield from window.open_panel("Paint", enabled=False)
    yield from step.look("The panel")
    yield from window.press("dqc.weights_from_body")
    yield from window.wait_until(
        lambda: bpy.data.objects["Skirt"].vertex_groups, "The skirt got no weights."
    )
    coloured = yield from step.look("Blue: matched, yellow: filled")
    step.expect_changed(coloured, bare, "Colours say where the weights came from", 0.01)
    yield from step.undo(
        lambda: not bpy.data.objects["Skirt"].vertex_groups, "Ctrl Z takes the weights back"
    )
    step.expect_same((yield from step.look("After Ctrl Z")), bare, "Undone")


def softness(step: Step) -> Wait:
    """Drag Softness: the character gets soft by itself; As Painted; Weight Paint; Esc; undo."""
    window = step.window
    yield from step.enable()
    painted, weights = (yield from step.look("Enabled")), weights_of(step)
    yield from window.slide("dq_compensation.softness", 100)
    first = step.settings.softness
    step.expect(first > 0.1, f"the slider is at {first:.3f}")
    yield from window.wait_until(lambda: is_made_for(step, first), "No soft weights were made.")
    soft = yield from step.look("Soft")
    step.expect_changed(soft, painted, "The bent limbs are softer", 0.001)
    yield from window.press("dq_compensation.as_painted", _AS_PAINTED)
    step.expect(step.settings.as_painted, "As Painted is on")
    step.expect_same((yield from step.look("As Painted")), painted, "As Painted")
    yield from window.press("dq_compensation.as_painted", _AS_PAINTED)
    step.expect_same((yield from step.look("Soft again")), soft, "Without As Painted")
    with bpy.context.temp_override(window=window.window):
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    yield from step.look("Weight Paint shows the painted weights")
    with bpy.context.temp_override(window=window.window):
        bpy.ops.object.mode_set(mode="OBJECT")
    yield from window.wait(20)
    yield from window.over_view()
    # Where drawing is slow they are made before Esc arrives: slices without a step wait for it.
    with patch.multiple(_reporting(), _SHORTEST_SLICE=0.0, _LONGEST_SLICE=0.0):
        step.settings.softness = 0.9
        yield from window.wait_until(are_made, "No soft weights are being made.")
        yield from window.key("ESC")
        yield from window.wait(20)
    step.expect(not are_made(), "Esc stops")
    step.expect(is_made_for(step, first), "the last soft weights stay")
    step.expect_same((yield from step.look("Esc: the panel says that they are old")), soft, "Esc")
    yield from window.press("dqc.update_softness", _FIX)
    yield from window.wait_until(
        lambda: is_made_for(step, step.settings.softness), "The button has made no soft weights."
    )
    softer = yield from step.look("Update Softness")
    step.expect_changed(softer, soft, "It is softer", 0.0002)
    step.expect(weights_of(step) == weights, "no painted weight has changed")
    yield from step.undo(lambda: step.settings.softness == 0.0, "Ctrl Z sets the slider to 0")
    step.expect_same((yield from step.look("After Ctrl Z")), painted, "Undone")


def softness_and_twist(step: Step) -> Wait:
    """Drag Spread Twist while soft weights are made, twice: nothing takes the mouse."""
    window, owner = step.window, step.rig.dq_compensation
    yield from step.enable()
    x, y = yield from window.find("dq_compensation.twist_spread", 0.7)
    owner.softness = 0.5
    yield from window.wait_until(are_made, "No soft weights are being made.")
    yield from window.move((x, y))
    yield from window.event("LEFTMOUSE", "PRESS")
    message = "No soft weights were made while the mouse is held."
    yield from window.wait_until(lambda: is_made_for(step, 0.5), message)
    for part in range(1, 11):
        yield from window.move((x + 10 * part, y))
    begun = owner.twist_spread
    step.expect(0.1 < begun < 0.9, f"the slider is at {begun:.3f}")
    owner.softness = 0.9
    yield from window.wait_until(lambda: is_made_for(step, 0.9), message)
    # They are tested then.
    yield from window.wait_until(lambda: not are_made(), "Progress is shown for ever.")
    step.expect(owner.twist_spread == begun, f"it stays at {owner.twist_spread:.3f}")
    for part in range(11, 21):
        yield from window.move((x + 10 * part, y))
    yield from window.event("LEFTMOUSE", "RELEASE")
    yield from window.wait(10)
    step.expect(owner.twist_spread == 1.0, f"and goes on to {owner.twist_spread:.3f}")
    step.show("The panel and the status bar")


def softness_held(step: Step) -> Wait:
    """Drag Softness twenty times: the picture follows while the mouse is held; no drag is lost."""
    window, owner = step.window, step.rig.dq_compensation
    yield from step.enable()
    owner.softness = 0.5
    yield from window.wait_until(lambda: is_made_for(step, 0.5), "No soft weights were made.")
    yield from window.wait(20)
    x, y = yield from window.find("dq_compensation.softness", 0.6)
    moved, kept = [], []
    # Short ones: the last weights are still computed when the next drag begins.
    with patch.multiple(_reporting(), _SHORTEST_SLICE=0.02, _LONGEST_SLICE=0.02):
        for number in range(20):
            way = (25 + number) * (-1) ** number
            there, begun = step.positions(), owner.softness
            yield from window.move((x, y))
            yield from window.event("LEFTMOUSE", "PRESS")
            for part in range(1, 6):
                yield from window.move((x + way * part // 5, y))
            held = owner.softness
            yield from window.wait(2)
            moved.append(float(np.abs(step.positions() - there).max()))
            if number == 0:
                step.show("While the mouse is held")
            yield from window.event("LEFTMOUSE", "RELEASE")
            yield from window.wait(4)
            kept.append(owner.softness == held != begun)
    step.expect(all(kept), f"{sum(kept)} of 20 drags stay where they were released")
    step.expect(min(moved) > 1e-4, f"vertices move by {min(moved):.1e} m at least while held")
    last = owner.softness
    yield from window.wait_until(lambda: is_made_for(step, last), "No soft weights were made.")
    step.expect(not step.settings.native.softness_blended, "the blend ends with the weights")
    step.show("The last drag, released")


def is_made_for(step: Step, softness: float) -> bool:
    """Whether the soft weights that act are made for a softness."""
    copy = step.settings.native.soft_copy
    record = copy.data.get("dq_compensation_soft_weights_of") if copy is not None else None
    return record is not None and abs(json.loads(record["record"])["softness"] - softness) < 1e-5


def are_made() -> bool:
    """Whether soft weights are being made."""
    return _reporting().is_running()


def _reporting() -> Any:
    """The add-on's module, under the name that Blender gives to an extension."""
    return next(each for name, each in sys.modules.items() if name.endswith(".ui_shared.reporting"))


def weights_of(step: Step) -> list[tuple[int, int, float]]:
    """All painted weights: vertex, group, weight."""
    return [
        (vertex.index, entry.group, entry.weight)
        for vertex in step.human.data.vertices
        for entry in vertex.groups
    ]


def twist(step: Step) -> Wait:
    """Drag Spread Twist with a hand twisted by 150 degrees: the forearm takes part; undo."""
    window = step.window
    yield from step.enable()
    hand = step.rig.pose.bones[HAND]
    hand.rotation_mode = "QUATERNION"
    hand.rotation_quaternion = Quaternion((0.0, 1.0, 0.0), np.radians(150.0))
    for bone in (HAND, ELBOW):
        step.rig.pose.bones[bone].keyframe_insert("rotation_quaternion", frame=24)
    with bpy.context.temp_override(window=window.window):
        bpy.ops.ed.undo_push(message="Twist the hand")
    at_joint = yield from step.look("The twist is at the joint")
    yield from window.slide("dq_compensation.twist_spread", 200)
    step.expect(step.settings.twist_spread == 1.0, f"it is {step.settings.twist_spread:.3f}")
    spread = yield from step.look("Spread along the forearm")
    step.expect_changed(spread, at_joint, "The forearm takes part in the twist", 0.001)
    yield from step.to_frame(16)
    yield from step.look("Another frame")
    yield from step.to_frame(24)
    step.expect_same((yield from step.look("Back again")), spread, "The same frame again")
    yield from step.undo(lambda: step.settings.twist_spread == 0.0, "Ctrl Z sets the slider to 0")
    step.expect_same((yield from step.look("After Ctrl Z")), at_joint, "Undone")


def has_brush(mode: str) -> bool:
    """Whether a paint mode has a brush. Since 4.3 brushes are assets, which packages may lack."""
    return getattr(bpy.context.tool_settings, mode).brush is not None


def painted(step: Step) -> np.ndarray:
    """The weights of the compensation group, 0 where a vertex is not in it."""
    human = step.human
    index = human.vertex_groups[step.settings.vertex_group].index
    return np.array(
        [
            next((entry.weight for entry in vertex.groups if entry.group == index), 0.0)
            for vertex in human.data.vertices
        ]
    )


def check(step: Step) -> Wait:
    """A patch of the forearm has lost its weights. Click Check and the button that fixes it."""
    window = step.window
    human = step.human
    places = np.array([vertex.co for vertex in human.data.vertices])
    bone = step.rig.data.bones[ELBOW]
    distances = np.linalg.norm(places - np.array((bone.head_local + bone.tail_local) / 2), axis=1)
    whole = yield from step.look("Before the weights are lost")
    for group in human.vertex_groups:
        group.remove(np.argsort(distances)[:60].tolist())
    bpy.ops.ed.undo_push(message="Lose weights")
    torn = yield from step.look("A patch without weights")
    step.expect_changed(torn, whole, "The patch stays behind")
    yield from window.press("dqc.check", CHECK)
    yield from step.look("Checked")
    yield from window.press("weight_from_neighbours")
    yield from window.wait(20)
    step.show("The question")
    yield from window.key("RET")
    fixed = yield from step.look("Fixed")
    step.expect_changed(fixed, torn, "The button closes the skin")
    part = fixed.changed_from(whole)
    step.expect(part < 0.2 * torn.changed_from(whole), f"{part:.3%} differs from before")
    yield from step.undo(
        lambda: not step.human.data.vertices[int(np.argmin(distances))].groups,
        "Ctrl Z takes the weights away",
    )
    step.expect_same((yield from step.look("After Ctrl Z")), torn, "Undone")


def off_its_rig(step: Step) -> Wait:
    """The mesh object is turned off its rig. Click Check and the button that moves it back."""
    window = step.window
    whole = yield from step.look("On its rig")
    there = np.array(step.human.matrix_world)
    step.human.rotation_euler.z = np.radians(20.0)
    bpy.ops.ed.undo_push(message="Turn the mesh")
    turned = yield from step.look("Turned by 20 degrees")
    step.expect_changed(turned, whole, "The mesh is elsewhere")
    yield from window.press("dqc.check", CHECK)
    yield from step.look("Checked")
    yield from window.press("move_mesh")
    yield from window.wait(20)
    step.show("The question")
    yield from window.key("RET")
    step.expect_same((yield from step.look("Moved to its rig")), whole, "The mesh is back")
    off = float(np.abs(np.array(step.human.matrix_world) - there).max())
    step.expect(off <= CLOSE, f"its matrix is {off:.1e} from what it was at most")
    yield from step.undo(
        lambda: abs(step.human.rotation_euler.z - np.radians(20.0)) < 1e-6,
        "One Ctrl Z turns it again",
    )
    step.expect_same((yield from step.look("After Ctrl Z")), turned, "Undone")


def bake(step: Step) -> Wait:
    """Click Bake Pose and confirm. The key shows the same with DQ Compensation disabled; undo."""
    window = step.window
    yield from step.enable()
    compensated, there = (yield from step.look("Compensated")), step.positions()
    yield from window.open_panel("Export and Bake")
    yield from window.press("dqc.bake_pose")
    yield from window.wait(20)
    step.show("The dialog")
    yield from window.key("RET")
    yield from window.wait(20)
    keys = step.human.data.shape_keys
    step.expect(keys is not None and "Pose" in keys.key_blocks, "there is a shape key Pose")
    yield from step.look("Baked")
    yield from window.press("dqc.disable", DISABLE)
    step.human.data.shape_keys.key_blocks["Pose"].value = 1.0
    baked = yield from step.look("Disabled, the key at 1")
    step.expect_same(baked, compensated, "The key against DQ Compensation")
    off = float(np.abs(step.positions() - there).max())
    step.expect(off <= CLOSE, f"vertices are {off:.1e} m from the compensated ones at most")
    yield from step.undo(
        lambda: step.settings.enabled and step.human.data.shape_keys is None, "Ctrl Z unbakes"
    )
    step.expect_same((yield from step.look("After Ctrl Z")), compensated, "Undone")


def bake_to_bones(step: Step) -> Wait:
    """Spread twists, press Bake to Bones, confirm: plain skinning shows nearly the same; undo."""
    window = step.window
    yield from step.enable()
    yield from window.slide("dq_compensation.twist_spread", 200)
    spread = step.settings.twist_spread
    step.expect(spread > 0.1, f"Spread Twist is at {spread:.3f}")
    live, there = (yield from step.look("Live")), step.positions()
    bones = len(step.rig.data.bones)
    yield from window.open_panel("Export and Bake")
    yield from window.press("dqc.bake_bones", 0.25)
    yield from window.wait(20)
    step.show("The dialog")
    yield from window.key("RET")
    yield from window.wait_until(lambda: not step.settings.enabled, "It was not baked.")
    yield from window.wait(20)
    step.expect(any("_twist" in bone.name for bone in step.rig.data.bones), "there are twist bones")
    yield from step.look("Baked: the Armature modifier alone")
    off = np.linalg.norm(step.positions() - there, axis=1)
    step.expect(float(off.max()) < 0.01, f"vertices are {off.max():.1e} m off at most")
    yield from step.undo(
        lambda: step.settings.enabled and len(step.rig.data.bones) == bones, "Ctrl Z unbakes"
    )
    step.expect_same((yield from step.look("After Ctrl Z")), live, "Undone")


def to_by_example(step: Step) -> Wait:
    """Enable the method By Example and choose the elbow."""
    window = step.window
    yield from step.enable()
    yield from step.open_advanced()
    yield from window.turn(
        "dq_compensation.method", lambda: step.settings.method == "SPHERICAL_JOINT_BY_EXAMPLE"
    )
    yield from window.open_panel("By Example")
    yield from window.choose(
        "dq_compensation.example_bone", ELBOW, lambda: step.settings.example_bone == ELBOW
    )


def is_applied(step: Step) -> bool:
    """Whether an example has a shape of its own."""
    settings = step.settings
    if not len(settings.examples) or step.human.hide_get():
        return False
    blocks = step.human.data.shape_keys.key_blocks
    shape = np.empty(3 * len(step.human.data.vertices), np.float32)
    rest = shape.copy()
    blocks[settings.examples[0].key].points.foreach_get("co", shape)
    blocks[0].points.foreach_get("co", rest)
    return bool(np.abs(shape - rest).max() > 1e-3)


def add_example(step: Step, across: float, mode: str) -> Generator[None, None, Picture]:
    """Click Add and Edit, or Add and Sculpt beside it; the view before that.

    Args:
        across: where in the sidebar's width the button is.
        mode: of the posed copy then.
    """
    yield from to_by_example(step)
    before = yield from step.look("Before")
    yield from step.window.press("dqc.example_add", across)
    yield from step.window.wait_until(
        lambda: bpy.context.view_layer.objects.active.mode == mode,
        f"The posed copy is not in the mode {mode}.",
    )
    yield from step.look(f"The posed copy, {mode}")
    return before


def by_example(step: Step) -> Wait:
    """Click Add and Edit, thicken the elbow, leave Edit Mode: the shape is applied; undo."""
    window = step.window
    before = yield from add_example(step, 0.75, "EDIT")
    yield from window.over_view()
    yield from window.key("A")
    yield from window.key("S", alt=True)
    yield from window.type_text("0.01")
    yield from window.key("RET")
    yield from step.look("Thickened")
    yield from window.over_view()
    yield from window.key("TAB")
    yield from window.wait(60)
    step.expect(is_applied(step), "leaving the mode applies the shape")
    shaped = yield from step.look("Applied")
    step.expect_changed(shaped, before, "The example changes the elbow")
    shared = step.settings.example_bones[ELBOW]
    step.expect(shared.weights == "AUTO", "a new bone chooses its weights itself")
    yield from window.turn(".weights", lambda: shared.weights == "LINEAR")
    yield from window.wait(60)
    # In its own pose the example acts fully either way.
    step.expect_same((yield from step.look("Linear")), shaped, "Linear")
    yield from step.undo(lambda: not len(step.settings.examples), "Ctrl Z removes the example")
    step.expect_same((yield from step.look("After Ctrl Z")), before, "Undone")


def sculpt(step: Step) -> Wait:
    """Click Add and Sculpt, draw a stroke, click Apply."""
    window = step.window
    before = yield from add_example(step, 0.25, "SCULPT")
    if not has_brush("sculpt"):
        step.expect(True, "this Blender came without brushes: Cancel instead of strokes")
        yield from window.press("dqc.example_cancel")
        step.expect(not len(step.settings.examples), "Cancel removes the new example")
        step.expect_same((yield from step.look("After Cancel")), before, "Cancelled")
        return
    for up in (0.5, 0.53, 0.56):
        yield from window.drag([window.in_view(0.42 + 0.01 * part, up) for part in range(11)])
    yield from step.look("Sculpted")
    yield from window.press("dqc.example_apply")
    yield from window.wait(60)
    step.expect(is_applied(step), "Apply applies the shape")
    shaped = yield from step.look("Applied")
    step.expect_changed(shaped, before, "The example changes the elbow", 0.001)


def _switch_solved(step: Step, before: Picture, solved: Picture) -> Wait:
    """Click Solved Shapes twice, and hold the key."""
    window = step.window
    for state, expected in (("off", before), ("on", solved)):
        yield from window.press("dq_compensation.use_solved_shapes")
        yield from window.wait(20)
        step.expect_same((yield from step.look(f"Solved Shapes {state}")), expected, state)
    yield from window.over_view()
    yield from window.event("F", "PRESS", shift=True, alt=True)
    yield from window.wait(40)
    held = yield from step.look("Shift Alt F is held")
    step.expect_changed(held, solved, "Held", 0.001)
    yield from window.over_view()
    yield from window.event("F", "RELEASE")
    yield from window.wait(40)
    step.expect_same((yield from step.look("It is let go")), solved, "Let go")


def solve_folds(step: Step) -> Wait:
    """Solve Folds of the forearm: the bent elbow folds; switch, keys, Remove Solved; undo."""
    window = step.window
    yield from step.enable()
    yield from window.open_panel("By Example")
    rig = step.rig
    rig.hide_set(False)
    with bpy.context.temp_override(window=window.window):
        bpy.context.view_layer.objects.active = rig
        rig.select_set(True)
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
        bone = rig.pose.bones[ELBOW]
        (bone if hasattr(bone, "select") else bone.bone).select = True
    window.area.spaces.active.overlay.show_overlays = False
    before, shown = (yield from step.look("Before")), step.positions()
    yield from window.press("dqc.solve_folds")
    yield from window.wait(60)
    yield from step.look("Estimate")
    yield from window.key("RET")
    yield from window.wait_until(
        lambda: step.settings.solved_shapes is not None, "Nothing has been solved."
    )
    yield from window.wait(40)
    solved = yield from step.look("Solved")
    step.expect_changed(solved, before, "The elbow folds", 0.001)
    farthest = float(np.linalg.norm(step.positions() - shown, axis=1).max())
    step.expect(0.002 < farthest < 0.05, f"vertices go up to {1000.0 * farthest:.1f} mm elsewhere")
    yield from _switch_solved(step, before, solved)
    yield from _test_solved_motion(step, before)
    yield from window.press("dqc.remove_solved", 0.75)
    step.expect(step.settings.solved_shapes is None, "Remove Solved removes them")
    step.expect_same((yield from step.look("Removed")), before, "Removed")
    yield from step.undo(
        lambda: step.settings.solved_shapes is not None, "Ctrl Z brings the shapes back"
    )
    step.expect_same((yield from step.look("After Ctrl Z")), solved, "Undone")


def _test_solved_motion(step: Step, before: Picture) -> Wait:
    """Test Motion begins with the elbow, which is selected; S takes the folds away and back."""
    window = step.window
    yield from window.press("dqc.test_motion", 0.83)
    yield from window.over_view()
    yield from window.wait(60)
    moved = screen_picture(window.window).cropped(window.region())
    step.show("Test Motion")
    step.expect_changed(moved, before, "The elbow is tested first", 0.02)
    for text in ("without", "with"):
        yield from window.key("S")
        yield from window.wait(30)
        step.show(f"Test Motion {text} solved shapes")
    yield from window.key("ESC")
    yield from window.wait(10)


def empty_view(step: Step) -> Generator[None, None, Picture]:
    """The view without the character, and from now on without overlays.

    In the GPU display Blender draws the character's bounds, as lines.
    """
    window = step.window
    space = window.area.spaces.active
    space.overlay.show_overlays = False
    # A colour that no part of the character has.
    space.shading.background_type = "VIEWPORT"
    space.shading.background_color = (0.0, 0.0, 0.6)
    step.human.hide_set(True)
    picture = yield from window.look()
    step.human.hide_set(False)
    step.human.select_set(True)
    return picture


def gpu_display(step: Step) -> Wait:
    """Click GPU: the same outline; drag Factor; undo both."""
    window = step.window
    empty = yield from empty_view(step)
    yield from step.enable()
    modifier = yield from step.look("Modifier")
    yield from step.open_advanced()
    yield from window.press("dq_compensation.display", 0.75)
    step.expect(step.settings.display == "GPU", f"the display is {step.settings.display}")
    drawn = yield from step.look("GPU")
    step.expect_outline(drawn, modifier, empty, "GPU against Modifier")
    yield from window.slide("dq_compensation.factor", -200)
    plain = yield from step.look("GPU, Factor 0")
    step.expect_changed(plain, drawn, "The factor acts on the GPU")
    yield from step.undo(lambda: step.settings.factor == 1.0, "Ctrl Z sets the factor to 1")
    step.expect_same((yield from step.look("After Ctrl Z")), drawn, "Undone")
    yield from step.undo(lambda: step.settings.display == "MODIFIER", "Ctrl Z sets the display")
    step.expect_same((yield from step.look("After Ctrl Z")), modifier, "Undone")


def bones_on_gpu(step: Step) -> Wait:
    """The GPU display in Pose Mode: bones lie over the picture, and a click selects one."""
    window, rig = step.window, step.rig
    yield from step.enable()
    yield from step.open_advanced()
    yield from window.press("dq_compensation.display", 0.75)
    rig.hide_set(False)
    rig.show_in_front = True
    space = window.area.spaces.active
    space.region_3d.view_distance = 1.2
    bpy.context.view_layer.objects.active = rig
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
    drawn = yield from step.look("Pose Mode")
    space.overlay.show_bones = False
    without = yield from step.look("Without bones")
    step.expect_changed(drawn, without, "Bones lie over the picture", 0.001)
    space.overlay.show_bones = True
    bone, region = rig.pose.bones[ELBOW], window.region()
    middle = rig.matrix_world @ ((bone.head + bone.tail) / 2.0)
    at = location_3d_to_region_2d(region, space.region_3d, middle)
    yield from window.click((region.x + round(at.x), region.y + round(at.y)))
    yield from window.wait(20)
    active = bpy.context.active_pose_bone
    step.expect(active == bone, f"the click selects {active.name if active else 'nothing'}")
    chosen = yield from step.look("Clicked")
    step.expect_changed(chosen, drawn, "The selected bone has another colour", 0.0001)


def posed_by_hand(step: Step) -> Wait:
    """Turn a bone with R and the mouse: the skin follows while it moves, and after a click; undo.

    *Refresh* computes everything anew, and changes nothing then.
    """
    window, rig = step.window, step.rig
    yield from step.enable()
    step.settings.softness = 0.5
    yield from window.wait_until(lambda: not step.is_softening, "The weights did not get soft")
    rig.hide_set(False)
    bpy.context.view_layer.objects.active = rig
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
        bone = rig.pose.bones[ELBOW]
        rig.data.bones.active = bone.bone
        (bone if hasattr(bone, "select") else bone.bone).select = True
        bpy.ops.ed.undo_push(message="Posing begins")
    before, turned = (yield from step.look("Before")), np.array(bone.matrix_channel)
    yield from window.move(window.in_view(0.5, 0.3))
    yield from window.key("R")
    seen = [step.positions()]
    for part in range(1, 9):
        yield from window.move(window.in_view(0.5 + 0.03 * part, 0.3 + 0.04 * part))
        yield from window.wait(3)
        seen.append(step.positions())
    step.show("The mouse is held")
    moved = [np.abs(now - last).max() for last, now in pairwise(seen)]
    step.expect(min(moved) > 1e-3, f"the skin follows each move, by {min(moved):.4f} m or more")
    yield from window.event("LEFTMOUSE", "PRESS")
    yield from window.event("LEFTMOUSE", "RELEASE")
    after = yield from step.look("Released")
    step.expect_changed(after, before, "The arm is elsewhere")
    posed = step.positions()
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.context.view_layer.objects.active = step.human
        bpy.ops.dqc.refresh()
    off = float(np.abs(step.positions() - posed).max())
    step.expect(off < 1e-5, f"Refresh moves nothing: {off:.1e} m")
    yield from step.undo(
        lambda: np.allclose(step.rig.pose.bones[ELBOW].matrix_channel, turned, atol=1e-6),
        "Ctrl Z puts the arm back",
    )
    step.expect_same((yield from step.look("After Ctrl Z")), before, "Undone")


def beside(step: Step) -> Wait:
    """Choose Beside: the character once more, as the Armature modifier deforms it; and none."""
    window, manager = step.window, bpy.context.window_manager
    window.area.spaces.active.region_3d.view_distance = 2.5
    yield from step.enable()
    alone, objects = (yield from step.look("Alone")), len(bpy.data.objects)
    yield from window.open_panel("Joints")
    yield from window.turn("dqc_beside", lambda: manager.dqc_beside == "LINEAR")
    two = yield from step.look("Beside, the Armature modifier")
    step.expect_changed(two, alone, "There are two", 0.02)
    step.expect(len(bpy.data.objects) == objects, "no object is added to the file")
    yield from window.turn("dqc_beside", lambda: manager.dqc_beside == "NONE")
    step.expect_same((yield from step.look("None beside")), alone, "The copy is gone")


def play_take(step: Step) -> Wait:
    """Cache a take and play it without the armature: the elbow follows the timeline."""
    window = step.window
    empty = yield from empty_view(step)
    yield from step.enable()
    # The last frame of a take in a loop shows the first one.
    yield from step.to_frame(22)
    bent = yield from step.look("Frame 22, posed by the armature")
    yield from step.to_frame(12)
    posed = yield from step.look("Frame 12, posed by the armature")
    step.expect_changed(posed, bent, "Frame 12 against frame 22")
    yield from window.open_panel("Playback")
    yield from window.press("dqc.take_cache")
    yield from window.wait(20)
    step.show("The dialog")
    yield from window.key("RET")
    yield from window.wait_until(lambda: len(step.rig.dq_compensation.takes), "There is no take.")
    step.show("The take")
    # What Blender deforms stays straight from now on.
    step.rig.data.pose_position = "REST"
    x, y = yield from window.find("playback.playing", _CHECKBOX)
    yield from window.click((x, y))
    step.expect(step.rig.dq_compensation.playback.playing, "the checkbox plays")
    step.expect(step.settings.display == "GPU", "and switches the GPU display on")
    # Its panel opens by a click on its name.
    yield from window.click((x + 50, y))
    playback = step.rig.dq_compensation.playback
    if not playback.take:
        name = step.rig.dq_compensation.takes[0].name
        yield from window.choose("playback.take", name[:5], lambda: playback.take == name)
    played = yield from step.look("Frame 12, played")
    step.expect_outline(played, posed, empty, "The take against the armature, frame 12")
    yield from step.to_frame(22)
    played = yield from step.look("Frame 22, played")
    step.expect_outline(played, bent, empty, "The take against the armature, frame 22")
    yield from step.undo(lambda: not step.rig.dq_compensation.playback.playing, "Ctrl Z stops it")
