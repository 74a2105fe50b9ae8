"""The poses of *Test Motion*: joints turn one after the other.

They are those of the skeleton alone, computed without Blender. Bendy bones move as straight ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np
from bpy.types import Depsgraph, Object

from ..analysis.posed_bones import Quaternion, posed_matrices
from ..analysis.ranges_of_motion import (
    BEND,
    TWIST,
    limb_bend,
    ranges_of_motion,
    shared_pairs,
    turned_in_test,
)
from ..arrays import Float32s, Float64s
from ..bake.rig_source import RigSource, bones_refusal
from ..core.dual_quaternion import quaternions_from_matrices
from ..errors import UserError


@dataclass(frozen=True, eq=False)
class MotionPose:
    """A pose in which one joint is tested: its bone is turned, all others are at rest.

    Attributes:
        bone: its name.
        rotation: (w, x, y, z), in the bone's rest axes, as of a pose bone with quaternions.
        vertices: the deformed vertices of each mesh, shape (n, 3), object space.
    """

    bone: str
    rotation: Quaternion
    vertices: tuple[Float32s, ...]


class MotionTest:
    """The joints of a character and how far each turns, as random poses of *Bake to Bones* do.

    Args:
        objects: mesh objects on one armature.

    Attributes:
        source: the character.
        joints: the bones of the joined skeleton that turn, parents first.

    Raises:
        UserError: one of the objects cannot be read.
    """

    def __init__(self, objects: Sequence[Object], depsgraph: Depsgraph) -> None:
        for reason in filter(None, map(bones_refusal, objects)):
            raise UserError(reason)
        self.source = RigSource.of(objects, depsgraph, straightens=True)
        self._joined, self._place = self.source.joined
        pairs = self._place[shared_pairs(self.source.influences, self.source.skeleton)]
        influences = self.source.influences
        influences = replace(influences, bones=self._place[influences.bones])
        self._ranges = ranges_of_motion(influences, self.source.rest, self._joined, pairs)
        self.joints = sorted(self._ranges)
        if not self.joints:
            names = ", ".join(obj.name for obj in objects)
            raise UserError(f"No two bones share skin of {names}: no joint can be tested.")

    def put_first(self, names: Sequence[str]) -> None:
        """Let the joints at bones of these names come first, in this order; a name counts once."""
        place = {name: number for number, name in enumerate(dict.fromkeys(names))}
        self.joints.sort(key=lambda joint: place.get(self.name(joint), len(place)))

    def seen(self, view: Float64s) -> list[str]:
        """The bones at the joints that are in view at rest.

        Args:
            view: shape (4, 4), from armature space to where the view is from -w to w.
        """
        heads = self.source.skeleton.heads[[self._bone(joint) for joint in self.joints]]
        x, y, _, w = view @ np.column_stack((heads, np.ones(len(heads)))).T
        within = (w > 0.0) & (np.maximum(np.abs(x), np.abs(y)) < w)
        return [self.name(joint) for joint, is_in in zip(self.joints, within, strict=True) if is_in]

    def name(self, joint: int) -> str:
        """The name of the bone behind a joint."""
        return self.source.skeleton.names[self._bone(joint)]

    def matrices(self, joint: int, moment: float, strength: float = 1.0) -> Float64s:
        """Shape (B, 4, 4): D of all bones while a joint is turned, at a moment from 0 to 1."""
        part, limb = strength * self._ranges[joint], limb_bend(self._joined, joint)
        turned = turned_in_test(limb, part * BEND, part * TWIST, moment)
        return posed_matrices(self._joined, {joint: turned})[self._place]

    def poses(self, steps: int, strength: float) -> Iterator[MotionPose]:
        """Each joint in so many moments, one after the other."""
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for joint in self.joints:
            bone = self._bone(joint)
            axes = self.source.skeleton.rest[bone, :3, :3]
            for moment in np.arange(steps) / steps:
                matrices = self.matrices(joint, float(moment), strength)
                turned = axes.T @ matrices[bone, :3, :3] @ axes
                w, x, y, z = quaternions_from_matrices(turned[None])[0].tolist()
                rows = matrices[self.source.skeleton.bone_of_row]
                posed = (each.posed(depsgraph, rows) for each in self.source.sources)
                vertices = tuple(each.wanted for each in posed)
                yield MotionPose(self.source.skeleton.names[bone], (w, x, y, z), vertices)

    def _bone(self, joint: int) -> int:
        return int(np.flatnonzero(self._place == joint)[0])
