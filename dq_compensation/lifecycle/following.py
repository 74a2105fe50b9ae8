"""Calls `reconcile` when something has changed: after an evaluation, before the picture is drawn.

Blender evaluates a second time what handlers of `depsgraph_update_post` and `frame_change_post`
have written, without calling them again. What takes long waits while something is dragged or
painted: a timer looks again then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ..modifier.installation import remove_unused
from ..modifier.modifier_inputs import keep_values
from ..modifier.modifier_stack import our_modifier, surplus_vertices
from ..modifier.nodes.own_trees import mark_edited, shape_keepers
from ..modifier.palette_object import armature_of_palette, nodes_of_palette, own_palettes
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.content import keeps_soft_weights, modifiers_before, softness_of, used_data
from ..scene.blender.armature import bendy_state
from ..scene.blender.mesh import read_properties
from ..scene.blender.own_objects import is_hidden, is_palette, keep_apart
from ..scene.blender.rigging import broken_pose, find_rig
from ..scene.settings.object_settings import settings_of
from ..session.changes import Changes, Update
from ..session.known_objects import enabled_objects
from ..session.memory import keep_only, memories, memory_of
from ..session.status import Status, check_soon, fail, is_drawn, status_of, tag_redraw
from ..softness.softening import softness_refusal, with_softness
from .following_softness import SOFTNESS_IS_OLD, waiting_objects
from .reconcile import State, follow_native_display, is_changed_by_frame, reconcile
from .replacement import let_pass, restore, show_to_camera

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


_EDITED_OUTSIDE_OF_EDIT_MODE = (
    ("matrix_local", np.float32, (16,)),  # by `Armature.transform`
    ("use_deform", np.bool_, ()),
    ("use_envelope_multiply", np.bool_, ()),
)


@dataclass
class _LastPose:
    """The state of an armature, or of its object, in the last evaluation."""

    names: tuple[str, ...] = ()
    rest: tuple[object, ...] = ()
    place: Matrix | None = None
    broken: str | None = None


def only_posed(update: Update, changes: Changes) -> bool:
    """Whether nothing has happened to a data-block but a pose that needs no other look at it."""
    changed = update.data
    if isinstance(changed, bpy.types.Armature):
        with_bones = update.geometry
        driven = changes.is_frame and not with_bones and not _may_be_renamed(changes)
        return driven or _keeps_rest(changed, with_bones=with_bones)
    if not (update.geometry and isinstance(changed, bpy.types.Object)):
        return False
    if changed.type == "ARMATURE":
        # Also when it is animated: we read no settings of its own.
        return _keeps_place(changed)
    if update.transform or update.shading:
        return False
    if is_hidden(changed):
        rig = armature_of_palette(changed) if is_palette(changed) else find_rig(changed)
        return rig is not None and rig.session_uid in changes.uids
    # Modifiers before ours may make other vertices in every pose.
    chosen = settings_of(changed)
    fits = not (chosen.native.passing or surplus_vertices(changed, changes.depsgraph))
    return chosen.is_enabled and fits


def _may_be_renamed(changes: Changes) -> bool:
    """Whether bones may have been renamed before a frame, not only moved by drivers."""
    # While it plays, a renamed bone comes as an edit of its own, too.
    return not changes.is_playing and changes.depsgraph.id_type_updated("MESH")


def _keeps_place(rig: bpy.types.Object) -> bool:
    """Whether an armature object is where it was, and its pose as sound."""
    known, place, broken = memory_of(rig, _LastPose), rig.matrix_world.copy(), broken_pose(rig)
    same = (known.place, known.broken) == (place, broken)
    known.place, known.broken = place, broken
    return same


def _keeps_rest(armature: bpy.types.Armature, *, with_bones: bool) -> bool:
    known, names = memory_of(armature, _LastPose), tuple(armature.bones.keys())
    same, known.names = known.names == names, names
    if with_bones:
        rest = _rest(armature, names)
        same, known.rest = same and known.rest == rest, rest
    return same


def _rest(armature: bpy.types.Armature, names: tuple[str, ...]) -> tuple[object, ...]:
    bones = armature.bones
    read = [each.tobytes() for each in read_properties(bones, _EDITED_OUTSIDE_OF_EDIT_MODE)]
    return (
        *read,
        *bendy_state(bones, dict(zip(names, names, strict=True))),
        armature.pose_position,
        armature.is_editmode,
    )


# Calls `reconcile` when something has changed: after an evaluation, before the picture is drawn.


# Seconds until what was moving is looked at again.
CHECK_AGAIN_AFTER = 0.3

# The session_uid of every mesh that we have just written: Blender reports that as an edit, too.
_written: set[int] = set()
# Whether an evaluation is being followed. Binding may ask for another one, which is not.
_is_following = False


class _Edited:
    """Marks a mesh that was edited since its objects were reconciled."""


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

    What only follows a pose is left alone.
    """
    concerned = _concerned(changes)
    if concerned and not changes.is_playing:
        # What plays needs no check: pose, keys and settings are read in every frame.
        check_soon()
    _reconcile_concerned(concerned, changes, patient=patient)
    if concerned:
        follow_modes()


def follow_frame(changes: Changes) -> None:
    """The same for a new frame: what animation changes is read where it acts.

    While it plays, what an animation can move or switch is left to the end of the playback.
    """
    concerned = _concerned(changes)
    if changes.is_playing:
        _let_pass(changes)
    else:
        check_soon()
        for obj in changes.enabled:
            if status_of(obj).changes_with_frames and is_changed_by_frame(obj):
                concerned.named.add(obj.session_uid)
    _reconcile_concerned(concerned, changes, patient=changes.is_playing)


def _reconcile_concerned(concerned: _Concerned, changes: Changes, *, patient: bool) -> None:
    global _is_following
    if _is_following:
        return
    # The meshes behind followed modifiers that use something which was edited.
    for obj in changes.enabled if concerned.used else ():
        used = (each.session_uid for each in used_data(obj))
        if obj.data is not None and not concerned.used.isdisjoint(used):
            mesh_edited(obj.data)
    if concerned.trees:
        _mark_edited_trees()
    named = concerned.named
    objects = [
        obj
        for obj in changes.enabled
        if concerned.everything
        or (not patient and status_of(obj).waits)
        or (named and not named.isdisjoint(_uids(obj)))
    ]
    _is_following = True
    try:
        _reconcile(objects, changes.depsgraph, patient=patient)
    finally:
        _is_following = False


def _let_pass(changes: Changes) -> None:
    """While it plays, followed modifiers are not read again: a mesh that does not fit passes."""
    for obj in changes.enabled:
        if not status_of(obj).changes_with_frames:
            continue
        native = settings_of(obj).native
        if obj.library is None and modifiers_before(obj) and not native.base_left_on:
            passing = surplus_vertices(obj, changes.depsgraph) != 0
            if passing != native.passing:
                let_pass(obj, passing=passing)


def _concerned(changes: Changes) -> _Concerned:
    found = _Concerned()
    in_playback = changes.is_frame and changes.is_playing
    for update in changes.updates:
        if not only_posed(update, changes):
            _note(update, found, playing=in_playback)
    return found


def _note(update: Update, found: _Concerned, *, playing: bool) -> None:
    changed, uid = update.data, update.uid
    # The objects that use it are evaluated again in every pose.
    if not isinstance(changed, bpy.types.Object):
        found.used.add(uid)
    match changed:
        case bpy.types.Mesh() if uid not in _written:
            # Animated shape keys come without the shading flag; edits and sliders with it.
            if update.shading:
                mesh_edited(changed)
            if update.shading or not playing:
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


def _mark_edited_trees() -> None:
    modifiers = [our_modifier(obj) for obj in enabled_objects()]
    modifiers += [each for obj in enabled_objects() for each in shape_keepers(obj)]
    modifiers += [nodes_of_palette(palette) for palette in own_palettes()]
    trees = {nodes.node_group for nodes in modifiers if nodes is not None}
    mark_edited(tree for tree in trees if tree is not None and tree.library is None)


def check_all(depsgraph: bpy.types.Depsgraph, *, patient: bool = True) -> bool:
    """Reconcile every enabled object; returns whether one has to be looked at again."""
    enabled = enabled_objects()
    uids = {obj.session_uid for obj in enabled}
    if keep_only(Status, uids):
        remove_unused()
    keep_only(Binding, uids)
    keep_apart()
    keep_only(_Edited, {obj.data.session_uid for obj in enabled if obj.data is not None})
    written, waits = _reconcile(enabled, depsgraph, patient=patient)
    flush(written)
    return waits


def check_now() -> float | None:
    """Reconcile every enabled object, redraw, and say after how many seconds to come again."""
    if not enabled_objects() and not memories(Status):
        return None
    waits = check_all(bpy.context.evaluated_depsgraph_get())
    if waiting_objects():
        for start in SOFTNESS_IS_OLD:
            start()
    tag_redraw()
    return CHECK_AGAIN_AFTER if waits else None


def settled_binding(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None, *, follow: bool = True
) -> Binding:
    """`bind`, when the soft weights are right; those of an object that is not enabled are made."""
    original = cast("bpy.types.Object", obj.original)
    _settle(original)
    binding = bind(obj, depsgraph, follow=follow)
    if settings_of(original).is_enabled or softness_refusal(original):
        return binding
    return with_softness(original, binding, softness_of(original))


def settle_all() -> None:
    """Wait for the right soft weights of all enabled objects."""
    for obj in enabled_objects():
        _settle(obj)


def _settle(obj: bpy.types.Object) -> None:
    if keeps_soft_weights(obj) and obj.library is None:
        depsgraph = bpy.context.evaluated_depsgraph_get()
        if reconcile(obj, depsgraph, at_once=True).state is State.OUT_OF_DATE:
            flush([obj])


def reconcile_now(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, **options: bool) -> None:
    """`reconcile` for operators: Blender has evaluated the changes when this returns."""
    if reconcile(obj, depsgraph, **options).state is State.OUT_OF_DATE:
        flush([obj])


def flush(objects: list[bpy.types.Object]) -> None:
    """Let Blender evaluate our own changes, without taking them for edits by the user."""
    if not objects:
        return
    _written.update(obj.data.session_uid for obj in objects if obj.data is not None)
    try:
        bpy.context.view_layer.update()
    finally:
        _written.clear()


def mesh_edited(mesh: bpy.types.ID) -> None:
    """Note that a mesh has been edited: it is read again when its objects are reconciled."""
    memory_of(mesh, _Edited)


def follow_modes() -> None:
    """Bring the native display of every enabled object in line with its mode."""
    for obj in enabled_objects():
        hidden = settings_of(obj).native.hidden
        if obj.library is None and (obj.mode != "OBJECT" if hidden else is_drawn(obj)):
            follow_native_display(obj)


def restore_all() -> None:
    """Put back the native display of every enabled object, and leave it right without us."""
    for obj in enabled_objects():
        if obj.library is None:
            restore(obj)
            if (ours := our_modifier(obj)) is not None:
                keep_values(obj, ours)


def show_all_to_camera() -> None:
    """Let final renders see every enabled object."""
    for obj in enabled_objects():
        if obj.library is None:
            show_to_camera(obj)


def _reconcile(
    objects: list[bpy.types.Object], depsgraph: bpy.types.Depsgraph, *, patient: bool
) -> tuple[list[bpy.types.Object], bool]:
    """Reconcile objects; an error of one does not stop the others.

    Returns:
        those that something was written for, and whether something was left for later.
    """
    written: list[bpy.types.Object] = []
    meshes: set[int] = set()
    waiting: set[int] = set()
    edited = memories(_Edited)
    for obj in objects:
        uid = obj.data.session_uid if obj.data is not None else 0
        meshes.add(uid)
        try:
            found = reconcile(obj, depsgraph, edited=uid in edited, patient=patient)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still reconciled
            fail(obj, error)
            continue
        if found.waits:
            waiting.add(uid)
        elif found.state is State.OUT_OF_DATE:
            written.append(obj)
    for uid in edited.keys() & (meshes - waiting):
        del edited[uid]
    return written, bool(waiting)


def _uids(obj: bpy.types.Object) -> Iterator[int]:
    """The session_uid of every data-block that an object's deformation depends on."""
    rig = find_rig(obj)
    for data in (obj, obj.data, rig, rig.data if rig is not None else None, *used_data(obj)):
        if data is not None:
            yield data.session_uid
