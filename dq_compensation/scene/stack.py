"""The modifiers of an object by what they are: the user's Armature modifier, ours, all others.

A node modifier of ours is known by the record in its tree, an Armature modifier of ours by its
name; both by their numbers, which the object's settings keep, whatever others rename or remove.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any, Literal, cast

import bpy

from ..holding import held, look_again

# The empty panel of a node tree's interface whose description is the record. Tools that remove
# custom properties leave it, and nobody sees it.
_TREE_RECORD = "DQ Compensation"
# One shows a skin and moves nothing, one deforms for the modifiers beside it alone.
SKIN_NAME = "DQ Compensation: Skin"
LINEAR_NAME = "DQ Compensation: Linear"

Role = Literal["SHAPE", "LINEAR", "BACK", "DEFORMS", "SKIN", "POSES"]
"""What a modifier of ours is for: `modifier.our_modifiers`; POSES is that of a palette."""
BEFORE: tuple[Role, ...] = ("SHAPE", "LINEAR", "BACK")
"""The roles of those before the Armature modifier, in their order."""
_OF_NODES: tuple[Role, ...] = ("SHAPE", "BACK", "DEFORMS")
_ARMATURES: dict[str, Role] = {SKIN_NAME: "SKIN", LINEAR_NAME: "LINEAR"}
# By these a copy of an Armature modifier of ours is known that has another name.
_BOUND = (
    *("object", "vertex_group", "invert_vertex_group", "use_vertex_groups", "use_bone_envelopes"),
    "use_deform_preserve_volume",
)


def written_settings(obj: bpy.types.Object) -> Any:
    """Our settings of an object if they were ever written, or read: that writes some. Else None.

    None has any where the add-on is not registered.
    """
    is_registered = hasattr(bpy.types.Object, "dq_compensation")
    has_any = is_registered and obj.is_property_set("dq_compensation")
    return getattr(obj, "dq_compensation") if has_any else None  # noqa: B009


def record_of_tree(tree: bpy.types.NodeTree | None) -> Mapping[str, Any]:
    """What a node tree of ours is for; empty for others."""
    interface: Any = None if tree is None else tree.interface
    panel = None if interface is None else interface.items_tree.get(_TREE_RECORD)
    is_panel = panel is not None and panel.item_type == "PANEL"
    return _parsed(panel.description) if is_panel else {}


@lru_cache(maxsize=64)
def _parsed(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def write_tree_record(tree: bpy.types.NodeTree, **changed: object) -> None:
    """Change entries of the record in a node tree, which is ours by that."""
    interface: Any = tree.interface
    record = json.dumps({**record_of_tree(tree), **changed})
    panel = interface.items_tree.get(_TREE_RECORD) or interface.new_panel(_TREE_RECORD)
    panel.description = record
    look_again()


@dataclass(frozen=True)
class Stack:
    """The modifiers of an object by what they are: names, each in the order of the stack.

    Attributes:
        base: the Armature modifier that ours works with. The first one that has an armature; when
            none has, the first one. Of an enabled object it stays the same one when another tool
            adds its own above it.
        rig: its armature object; None without one, or without its library.
        roles: what each modifier of ours is for, copies by a user included.
        ours: the first one of these that deforms; None without any.
        before: the user's before the base.
        mixed: the Armature modifiers whose results *Multi Modifier* mixes with that of the base;
            ours may stand between them.
    """

    base: str | None
    rig: bpy.types.Object | None
    roles: dict[str, Role]
    ours: str | None
    before: tuple[str, ...]
    mixed: tuple[str, ...]

    def of(self, *roles: Role) -> list[str]:
        """The modifiers of ours with these roles, in the order of the stack."""
        return [name for name, each in self.roles.items() if each in roles]


@held
def stack_of(obj: bpy.types.Object) -> Stack:
    """Look at the modifiers of an object, original or evaluated."""
    every = list(obj.modifiers)
    roles = _roles(obj, every)
    ours = next((name for name, role in roles.items() if role == "DEFORMS"), None)
    others = [each for each in every if each.name not in roles]
    base = _base_among(obj, [cast("Any", each) for each in others if each.type == "ARMATURE"])
    if base is None:
        return Stack(None, None, roles, ours, (), ())
    place = others.index(base)
    mixed = takewhile(
        lambda each: each.type == "ARMATURE" and cast("Any", each).use_multi_modifier,
        others[place + 1 :],
    )
    before = tuple(each.name for each in others[:place])
    rig = base.object if base.object is not None and base.object.type == "ARMATURE" else None
    return Stack(base.name, rig, roles, ours, before, tuple(each.name for each in mixed))


def is_base_first(obj: bpy.types.Object) -> bool:
    """Whether the Armature modifier of an enabled object is its first modifier; looks at no other.

    Where none is known to be, it is not.
    """
    settings, first = written_settings(obj), next(iter(obj.modifiers), None)
    if settings is None or first is None or first.type != "ARMATURE":
        return False
    return first.persistent_uid == settings.native.replaced_uid


def _roles(obj: bpy.types.Object, every: list[bpy.types.Modifier]) -> dict[str, Role]:
    """What each modifier of ours is for, by its name."""
    settings = written_settings(obj)
    has_state = settings is not None and settings.is_property_set("native")
    native = settings.native if has_state else None
    pairs = [each.partition(":") for each in native.parts.split()] if has_state else []
    known = {int(uid): role for uid, _, role in pairs if uid.isdigit()}
    found, above = dict[str, Role](), None
    for each in cast("list[Any]", every):
        role: Any = None
        if each.type == "NODES":
            role = record_of_tree(each.node_group).get("role")
        elif each.type == "ARMATURE":
            names = (name for name in _ARMATURES if each.name.startswith(name))
            role = _ARMATURES.get(next(names, ""))
        if role is None and each.persistent_uid in known:
            role = _remembered(each, known[each.persistent_uid])
        if role is None and above is not None and each.type == "ARMATURE":
            is_base = has_state and each.persistent_uid == native.replaced_uid
            is_copy = all(getattr(each, name) == getattr(above, name) for name in _BOUND)
            role = found[above.name] if is_copy and not is_base else None
        if role is not None:
            found[each.name] = role
        above = each if role is not None and each.type == "ARMATURE" else None
    return found


def _remembered(modifier: Any, role: Any) -> Role | None:
    """The role that its number is known by, if a modifier may be ours: Blender reuses numbers."""
    if modifier.type == "NODES":
        tree = modifier.node_group
        may_be = role in _OF_NODES and (tree is None or _TREE_RECORD in tree.name)
    elif modifier.type != "ARMATURE":
        may_be = False
    elif role == "SKIN":
        may_be = not modifier.use_vertex_groups
    else:
        may_be = role == "LINEAR" and modifier.invert_vertex_group and modifier.vertex_group
    return role if may_be else None


def remember_roles(obj: bpy.types.Object, roles: Mapping[str, Role]) -> None:
    """Remember by their numbers which modifiers of an object are ours."""
    native, modifiers = cast("Any", obj).dq_compensation.native, obj.modifiers
    parts = " ".join(f"{modifiers[name].persistent_uid}:{role}" for name, role in roles.items())
    if native.parts != parts:
        native.parts = parts
        look_again()


def _base_among(
    obj: bpy.types.Object, found: list[bpy.types.ArmatureModifier]
) -> bpy.types.ArmatureModifier | None:
    complete = [each for each in found if each.object is not None]
    if len(complete) > 1 and (settings := written_settings(obj)) is not None:
        before = settings.native
        uid, name = before.replaced_uid, before.replaced_modifier
        for each in complete:
            if each.persistent_uid == uid if uid else each.name == name:
                return each
    return next(iter(complete or found), None)


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


def modifiers_with(obj: bpy.types.Object, *roles: Role) -> list[Any]:
    """The modifiers of ours with these roles, copies by a user included."""
    return [obj.modifiers[name] for name in stack_of(obj).of(*roles)]


def own_modifiers_before(obj: bpy.types.Object) -> list[Any]:
    """The modifiers of ours before the Armature modifier, copies by a user included."""
    return modifiers_with(obj, *BEFORE)


def own_modifiers(obj: bpy.types.Object) -> list[bpy.types.NodesModifier]:
    """The node modifier that deforms an object, and copies of it by a user."""
    return modifiers_with(obj, "DEFORMS")
