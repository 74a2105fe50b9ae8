"""Enables and disables objects, and gives the panel's sentences on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import bpy

from ..errors import BindingError
from ..holding import look_again, operation
from ..modifier.installation import (
    has_applied_deformation,
    installation_refusal,
    put_armature_modifier_back,
)
from ..modifier.leftovers import remove_unused
from ..modifier.misfit import vertex_count_difference
from ..modifier.plain_view import show_ours
from ..modifier.users_settings import forget_settings, show_surface
from ..modifier.written_record import Origin, origin_of
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import acts
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.copies import show_again
from ..scene.settings.addon_preferences import settings_of_new_characters
from ..scene.settings.object_settings import (
    CHARACTER_CHOICES,
    CHARACTER_SETTINGS,
    Display,
    armature_with_settings,
    has_settings,
    is_enabled,
    settings_of,
    written_settings,
)
from ..scene.stack import find_rig, own_modifiers
from ..session.changes import (
    are_settings_being_written,
    note_adjusted,
    was_edited_before,
    writing_settings,
)
from ..session.character import meshes_beside
from ..session.known_bindings import discard_binding
from ..session.known_objects import enabled, enabled_objects
from ..session.status import forget_status, mesh_edited, status_of, tag_redraw
from ..softness.softening import forget_soft_weights
from ..steps import Progress
from ..viewport.gpu_objects import drawing_refusal
from ..wording import listed
from .character_settings import (
    armature_changed,
    begin_character,
    give_if_alone,
    is_alike,
    meshes_changed,
    own_values,
    put_back,
    values_of,
)
from .following import check_all, flush, reconcile_all, reconcile_now
from .following_softness import await_first, soften_waiting, stop_waiting, waiting_objects
from .reconcile import State, compare_with_file

# What *Enable* may write of an object and of its armature.
_NAMES = (*CHARACTER_CHOICES, *CHARACTER_SETTINGS, "own", "is_enabled")


def coming_settings(obj: bpy.types.Object, *, by_script: bool = False) -> dict[str, Any]:
    """The settings that *Enable* gives to a new mesh, where it has no value of its own.

    They are those of its character, once that has any, or those of new characters. A mesh that was
    enabled before gets none, unless it goes with its character: its defaults belong to its look.

    Args:
        by_script: the preferences do not act: a script does the same on every computer.
    """
    own, armature = own_values(obj, _NAMES), find_rig(obj)
    if "is_enabled" in own:
        armature = armature_with_settings(obj)
        return {} if armature is None else values_of(armature)
    if has_settings(armature):
        wanted = values_of(armature)
    else:
        wanted = {} if by_script else settings_of_new_characters()
    return {name: wanted[name] for name in wanted if name not in own}


def coming_display(obj: bpy.types.Object) -> Display:
    """The display that an object has, or gets when it is enabled."""
    settings = written_settings(obj)
    own = "MODIFIER" if settings is None else settings.display
    return coming_settings(obj).get("display", own)


def _give_coming_settings(obj: bpy.types.Object, *, by_script: bool) -> None:
    """Give an object its `coming_settings`; a new one has its own where others were set on it."""
    settings: Any = settings_of(obj)
    with writing_settings():
        for name, value in coming_settings(obj, by_script=by_script).items():
            setattr(settings, name, value)
    armature = find_rig(obj)
    if has_settings(armature) and armature_with_settings(obj) is None:
        settings.own = not is_alike(obj, armature)
        look_again()


def linked_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot be enabled or changed in this file, or None."""
    if obj.library is None:
        return None
    advice = (
        "Make a library override of it and of its armature (Object, Library Override, Make)."
        if is_enabled(obj)
        # An override would not help: its mesh is still linked.
        else "Enable it in that file, or make it and its armature local (Object, Relations, Make "
        "Local, Selected Objects and Data)."
    )
    return f"{obj.name} is linked from another file. {advice}"


def grey_settings(owner: bpy.types.Object) -> str | None:
    """Why the settings of an object cannot be changed here, a sentence, or None."""
    override = owner.override_library
    if override is None or not override.is_system_override:
        return linked_refusal(owner) if is_enabled(owner) else None
    return (
        f"The settings are grey: {owner.name} is a library override that is not editable. Object, "
        "Library Override, Make, makes it editable."
    )


def refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot be enabled with its present settings, or None; cheap."""
    skinned = SkinnedObject(obj)
    if reason := deformation_refusal(skinned):
        return reason
    reason = installation_refusal(skinned)
    if reason is None or coming_display(obj) == "GPU" or skinned.has_linked_mesh:
        return None
    return f"{reason} Or choose the display GPU."


def copied_modifier_warning(obj: bpy.types.Object) -> str | None:
    """The warning for an object that is not enabled but has our modifier, or None."""
    skinned = SkinnedObject(obj)
    if is_enabled(obj) or obj.library is not None or skinned.ours is None:
        return None
    return (
        f"{obj.name} has a copied modifier that does not fit: DQ Compensation of another object. "
        "Press Enable to use it here, or Disable to remove it."
    )


def problem_of(obj: bpy.types.Object) -> str | None:
    """Why an enabled object is not deformed, or not shown right, as of the last check."""
    status = status_of(obj)
    refusal = drawing_refusal() if settings_of(obj).display == "GPU" else None
    return status.failure or status.problem or refusal or status.pose_problem


def notes_of(obj: bpy.types.Object) -> list[str]:
    """The features that the deformation of an enabled object leaves out, as of the last check."""
    return status_of(obj).notes


@operation()
def enable_all(
    objects: Sequence[bpy.types.Object],
    depsgraph: bpy.types.Depsgraph,
    *,
    by_script: bool = False,
) -> tuple[list[bpy.types.Object], list[str]]:
    """Deform objects from now on; Blender evaluates them once, after the last.

    New ones get their `coming_settings`.

    Returns:
        those that are enabled now, and why the others cannot be deformed: these are as before.

    Raises:
        BindingError: a script enables one that cannot be deformed; it asks for all or none.
    """
    done: list[bpy.types.Object] = []
    refused: dict[bpy.types.Object, str] = {}
    with as_before_after_an_error(objects) as take_back:
        for obj in objects:
            try:
                _begin(obj, by_script=by_script)
            except BindingError as error:
                if by_script:
                    raise
                refused[obj] = str(error)
            else:
                done.append(obj)
        flush(reconcile_all(done, depsgraph).written)
        for obj in done:
            if reason := _not_deformed(obj, depsgraph):
                if by_script:
                    raise BindingError(reason)
                refused[obj] = reason
        if refused:
            take_back(refused)
    return [obj for obj in done if obj not in refused], list(refused.values())


@contextmanager
def as_before_after_an_error(
    objects: Sequence[bpy.types.Object],
) -> Generator[Callable[[Collection[bpy.types.Object]], None]]:
    """After an error of the block, disable objects; they and their armatures are as before then.

    Args:
        objects: that are not enabled yet.

    Yields:
        a function that does so with some of them; an armature keeps the settings of the others.
    """
    rigs = {obj: rig for obj in objects if (rig := find_rig(obj)) and rig.library is None}
    before = {each: own_values(each, _NAMES) for each in (*objects, *rigs.values())}
    known = {each for each in before if written_settings(each) is not None}
    # Some have a copied modifier of ours, which stays where they were not begun.
    without = {obj for obj in objects if SkinnedObject(obj).ours is None}

    def take_back(failed: Collection[bpy.types.Object]) -> None:
        # Some are enabled no more, but still have our modifier.
        left = {obj for obj in without if SkinnedObject(obj).ours is not None}
        disable(*(obj for obj in failed if is_enabled(obj) or obj in left))
        kept = {rig for obj, rig in rigs.items() if obj not in failed}
        for each in {*failed, *rigs.values()} - kept:
            put_back(each, before[each], _NAMES)
            if each not in known:
                each.property_unset("dq_compensation")

    try:
        yield take_back
    except BaseException:
        take_back(objects)
        raise


def soften_enabled(uids: Collection[int]) -> Generator[Progress, None, list[str]]:
    """Compute the first soft weights of what was just enabled, and show it with these.

    Args:
        uids: the session_uid of these objects.

    Returns:
        why some cannot be deformed: they are disabled.
    """
    try:
        yield from soften_waiting()
    finally:
        await_first()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    check_all(depsgraph, patient=False)
    enabled = [obj for obj in enabled_objects() if obj.session_uid in uids]
    if refused := {obj: why for obj in enabled if (why := _not_deformed(obj, depsgraph))}:
        disable(*refused)
    return list(refused.values())


def _not_deformed(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> str | None:
    """Why an object that was just enabled cannot be deformed, or None."""
    reason = status_of(obj).failure or status_of(obj).problem
    # One that does not fit may do so in another frame.
    fits = not reason or not vertex_count_difference(SkinnedObject(obj), depsgraph)
    return reason if fits else None


def stay_as_painted(objects: Iterable[bpy.types.Object]) -> list[str]:
    """Stop the waiting soft weights: *Softness* of the characters just enabled is 0 then.

    Those that were partly enabled before, as where a shirt joins a soft body, keep their settings
    and the last soft weights.

    Args:
        objects: that were just enabled.

    Returns:
        the names of the characters and meshes whose *Softness* is 0 now.
    """
    before = set(map(_owner, set(enabled_objects()).difference(objects)))
    owner_of = {mesh: _owner(mesh) for mesh in waiting_objects()}
    owners = dict.fromkeys(owner_of.values())
    fresh = [obj for obj in owners if obj.library is None and obj not in before]
    with writing_settings():
        for obj in fresh:
            settings_of(obj).softness = 0.0
    for mesh, owner in owner_of.items():
        if owner in fresh:
            forget_soft_weights(SkinnedObject(mesh))
    remove_unused()
    settings_changed(*fresh)
    stop_waiting()
    check_all(bpy.context.evaluated_depsgraph_get(), patient=False)
    return [obj.name for obj in fresh]


def _owner(mesh: bpy.types.Object) -> bpy.types.Object:
    """Who has the settings of a mesh: its character's armature, or the mesh itself."""
    return armature_with_settings(mesh) or mesh


def _begin(obj: bpy.types.Object, *, by_script: bool) -> None:
    """Mark an object as enabled; it is to be reconciled with all of its character.

    Raises:
        BindingError: it cannot be deformed; it is not marked then.
    """
    newer = [each.name for each in meshes_beside(obj) if origin_of(each) is Origin.NEWER]
    if newer:
        raise BindingError(
            f"{listed(newer)}, on the armature of {obj.name}, was enabled by a newer version of DQ "
            f"Compensation. Update DQ Compensation to enable {obj.name}."
        )
    skinned = SkinnedObject(obj)
    armature = skinned.find_modifier()
    if skinned.ours is not None or skinned.before_enable.replaced_modifier:
        if skinned.has_linked_mesh and armature is not None and acts(armature):
            # An override has read what is left over from its file, again after Disable.
            forget_settings(obj)
        put_armature_modifier_back(skinned)
    forget_status(obj)
    _give_coming_settings(obj, by_script=by_script)
    is_shown_only = skinned.has_linked_mesh or skinned.settings.display == "GPU"
    reason = deformation_refusal(skinned)
    if reason := reason or (None if is_shown_only else installation_refusal(skinned)):
        raise BindingError(reason)
    skinned.settings.is_enabled = True
    enabled.forget()
    look_again()
    begin_character(obj)
    give_if_alone(obj)


@operation()
def disable(*objects: bpy.types.Object) -> list[str]:
    """Give objects back to their Armature modifiers, every setting as it was.

    Returns:
        a sentence for each whose Armature modifier stays off: it would deform a second time.
    """
    show_ours()
    staying_off = list[str]()
    for obj in objects:
        skinned = SkinnedObject(obj)
        show_surface(obj)
        if has_applied_deformation(skinned):
            forget_settings(obj)
            staying_off.append(
                f"{skinned.modifier.name} of {obj.name} stays off: DQ Compensation was applied, so "
                "the mesh has the pose, and would be deformed twice"
            )
        # What an enabled object keeps goes with its modifier.
        skinned.settings.is_enabled = False
        put_armature_modifier_back(skinned)
        skinned.before_enable.replaced_uid = 0
        look_again()
        if skinned.before_enable.hidden_for_copy:
            show_again(obj)  # the posed copy that is open stays, beside it
        forget_status(obj)
        discard_binding(obj)
    enabled.forget()
    look_again()
    if any(map(meshes_beside, objects)):
        reconcile_now(objects)
    return staying_off


def with_our_modifier() -> Iterator[bpy.types.Object]:
    """All objects of the file that are enabled or have our modifier, linked ones too."""
    meshes = (obj for obj in bpy.data.objects if obj.type == "MESH")
    return (obj for obj in meshes if is_enabled(obj) or own_modifiers(obj))


def disable_all() -> tuple[list[bpy.types.Object], list[bpy.types.Object], list[str]]:
    """Disable all objects of this file, as before the add-on is uninstalled.

    Returns:
        those that their Armature modifiers deform again, and those that still have our modifier:
        it belongs to another file; and the sentences of `disable`.
    """
    found = list(with_our_modifier())
    local = [obj for obj in found if obj.library is None]
    staying_off = disable(*local)
    return local, [obj for obj in found if own_modifiers(obj)], staying_off


@operation()
def refresh_all(objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> None:
    """Read everything of enabled objects again, add what was removed, and forget failures."""
    found = list(objects)
    for obj in found:
        skinned = SkinnedObject(obj)
        forget_status(obj)
        if origin_of(obj) is Origin.DEVELOPMENT and not skinned.has_linked_mesh:
            put_armature_modifier_back(skinned)
        is_known = bool(skinned.before_enable.replaced_modifier)
        if is_known and compare_with_file(skinned, depsgraph).state is State.MISSING:
            put_armature_modifier_back(skinned)
    flush(reconcile_all(found, depsgraph).written)


def refresh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """`refresh_all` for one.

    Raises:
        BindingError: it cannot be deformed as it is now; its native display is back then.
    """
    refresh_all([obj], depsgraph)
    status = status_of(obj)
    if status.binding is None:
        raise BindingError(status.problem or f"{obj.name} cannot be deformed.")
    return status.binding


@operation()
def settings_changed(
    *objects: bpy.types.Object, names: Collection[str] = CHARACTER_SETTINGS
) -> None:
    """Follow a change of the settings of meshes and characters at once, unless more follow.

    Args:
        objects: mesh objects, and the armature objects of characters.
        names: of the settings that may have been written.
    """
    reconcile_together(share_settings(*objects, names=names))


@operation()
def reconcile_together(meshes: list[bpy.types.Object]) -> None:
    """Bring meshes up to date whose settings have changed; Blender evaluates them once."""
    if not meshes:
        return
    for obj in filter(was_edited_before, meshes):
        # By a script. What is evaluated now is taken for our own changes.
        mesh_edited(mesh_of(obj))
    flush(meshes)
    reconcile_now(meshes)
    note_adjusted(*meshes)
    tag_redraw()


def share_settings(
    *objects: bpy.types.Object, names: Collection[str] = CHARACTER_SETTINGS
) -> list[bpy.types.Object]:
    """Let meshes and their characters agree on settings that have changed.

    Args:
        names: of the settings that may have been written.

    Returns:
        the enabled meshes that have other settings now; none while more settings follow.
    """
    if are_settings_being_written():
        return []
    local = [obj for obj in objects if obj.library is None]
    meshes_changed(local, names)
    meshes = [obj for obj in local if is_enabled(obj)]
    for armature in (obj for obj in objects if obj.type == "ARMATURE"):
        meshes += armature_changed(armature)
    note_adjusted(*meshes)
    return meshes
