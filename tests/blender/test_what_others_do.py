"""What other tools and users do to our parts: nothing is lost, deformed twice unsaid, or left.

The right values are the positions before, Blender's own Armature modifier on an object that was
never enabled, and all that could be read of the object before *Enable*. 1e-5 m is what float32
leaves of a limb of 1.5 m through nodes and chains of bones. What is wrong is 1e-2 m off and more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import bmesh
import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import (
    copied_modifier_warning,
    notes_of,
    problem_of,
    refusal,
)
from tests.blender.enabled_scenes import (
    check,
    datablocks,
    description,
    enable,
    error,
    rest_of,
    select,
)
from tests.blender.scene_builders import evaluated_positions, linked_copy, save_and_open
from tests.limb import build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

TOLERANCE = 1e-5

# ARMATURE adds to the Armature modifier. The others hide it, but for the last one: it has *Shape*,
# *Linear* and *Back to Shape*. All but the first and the last have *Skin*.
KINDS: dict[str, dict[str, Any]] = {
    "compensated": {},
    "soft": {"softness": 0.5},
    "spherical": {"method": "SPHERICAL_JOINT"},
    "blended": {"method": "DUAL_QUATERNION", "blend_group": "Blend"},
}
VISIBILITY = ("show_viewport", "show_render")

kinds = pytest.mark.parametrize("kind", KINDS)
ON_BASE = ("compensated", "blended")


def cases(names: str, *axes: Iterable[object]) -> pytest.MarkDecorator:
    """All combinations."""
    return pytest.mark.parametrize(names, list(product(*axes)))


@dataclass
class Character:
    """The limb, posed and enabled.

    Attributes:
        before: all that could be read of it before *Enable*.
        plain: its vertices then, by its Armature modifier.
        shown: its vertices once it was enabled.
    """

    kind: str
    name: str = "Limb"
    before: dict[str, Any] = field(init=False)
    plain: NDArray[np.float32] = field(init=False)
    shown: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        obj, _ = build_posed_limb(self.name)
        obj.vertex_groups.new(name="Blend").add(list(range(300, 500)), 0.5, "REPLACE")
        check()
        self.before, self.plain = described(obj), evaluated_positions(obj)
        self.enable()
        self.shown = evaluated_positions(obj)
        assert not np.allclose(self.shown, self.plain, atol=1e-3)

    def enable(self) -> None:
        api.enable(self.obj, **KINDS[self.kind])
        check()

    @property
    def obj(self) -> bpy.types.Object:
        """The object: an undo makes another one."""
        return bpy.data.objects[self.name]

    @property
    def said(self) -> str:
        """What the panel says of it."""
        warnings = (problem_of(self.obj), copied_modifier_warning(self.obj))
        return " ".join((*notes_of(self.obj), *filter(None, warnings)))

    def off(self, wanted: NDArray[np.float32]) -> float:
        """How far vertices are from where they should be, in metres."""
        return float(np.abs(evaluated_positions(self.obj) - wanted).max())

    def assert_shown(self) -> None:
        """It is as it was enabled, and nothing is said."""
        assert self.off(self.shown) <= TOLERANCE
        assert not self.said

    def disable(self) -> None:
        """*Disable*, and one undo that takes it back; then for good: nothing of ours is left."""
        select(self.obj)
        shown = evaluated_positions(self.obj)
        bpy.ops.ed.undo_push(message="Before")
        assert bpy.ops.dqc.disable("EXEC_DEFAULT", True) == {"FINISHED"}
        bpy.ops.ed.undo()
        check()
        assert self.off(shown) <= TOLERANCE
        bpy.ops.ed.redo()
        check()
        self.assert_plain()

    def assert_plain(self) -> None:
        """It is as it was before *Enable*."""
        assert described(self.obj) == self.before
        assert self.off(self.plain) <= TOLERANCE
        assert not self.said


def described(obj: bpy.types.Object) -> dict[str, Any]:
    """All that can be read of an object, also after an undo."""
    return description(obj) | {"parent": obj.parent.name}


def stack(obj: bpy.types.Object) -> list[tuple[str, bool, bool]]:
    return [(each.name, each.show_viewport, each.show_render) for each in obj.modifiers]


# *Copy Modifiers*.


def garment_of(body: bpy.types.Object, *, own: bool) -> bpy.types.Object:
    """A sleeve around the body, with fewer vertices; with an Armature modifier of its own or none.

    The body is not enabled.
    """
    garment = linked_copy(body, own_data=True)
    garment.name = "Garment"
    editor = bmesh.new()
    editor.from_mesh(garment.data)
    bmesh.ops.scale(editor, vec=(1.0, 1.1, 1.1), verts=editor.verts)
    ends = [vertex for vertex in editor.verts if not 0.2 < vertex.co.x < 1.3]
    bmesh.ops.delete(editor, geom=ends, context="VERTS")
    editor.to_mesh(garment.data)
    editor.free()
    if not own:
        garment.modifiers.clear()
    return garment


def by_armature_modifier(garment: bpy.types.Object) -> NDArray[np.float32]:
    """The vertices of a plain copy with Blender's Armature modifier alone."""
    copy = linked_copy(garment, own_data=True)
    copy.modifiers.clear()
    copy.modifiers.new("Armature", "ARMATURE").object = garment.parent
    positions = evaluated_positions(copy)
    mesh = copy.data
    bpy.data.objects.remove(copy)
    bpy.data.meshes.remove(mesh)
    return positions


def garment_before_enabling(body: Character, *, own: bool) -> bpy.types.Object:
    """A garment of a body that is not enabled now."""
    select(body.obj)
    bpy.ops.dqc.disable()
    return garment_of(body.obj, own=own)


def without_modifiers(obj: bpy.types.Object) -> dict[str, Any]:
    """The description of an object without its modifiers, which another tool has replaced."""
    return {name: each for name, each in description(obj).items() if "modifier" not in name}


@cases("kind, own, step", KINDS, (False, True), ("copy", "enable", "disable"))
def test_copied_modifiers(kind: str, own: bool, step: str) -> None:
    """The Armature modifier alone deforms the garment until it is enabled, and after *Disable*."""
    body = Character(kind)
    garment = garment_before_enabling(body, own=own)
    before, plain = without_modifiers(garment), by_armature_modifier(garment)
    body.enable()
    select(body.obj, garment)
    assert bpy.ops.object.make_links_data(type="MODIFIERS") == {"FINISHED"}
    check()
    assert not garment.dq_compensation.enabled
    assert copied_modifier_warning(garment) or len(garment.modifiers) == 1
    assert refusal(garment) is None
    if step == "copy":
        np.testing.assert_allclose(evaluated_positions(garment), plain, atol=TOLERANCE)
        return
    if step == "enable":
        enable(garment)
        check()
        assert garment.dq_compensation.enabled
        assert copied_modifier_warning(garment) is None
        # NumPy computes in float64.
        assert error(garment) <= 1e-4
    select(body.obj, garment)
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    check()
    assert body.off(body.plain) <= TOLERANCE
    np.testing.assert_allclose(evaluated_positions(garment), plain, atol=TOLERANCE)
    assert without_modifiers(garment) == before
    assert stack(garment) == stack(body.obj) == [("Armature", True, True)]
    assert not garment.modifiers["Armature"].use_deform_preserve_volume


@pytest.mark.parametrize("kind", ["compensated", "soft"])
def test_what_was_copied_is_turned_off_once(kind: str) -> None:
    """Onto several at once; what the user turns on stays on; one undo takes the copying back."""
    body = Character(kind)
    select(body.obj)
    bpy.ops.dqc.disable()
    garments = [garment_of(body.obj, own=False) for _ in range(2)]
    garments[1].modifiers.new("Smooth", "SMOOTH")
    before = [stack(garment) for garment in garments]
    names = [garment.name for garment in garments]
    body.enable()
    select(body.obj, *garments)
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.object.make_links_data("EXEC_DEFAULT", True, type="MODIFIERS") == {"FINISHED"}
    check()
    for garment in garments:
        assert {each[1:] for each in stack(garment)[1:]} == {(False, False)}
        np.testing.assert_allclose(
            evaluated_positions(garment), by_armature_modifier(garment), atol=TOLERANCE
        )
    garments[0].modifiers[1].show_viewport = True
    check()
    garments[0].modifiers.new("Smooth", "SMOOTH")
    check()
    assert garments[0].modifiers[1].show_viewport
    bpy.ops.ed.undo()
    check()
    assert [stack(bpy.data.objects[name]) for name in names] == before
    body.assert_shown()


@kinds
def test_our_modifier_copied_alone(kind: str) -> None:
    """As *Copy to Selected* does: what the garment has is left as it is."""
    body = Character(kind)
    garment = garment_before_enabling(body, own=True)
    plain, own = evaluated_positions(garment), stack(garment)
    body.enable()
    select(body.obj, garment)
    name = part(body.obj, "").name
    assert bpy.ops.object.modifier_copy_to_selected(modifier=name) == {"FINISHED"}
    check()
    assert copied_modifier_warning(garment)
    assert stack(garment)[:1] == own
    np.testing.assert_allclose(evaluated_positions(garment), plain, atol=TOLERANCE)


# Custom properties that a clean-up removes.


WITHOUT: dict[str, Callable[[], Iterable[bpy.types.ID]]] = {
    "objects": lambda: [*bpy.data.objects, *bpy.data.meshes],
    "trees": lambda: bpy.data.node_groups,
    "all": lambda: [*bpy.data.objects, *bpy.data.meshes, *bpy.data.node_groups],
}


def remove_properties(owners: Iterable[bpy.types.ID], *, registered: bool = False) -> None:
    """Remove custom properties; before Blender 5 registered ones are among them, also ours."""
    for owner in owners:
        for name in list(owner.keys()):
            if registered or name != "dq_compensation":
                del owner[name]
    for obj in bpy.data.objects:
        obj.update_tag()
    check()


@cases(
    "kind, what, press",
    KINDS,
    WITHOUT,
    ("nothing", "refresh", "fix", "reopen", "disable"),
)
def test_without_custom_properties(kind: str, what: str, press: str, tmp_path: Path) -> None:
    limb = Character(kind)
    parts, had = stack(limb.obj), datablocks()
    remove_properties(WITHOUT[what]())
    assert limb.off(limb.shown) <= TOLERANCE
    if press == "disable":
        limb.disable()
        return
    select(limb.obj)
    if press == "nothing":
        assert datablocks() == had
    elif press == "refresh":
        assert bpy.ops.dqc.refresh() == {"FINISHED"}
    elif press == "fix":
        fix_all_errors(limb.obj)
    elif press == "reopen":
        save_and_open(tmp_path / "cleaned.blend")
    check()
    assert stack(limb.obj) == parts
    limb.assert_shown()


def fix_all_errors(obj: bpy.types.Object) -> None:
    """Setup Check's first fix of each error; none is found after that."""
    for each in {issue.check for issue in api.check(obj) if issue.severity == "ERROR"}:
        assert {found.state for found in api.fix(obj, each, agree=True)} == {"FIXED"}
    check()
    assert not [issue for issue in api.check(obj) if issue.severity == "ERROR"]


@pytest.mark.skipif(bpy.app.version >= (5, 0, 0), reason="registered properties are apart there")
@cases(
    "kind, what, press",
    KINDS,
    ("objects", "all"),
    ("nothing", "disable"),
)
def test_without_our_settings(kind: str, what: str, press: str) -> None:
    """Nothing is enabled any more: our modifier is as one that was copied."""
    limb = Character(kind)
    remove_properties(WITHOUT[what](), registered=True)
    assert not limb.obj.dq_compensation.enabled
    assert copied_modifier_warning(limb.obj)
    if press == "disable":
        limb.disable()
    else:
        assert min(limb.off(limb.shown), limb.off(limb.plain)) <= TOLERANCE


# Other names.


def part(obj: bpy.types.Object, name: str) -> bpy.types.Modifier:
    """The modifier of ours whose name begins so, but for *DQ Compensation*."""
    begins = f"DQ Compensation: {name}" if name else ("DQ Compensation (", "DQ Compensation")
    named = [each for each in obj.modifiers if each.name.startswith(begins)]
    return next(each for each in named if name or ":" not in each.name)


# Kinds of parts, and their modifiers beside ours.
PARTS = {
    "compensated": ("",),
    "soft": ("", "Skin"),
    "spherical": ("", "Skin"),
    "blended": ("", "Shape", "Linear", "Back"),
}


@cases(
    "named, duplicated",
    [(kind, name) for kind, names in PARTS.items() for name in names],
    (False, True),
)
def test_another_name(named: tuple[str, str], duplicated: bool) -> None:
    kind, name = named
    limb = Character(kind)
    count = len(limb.obj.modifiers)
    renamed = part(limb.obj, name)
    renamed.name = "Mine"
    if duplicated:
        bpy.ops.object.modifier_copy(modifier="Mine")
    limb.obj.update_tag()
    check()
    assert len(limb.obj.modifiers) == count
    limb.assert_shown()
    limb.obj.dq_compensation.factor = 0.5
    check()
    limb.obj.dq_compensation.factor = 1.0
    check()
    limb.assert_shown()
    limb.disable()


# Node groups that others remove.


@cases("kind, press", KINDS, ("nothing", "refresh", "fix", "disable"))
def test_without_node_groups(kind: str, press: str) -> None:
    """Where nothing else is done, it is as it was enabled, or plain, and the panel says so."""
    limb = Character(kind)
    parts = stack(limb.obj)
    for tree in list(bpy.data.node_groups):
        bpy.data.node_groups.remove(tree)
    check()
    if press == "disable":
        limb.disable()
        return
    select(limb.obj)
    if press == "nothing":
        is_said = "applied or removed" in limb.said
        assert limb.off(limb.plain if is_said else limb.shown) <= TOLERANCE
        return
    if press == "refresh":
        assert bpy.ops.dqc.refresh() == {"FINISHED"}
    else:
        fix_all_errors(limb.obj)
    check()
    assert stack(limb.obj) == parts
    limb.assert_shown()
    limb.disable()


@kinds
def test_a_purge_takes_nothing_that_is_used(kind: str) -> None:
    limb = Character(kind)
    parts, had = stack(limb.obj), datablocks()
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    check()
    assert (stack(limb.obj), datablocks()) == (parts, had)
    limb.assert_shown()
    limb.disable()


# Modifiers that others apply or remove.


def assert_a_mesh(obj: bpy.types.Object, positions: NDArray[np.float32]) -> None:
    """It has these vertices and no modifier, and is not enabled, or the panel says so."""
    np.testing.assert_allclose(evaluated_positions(obj), positions, atol=TOLERANCE)
    np.testing.assert_allclose(rest_of(obj), positions, atol=TOLERANCE)
    assert not obj.modifiers


def assert_nothing_of_ours(obj: bpy.types.Object, had: dict[str, list[str]]) -> None:
    """The file has no more data-blocks than these, the object nothing that we have made."""
    assert datablocks() == had
    names = (*obj.keys(), *obj.data.keys())
    assert not [name for name in names if name.startswith("dq_compensation_")]
    assert not [each.name for each in obj.data.attributes if each.name.startswith(".dq")]
    assert obj.vertex_groups.keys() == ["Upper", "Lower", "Hand", "Blend"]
    assert not (obj.animation_data and obj.animation_data.drivers)


def disable_what_is_left(limb: Character) -> None:
    select(limb.obj)
    bpy.ops.dqc.disable()
    check()
    assert not limb.obj.dq_compensation.enabled
    assert not limb.said
    assert_nothing_of_ours(limb.obj, {name: limb.before[name] for name in datablocks()})


@kinds
def test_convert_to_a_mesh(kind: str) -> None:
    limb = Character(kind)
    select(limb.obj)
    assert bpy.ops.object.convert(target="MESH") == {"FINISHED"}
    check()
    assert_a_mesh(limb.obj, limb.shown)
    assert limb.said or not limb.obj.dq_compensation.enabled
    disable_what_is_left(limb)
    assert_a_mesh(limb.obj, limb.shown)


@kinds
def test_converting_a_copy_leaves_the_original(kind: str) -> None:
    limb = Character(kind)
    select(limb.obj)
    assert bpy.ops.object.convert(target="MESH", keep_original=True) == {"FINISHED"}
    check()
    converted = bpy.context.active_object
    assert converted.name != limb.name
    assert_a_mesh(converted, limb.shown)
    assert problem_of(converted) or not converted.dq_compensation.enabled
    assert_nothing_of_ours(converted, datablocks())
    limb.assert_shown()
    mesh = converted.data
    bpy.data.objects.remove(converted)
    bpy.data.meshes.remove(mesh)
    limb.disable()


def apply_from_top_to_bottom(limb: Character, *, with_armature: bool) -> None:
    """As a tool does that makes a mesh of what is seen."""
    select(limb.obj)
    for name in [each.name for each in limb.obj.modifiers]:
        if name != "Armature" or with_armature:
            with suppress(RuntimeError):  # it was taken away meanwhile
                bpy.ops.object.modifier_apply(modifier=name)
    check()


@kinds
@pytest.mark.parametrize("with_armature", [True, False])
def test_applied_modifiers_leave_nothing_behind(kind: str, with_armature: bool) -> None:
    limb = Character(kind)
    apply_from_top_to_bottom(limb, with_armature=with_armature)
    assert limb.said
    assert stack(limb.obj) == [] if with_armature else len(limb.obj.modifiers) == 1
    disable_what_is_left(limb)


@cases("kind, with_armature", KINDS, (True, False))
def test_applied_modifiers_give_what_was_seen(kind: str, with_armature: bool) -> None:
    limb = Character(kind)
    apply_from_top_to_bottom(limb, with_armature=with_armature)
    if kind == "blended" and not with_armature:
        # What is blended takes the Armature modifier's result, which was left out.
        assert "undo that" in limb.said
    elif kind in ON_BASE and not with_armature:
        # Ours alone adds to the shape at rest, below the Armature modifier: Blender warns of that.
        assert limb.off(limb.shown) <= 0.1
    elif kind == "spherical" and with_armature:
        # It was off, and has deformed the mesh: ours goes, it would deform that again.
        assert limb.off(limb.plain) <= TOLERANCE
    else:
        assert limb.off(limb.shown) <= TOLERANCE


@kinds
def test_what_is_left_while_modifiers_are_applied(kind: str) -> None:
    """Each step gives what was seen, says so, and stays so; *Disable* takes the rest away."""
    limb = Character(kind)
    select(limb.obj)
    first = "Armature" if kind == "compensated" else limb.obj.modifiers[0].name
    bpy.ops.object.modifier_apply(modifier=first)
    check()
    assert limb.off(limb.plain if kind == "spherical" else limb.shown) <= TOLERANCE
    left = stack(limb.obj)
    assert limb.said
    check()
    assert stack(limb.obj) == left
    disable_what_is_left(limb)


@pytest.mark.parametrize("kind", ["soft", "spherical"])
def test_disable_after_ours_was_applied_deforms_once(kind: str) -> None:
    """The Armature modifier stays off: the mesh has the pose."""
    limb = Character(kind)
    apply_from_top_to_bottom(limb, with_armature=False)
    disable_what_is_left(limb)
    assert limb.off(limb.shown) <= TOLERANCE
    assert stack(limb.obj) == [("Armature", False, False)]


@pytest.mark.parametrize("kind", ["compensated", "blended"])
def test_refresh_begins_anew_with_the_mesh_as_it_is(kind: str) -> None:
    """After one of our modifiers was applied: nothing is left of the others."""
    limb = Character(kind)
    parts = stack(limb.obj)
    select(limb.obj)
    applied = part(limb.obj, "Linear" if kind == "blended" else "")
    bpy.ops.object.modifier_apply(modifier=applied.name)
    check()
    assert "was applied" in limb.said
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    check()
    assert stack(limb.obj) == parts
    assert not limb.said
    assert error(limb.obj) <= 1e-4
    disable_what_is_left(limb)
    assert stack(limb.obj) == [("Armature", True, True)]


@kinds
def test_all_modifiers_removed(kind: str) -> None:
    limb = Character(kind)
    rest = rest_of(limb.obj)
    limb.obj.modifiers.clear()
    check()
    assert_a_mesh(limb.obj, rest)
    assert limb.said
    disable_what_is_left(limb)


# The active modifier, and modifiers that others turn on and off.


@kinds
@pytest.mark.parametrize("active", ["First", "Armature", "Last"])
def test_the_user_s_active_modifier_stays_active(kind: str, active: str) -> None:
    obj, _ = build_posed_limb()
    obj.vertex_groups.new(name="Blend").add(list(range(300, 500)), 0.5, "REPLACE")
    obj.modifiers.new("First", "SMOOTH").iterations = 0
    obj.modifiers.move(1, 0)
    obj.modifiers.new("Last", "SMOOTH").iterations = 0
    obj.modifiers.active = obj.modifiers[active]
    enable(obj)
    assert obj.modifiers.active.name == active
    for other in (*KINDS, kind):
        api.change_settings(obj, **{"method": "COMPENSATED", "softness": 0.0} | KINDS[other])
        check()
        assert obj.modifiers.active.name == active
    bpy.ops.dqc.refresh()
    assert obj.modifiers.active.name == active
    bpy.ops.dqc.disable()
    assert obj.modifiers.active.name == active


@kinds
@pytest.mark.parametrize("where", [("show_viewport",), ("show_render",), VISIBILITY])
@pytest.mark.parametrize("on", [True, False])
def test_all_modifiers_turned(kind: str, where: tuple[str, ...], on: bool) -> None:
    limb = Character(kind)
    rest, was = rest_of(limb.obj), stack(limb.obj)
    for modifier in limb.obj.modifiers:
        for name in where:
            setattr(modifier, name, on)
    check()
    assert bool(limb.said) == (stack(limb.obj) != was)
    is_twice = on and stack(limb.obj) != was
    assert ("deformed twice" in limb.said) == is_twice
    if on and not is_twice:
        assert limb.off(limb.shown) <= TOLERANCE
    if not on and "show_viewport" in where:
        assert limb.off(rest) <= TOLERANCE
    armature = limb.obj.modifiers["Armature"]
    if not on and was[limb.obj.modifiers.find("Armature")][1]:
        # It was the user's to turn off.
        armature.show_viewport = armature.show_render = True
    limb.disable()
