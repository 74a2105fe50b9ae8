"""Our modifiers in the stack of an object: described, compared with that, made so, removed.

| role | where | what it does |
|---|---|---|
| SHAPE, LINEAR, BACK | right before the base, where that is left on | `nodes.shape_trees` |
| DEFORMS | right behind the base | the node modifier that deforms, or adds to the base |
| SKIN | behind that, where the base is hidden | shows exporters a skin, and moves nothing |

The *base* is the user's Armature modifier, with those that *Multi Modifier* mixes into its result.

SKIN is bound to nothing: the exporter of USD writes the skin of the first Armature modifier that is
on in the viewport (in 4.2 to 5.2, though its option says renders), and Weight Paint normalises the
groups of such a one. The exporter of FBX asks for one with vertex groups, be it hidden: the user's
own cannot be bound to nothing.

A library override keeps the modifiers of its file and their order: what does not fit is turned off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import bpy

from ..holding import look_again
from ..scene.blender.own_objects import remove_modifier
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.stack import (
    BEFORE,
    LINEAR_NAME,
    SKIN_NAME,
    Role,
    add_modifier,
    drop_modifier,
    modifiers_with,
    record_of_tree,
    remember_roles,
    stack_of,
)
from ..session.changes import is_new
from .modifier_inputs import get_inputs, set_inputs
from .nodes.own_trees import KEY, is_unedited, note_removed_for_undo, use_tree
from .nodes.shape_trees import BACK_KEY, BACK_NAME, SHAPE_NAME
from .users_settings import set_modifier, where_ours_acts

_NAME = "DQ Compensation"
# Where the Armature modifier is off, and nothing else would say so without the add-on.
_NAME_ALONE = "DQ Compensation (if removed, turn on the Armature modifier)"
# Where it was copied from another object, and is off.
NAME_COPIED = "DQ Compensation (copied, press Enable)"
_NAMES = {_NAME, _NAME_ALONE, NAME_COPIED}

_SKIN: dict[str, object] = {
    "use_vertex_groups": False,
    "use_bone_envelopes": False,
    "use_multi_modifier": False,
    "show_viewport": True,
    "show_render": True,
}

Trees = Mapping[Role, Callable[[bpy.types.NodeTree | None], bpy.types.NodeTree]]
"""By the role the function that gives the tree: the one that a modifier has, or another one."""


@dataclass(frozen=True)
class OurModifier:
    """A modifier of ours as it has to be.

    Attributes:
        name: for a new one; users may choose others.
        values: of its properties.
        key: of its tree; "" for an Armature modifier.
        inputs: of its tree; others may be among them.
        behind: whether it stands behind the base.
    """

    role: Role
    name: str
    values: Mapping[str, object]
    key: str = ""
    inputs: Mapping[str, object] = field(default_factory=dict)
    behind: bool = False

    def differences(self, modifier: bpy.types.Modifier) -> list[str]:
        """What a modifier has otherwise."""
        found = [name for name, value in self.values.items() if getattr(modifier, name) != value]
        if not self.key:
            return found
        nodes = cast("bpy.types.NodesModifier", modifier)
        tree = nodes.node_group
        if tree is None or (tree.library is None and not is_unedited(tree, self.key)):
            return [*found, "node tree"]
        inputs = get_inputs(nodes).items()
        return found + [name for name, value in inputs if self.inputs.get(name) != value]


def described(
    skinned: SkinnedObject, record: Mapping[str, Any], inputs: Mapping[str, object]
) -> tuple[OurModifier, ...]:
    """The modifiers of ours that an object needs, in their order.

    Args:
        record: of the tree of DEFORMS, as it is or is to be.
        inputs: of that, likewise.
    """
    armature, found, shown = skinned.modifier, list[OurModifier](), dict[str, object]()
    if key := str(record.get("shape", "")):
        shown = where_ours_acts(skinned.obj) | {"show_in_editmode": armature.show_in_editmode}
        found.append(OurModifier("SHAPE", SHAPE_NAME, shown, key, inputs))
    if group := str(inputs.get("Blend Group", "")) if record.get("linear") else "":
        linear = shown | _linear_like(armature, group)
        found.append(OurModifier("LINEAR", LINEAR_NAME, linear))
        found.append(OurModifier("BACK", BACK_NAME, shown, BACK_KEY))
    is_alone = record.get("base") != "ARMATURE"
    name, key = _NAME_ALONE if is_alone else _NAME, str(record.get(KEY))
    values = {} if is_alone else {"show_in_editmode": armature.show_in_editmode}
    found.append(OurModifier("DEFORMS", name, values, key, inputs, behind=True))
    if is_alone:
        skin = _SKIN | {"object": skinned.find_rig()}
        found.append(OurModifier("SKIN", SKIN_NAME, skin, behind=True))
    return tuple(found)


def _linear_like(armature: bpy.types.ArmatureModifier, group: str) -> dict[str, object]:
    """The settings of an Armature modifier of ours that deforms to LINEAR as another one would."""
    names = ("object", "use_vertex_groups", "use_bone_envelopes")
    same: dict[str, object] = {name: getattr(armature, name) for name in names}
    return same | {
        "use_deform_preserve_volume": False,
        "use_multi_modifier": False,
        "vertex_group": group,
        "invert_vertex_group": True,
    }


def differences(
    skinned: SkinnedObject, record: Mapping[str, Any], inputs: Mapping[str, object]
) -> list[tuple[str, str]]:
    """What is not as described, as pairs of a modifier and what of it; empty of an override.

    Args:
        record, inputs: of DEFORMS, which the object has.
    """
    obj, stack = skinned.obj, stack_of(skinned.obj)
    if obj.override_library is not None:
        return []
    wanted = described(skinned, record, inputs)
    roles = [one.role for one in wanted]
    found = [(name, "not needed") for name, role in stack.roles.items() if role not in roles]
    names: dict[bool, list[str]] = {False: [], True: []}
    for one in wanted:
        of_role = stack.of(one.role)
        names[one.behind] += of_role
        if len(of_role) != 1:
            found.append((one.name, "more than one" if of_role else "missing"))
        elif one.role != "DEFORMS":  # where it is shown is the user's to say; `parts` has the rest
            modifier = obj.modifiers[of_role[0]]
            found += [(modifier.name, what) for what in one.differences(modifier)]
    if not found:
        order = [*names[False], cast("str", stack.base), *stack.mixed, *names[True]]
        now = obj.modifiers.keys()
        start = now.index(order[0])
        if now[start : start + len(order)] != order:
            found.append((order[-1], "place"))
    return found


def missing_names(
    skinned: SkinnedObject, record: Mapping[str, Any], inputs: Mapping[str, object]
) -> list[str]:
    """The names of the modifiers of ours that an object needs beside DEFORMS, and has not.

    Args:
        record, inputs: of DEFORMS, which the object has.
    """
    stack = stack_of(skinned.obj)
    return [one.name for one in described(skinned, record, inputs) if not stack.of(one.role)]


def apply(skinned: SkinnedObject, wanted: Sequence[OurModifier], trees: Trees) -> None:
    """Let an object have these modifiers of ours and no others. The active modifier stays so."""
    obj, is_override = skinned.obj, skinned.obj.override_library is not None
    with _active_stays(obj):
        kept: dict[Role, str | None] = {one.role: _fitting(obj, one) for one in wanted}
        for name in stack_of(obj).of(*(BEFORE if is_override else EVERY)):
            if name not in kept.values():
                remove_modifier(obj, obj.modifiers[name])
        new = [one for one in wanted if kept[one.role] is None]
        for one in new:
            if not (is_override and one.role == "SKIN"):
                kept[one.role] = _add(obj, one, trees)
        for one in wanted:
            name = kept[one.role]
            if name is not None and not _is_fixed(obj, name, one):
                kept[one.role] = _set(obj.modifiers[name], one, trees)
        ours: dict[Role, str] = {role: name for role, name in kept.items() if name is not None}
        roles: dict[str, Role] = {name: role for role, name in ours.items()}
        remember_roles(obj, stack_of(obj).roles | roles)
        _place(skinned, wanted, ours, [one.role for one in (new if is_override else wanted)])


EVERY: tuple[Role, ...] = (*BEFORE, "DEFORMS", "SKIN")


def _fitting(obj: bpy.types.Object, wanted: OurModifier) -> str | None:
    """The first modifier with the wanted role; of an override's file only as it has to be."""
    for name in stack_of(obj).of(wanted.role):
        if not _is_fixed(obj, name, wanted) or not wanted.differences(obj.modifiers[name]):
            return name
    return None


def _is_fixed(obj: bpy.types.Object, name: str, wanted: OurModifier) -> bool:
    is_of_file = obj.override_library is not None and obj.modifiers[name].is_override_data
    return is_of_file and not wanted.behind


def _add(obj: bpy.types.Object, wanted: OurModifier, trees: Trees) -> str:
    tree = trees[wanted.role](None) if wanted.key else None
    added = add_modifier(obj, wanted.name, "NODES" if wanted.key else "ARMATURE")
    if tree is not None:
        use_tree(added, tree)  # at once: by the tree it is known as ours, whatever fails
    added.show_expanded = False
    return added.name


def _set(modifier: Any, wanted: OurModifier, trees: Trees) -> str:
    """Set what is not as described; returns the name of the modifier."""
    if modifier.name in _NAMES and modifier.name != wanted.name:
        modifier.name = wanted.name
        look_again()
    if wanted.key:
        use_tree(modifier, trees[wanted.role](modifier.node_group))
        set_inputs(modifier, wanted.inputs)
    set_modifier(modifier, **wanted.values)
    return modifier.name


def _place(
    skinned: SkinnedObject,
    wanted: Sequence[OurModifier],
    names: Mapping[Role, str],
    moved: Collection[Role],
) -> None:
    """Move those with some roles to their places beside the base."""
    base = skinned.modifier.name
    before: list[Role] = [one.role for one in reversed(wanted) if not one.behind]
    behind: list[Role] = [one.role for one in wanted if one.behind]
    last = (base, *stack_of(skinned.obj).mixed)[-1]
    for first, roles in ((base, before), (last, behind)):
        beside = first
        for role in roles:
            if role in names and role in moved:
                move_beside(skinned.obj, beside, names[role], behind=roles is behind)
            beside = names.get(role, beside)


def move_beside(obj: bpy.types.Object, neighbour: str, name: str, *, behind: bool = True) -> None:
    """Move a modifier of ours right before or behind another one, if it is not there.

    It is pinned to the end of the stack (*Pin to Last*) where that one is: Blender keeps these
    behind all others.
    """
    modifiers = obj.modifiers
    pinned = modifiers[neighbour].use_pin_to_last
    if modifiers[name].use_pin_to_last != pinned:
        modifiers[name].use_pin_to_last = pinned
    start, place = modifiers.find(name), modifiers.find(neighbour) + behind
    # Moving it away from before the neighbour moves that up.
    place -= int(start < place)
    if start != place:
        modifiers.move(start, place)
        look_again()


def remove(obj: bpy.types.Object, roles: Sequence[Role] = EVERY) -> None:
    """Take our modifiers with these roles away; the active one stays so, or the base becomes it.

    An override's own SKIN stays, and those before the base are turned off.
    """
    with _active_stays(obj):
        for name in stack_of(obj).of(*roles):
            modifier, role = obj.modifiers[name], stack_of(obj).roles[name]
            if role == "DEFORMS":
                drop_modifier(obj, modifier)
            elif role != "SKIN" or obj.override_library is None:
                remove_modifier(obj, modifier)
    remember_roles(obj, stack_of(obj).roles)


def turn_off(obj: bpy.types.Object) -> None:
    """Turn all modifiers of ours off, in viewports and renders."""
    for each in modifiers_with(obj, *EVERY):
        set_modifier(each, show_viewport=False, show_render=False)


def remove_shape_for_undo(obj: bpy.types.Object) -> None:
    """Remove the modifiers before the base before an undo, if the older step may lack trees."""
    if any(is_new(each.node_group) for each in modifiers_with(obj, "SHAPE", "BACK")):
        note_removed_for_undo(obj)
        remove(obj, BEFORE)


def show_where_ours_acts(skinned: SkinnedObject) -> None:
    """Let the modifiers before the base, which all stay as they are, act where ours acts."""
    ours, shown = skinned.ours, where_ours_acts(skinned.obj)
    if ours is None:
        return
    for one in described(skinned, record_of_tree(ours.node_group), get_inputs(ours)):
        for modifier in () if one.behind else modifiers_with(skinned.obj, one.role):
            set_modifier(modifier, **shown)


@contextmanager
def _active_stays(obj: bpy.types.Object) -> Generator[None]:
    """Keep the active modifier; that of ours is followed by the base where it is removed."""
    active = obj.modifiers.active
    uid = None if active is None else active.persistent_uid
    try:
        yield
    finally:
        found = [each for each in obj.modifiers if each.persistent_uid == uid]
        if not found and (base := stack_of(obj).base) is not None:
            found = [obj.modifiers[base]]
        if found and obj.modifiers.active != found[0]:
            obj.modifiers.active = found[0]
