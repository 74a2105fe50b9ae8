"""What happens to takes besides caching: appending, renaming, removing by hand."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from dq_compensation import api
from dq_compensation.pipeline.takes import known_takes, take_checks
from dq_compensation.pipeline.takes.known_takes import changed_since_cached, read_take, take_problem
from dq_compensation.pipeline.takes.panel import followers_of_pose
from dq_compensation.pipeline.takes.settings import takes_of
from dq_compensation.pipeline.takes.take_checks import check_takes
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.session.memory import memories
from dq_compensation.ui_shared.reporting import last_report
from tests.blender.scene_builders import linked_copy
from tests.kept_files import new_file
from tests.limb import build_bendy_limb, build_limb, key_limb

pytestmark = pytest.mark.usefixtures("addon")

LAST = 6


def cache_swing(armature: bpy.types.Object, name: str = "Swing") -> None:
    key_limb(armature, {1: 0.0, LAST: 1.0})
    assert bpy.ops.dqc.take_cache(take_name=name, first=1, last=LAST) == {"FINISHED"}


def test_playback_is_not_animated() -> None:
    """Its curve would be one of the action's, and what plays arranged anew in each frame."""
    _, armature = build_limb()
    with pytest.raises(TypeError, match="not animatable"):
        settings_of(armature).playback.keyframe_insert("phase")


def test_an_armature_that_is_appended_with_takes_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, armature = build_limb()
    cache_swing(armature)
    path = str(tmp_path / "limb.blend")
    bpy.data.libraries.write(path, {armature})
    new_file()
    check_takes()
    asked: list[None] = []
    monkeypatch.setattr(take_checks._delayed_check, "request", lambda: asked.append(None))
    with bpy.data.libraries.load(path) as (_, wanted):
        wanted.objects = ["Limb Rig"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    bpy.context.view_layer.update()
    assert asked


def test_play_take_switches_the_display_on_and_says_so() -> None:
    """As the checkbox does; meshes that are not enabled are named. A display that is on stays."""
    obj, armature = build_limb()
    other = linked_copy(obj)
    cache_swing(armature)
    api.enable(obj)
    playback = settings_of(armature).playback
    playback.playing = True
    assert settings_of(obj).display == "GPU"
    assert last_report([obj.name]) == (
        "Takes play in the GPU display. Display of Limb is GPU now. "
        f"Takes play on enabled objects. Enable {other.name}."
    )
    playback.playing = False
    assert (settings_of(obj).display, last_report([obj.name])) == ("GPU", "")
    bpy.data.objects.remove(other)
    playback.playing = True
    assert last_report([obj.name]) == ""


# What Blender's evaluation of a bone reads besides its channels.
OF_BONES = {
    "bbone_curveinx": 0.3,
    "bbone_scalein": (1.0, 2.0, 1.0),
    "ik_stretch": 0.3,
    "lock_ik_x": True,
}


def test_curves_limits_and_inheritance_of_bones_are_watched() -> None:
    _, armature = build_bendy_limb(4)
    cache_swing(armature)
    bone = armature.pose.bones["Lower"]

    def changed() -> tuple[str, ...]:
        check_takes()
        return changed_since_cached(takes_of(armature)[0])

    for name, value in OF_BONES.items():
        former = getattr(bone, name)
        former = former if isinstance(former, (bool, float)) else tuple(former)
        setattr(bone, name, value)
        assert changed() == ("pose of bones without keys",), name
        setattr(bone, name, former)
    bone.bone.inherit_scale = "NONE"
    assert changed() == ("bones",)
    bone.bone.inherit_scale = "FULL"
    armature.animation_data.action.name = "Another name"
    assert changed() == ()


def test_a_take_keeps_its_name_and_what_is_gone_is_told_and_forgotten() -> None:
    obj, armature = build_limb()
    for _ in range(3):
        cache_swing(armature)
        read_take(takes_of(armature)[0])
        check_takes()
    assert len(memories(known_takes._KnownTake)) == 1
    item = takes_of(armature)[0]
    item.name = ""
    assert (item.name, settings_of(armature).playback.take) == ("Swing", "Swing")
    assert take_problem(armature, "Swing") is None
    assert "Choose one" in str(take_problem(armature, "Gone"))
    assert item.stored is not None
    bpy.data.meshes.remove(item.stored)
    assert "lost its keys" in str(take_problem(armature, "Swing"))
    view_layer = bpy.context.view_layer
    assert followers_of_pose(armature, view_layer) == [
        "Takes play on enabled objects. Enable Limb."
    ]
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    (told,) = followers_of_pose(armature, view_layer)
    assert "Set Display of Limb to GPU" in told
    settings_of(obj).display = "GPU"
    assert not followers_of_pose(armature, view_layer)
    assert bpy.ops.dqc.take_remove() == {"FINISHED"}
    cache_swing(armature, "Another")
    assert settings_of(armature).playback.take == "Another"
