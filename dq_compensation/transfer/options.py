"""The options of *Weights from Body*."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..scene.settings.declaration import frozen_values, props
from ..steps import TakesLong


@frozen_values
class BodyWeightsOptions(TakesLong):
    """The options of weights that clothes take from a body."""

    _: KW_ONLY
    body: str = props.StringProperty(
        description="The mesh below the clothes, or an armature for its other meshes. Empty: the "
        "meshes of the armature that clothes lie on",
        default="",
        options={"SKIP_SAVE"},
    )
    distance: float = props.FloatProperty(
        description="How far from the body clothes take its weights, in % of the diagonal of the "
        "body's box. Weights are filled in farther off",
        default=5.0,
        min=0.01,
        max=100.0,
        soft_max=20.0,
        unit="%",
    )
    angle: float = props.FloatProperty(
        description="The largest angle between clothes and body, in degrees, where clothes take "
        "its weights. Weights are filled in elsewhere",
        default=30.0,
        min=1.0,
        max=180.0,
        unit="°",
    )
    influences: int = props.IntProperty(
        description="The most bones that a vertex follows. Blender needs no limit; most engines "
        "allow 4 or 8",
        default=8,
        min=1,
        max=64,
        soft_max=8,
        noun="number of influences",
    )
    only_missing: bool = props.BoolProperty(
        name="Only Missing Weights",
        description="Leave vertices that have weights as they are; the others go on from these",
        default=False,
    )
    mix: float = props.FloatProperty(
        description="How much of the new weights is mixed into the present ones",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
