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

from ..errors import BindingError
from ..modifier.armature_base import let_base_go
from ..modifier.modifier_stack import (
    installation_refusal,
    misfit_problem,
    our_modifier,
    surplus_vertices,
)
from ..modifier.written_record import PLACE, changed_parts
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import followed_modifiers
from ..scene.blender.rigging import broken_pose, deformation_refusal, find_rig, rig_of
from ..scene.settings.object_settings import Settings, settings_of
from ..session import bindings
from ..session.known_crowds import is_in_crowd, note_change
from ..session.status import is_drawn, status_of
from ..viewport.gpu.capability import drawing_refusal
from ..viewport.look.camera_rays import hidden_from_camera_rays
from .bone_renaming import follow_renamed_bones
from .following_softness import follow_softness
from .movement import (
    are_bones_being_renamed,
    is_being_edited,
    is_still_moving,
    key_values,
    may_change_with_frames,
)
from .native_display import hide, restore
from .notes import find_notes
from .replacement import (
    changed_parts_of_fixed,
    is_fixed,
    let_pass,
    put_armature_modifier_back,
    replace_armature_modifier,
)

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
        binding = bindings.get(obj, depsgraph, edited=True) if deep else None
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
        bindings.discard(obj)
    if binding is None or renamed:
        binding = bindings.get(obj, depsgraph)
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
            status.binding = binding or bindings.get(obj, depsgraph)
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
