"""Check: helper bones of a bake beside DQ Compensation, which corrects twice; and lost ones.

They were baked for the plain Armature modifier. An object that gets them is disabled; this finds
one that was enabled again. Bones get lost where a rig is generated anew, as by Rigify.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import bpy

from ...lifecycle.enabling import disable
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.kept_weights import kept_record, restore_refusal
from ...session.status import NOTES
from ...setup_check.catalogue import CHECKS
from ...setup_check.checks.refusal import STALE_BINDING
from ...setup_check.fixes.requirements import require_editable, require_editable_bones
from ...setup_check.issue import Check, Fix, FixError, Issue, Repair
from ...setup_check.subject import Subject
from ...wording import counted, listed, verb
from .bakes_removal import remove_bones_bake
from .helper_rig import HelperBone, Limb, Turn, add_helpers, helper_names

_WARNING_TWICE = (
    "{obj} is corrected twice: helper bones of a bake move it, too: {names}. Press Check and "
    "Remove Baked Helpers."
)


def acting_helpers_warning(obj: bpy.types.Object) -> str | None:
    """The warning for an enabled object that helper bones move, or None."""
    names = acting_helpers(obj)
    return _WARNING_TWICE.format(obj=obj.name, names=listed(names)) if names else None


def _find_baked_bones(subject: Subject) -> Iterator[Issue]:
    """The helper bones that act on an enabled object, and missing helper bones."""
    if kept_record(subject.obj) is None:
        return
    if acting := acting_helpers(subject.obj) if subject.settings.is_enabled else []:
        yield _acting(subject, acting)
    if missing := missing_helpers(subject.obj):
        yield _missing(subject, missing)


def _acting(subject: Subject, names: list[str]) -> Issue:
    obj = subject.obj
    message = (
        f"{counted(len(names), 'baked helper bone')} of {obj.name} "
        f"{verb(len(names), 'acts', 'act')} beside DQ Compensation, so that it is corrected twice: "
        f"{listed(names)}."
    )
    disable = Fix(
        "disable",
        "Disable DQ Compensation",
        "Let the plain Armature modifier and the helper bones deform it, as after the bake",
        f"{obj.name} is deformed by its Armature modifier, and looks different.",
    )
    return Issue("twice", "ERROR", message, tuple(names), fixes=(_removal(subject), disable))


def _missing(subject: Subject, helpers: list[HelperBone]) -> Issue:
    obj, armature = subject.obj, subject.rig
    message = (
        f"{obj.name} has weights for {counted(len(helpers), 'helper bone')} that {armature.name} "
        f"does not have any more: {listed([helper.name for helper in helpers])}."
    )
    add = Fix(
        "add_helpers",
        "Add Helpers Again",
        "Give the armature the helper bones that it had after the bake, with their constraints",
        f"{armature.name} gets {counted(len(helpers), 'bone')}, and {obj.name} looks different.",
    )
    return Issue("missing", "ERROR", message, fixes=(add, _removal(subject)))


def _removal(subject: Subject) -> Fix:
    name = subject.obj.name
    return Fix(
        "remove_helpers",
        "Remove Baked Helpers",
        "Give the mesh the weights that it had before the bake, and remove helper bones that no "
        "other mesh follows",
        f"{name} gets the weights from before the bake, and looks different. Where it is exported, "
        "it has to be baked again.",
    )


def _remove_helpers(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    require_editable(obj)
    require_editable_bones(subject)
    if reason := restore_refusal(obj):
        raise FixError(reason)
    yield
    count = remove_bones_bake([obj])
    return f"{obj.name} has its former weights. Removed {counted(count, 'helper bone')}."


def _add_helpers(subject: Subject, _issue: Issue) -> Repair:
    armature, helpers = subject.rig, missing_helpers(subject.obj)
    bones = require_editable_bones(subject).bones
    needed = {name: None for each in helpers for name in (each.parent, each.child)}
    gone = [name for name in needed if name not in bones]
    if gone:
        raise FixError(
            f"{armature.name} has no bones {listed(gone)}, which the helpers followed. Choose "
            "Remove Baked Helpers, and bake again."
        )
    yield
    add_helpers(armature, helpers)
    return f"Added {counted(len(helpers), 'helper bone')} to {armature.name}."


def _disable_for_bones(subject: Subject, _issue: Issue) -> Repair:
    require_editable(subject.obj)
    yield
    disable(subject.obj)
    return f"The Armature modifier and its helper bones deform {subject.obj.name} again."


def acting_helpers(obj: bpy.types.Object) -> list[str]:
    """The helper bones that a mesh object has weights for."""
    if kept_record(obj) is None:
        return []
    rig = SkinnedObject(obj).find_rig()
    return [] if rig is None else [name for name in helper_names(rig) if name in obj.vertex_groups]


def missing_helpers(obj: bpy.types.Object) -> list[HelperBone]:
    """The helper bones that a mesh object has weights for and its armature does not have."""
    rig = SkinnedObject(obj).find_rig()
    if rig is None or rig.pose is None:
        return []
    known, groups = rig.pose.bones, obj.vertex_groups
    return [each for each in kept_helpers(obj) if each.name not in known and each.name in groups]


def kept_helpers(obj: bpy.types.Object) -> list[HelperBone]:
    """The helper bones that a mesh object got from a bake, as its mesh remembers them."""
    record = kept_record(obj) or {"helpers": []}
    found = [HelperBone(**each) for each in record["helpers"]]
    return [
        replace(
            each,
            axes=tuple(each.axes),
            turns=tuple(Turn(*turn) for turn in each.turns),
            gauge_axes=tuple(each.gauge_axes),
            offset=tuple(each.offset),
            limb=None if each.limb is None else Limb(*each.limb),
        )
        for each in found
    ]


BAKED_BONES = Check(
    "baked_bones",
    _find_baked_bones,
    {"remove_helpers": _remove_helpers, "add_helpers": _add_helpers, "disable": _disable_for_bones},
)

FOLLOWS = ((NOTES, acting_helpers_warning),)


def register() -> None:
    """Add the check: bones of a bake are taken away before a binding is made anew."""
    CHECKS.insert(CHECKS.index(STALE_BINDING), BAKED_BONES)


def unregister() -> None:
    """Take it away."""
    CHECKS.remove(BAKED_BONES)
