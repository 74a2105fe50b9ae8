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
  and once in every session; else it is as remembered (`session.character`).
- `reconcile` acts on what it finds. OUT_OF_DATE: it writes everything again. BLOCKED: it gives the
  object back to the Armature modifier until the reason is gone. WRONG_VERTEX_COUNT: a modifier
  before ours adds vertices, so ours lets the mesh pass and the Armature modifier is shown. MISSING:
  the user has applied or removed our modifier; only *Refresh* adds it again. OF_ANOTHER_VERSION: it
  is left alone; that of a development build is turned off. Then it hides or shows Blender's own
  surface, for the GPU display.
- `lifecycle.following` calls it when Blender has evaluated an edit, before the picture is drawn.

The panel, Setup Check, Refresh and the drawing all read what it leaves in `session.status`.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import bpy

from ..core.deform import RULES
from ..errors import BindingError
from ..modifier.installation import (
    leave_to_armature_modifier,
    put_armature_modifier_back,
    replace_armature_modifier,
    show_armature_result,
)
from ..modifier.modifier_stack import (
    vertex_count_difference,
)
from ..modifier.plain_view import show_ours
from ..modifier.stack_parts import remove, show_where_ours_acts
from ..modifier.users_settings import give_back, set_reasons, show_surface
from ..modifier.written_record import (
    PLACE,
    Origin,
    newer_parts_of_linked_mesh,
    origin_of,
    origin_refusal,
    was_applied,
)
from ..scene.binding.binding import Binding
from ..scene.binding.content import (
    STATE_PROPERTY,
    keeps_soft_weights,
    may_differ_in_frames,
    mesh_signature,
    object_signature,
)
from ..scene.blender.armature import armature_of, has_moved
from ..scene.blender.own_objects import record_in
from ..scene.blender.rigging import broken_pose, deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings
from ..scene.stack import BEFORE
from ..session.character import Character, read, read_if_old, skin_for
from ..session.known_objects import with_examples
from ..session.memory import memories
from ..session.status import (
    edits_of,
    fail,
    is_drawn,
    needs_binding,
    note_reconciled,
    status_of,
)
from ..viewport.gpu_objects import drawing_refusal
from ..viewport.look import hidden_from_camera_rays
from .character_settings import begin_character, follow_armature
from .comparison import Comparison, State, compare_with_file
from .following_softness import awaits_first, follow_softness
from .moving import has_moved_since, is_being_edited, is_object_animated, key_values
from .notes import about_twists, find_notes
from .posing import remember_armature
from .renamed_bones import follow_renamed_bones

# The methods that find no limbs and no joints on the skin.
_PLAIN = frozenset(method for method, rules in RULES.items() if rules.needs is None)


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
    work = _Work(character, depsgraph, patient=patient)
    meshes = work.begin(named)
    work.soften(meshes, at_once=at_once)
    work.read(meshes)
    behind = work.join(meshes)
    for mesh in (*meshes, *behind):
        work.bring_up_to_date(mesh)
    work.end()
    return work.result


class _Work:
    """The meshes of a character while they are reconciled.

    Attributes:
        result: of `reconcile`.
    """

    def __init__(
        self, character: Character, depsgraph: bpy.types.Depsgraph, *, patient: bool
    ) -> None:
        self.character, self.depsgraph, self.patient = character, depsgraph, patient
        self.result = Reconciled()
        # The bindings of those that can be bound, and why others cannot, sentences.
        self._bindings: dict[bpy.types.Object, Binding] = {}
        self._blocked: dict[bpy.types.Object, str] = {}
        self._failed, self._read = set[bpy.types.Object](), set[bpy.types.Object]()

    @contextmanager
    def _about(self, mesh: SkinnedObject) -> Generator[None]:
        """Keep the errors of a mesh from the others."""
        try:
            yield
        except BindingError as error:
            self._blocked[mesh.obj] = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are reconciled
            fail(mesh.obj, error)
            self._failed.add(mesh.obj)

    def begin(self, named: Collection[bpy.types.Object]) -> list[SkinnedObject]:
        """Those of the named meshes that are looked at now.

        What is being edited waits, but for its structure.
        """
        found = []
        for mesh in self.character.meshes:
            if mesh.obj in named:
                with self._about(mesh):
                    if reason := origin_refusal(mesh):
                        self._leave_alone(mesh, reason)
                        continue
                    rests, is_edited = self._rests(mesh), _is_edited(mesh)
                    if is_edited and (rests or (self.patient and is_being_edited(mesh.obj))):
                        self.result.waiting.add(mesh.obj)
                        status_of(mesh.obj).waits = True
                    if not rests:
                        follow_armature(mesh.obj)
                        found.append(mesh)
        return found

    def _leave_alone(self, mesh: SkinnedObject, reason: str) -> None:
        """Show why an object is left as another version of the add-on has saved it.

        The Armature modifier deforms one of a development build, but for linked ones, and one of
        this file whose modifier of a newer version reads what is linked: it follows another
        armature.
        """
        status = status_of(mesh.obj)
        is_linked = mesh.obj.library is not None or mesh.has_linked_mesh
        is_development = origin_of(mesh.obj) is Origin.DEVELOPMENT
        if not is_linked and (is_development or mesh.mesh.library is not None):
            leave_to_armature_modifier(mesh)
        status.problem, status.binding, status.notes = reason, None, []
        status.read = edits_of(mesh.obj)
        self._read.add(mesh.obj)
        self._remember(mesh)

    def _rests(self, mesh: SkinnedObject) -> bool:
        """Whether a mesh is shown at rest: bones have new names in Edit Mode, groups have not."""
        rig = self.character.armature
        if rig is None or rig.pose is None or mesh.ours is None:
            return False
        armature = armature_of(rig)
        return armature.is_editmode and set(armature.bones.keys()) != set(rig.pose.bones.keys())

    def soften(self, meshes: list[SkinnedObject], *, at_once: bool) -> None:
        """Follow what soft weights are made from; those of a character are computed together."""
        meshes = [mesh for mesh in meshes if mesh.obj not in self.result.waiting]
        for mesh in meshes:
            if _is_unread(mesh):
                status_of(mesh.obj).softness.content = None
        for mesh in meshes:
            self._soften(mesh, at_once=at_once)
        if any(status_of(mesh.obj).softness.is_old for mesh in meshes):
            # Those of the others are old with them.
            for mesh in self.character.meshes:
                if mesh not in meshes and not (_is_unread(mesh) or origin_refusal(mesh)):
                    self._soften(mesh, at_once=at_once)

    def _soften(self, mesh: SkinnedObject, *, at_once: bool) -> None:
        known = status_of(mesh.obj).softness
        known.is_old, known.problem = False, None
        with self._about(mesh):
            if keeps_soft_weights(mesh):
                follow_softness(mesh, edited=_is_unread(mesh), at_once=at_once)

    def read(self, meshes: list[SkinnedObject]) -> None:
        """Read what was edited or has left its place; the rest is as remembered."""
        for mesh in meshes:
            with self._about(mesh):
                self._read_mesh(mesh)
        if any(map(self._follows_renamed_bones, meshes)):
            self.read(meshes)

    def _read_mesh(self, mesh: SkinnedObject) -> None:
        obj, waits = mesh.obj, mesh.obj in self.result.waiting
        known = memories(Binding).get(obj.session_uid)
        anew = _is_unread(mesh) and not waits
        if not anew and known is not None:
            anew = self._misfits(mesh) or (not waits and self._has_left(mesh, known))
        if anew:
            status_of(obj).read = edits_of(obj)
            self._read.add(obj)
        self._bindings[obj] = read(mesh, self.depsgraph, anew=anew)

    def _misfits(self, mesh: SkinnedObject) -> bool:
        """Whether followed modifiers make another number of vertices; said once in a frame."""
        status = status_of(mesh.obj)
        difference = vertex_count_difference(mesh, self.depsgraph)
        misfit = (self.depsgraph.scene.frame_current_final, difference)
        if not difference or status.misfit == misfit:
            return False
        status.misfit = misfit
        return True

    def _has_left(self, mesh: SkinnedObject, known: Binding) -> bool:
        """Whether a mesh has left the place by its armature at which it was read; it waits there.

        Where all of a character are plain skinning, none looks at it.
        """
        meshes, rig = self.character.meshes, self.character.armature
        looks = Settings.of(mesh.obj).compensates
        if len(meshes) > 1:
            looks = any(each.settings.method not in _PLAIN for each in meshes)
        if rig is None or not looks:
            return False
        if not has_moved(known.object_to_armature, mesh.obj, rig, known.extent):
            return False
        if self.patient and has_moved_since(mesh, "CHECK"):
            self.result.waiting.add(mesh.obj)
            return False
        return True

    def _follows_renamed_bones(self, mesh: SkinnedObject) -> bool:
        """Let settings follow bones with other names than those for which a mesh was written."""
        ours, binding = mesh.ours, self._bindings.get(mesh.obj)
        if ours is None or binding is None:
            return False
        written = record_in(mesh.obj, STATE_PROPERTY).get("bones")
        return written != binding.structure["bones"] and follow_renamed_bones(ours)

    def join(self, meshes: list[SkinnedObject]) -> list[SkinnedObject]:
        """Join the skins of all meshes; returns those besides for which it is another one now."""
        bindings, known = self._bindings, memories(Binding)
        one, looked_at = next(iter(bindings.values()), None), {mesh.obj for mesh in meshes}
        others = [mesh for mesh in self.character.meshes if mesh.obj not in looked_at]
        remembered = {mesh.obj: known.get(mesh.obj.session_uid) for mesh in others}
        for mesh in others:
            with self._about(mesh):
                bindings[mesh.obj] = read_if_old(mesh, one, self.depsgraph)
        behind = list[SkinnedObject]()
        try:
            skin = self.character.skin_of(bindings)
        except Exception as error:  # noqa: BLE001 - of all of them
            for obj in looked_at:
                fail(obj, error)
            self._failed |= looked_at
            return behind
        for mesh in self.character.meshes:
            if (binding := bindings.get(mesh.obj)) is not None:
                with self._about(mesh):
                    found = binding.in_character(skin_for(mesh, skin))
                    bindings[mesh.obj] = known[mesh.obj.session_uid] = found
                    is_behind = found is not remembered.get(mesh.obj, found)
                    if is_behind and not (origin_refusal(mesh) or self._rests(mesh)):
                        behind.append(mesh)
        return behind

    def bring_up_to_date(self, mesh: SkinnedObject) -> None:
        """Compare a mesh with what its modifier was made for, write what differs, and show it."""
        if mesh.obj in self._failed:
            return
        with self._about(mesh):
            try:
                found = self._compare_and_write(mesh)
            except BindingError as error:
                found = Comparison(State.BLOCKED, str(error))
            self._show(mesh, found)
            self._remember(mesh)

    def _compare_and_write(self, mesh: SkinnedObject) -> Comparison:
        obj = mesh.obj
        if obj in self._blocked:
            raise BindingError(self._blocked[obj])
        binding, before = self._bindings[obj], mesh.before_enable
        found = compare_with_file(mesh, self.depsgraph, binding)
        if mesh.has_linked_mesh:
            status_of(obj).newer = newer_parts_of_linked_mesh(mesh, Settings.of(obj), binding)
        waits = obj in self.result.waiting
        is_moving = waits and found.parts == (PLACE,)
        if found.state is not State.OUT_OF_DATE or is_moving or awaits_first(mesh):
            return found
        if not waits and has_moved(binding.object_to_armature, obj, mesh.rig, binding.extent):
            # Methods that do not compensate do not look at the place.
            anew = read(mesh, self.depsgraph, anew=True).in_character(binding.whole)
            self._bindings[obj] = memories(Binding)[obj.session_uid] = binding = anew
        parts = found.parts
        if not before.replaced_modifier:
            show_surface(obj)  # that is not how the user had it
            parts = ()
        replace_armature_modifier(mesh, binding, parts)
        before.parted = False
        self.result.written.append(obj)
        return found

    def _show(self, mesh: SkinnedObject, found: Comparison) -> None:
        """Let the Armature modifier act where ours does not; status, notes, the native display."""
        obj, status, settings = mesh.obj, status_of(mesh.obj), mesh.settings
        _follow_shown_override(mesh)
        is_written = found.state is State.OUT_OF_DATE and mesh.before_enable.base_left_on
        extra = [] if is_written else _hand_over_to_armature_modifier(mesh, found)
        status.problem = None if extra or found.reason is None else _with_meanwhile(found)
        if len(settings.examples):  # a script may have added the first one
            with_examples.forget()
        is_bound = status.problem is None or found.state is State.WRONG_VERTEX_COUNT
        status.binding = self._bindings.get(obj) if is_bound else None
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
        has_pose = rig is not None and status.problem is None
        status.pose_problem = broken_pose(rig) if has_pose else None
        status.notes, status.twists = find_notes(mesh) + extra, about_twists(obj)
        if obj.library is None and (mesh.before_enable.hidden or settings.display == "GPU"):
            follow_native_display(mesh)

    def _remember(self, mesh: SkinnedObject) -> None:
        """Remember the state of a mesh that is right."""
        obj, status = mesh.obj, status_of(mesh.obj)
        status.key_values = key_values(obj)
        status.has_spread = Settings.of(obj).twist_spread > 0.0
        status.waits = obj in self.result.waiting or _is_edited(mesh)
        known, shape = status.signature
        if obj.type == "MESH" and (obj in self._read or not shape):
            binding = status.binding
            shape = mesh_signature(mesh.mesh, None if binding is None else binding.weights_of_mesh)
        signature = object_signature(obj)
        if signature != known or obj in self._read:
            # Only an edit makes another answer.
            moves = obj.library is not None or not mesh.hangs_on_rig or is_object_animated(obj)
            differs = bool(mesh.modifiers_before) and may_differ_in_frames(mesh)
            status.changes_with_frames = moves or differs
        status.signature = signature, shape

    def end(self) -> None:
        """Remember the armature, and tell all who follow."""
        if self.character.armature is not None:
            remember_armature(self.character.armature)
        note_reconciled()


def _is_unread(mesh: SkinnedObject) -> bool:
    """Whether a mesh was edited since it was read, or was not read in this session."""
    return status_of(mesh.obj).read != edits_of(mesh.obj)


def _is_edited(mesh: SkinnedObject) -> bool:
    """Whether a mesh was edited since it was read."""
    return status_of(mesh.obj).read is not None and _is_unread(mesh)


def _with_meanwhile(found: Comparison) -> str:
    meanwhile = "" if found.is_installable else " Until then the Armature modifier deforms it."
    return f"{found.reason}{meanwhile}"


def _follow_shown_override(skinned: SkinnedObject) -> None:
    """Let the modifiers before ours, which are of an override's own file, act where ours acts."""
    if skinned.obj.library is None and skinned.obj.override_library is not None:
        show_where_ours_acts(skinned)


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
