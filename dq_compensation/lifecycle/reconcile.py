"""Keeps the deformation of enabled objects up to date: `reconcile` looks, then updates.

An enabled object is deformed by a node modifier right after its Armature modifier, which stays on
as the base that ours adds to, or is hidden. Ours reads attributes of the mesh (weights, joints),
the posed bones from the *palette* object, and a few inputs. All of that was written once, for the
mesh, weights, bones and settings of one moment, and Blender does not tell it when one of them
changes. So:

- What it was made for is kept in the file as digests, one for each part (`written_record`).
- `compare_with_file` compares them with what there is now. The structure (names, counts, bones,
  settings, the modifier's own parts) is compared every time, in a fraction of a millisecond. The
  content (vertices, weights) has to be read: only where Blender has reported an edit of the mesh,
  and once in every session.
- `reconcile` acts on what it found. OUT_OF_DATE: it writes everything again. BLOCKED: it gives the
  object back to the Armature modifier until the reason is gone. WRONG_VERTEX_COUNT: a modifier
  before ours adds vertices, so ours lets the mesh pass and the Armature modifier is shown. MISSING:
  the user has applied or removed our modifier; only *Refresh* adds it again. OF_ANOTHER_VERSION: it
  is left alone; that of a development build is turned off. Then it hides or shows Blender's own
  surface, for the GPU display.
- `lifecycle.following` calls it when Blender has evaluated an edit, before the picture is drawn.

The panel, Setup Check, Refresh and the drawing all read what it leaves in `session.status`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Literal

import bpy
import numpy as np
from mathutils import Matrix

from ..arrays import Float32s
from ..core.deform import RULES
from ..errors import BindingError
from ..modifier.comparison import show_ours
from ..modifier.installation import (
    leave_to_armature_modifier,
    put_armature_modifier_back,
    replace_armature_modifier,
    show_armature_result,
)
from ..modifier.modifier_inputs import FOLLOWED_PATHS, get_input, own_drivers
from ..modifier.modifier_stack import (
    installation_refusal,
    misfit_problem,
    vertex_count_difference,
)
from ..modifier.palette_object import armature_of_palette, remember_names, renamed_bones
from ..modifier.stack_parts import remove, show_where_ours_acts
from ..modifier.users_settings import give_back, set_reasons, show_surface
from ..modifier.written_record import (
    PLACE,
    Origin,
    changed_parts,
    changed_parts_of_linked_mesh,
    newer_parts_of_linked_mesh,
    origin_of,
    origin_refusal,
    was_applied,
)
from ..scene.binding.binding import Binding
from ..scene.binding.content import (
    followed_modifiers,
    is_animated,
    keeps_soft_weights,
    may_differ_in_frames,
    mesh_signature,
    object_signature,
)
from ..scene.blender.animation_curves import animated_paths, is_played
from ..scene.blender.armature import armature_of, has_moved, rest_state
from ..scene.blender.mesh import mesh_of, read_property
from ..scene.blender.own_objects import is_hidden, is_palette
from ..scene.blender.rigging import broken_pose, deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings, rename_bones
from ..scene.stack import BEFORE
from ..scene.vertex_groups import rename_kept
from ..session.changes import Changes, Update, remember_pose, writing_settings
from ..session.known_objects import with_examples
from ..session.memory import memories, memory_of
from ..session.status import (
    current_binding,
    discard_binding,
    is_drawn,
    needs_binding,
    note_reconciled,
    other_meshes,
    seconds_since_change,
    status_of,
)
from ..viewport.gpu_objects import drawing_refusal
from ..viewport.look import hidden_from_camera_rays
from .character_settings import begin_character, follow_armature, has_settings
from .following_softness import awaits_first, follow_softness
from .notes import about_twists, find_notes

# Whether an object is still moving or being edited: slow updates wait until it rests.


# Seconds without a change until weights that are being painted are read: a stroke must not stall.
_STROKE_RESTS_AFTER = 0.25
# The animated paths of an object that decide how it is deformed.
_DEFORMING = ("modifiers[", "dq_compensation.", "vertex_groups")
# What rounding adds to a place from frame to frame, and from check to check.
_STILL = 1e-5
_PAINT_MODES = frozenset({"WEIGHT_PAINT", "VERTEX_PAINT", "TEXTURE_PAINT", "SCULPT"})


def _is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an edit of a mesh may still be going on: a stroke, or a shape key's slider.

    Blender reports a slider that moves as an edit of the mesh; its values are read in every frame
    anyway.
    """
    if obj.mode in _PAINT_MODES and seconds_since_change() < _STROKE_RESTS_AFTER:
        return True
    status, values = status_of(obj), key_values(obj)
    before, status.key_values = status.key_values, values
    return before is not None and not np.array_equal(before, values)


def _has_moved_since(skinned: SkinnedObject, last: Literal["CHECK", "FRAME"]) -> bool:
    """Whether an object has moved by its armature since the last check or frame that asked this."""
    obj, rig = skinned.obj, skinned.find_rig()
    places = status_of(obj).places
    if rig is None:
        return False
    place, before = np.array(rig.matrix_world.inverted_safe() @ obj.matrix_world), places.get(last)
    if before is not None and np.abs(place - before).max() <= _STILL:
        return False
    places[last] = place
    return True


def is_changed_by_frame(obj: bpy.types.Object) -> bool:
    """Whether a frame may have changed how an object is to be deformed, or has moved it.

    The factor and the spread are read by drivers on our modifier, shape keys by Blender.
    """
    skinned = SkinnedObject(obj)
    if _has_moved_since(skinned, "FRAME") or may_differ_in_frames(skinned):
        return True
    if not _is_animated(obj):
        return False
    ours, followed = skinned.ours, FOLLOWED_PATHS.values()
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
    others = len(data.drivers) > len(own_drivers(obj))
    return others or bool(data.action or len(data.nla_tracks))


def key_values(obj: bpy.types.Object) -> Float32s:
    """Shape (m,): the values of a mesh object's shape keys; empty for any other object."""
    keys = mesh_of(obj).shape_keys if obj.type == "MESH" else None
    if keys is None:
        return np.zeros(0, np.float32)
    return read_property(keys.key_blocks, "value", np.float32)


# Tells posing from editing: a pose re-evaluates every mesh of a character, but changes none of it.
#
# Blender names all objects of an evaluation. A mesh object that was only evaluated again, because
# it depends on something else, comes with changed geometry and nothing else; what the user edits or
# moves comes with more, or with no flag at all. So does a palette, together with its armature.
#
# An armature comes with every flag in each pose, and its object with changed geometry. Its place,
# and what can be edited of its bones outside of Edit Mode, are compared with those of the last
# evaluation; what leaving Edit Mode changes comes with the scene. Without any flag comes an
# armature that has drivers, as Rigify's have, or whose bones were renamed: their names are
# compared. In a frame only where meshes were evaluated, too: a renamed bone evaluates those that it
# deforms.


@dataclass
class _LastPose:
    """The state of an armature, or of its object, in the last evaluation."""

    names: list[str] = field(default_factory=list)
    rest: tuple[object, ...] = ()
    place: Matrix | None = None
    broken: str | None = None
    spreads: bool = False


def only_posed(update: Update, changes: Changes) -> bool:
    """Whether nothing has happened to a data-block but a pose that needs no other look at it."""
    changed = update.data
    if isinstance(changed, bpy.types.Armature):
        with_bones = update.geometry
        driven = changes.is_frame and not with_bones and not _may_be_renamed(changes)
        # A drag poses bones, and edits none of them at rest.
        driven |= with_bones and changes.is_dragged
        return driven or _keeps_rest(changed, with_bones=with_bones)
    if not (update.geometry and isinstance(changed, bpy.types.Object)):
        return False
    if changed.type == "ARMATURE":
        # Also when it is animated: we read no settings of its own.
        return _keeps_place(changed)
    # What a palette hangs on moves it along.
    if update.shading or (update.transform and not is_palette(changed)):
        return False
    skinned = SkinnedObject(changed)
    if is_hidden(changed):
        rig = armature_of_palette(changed) if is_palette(changed) else skinned.find_rig()
        return rig is not None and rig.session_uid in changes.uids
    # Modifiers before ours may make other vertices in every pose.
    passes = skinned.before_enable.passing
    fits = not (passes or vertex_count_difference(skinned, changes.depsgraph))
    return skinned.settings.is_enabled and fits


def _may_be_renamed(changes: Changes) -> bool:
    """Whether bones may have been renamed before a frame, not only moved by drivers."""
    # While it plays, a renamed bone comes as an edit of its own, too.
    return not changes.is_playing and changes.depsgraph.id_type_updated("MESH")


def _keeps_place(rig: bpy.types.Object) -> bool:
    """Whether an armature object is where it was, its pose as sound, its twists as animated."""
    known = memory_of(rig, _LastPose)
    spreads = rig.animation_data is not None and has_settings(rig)
    spreads = spreads and is_played(rig, FOLLOWED_PATHS["twist_spread"])
    place, broken = rig.matrix_world.copy(), broken_pose(rig)
    same = (known.place, known.broken, known.spreads) == (place, broken, spreads)
    known.place, known.broken, known.spreads = place, broken, spreads
    return same


def _keeps_rest(armature: bpy.types.Armature, *, with_bones: bool) -> bool:
    known, names = memory_of(armature, _LastPose), armature.bones.keys()
    same, known.names = known.names == names, names
    if with_bones:
        rest = rest_state(armature, names)
        same, known.rest = same and known.rest == rest, rest
    return same


# Lets the settings of objects follow bones that the user renames.
#
# Blender renames vertex groups with the bones, those of the palette object too, but not our
# settings.


def _follow_renamed_bones(modifier: bpy.types.NodesModifier) -> bool:
    """Write the new names of bones into the settings of all objects that share an armature.

    Args:
        modifier: of an enabled one whose palette was written before the bones were renamed.

    Returns:
        whether any were.
    """
    palette = get_input(modifier, "Palette")
    rig = armature_of_palette(palette) if palette is not None else None
    if palette is None or rig is None or palette.library is not None:
        return False
    renamed = renamed_bones(palette, rig)
    if not renamed:
        return False
    with writing_settings():
        for other in bpy.data.objects:
            is_local_mesh = other.type == "MESH" and other.library is None
            if is_local_mesh and SkinnedObject(other).find_rig() == rig:
                rename_bones(other, renamed)
                if mesh_of(other).library is None:
                    rename_kept(other, renamed)
        if rig.library is None:
            rename_bones(rig, renamed)
    remember_names(palette)
    return True


# Keeps the deformation of enabled objects up to date: `reconcile` looks, then updates.


_MISFIT = "number of vertices"
# The methods that find no limbs and no joints on the skin.
_PLAIN = frozenset(method for method, rules in RULES.items() if rules.needs is None)


class State(Enum):
    """The states of an enabled object."""

    CURRENT = auto()
    OF_ANOTHER_VERSION = auto()
    OUT_OF_DATE = auto()
    WRONG_VERTEX_COUNT = auto()
    MISSING = auto()
    BLOCKED = auto()


@dataclass(frozen=True)
class Comparison:
    """The result of `compare_with_file`.

    Attributes:
        reason: why it is not deformed by us, a sentence for the panel.
        parts: what has changed since the modifier was made, by the names that riggers know.
        waits: whether something was left for later.
        misfit: where followed modifiers make another number of vertices: the frame, and how many
            more.
        is_installable: whether our modifier can be in the stack.
    """

    state: State
    reason: str | None = None
    parts: tuple[str, ...] = ()
    waits: bool = False
    misfit: tuple[float, int] | None = None
    is_installable: bool = True


def compare_with_file(
    skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph, binding: Binding | None = None
) -> Comparison:
    """Find the state of an enabled object. Changes nothing.

    Args:
        binding: of the object as it is now; without it, vertices and weights are taken on trust.
    """
    if reason := deformation_refusal(skinned):
        return Comparison(State.BLOCKED, reason)
    obj, ours, before = skinned.obj, skinned.ours, skinned.before_enable
    # What is linked, or has a linked mesh, can only be shown as it is.
    is_linked, is_shown_only = obj.library is not None, skinned.has_linked_mesh
    if reason := None if is_linked or is_shown_only else installation_refusal(skinned):
        return Comparison(State.BLOCKED, reason, is_installable=False)
    if ours is None and before.replaced_modifier and not before.parted:
        reason = (
            f"{obj.name} has lost its modifier DQ Compensation: it was applied or removed. If you "
            "have applied it, undo that. Press Refresh to add it again, or Disable to go back to "
            "the Armature modifier."
        )
        return Comparison(State.MISSING, reason)
    if is_linked:
        return Comparison(State.CURRENT)
    parts: tuple[str, ...] = ()
    if ours is not None and is_shown_only:
        parts = changed_parts_of_linked_mesh(skinned, Settings.of(obj))
    elif ours is not None:
        parts = changed_parts(skinned, Settings.of(obj), binding)
    if parts or ours is None or not before.replaced_modifier:
        return Comparison(State.OUT_OF_DATE, parts=parts)
    return _fit(skinned, depsgraph)


def _fit(skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph) -> Comparison:
    """Whether the vertices are as many as the modifier was made for."""
    difference = vertex_count_difference(skinned, depsgraph)
    if not difference:
        return Comparison(State.CURRENT)
    misfit = (depsgraph.scene.frame_current_final, difference)
    if status_of(skinned.obj).misfit != misfit and followed_modifiers(skinned):
        # They are read once in this frame. The Armature modifier deforms a mesh that does not fit
        # even then.
        return Comparison(State.OUT_OF_DATE, parts=(_MISFIT,), misfit=misfit)
    return Comparison(State.WRONG_VERTEX_COUNT, misfit_problem(skinned))


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
    show_ours()
    status, skinned = status_of(obj), SkinnedObject(obj)
    if reason := origin_refusal(skinned):
        return _leave_alone(skinned, reason)
    # While bones have new names in Edit Mode, bones and groups disagree: it is shown at rest.
    rig = skinned.find_rig() if skinned.ours is not None else None
    rests = (
        rig is not None
        and rig.pose is not None
        and armature_of(rig).is_editmode
        and set(armature_of(rig).bones.keys()) != set(rig.pose.bones.keys())
    )
    waits = edited and (rests or (patient and _is_being_edited(obj)))
    deep = not rests and ((edited and not waits) or not status.compared)
    follow_armature(obj)
    try:
        if not (rests or waits):
            status.softness.is_old, status.softness.problem = False, None
            if keeps_soft_weights(skinned):
                follow_softness(skinned, edited=deep, at_once=at_once)
        reads = deep or not (rests or waits or not _has_character(obj))
        binding = current_binding(obj, depsgraph, edited=deep) if reads else None
        found = (
            Comparison(State.CURRENT) if rests else compare_with_file(skinned, depsgraph, binding)
        )
        status.compared |= deep
        if binding is not None and skinned.has_linked_mesh:
            status.newer = newer_parts_of_linked_mesh(skinned, Settings.of(obj), binding)
        binding, still_moving = _act_on(
            found, skinned, depsgraph, binding, read=deep, patient=patient
        )
    except BindingError as error:
        binding, found, still_moving = None, Comparison(State.BLOCKED, str(error)), False
    _follow_shown_override(skinned)
    is_written = found.state is State.OUT_OF_DATE and skinned.before_enable.base_left_on
    extra = [] if is_written else _hand_over_to_armature_modifier(skinned, found)
    status.problem = None if extra or found.reason is None else _with_meanwhile(found)
    if not rests:
        _rebind_if_needed(skinned, depsgraph, found, binding)
        if status.problem is None:
            begin_character(obj)
    rig = skinned.find_rig()
    status.pose_problem = broken_pose(rig) if rig is not None and status.problem is None else None
    status.notes, status.twists = find_notes(skinned) + extra, about_twists(obj)
    if obj.library is None and (skinned.before_enable.hidden or skinned.settings.display == "GPU"):
        follow_native_display(skinned)
    note_reconciled()
    _remember_state(skinned, binding, read=deep)
    status.waits = waits or still_moving
    return replace(found, waits=status.waits)


def _leave_alone(skinned: SkinnedObject, reason: str) -> Comparison:
    """Show why an object is left as another version of the add-on has saved it.

    The Armature modifier deforms one of a development build, but for linked ones, and one of this
    file whose modifier of a newer version reads what is linked: it follows another armature.
    """
    status = status_of(skinned.obj)
    is_linked = skinned.obj.library is not None or skinned.has_linked_mesh
    is_development = origin_of(skinned.obj) is Origin.DEVELOPMENT
    if not is_linked and (is_development or skinned.mesh.library is not None):
        leave_to_armature_modifier(skinned)
    status.problem, status.binding, status.notes = reason, None, []
    status.compared, status.waits = True, False
    note_reconciled()
    _remember_state(skinned, None, read=True)
    return Comparison(State.OF_ANOTHER_VERSION, reason)


def _with_meanwhile(found: Comparison) -> str:
    meanwhile = "" if found.is_installable else " Until then the Armature modifier deforms it."
    return f"{found.reason}{meanwhile}"


def _follow_shown_override(skinned: SkinnedObject) -> None:
    """Let the modifiers before ours, which are of an override's own file, act where ours acts."""
    if skinned.obj.library is None and skinned.obj.override_library is not None:
        show_where_ours_acts(skinned)


def _has_character(obj: bpy.types.Object) -> bool:
    """Whether an object has other meshes beside it, or was bound to some that have left."""
    known = memories(Binding).get(obj.session_uid)
    return bool(other_meshes(obj)) or (known is not None and known.whole is not None)


def _remember_state(skinned: SkinnedObject, binding: Binding | None, *, read: bool) -> None:
    """Remember the state of an object that is right, and of its armature.

    Args:
        binding: where it has just been bound.
        read: its mesh may be another one than at the last look.
    """
    obj, rig, status = skinned.obj, skinned.find_rig(), status_of(skinned.obj)
    status.key_values = key_values(obj)
    status.has_spread = Settings.of(obj).twist_spread > 0.0
    poses = memories(_LastPose)
    if rig is not None:
        remember_pose(rig)
    if rig is not None and rig.session_uid not in poses:
        _keeps_place(rig)
    if rig is not None and rig.data is not None and rig.data.session_uid not in poses:
        _keeps_rest(armature_of(rig), with_bones=True)
    known, mesh = status.signature
    if obj.type == "MESH" and (read or not mesh):
        mesh = mesh_signature(skinned.mesh, None if binding is None else binding.weights_of_mesh)
    signature = object_signature(obj)
    if signature != known or read:
        # Only an edit makes another answer.
        moves = obj.library is not None or not skinned.hangs_on_rig or _is_animated(obj)
        differs = bool(skinned.modifiers_before) and may_differ_in_frames(skinned)
        status.changes_with_frames = moves or differs
    status.signature = signature, mesh


def _act_on(
    found: Comparison,
    skinned: SkinnedObject,
    depsgraph: bpy.types.Depsgraph,
    binding: Binding | None,
    *,
    read: bool,
    patient: bool,
) -> tuple[Binding | None, bool]:
    """Bring an object up to date, but for its place while it is being moved.

    Args:
        binding: the one by which it was compared, if any.
        read: it was read anew for that.
        patient: leave the place for later while it changes.

    Returns:
        the binding, and whether the place was left.
    """
    # A method that does not compensate, and a linked mesh, pass a place at which others look.
    leaves = not read and binding is not None and _has_left(skinned, binding)
    moved = found.parts == (PLACE,) or (leaves and not found.parts)
    if patient and moved and _has_moved_since(skinned, "CHECK"):
        return binding, True
    if found.state is State.OUT_OF_DATE and not awaits_first(skinned):
        # What was bound without reading has the place and the vertices of an earlier moment.
        is_old = not read and (leaves or not {PLACE, _MISFIT}.isdisjoint(found.parts))
        binding = _bring_up_to_date(skinned, depsgraph, found, None if is_old else binding)
    elif leaves:
        binding = current_binding(skinned.obj, depsgraph, edited=True)
    return binding, False


def _has_left(skinned: SkinnedObject, binding: Binding) -> bool:
    """Whether an object has left the place at which other meshes of its character know it.

    Where all of them are plain skinning, none looks at it.
    """
    place, rig, others = binding.object_to_armature, skinned.rig, other_meshes(skinned.obj)
    meshes = map(SkinnedObject, (skinned.obj, *others))
    looks = any(each.settings.method not in _PLAIN for each in meshes)
    return bool(others) and looks and has_moved(place, skinned.obj, rig, binding.extent)


def _bring_up_to_date(
    skinned: SkinnedObject,
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
    obj, before = skinned.obj, skinned.before_enable
    if found.misfit is not None:
        status_of(obj).misfit = found.misfit
    ours = skinned.ours
    # Other names are other bones; without parts, nothing is known of what was written.
    may_differ = not found.parts or "bones" in found.parts
    renamed = ours is not None and may_differ and _follow_renamed_bones(ours)
    if binding is None and (PLACE in found.parts or _MISFIT in found.parts):
        discard_binding(obj)
    if binding is None or renamed:
        binding = current_binding(obj, depsgraph)
        if has_moved(binding.object_to_armature, obj, skinned.rig, binding.extent):
            # Methods that do not compensate do not look at the place.
            binding = current_binding(obj, depsgraph, edited=True)
    parts = found.parts
    if not before.replaced_modifier:
        show_surface(obj)  # that is not how the user had it
        parts = ()
    replace_armature_modifier(skinned, binding, parts)
    before.parted = False
    return binding


def _hand_over_to_armature_modifier(skinned: SkinnedObject, found: Comparison) -> list[str]:
    """Let the Armature modifier deform what we cannot deform; returns notes on renders."""
    obj = skinned.obj
    if obj.library is not None:
        return []
    if found.state is State.MISSING:
        remove(obj, BEFORE)
        # An applied one has left its deformation in the mesh: not another one on top.
        if not (skinned.before_enable.base_hidden and was_applied(skinned)):
            give_back(obj)
    elif found.state is not State.BLOCKED and skinned.ours is not None:
        show_armature_result(skinned, in_viewport=found.state is State.WRONG_VERTEX_COUNT)
    if found.state is not State.BLOCKED:
        return []
    # In Edit Mode the modifier stays as it was when it began.
    if obj.mode != "EDIT":
        put_armature_modifier_back(skinned)
    if skinned.settings.display == "GPU" and deformation_refusal(skinned) is None:
        return [f"Renders show the Armature modifier's result. {found.reason}"]
    return []


def _rebind_if_needed(
    skinned: SkinnedObject,
    depsgraph: bpy.types.Depsgraph,
    found: Comparison,
    binding: Binding | None,
) -> None:
    """Bind an object, unless it has just been bound, where drawing or examples need it."""
    obj, settings, status = skinned.obj, skinned.settings, status_of(skinned.obj)
    if len(settings.examples):  # a script may have added the first one
        with_examples.forget()
    drawn = needs_binding(obj, skinned.find_rig())
    try:
        if status.problem is not None and found.state is not State.WRONG_VERTEX_COUNT:
            status.binding = None
        elif binding or drawn or settings.overlay != "NONE" or has_examples(skinned):
            status.binding = binding or current_binding(obj, depsgraph)
            if drawn and status.binding.shape_keys is not None:
                # Modifiers that are followed cannot be evaluated while something is drawn.
                _ = status.binding.shape_keys.offsets
    except BindingError as error:
        status.binding, status.problem = None, str(error)


def has_examples(skinned: SkinnedObject) -> bool:
    """Whether an object is deformed by example, and has any."""
    settings = skinned.settings
    return settings.method == "SPHERICAL_JOINT_BY_EXAMPLE" and len(settings.examples) > 0


def follow_native_display(skinned: SkinnedObject) -> None:
    """Hide the native surface of an enabled object where we draw it, and only there."""
    if drawing_refusal() is None and is_drawn(skinned.obj):
        set_reasons(skinned.obj, hidden=True, hidden_from_camera=hidden_from_camera_rays())
    else:
        show_surface(skinned.obj)
