"""The notes on an enabled object in the panel: what its deformation leaves out."""

from __future__ import annotations

import bpy

from ..core.twist_limbs import Reason, TwistLimbs
from ..modifier.modifier_stack import our_modifier
from ..modifier.written_record import has_moved
from ..scene.binding.modifiers_before import (
    differing_in_renders,
    examples_refusal,
    followed_modifiers,
    is_animated,
    modifiers_read,
    reshaping_modifiers,
)
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.rigging import notes
from ..scene.copies.acting_helpers import acting_helpers_warning
from ..scene.settings.object_settings import Settings, settings_of
from ..scene.shape_keys.acting_keys import acting_keys_warning
from ..session.status import status_of
from ..wording import counted, listed
from .replacement import is_fixed

# How many are named.
_MOST_LIMBS = 20
# Why a limb does not spread its twist.
_LEFT_OUT: dict[Reason, str] = {
    "SHORT": "too short for how thick it is",
    "BENDY": "bendy bones twist along themselves",
    "TWIST_BONES": "it has twist bones",
    "NAMED": "left out by you",
}


def find_notes(obj: bpy.types.Object) -> list[str]:
    """The features of an enabled object that do not show in our deformation; for the panel."""
    settings = settings_of(obj)
    native = settings.native
    # In the other modes, as while painting, the modifier's own result shows.
    drawn = settings.display == "GPU" and obj.mode == "OBJECT"
    acting, binding = Settings.of(obj), status_of(obj).binding
    lets_pass = native.passing or native.passing_in_renders
    found = notes(
        obj,
        replaced_modifier="" if lets_pass else native.replaced_modifier,
        base_left_on=native.base_left_on,
        drawn=drawn,
        followed=bool(modifiers_read(obj)),
        straightened=acting.acting_method == "SPHERICAL_JOINT"
        or not (drawn or native.base_left_on or native.passing),
    )
    found += filter(None, (acting_keys_warning(obj), acting_helpers_warning(obj)))
    found += _turned_off(obj)
    found += _notes_on_followed(obj)
    names = listed([each.name for each in reshaping_modifiers(obj) if each.show_viewport])
    if drawn and names:
        found.append(
            f"The GPU display shows {obj.name} as {names} shaped it when it was read. Press "
            "Refresh to read it again, or choose the display Modifier."
        )
    if binding is not None and acting.compensates and binding.not_compensated.any():
        count = int(binding.not_compensated.sum())
        found.append(
            f"Not compensated: {counted(count, 'vertex')} of {obj.name} with a weight between "
            "0 and 1 in the vertex group of the Armature modifier, because that modifier has "
            "bendy bones, envelopes or Multi Modifier. Give them 0 or 1."
        )
    if is_fixed(obj) and has_moved(obj, acting):
        found.append(
            f"{obj.name} has moved relative to its armature, but its mesh is linked: the "
            "compensation stays as it was in the linked file."
        )
    if binding is not None and acting.acts("twist_spread") and acting.twist_spread > 0.0:
        found.append(_about_twists(binding.twist_limbs(acting)))
    if binding is not None and acting.by_example:
        found.extend(binding.examples(settings.limb_axis).problems)
    for setting, sentence in (
        ("vertex_group", "{obj} has no vertex group {group}; the compensation acts fully."),
        ("blend_group", "{obj} has no vertex group {group}; nothing is blended to linear."),
    ):
        group = getattr(settings, setting)
        if group and group not in obj.vertex_groups and acting.acts(setting):
            found.append(sentence.format(obj=obj.name, group=group))
    return found


def _about_twists(limbs: TwistLimbs) -> str:
    """The limbs along which twists are spread, and why others are left out."""
    names = limbs.skeleton.names
    bones = [names[bone] for bone in limbs.bones.tolist()]
    found = "No limb spreads its twist."
    if bones:
        found = f"Twists are spread along {listed(bones, _MOST_LIMBS)}."
    for reason, text in _LEFT_OUT.items():
        bones = [names[bone] for bone, why in limbs.left_out.items() if why == reason]
        if bones:
            found += f" Not along {listed(bones, _MOST_LIMBS)}: {text}."
    return found


def _turned_off(obj: bpy.types.Object) -> list[str]:
    """That the user has turned our modifier off, and where."""
    ours, native = our_modifier(obj), settings_of(obj).native
    if ours is None:
        return []
    viewport = not (ours.show_viewport or native.hidden)
    renders = not (ours.show_render or native.passing_in_renders)
    where = listed(["the viewport"] * viewport + ["renders"] * renders)
    if not where:
        return []
    return [
        f"The modifier {ours.name} is turned off in {where}, so {obj.name} is not deformed as "
        "chosen there. Turn it on."
    ]


def _notes_on_followed(obj: bpy.types.Object) -> list[str]:
    """The settings that do not act where modifiers before the Armature modifier change the mesh."""
    found = []
    names = listed([each.name for each in differing_in_renders(obj)])
    if names:
        found.append(
            f"{obj.name} gets another mesh from {names} in renders, where the Armature modifier "
            f"alone deforms it. Give {names} the same settings in the viewport and in renders."
        )
    followed = followed_modifiers(obj)
    if followed and status_of(obj).misfit is None:
        paths = animated_paths(obj)
        followed = [each for each in followed if is_animated(each, paths)]
    # Those that are animated, or all where another number of vertices was seen.
    if names := listed([each.name for each in followed]):
        found.append(
            f"{obj.name} gets other vertices from {names} in other frames. While they play, the "
            "Armature modifier alone deforms them."
        )
    refusal = examples_refusal(obj)
    if refusal and Settings.of(obj).by_example and len(settings_of(obj).examples):
        found.append(refusal)
    return found
