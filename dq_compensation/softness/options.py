"""The options of *Soften Weights*."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..scene.settings.declaration import frozen_values, props
from ..steps import TakesLong


@frozen_values
class SofteningOptions(TakesLong):
    """The options of softened weights."""

    _: KW_ONLY
    amount: float = props.FloatProperty(
        description="Over how much of the limb's radius weights are spread: 0.5 takes most folds "
        "and rings away, more is softer",
        default=0.5,
        min=0.01,
        max=2.0,
        soft_max=1.0,
    )
    influences: int = props.IntProperty(
        description="The most bones that a softened vertex follows. Blender needs no limit; most "
        "engines allow 4 or 8",
        default=8,
        min=1,
        max=64,
        soft_max=8,
        noun="number of influences",
    )
    body: str = props.StringProperty(
        description="The body below clothes: where they lie on it, their weights change as those "
        "of its surface do, so that it does not come through. Empty: what lies on what is found",
        default="",
    )
