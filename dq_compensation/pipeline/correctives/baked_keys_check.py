"""Check: shape keys of a bake that act while DQ Compensation deforms: it corrects twice.

They were baked for Blender's own Armature modifier. An object that gets them is disabled; this
finds one that was enabled again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import bpy
import numpy as np

from ...bake.shape_key_bakes import FRAME_REFUSALS
from ...lifecycle.enabling import disable
from ...scene.blender.mesh import mesh_of, other_users
from ...session.status import NOTES
from ...setup_check.catalogue import CHECKS
from ...setup_check.checks.refusal import STALE_BINDING
from ...setup_check.fixes.requirements import require_editable
from ...setup_check.issue import Check, Fix, Issue, Repair
from ...setup_check.subject import Subject
from ...wording import counted, listed, verb
from .corrective_drivers import baked_keys, played_keys

_REFUSAL_ACTING = (
    "Shape keys of an earlier bake act on {obj}: {names}. A bake would correct the same twice. "
    "Mute or remove them, or bake the object that they were baked from."
)
_WARNING_TWICE = (
    "{obj} is corrected twice: shape keys of a bake act on it, too: {names}. Mute them, or press "
    "Check and Mute Baked Keys."
)


def acting_keys(obj: bpy.types.Object) -> list[str]:
    """The correctives and the keys of ranges that are not muted, in their order."""
    key = mesh_of(obj).shape_keys
    if key is None or key.animation_data is None:
        return []
    baked = set(baked_keys(obj))
    return [block.name for block in key.key_blocks if block.name in baked and not block.mute]


def acting_keys_warning(obj: bpy.types.Object) -> str | None:
    """The warning for an enabled object with baked keys that act, or None."""
    names = acting_keys(obj)
    return _WARNING_TWICE.format(obj=obj.name, names=listed(names)) if names else None


def acting_keys_refusal(
    obj: bpy.types.Object, frames: Sequence[float], replaced: Collection[str] = ()
) -> str | None:
    """Why frames cannot be baked, or None: keys that act already would be corrected once more.

    Args:
        frames: rising; keys of ranges that are off from the first to the last do no harm.
        replaced: the keys that the new bake replaces.
    """
    always, names = (-np.inf, np.inf), acting_keys(obj)
    spans = played_keys(obj) if names else {}
    names = [
        name
        for name, (start, end) in ((name, spans.get(name, always)) for name in names)
        if name not in replaced and start < frames[-1] and frames[0] < end
    ]
    return _REFUSAL_ACTING.format(obj=obj.name, names=listed(names)) if names else None


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
