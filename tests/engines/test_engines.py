"""What Blender's exporters write of a bake moves in engines as in Blender, and is valid.

glTF and USD with their default options, FBX with those of docs/engines.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import bpy

import addon_utils  # isort: skip  (bpy brings it)
import numpy as np
import pytest

import dq_compensation
from dq_compensation import api
from tests.blender.enabled_scenes import enable
from tests.blender.moving_characters import (
    Positions,
    in_world,
    moving_human,
    moving_limb,
    nearest,
    per_frame,
)
from tests.blender.scene_builders import evaluated_positions
from tests.engines.players import (
    FPS,
    INSTALLED,
    Player,
    Validator,
    play_babylon,
    play_openusd,
    play_three,
    play_three_fbx,
    validate_gltf,
    validate_usd,
)

MM = 1000.0

# What a format may add, largest distance. The glTF exporter leaves out keys of a bone that change
# by less than 1e-4: so much of a quaternion moves what is a metre away by 0.2 mm. Measured 0.08,
# and 0.0005 for a limb. USD stores scales of bones in 16 bits, off by up to 1/2048: 0.2 mm for a
# vertex that is 0.4 m from a helper bone. Measured 0.05, and 0.0004 without scales.
# FBX, without simplification: measured 0.002.
TOLERANCE_MM = 0.2

# The bakes move some vertex by more, measured 1.9 to 36: what is lost on the way is not overlooked.
LEAST_CHANGE_MM = 5.0 * TOLERANCE_MM

Build = Callable[[], tuple[bpy.types.Object, bpy.types.Object, int]]


@dataclass(frozen=True, eq=False)
class Exported:
    """A baked character in files, and where Blender shows it.

    Attributes:
        path: of the files, without `.glb`, `.usdc` and `.fbx`.
        plain: of the same character in `.glb` and `.usdc` before the add-on has seen it.
        rest: shape (n, 3), world space, metres.
        baked: positions in each frame, world space.
    """

    path: Path
    plain: Path
    rest: Positions
    baked: dict[int, Positions]


def placed_limb() -> tuple[bpy.types.Object, bpy.types.Object, int]:
    """The limb on an armature object that is moved, turned and scaled, as imported ones are."""
    obj, armature, last = moving_limb()
    armature.location, armature.rotation_euler = (0.3, -0.2, 1.0), (1.2, 0.0, 0.5)
    armature.scale = (0.5, 0.5, 0.5)
    return obj, armature, last


def export(build: Build, bake: Callable[[], set[str]], path: Path, influences: int = 4) -> Exported:
    """Bake a character and write all files; the add-on is not registered afterwards."""
    obj, _, last = build()
    for exporter in ("io_scene_gltf2", "io_scene_fbx"):
        addon_utils.enable(exporter)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 1, last, FPS
    bpy.context.view_layer.update()
    rest = in_world(obj, np.array([vertex.co for vertex in obj.data.vertices]))

    def shown() -> dict[int, Positions]:
        return per_frame(range(1, last + 1), lambda: in_world(obj, evaluated_positions(obj)))

    plain = shown()
    plain_path = path.with_name("plain")
    _write_gltf_and_usd(plain_path, influences)
    dq_compensation.register()
    try:
        enable(obj)
        assert bake() == {"FINISHED"}
    finally:
        dq_compensation.unregister()
    baked = shown()
    assert max(_largest_mm(baked[frame], plain[frame]) for frame in baked) > LEAST_CHANGE_MM
    _write_gltf_and_usd(path, influences)
    bpy.ops.export_scene.fbx(
        filepath=str(path.with_suffix(".fbx")),
        use_armature_deform_only=True,
        add_leaf_bones=False,
        bake_anim_simplify_factor=0.0,
    )
    return Exported(path, plain_path, rest, baked)


def _write_gltf_and_usd(path: Path, influences: int = 4) -> None:
    gltf, usd = (str(path.with_suffix(suffix)) for suffix in (".glb", ".usdc"))
    bpy.ops.export_scene.gltf(filepath=gltf, export_influence_nb=influences)
    bpy.ops.wm.usd_export(filepath=usd, export_animation=True)


def bake_bones(influences: int = 4) -> set[str]:
    return bpy.ops.dqc.bake_bones(bones="ALL", influences=influences)


def bake_correctives() -> set[str]:
    return bpy.ops.dqc.bake_correctives(bones="ALL")


def bake_frames() -> set[str]:
    return bpy.ops.dqc.bake_range()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((placed_limb, bake_bones), id="limb, bones"),
        pytest.param((placed_limb, bake_correctives), id="limb, correctives"),
        pytest.param((placed_limb, bake_frames), id="limb, frames"),
        pytest.param((moving_human, bake_bones), id="human, bones"),
    ],
)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return export(*request.param, tmp_path_factory.mktemp("exported") / "baked")


by_node = pytest.mark.skipif(not INSTALLED.exists(), reason="make test-engines runs it")


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(play_openusd, id="OpenUSD"),
        pytest.param(play_three, id="three.js", marks=by_node),
        pytest.param(play_three_fbx, id="three.js, FBX", marks=by_node),
        pytest.param(play_babylon, id="Babylon.js", marks=by_node),
    ],
)
def test_an_engine_shows_what_blender_shows(exported: Exported, play: Player) -> None:
    assert_shows(exported, play)


VALIDATORS = pytest.mark.parametrize(
    ("validate", "suffix"),
    [
        pytest.param(validate_gltf, ".glb", id="glTF", marks=by_node),
        pytest.param(validate_usd, ".usdc", id="USD"),
    ],
)


@VALIDATORS
def test_a_bake_adds_nothing_that_a_validator_reports(
    exported: Exported, validate: Validator, suffix: str
) -> None:
    assert_adds_nothing(exported.plain, exported.path, validate, suffix)


@VALIDATORS
def test_an_enabled_character_adds_nothing_that_a_validator_reports(
    tmp_path: Path, validate: Validator, suffix: str
) -> None:
    obj, _, last = placed_limb()
    addon_utils.enable("io_scene_gltf2")
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, last
    plain, enabled, plainly = (tmp_path / name for name in ("plain", "enabled", "plainly"))
    _write_gltf_and_usd(plain)
    dq_compensation.register()
    try:
        enable(obj)
        _write_gltf_and_usd(enabled)
        api.export_plain(obj, plainly.with_suffix(suffix))
    finally:
        dq_compensation.unregister()
    for path in (enabled, plainly):
        assert_adds_nothing(plain, path, validate, suffix)


# An armature that is not there.
DAMAGED_GLTF = '{"asset": {"version": "2.0"}, "nodes": [{"skin": 0}]}'
DAMAGED_USD = '#usda 1.0\ndef Mesh "Body" {\nrel skel:skeleton = </Gone>\n}'


@pytest.mark.parametrize(
    ("validate", "name", "text", "expected"),
    [
        pytest.param(
            validate_gltf,
            "a.gltf",
            DAMAGED_GLTF,
            {"UNRESOLVED_REFERENCE"},
            id="glTF",
            marks=by_node,
        ),
        pytest.param(
            validate_usd,
            "a.usda",
            DAMAGED_USD,
            {
                "usdSkelValidators:SkelBindingApiAppliedValidator.MissingSkelBindingAPI",
                "SkelBindingAPIAppliedChecker",
            },
            id="USD",
        ),
    ],
)
def test_a_validator_sees_damage(
    tmp_path: Path, validate: Validator, name: str, text: str, expected: set[str]
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (found,) = validate([path])
    assert expected <= {what for is_error, what in found if is_error}


# three.js reads four.
@by_node
def test_eight_influences_arrive(tmp_path: Path) -> None:
    exported = export(moving_human, partial(bake_bones, 8), tmp_path / "baked", influences=8)
    assert_shows(exported, play_babylon)
    assert_adds_nothing(exported.plain, exported.path, validate_gltf, ".glb")


def assert_adds_nothing(plain: Path, path: Path, validate: Validator, suffix: str) -> None:
    """Without errors, and nothing more of any kind than in the plain file."""
    before, after = map(Counter, validate([each.with_suffix(suffix) for each in (plain, path)]))
    assert after - before == Counter()
    assert not any(is_error for is_error, _ in after)


def assert_shows(exported: Exported, play: Player) -> None:
    rest, *played = play(exported.path, list(exported.baked))
    # Exporters number vertices anew.
    order = nearest(exported.rest, rest)
    for (frame, baked), shape in zip(exported.baked.items(), played, strict=True):
        assert _largest_mm(shape[order], baked) < TOLERANCE_MM, frame


def _largest_mm(positions: Positions, others: Positions) -> float:
    return float(MM * np.linalg.norm(positions - others, axis=1).max())
