"""The options of *Bake Crowd*."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ...scene.settings.declaration import frozen_values, props
from ...steps import TakesLong


@frozen_values
class CrowdBakeOptions(TakesLong):
    """The options of a bake of a crowd."""

    _: KW_ONLY
    tolerance: float = props.FloatProperty(
        description="The largest distance of a vertex from where the crowd is drawn, in "
        "millimetres. A smaller tolerance makes more meshes",
        default=10.0,
        min=0.01,
        soft_min=0.5,
        soft_max=100.0,
        precision=2,
        unit="mm",
    )
    motion_blur: bool = props.BoolProperty(
        description="Give the posed meshes velocities, so that Cycles blurs what moves",
        default=True,
    )
    modifiers: bool = props.BoolProperty(
        description="Give the posed meshes the modifiers that come after the Armature modifier",
        default=True,
    )
