"""The options of *Bake Correctives*, and those of joints that *Bake to Bones* has, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY
from typing import Literal

from ...bake.options import KeyOptions
from ...scene.settings.declaration import frozen_values, props

Directions = Literal["LIMBS", "ACTION", "EXAMPLES"]
"""How the bones turn.

LIMBS: across the plane in which the limb is bent at rest; the trunk, shoulders and hips in every
direction. ACTION, EXAMPLES: as they do in the poses of the armature's action, or in the example
poses.
"""


@frozen_values
class JointOptions:
    """The joints of a bake."""

    bones: Iterable[str] = props.StringProperty(
        description="The bones below the joints. None of them: all joints",
        default=(),
    )
    _: KW_ONLY
    mirror: bool = props.BoolProperty(
        name="Left and Right",
        description="Include the other side's bones, found by their names",
        default=True,
    )


@frozen_values
class CorrectiveOptions(KeyOptions, JointOptions):
    """The options of a bake of correctives.

    The angles, in degrees above 0, are not for the poses of an action or of examples; `bones` and
    `mirror` are not for those of examples.
    """

    _: KW_ONLY
    directions: Directions = props.EnumProperty(
        name="Bend",
        description="The axes that the bones bend about",
        items=(
            (
                "LIMBS",
                "As the Limb Bends",
                "Elbows, knees and fingers go on bending as they are bent at rest; straight ones "
                "bend about the bone's X axis. Shoulders, hips and the trunk bend in all "
                "directions, the trunk by a third of the largest angle",
            ),
            (
                "ACTION",
                "Poses of the Action",
                "Each keyed frame of the armature's action is a pose",
            ),
        ),
        default="LIMBS",
    )
    angles: Iterable[float] = props.FloatProperty(
        description="The angles of the bends, in degrees. Each becomes a shape key",
        default=(45.0, 90.0),
        unit="°",
    )
    twists: Iterable[float] = props.FloatProperty(
        name="Twist Angles",
        description="The angles of the twists, in degrees. Each becomes two shape keys, one for "
        "each direction. None: no twists",
        default=(60.0, 120.0),
        unit="°",
    )
    budget: int = props.IntProperty(
        name="Most Keys",
        description="The most shape keys of a character, where they are worth most. 0: no limit",
        default=200,
        min=0,
        soft_max=1000,
    )
    estimate: bool = props.BoolProperty(
        description="Count the keys and report only: nothing is changed",
        default=False,
        options={"SKIP_SAVE"},
    )
