"""The options of *Bake to Bones*."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal, NamedTuple

from ...bake.bake_targets import BakeOnto
from ...scene.settings.declaration import TOLERANCE, frozen_values, props
from ...steps import TakesLong
from ..correctives.options import JointOptions

Engine = Literal["GLTF", "UNITY", "GODOT", "UNREAL", "BLENDER"]
"""What plays the result. It gives the limits that are not chosen: `ENGINES`."""


class Limits(NamedTuple):
    """What an engine plays as its projects and exporters are set up by default; 0: any number.

    Attributes:
        influences: of a vertex.
        bones: that deform, in all.
    """

    influences: int
    bones: int = 0


ENGINES: dict[Engine, Limits] = {
    "GLTF": Limits(4),
    "UNITY": Limits(4),
    "GODOT": Limits(4),
    "UNREAL": Limits(8, 256),
    "BLENDER": Limits(0),
}

PoseSource = Literal["ALL", "FRAMES"]
"""ALL: random poses within a range of motion, and frames of all actions of the armature. FRAMES:
all frames of the assigned action."""


@frozen_values
class BonesOptions(JointOptions, TakesLong):
    """The options of a bake to helper bones, in the order of the dialog."""

    _: KW_ONLY
    engine: Engine = props.EnumProperty(
        name="For",
        description="What plays the result. It sets how many bones a vertex may follow",
        items=(
            ("GLTF", "glTF / Web", "Four bones for each vertex, as glTF is exported by default"),
            ("UNITY", "Unity", "Four bones for each vertex, Unity's default"),
            ("GODOT", "Godot", "Four bones for each vertex, Godot's default"),
            ("UNREAL", "Unreal", "Eight bones for each vertex, and 256 bones in all"),
            ("BLENDER", "Blender File", "Any number of bones for each vertex"),
        ),
        default="GLTF",
    )
    influences: int = props.IntProperty(
        description="The most bones that a vertex follows. 0: as many as For allows",
        default=0,
        min=0,
        max=255,
        soft_max=8,
        noun="number of influences",
    )
    budget: int = props.IntProperty(
        name="Most Helpers",
        description="The most helper bones in all, where they are worth most. 0: two for each bone "
        "behind a joint, as far as For has room for them",
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
        name="Write To",
        description="What gets the bones and weights",
        items=(
            (
                "THIS",
                "The Character",
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
    estimate: bool = props.BoolProperty(
        description="Fit and report only: nothing is changed",
        default=False,
        options={"SKIP_SAVE"},
    )

    @property
    def most_influences(self) -> int:
        """How many bones a vertex follows at most; 0 for any number."""
        return self.influences or ENGINES[self.engine].influences
