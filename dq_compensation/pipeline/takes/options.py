"""The options of *Cache Take*."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ...scene.settings.declaration import TOLERANCE, frozen_values, props
from ...steps import TakesLong
from .local_poses import Interpolation
from .settings import INTERPOLATIONS


@frozen_values
class TakeOptions(TakesLong):
    """The options of a take that is cached; without `first` and `last` the scene's frames."""

    name: str = props.StringProperty(
        description="The name of the take. A take with this name is replaced. Empty: the name of "
        "the action",
        default="",
        property_name="take_name",
        maxlen=63,
        options={"SKIP_SAVE"},
    )
    first: int | None = None
    last: int | None = None
    _: KW_ONLY
    tolerance: float = props.FloatProperty(
        description="How far the skin may be off between keys, in millimetres. 0 keeps every frame",
        default=0.5,
        min=0.0,
        **TOLERANCE,
    )
    interpolation: Interpolation = props.EnumProperty(
        name="Between Keys",
        description="How bones move from one key to the next",
        items=INTERPOLATIONS,
        default="SLERP",
    )
