"""Check: shape keys of a bake that act while DQ Compensation deforms: it corrects twice.

They were baked for Blender's own Armature modifier. An object that gets them is disabled; this
finds one that was enabled again.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...lifecycle import enabling
from ...scene.blender.mesh import mesh_of, other_users
from ...scene.settings.object_settings import settings_of
from ...scene.shape_keys.acting_keys import acting_keys
from ...wording import counted, listed
from ..fixes.requirements import require_editable
from ..issue import Check, Fix, Issue
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """The baked keys of an enabled object that are not muted."""
    obj = subject.obj
    names = acting_keys(obj) if settings_of(obj).enabled else []
    if not names:
        return
    others = other_users(mesh_of(obj))
    shared = f" So do those of {counted(others, 'object')} with the same mesh." if others else ""
    message = (
        f"Baked shape keys of {obj.name} act on top of DQ Compensation, which they stand in for, "
        f"so that it is corrected twice: {listed(names)}."
    )
    mute = Fix(
        "mute_keys",
        "Mute Baked Keys",
        "Mute these keys and let DQ Compensation alone correct the deformation",
        f"{counted(len(names), 'shape key')} of {obj.name} are muted, and it looks "
        f"different.{shared} Where it is exported or disabled, they have to be on again.",
    )
    disable = Fix(
        "disable",
        "Disable DQ Compensation",
        "Let the Armature modifier and these keys deform it, as after the bake",
        f"{obj.name} is deformed by its Armature modifier and its keys, and looks different.",
    )
    yield Issue("twice", "ERROR", message, fixes=(mute, disable))


def _mute_keys(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    require_editable(obj)
    names = acting_keys(obj)
    for name in names:
        mesh_of(obj).shape_keys.key_blocks[name].mute = True
    return f"Muted {counted(len(names), 'baked shape key')} of {obj.name}: {listed(names)}."


def _disable(subject: Subject, _issue: Issue) -> str:
    require_editable(subject.obj)
    enabling.disable(subject.obj)
    return f"The Armature modifier and its shape keys deform {subject.obj.name} again."


CHECK = Check("baked_keys", find, {"mute_keys": _mute_keys, "disable": _disable})
