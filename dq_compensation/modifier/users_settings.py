"""What the user has set where the add-on sets something else, and how it comes back.

What is set in place of the user's value, and why, is a row of `REASONS`. Of the reasons that hold,
the last row decides. The user's value is kept once, and comes back when no reason is left. Where
the present value is not the one that was set, the user has changed it: that is the user's then.

Most reasons are flags in `Object.dq_compensation.native`, and what the user had is beside them: in
the file, so that undo, duplicates and crashed sessions know it. Others hold for a moment, in this
session alone, above those: also on linked objects.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import bpy

from ..scene.blender.own_objects import parsed_record
from ..scene.blender.rigging import VISIBILITY
from ..scene.settings.object_settings import settings_of
from ..scene.stack import armature_modifier, own_modifiers
from .nodes.own_trees import modifiers_before, shown_with

# Modifiers of ours before the Armature modifier go with the node modifier: they have no record.
Who = Literal["OBJECT", "BASE", "OURS"]
# By the number of a modifier, 0 for the object, and a property: the value of the user, and ours.
_Record = dict[str, Any]

# None: as the user has it.
REASONS: dict[str, dict[tuple[Who, str], bool | str | None]] = {
    # The Armature modifier stays on, with Preserve Volume as the method needs it, or it is off.
    "base_left_on": {("BASE", "use_deform_preserve_volume"): True},
    "base_is_linear": {("BASE", "use_deform_preserve_volume"): False},
    "base_hidden": {("BASE", "show_viewport"): False, ("BASE", "show_render"): False},
    # Our modifier gets other vertices than it was made for, here or in renders.
    "passing": {("BASE", "show_viewport"): None, ("BASE", "show_render"): None},
    "passing_in_renders": {("BASE", "show_render"): None, ("OURS", "show_render"): False},
    # We draw the object. Shown as *Bounds* it leaves neither colour nor depth in a Solid viewport,
    # and can be clicked, box-selected and moved. Nobody pays for a deformation that nobody sees.
    "hidden": {
        ("OBJECT", "display_type"): "BOUNDS",
        ("BASE", "show_viewport"): False,
        ("OURS", "show_viewport"): False,
    },
    # Material Preview and Rendered do not heed *Bounds*. Final renders heed this, not that.
    "hidden_from_camera": {("OBJECT", "visible_camera"): False},
    # In this session: something is drawn in its place; it is compared; it is exported.
    "drawn_over": {("OBJECT", "display_type"): "BOUNDS"},
    "compared": {
        ("BASE", "show_viewport"): True,
        ("BASE", "use_deform_preserve_volume"): None,
        ("OURS", "show_viewport"): False,
    },
    "compared_with_volume": {("BASE", "use_deform_preserve_volume"): True},
    "exported": {("OBJECT", "hide_viewport"): False},
    "exported_plain": {
        ("BASE", "show_viewport"): None,
        ("BASE", "show_render"): None,
        ("BASE", "use_deform_preserve_volume"): None,
        ("OURS", "show_viewport"): False,
        ("OURS", "show_render"): False,
    },
}
_OF_BASE = ("base_left_on", "base_is_linear", "base_hidden", "passing", "passing_in_renders")
_IN_FILE = (*_OF_BASE, "hidden", "hidden_from_camera")


@dataclass
class _Meanwhile:
    """What holds for a moment of an object."""

    reasons: dict[str, None] = field(default_factory=dict)
    record: _Record = field(default_factory=dict)


# By the session_uid of the object.
_meanwhile: dict[int, _Meanwhile] = {}


def set_reasons(obj: bpy.types.Object, **reasons: bool) -> None:
    """Let reasons hold in the file, or no longer; what they set is set again where they hold.

    Args:
        obj: an object of this file; harmless where nothing has held.
        reasons: by their names.
    """
    native = settings_of(obj).native
    about = [name for name, holds in reasons.items() if holds or getattr(native, name)]
    for name in about:
        if getattr(native, name) != reasons[name]:
            setattr(native, name, reasons[name])
    if about:
        now = [name for name in _IN_FILE if getattr(native, name)]
        record = parsed_record(native.users_settings)
        values = _decide(obj, record, now, about)
        _keep(obj, record if now else {})  # first: whatever fails, the user's values are known
        _set(obj, values, now)


def show_surface(obj: bpy.types.Object) -> None:
    """Show Blender's own surface of an object again where we have drawn it."""
    set_reasons(obj, hidden=False, hidden_from_camera=False)


def give_back(obj: bpy.types.Object) -> None:
    """Give the Armature modifier the settings that the user had chosen: it is the user's own."""
    set_reasons(obj, **dict.fromkeys(_OF_BASE, False))


def forget_settings(obj: bpy.types.Object) -> None:
    """Forget what the user had: all is as the user wants it now."""
    _keep(obj, {})


def set_meanwhile(obj: bpy.types.Object, *reasons: str) -> None:
    """Let reasons hold for a moment, beside others, until `end_meanwhile`."""
    found = _meanwhile.setdefault(obj.session_uid, _Meanwhile())
    found.reasons |= dict.fromkeys(reasons)
    beneath = parsed_record(settings_of(obj).native.users_settings)
    _set(obj, _decide(obj, found.record, found.reasons, reasons, beneath), found.reasons)


def end_meanwhile(obj: bpy.types.Object, *reasons: str) -> None:
    """Let these of them hold no longer, or none of them any more."""
    if (found := _meanwhile.get(obj.session_uid)) is None:
        return
    ended = reasons or tuple(found.reasons)
    for each in ended:
        found.reasons.pop(each, None)
    _set(obj, _decide(obj, found.record, found.reasons, ended), found.reasons)
    if not found.reasons:
        del _meanwhile[obj.session_uid]


def users_value(modifier: bpy.types.Modifier, name: str) -> bool:
    """What the user has chosen for a property of a modifier, whatever holds in the file."""
    native = settings_of(cast("bpy.types.Object", modifier.id_data)).native
    return bool(_users(modifier, name, parsed_record(native.users_settings)))


def choose(modifier: bpy.types.Modifier, name: str, *, value: bool) -> None:
    """Set a property of a modifier as the user would: at once, or when no reason holds any more."""
    obj = cast("bpy.types.Object", modifier.id_data)
    record, key = parsed_record(settings_of(obj).native.users_settings), _key(modifier, name)
    if key in record:
        _keep(obj, record | {key: [value, getattr(modifier, name)]})
    else:
        set_modifier(modifier, **{name: value})


def replaced_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier whose settings are remembered; it may have been renamed."""
    native = settings_of(obj).native
    for each in obj.modifiers if native.replaced_modifier else ():
        of_uid = native.replaced_uid == each.persistent_uid
        named = native.replaced_modifier == each.name
        if each.type == "ARMATURE" and (of_uid if native.replaced_uid else named):
            return cast("bpy.types.ArmatureModifier", each)
    return None


def set_modifier(modifier: bpy.types.Modifier, **values: Any) -> None:
    """Set properties of a modifier; Blender hears of it only where that changes anything."""
    for name, value in values.items():
        if getattr(modifier, name) != value:
            setattr(modifier, name, value)


def _decide(
    obj: bpy.types.Object,
    record: _Record,
    now: Collection[str],
    about: Iterable[str],
    beneath: _Record | None = None,
) -> list[tuple[Any, str, Any]]:
    """Decide by the reasons that hold now what some reasons are about; bring the record in line.

    Args:
        now: in the order of `REASONS`.
        beneath: the record in the file, if that of this session is changed.

    Returns:
        owners, properties and values.
    """
    found: list[tuple[Any, str, Any]] = []
    for who, name in dict.fromkeys(place for reason in about for place in REASONS[reason]):
        decided = [REASONS[reason][who, name] for reason in now if (who, name) in REASONS[reason]]
        for owner in _owners(obj, who):
            users = value = _users(owner, name, record)
            if decided:
                value = decided[-1]
                if value is None:
                    value = users if beneath is None else _users(owner, name, beneath)
                record[_key(owner, name)] = [users, value]
            else:
                record.pop(_key(owner, name), None)
            found.append((owner, name, value))
    return found


def _set(
    obj: bpy.types.Object, values: Collection[tuple[Any, str, Any]], now: Collection[str]
) -> None:
    """Set what was decided; the modifiers before ours are shown where ours is."""
    for owner, name, value in values:
        if getattr(owner, name) != value:
            setattr(owner, name, value)
    ours = own_modifiers(obj)
    if not any(owner in ours for owner, *_ in values):
        return
    shown = dict(zip(VISIBILITY, shown_with(ours[0]), strict=True))
    shown |= {name: False for name in VISIBILITY if any(("OURS", name) in REASONS[r] for r in now)}
    for each in modifiers_before(obj):
        set_modifier(each, **shown)


def _owners(obj: bpy.types.Object, who: Who) -> list[Any]:
    if who == "OBJECT":
        return [obj]
    if who == "OURS":
        return list(own_modifiers(obj))
    base = replaced_modifier(obj) or armature_modifier(obj)
    return [] if base is None else [base]


def _key(owner: bpy.types.Object | bpy.types.Modifier, name: str) -> str:
    return f"{getattr(owner, 'persistent_uid', 0)} {name}"


def _keep(obj: bpy.types.Object, record: _Record) -> None:
    native, text = settings_of(obj).native, json.dumps(record) if record else ""
    if native.users_settings != text:
        native.users_settings = text


def _users(owner: Any, name: str, record: _Record) -> Any:
    """The value of the user by a record; the present one where that is missing or damaged."""
    present = getattr(owner, name)
    match record.get(_key(owner, name)):
        case [users, given] if given == present and type(users) is type(present):
            options = owner.bl_rna.properties[name]
            known = not isinstance(users, str) or users in options.enum_items
            return users if known else present
        case _:
            return present
