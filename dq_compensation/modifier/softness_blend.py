"""Blends the positions of painted and soft weights, until the soft ones are there for a *Softness*.

Soft weights are linear in *Softness* only nearly, and so are positions. On a human in a random pose
a blend is off from what comes by a quarter of the movement where *Softness* changes by half, by two
fifths where it is doubled.
"""

from __future__ import annotations

from ..scene.blender.skinned_object import SkinnedObject
from .attribute_names import SOFT_SHARE
from .modifier_inputs import get_inputs, set_input
from .users_settings import set_reasons

# The blend goes beyond the soft positions by as much as these are off the painted ones, at most.
_MOST = 2.0


def blend_softness(skinned: SkinnedObject, share: float = 1.0) -> None:
    """Show a share of the way from the painted weights to the soft ones; 1: the soft ones alone.

    What needs the arriving mesh unposed shows the soft weights alone.

    Args:
        share: 0 or more.
    """
    obj, ours, before = skinned.obj, skinned.ours, skinned.before_enable
    if obj.library is not None or (share == 1.0 and not before.softness_blended):
        return
    can_blend = ours is not None and SOFT_SHARE in get_inputs(ours)
    share = min(share, _MOST)
    set_reasons(obj, softness_blended=can_blend and share != 1.0)
    if ours is not None and can_blend:
        set_input(ours, SOFT_SHARE, share)
        obj.update_tag(refresh={"DATA"})
