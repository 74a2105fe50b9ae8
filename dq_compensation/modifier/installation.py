"""Lets the node modifier deform an object, keeps it up to date, and takes it away again.

It deforms with the Armature modifier, or in its place. That stays in the stack, so that exporters
find a skin: left on or hidden, as the base of the deformation is.
"""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ..errors import BindingError
from ..scene.binding.binding import Binding
from ..scene.binding.facts import STATE_PROPERTY
from ..scene.binding.modifiers_before import differing_in_renders, values_before
from ..scene.binding.soft_copy import acting_soft_copy, digest_of_found_weights
from ..scene.blender.mesh import mesh_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings, named_bones
from ..scene.stack import (
    own_modifiers_before,
)
from ..wording import listed
from .attributes.attribute_objects import attribute_object_of
from .attributes.solved_points import bones_of_solved
from .attributes.vertex_attributes import measured_bones, straight_bones
from .base import (
    base_for,
    base_of,
    hiding_refusal,
    restore_modifier,
    show_what_came_hidden,
    take_over_modifier,
)
from .found_bones import BONES_PROPERTY
from .hooks import is_by_number
from .leftovers import remove_unused
from .modifier_inputs import as_written, get_input
from .our_modifiers import turn_off
from .parts import OF_MODIFIERS, PARTS, POSED_BONES, Seen, Wanted
from .users_settings import (
    replaced_modifier,
    set_modifier,
    set_reasons,
    show_surface,
)
from .written_record import are_measured_alike, changed_parts_of_linked_mesh, remember, was_applied

# Blender moves no modifier that makes a mesh before one of these.
_WANT_ORIGINAL_DATA = frozenset({"MULTIRES", "SOFT_BODY"})


def installation_refusal(skinned: SkinnedObject) -> str | None:
    """Why the node modifier cannot be added to an object that can be bound, or None."""
    obj = skinned.obj
    is_linked = skinned.mesh.library is not None
    if obj.library is not None or (is_linked and obj.override_library is not None):
        return (
            f"The mesh of {obj.name} is linked from another file. Enable {obj.name} in that file, "
            "or make object and mesh local (Object, Relations, Make Local, Selected Objects and "
            "Data)."
        )
    stack = list(obj.modifiers)
    base = next(reversed(skinned.mixed_modifiers), skinned.find_modifier())
    after = stack[stack.index(base) + 1 :] if base is not None else []
    hooks = [each.name for each in after if is_linked and is_by_number(each)]
    if names := listed(hooks):
        return (
            f"{names} of {obj.name} moves vertices by their numbers, which takes a vertex group "
            "once it stands behind DQ Compensation, and the mesh is linked from another file. Make "
            f"it local (Object, Relations, Make Local, Selected Objects and Data), or move {names} "
            "above the Armature modifier."
        )
    wanting = [each.name for each in after if each.type in _WANT_ORIGINAL_DATA]
    if not wanting:
        return None
    names = listed(wanting)
    return (
        f"The modifier {names} of {obj.name} stands after the Armature modifier, and Blender lets "
        f"no node modifier stand before it. Apply {names}, remove it, or move it above the "
        "Armature modifier."
    )


def install(
    skinned: SkinnedObject,
    binding: Binding,
    settings: Settings,
    *,
    follow_settings: bool = False,
    changed: Collection[str] = (),
) -> bpy.types.NodesModifier:
    """Add the node modifier after the Armature modifier, or bring it up to date.

    The Armature modifier is set as the base needs it.

    Args:
        skinned: the original mesh object, not in Edit Mode; `installation_refusal` has no reason.
        binding: of the object as it is now.
        follow_settings: let drivers take `FOLLOWED_SETTINGS` from the object's properties.
        changed: the parts that have changed since the modifier was made: what does not follow from
            them stays as it is. None where nothing is known of what was written.

    Raises:
        BindingError: its mesh has fewer vertices than it takes to keep its example poses, or
            something else shows the Armature modifier; the message is for the panel.
    """
    known, written = skinned.ours, as_written(skinned.obj, settings)
    wanted = _wanted(skinned, binding.as_skinned(settings), written, is_driven=follow_settings)
    wanted.twist_spread = settings.twist_spread
    before = None if known is None else (known.node_group, get_input(known, "Palette"))
    if changed and known is not None and before is not None:
        only_content = wanted.binding.content.keys() >= set(changed)
        wanted.only_content = only_content and wanted.base == base_of(known)
        wanted.keeps_modifiers = OF_MODIFIERS.isdisjoint(changed)
        if {POSED_BONES, "bones"}.isdisjoint(changed):
            wanted.known_palette = _own(before[1])
    # Where a modifier was not there before, nothing is replaced; an undo may have taken it.
    leaves_nothing = known is None and not skinned.before_enable.parted
    for part in PARTS:
        part.apply(wanted)
    modifier = skinned.ours
    assert modifier is not None
    remember(wanted, modifier)
    skinned.obj.update_tag(refresh={"DATA"})
    if not leaves_nothing and before != (modifier.node_group, wanted.palette):
        remove_unused()
    return modifier


def _own(palette: bpy.types.Object | None) -> bpy.types.Object | None:
    """A palette if this file can write its mesh."""
    is_own = palette is not None and mesh_of(palette).library is None
    return palette if is_own else None


def _wanted(
    skinned: SkinnedObject, binding: Binding, settings: Settings, *, is_driven: bool
) -> Wanted:
    """Work out what an object is to have. Changes nothing.

    Raises:
        BindingError: the mesh has too few vertices for the examples, or something else shows the
            Armature modifier.
    """
    obj = skinned.obj
    found = binding.deformation(settings)
    deformation = found if binding.is_soft else found.without_idle_parts
    examples = binding.acting_examples(settings) if settings.by_example else None
    base = base_for(skinned, deformation, examples, soft=binding.is_soft)
    if base != "ARMATURE" and (reason := hiding_refusal(skinned, base)):
        raise BindingError(reason)
    if examples is not None:
        bones, rows, _ = examples.poses.solution.shape
        if bones * rows > len(skinned.mesh.vertices):
            raise BindingError(
                f"{obj.name} has fewer vertices than it takes to keep its {len(examples.rows)} "
                "example poses. Remove some."
            )
    is_linked = skinned.mesh.library is not None
    others = _other_users(skinned) if skinned.mesh.users > 1 and not is_linked else []
    reads: set[str] = {"bones"} if base == "OWN" else set()
    reads |= {"turns"} if examples is not None else set()
    reads |= {"turns", "sizes"} if deformation.solved is not None else set()
    reads_mesh = deformation.compensation is not None or bool(reads)
    # Bones that are named are known again after a renaming.
    bones = named_bones(obj) & set(binding.skeleton.names)
    straight, differs = frozenset[str](), False
    if reads_mesh:
        bones |= measured_bones(deformation, binding.skeleton)
        of_solved = bones_of_solved(deformation.solved, binding.skeleton)
        bones |= of_solved
        straight = straight_bones(deformation, examples, base, binding.skeleton) | of_solved
        # Objects that share the mesh may need other attributes in it.
        bound = _bound_to(skinned) if others else ()
        differs = any(
            _bound_to(other) != bound or not are_measured_alike(skinned, settings, base, other)
            for other in others
        )
    return Wanted(
        skinned,
        binding,
        settings,
        found,
        deformation,
        examples,
        base,
        bones=frozenset(bones) if reads_mesh or bones else None,
        straight=straight,
        reads=reads,
        reads_mesh=reads_mesh,
        is_apart=reads_mesh and (bool(binding.followed) or differs or is_linked),
        is_alone=not (others or is_linked),
        is_driven=is_driven,
    )


def uninstall(skinned: SkinnedObject) -> None:
    """Take our modifier away from an object, with its copies and all that only they needed.

    The Armature modifier is as the user had set it again.
    """
    for record in (STATE_PROPERTY, BONES_PROPERTY):
        skinned.obj.pop(record, None)
    for part in reversed(PARTS):
        part.remove(skinned)


def _other_users(skinned: SkinnedObject) -> list[SkinnedObject]:
    """Other objects whose node modifiers read the attributes of the same mesh."""
    sharing = (each for each in bpy.data.objects if each.data == skinned.mesh)
    others = [SkinnedObject(each) for each in sharing if each != skinned.obj]
    return [
        other
        for other in others
        if other.find_modifier() is not None
        and (ours := other.ours) is not None
        and get_input(ours, "Palette") is not None
        and attribute_object_of(ours) is None
    ]


def _bound_to(skinned: SkinnedObject) -> tuple[object, ...]:
    """The settings by which bones move an object's mesh, and the origin of its vertices."""
    armature, by_itself = skinned.modifier, skinned.settings.by_itself
    mask = (armature.vertex_group, armature.invert_vertex_group)
    bound = armature.object, armature.use_vertex_groups, armature.use_bone_envelopes, mask
    # Those of equal meshes at one place may differ by what is solved: the record does not say it.
    copy = acting_soft_copy(skinned)
    weights = None if copy is None else digest_of_found_weights(copy)
    return *bound, weights, by_itself, values_before(skinned)


def replace_armature_modifier(
    skinned: SkinnedObject, binding: Binding, parts: Collection[str] = ()
) -> None:
    """Let the node modifier deform an object, by its settings; again brings it up to date.

    Args:
        parts: that have changed since; none where nothing is known of what was written.

    Raises:
        BindingError: a modifier stands in the way, or the mesh is linked and the modifier is made
            for other settings; nothing has changed then.
    """
    nodes, settings, armature = skinned.ours, Settings.of(skinned.obj), skinned.modifier
    is_new = replaced_modifier(skinned.obj) != armature
    if nodes is None or not skinned.has_linked_mesh:
        nodes = install(skinned, binding, settings, follow_settings=True, changed=parts)
        if is_new:
            nodes.show_in_editmode = armature.show_in_editmode
    elif changed := changed_parts_of_linked_mesh(Seen(skinned, nodes), settings):
        linked = f"The mesh of {skinned.obj.name} is linked from another file"
        if "mesh" not in changed and not {"settings", "soft weights"}.isdisjoint(changed):
            raise BindingError(
                f"{linked}, where it was enabled with other settings. Change them there, or make "
                "the mesh local."
            )
        raise BindingError(
            f"{linked}, and its modifier does not fit any more. Changed since: {listed(changed)}. "
            "Open that file, press Refresh and save it, or make the mesh local."
        )
    else:
        take_over_modifier(skinned, base_of(nodes), settings)
    if is_new:
        # Of an override that could not be deformed here they are off.
        for each in (nodes, *own_modifiers_before(skinned.obj)):
            set_modifier(each, show_viewport=True, show_render=True)


def show_armature_result(skinned: SkinnedObject, *, in_viewport: bool) -> None:
    """Show the Armature modifier where the node modifier lets the mesh pass, or hide it again.

    One that is left on deforms it already, with Preserve Volume as the method needs it.
    """
    before = skinned.before_enable
    if before.base_left_on:
        set_reasons(skinned.obj, base_left_on=True, base_is_linear=before.base_is_linear)
    elif skinned.find_modifier() is not None:
        renders = bool(differing_in_renders(skinned))
        set_reasons(skinned.obj, passing=in_viewport, passing_in_renders=renders)


def leave_to_armature_modifier(skinned: SkinnedObject) -> None:
    """Turn our modifiers off, and show the Armature modifier as the user had it.

    Nothing of ours is removed. Again it does nothing: what the user turns on then stays on.
    """
    show_surface(skinned.obj)
    if not skinned.before_enable.replaced_modifier:
        return
    turn_off(skinned.obj)
    restore_modifier(skinned)


def has_applied_deformation(skinned: SkinnedObject) -> bool:
    """Whether our modifier was applied whose deformation is all of it: the mesh has the pose."""
    is_off = skinned.before_enable.base_hidden and skinned.find_modifier() is not None
    return is_off and skinned.ours is None and was_applied(skinned)


def put_armature_modifier_back(skinned: SkinnedObject) -> None:
    """Take the node modifier away and show the Armature modifier as it was shown before.

    What the user has switched on meanwhile stays on.
    """
    nodes = skinned.ours
    if nodes is not None and skinned.has_linked_mesh:
        for each in (nodes, *own_modifiers_before(skinned.obj)):
            set_modifier(each, show_viewport=False, show_render=False)
        restore_modifier(skinned)
        return
    show_what_came_hidden(skinned)
    uninstall(skinned)
