"""Keeps the options of a bake to helper bones."""

from __future__ import annotations

from dataclasses import dataclass

from ...option_fields import option, tolerance_option
from ..bake_targets import BakeOnto
from ..key_options import JointOptions
from .bones_poses import PoseSource


@dataclass(frozen=True, kw_only=True)
class BonesOptions(JointOptions):
    """The options of a bake to helper bones, in the order of the dialog."""

    helpers: int = option(
        "Helper bones for each joint. 0: as few as the tolerance needs",
        0,
        minimum=0,
        maximum=4,
        noun="number of helpers",
    )
    influences: int = option(
        "The most bones that a vertex follows. Most engines allow 4 or 8. 0: no limit",
        4,
        minimum=0,
        maximum=255,
        soft_max=8,
        noun="number of influences",
    )
    tolerance: float = tolerance_option(
        "Give a joint more helper bones until its error is below this, in millimetres",
        0.5,
        minimum=0.001,
    )
    poses: PoseSource = option(
        "The poses in which the result has to fit",
        "RANGE",
        choices=(
            (
                "RANGE",
                "Range of Motion",
                "Random poses: all joints bend and twist at the same time",
            ),
            ("KEYED", "Poses of the Action", "The keyed frames of the armature's action"),
            ("FRAMES", "Whole Action", "All frames of the armature's action"),
        ),
    )
    bend: float = option(
        "How far the joints bend, in degrees", 90.0, unit="°", minimum=1.0, maximum=170.0
    )
    twist: float = option(
        "How far the bones twist to either side, in degrees",
        60.0,
        unit="°",
        minimum=0.0,
        maximum=170.0,
    )
    onto: BakeOnto = option(
        "What gets the bones and weights",
        "THIS",
        choices=(
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
    )
    bone_limit: int = option(
        "The most deforming bones that the engine allows. 0: no limit", 0, minimum=0, soft_max=1024
    )
    overwrite: bool = option(
        "First remove the helper bones of an earlier bake and give the mesh its former weights "
        "back",
        True,
        label="Replace Earlier Bake",
    )
    with_correctives: bool = option(
        "Add shape keys with drivers for the error that the helper bones leave", False
    )
    keys: bool = option(
        "Write the motion of the helper bones into the armature's action, for exporters that do "
        "not sample constraints",
        False,
        label="Key Helpers",
    )
    key_every_frame: bool = option(
        "Key every frame. Off: key only the frames that the tolerance needs",
        True,
        label="All Frames",
    )
    dry_run: bool = option(
        "Fit and report only: nothing is changed",
        False,
        options={"SKIP_SAVE"},
    )
