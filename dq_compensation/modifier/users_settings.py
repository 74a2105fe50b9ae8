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
from collections.abc import Iterable
from typing import Any, cast

import bpy

from ..scene.blender.own_objects import parsed_record
from ..scene.blender.rigging import VISIBILITY, what_animates
from ..scene.settings.object_settings import settings_of
from ..scene.stack import armature_modifier, own_modifiers, own_modifiers_before

# Who has a property, and which. Modifiers of ours before the Armature modifier go with the node
# modifier, and have no record.
_DISPLAY = "OBJECT", "display_type"
_CAMERA = "OBJECT", "visible_camera"
_BASE = "BASE", "show_viewport"
_BASE_IN_RENDERS = "BASE", "show_render"
_VOLUME = "BASE", "use_deform_preserve_volume"
_OURS = "OURS", "show_viewport"
_OURS_IN_RENDERS = "OURS", "show_render"

# None: as the user has it.
REASONS: dict[str, dict[tuple[str, str], bool | str | None]] = {
    # The Armature modifier stays on, with Preserve Volume as the method needs it, or it is off.
    "base_left_on": {_VOLUME: True},
    "base_is_linear": {_VOLUME: False},
    "base_hidden": {_BASE: False, _BASE_IN_RENDERS: False},
    # Our modifier gets other vertices than it was made for, here or in renders.
    "passing": {_BASE: None, _BASE_IN_RENDERS: None},
    "passing_in_renders": {_BASE_IN_RENDERS: None, _OURS_IN_RENDERS: False},
    # Our modifier blends what the painted weights make of the mesh with the soft copy.
    "softness_blended": {_BASE: True, _VOLUME: True},
    # We draw the object. Shown as *Bounds* it leaves neither colour nor depth in a Solid viewport,
    # and can be clicked, box-selected and moved. Nobody pays for a deformation that nobody sees.
    "hidden": {_DISPLAY: "BOUNDS", _BASE: False, _OURS: False},
    # Material Preview and Rendered do not heed *Bounds*. Final renders heed this, not that.
    "hidden_from_camera": {_CAMERA: False},
    # In this session: something is drawn in its place; it is compared, exported or baked.
    "drawn_over": {_DISPLAY: "BOUNDS"},
    "compared": {_BASE: True, _VOLUME: None, _OURS: False},
    "exported": {("OBJECT", "hide_viewport"): False},
    "exported_plain": {
        _BASE: None,
        _BASE_IN_RENDERS: None,
        _VOLUME: None,
        _OURS: False,
        _OURS_IN_RENDERS: False,
    },
    "baked": {_BASE: True, ("OTHERS", "show_viewport"): False},
    "linear": {_VOLUME: False},
    "preserves_volume": {_VOLUME: True},
}
_OF_BASE = (
    *("base_left_on", "base_is_linear", "base_hidden"),
    *("passing", "passing_in_renders", "softness_blended"),
)
_IN_FILE = (*_OF_BASE, "hidden", "hidden_from_camera")

# By the number of a modifier, 0 for the object, and a property: the value of the user, and ours.
_Record = dict[str, Any]
# By the session_uid of an object: the reasons that hold for a moment, and what there was before.
_meanwhile: dict[int, tuple[dict[str, None], _Record]] = {}


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
        _follow(obj, now, about)


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
    """Let reasons hold for a moment, above those in the file, until `end_meanwhile`."""
    now, before = _meanwhile.setdefault(obj.session_uid, ({}, {}))
    now |= dict.fromkeys(reasons)
    _follow(obj, now, reasons, before)


def end_meanwhile(obj: bpy.types.Object, *reasons: str) -> None:
    """Let these of them hold no longer; without any, all of them."""
    now, before = _meanwhile.pop(obj.session_uid, ({}, {}))
    ended = reasons or tuple(now)
    if left := {each: None for each in now if each not in ended}:
        _meanwhile[obj.session_uid] = left, before
    _follow(obj, left, ended, before)


def users_value(modifier: bpy.types.Modifier, name: str) -> bool:
    """What the user has chosen for a property of a modifier, whatever holds in the file."""
    record = _in_file(cast("bpy.types.Object", modifier.id_data))
    return bool(_users(modifier, name, record.get(_key(modifier, name))))


def choose(modifier: bpy.types.Modifier, name: str, *, value: bool) -> None:
    """Set a property of a modifier as the user would: at once, or when no reason holds any more."""
    obj = cast("bpy.types.Object", modifier.id_data)
    record, key = _in_file(obj), _key(modifier, name)
    if key in record:
        _keep(obj, record | {key: [value, getattr(modifier, name)]})
    else:
        set_modifier(modifier, **{name: value})


def replaced_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier whose settings are remembered; it may have been renamed."""
    native = settings_of(obj).native
    for each in obj.modifiers if native.replaced_modifier else ():
        if each.type == "ARMATURE" and each.persistent_uid == native.replaced_uid:
            return cast("bpy.types.ArmatureModifier", each)
    return None


def where_ours_acts(obj: bpy.types.Object) -> dict[str, bool]:
    """The visibility of the modifiers of ours before the Armature modifier: where ours acts.

    Always where something else turns ours on and off: while it plays, nobody looks.
    """
    ours = next(iter(own_modifiers(obj)), None)
    animated = ours is not None and obj.animation_data is not None
    if ours is None or (animated and what_animates(obj, ours, VISIBILITY) is not None):
        return dict.fromkeys(VISIBILITY, True)
    return {name: getattr(ours, name) for name in VISIBILITY}


def set_modifier(modifier: bpy.types.Modifier, **values: Any) -> None:
    """Set properties of a modifier; Blender hears of it only where that changes anything."""
    for name, value in values.items():
        if getattr(modifier, name) != value:
            setattr(modifier, name, value)


def _follow(
    obj: bpy.types.Object,
    now: Iterable[str],
    about: Iterable[str],
    meanwhile: _Record | None = None,
) -> None:
    """Set what some reasons are about as those that hold now decide.

    Args:
        now: in the order of `REASONS`.
        meanwhile: the record that is brought in line; by default that in the file.
    """
    in_file = _in_file(obj)
    record = dict(in_file) if meanwhile is None else meanwhile
    rows, values = [REASONS[reason] for reason in now], list[tuple[Any, str, Any]]()
    for place in dict.fromkeys(place for reason in about for place in REASONS[reason]):
        decided = [row[place] for row in rows if place in row]
        for owner in _owners(obj, place[0]):
            key, name = _key(owner, place[1]), place[1]
            users = value = _users(owner, name, record.pop(key, None))
            if decided:
                value = decided[-1]
                value = _users(owner, name, in_file.get(key)) if value is None else value
                record[key] = [users, value]
            values.append((owner, name, value))
    if meanwhile is None:  # first: whatever fails, the user's values are known
        _keep(obj, record if rows else {})
    for owner, name, value in values:
        if getattr(owner, name) != value:
            setattr(owner, name, value)
    ours = own_modifiers(obj)
    if any(owner in ours for owner, *_ in values):
        shown = where_ours_acts(obj)
        shown |= {name: False for name in VISIBILITY if any(("OURS", name) in row for row in rows)}
        for each in own_modifiers_before(obj):
            set_modifier(each, **shown)


def _owners(obj: bpy.types.Object, who: str) -> list[Any]:
    if who == "OBJECT":
        return [obj]
    if who == "OURS":
        return list(own_modifiers(obj))
    base = replaced_modifier(obj) or armature_modifier(obj)
    if who == "OTHERS":
        return [each for each in obj.modifiers if each != base]
    return [] if base is None else [base]


def _key(owner: bpy.types.Object | bpy.types.Modifier, name: str) -> str:
    return f"{getattr(owner, 'persistent_uid', 0)} {name}"


def _in_file(obj: bpy.types.Object) -> _Record:
    settings = settings_of(obj)  # to read its group would write an empty one
    has_record = settings.is_property_set("native")
    return parsed_record(settings.native.users_settings) if has_record else {}


def _keep(obj: bpy.types.Object, record: _Record) -> None:
    native, text = settings_of(obj).native, json.dumps(record) if record else ""
    if native.users_settings != text:
        native.users_settings = text


def _users(owner: Any, name: str, recorded: object) -> Any:
    """The recorded value of the user; the present one where that is missing or damaged."""
    present = getattr(owner, name)
    match recorded:
        case [users, given] if given == present and type(users) is type(present):
            options = owner.bl_rna.properties[name]
            known = not isinstance(users, str) or users in options.enum_items
            return users if known else present
        case _:
            return present
