"""The modifiers of an object by what they are: the user's Armature modifier, ours, all others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal, cast

import bpy

from ..holding import held, look_again

# Ours are known by a custom property of their tree, an Armature modifier of ours by its name.

# Of a node tree: the key of its kind.
TREE_PROPERTY = "dq_compensation_tree"
# Of the node trees that keep the arriving shape: True.
KEEPS_SHAPE_PROPERTY = "dq_compensation_keeps_shape"
# Of a palette: True. Its node modifier computes poses.
PALETTE_PROPERTY = "dq_compensation_palette_of"
# One shows a skin and moves nothing, one deforms for `modifier.nodes.own_trees` alone.
SKIN_NAME = "DQ Compensation: Skin"
LINEAR_NAME = "DQ Compensation: Linear"

Role = Literal["DEFORMS", "KEEPS_SHAPE", "LINEAR", "SKIN", "POSES"]


@dataclass(frozen=True)
class Stack:
    """The modifiers of an object by what they are: names, each in the order of the stack.

    Attributes:
        base: the Armature modifier that ours works with. The first one that has an armature; when
            none has, the first one. Of an enabled object it stays the same one when another tool
            adds its own above it.
        rig: its armature object; None without one, or without its library.
        roles: what each modifier of ours is for, copies by a user included.
        before: the user's before the base.
        mixed: the Armature modifiers whose results *Multi Modifier* mixes with that of the base;
            ours may stand between them.
    """

    base: str | None
    rig: bpy.types.Object | None
    roles: dict[str, Role]
    before: tuple[str, ...]
    mixed: tuple[str, ...]

    def of(self, role: Role) -> list[str]:
        """The modifiers of ours with a role."""
        return [name for name, each in self.roles.items() if each == role]


@held
def stack_of(obj: bpy.types.Object) -> Stack:
    """Look at the modifiers of an object, original or evaluated."""
    every = list(obj.modifiers)
    roles = {each.name: role for each in every if (role := _role_of(each)) is not None}
    if roles and PALETTE_PROPERTY in obj:
        roles = dict.fromkeys(roles, "POSES")
    others = [each for each in every if each.name not in roles]
    base = _base_among(obj, [cast("Any", each) for each in others if each.type == "ARMATURE"])
    if base is None:
        return Stack(None, None, roles, (), ())
    place = others.index(base)
    mixed = takewhile(_is_mixed, others[place + 1 :])
    before = tuple(each.name for each in others[:place])
    rig = base.object if base.object is not None and base.object.type == "ARMATURE" else None
    return Stack(base.name, rig, roles, before, tuple(each.name for each in mixed))


def _role_of(modifier: bpy.types.Modifier) -> Role | None:
    """What a modifier of ours is for; None for others."""
    if modifier.type == "NODES":
        tree = cast("bpy.types.NodesModifier", modifier).node_group
        if tree is None or TREE_PROPERTY not in tree:
            return None
        return "KEEPS_SHAPE" if KEEPS_SHAPE_PROPERTY in tree else "DEFORMS"
    if modifier.type != "ARMATURE":
        return None
    if modifier.name.startswith(SKIN_NAME):
        return "SKIN"
    if modifier.name.startswith(LINEAR_NAME):
        return "LINEAR"
    # Nothing is ours where the add-on is not registered. To read the group of an object that has
    # none would write an empty one.
    settings: Any = getattr(modifier.id_data, "dq_compensation", None)
    has_state = settings is not None and settings.is_property_set("native")
    is_known = has_state and settings.native.linear_uid == modifier.persistent_uid
    return "LINEAR" if is_known else None


def _base_among(
    obj: bpy.types.Object, found: list[bpy.types.ArmatureModifier]
) -> bpy.types.ArmatureModifier | None:
    complete = [each for each in found if each.object is not None]
    if len(complete) > 1:
        before: Any = cast("Any", obj).dq_compensation.native
        uid, name = before.replaced_uid, before.replaced_modifier
        for each in complete:
            if each.persistent_uid == uid if uid else each.name == name:
                return each
    return next(iter(complete or found), None)


def _is_mixed(modifier: bpy.types.Modifier) -> bool:
    is_armature = modifier.type == "ARMATURE"
    return is_armature and cast("bpy.types.ArmatureModifier", modifier).use_multi_modifier


def armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier that our modifier works with; None without any."""
    name = stack_of(obj).base
    return None if name is None else cast("bpy.types.ArmatureModifier", obj.modifiers[name])


def find_rig(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature object of `armature_modifier`; None without one, or without its library."""
    return stack_of(obj).rig


def add_modifier(obj: bpy.types.Object, name: str, type_: Any) -> Any:
    """Add a modifier at the end of the stack, before pinned ones."""
    look_again()
    return obj.modifiers.new(name, type_)


def drop_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> None:
    """Remove a modifier; whoever holds another one of the object has to find it again."""
    look_again()
    obj.modifiers.remove(modifier)


def is_own_modifier(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is ours, be it one that deforms nothing."""
    return modifier.name in stack_of(cast("bpy.types.Object", modifier.id_data)).roles


def own_modifiers(obj: bpy.types.Object) -> list[bpy.types.NodesModifier]:
    """The node modifier that deforms an object, and copies of it by a user."""
    names = stack_of(obj).of("DEFORMS")
    return [cast("bpy.types.NodesModifier", obj.modifiers[name]) for name in names]
