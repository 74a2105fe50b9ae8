"""Check: shape keys of a bake that act while DQ Compensation deforms: it corrects twice.

They were baked for Blender's own Armature modifier. An object that gets them is disabled; this
finds one that was enabled again.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ...bake.shape_key_bakes import FRAME_REFUSALS
from ...lifecycle.enabling import disable
from ...scene.blender.mesh import other_users
from ...session.status import NOTES
from ...setup_check.catalogue import CHECKS
from ...setup_check.checks.refusal import STALE_BINDING
from ...setup_check.fixes.requirements import require_editable
from ...setup_check.issue import Check, Fix, Issue, Repair
from ...setup_check.subject import Subject
from ...wording import counted, listed, verb
from .baked_keys import acting_keys, acting_keys_refusal

_WARNING_TWICE = (
    "{obj} is corrected twice: shape keys of a bake act on it, too: {names}. Mute them, or press "
    "Check and Mute Baked Keys."
)


def acting_keys_warning(obj: bpy.types.Object) -> str | None:
    """The warning for an enabled object with baked keys that act, or None."""
    names = acting_keys(obj)
    return _WARNING_TWICE.format(obj=obj.name, names=listed(names)) if names else None


def _find_baked_keys(subject: Subject) -> Iterator[Issue]:
    """The baked keys of an enabled object that are not muted."""
    obj = subject.obj
    names = acting_keys(obj) if subject.settings.is_enabled else []
    if not names:
        return
    others = other_users(subject.mesh)
    shared = f" So do those of {counted(others, 'object')} with the same mesh." if others else ""
    message = (
        f"Baked shape keys of {obj.name} act on top of DQ Compensation, which they stand in for, "
        f"so that it is corrected twice: {listed(names)}."
    )
    mute = Fix(
        "mute_keys",
        "Mute Baked Keys",
        "Mute these keys and let DQ Compensation alone correct the deformation",
        f"{counted(len(names), 'shape key')} of {obj.name} {verb(len(names), 'is', 'are')} "
        f"muted, and it looks different.{shared} Turn {verb(len(names), 'it', 'them')} on again "
        "where it is exported or disabled.",
    )
    disable = Fix(
        "disable",
        "Disable DQ Compensation",
        "Let the Armature modifier and these keys deform it, as after the bake",
        f"{obj.name} is deformed by its Armature modifier and its keys, and looks different.",
    )
    yield Issue("twice", "ERROR", message, fixes=(mute, disable))


def _mute_keys(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    require_editable(obj)
    yield
    names = acting_keys(obj)
    for name in names:
        subject.mesh.shape_keys.key_blocks[name].mute = True
    return f"Muted {counted(len(names), 'baked shape key')} of {obj.name}: {listed(names)}."


def _disable_for_keys(subject: Subject, _issue: Issue) -> Repair:
    require_editable(subject.obj)
    yield
    disable(subject.obj)
    return f"The Armature modifier and its shape keys deform {subject.obj.name} again."


BAKED_KEYS = Check(
    "baked_keys", _find_baked_keys, {"mute_keys": _mute_keys, "disable": _disable_for_keys}
)

FOLLOWS = ((NOTES, acting_keys_warning), (FRAME_REFUSALS, acting_keys_refusal))


def register() -> None:
    """Add the check: keys of a bake are muted before a binding is made anew."""
    CHECKS.insert(CHECKS.index(STALE_BINDING), BAKED_KEYS)


def unregister() -> None:
    """Take it away."""
    CHECKS.remove(BAKED_KEYS)
