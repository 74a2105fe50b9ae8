"""X-ray of both kinds, and the hints that the panel gives for them."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import pytest

from dq_compensation.viewport.see_through import display_hints, surface_alpha
from tests.blender.enabled_scenes import enable
from tests.limb import build_limb


def viewport(
    shading: str = "SOLID", *, xray: bool = False, bone_xray: bool = False
) -> SimpleNamespace:
    """What we read of a SpaceView3D."""
    return SimpleNamespace(
        type="VIEW_3D",
        shading=SimpleNamespace(type=shading, show_xray=xray, xray_alpha=0.4),
        overlay=SimpleNamespace(show_overlays=True, show_xray_bone=bone_xray),
    )


@pytest.mark.parametrize(
    ("space", "mode", "alpha"),
    [
        (viewport(), "OBJECT", 1.0),
        (viewport(xray=True), "OBJECT", 0.4),
        (viewport(xray=True), "POSE", 0.4),
        (viewport("MATERIAL", xray=True), "OBJECT", 1.0),
        (viewport(bone_xray=True), "OBJECT", 1.0),
        (viewport(bone_xray=True), "POSE", 0.4),
        (viewport("MATERIAL", bone_xray=True), "POSE", 0.4),
    ],
)
def test_both_kinds_of_x_ray_let_bones_shine_through(
    space: SimpleNamespace, mode: str, alpha: float
) -> None:
    assert surface_alpha(space, mode) == pytest.approx(alpha)


@pytest.fixture
def drawn_limb(with_viewport: None) -> bpy.types.Object:
    """A limb with GPU display, its armature In Front."""
    obj, armature = build_limb()
    armature.show_in_front = True
    enable(obj, "GPU")
    return obj


@pytest.mark.parametrize(
    ("space", "mode", "expected"),
    [
        (viewport(), "OBJECT", "Turn on X-ray (Alt Z)"),
        (viewport(), "POSE", ""),
        (viewport(xray=True), "OBJECT", ""),
        (viewport(xray=True), "POSE", ""),
        (viewport(bone_xray=True), "POSE", ""),
        (viewport("WIREFRAME"), "OBJECT", ""),
        (viewport("MATERIAL"), "OBJECT", "without its materials"),
        (viewport("MATERIAL", bone_xray=True), "POSE", "without its materials"),
        (viewport("RENDERED", bone_xray=True), "POSE", "without its materials"),
    ],
)
def test_the_hint_is_right_in_each_mode_and_goes_when_it_is_done(
    drawn_limb: bpy.types.Object, space: SimpleNamespace, mode: str, expected: str
) -> None:
    hints = display_hints(drawn_limb, SimpleNamespace(space_data=space, mode=mode))
    assert len(hints) == bool(expected)
    assert expected in "".join(hints)


def test_a_hidden_armature_has_no_hint(drawn_limb: bpy.types.Object) -> None:
    context = SimpleNamespace(space_data=viewport(), mode="OBJECT")
    assert display_hints(drawn_limb, context)
    drawn_limb.find_armature().hide_set(True)
    assert not display_hints(drawn_limb, context)


def test_the_overlay_covers_bones_too(drawn_limb: bpy.types.Object) -> None:
    settings = drawn_limb.dq_compensation
    settings.display = "MODIFIER"
    context = SimpleNamespace(space_data=viewport(), mode="OBJECT")
    assert not display_hints(drawn_limb, context)
    settings.overlay = "LINEAR"
    (hint,) = display_hints(drawn_limb, context)
    assert "the overlay covers its bones. Turn on X-ray" in hint
