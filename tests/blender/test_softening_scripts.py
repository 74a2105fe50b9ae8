"""Softening weights by scripts and by the command line."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path

import bpy
import pytest

from dq_compensation import api
from dq_compensation.scene.settings.object_settings import settings_of
from tests.blender.command_runs import CommandLine
from tests.blender.scene_builders import add_armature, all_weights
from tests.limb import build_limb

# Written to a group as float32.
EXACT = 1e-6
Weights = list[dict[str, float]]


@pytest.fixture
def limbs(addon: None) -> list[bpy.types.Object]:
    return [build_limb(name)[0] for name in ("Left", "Right")]


def shared(weights: Weights) -> int:
    """How many vertices several bones move."""
    return sum(len([weight for weight in each.values() if weight > 0.0]) > 1 for each in weights)


def test_the_call_names_its_options() -> None:
    parameters = signature(api.soften_weights).parameters
    defaults = {name: each.default for name, each in parameters.items() if name != "objects"}
    assert defaults == {"amount": 0.5, "influences": 8, "body": "", "progress": None}


def test_several_objects_are_softened_and_restored(limbs: list[bpy.types.Object]) -> None:
    before = [all_weights(obj) for obj in limbs]
    shares: list[float] = []
    reports = api.soften_weights(limbs, progress=lambda share, _: shares.append(share))
    after = [all_weights(obj) for obj in limbs]
    assert [report.object_name for report in reports] == ["Left", "Right"]
    for report, old, new in zip(reports, before, after, strict=True):
        assert shared(new) > shared(old)
        changed = sum(one != other for one, other in zip(old, new, strict=True))
        assert 0 < changed <= report.changed <= report.vertices == len(old)
        assert all(sum(each.values()) == pytest.approx(1.0, abs=EXACT) for each in new)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    for obj, old in zip(limbs, before, strict=True):
        api.restore_weights(obj)
        assert all_weights(obj) == old


def test_characters_stay_as_enabled_as_they_are(limbs: list[bpy.types.Object]) -> None:
    api.enable(limbs[0])
    api.soften_weights(limbs)
    assert [settings_of(obj).enabled for obj in limbs] == [True, False]
    api.restore_weights(limbs[0])
    assert settings_of(limbs[0]).enabled


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda obj: api.soften_weights(obj, body="Nobody"), "There is no object Nobody"),
        (lambda obj: api.soften_weights(obj, body="Right"), "Right does not follow Left Rig"),
        (lambda _: api.soften_weights([]), "No object is given"),
        (lambda _: api.soften_weights("Left"), "'Left' is not an object"),
        (lambda obj: api.soften_weights(obj, amount=0.0), "amount 0.0 cannot be used"),
        (lambda obj: api.soften_weights(obj, influences=0), "number of influences 0 cannot"),
        (lambda obj: api.soften_weights([obj, add_armature(name="Rig")]), "Rig deforms no mesh"),
        (api.restore_weights, "Left has no weights to put back"),
        (lambda obj: api.restore_weights(obj.parent), "Left has no weights to put back"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    limbs: list[bpy.types.Object], call: Callable[[bpy.types.Object], object], message: str
) -> None:
    before, attributes = all_weights(limbs[0]), limbs[0].data.attributes.keys()
    with pytest.raises(api.UserError, match=message):
        call(limbs[0])
    assert all_weights(limbs[0]) == before
    assert limbs[0].data.attributes.keys() == attributes


def test_where_one_cannot_be_softened_none_is(limbs: list[bpy.types.Object]) -> None:
    limbs[1].modifiers["Armature"].use_bone_envelopes = True
    before = all_weights(limbs[0])
    with pytest.raises(api.UserError, match="Right follows bone envelopes"):
        api.soften_weights(limbs)
    assert all_weights(limbs[0]) == before


def weights_in(path: Path) -> Weights:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return all_weights(bpy.data.objects["Limb"])


def test_a_file_is_softened_as_by_the_api_and_back(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    painted = weights_in(limb_file)
    api.soften_weights(bpy.data.objects["Limb"], amount=0.7, influences=2)
    wanted = all_weights(bpy.data.objects["Limb"])
    soft, back = tmp_path / "soft.blend", tmp_path / "back.blend"
    outcome = command(
        *("soften", "--file", limb_file, "--output", soft, "--amount", 0.7, "--influences", 2),
        "--json",
    )
    assert (outcome.code, outcome.errors) == (0, [])
    ((found,),) = [file["objects"] for file in outcome.document["files"]]
    assert found["name"] == "Limb"
    assert 0 < found["report"]["changed"] <= found["report"]["vertices"] == len(painted)
    assert found["report"]["sentence"].startswith("Limb: the weights of ")
    assert weights_in(soft) == wanted != painted
    assert command("soften", "--file", soft, "--put-back", "--output", back).code == 0
    assert weights_in(back) == painted


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--put-back",), 4, "Limb has no weights to put back: they were not softened."),
        (("--body", "Nobody"), 4, "There is no object Nobody."),
        (("--object", "Lim"), 4, "no object Lim. Did you mean Limb?"),
        (("--influences", "no"), 2, "'no' is not a whole number from 1 to 64"),
    ],
)
def test_a_command_that_fails_writes_nothing(
    command: CommandLine,
    limb_file: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    target = tmp_path / "soft.blend"
    outcome = command("soften", "--file", limb_file, "--output", target, *words)
    assert outcome.code == code
    assert said in outcome.error
    assert not target.exists()


def test_a_character_that_cannot_be_softened_has_code_four(
    command: CommandLine, limb_file: Path
) -> None:
    bpy.data.objects["Limb"].modifiers["Armature"].use_bone_envelopes = True
    bpy.ops.wm.save_as_mainfile(filepath=str(limb_file), copy=True)
    before = limb_file.read_bytes()
    outcome = command("soften", "--file", limb_file, "--in-place")
    assert outcome.code == 4
    assert "Limb follows bone envelopes, which have no weights." in outcome.error
    assert limb_file.read_bytes() == before
