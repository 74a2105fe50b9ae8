"""Keeps the deformation of enabled objects up to date: `reconcile` looks, then updates.

An enabled object is deformed by a node modifier right after its Armature modifier, which stays on
as the base that ours adds to, or is hidden. Ours reads attributes of the mesh (weights, joints),
the posed bones from the *palette* object, and a few inputs. All of that was written once, for the
mesh, weights, bones and settings of one moment, and Blender does not tell it when one of them
changes. So:

- What it was made for is kept in the file as digests, one for each part (`written_record`).
- `look` compares them with what there is now. The structure (names, counts, bones, settings, the
  modifier's own parts) is compared every time, in a fraction of a millisecond. The content
  (vertices, weights) has to be read: only where Blender has reported an edit of the mesh, and once
  in every session.
- `reconcile` acts on what it found. OUT_OF_DATE: it writes everything again. BLOCKED: it gives the
  object back to the Armature modifier until the reason is gone. PASSING: a modifier before ours
  adds vertices, so ours lets the mesh pass and the Armature modifier is shown. MISSING: the user
  has applied or removed our modifier; only *Refresh* adds it again. Then it hides or shows
  Blender's own surface, for the GPU display.
- `lifecycle.following` calls it when Blender has evaluated an edit, before the picture is drawn.

The panel, Setup Check, Refresh and the drawing all read what it leaves in `session.status`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.twist_limbs import Reason, TwistLimbs
from ..errors import BindingError
from ..modifier.modifier_inputs import FOLLOWED_PATHS, get_inputs, own_driver_count
from ..modifier.modifier_stack import (
    installation_refusal,
    let_base_go,
    misfit_problem,
    our_modifier,
    surplus_vertices,
)
from ..modifier.palette_object import armature_of_palette, remember_names, renamed_bones
from ..modifier.written_record import PLACE, changed_parts, has_moved
from ..scene.binding.binding import Binding
from ..scene.binding.content import (
    differing_in_renders,
    examples_refusal,
    followed_modifiers,
    is_animated,
    modifiers_before,
    modifiers_read,
    reshaping_modifiers,
)
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.armature import armature_of, object_to_armature
from ..scene.blender.mesh import mesh_of, read_property
from ..scene.blender.rigging import broken_pose, deformation_refusal, find_rig, notes, rig_of
from ..scene.corrective_drivers import acting_keys_warning
from ..scene.helper_rig import acting_helpers_warning
from ..scene.settings.object_settings import Settings, rename_bones, settings_of
from ..session.changes import writing_settings
from ..session.known_objects import is_in_crowd, note_change
from ..session.status import (
    current_binding,
    discard_binding,
    is_drawn,
    seconds_since_change,
    status_of,
)
from ..viewport.gpu_objects import drawing_refusal
from ..viewport.look import hidden_from_camera_rays
from ..wording import counted, listed
from .following_softness import follow_softness
from .replacement import (
    changed_parts_of_fixed,
    hide,
    is_fixed,
    let_pass,
    put_armature_modifier_back,
    replace_armature_modifier,
    restore,
)

# The notes on an enabled object in the panel: what its deformation leaves out.


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


# Whether an object is still moving or being edited: slow updates wait until it rests.


# Seconds without a change until weights that are being painted are read: a stroke must not stall.
STROKE_RESTS_AFTER = 0.25
# The animated paths of an object that decide how it is deformed.
_DEFORMING = ("modifiers[", "dq_compensation.", "vertex_groups")
# What rounding adds to a place from frame to frame.
_STILL = 1e-5
_PAINT_MODES = frozenset({"WEIGHT_PAINT", "VERTEX_PAINT", "TEXTURE_PAINT", "SCULPT"})


def is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an edit of a mesh may still be going on: a stroke, or a shape key's slider.

    Blender reports a slider that moves as an edit of the mesh; its values are read in every frame
    anyway.
    """
    if obj.mode in _PAINT_MODES and seconds_since_change() < STROKE_RESTS_AFTER:
        return True
    status, values = status_of(obj), key_values(obj)
    before, status.key_values = status.key_values, values
    return before is not None and not np.array_equal(before, values)


def is_still_moving(obj: bpy.types.Object) -> bool:
    """Whether an object has moved by its armature since the last call: it is being dragged."""
    status, place = status_of(obj), object_to_armature(obj, rig_of(obj))
    before, status.last_place = status.last_place, place
    return before is None or not np.array_equal(place, before)


def may_change_with_frames(obj: bpy.types.Object) -> bool:
    """Whether frames may change how an object is to be deformed, or move it by its armature.

    An edit alone makes another answer.
    """
    rig = find_rig(obj)
    hangs_on_rig = obj.parent == rig and obj.parent_type == "OBJECT" and not len(obj.constraints)
    return not hangs_on_rig or _is_animated(obj) or bool(modifiers_before(obj))


def is_changed_by_frame(obj: bpy.types.Object) -> bool:
    """Whether a frame may have changed how an object is to be deformed, or has moved it.

    The factor and the spread are read by drivers on our modifier, shape keys by Blender.
    """
    if has_moved_with_frame(obj) or followed_modifiers(obj):
        return True
    if not _is_animated(obj):
        return False
    ours, followed = our_modifier(obj), FOLLOWED_PATHS.values()
    deforming = (path for path in animated_paths(obj) if path.startswith(_DEFORMING))
    return any(
        path not in followed and not (ours is not None and is_animated(ours, (path,)))
        for path in deforming
    )


def _is_animated(obj: bpy.types.Object) -> bool:
    """Whether an object is animated, but for the drivers of our modifier."""
    data = obj.animation_data
    if data is None:
        return False
    others = len(data.drivers) > own_driver_count(obj)
    return others or bool(data.action or len(data.nla_tracks))


def has_moved_with_frame(obj: bpy.types.Object) -> bool:
    """Whether an object has moved by its armature since the last frame that was looked at."""
    rig, status = find_rig(obj), status_of(obj)
    if rig is None:
        return False
    place = np.array(rig.matrix_world.inverted_safe() @ obj.matrix_world)
    before = status.frame_place
    if before is not None and np.abs(place - before).max() <= _STILL:
        return False
    status.frame_place = place
    return True


def are_bones_being_renamed(obj: bpy.types.Object) -> bool:
    """Whether bones have new names in Edit Mode: bones and groups disagree until it is left.

    The character is shown at rest meanwhile.
    """
    rig = find_rig(obj)
    if rig is None or rig.pose is None or not armature_of(rig).is_editmode:
        return False
    return set(armature_of(rig).bones.keys()) != set(rig.pose.bones.keys())


def key_values(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (m,): the values of a mesh object's shape keys; empty for any other object."""
    keys = mesh_of(obj).shape_keys if obj.type == "MESH" else None
    if keys is None:
        return np.zeros(0, np.float32)
    return read_property(keys.key_blocks, "value", np.float32)


# Lets the settings of objects follow bones that the user renames.
#
# Blender renames vertex groups with the bones, those of the palette object too, but not our
# settings.


def follow_renamed_bones(obj: bpy.types.Object) -> bool:
    """Write the new names of bones into the settings of all objects that share an armature.

    Args:
        obj: an enabled one whose palette was written before the bones were renamed.

    Returns:
        whether any were.
    """
    modifier = our_modifier(obj)
    palette = get_inputs(modifier).get("Palette") if modifier is not None else None
    rig = armature_of_palette(palette) if palette is not None else None
    if palette is None or rig is None or palette.library is not None:
        return False
    renamed = renamed_bones(palette, rig)
    if not renamed:
        return False
    with writing_settings():
        for other in bpy.data.objects:
            if other.type == "MESH" and other.library is None and find_rig(other) == rig:
                rename_bones(other, renamed)
    remember_names(palette)
    return True


# Keeps the deformation of enabled objects up to date: `reconcile` looks, then updates.


MISFIT = "number of vertices"


class State(Enum):
    """The states of an enabled object."""

    CURRENT = auto()
    OUT_OF_DATE = auto()
    PASSING = auto()
    MISSING = auto()
    BLOCKED = auto()


@dataclass(frozen=True)
class Comparison:
    """The result of `look`.

    Attributes:
        reason: why it is not deformed by us, a sentence for the panel.
        parts: what has changed since the modifier was made, by the names that riggers know.
        waits: whether something was left for later.
        misfit: where followed modifiers make another number of vertices: the frame, and how many
            more.
    """

    state: State
    reason: str | None = None
    parts: tuple[str, ...] = ()
    waits: bool = False
    misfit: tuple[float, int] | None = None


def look(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, binding: Binding | None = None
) -> Comparison:
    """Find the state of an enabled object. Changes nothing.

    Args:
        binding: of the object as it is now; without it, vertices and weights are taken on trust.
    """
    if reason := deformation_refusal(obj):
        return Comparison(State.BLOCKED, reason)
    # What is linked, or has a linked mesh, can only be shown as it is.
    linked = obj.library is not None or is_fixed(obj)
    if reason := None if linked else installation_refusal(obj):
        shown = settings_of(obj).display == "MODIFIER"
        meanwhile = " Until then the Armature modifier deforms it." if shown else ""
        return Comparison(State.BLOCKED, reason + meanwhile)
    ours, native = our_modifier(obj), settings_of(obj).native
    if ours is None and native.replaced_modifier and not native.parted:
        reason = (
            f"The modifier DQ Compensation of {obj.name} was applied or removed. If you have "
            "applied it, undo that. Press Refresh to add it again, or Disable to go back to the "
            "Armature modifier."
        )
        return Comparison(State.MISSING, reason)
    parts: tuple[str, ...] = ()
    if ours is not None and is_fixed(obj) and obj.library is None:
        parts = changed_parts_of_fixed(obj, Settings.of(obj))
    elif ours is not None and obj.library is None:
        parts = changed_parts(obj, Settings.of(obj), binding)
    if parts or (obj.library is None and (ours is None or not native.replaced_modifier)):
        return Comparison(State.OUT_OF_DATE, parts=parts)
    return _fit(obj, depsgraph)


def _fit(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Comparison:
    """Whether the vertices are as many as the modifier was made for."""
    surplus = surplus_vertices(obj, depsgraph) if obj.library is None else 0
    if not surplus:
        return Comparison(State.CURRENT)
    misfit = (depsgraph.scene.frame_current_final, surplus)
    if status_of(obj).misfit != misfit and followed_modifiers(obj):
        # They are read once in this frame. A mesh that does not fit even then passes.
        return Comparison(State.OUT_OF_DATE, parts=(MISFIT,), misfit=misfit)
    return Comparison(State.PASSING, misfit_problem(obj))


def reconcile(
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    *,
    edited: bool = False,
    patient: bool = False,
    at_once: bool = bpy.app.background,
) -> Comparison:
    """Bring the node modifier, the status and the native display of an enabled object up to date.

    Args:
        edited: its mesh or weights may have changed.
        patient: while something of it is dragged or painted, leave what takes long for later.
        at_once: compute soft weights now, if they are old.

    Returns:
        what was found before.
    """
    status = status_of(obj)
    rests = our_modifier(obj) is not None and are_bones_being_renamed(obj)
    waits = edited and (rests or (patient and is_being_edited(obj)))
    deep = not rests and ((edited and not waits) or not status.compared)
    binding = None
    try:
        if not (rests or waits):
            follow_softness(obj, edited=deep, at_once=at_once)
        binding = current_binding(obj, depsgraph, edited=True) if deep else None
        found = Comparison(State.CURRENT) if rests else look(obj, depsgraph, binding)
        status.compared |= deep
        still_moving = patient and found.parts == (PLACE,) and is_still_moving(obj)
        if found.state is State.OUT_OF_DATE and not still_moving:
            binding = _bring_up_to_date(obj, depsgraph, found, binding)
    except BindingError as error:
        binding, found, still_moving = None, Comparison(State.BLOCKED, str(error)), False
    extra = _give_way(obj, found)
    status.problem = None if extra else found.reason
    if not rests:
        _read(obj, depsgraph, found, binding)
    status.pose_problem = broken_pose(rig_of(obj)) if status.problem is None else None
    status.notes = find_notes(obj) + extra
    status.key_values = key_values(obj)
    if obj.library is None:
        follow_native_display(obj)
    note_change()
    status.waits = waits or still_moving
    status.changes_with_frames = obj.library is not None or may_change_with_frames(obj)
    return replace(found, waits=status.waits)


def _bring_up_to_date(
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    found: Comparison,
    binding: Binding | None,
) -> Binding:
    """Write everything again that deforms an object.

    Args:
        binding: where it has just been bound.

    Returns:
        that binding, or another one where settings have followed renamed bones.
    """
    if found.misfit is not None:
        status_of(obj).misfit = found.misfit
    renamed = follow_renamed_bones(obj)
    if binding is None and (PLACE in found.parts or MISFIT in found.parts):
        discard_binding(obj)
    if binding is None or renamed:
        binding = current_binding(obj, depsgraph)
    if not settings_of(obj).native.replaced_modifier:
        # What is hidden now is not how the user had it.
        restore(obj)
    replace_armature_modifier(obj, binding)
    settings_of(obj).native.parted = False
    return binding


def _give_way(obj: bpy.types.Object, found: Comparison) -> list[str]:
    """Let the Armature modifier deform what we cannot deform; returns notes on renders."""
    if obj.library is not None:
        return []
    if found.state is State.MISSING:
        let_base_go(obj)
    elif found.state is not State.BLOCKED and our_modifier(obj) is not None:
        let_pass(obj, passing=found.state is State.PASSING)
    if found.state is not State.BLOCKED:
        return []
    # In Edit Mode the modifier stays as it was when it began.
    if obj.mode != "EDIT":
        put_armature_modifier_back(obj)
    if settings_of(obj).display == "GPU" and deformation_refusal(obj) is None:
        return [f"Renders show the Armature modifier's result. {found.reason}"]
    return []


def _read(
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    found: Comparison,
    binding: Binding | None,
) -> None:
    """Bind an object, unless it has just been bound, where drawing, examples or a crowd need it."""
    status, settings = status_of(obj), settings_of(obj)
    drawn = settings.display == "GPU" or is_in_crowd(find_rig(obj))
    try:
        if status.problem is not None and found.state is not State.PASSING:
            status.binding = None
        elif binding or drawn or settings.overlay != "NONE" or has_examples(obj):
            status.binding = binding or current_binding(obj, depsgraph)
            if drawn and status.binding.shape_keys is not None:
                # Modifiers that are followed cannot be evaluated while something is drawn.
                _ = status.binding.shape_keys.offsets
    except BindingError as error:
        status.binding, status.problem = None, str(error)


def has_examples(obj: bpy.types.Object) -> bool:
    """Whether an object is deformed by example, and has any."""
    settings = settings_of(obj)
    return settings.method == "SPHERICAL_JOINT_BY_EXAMPLE" and len(settings.examples) > 0


def follow_native_display(obj: bpy.types.Object) -> None:
    """Hide the native surface of an enabled object where we draw it, and only there."""
    if drawing_refusal() is None and is_drawn(obj):
        hide(obj, from_camera_rays=hidden_from_camera_rays())
    else:
        restore(obj)
