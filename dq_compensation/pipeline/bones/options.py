"""The options of *Bake to Bones*."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from ...bake.bake_targets import BakeOnto
from ...scene.settings.declaration import TOLERANCE, frozen_values, props
from ...steps import TakesLong
from ..correctives.options import JointOptions

PoseSource = Literal["ALL", "FRAMES"]
"""ALL: random poses within a range of motion, and frames of all actions of the armature. FRAMES:
all frames of the assigned action."""


@frozen_values
class BonesOptions(JointOptions, TakesLong):
    """The options of a bake to helper bones, in the order of the dialog."""

    _: KW_ONLY
    influences: int = props.IntProperty(
        description="The most bones that a vertex follows. Most engines allow 4 or 8. 0: no limit",
        default=4,
        min=0,
        max=255,
        soft_max=8,
        noun="number of influences",
    )
    budget: int = props.IntProperty(
        description="The most helper bones in all, where they are worth most. 0: two for each bone "
        "behind a joint",
        default=0,
        min=0,
        soft_max=1024,
    )
    tolerance: float = props.FloatProperty(
        description="Give a joint more helper bones until its error is below this, in millimetres",
        default=0.5,
        min=0.001,
        **TOLERANCE,
    )
    poses: PoseSource = props.EnumProperty(
        description="The poses in which the result has to fit",
        items=(
            (
                "ALL",
                "Range and Actions",
                "Random poses, and frames of all actions for the armature's bones",
            ),
            ("FRAMES", "Whole Action", "All frames of the armature's action"),
        ),
        default="ALL",
    )
    onto: BakeOnto = props.EnumProperty(
        description="What gets the bones and weights",
        items=(
            (
                "THIS",
                "This Object",
                "The character's armature gets the bones, its mesh the weights",
            ),
            (
                "COPY",
                "A Copy",
                "A copy of the character and of its armature gets them. The originals stay as they "
                "are and are hidden in the viewport",
            ),
        ),
        default="THIS",
    )
    overwrite: bool = props.BoolProperty(
        name="Replace Earlier Bake",
        description="First remove the helper bones of an earlier bake and give the mesh its former "
        "weights back",
        default=True,
    )
    with_correctives: bool = props.BoolProperty(
        description="Add shape keys with drivers for the error that the helper bones leave",
        default=False,
    )
    dry_run: bool = props.BoolProperty(
        description="Fit and report only: nothing is changed",
        default=False,
        options={"SKIP_SAVE"},
    )
