"""Measures what a posed frame of a character costs, in a scene that is gone afterwards."""

from __future__ import annotations

import statistics
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ..modifier.armature_base import choose_preserve_volume, put_back
from ..modifier.installation import install, uninstall
from ..modifier.modifier_stack import our_modifiers
from ..modifier.nodes.node_tree import BASE_PROPERTY
from ..scene.binding.binding import Binding
from ..scene.blender.rigging import armature_modifier, rig_of
from ..scene.blender.temporary_copy import temporary_copy
from ..scene.settings.object_settings import Settings

# How often each way is measured, after frames that fill the processor's caches.
_ROUNDS, _WARM_UP = 15, 2
# Radians; the standard deviation of the turns of every bone, about each axis.
_TURNS = 0.05
_ROTATIONS = {"rotation_quaternion": 4, "rotation_euler": 3}


@dataclass(frozen=True)
class FrameTimes:
    """Milliseconds per posed frame of one object with its armature, the median of several frames.

    Attributes:
        linear: by Blender's Armature modifier.
        preserve_volume: by the same with Preserve Volume.
        own: in the modifier display, with the object's settings.
        skins: whether our node modifier skins the mesh itself there, in the place of the Armature
            modifier.
    """

    linear: float
    preserve_volume: float
    own: float
    skins: bool


def measure_frames(obj: bpy.types.Object, binding: Binding, settings: Settings) -> FrameTimes:
    """Pose the armature of an object many times; its pose is as before afterwards.

    Args:
        binding: of the object as it is now.

    Raises:
        BindingError: the node modifier cannot be added.
    """
    rig = rig_of(obj)
    with ExitStack() as stack:
        ways = {
            "linear": stack.enter_context(_alone(obj, rig, preserved=False)),
            "preserve_volume": stack.enter_context(_alone(obj, rig, preserved=True)),
            "own": stack.enter_context(_alone(obj, rig, preserved=True)),
        }
        scene, copy = ways["own"]
        stack.callback(uninstall, copy)
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
            nodes = install(copy, binding, settings)
        nodes.show_viewport = True
        tree = nodes.node_group
        skins = tree is not None and tree.get(BASE_PROPERTY) == "OWN"
        pose = stack.enter_context(_posing(rig))
        found: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(_WARM_UP + _ROUNDS):
            for way, (scene, _) in ways.items():
                pose(number)
                begun = time.perf_counter()
                scene.view_layers[0].update()
                found[way].append(1e3 * (time.perf_counter() - begun))
    median = {way: statistics.median(times[_WARM_UP:]) for way, times in found.items()}
    return FrameTimes(**median, skins=skins)


@contextmanager
def _alone(
    obj: bpy.types.Object, rig: bpy.types.Object, *, preserved: bool
) -> Generator[tuple[bpy.types.Scene, bpy.types.Object]]:
    """A scene with an armature and a copy of a mesh that its Armature modifier deforms."""
    scene = bpy.data.scenes.new("DQ Compensation frame times")
    scene.frame_current = bpy.context.scene.frame_current
    scene.collection.objects.link(rig)
    try:
        with temporary_copy(obj, scene) as copy:
            for modifier in our_modifiers(copy):
                copy.modifiers.remove(modifier)
            put_back(copy)
            armature = cast("bpy.types.ArmatureModifier", armature_modifier(copy))
            armature.show_viewport = True
            choose_preserve_volume(copy, armature, preserved=preserved)
            yield scene, copy
    finally:
        bpy.data.scenes.remove(scene)


@contextmanager
def _posing(rig: bpy.types.Object) -> Generator[Any]:
    """A function that turns all bones a little, each time in another way."""
    bones: Any = rig.pose.bones if rig.pose is not None else ()
    before = {}
    for name, width in _ROTATIONS.items():
        before[name] = np.empty(width * len(bones), np.float32)
        bones.foreach_get(name, before[name])

    def pose(number: int) -> None:
        rng = np.random.default_rng(number)
        for name, values in before.items():
            turned = values + rng.normal(scale=_TURNS, size=len(values))
            bones.foreach_set(name, turned.astype(np.float32))
        rig.update_tag(refresh={"OBJECT", "DATA"})

    try:
        yield pose
    finally:
        for name, values in before.items():
            bones.foreach_set(name, values)
        rig.update_tag(refresh={"OBJECT", "DATA"})
