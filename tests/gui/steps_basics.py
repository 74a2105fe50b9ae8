"""Steps: what everybody does. Install, enable, compare, save."""

from __future__ import annotations

import bpy
import numpy as np
from blender_window import Wait
from judging import CATEGORY, COMPARE, DISABLE, ENABLE, Step
from pictures import Picture, screen_picture

from human.first_minute import ELBOW, RIG, aim
from human.model import load_human_arrays

# The part of the view that words over it take, at most.
WORDS = 0.01
# The part of the view that a rigger sees change without being told where to look.
SEEN_AT_ONCE = 0.02
# Metres, of a human of 1.7: nodes compute in 32 bits.
CLOSE = 1e-4
# The height of a row of a panel, in pixels.
_ROW = 22


def install(step: Step) -> Wait:
    """Install the zip from disk. The sidebar gets its tab."""
    window = step.window
    bpy.ops.extensions.package_install_files(
        filepath=str(step.archive), repo="user_default", enable_on_install=True
    )
    yield from window.wait(20)
    step.expect(hasattr(bpy.types.Object, "dq_compensation"), "the add-on is registered")
    # The other steps compare with the weights as they are painted.
    step.preferences.new_look = "AS_PAINTED"
    yield from window.open_sidebar(CATEGORY)
    yield from step.look("The tab of the sidebar")


def first_minute(step: Step) -> Wait:
    """Do the first minute of the README: each thing that it says to look at is seen."""
    window = step.window
    bpy.ops.wm.read_homefile()
    yield from window.wait(20)
    step.preferences.property_unset("chosen_look")
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    yield from window.open_sidebar(CATEGORY)
    yield from step.look("A new file")
    # The hands are where the view will be aimed.
    bpy.context.scene.cursor.location.z = load_human_arrays(RIG).vertices[:, 2].min()
    yield from window.press("dqc.add_sample_character")
    yield from step.look("Add Sample Character")
    yield from window.over_view()
    yield from window.key("NUMPAD_PERIOD")
    yield from step.look("Numpad . brings it near")
    aim(window.area.spaces.active)
    yield from window.press("dqc.enable", ENABLE)
    yield from window.wait_until(lambda: not step.is_softening, "The weights do not get soft.")
    step.expect(step.human.dq_compensation.softness == 0.5, "Enable gives Soft with Twist")
    soft = yield from step.look("Soft with Twist")
    yield from window.slide("dq_compensation.factor", -200)
    plain = yield from step.look("Factor 0")
    step.expect_changed(plain, soft, "Factor 1 to 0", SEEN_AT_ONCE)
    for _ in range(3):
        yield from window.slide("dq_compensation.factor", 60)
    step.expect(step.rig.dq_compensation.factor == 1.0, "the slider goes back to 1")
    step.expect_same((yield from step.look("Factor 1")), soft, "Factor 1 again")
    yield from _hold_the_keys(step, soft)
    for look in ("As Painted", "Soft with Twist"):
        with bpy.context.temp_override(window=window.window):
            bpy.ops.dqc.preset_apply(filepath=step.preset(look))
        yield from window.wait_until(lambda: not step.is_softening, "The weights do not get soft.")
        seen = yield from step.look(look)
        if look == "As Painted":
            step.expect_changed(seen, soft, "As Painted to Soft with Twist", SEEN_AT_ONCE)
    step.expect_same(seen, soft, "Soft with Twist again")
    yield from _solve_the_elbow(step)
    yield from window.press("dqc.disable", DISABLE)
    step.expect(not step.settings.enabled, "Disable disables")
    step.preferences.new_look = "AS_PAINTED"


def _solve_the_elbow(step: Step) -> Wait:
    """Select the bent forearm in Pose Mode, and solve its folds."""
    window = step.window
    with bpy.context.temp_override(window=window.window):
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
    bone = step.rig.pose.bones[ELBOW]
    (bone if hasattr(bone, "select") else bone.bone).select = True
    yield from window.open_panel("By Example")
    before = yield from step.look("The forearm is selected")
    yield from window.press("dqc.solve_folds")
    yield from window.wait(60)
    yield from window.key("RET")
    yield from window.wait_until(
        lambda: step.settings.solved_shapes is not None, "Nothing has been solved."
    )
    yield from window.wait(40)
    solved = yield from step.look("Solve Folds")
    step.expect_changed(solved, before, "The elbow folds", 0.001)


def _hold_the_keys(step: Step, soft: Picture) -> Wait:
    """Hold the key of each comparison."""
    window = step.window
    for key, what in (("D", "the Armature modifier"), ("V", "Preserve Volume")):
        yield from window.over_view()
        yield from window.event(key, "PRESS", shift=True, alt=True)
        yield from window.wait(10)
        held = yield from step.look(f"Shift Alt {key} is held")
        step.expect_changed(held, soft, f"Compared with {what}", SEEN_AT_ONCE + WORDS)
        yield from window.over_view()
        yield from window.event(key, "RELEASE")
        yield from window.wait(10)
        step.expect_same((yield from step.look("Released")), soft, "Released")


def enable(step: Step) -> Wait:
    """Click Enable; undo and redo; click Disable."""
    window = step.window
    yield from window.open_sidebar(CATEGORY)
    before = yield from step.look("Before")
    yield from step.enable()
    after = yield from step.look("After Enable")
    step.expect_changed(after, before, "Enable changes the elbow")
    yield from step.undo(lambda: not step.settings.enabled, "Ctrl Z disables")
    step.expect_same((yield from step.look("After Ctrl Z")), before, "Undone")
    yield from window.over_view()
    yield from window.key("Z", ctrl=True, shift=True)
    step.expect(step.settings.enabled, "Shift Ctrl Z enables again")
    step.expect_same((yield from step.look("After Shift Ctrl Z")), after, "Redone")
    yield from window.press("dqc.disable", DISABLE)
    step.expect(not step.settings.enabled, "Disable disables")
    step.expect_same((yield from step.look("After Disable")), before, "Disabled")


def factor(step: Step) -> Wait:
    """Drag Factor to 0. The elbow looks as with Blender's Preserve Volume; undo."""
    window, modifier = step.window, step.human.modifiers["Armature"]
    modifier.use_deform_preserve_volume = True
    volume, there = (yield from step.look("Blender's Preserve Volume")), step.positions()
    modifier.use_deform_preserve_volume = False
    yield from step.enable()
    compensated = yield from step.look("Compensated")
    yield from window.slide("dq_compensation.factor", -200)
    step.expect(step.settings.factor == 0.0, f"the slider is at {step.settings.factor:.3f}")
    plain = yield from step.look("Factor 0")
    step.expect_same(plain, volume, "Factor 0 against Preserve Volume")
    off = float(np.abs(step.positions() - there).max())
    step.expect(off <= CLOSE, f"vertices are {off:.1e} m from Preserve Volume's at most")
    step.expect_changed(compensated, plain, "Factor 1 against Factor 0")
    yield from step.undo(lambda: step.settings.factor == 1.0, "Ctrl Z sets the factor to 1")
    step.expect_same((yield from step.look("After Ctrl Z")), compensated, "Undone")


def alt(step: Step) -> Wait:
    """Select two characters and drag Factor: one changes. With Alt both change; undo."""
    window = step.window
    human, rig = step.human, step.rig
    second, second_rig = human.copy(), rig.copy()
    second.modifiers["Armature"].object = second_rig
    second.parent = second_rig
    for obj in (second, second_rig):
        bpy.context.scene.collection.objects.link(obj)
        obj.name = f"Second {obj.type.title()}"
    second_rig.location.y += 1.0
    second_rig.hide_set(True)
    second.select_set(True)
    yield from window.wait(20)
    yield from step.enable()
    names = "Human Rig", second_rig.name

    def factors() -> list[float]:
        return [bpy.data.objects[name].dq_compensation.factor for name in names]

    yield from window.slide("dq_compensation.factor", -200)
    step.expect(factors() == [0.0, 1.0], f"the active character changes: {factors()}")
    yield from step.undo(lambda: factors() == [1.0, 1.0], "Ctrl Z sets it to 1")
    yield from window.slide("dq_compensation.factor", -200, alt=True)
    step.expect(factors() == [0.0, 0.0], f"with Alt both change: {factors()}")
    yield from step.undo(lambda: factors() == [1.0, 1.0], "Ctrl Z sets both to 1")


def method(step: Step) -> Wait:
    """Turn the mouse wheel over Method: each method is shown."""
    window = step.window
    linear = yield from step.look("The Armature modifier")
    yield from step.enable()
    yield from step.open_advanced()
    for name in ("LINEAR", "DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"):
        yield from window.turn(
            "dq_compensation.method", lambda name=name: step.settings.method == name
        )
        now = yield from step.look(name)
        if name == "LINEAR":
            step.expect_same(now, linear, "Linear against the Armature modifier")
        else:
            step.expect_changed(now, linear, f"{name} against Linear")


def look(step: Step) -> Wait:
    """Open the menu Look and choose Solved by its keys: Soft with Twist, and an offer; undo."""
    window = step.window
    yield from step.enable()
    painted = yield from step.look("As Painted")
    x, y = yield from window.find("dq_compensation.factor", 0.7)
    # Menus have no Python to find them by: this one is in the row above.
    yield from window.click((x, y + _ROW))
    step.show("The menu")
    yield from window.key("UP_ARROW")
    yield from window.key("RET")
    yield from window.wait(20)
    chosen = (step.settings.softness, step.settings.twist_spread)
    step.expect(chosen == (0.5, 1.0), f"softness and spread are {chosen}")
    yield from window.wait_until(
        lambda: step.settings.native.soft_copy is not None, "No soft weights are made."
    )
    yield from window.wait(100)
    step.expect(step.rig.dq_compensation.use_solved_shapes, "Solved shapes are on")
    soft = yield from step.look("Solved, and nothing is solved")
    step.expect_changed(soft, painted, "The elbow is softer", 0.001)
    yield from step.undo(lambda: step.settings.softness == 0.0, "Ctrl Z takes the look back")
    step.expect(step.settings.twist_spread == 0.0, "all of it")
    step.expect_same((yield from step.look("After Ctrl Z")), painted, "Undone")


def compare(step: Step) -> Wait:
    """Hold Shift Alt D, and Shift Alt V, and let them go; press Ctrl Shift Alt D twice."""
    window = step.window
    plain = yield from step.look("Plain")
    yield from step.enable()
    compensated = yield from step.look("Compensated")
    yield from window.over_view()
    yield from window.event("D", "PRESS", shift=True, alt=True)
    yield from window.wait(10)
    # The words over the view say what is shown.
    step.expect_same((yield from step.look("The key is held")), plain, "Held", WORDS)
    step.expect(step.settings.method == "COMPENSATED", "no setting has changed")
    yield from window.over_view()
    yield from window.event("D", "RELEASE")
    yield from window.wait(10)
    step.expect_same((yield from step.look("The key is released")), compensated, "Released")
    yield from window.over_view()
    yield from window.event("V", "PRESS", shift=True, alt=True)
    yield from window.wait(10)
    held = yield from step.look("The key of Preserve Volume is held")
    step.expect_changed(held, plain, "Preserve Volume is not the plain modifier", 0.001)
    step.expect_changed(held, compensated, "Preserve Volume bulges", 0.001)
    yield from window.over_view()
    yield from window.event("V", "RELEASE")
    yield from window.wait(10)
    step.expect_same((yield from step.look("It is released")), compensated, "Released")
    for enabled, picture in ((False, plain), (True, compensated)):
        yield from window.over_view()
        yield from window.key("D", shift=True, ctrl=True, alt=True)
        step.expect(step.settings.enabled == enabled, f"the shortcut sets enabled to {enabled}")
        step.expect_same((yield from step.look("Toggled")), picture, "Toggled")


def motion(step: Step) -> Wait:
    """Press Test Motion: joints turn, the rig rests; the next joint; Esc. Hold Compare."""
    window = step.window
    plain = yield from step.look("Plain")
    yield from step.enable()
    before, posed = (yield from step.look("Before")), step.positions()
    yield from window.press("dqc.test_motion", 0.83)
    seen = []
    for number in range(3):
        yield from window.over_view()
        yield from window.key("RIGHT_ARROW")
        yield from window.wait(60)
        seen.append(screen_picture(window.window).cropped(window.region()))
        step.show(f"Joint {number + 2}")
        step.expect(step.human.display_type == "BOUNDS", "the copy is drawn in its place")
    for picture in seen:
        step.expect_changed(picture, before, "The copy moves", 0.02)
    step.expect(np.array_equal(step.positions(), posed), "the character rests")
    yield from window.key("ESC")
    step.expect_same((yield from step.look("After Esc")), before, "Esc ends it")
    step.expect(step.human.display_type == "TEXTURED", "the character is shown again")
    position = yield from window.find("dqc_compare", COMPARE)
    yield from window.move(position)
    yield from window.event("LEFTMOUSE", "PRESS")
    yield from window.wait(30)
    held = screen_picture(window.window).cropped(window.region())
    step.show("Compare is held")
    step.expect_same(held, plain, "Held", WORDS)
    yield from window.event("LEFTMOUSE", "RELEASE")
    yield from window.wait(10)
    step.expect_same((yield from step.look("Released")), before, "Released")


def save(step: Step) -> Wait:
    """Press Ctrl S and open the file again; then undo has nothing of before to undo."""
    window = step.window
    path = str(step.folder / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
    yield from step.enable()
    compensated = yield from step.look("Before")
    yield from window.over_view()
    yield from window.key("S", ctrl=True)
    yield from window.wait(10)
    step.expect(not bpy.data.is_dirty, "Ctrl S saves")
    bpy.ops.wm.read_homefile()
    yield from window.wait(20)
    bpy.ops.wm.open_mainfile(filepath=path)
    yield from window.wait(20)
    step.expect(step.settings.enabled, "the opened character is enabled")
    step.expect_same((yield from step.look("Opened again")), compensated, "Opened again")
    yield from step.window.slide("dq_compensation.factor", -200)
    step.expect(step.settings.factor == 0.0, "the slider works in the opened file")
    yield from step.undo(lambda: step.settings.factor == 1.0, "Ctrl Z takes it back")
    step.expect_same((yield from step.look("After Ctrl Z")), compensated, "Undone")
