"""Calls `reconcile` when something has changed: after an evaluation, before the picture is drawn.

Blender evaluates a second time what handlers of `depsgraph_update_post` and `frame_change_post`
have written, without calling them again. What takes long waits while something is dragged or
painted: a timer looks again then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

import bpy

from ..holding import operation
from ..modifier.copied_modifiers import leave_copied_alone
from ..modifier.installation import show_armature_result
from ..modifier.leftovers import remove_unused
from ..modifier.misfit import vertex_count_difference
from ..modifier.modifier_inputs import keep_values
from ..modifier.nodes.own_trees import mark_edited
from ..modifier.palette_object import armature_of_palette, nodes_of_palette, own_palettes
from ..modifier.plain_view import show_ours
from ..modifier.users_settings import set_reasons, show_surface
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import used_data
from ..scene.binding.soft_copy import keeps_soft_weights, softness_of
from ..scene.blender.own_objects import is_palette, keep_apart
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import is_enabled, settings_of
from ..scene.stack import find_rig, is_base_first, modifiers_with, stack_of
from ..session.changes import Changes, Update, forget_removed
from ..session.character import characters_of
from ..session.known_bindings import in_character
from ..session.known_objects import enabled_meshes, enabled_objects
from ..session.memory import keep_only, memories
from ..session.moved_keys import forget_values, moved_keys
from ..session.status import (
    Edits,
    Status,
    check_soon,
    compared,
    is_drawn,
    mesh_edited,
    status_of,
    tag_redraw,
)
from ..softness.softening import ReadSkins, softness_refusal, with_softness
from .following_softness import SOFTNESS_IS_OLD, unproved_objects, waiting_objects
from .moving import is_changed_by_frame
from .posing import only_posed
from .reconcile import Reconciled, follow_native_display, reconcile

# Seconds until what was moving is looked at again.
_CHECK_AGAIN_AFTER = 0.3

# The session_uid of every object that we have just written something for, and of its mesh: Blender
# reports that as an edit, too.
_written: set[int] = set()
# While bones or objects are dragged, the uids and flags of the meshes and hidden objects that were
# only posed; with other flags, or when anything else has happened, they are looked at again.
_posed: set[tuple[int, bool, bool, bool]] = set()
# Whether objects are being reconciled. Binding may ask for an evaluation, which is not followed.
_is_reconciling = False


@dataclass
class _Concerned:
    """Who may be concerned by what has changed, poses left out.

    Attributes:
        named: the session_uid of what may have been edited or moved.
        everything: whether all objects may be concerned.
        used: the session_uid of what modifiers that are followed may use.
        trees: whether our node trees may have been edited.
    """

    named: set[int] = field(default_factory=set)
    everything: bool = False
    used: set[int] = field(default_factory=set)
    trees: bool = False

    def __bool__(self) -> bool:
        return self.everything or bool(self.named or self.used)


def follow(changes: Changes, *, patient: bool) -> None:
    """Reconcile every enabled object that an edit in an evaluation belongs to.

    What only follows a pose, or a value of a shape key, is left alone.
    """
    moved = moved_keys(changes)
    if _written and all(map(_is_current, changes.enabled)):
        check_soon()
        return
    concerned = _concerned(changes, moved)
    is_any = bool(concerned)
    if moved or (is_any and not changes.is_playing):
        # What plays needs no check: pose, keys and settings are read in every frame.
        check_soon()
    _reconcile_concerned(concerned, changes, patient=patient)
    if is_any:
        follow_modes()


def follow_frame(changes: Changes) -> None:
    """The same for a new frame: what animation changes is read where it acts.

    While it plays, what an animation can move or switch is left to the end of the playback.
    """
    forget_values()
    concerned = _concerned(changes)
    if changes.is_playing:
        _let_pass(changes)
    else:
        check_soon()
        for obj in changes.enabled:
            status = status_of(obj)
            if status.waits or (status.changes_with_frames and is_changed_by_frame(obj)):
                concerned.named.add(obj.session_uid)
    if concerned:
        _reconcile_concerned(concerned, changes, patient=changes.is_playing)


def _reconcile_concerned(concerned: _Concerned, changes: Changes, *, patient: bool) -> None:
    if _is_reconciling:
        return
    # The meshes behind followed modifiers that use something which was edited.
    for skinned in map(SkinnedObject, changes.enabled if concerned.used else ()):
        used = used_data(skinned) if skinned.modifiers_before else ()
        uids = (each.session_uid for each in used)
        if skinned.obj.data is not None and not concerned.used.isdisjoint(uids):
            mesh_edited(skinned.mesh)
    if concerned.trees:
        _mark_edited_trees()
    if concerned.everything:
        _leave_copied_alone(changes)
    named, some = concerned.named, bool(concerned) or _is_any_left(changes, patient=patient)
    objects = [
        obj
        for obj in (changes.enabled if some else ())
        if not _is_current(obj)
        and (
            concerned.everything
            or (not patient and status_of(obj).waits)
            or (named and not named.isdisjoint(_uids(obj)))
            or (obj.session_uid in changes.uids and _is_unseen(obj))
        )
    ]
    if not (objects or concerned.everything):
        return
    forget_removed()
    reconcile_all(objects, changes.depsgraph, patient=patient)
    if concerned.everything:
        # A tool may duplicate and remove an object before any check. After an undo the objects
        # have taken their soft copies back by now.
        _forget_others({obj.session_uid for obj in bpy.data.objects})
    if forget_removed():
        # Blender forgets data-blocks that were removed here before other handlers run.
        flush(objects)


def _leave_copied_alone(changes: Changes) -> None:
    """Turn off what a tool has copied onto objects that are not enabled: their geometry is new.

    What is evaluated for the first time, as a file that was opened, Blender does not name.
    """
    for update in changes.updates:
        obj = update.data
        if update.geometry and isinstance(obj, bpy.types.Object) and obj.type == "MESH":
            leave_copied_alone(obj)


def _is_any_left(changes: Changes, *, patient: bool) -> bool:
    """Whether something waits, or an object that was evaluated may be unseen; asks no others."""
    if not patient and any(status.waits for status in memories(Status).values()):
        return True
    evaluated = (each.data for each in changes.updates if each[1:] not in _posed)
    return any(
        isinstance(data, bpy.types.Object) and is_enabled(data) and _is_unseen(data)
        for data in evaluated
    )


def _is_unseen(obj: bpy.types.Object) -> bool:
    """Whether an object was not reconciled since its file was opened, or since an undo."""
    status = status_of(obj)
    return not status.facts[0] and status.failure is None


def _is_current(obj: bpy.types.Object) -> bool:
    """Whether an object has just been reconciled, and needs no other look once it is evaluated.

    How many vertices followed modifiers make is only known then. An object that shares its mesh may
    have been written after it.
    """
    alone = obj.data is not None and obj.data.users < 2
    return obj.session_uid in _written and alone and not stack_of(obj).before


def _let_pass(changes: Changes) -> None:
    """While it plays, followed modifiers are not read again: a mesh that does not fit passes."""
    for obj in changes.enabled:
        if not status_of(obj).changes_with_frames:
            continue
        skinned = SkinnedObject(obj)
        before = skinned.before_enable
        if obj.library is None and skinned.modifiers_before and not before.base_left_on:
            differs = vertex_count_difference(skinned, changes.depsgraph) != 0
            if differs != before.passing:
                show_armature_result(skinned, in_viewport=differs)


def _concerned(changes: Changes, moved: frozenset[int] = frozenset()) -> _Concerned:
    found = _Concerned()
    in_playback = changes.is_frame and changes.is_playing
    if not changes.is_dragged:
        _posed.clear()
    for update in changes.edits:
        if update[1:] in _posed:
            continue
        if update.uid in moved:
            if isinstance(update.data, bpy.types.Mesh):
                mesh_edited(update.data)  # a script may have edited weights in the same step
        elif not only_posed(update, changes):
            _note(update, found, playing=in_playback)
        elif changes.is_dragged and _is_posed_by_flags(update.data):
            _posed.add(update[1:])
    if found:
        _posed.clear()
    return found


def _is_posed_by_flags(changed: bpy.types.ID) -> bool:
    """Whether what was only posed is so again wherever it comes with the same flags in a drag."""
    if not isinstance(changed, bpy.types.Object) or changed.type == "ARMATURE":
        return False
    # What is not enabled is hidden. Modifiers before ours may make other vertices in every pose.
    return not is_enabled(changed) or (is_base_first(changed) and not _is_unseen(changed))


def _note(update: Update, found: _Concerned, *, playing: bool) -> None:
    changed, uid = update.data, update.uid
    # The objects that use it are evaluated again in every pose.
    if not isinstance(changed, bpy.types.Object):
        found.used.add(uid)
    match changed:
        case bpy.types.Mesh() if uid not in _written:
            # Animated shape keys come without the shading flag; edits and sliders with it, but for
            # strokes since Blender 5.
            if edited := update.shading or _is_weight_painted(changed):
                mesh_edited(changed)
            if edited or not playing:
                found.named.add(uid)
        case bpy.types.Object() if not playing:
            # A palette object stands for its own armature.
            rig = armature_of_palette(changed) if is_palette(changed) else changed
            found.everything |= rig is None
            found.named.add((rig or changed).session_uid)
        case bpy.types.Armature():
            found.named.add(uid)
        case bpy.types.NodeTree():
            found.named.add(uid)
            if "DQ Compensation" in changed.name and not _written:
                found.trees = found.everything = True
        case bpy.types.Scene():
            # Dependencies were sorted out anew: objects or modifiers have come or gone.
            found.everything = True


def _is_weight_painted(mesh: bpy.types.Mesh) -> bool:
    """Whether the weights of a mesh are painted now."""
    obj = bpy.context.view_layer.objects.active
    return obj is not None and obj.mode == "WEIGHT_PAINT" and obj.data == mesh


def _mark_edited_trees() -> None:
    modifiers = [SkinnedObject(obj).ours for obj in enabled_objects()]
    modifiers += [
        each for obj in enabled_objects() for each in modifiers_with(obj, "SHAPE", "BACK")
    ]
    modifiers += [nodes_of_palette(palette) for palette in own_palettes()]
    trees = {nodes.node_group for nodes in modifiers if nodes is not None}
    mark_edited(tree for tree in trees if tree is not None and tree.library is None)


def _forget_others(uids: set[int]) -> None:
    """Forget all other objects than those with these session_uid, and remove what they needed."""
    if keep_only(Status, uids):
        remove_unused()
    keep_only(Binding, uids)
    keep_only(ReadSkins, uids)


@operation()
def check_all(depsgraph: bpy.types.Depsgraph, *, patient: bool = True) -> bool:
    """Reconcile every enabled object; returns whether one has to be looked at again."""
    enabled = enabled_objects()
    _forget_others({obj.session_uid for obj in enabled})
    keep_apart()
    keep_only(Edits, {obj.data.session_uid for obj in enabled if obj.data is not None})
    found = reconcile_all(enabled, depsgraph, patient=patient)
    flush(found.written)
    return bool(found.waiting)


def check_now() -> float | None:
    """Reconcile every enabled object, redraw, and say after how many seconds to come again."""
    if not enabled_objects() and not memories(Status):
        return None
    if compared:
        return _CHECK_AGAIN_AFTER
    waits = check_all(bpy.context.evaluated_depsgraph_get())
    if waiting_objects() or unproved_objects():
        for start in SOFTNESS_IS_OLD:
            start()
    tag_redraw()
    return _CHECK_AGAIN_AFTER if waits else None


def binding_with_current_softness(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None, *, follow: bool = True
) -> Binding:
    """`bind`, when the soft weights are right; those of an object that is not enabled are made."""
    original = cast("bpy.types.Object", obj.original)
    skinned = SkinnedObject(original)
    _settle([original])
    known = memories(Binding).get(original.session_uid)
    binding = in_character(original, bind(obj, depsgraph, known, follow=follow), depsgraph)
    if skinned.settings.is_enabled or softness_refusal(skinned):
        return binding
    return with_softness(original, binding, softness_of(skinned))


@operation()
def settle_all() -> None:
    """Wait for the right soft weights of all enabled objects."""
    _settle(enabled_objects())


def _settle(objects: list[bpy.types.Object]) -> None:
    softened = [obj for obj in objects if keeps_soft_weights(SkinnedObject(obj))]
    if local := [obj for obj in softened if obj.library is None]:
        reconcile_now(local, at_once=True)


@operation()
def reconcile_now(objects: Iterable[bpy.types.Object], **options: bool) -> list[bpy.types.Object]:
    """Bring objects and the others of their characters up to date: all is evaluated at the end.

    Args:
        options: of `reconcile`.

    Returns:
        those that something was written for.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    written = reconcile_all(objects, depsgraph, **options).written
    flush(written)
    return written


def flush(objects: list[bpy.types.Object]) -> None:
    """Let Blender evaluate our own changes, without taking them for edits by the user."""
    if not objects:
        return
    for obj in objects:
        _written.update(each.session_uid for each in (obj, obj.data) if each is not None)
    try:
        bpy.context.view_layer.update()
    finally:
        _written.clear()


def follow_modes() -> None:
    """Bring the native display of every enabled object in line with its mode."""
    for obj in enabled_objects():
        hidden = settings_of(obj).native.hidden
        if obj.library is None and (obj.mode != "OBJECT" if hidden else is_drawn(obj)):
            follow_native_display(SkinnedObject(obj))


def restore_all() -> None:
    """Put back the native display of every enabled object, and leave it right without us."""
    for obj in enabled_objects():
        if obj.library is None:
            skinned = SkinnedObject(obj)
            show_surface(obj)
            if (ours := skinned.ours) is not None:
                keep_values(skinned, ours)


def end_comparison() -> None:
    """Show objects that the user compares as they are again."""
    if compared:
        show_ours()
        follow_modes()


def show_all_to_camera() -> None:
    """Let final renders see every enabled object."""
    for obj in enabled_objects():
        if obj.library is None:
            set_reasons(obj, hidden_from_camera=False)


def reconcile_all(
    objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph, **options: bool
) -> Reconciled:
    """Reconcile the characters of objects, and others on their armatures that these were a part of.

    Args:
        objects: to look at; some may not be enabled any more.
        options: of `reconcile`.

    Returns:
        of all of them together.
    """
    global _is_reconciling
    named, found = dict.fromkeys(objects), Reconciled()
    enabled = (obj for obj in named if settings_of(obj).is_enabled)
    rigs = dict.fromkeys(filter(None, map(find_rig, named)))
    beside = (other for rig in rigs for other in enabled_meshes(rig))
    before, _is_reconciling = _is_reconciling, True
    try:
        for character in characters_of((*enabled, *beside)):
            done = reconcile(character, depsgraph, named, **options)
            found.written += done.written
            found.waiting |= done.waiting
    finally:
        _is_reconciling = before
    return found


def _uids(obj: bpy.types.Object) -> Iterator[int]:
    """The session_uid of every data-block that an object's deformation depends on."""
    skinned = SkinnedObject(obj)
    rig, used = skinned.find_rig(), used_data(skinned) if skinned.modifiers_before else ()
    for data in (obj, obj.data, rig, rig.data if rig is not None else None, *used):
        if data is not None:
            yield data.session_uid
