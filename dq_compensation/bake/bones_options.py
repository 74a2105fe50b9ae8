"""Keeps the options of a bake to helper bones."""

from __future__ import annotations

from dataclasses import dataclass

from .bake_targets import BakeOnto
from .bones_poses import PoseSource


@dataclass(frozen=True)
class BonesOptions:
    """The options of a bake to helper bones.

    Attributes:
        bones: names of the bones below the joints; none of them: all joints.
        helpers: for each joint, 1 to 4; 0: as few as the tolerance needs.
        influences: of a vertex, at most; 0: any number.
        tolerance: millimetres; for helpers 0, and for the keys that are left out.
        poses: which poses are fitted; `bend` and `twist`, degrees, are for RANGE.
        keys: whether the helpers are keyed in the action: not, in all its frames, or where needed.
        with_correctives: whether the rest is baked to driven shape keys.
        bone_limit: the largest number of deforming bones; 0: any number.
        mirror: whether the other side's bones count as well.
        overwrite: whether an earlier bake is taken back first.
    """

    bones: tuple[str, ...] = ()
    helpers: int = 0
    influences: int = 4
    tolerance: float = 0.5
    poses: PoseSource = "RANGE"
    bend: float = 90.0
    twist: float = 60.0
    onto: BakeOnto = "THIS"
    keys: bool = False
    key_every_frame: bool = True
    bone_limit: int = 0
    with_correctives: bool = False
    mirror: bool = True
    overwrite: bool = True
