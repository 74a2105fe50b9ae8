"""The report of a bake to bones: how far plain linear skinning is off, before and after."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...wording import counted
from ..verification import Deviation


@dataclass(frozen=True)
class JointReport:
    """One joint: the distance from the live deformation at the vertices that its bones share.

    Attributes:
        bone: below the joint.
        helpers: how many helper bones it got.
        before, after: plain linear skinning without and with them.
    """

    bone: str
    helpers: int
    before: Deviation
    after: Deviation

    def sentence(self) -> str:
        """For the Info editor."""
        return (
            f"{self.bone}, {counted(self.helpers, 'helper bone')}: largest error "
            f"{self.after.instead_of(self.before)}."
        )


@dataclass(frozen=True)
class BonesReport:
    """The result of baking helper bones for the characters on one armature.

    Attributes:
        object_names: the meshes that were baked.
        onto_names: the meshes that have the weights: themselves, or their copies.
        vertices: how many of them follow helpers now.
        gauges: how many more bones there are that do not deform.
        keyed: how many keyframes the helpers got.
        used: sentences about what else uses the weights that have changed; empty without any.
        correctives: a sentence about the correctives that were added; empty without any.
        before, after: at all vertices, in poses that were not fitted.
    """

    object_names: tuple[str, ...]
    onto_names: tuple[str, ...]
    armature_name: str
    joints: tuple[JointReport, ...]
    vertices: int
    before: Deviation
    after: Deviation
    gauges: int = 0
    keyed: int = 0
    used: str = ""
    correctives: str = ""
    bones: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bones", sum(joint.helpers for joint in self.joints))

    def sentence(self) -> str:
        """For the status line and the panel."""
        names = ", ".join(self.object_names)
        if not self.bones:
            return (
                f"{names} needs no helper bones: the plain Armature modifier is off by "
                f"{self.before.largest:.3g} mm at most."
            )
        joints = sum(joint.helpers > 0 for joint in self.joints)
        onto = "" if self.onto_names == self.object_names else f" onto {', '.join(self.onto_names)}"
        text = (
            f"Baked {names}{onto} to {counted(self.bones, 'helper bone')} of "
            f"{counted(joints, 'joint')}; {counted(self.vertices, 'vertex')} "
            f"{'follows' if self.vertices == 1 else 'follow'} them. In "
            f"{counted(self.after.poses, 'pose')} that were not fitted the largest error is "
            f"{self.after.instead_of(self.before)}."
        )
        worst = max(self.joints, key=lambda joint: joint.after.largest)
        if worst.after.largest == self.after.largest:
            text += f" The largest is at {worst.bone}."
        if self.gauges:
            text += (
                f" {counted(self.gauges, 'more bone')} {'does' if self.gauges == 1 else 'do'} not "
                "deform: export deforming bones only."
            )
        if self.keyed:
            text += f" The helpers have {counted(self.keyed, 'keyframe')}."
        if onto:
            text += f" {names} is hidden; Alt H in Object Mode shows it."
        return " ".join(filter(None, (text, self.used, self.correctives)))
