"""Times posed frames of several characters in turn, each in a scene of its own.

A scene has its own evaluation, so nothing is switched on or off between two measurements. Each way
to deform is measured right before or after the one that it is compared with, a few frames at a
time; the ratio is the median over all such pairs. Other load on the machine hits both of a pair.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

# The first frame of a turn finds nothing in the processor's caches; it does not count.
FRAMES_PER_TURN = 4


@dataclass(frozen=True, eq=False)
class Cast:
    """Copies of a character in a scene of their own.

    Attributes:
        armatures: one for each copy.
        meshes: of all copies.
        clock: what frames are timed by, in seconds.
    """

    scene: bpy.types.Scene
    armatures: tuple[bpy.types.Object, ...]
    meshes: tuple[bpy.types.Object, ...]
    clock: Callable[[], float]

    @property
    def view_layer(self) -> bpy.types.ViewLayer:
        """The only one of the scene."""
        return self.scene.view_layers[0]

    def pose(self, quaternions: NDArray[np.floating]) -> None:
        """Turn all bones; shape (B, 4), each in its bone's rest axes."""
        flat = np.ascontiguousarray(quaternions, np.float32).reshape(-1)
        for armature in self.armatures:
            armature.pose.bones.foreach_set("rotation_quaternion", flat)
            armature.update_tag(refresh={"OBJECT", "DATA"})

    def seconds_of_frame(self, quaternions: NDArray[np.floating]) -> float:
        """Pose and evaluate; only the evaluation is timed."""
        self.pose(quaternions)
        begun = self.clock()
        self.view_layer.update()
        return self.clock() - begun


@dataclass(frozen=True)
class Timing:
    """What was measured for one way: median seconds per frame, and the ratio to its reference."""

    seconds: float
    ratio: float


def copied(
    name: str,
    armature: bpy.types.Object,
    meshes: Sequence[bpy.types.Object],
    copies: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Cast:
    """Copies of a character, meshes included, in a new scene."""
    scene = bpy.data.scenes.new(name)
    rigs, bodies = [], []
    for _ in range(copies):
        rig = armature.copy()
        rigs.append(rig)
        for mesh in meshes:
            body = mesh.copy()
            body.data = mesh.data.copy()
            body.parent = rig
            body.modifiers["Armature"].object = rig
            bodies.append(body)
    for obj in (*rigs, *bodies):
        scene.collection.objects.link(obj)
    cast = Cast(scene, tuple(rigs), tuple(bodies), clock)
    cast.view_layer.update()
    return cast


def times_in_turn(
    ways: Mapping[str, Cast], references: Mapping[str, str], poses: NDArray[np.floating]
) -> dict[str, Timing]:
    """Measure every way.

    Args:
        references: the way that each way is compared with; those without one only serve as such.
        poses: shape (rounds, B, 4), the pose that each round ends in.
    """
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    ratios: dict[str, list[float]] = {way: [] for way in references}
    for cast in ways.values():
        _turn(cast, poses[0])  # builds what later frames find ready
    for number, pose in enumerate(poses):
        for way, reference in references.items():
            pair = [reference, way]
            # Who comes second in a pair may find the machine in another state.
            measured = {name: _turn(ways[name], pose) for name in pair[:: 1 - 2 * (number % 2)]}
            for name, found in measured.items():
                seconds[name].append(found)
            ratios[way].append(measured[way] / measured[reference])
    return {
        way: Timing(statistics.median(found), statistics.median(ratios.get(way, [1.0])))
        for way, found in seconds.items()
    }


def _turn(cast: Cast, pose: NDArray[np.floating]) -> float:
    """The seconds of the quickest of a few frames on the way to a pose."""
    rest = np.zeros_like(pose)
    rest[:, 0] = 1.0
    found = [
        cast.seconds_of_frame(rest + (pose - rest) * frame / FRAMES_PER_TURN)
        for frame in range(1, FRAMES_PER_TURN + 1)
    ]
    return min(found[1:])


def handlers_off() -> None:
    """Take the handlers of add-ons out: Blender's evaluation alone is timed then."""
    for event in ("depsgraph_update_post", "frame_change_post", "frame_change_pre"):
        getattr(bpy.app.handlers, event).clear()
