"""Keeps characters up to date: `reconcile` looks at their enabled meshes, and writes what differs.

An enabled object is deformed by a node modifier right after its Armature modifier, which stays on
as the base that ours adds to, or is hidden. Ours reads attributes of the mesh (weights, joints),
the posed bones from the *palette* object, and a few inputs. All of that was written once, for the
mesh, weights, bones and settings of one moment, and Blender does not tell it when one of them
changes. So:

- What it was made for is kept in the file as digests, one for each part (`written_record`).
- `compare_with_file` compares them with what there is now. The structure (names, counts, bones,
  settings, the modifier's own parts) is found every time, in a fraction of a millisecond. The
  content (vertices, weights) has to be read: only where Blender has reported an edit of the mesh,
  and once in every session; else it is as remembered (`session.known_bindings`).
- `reconcile` acts on what it finds. OUT_OF_DATE: it writes what differs. BLOCKED: it gives the
  object back to the Armature modifier until the reason is gone. WRONG_VERTEX_COUNT: a modifier
  before ours adds vertices, so ours lets the mesh pass and the Armature modifier is shown. MISSING:
  the user has applied or removed our modifier; only *Refresh* adds it again. What is left of ours
  stays, where it gives what was seen. Then it hides or shows Blender's own surface, for the GPU
  display. What another version of the add-on has made is not compared: it is left alone, and that
  of a development build is turned off.
- `lifecycle.following` calls it when Blender has evaluated an edit, before the picture is drawn.

The panel, Setup Check, Refresh and the drawing all read what it leaves in `session.status`.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

import bpy

from ..core.deform import RULES
from ..errors import BindingError
from ..modifier.installation import (
    has_applied_deformation,
    installation_refusal,
    leave_to_armature_modifier,
    put_armature_modifier_back,
    replace_armature_modifier,
    show_armature_result,
)
from ..modifier.misfit import misfit_problem, vertex_count_difference
from ..modifier.modifier_inputs import get_input
from ..modifier.our_modifiers import remove, show_where_ours_acts
from ..modifier.palette_object import armature_of_palette, remember_names, renamed_bones
from ..modifier.parts import Seen
from ..modifier.plain_view import show_ours
from ..modifier.users_settings import give_back, set_reasons, show_surface
from ..modifier.written_record import (
    PLACE,
    Origin,
    changed_parts,
    changed_parts_of_linked_mesh,
    origin_of,
    origin_refusal,
    partly_applied,
)
from ..scene.binding.binding import Binding
from ..scene.binding.edited_facts import facts_of_object, facts_with_keys
from ..scene.binding.facts import STATE_PROPERTY
from ..scene.binding.modifiers_before import may_differ_in_frames
from ..scene.binding.soft_copy import keeps_soft_weights
from ..scene.blender.armature import armature_of
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import record_in
from ..scene.blender.placement import has_moved
from ..scene.blender.rigging import broken_pose, deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.kept_weights import rename_kept
from ..scene.settings.object_settings import Settings, rename_bones
from ..scene.stack import BEFORE, find_rig
from ..session.changes import writing_settings
from ..session.character import Character
from ..session.known_bindings import read, read_if_old, skin_for
from ..session.known_objects import with_examples
from ..session.memory import memories
from ..session.status import (
    check_soon,
    edits_of,
    fail,
    is_drawn,
    needs_binding,
    note_reconciled,
    status_of,
)
from ..viewport.camera_rays import hidden_from_camera_rays
from ..viewport.gpu_objects import drawing_refusal
from .character_settings import begin_character, follow_armature
from .following_softness import (
    awaits_first,
    follow_softness,
    is_unproved,
    show_dragged_softness,
    soften_now,
)
from .moving import has_moved_since, is_being_edited, is_object_animated, key_values
from .notes import about_twists, find_notes
from .posing import remember_armature

# The methods that find no limbs and no joints on the skin.
_PLAIN = frozenset(method for method, rules in RULES.items() if rules.needs is None)


class State(Enum):
    """The states of an enabled object."""

    CURRENT = auto()
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
        is_installable: whether our modifier can be in the stack.
    """

    state: State
    reason: str | None = None
    parts: tuple[str, ...] = ()
    is_installable: bool = True


def compare_with_file(
    skinned: SkinnedObject,
    depsgraph: bpy.types.Depsgraph,
    binding: Binding | None = None,
    *,
    is_just_bound: bool = False,
) -> Comparison:
    """Find the state of an enabled object. Changes nothing.

    Args:
        binding: of the object as it is now; without it, vertices and weights are taken on trust.
        is_just_bound: it was read just now, so the object can be deformed.
    """
    seen = Seen.of(skinned)
    if seen is not None and (reason := partly_applied(seen)):
        return Comparison(State.MISSING, reason)
    if not is_just_bound and (reason := deformation_refusal(skinned)):
        return Comparison(State.BLOCKED, reason)
    obj, before = skinned.obj, skinned.before_enable
    # What is linked, or has a linked mesh, can only be shown as it is.
    is_linked, is_shown_only = obj.library is not None, skinned.has_linked_mesh
    if reason := None if is_linked or is_shown_only else installation_refusal(skinned):
        return Comparison(State.BLOCKED, reason, is_installable=False)
    if seen is None and before.replaced_modifier and not before.parted:
        reason = (
            f"{obj.name} has lost its modifier DQ Compensation: it was applied or removed. If you "
            "have applied it, undo that. Press Refresh to add it again, or Disable to go back to "
            "the Armature modifier."
        )
        return Comparison(State.MISSING, reason)
    parts: tuple[str, ...] = ()
    if seen is not None and is_shown_only and not is_linked:
        parts = changed_parts_of_linked_mesh(seen, Settings.of(obj))
    elif seen is not None and not is_linked:
        parts = changed_parts(seen, Settings.of(obj), binding)
    if not is_linked and (parts or seen is None or not before.replaced_modifier):
        return Comparison(State.OUT_OF_DATE, parts=parts)
    fits = is_linked or not vertex_count_difference(skinned, depsgraph)
    state = State.CURRENT if fits else State.WRONG_VERTEX_COUNT
    return Comparison(state, None if fits else misfit_problem(skinned))


@dataclass
class Reconciled:
    """What `reconcile` has done for the meshes of a character.

    Attributes:
        written: those that something was written for.
        waiting: those of which something was left for later.
    """

    written: list[bpy.types.Object] = field(default_factory=list)
    waiting: set[bpy.types.Object] = field(default_factory=set)


def reconcile(
    character: Character,
    depsgraph: bpy.types.Depsgraph,
    named: Collection[bpy.types.Object],
    *,
    patient: bool = False,
    at_once: bool = bpy.app.background,
) -> Reconciled:
    """Bring node modifiers, the status and the native display of a character's meshes up to date.

    Edits of meshes have been noted (`session.status.mesh_edited`). An error of one mesh does not
    stop the others.

    Args:
        named: the meshes that are to be looked at; the others follow what these change for them.
        patient: while something of a mesh is dragged or painted, leave what takes long for later.
        at_once: compute soft weights now, if they are old.
    """
    show_ours()
    every = [_Look(mesh, character, depsgraph) for mesh in character.meshes]
    looks = [look for look in every if look.mesh.obj in named and look.begin(patient=patient)]
    _soften(looks, every, at_once=at_once)
    _read(looks, patient=patient)
    behind = _join(character, looks, every)
    for look in (*looks, *behind):
        look.bring_up_to_date()
        show_dragged_softness(look.mesh)
    if character.armature is not None:
        remember_armature(character.armature)
    note_reconciled()
    written = [look.mesh.obj for look in every if look.is_written]
    return Reconciled(written, {look.mesh.obj for look in every if look.waits})


def _soften(looks: list[_Look], every: list[_Look], *, at_once: bool) -> None:
    """Follow what soft weights are made from; those of a character are computed together."""
    known = [look for look in every if not (look.is_unread or origin_refusal(look.mesh))]
    # A mesh may be named that has left the character: those of the others are made without it.
    looks = [look for look in looks if not look.waits] if looks else known
    for look in looks:
        if look.is_unread:
            look.status.softness.content = None
    for look in looks:
        look.follow_softness()
    unproved = {look.mesh.obj for look in looks if is_unproved(look.mesh.obj)} if at_once else set()
    if not unproved and not any(look.status.softness.older_than for look in looks):
        return
    # Those of the others are old with them.
    beside = [look for look in known if look not in looks]
    for look in beside:
        look.follow_softness()
    looks += beside
    if not at_once:
        check_soon()
        return
    for look in looks:
        if look.status.softness.older_than or (
            look.mesh.obj in unproved and is_unproved(look.mesh.obj)
        ):
            with look.keeps_errors():
                soften_now(look.mesh.obj)


def _read(looks: list[_Look], *, patient: bool) -> None:
    """Read what was edited or has left its place; the rest is as remembered."""
    for look in looks:
        look.read(patient=patient)
    if any(look.follows_renamed_bones() for look in looks):
        _read(looks, patient=patient)


def _join(character: Character, looks: list[_Look], every: list[_Look]) -> list[_Look]:
    """Join the skins of all meshes; returns those besides for which it is another one now."""
    others, behind = [look for look in every if look not in looks], list[_Look]()
    one = next((look.binding for look in looks if look.binding is not None), None)
    for look in others:
        with look.keeps_errors():
            look.binding = read_if_old(look.mesh, one, look.depsgraph)
    bound = {look.mesh.obj: look.binding for look in (*looks, *others) if look.binding is not None}
    try:
        skin = character.skin_of(bound)
    except Exception as error:  # noqa: BLE001 - of all of them
        for look in looks:
            look.fail(error)
        return behind
    for look in every:
        if look.binding is not None:
            with look.keeps_errors():
                look.bind(look.binding.in_character(skin_for(look.mesh, skin)))
                is_behind = look in others and look.binding is not look.known
                if is_behind and not (origin_refusal(look.mesh) or look.rests):
                    behind.append(look)
    return behind


class _Look:
    """What is found of a mesh while its character is reconciled.

    Attributes:
        known: its binding as it was remembered.
        is_unread: whether it was edited since it was read, or was not read in this session.
        waits: whether something is left for later.
        is_written: whether something was written for it.
        binding: as it is now; None where it cannot be bound.
    """

    def __init__(
        self, mesh: SkinnedObject, character: Character, depsgraph: bpy.types.Depsgraph
    ) -> None:
        self.mesh, self.character, self.depsgraph = mesh, character, depsgraph
        self.status = status_of(mesh.obj)
        self.known = memories(Binding).get(mesh.obj.session_uid)
        self.is_unread = self.status.edits_read != edits_of(mesh.obj)
        self.waits = self.is_written = False
        self.binding: Binding | None = None
        self._is_read = self._is_bound = self._has_failed = False
        # Whether it was found where its binding has it.
        self._is_in_place = False
        # Why it cannot be bound, a sentence.
        self._problem: str | None = None

    @contextmanager
    def keeps_errors(self) -> Generator[None]:
        """Keep the errors of the block from the other meshes."""
        try:
            yield
        except BindingError as error:
            self._problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are reconciled
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Leave the mesh alone after an error; the panel says so."""
        fail(self.mesh.obj, error)
        self._has_failed = True

    @property
    def rests(self) -> bool:
        """Whether it is shown at rest: bones have new names in Edit Mode, groups have not."""
        rig = self.character.armature
        if rig is None or rig.pose is None or not armature_of(rig).is_editmode:
            return False
        renamed = set(armature_of(rig).bones.keys()) != set(rig.pose.bones.keys())
        return renamed and self.mesh.ours is not None

    def begin(self, *, patient: bool) -> bool:
        """Whether it is looked at now; what is being edited of it waits."""
        with self.keeps_errors():
            if reason := origin_refusal(self.mesh):
                self._leave_alone(reason)
                return False
            rests, is_edited = self.rests, self.is_unread and self.status.edits_read is not None
            if is_edited and (rests or (patient and is_being_edited(self.mesh.obj))):
                self.waits = self.status.waits = True
            if not rests:
                follow_armature(self.mesh.obj)
            return not rests
        return False

    def _leave_alone(self, reason: str) -> None:
        """Show why it is left as another version of the add-on has saved it.

        The Armature modifier deforms one of a development build, but for linked ones, and one of
        this file whose modifier of a newer version reads what is linked: it follows another
        armature.
        """
        mesh, status = self.mesh, self.status
        is_linked = mesh.obj.library is not None or mesh.has_linked_mesh
        is_development = origin_of(mesh.obj) is Origin.DEVELOPMENT
        if not is_linked and (is_development or mesh.mesh.library is not None):
            leave_to_armature_modifier(mesh)
        status.problem, status.binding, status.notes = reason, None, []
        self._note_read()
        self._remember()

    def _note_read(self) -> None:
        self.status.edits_read = edits_of(self.mesh.obj)
        self._is_read = True

    def follow_softness(self) -> None:
        """Look whether its soft weights are old."""
        self.status.softness.older_than, self.status.softness.problem = (), None
        with self.keeps_errors():
            if keeps_soft_weights(self.mesh):
                follow_softness(self.mesh, edited=self.is_unread)

    def read(self, *, patient: bool) -> None:
        """Read it, or take what is remembered of it."""
        with self.keeps_errors():
            anew = self.is_unread and not (self.waits or self._is_read)
            if not anew and self.known is not None:
                anew = self._misfits() or (not self.waits and self._has_left(patient=patient))
            if anew:
                self._note_read()
            self.binding = read(self.mesh, self.depsgraph, anew=anew)
            self._is_bound = anew

    def _misfits(self) -> bool:
        """Whether followed modifiers make another number of vertices; said once in a frame."""
        difference = vertex_count_difference(self.mesh, self.depsgraph)
        misfit = (self.depsgraph.scene.frame_current_final, difference)
        if not difference or self.status.misfit == misfit:
            return False
        self.status.misfit = misfit
        return True

    def _has_left(self, *, patient: bool) -> bool:
        """Whether it has left the place by its armature at which it was read; it waits there.

        Where all of a character are plain skinning, none looks at it.
        """
        meshes, known = self.character.meshes, self.known
        looks = Settings.of(self.mesh.obj).compensates
        if len(meshes) > 1:
            looks = any(each.settings.method not in _PLAIN for each in meshes)
        if not looks or known is None or not self._is_elsewhere(known):
            return False
        self.waits = patient and has_moved_since(self.mesh, "CHECK")
        return not self.waits

    def _is_elsewhere(self, binding: Binding) -> bool:
        rig, obj = self.character.armature, self.mesh.obj
        if rig is None or self._is_in_place:
            return False
        self._is_in_place = not has_moved(binding.object_to_armature, obj, rig, binding.extent)
        return not self._is_in_place

    def follows_renamed_bones(self) -> bool:
        """Let settings follow bones with other names than those for which it was written."""
        ours = self.mesh.ours
        if ours is None or self.binding is None:
            return False
        written = record_in(self.mesh.obj, STATE_PROPERTY).get("bones")
        return written != self.binding.structure["bones"] and _follow_renamed_bones(ours)

    def bind(self, binding: Binding) -> None:
        """Take a binding, and remember it."""
        self.binding = memories(Binding)[self.mesh.obj.session_uid] = binding

    def bring_up_to_date(self) -> None:
        """Compare it with what its modifier was made for, write what differs, and show it."""
        if self._has_failed:
            return
        with self.keeps_errors():
            try:
                found = self._compare_and_write()
            except BindingError as error:
                found = Comparison(State.BLOCKED, str(error))
            self._show(found)
            self._remember()

    def _compare_and_write(self) -> Comparison:
        mesh, binding, before = self.mesh, self.binding, self.mesh.before_enable
        if binding is None or self._problem is not None:
            seen = Seen.of(mesh)
            if seen is not None and (reason := partly_applied(seen)):
                return Comparison(State.MISSING, reason)
            raise BindingError(self._problem)
        found = compare_with_file(mesh, self.depsgraph, binding, is_just_bound=self._is_bound)
        if mesh.has_linked_mesh and (seen := Seen.of(mesh)) is not None:
            self.status.changed = changed_parts(seen, Settings.of(mesh.obj), binding)
        is_moving = self.waits and found.parts == (PLACE,)
        if found.state is not State.OUT_OF_DATE or is_moving or awaits_first(mesh):
            return found
        if not (self.waits or self._is_read) and self._is_elsewhere(binding):
            # Methods that do not compensate do not look at the place.
            binding = read(mesh, self.depsgraph, anew=True).in_character(binding.whole)
            self.bind(binding)
        parts = found.parts
        if not before.replaced_modifier:
            show_surface(mesh.obj)  # that is not how the user had it
            parts = ()
        replace_armature_modifier(mesh, binding, parts)
        before.parted = False
        self.is_written = True
        return found

    def _show(self, found: Comparison) -> None:
        """Let the Armature modifier act where ours does not; status, notes, the native display."""
        mesh, obj, status, settings = self.mesh, self.mesh.obj, self.status, self.mesh.settings
        if obj.library is None and obj.override_library is not None:
            # Those before ours are of its own file, and stay.
            show_where_ours_acts(mesh)
        is_written = found.state is State.OUT_OF_DATE and mesh.before_enable.base_left_on
        extra = [] if is_written else _hand_over_to_armature_modifier(mesh, found)
        status.problem = None if extra else found.reason
        if status.problem is not None and not found.is_installable:
            status.problem += " Until then the Armature modifier deforms it."
        if len(settings.examples):  # a script may have added the first one
            with_examples.forget()
        is_bound = status.problem is None or found.state is State.WRONG_VERTEX_COUNT
        status.binding = self.binding if is_bound else None
        rig = self.character.armature
        keys = None if status.binding is None else status.binding.shape_keys
        if keys is not None and needs_binding(obj, rig):
            # Modifiers that are followed cannot be evaluated while something is drawn.
            try:
                _ = keys.offsets
            except BindingError as error:
                status.binding, status.problem = None, str(error)
        if status.problem is None:
            begin_character(obj)
        status.pose_problem = None if rig is None or status.problem else broken_pose(rig)
        status.notes, status.twists = find_notes(mesh) + extra, about_twists(obj)
        if obj.library is None and (mesh.before_enable.hidden or settings.display == "GPU"):
            follow_native_display(mesh)

    def _remember(self) -> None:
        """Remember the state of a mesh that is right."""
        mesh, obj, status = self.mesh, self.mesh.obj, self.status
        status.key_values = key_values(obj)
        status.has_spread = Settings.of(obj).twist_spread > 0.0
        # Another mesh may have changed it meanwhile.
        status.waits = self.waits or status.edits_read not in (None, edits_of(obj))
        known, of_mesh = status.facts
        if obj.type == "MESH" and (self._is_read or not of_mesh):
            binding = status.binding
            weights = None if binding is None else binding.weights_of_mesh
            of_mesh = facts_with_keys(mesh.mesh, weights)
        of_object = facts_of_object(obj)
        if of_object != known or self._is_read:
            # Only an edit makes another answer.
            moves = obj.library is not None or not mesh.hangs_on_rig or is_object_animated(obj)
            differs = bool(mesh.modifiers_before) and may_differ_in_frames(mesh)
            status.changes_with_frames = moves or differs
        status.facts = of_object, of_mesh


def _follow_renamed_bones(modifier: bpy.types.NodesModifier) -> bool:
    """Write the new names of bones into the settings of all objects that share an armature.

    Blender renames vertex groups with the bones, those of the palette too, but not our settings.

    Args:
        modifier: of an enabled one whose palette was written before the bones were renamed.

    Returns:
        whether any were.
    """
    palette: bpy.types.Object | None = get_input(modifier, "Palette")
    if palette is None or (rig := armature_of_palette(palette)) is None:
        return False
    if palette.library is not None or not (new := renamed_bones(palette, rig)):
        return False
    with writing_settings():
        for other in bpy.data.objects:
            if other.type == "MESH" and other.library is None and find_rig(other) == rig:
                rename_bones(other, new)
                if mesh_of(other).library is None:
                    rename_kept(other, new)
        if rig.library is None:
            rename_bones(rig, new)
    remember_names(palette)
    return True


def _hand_over_to_armature_modifier(skinned: SkinnedObject, found: Comparison) -> list[str]:
    """Let the Armature modifier deform what we cannot deform; returns notes on renders."""
    obj = skinned.obj
    if obj.library is not None:
        return []
    if found.state is State.MISSING and skinned.ours is None:
        remove(obj, BEFORE)
        # An applied one has left its deformation in the mesh: not another one on top.
        if not has_applied_deformation(skinned):
            give_back(obj)
    elif found.state not in {State.MISSING, State.BLOCKED} and skinned.ours is not None:
        show_armature_result(skinned, in_viewport=found.state is State.WRONG_VERTEX_COUNT)
    if found.state is not State.BLOCKED:
        return []
    # In Edit Mode the modifier stays as it was when it began.
    if obj.mode != "EDIT":
        put_armature_modifier_back(skinned)
    if skinned.settings.display == "GPU" and deformation_refusal(skinned) is None:
        return [f"Renders show the Armature modifier's result. {found.reason}"]
    return []


def follow_native_display(skinned: SkinnedObject) -> None:
    """Hide the native surface of an enabled object where we draw it, and only there."""
    if drawing_refusal() is None and is_drawn(skinned.obj):
        set_reasons(skinned.obj, hidden=True, hidden_from_camera=hidden_from_camera_rays())
    else:
        show_surface(skinned.obj)
