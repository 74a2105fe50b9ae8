"""Checks on bakes that act beside the live deformation: helper bones and shape keys."""

from __future__ import annotations

from collections.abc import Iterator

from ...lifecycle.enabling import disable
from ...scene.blender.mesh import other_users
from ...scene.vertex_groups import kept_record, restore_refusal
from ...setup_check.fixes.requirements import require_editable, require_editable_bones
from ...setup_check.issue import Check, Fix, FixError, Issue, Repair
from ...setup_check.subject import Subject
from ...wording import counted, listed, verb
from ..correctives.corrective_drivers import acting_keys
from .bones_source import remove_bones_bake
from .helper_rig import HelperBone, acting_helpers, add_helpers, missing_helpers

# Check: helper bones of a bake beside DQ Compensation, which corrects twice; and lost ones.
#
# They were baked for the plain Armature modifier. An object that gets them is disabled; this finds
# one that was enabled again. Bones get lost where a rig is generated anew, as by Rigify.


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


BAKED_BONES = Check(
    "baked_bones",
    _find_baked_bones,
    {"remove_helpers": _remove_helpers, "add_helpers": _add_helpers, "disable": _disable_for_bones},
)


# Check: shape keys of a bake that act while DQ Compensation deforms: it corrects twice.
#
# They were baked for Blender's own Armature modifier. An object that gets them is disabled; this
# finds one that was enabled again.


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
