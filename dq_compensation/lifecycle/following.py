"""Calls `reconcile` when something has changed: after an evaluation, before the picture is drawn.

Blender evaluates a second time what handlers of `depsgraph_update_post` and `frame_change_post`
have written, without calling them again. What takes long waits while something is dragged or
painted: a timer looks again then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import compress

import bpy
import numpy as np

from ..modifier.arriving_shape import shape_keepers
from ..modifier.factor_driver import keep_factor
from ..modifier.installation import remove_unused
from ..modifier.own_trees import mark_edited
from ..modifier.palette_object import armature_of_palette, nodes_of_palette, own_palettes
from ..modifier.stack import our_modifier, surplus_vertices
from ..scene.attributes import read_property
from ..scene.modifiers_before import modifiers_before, used_data
from ..scene.object_settings import settings_of
from ..scene.own_objects import is_palette, keep_apart
from ..scene.setup import find_rig
from ..session.bindings import bindings
from ..session.enabled_objects import enabled_objects, forget
from ..session.gestures import is_playing
from ..session.new_data import forget_new
from ..session.status import (
    any_status,
    check_soon,
    fail,
    forget_statuses,
    is_drawn,
    keep_statuses,
    tag_redraw,
)
from .movement import is_changed_by_frame
from .native_display import restore, show_to_camera
from .posing import forget_poses, only_posed
from .reconcile import State, follow_native_display, reconcile
from .replacement import let_pass

# Seconds until what was moving is looked at again.
CHECK_AGAIN_AFTER = 0.3

# The types of data-blocks that a script may edit before a frame so that it concerns us; their
# objects come with them.
_EDITED_IN_FRAMES = ("MESH", "ARMATURE", "LATTICE", "CURVE", "NODETREE", "SCENE")
# The session_uid of every mesh that was edited since its objects were reconciled.
_edited: set[int] = set()
# Of every object that something was left for later for.
_waiting: set[int] = set()
# Of every mesh that we have just written: Blender reports that as an edit, too.
_written: set[int] = set()
# Of every object with modifiers before ours: they may make another number of vertices.
_may_misfit: set[int] = set()
# Whether an evaluation is being followed. Binding may ask for another one, which is not.
_is_following = False


@dataclass
class _Changes:
    """What has happened since the last evaluation, poses left out.

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


def follow(depsgraph: bpy.types.Depsgraph, *, patient: bool = True) -> None:
    """Reconcile every enabled object that an edit in an evaluation belongs to.

    What only follows a pose is left alone.

    Args:
        patient: see `reconcile`.
    """
    changes = _changes(depsgraph)
    if changes and not is_playing():
        # What plays needs no check: pose, keys and settings are read in every frame.
        check_soon()
    if changes.used:
        _note_followed(changes.used)
    _reconcile_named(changes, depsgraph, patient=patient)
    if changes:
        follow_modes()


def follow_frame(depsgraph: bpy.types.Depsgraph, *, playing: bool) -> None:
    """The same for a new frame, which changes no weights, no bones at rest and no mesh.

    What animation changes is read where it acts. So flags are looked at, and no contents: what a
    script has edited comes with flags that animation does not set.

    Args:
        playing: leave to the end of the playback what an animation can move or switch.
    """
    changes = _edits_in_frame(depsgraph, playing=playing)
    if playing:
        _let_pass(depsgraph)
    else:
        check_soon()
        changes.named.update(
            obj.session_uid for obj in enabled_objects() if is_changed_by_frame(obj)
        )
        if changes.used:
            _note_followed(changes.used)
    _reconcile_named(changes, depsgraph, patient=playing)
    if not playing:
        follow_modes()


def _edits_in_frame(depsgraph: bpy.types.Depsgraph, *, playing: bool) -> _Changes:
    """What a script has edited before a frame: see `posing` for the flags that tell."""
    changes, updates = _Changes(), depsgraph.updates
    if not any(map(depsgraph.id_type_updated, _EDITED_IN_FRAMES)):
        return changes
    flags = np.stack(
        [
            read_property(updates, f"is_updated_{flag}", np.bool_)
            for flag in ("geometry", "shading", "transform")
        ]
    )
    # What a script edits has all flags or, as what is renamed or linked anew, none.
    edited = flags.all(axis=0) | ~flags.any(axis=0)
    for update in compress(updates, edited) if edited.any() else ():
        if not only_posed(update, depsgraph):
            _note(update, changes, playing=playing)
    return changes


def _reconcile_named(changes: _Changes, depsgraph: bpy.types.Depsgraph, *, patient: bool) -> None:
    global _is_following
    if _is_following:
        return
    named, everything = changes.named, changes.everything
    if changes.trees:
        _mark_edited_trees()
    if not patient:
        named |= _waiting
    if everything or named:
        objects = [obj for obj in enabled_objects() if everything or named & set(_uids(obj))]
        _is_following = True
        try:
            _reconcile(objects, depsgraph, patient=patient)
        finally:
            _is_following = False


def _let_pass(depsgraph: bpy.types.Depsgraph) -> None:
    """While it plays, followed modifiers are not read again: what does not fit, passes."""
    for obj in enabled_objects() if _may_misfit else ():
        native = settings_of(obj).native
        if obj.session_uid in _may_misfit and not native.base_left_on:
            passing = surplus_vertices(obj, depsgraph) != 0
            if passing != native.passing:
                let_pass(obj, passing=passing)


def _changes(depsgraph: bpy.types.Depsgraph) -> _Changes:
    changes = _Changes()
    for update in depsgraph.updates:
        if not only_posed(update, depsgraph):
            _note(update, changes, playing=False)
    return changes


def _note(update: bpy.types.DepsgraphUpdate, changes: _Changes, *, playing: bool) -> None:
    changed = update.id.original
    # The objects that use it are evaluated again in every pose.
    if not isinstance(changed, bpy.types.Object):
        changes.used.add(changed.session_uid)
    match changed:
        case bpy.types.Mesh() if changed.session_uid not in _written:
            # Animated shape keys come without the shading flag; edits and sliders with it.
            if update.is_updated_shading:
                mesh_edited(changed.session_uid)
            if update.is_updated_shading or not playing:
                changes.named.add(changed.session_uid)
        case bpy.types.Object() if not playing:
            # A palette object stands for its own armature.
            rig = armature_of_palette(changed) if is_palette(changed) else changed
            changes.everything |= rig is None
            changes.named.add((rig or changed).session_uid)
        case bpy.types.Armature():
            changes.named.add(changed.session_uid)
        case bpy.types.NodeTree():
            changes.named.add(changed.session_uid)
            if "DQ Compensation" in changed.name and not _written:
                changes.trees = changes.everything = True
        case bpy.types.Scene():
            # Dependencies were sorted out anew: objects or modifiers have come or gone.
            changes.everything = True
            forget()


def _mark_edited_trees() -> None:
    modifiers = [our_modifier(obj) for obj in enabled_objects()]
    modifiers += [each for obj in enabled_objects() for each in shape_keepers(obj)]
    modifiers += [nodes_of_palette(palette) for palette in own_palettes()]
    trees = {nodes.node_group for nodes in modifiers if nodes is not None}
    mark_edited(tree for tree in trees if tree is not None and tree.library is None)


def check_all(depsgraph: bpy.types.Depsgraph, *, patient: bool = True) -> bool:
    """Reconcile every enabled object.

    Returns:
        whether one of them is still on the move and should be looked at again.
    """
    enabled = enabled_objects()
    uids = {obj.session_uid for obj in enabled}
    if keep_statuses(uids):
        remove_unused()
    bindings.keep_only(uids)
    keep_apart()
    _edited.intersection_update(obj.data.session_uid for obj in enabled if obj.data is not None)
    written, waits = _reconcile(enabled, depsgraph, patient=patient)
    flush(written)
    return waits


def check_now() -> float | None:
    """Reconcile every enabled object, redraw, and say after how many seconds to come again."""
    if not enabled_objects() and not any_status():
        return None
    waits = check_all(bpy.context.evaluated_depsgraph_get())
    tag_redraw()
    return CHECK_AGAIN_AFTER if waits else None


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


def mesh_edited(uid: int) -> None:
    """Note that a mesh has been edited: it is read again when its objects are reconciled."""
    _edited.add(uid)


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
                keep_factor(obj, ours)


def show_all_to_camera() -> None:
    """Let final renders see every enabled object."""
    for obj in enabled_objects():
        if obj.library is None:
            show_to_camera(obj)


def forget_all() -> None:
    """Forget everything about the file: another file is loaded."""
    forget_statuses()
    forget_new()
    bindings.clear()
    _edited.clear()
    _waiting.clear()
    _may_misfit.clear()
    forget_poses()
    forget()


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
    for obj in objects:
        uid = obj.data.session_uid if obj.data is not None else 0
        meshes.add(uid)
        try:
            found = reconcile(obj, depsgraph, edited=uid in _edited, patient=patient)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still reconciled
            fail(obj, error)
            continue
        if found.waits:
            waiting.add(uid)
            _waiting.add(obj.session_uid)
            continue
        _waiting.discard(obj.session_uid)
        _may_misfit.discard(obj.session_uid)
        if obj.library is None and modifiers_before(obj):
            _may_misfit.add(obj.session_uid)
        if found.state is State.OUT_OF_DATE:
            written.append(obj)
    _edited.difference_update(meshes - waiting)
    return written, bool(waiting)


def _note_followed(edited: set[int]) -> None:
    """Note the meshes behind followed modifiers that use something which was edited."""
    for obj in enabled_objects():
        if obj.data is not None and not edited.isdisjoint(
            used.session_uid for used in used_data(obj)
        ):
            mesh_edited(obj.data.session_uid)


def _uids(obj: bpy.types.Object) -> Iterator[int]:
    """The session_uid of every data-block that an object's deformation depends on."""
    rig = find_rig(obj)
    for data in (obj, obj.data, rig, rig.data if rig is not None else None, *used_data(obj)):
        if data is not None:
            yield data.session_uid
