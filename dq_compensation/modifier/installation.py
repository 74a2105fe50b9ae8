"""Lets the node modifier deform an object, keeps it up to date, and takes it away again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, cast

import bpy
import numpy as np

from ..arrays import Float32s
from ..core.deform import Deformation
from ..errors import BindingError
from ..holding import look_again
from ..scene.binding.binding import Binding
from ..scene.binding.content import (
    STATE_PROPERTY,
    acting_soft_copy,
    differing_in_renders,
    digest_of_found_weights,
    keeps_soft_weights,
    signature_before,
    soft_copy,
    step_of,
)
from ..scene.binding.shape_key_offsets import Examples
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import is_hidden, remove_hidden, temporary_copy
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings, named_bones
from ..scene.stack import (
    SKIN_NAME,
    TREE_PROPERTY,
    add_modifier,
    drop_modifier,
    is_own_modifier,
    own_modifiers,
)
from ..session.changes import note_removed
from ..wording import listed
from .attribute_names import SOFT_COPY, Base, ExampleCounts, kind_for, skins_vertices
from .modifier_inputs import (
    as_written,
    drive_settings,
    get_input,
    release_settings,
    set_inputs,
)
from .modifier_stack import (
    ATTRIBUTES_INPUT,
    HOOKS_PROPERTY,
    attribute_mesh,
    attribute_object_of,
    base_for,
    base_of,
    ensure_attribute_object,
    ensure_soft_copy,
    hiding_refusal,
    installation_refusal,
    mask_of,
    put_in_place,
    reads_of,
    release_hooks,
    restore_modifier,
    show_skin,
    show_what_came_hidden,
    shown_in_viewport,
    take_over_modifier,
)
from .nodes.node_tree import ensure_tree
from .nodes.own_trees import (
    let_shape_go,
    modifiers_before,
    move_beside,
    remove_tree,
    use_tree,
)
from .palette_object import compute_what_is_read, computed_for, ensure_palette
from .users_settings import replaced_modifier, set_modifier, set_reasons, show_surface
from .vertex_attributes import measured_bones, replace_attributes, straight_bones, write_attributes
from .written_record import (
    BONES_PROPERTY,
    CONTENT_PROPERTY,
    are_measured_alike,
    changed_parts_of_linked_mesh,
    remember,
)

_MODIFIER_NAME = "DQ Compensation"
# Where the Armature modifier is off, and nothing else would say so without the add-on.
_NAME_ALONE = "DQ Compensation (if removed, turn on the Armature modifier)"


def install(
    skinned: SkinnedObject,
    binding: Binding,
    settings: Settings,
    *,
    follow_settings: bool = False,
    only_content: bool = False,
) -> bpy.types.NodesModifier:
    """Add the node modifier after the Armature modifier, or bring it up to date.

    The Armature modifier is set as the base needs it.

    Args:
        skinned: the original mesh object, not in Edit Mode.
        binding: of the object as it is now.
        follow_settings: let drivers take `FOLLOWED_SETTINGS` from the object's properties.
        only_content: nothing but what was read of the mesh has changed since the modifier was made:
            what does not follow from that stays as it is.

    Raises:
        BindingError: its mesh is linked, or has fewer vertices than it takes to keep its example
            poses, or something else shows the Armature modifier; the message is for the panel.
    """
    if reason := installation_refusal(skinned):
        raise BindingError(reason)
    obj, armature, written = skinned.obj, skinned.modifier, as_written(skinned.obj, settings)
    binding = binding.as_skinned(settings)
    deformation = binding.deformation(written)
    deformation = deformation if binding.is_soft else deformation.without_idle_parts
    examples = binding.acting_examples(settings) if settings.by_example else None
    base = base_for(skinned, deformation, examples, soft=binding.is_soft)
    if base != "ARMATURE" and (reason := hiding_refusal(skinned, base)):
        raise BindingError(reason)
    mask, inverted = mask_of(skinned, base)
    palette, hidden, sets = _write(skinned, binding, written, base, deformation, examples)
    copy = ensure_soft_copy(skinned) if base == "SOFT" else None
    # Where a modifier was not there before, nothing is replaced; an undo may have taken it.
    leaves_nothing = skinned.ours is None and not skinned.before_enable.parted
    known = skinned.ours
    if known is None or not (only_content and base == base_of(known)):
        only_content = False
        take_over_modifier(skinned, base, settings)
    shown = {"In Viewport": shown_in_viewport(skinned), "In Renders": armature.show_render}
    kind = kind_for(
        deformation,
        _counted(examples, binding),
        base,
        masked=bool(mask) or inverted,
        shape_varies=binding.shape_varies,
        sets=sets,
        sampled=hidden is not None,
        base_is_on=all(shown.values()),
    )
    step = 0.0 if copy is None else step_of(copy, len(skinned.mesh.vertices))
    # What is mixed with others cannot be taken apart.
    kind = replace(
        kind,
        stepped=step > 0.0,
        unmasks=kind.unmasks and not binding.is_mixed,
        slots=kind.slots or _influences_listed(deformation, base),
    )
    tree = ensure_tree(kind)
    modifier = known or _add_modifier(obj, armature, tree)
    _name_for(modifier, base)
    if base == "ARMATURE":
        modifier.show_in_editmode = armature.show_in_editmode
    made_anew = modifier.node_group != tree or get_input(modifier, "Palette") != palette
    use_tree(modifier, tree)
    values: dict[str, object] = {
        "Palette": palette,
        "Factor": settings.factor,
        "Twist Spread": settings.twist_spread,
        "Vertex Group": settings.vertex_group,
        "Blend Group": settings.blend_group,
        "Mask": mask,
        "Invert Mask": inverted,
        ATTRIBUTES_INPUT: hidden,
        SOFT_COPY: copy,
        "Step": step,
        "Vertices": binding.vertex_count,
        "Sets": sets,
        **shown,
    }
    if set_inputs(modifier, values) or made_anew or not only_content:
        only_content = False
        put_in_place(skinned, kind.examples)
    if follow_settings and not only_content:
        drive_settings(skinned, modifier)
    remember(
        skinned,
        mesh_of(hidden or obj),
        binding,
        written,
        reads_mesh=deformation.compensation is not None or bool(kind.reads),
        only_content=only_content,
    )
    obj.update_tag(refresh={"DATA"})
    if made_anew and not leaves_nothing:
        remove_unused()
    return modifier


def _counted(examples: Examples | None, binding: Binding) -> ExampleCounts | None:
    keys = binding.shape_keys
    return None if examples is None or keys is None else ExampleCounts.of(examples, keys.offsets)


def _influences_listed(deformation: Deformation, base: Base) -> int:
    """The most influences of a vertex whose bones a tree on another base than OWN reads, or 0."""
    if not skins_vertices(deformation, base):
        return 0
    return max(1, int(deformation.influences.counts().max(initial=0)))


def _write(
    skinned: SkinnedObject,
    binding: Binding,
    settings: Settings,
    base: Base,
    deformation: Deformation,
    examples: Examples | None,
) -> tuple[bpy.types.Object | None, bpy.types.Object | None, int]:
    """Write the palette and the attributes for a tree of a base.

    Returns:
        the palette, None where the tree reads no pose, and no bone is named; the attribute object,
        None where the mesh itself has the attributes; how many sets of bones there are.

    Raises:
        BindingError: the mesh has too few vertices for the examples; nothing has changed then.
    """
    obj, rig = skinned.obj, skinned.rig
    is_linked = skinned.mesh.library is not None
    others = _other_users(skinned) if skinned.mesh.users > 1 and not is_linked else []
    if examples is not None:
        bones, rows, _ = examples.poses.solution.shape
        if bones * rows > len(skinned.mesh.vertices):
            raise BindingError(
                f"{obj.name} has fewer vertices than it takes to keep its {len(examples.rows)} "
                "example poses. Remove some."
            )
    # Bones that are named are known again after a renaming.
    named = named_bones(obj) & set(binding.skeleton.names)
    reads: set[str] = {"bones"} if skins_vertices(deformation, base) else set()
    reads |= {"examples"} if examples is not None else set()
    if deformation.compensation is None and not reads:
        if not (others or is_linked):
            replace_attributes(skinned.mesh, {})
        return ensure_palette(rig, binding, named) if named else None, None, 1
    hidden = None
    # Objects that share the mesh may need other attributes in it.
    bound = _bound_to(skinned) if others else ()
    differs = any(
        _bound_to(other) != bound or not are_measured_alike(skinned, settings, base, other)
        for other in others
    )
    if binding.followed or differs or is_linked:
        hidden = ensure_attribute_object(skinned, binding.vertex_count)
    palette = ensure_palette(
        rig,
        binding,
        measured_bones(deformation, binding.skeleton) | named,
        straight_bones(deformation, examples, base, binding.skeleton),
    )
    sets = write_attributes(
        skinned.mesh if hidden is None else mesh_of(hidden),
        binding,
        deformation,
        examples,
        palette,
        base,
        remove_others=hidden is not None or not others,
    )
    compute_what_is_read(palette, reads | computed_for(palette))
    return palette, hidden, sets


def uninstall(skinned: SkinnedObject) -> None:
    """Take our modifier away from an object, with its copies and all that only they needed.

    The Armature modifier is as the user had set it again.
    """
    obj = skinned.obj
    for record in (STATE_PROPERTY, BONES_PROPERTY):
        obj.pop(record, None)
    restore_modifier(skinned)
    release_settings(skinned)
    active = obj.modifiers.active
    let_shape_go(obj)
    for modifier in own_modifiers(obj):
        drop_modifier(obj, modifier)
    if SKIN_NAME in obj.modifiers:
        show_skin(skinned, None)
    if HOOKS_PROPERTY in obj:
        release_hooks(obj)
    if active is not None and active in obj.modifiers.values():
        obj.modifiers.active = active
    elif (armature := skinned.find_modifier()) is not None:
        obj.modifiers.active = armature
    remove_unused()


def forget_attributes(mesh: bpy.types.Mesh) -> None:
    """Remove what a mesh has for our modifiers, and what that was written from."""
    replace_attributes(mesh, {})
    mesh.pop(CONTENT_PROPERTY, None)


def remove_unused() -> None:
    """Remove the attributes, palettes and trees of this file that no modifier of ours uses.

    Palettes compute bones no longer where no tree reads them.
    """
    meshes = [SkinnedObject(obj) for obj in bpy.data.objects if obj.type == "MESH"]
    users = [each for each in meshes if own_modifiers(each.obj)]
    modifiers = [modifier for user in users for modifier in own_modifiers(user.obj)]
    palettes: dict[Any, set[str]] = {}
    for each in modifiers:
        palettes.setdefault(get_input(each, "Palette"), set()).update(reads_of(each))
    for palette, reads in palettes.items():
        # An override's points are in its library, for the tree that is there, too.
        is_own = palette is not None and mesh_of(palette).library is None
        if is_own and computed_for(palette) - reads:
            compute_what_is_read(palette, reads)
    used = palettes.keys() | {attribute_object_of(modifier) for modifier in modifiers}
    # One that something blocks has no modifier meanwhile.
    used |= {soft_copy(each) for each in meshes if keeps_soft_weights(each)}
    used |= {get_input(modifier, SOFT_COPY) for modifier in modifiers}
    for obj in list(bpy.data.objects):
        if is_hidden(obj) and obj.library is None and obj not in used:
            remove_hidden(obj)
            note_removed()
    read = {attribute_mesh(user) for user in users} | {each.data for each in palettes if each}
    for mesh in bpy.data.meshes:
        if mesh.library is None and not mesh.is_editmode and mesh not in read:
            forget_attributes(mesh)
    for tree in [tree for tree in bpy.data.node_groups if TREE_PROPERTY in tree]:
        if not tree.users and tree.library is None:
            remove_tree(tree)
            note_removed()


def _add_modifier(
    obj: bpy.types.Object, armature: bpy.types.Modifier, tree: bpy.types.NodeTree
) -> bpy.types.NodesModifier:
    active = obj.modifiers.active
    modifier = cast("bpy.types.NodesModifier", add_modifier(obj, _MODIFIER_NAME, "NODES"))
    use_tree(modifier, tree)  # at once: by the tree it is known as ours, whatever fails
    if active is not None:
        obj.modifiers.active = active
    move_beside(armature, modifier)
    modifier.show_expanded = False
    return modifier


def _name_for(modifier: bpy.types.NodesModifier, base: Base) -> None:
    """Give our modifier the name that a base needs, unless the user has chosen one."""
    name = _MODIFIER_NAME if base == "ARMATURE" else _NAME_ALONE
    if modifier.name != name and modifier.name in {_MODIFIER_NAME, _NAME_ALONE}:
        modifier.name = name
        look_again()


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
    return *bound, weights, by_itself, signature_before(skinned)


# Lets the node modifier deform an object with its Armature modifier, or in its place, and back.
#
# The Armature modifier stays in the stack, so that exporters find a skin: left on or hidden, as the
# base of the deformation is.


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
    only_content = bool(parts) and binding.content.keys() >= set(parts)
    is_new = not only_content and replaced_modifier(skinned.obj) != armature
    if nodes is None or not skinned.has_linked_mesh:
        options = {"follow_settings": True, "only_content": only_content}
        nodes = install(skinned, binding, settings, **options)
        if is_new:
            nodes.show_in_editmode = armature.show_in_editmode
    elif changed := changed_parts_of_linked_mesh(skinned, settings):
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
        for each in (nodes, *modifiers_before(skinned.obj)):
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
    for each in skinned.obj.modifiers:
        if is_own_modifier(each):
            set_modifier(each, show_viewport=False, show_render=False)
    restore_modifier(skinned)


def put_armature_modifier_back(skinned: SkinnedObject) -> None:
    """Take the node modifier away and show the Armature modifier as it was shown before.

    What the user has switched on meanwhile stays on.
    """
    nodes = skinned.ours
    if nodes is not None and skinned.has_linked_mesh:
        for each in (nodes, *modifiers_before(skinned.obj)):
            set_modifier(each, show_viewport=False, show_render=False)
        restore_modifier(skinned)
        return
    show_what_came_hidden(skinned)
    uninstall(skinned)


# The node modifier as an evaluator: the deformed vertices, without touching the user's scene.


def evaluate_by_modifier(obj: bpy.types.Object, binding: Binding, settings: Settings) -> Float32s:
    """Deform an object by the node modifier, in the state of the current view layer.

    A copy of the object and its mesh gets the modifier and is looked at in the current view layer;
    it is gone when this returns. The object itself may have another method, or none.

    Returns:
        shape (n, 3), float32, object space, before the modifiers that follow the Armature modifier.

    Raises:
        BindingError: the node modifier cannot be added, or it found another mesh than was bound.
    """
    with temporary_copy(obj) as copy:
        skinned = SkinnedObject(copy)
        for modifier in _not_ours_to_show(skinned):
            drop_modifier(copy, modifier)
        restore_modifier(skinned)
        skinned.modifier.show_viewport = True
        try:
            nodes = install(skinned, binding, settings)
            nodes.show_viewport = True
            bpy.context.view_layer.update()
            depsgraph = bpy.context.evaluated_depsgraph_get()
            mesh = mesh_of(copy.evaluated_get(depsgraph))
            if len(mesh.vertices) != binding.vertex_count:
                if binding.followed and binding.shape_keys is not None:
                    raise BindingError(binding.shape_keys.other_count(len(mesh.vertices)))
                raise BindingError(f"The mesh of {obj.name} has changed. Press Refresh.")
            positions = np.empty(3 * len(mesh.vertices), np.float32)
            position: Any = mesh.attributes["position"]
            position.data.foreach_get("vector", positions)
        finally:
            uninstall(skinned)
    return positions.reshape(-1, 3)


def _not_ours_to_show(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The copied node modifiers, and all modifiers after the base."""
    modifiers, mixed, ours = list(skinned.obj.modifiers), skinned.mixed_modifiers, skinned.ours
    after = modifiers[modifiers.index(skinned.modifier) + 1 :]
    after = [each for each in after if each not in mixed]
    return after if ours is None or ours in after else [*after, ours]
