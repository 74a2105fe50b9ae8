"""The notes on an enabled object in the panel: what its deformation leaves out."""

from __future__ import annotations

import bpy

from ..core.deform import RULES
from ..core.twist_limbs import Reason
from ..modifier.base import base_of
from ..modifier.written_record import OLDER, PLACE
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import (
    examples_refusal,
    followed_modifiers,
    is_animated,
    modifiers_read,
    other_renders_warning,
    reshaping_modifiers,
    shapes_refusal,
)
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.own_objects import name_in_sentences
from ..scene.blender.rigging import VISIBILITY, notes, what_animates
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.kept_weights import BAKED_BONES
from ..scene.settings.object_settings import (
    PAINTED_SETTINGS,
    PaintedKind,
    Settings,
    setting_label,
    settings_of,
)
from ..scene.stack import modifiers_with
from ..session.status import NOTES, status_of
from ..wording import counted, listed
from .following_softness import about_linked_weights

# How many are named.
_MOST_LIMBS = 20
# What acts without a painted group.
_WITHOUT_GROUP: dict[PaintedKind, str] = {
    "COMPENSATION": "the compensation acts fully",
    "BLEND": "nothing is blended to linear",
    "SOFTNESS": "Softness acts fully",
}
# Why a limb does not spread its twist.
_LEFT_OUT: dict[Reason, str] = {
    "SHORT": "too short and thick",
    "BENDY": "bendy bones twist along themselves",
    "TWIST_BONES": "twist bones do it there",
    "NO_RINGS": "no ring of vertices in the middle, so long faces would be wrung",
    "NAMED": "left out by you",
    "ROPE": "weights wider than the bones, as of a tail or a rope, twist softly already",
}


def find_notes(skinned: SkinnedObject) -> list[str]:
    """The features of an enabled object that do not show in our deformation; for the panel."""
    obj, settings, before = skinned.obj, skinned.settings, skinned.before_enable
    # In the other modes, as while painting, the modifier's own result shows.
    drawn = settings.display == "GPU" and obj.mode == "OBJECT"
    acting, binding = Settings.of(obj), status_of(obj).binding
    # The user's own while ours is missing.
    is_base = bool(before.replaced_modifier) and not before.base_hidden
    passes = before.passing or before.passing_in_renders or is_base
    found = notes(
        skinned,
        replaced_modifier="" if passes else before.replaced_modifier,
        base_left_on=is_base,
        drawn=drawn,
        followed=bool(skinned.modifiers_before and modifiers_read(skinned)),
        straightened=None if is_base else _straightened(skinned, acting, drawn or before.passing),
    )
    if skinned.mesh.shape_keys is not None or BAKED_BONES.record in skinned.mesh:
        found += filter(None, (note(obj) for note in NOTES))
    ours = skinned.ours
    if ours is not None and not (ours.show_viewport and ours.show_render):
        found += _turned_off(skinned, ours)
    if skinned.modifiers_before:
        found += _notes_on_followed(skinned, acting, drawn=drawn)
    if binding is not None and acting.compensates and binding.not_compensated.any():
        count = int(binding.not_compensated.sum())
        found.append(
            f"Not compensated: {counted(count, 'vertex')} of {obj.name} with a weight between "
            "0 and 1 in the vertex group of the Armature modifier, because another one mixes its "
            "result with it (Multi Modifier). Give them 0 or 1."
        )
    if obj.library is not None or skinned.has_linked_mesh:
        found += _notes_on_linked(skinned)
    if binding is not None and binding.solved is not None:
        found.extend(_notes_on_shapes(skinned, binding, acting))
    if binding is not None and acting.by_example:
        found.extend(_notes_on_examples(skinned, binding))
    return [*found, *lost_groups(obj).values()]


def lost_groups(obj: bpy.types.Object) -> dict[PaintedKind, str]:
    """The painted groups of an enabled object that were renamed or removed, with a sentence each.

    Cheap: for the panel.
    """
    settings, acting, found = settings_of(obj), Settings.of(obj), dict[PaintedKind, str]()
    acts = {"softness_group": acting.acts("softness") and acting.softness > 0.0}
    for kind, setting in PAINTED_SETTINGS.items():
        group = getattr(settings, setting)
        if group and group not in obj.vertex_groups and acts.get(setting, acting.acts(setting)):
            found[kind] = f"{obj.name} has no vertex group {group}; {_WITHOUT_GROUP[kind]}."
    return found


def _straightened(
    skinned: SkinnedObject, acting: Settings, elsewhere: bool
) -> tuple[str, str] | None:
    """Why bendy bones move an object as straight ones, and what to do; None where they bend.

    Args:
        elsewhere: whether the GPU display or the Armature modifier shows it.
    """
    ours, armature = skinned.ours, skinned.find_modifier()
    if RULES[acting.acting_method].straightens:
        what = "base" if acting.by_example else "method"
        return f"with the {what} Spherical Joint", "Choose Compensated."
    if elsewhere or ours is None or armature is None or base_of(ours) != "OWN":
        return None
    if mixed := listed([each.name for each in skinned.mixed_modifiers]):
        with_it = "example poses" if acting.by_example else "a Blend Group"
        cause = f"with {with_it} where {mixed} is mixed in (Multi Modifier)"
        return cause, f"Turn off Multi Modifier in {mixed}, or do without {with_it}."
    if cause := what_animates(skinned.obj, armature, ["use_deform_preserve_volume"]):
        return (
            f"because Preserve Volume of {armature.name} is set by {cause}",
            "Remove its keys or driver, or set Display to GPU.",
        )
    return None


def _notes_on_examples(skinned: SkinnedObject, binding: Binding) -> list[str]:
    """The example poses that do nothing, and those that stay on while ours is off."""
    obj, ours, keepers = skinned.obj, skinned.ours, modifiers_with(skinned.obj, "SHAPE")
    found = list(binding.examples(skinned.settings.limb_axis).problems)
    cause = what_animates(obj, ours, VISIBILITY) if ours is not None and keepers else None
    if ours is not None and cause is not None:
        found.append(
            f"{ours.name} of {obj.name} is turned on and off by {cause}. The example poses stay "
            f"on: give {keepers[0].name} the same keys or drivers."
        )
    return found


def _notes_on_shapes(skinned: SkinnedObject, binding: Binding, acting: Settings) -> list[str]:
    """Why solved shapes do not act."""
    solved, name = binding.solved, skinned.obj.name
    assert solved is not None
    if solved.problem:
        return [solved.problem]
    if reason := shapes_refusal(skinned):
        return [reason]
    if solved.base != acting.acting_method:
        method = setting_label(skinned.obj, "method", solved.base)
        return [f"The solved shapes of {name} act with the method {method} alone."]
    return []


def older_than_its_file(skinned: SkinnedObject) -> str | None:
    """The note that an object with a linked mesh has an older modifier, which fits; or None."""
    obj, library, status = skinned.obj, skinned.mesh.library, status_of(skinned.obj)
    if library is None or not skinned.has_linked_mesh:
        return None
    newer = [part for part in status.changed if part in OLDER]
    newer += ["weights"] * status.softness.painted_since
    if not newer:
        return None
    file = bpy.path.basename(library.filepath)
    return (
        f"The modifier of {obj.name} is older than the linked file {file}. Changed there since: "
        f"{listed(list(dict.fromkeys(newer)))}. It cannot be made anew here, because the mesh is "
        f"linked. Open {file}, press Refresh and save it, or make the mesh local."
    )


def about_twists(obj: bpy.types.Object) -> str:
    """How many limbs spread their twists, and which others do not, and why; empty: none is spread.

    It names more than a line has room for: it is the tooltip of the line.
    """
    acting, binding = Settings.of(obj), status_of(obj).binding
    if binding is None or not (acting.acts("twist_spread") and acting.twist_spread > 0.0):
        return ""
    limbs = binding.twist_limbs(acting)
    names = limbs.skeleton.names
    bones = [names[bone] for bone in limbs.bones.tolist()]
    found = "No limb spreads its twist."
    if bones:
        found = f"Twists are spread along {counted(len(bones), 'limb')}."
    for reason, text in _LEFT_OUT.items():
        bones = [names[bone] for bone, why in limbs.left_out.items() if why == reason]
        if bones:
            found += f" Not along {listed(bones, _MOST_LIMBS)}: {text}."
    return found


def _turned_off(skinned: SkinnedObject, ours: bpy.types.NodesModifier) -> list[str]:
    """The note that the user has turned our modifier off, and where."""
    before = skinned.before_enable
    if not before.replaced_modifier:
        return []  # it does not fit, so we have turned it off
    viewport = not (ours.show_viewport or before.hidden)
    renders = not (ours.show_render or before.passing_in_renders)
    if not (viewport or renders):
        return []
    where = listed(["the viewport"] * viewport + ["renders"] * renders)
    return [
        f"{skinned.obj.name} is not deformed as chosen in {where}: its modifier "
        f"{name_in_sentences(ours)} is turned off there. Turn it on."
    ]


def _notes_on_linked(skinned: SkinnedObject) -> list[str]:
    """What has changed that a linked object, or a modifier with a linked mesh, does not know."""
    name, found = skinned.obj.name, list[str]()
    if skinned.has_linked_mesh and PLACE in status_of(skinned.obj).changed:
        found.append(
            f"{name} has moved relative to its armature, but its mesh is linked: the "
            "compensation stays as it was in the linked file."
        )
    found += filter(None, (older_than_its_file(skinned),))
    return found + about_linked_weights(skinned)


def _notes_on_followed(skinned: SkinnedObject, acting: Settings, *, drawn: bool) -> list[str]:
    """The settings that do not act where modifiers before the Armature modifier change the mesh.

    Args:
        drawn: whether the GPU display shows it.
    """
    obj = skinned.obj
    found = [*filter(None, (other_renders_warning(obj),))]
    followed = followed_modifiers(skinned)
    if followed and status_of(obj).misfit is None:
        paths = animated_paths(obj)
        followed = [each for each in followed if is_animated(each, paths)]
    # Those that are animated, or all where another number of vertices was seen.
    if names := listed([each.name for each in followed]):
        found.append(
            f"{obj.name} gets other vertices from {names} in other frames. While they play, the "
            "Armature modifier alone deforms them."
        )
    if acting.by_example and len(skinned.settings.examples):
        found.extend(filter(None, (examples_refusal(skinned),)))
    names = listed([each.name for each in reshaping_modifiers(skinned) if each.show_viewport])
    if drawn and names:
        found.append(
            f"The GPU display shows {obj.name} as {names} shaped it when it was read. Press "
            "Refresh to read it again, or choose the display Modifier."
        )
    return found
