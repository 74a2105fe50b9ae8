"""Characters for scripts: listed, enabled, set, softened, checked; and the add-on's version."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypedDict, get_type_hints

import bpy

from ..core.skeleton import BoneKind
from ..errors import BindingError, UserError, raise_refusal
from ..lifecycle import enabling
from ..lifecycle.character_settings import own_values, put_back
from ..lifecycle.enabling import linked_refusal, settings_changed, share_settings
from ..modifier.written_record import found_bones
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.blender.rigging import deformation_refusal, rig_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.addon_preferences import LOOKS, Look
from ..scene.settings.bone_texts import (
    changed_kinds,
    joint_softness_refusal,
    kinds_refusal,
    strengths_refusal,
)
from ..scene.settings.declaration import declared_in, frozen_values
from ..scene.settings.object_settings import (
    CHARACTER_CHOICES,
    GROUP_SETTINGS,
    CharacterChoices,
    Settings,
    armature_with_settings,
    is_enabled,
    settings_of,
    written_settings,
)
from ..scene.stack import find_rig
from ..session.changes import writing_settings
from ..session.status import status_of
from ..setup_check import fixing, ignoring
from ..setup_check.catalogue import CHECKS, find_issues, issues_of_character
from ..setup_check.ignoring import judged
from ..setup_check.issue import Fix, FixError, Issue
from ..setup_check.joined_issues import said_once
from ..softness import softening
from ..softness.softening import SofteningOptions, SofteningReport
from ..ui_shared.arguments import (
    Objects,
    OnProgress,
    chosen_depsgraph,
    interrupts_wait,
    mesh_object,
    mesh_objects,
    meshes_of,
    objects_of_scene,
    of_characters,
    one_or_all,
    require_choice,
    require_type,
    require_value,
    run_steps,
    selection_kept,
    several_names,
    with_option_arguments,
)

_MANIFEST = Path(__file__).parents[2] / "blender_manifest.toml"

VERSION: tuple[int, ...] = tuple(
    map(int, tomllib.loads(_MANIFEST.read_text(encoding="utf-8"))["version"].split("."))
)
"""Compares as `bpy.app.version` does: ``api.VERSION >= (0, 2, 0)``."""


# The settings of a character as values: read, checked, changed together.


SettingValues: Any = TypedDict("SettingValues", get_type_hints(CharacterChoices), total=False)  # type: ignore[misc]
"""The settings that `enable` and `change_settings` take."""


@frozen_values
class CharacterSettings(CharacterChoices):
    """The settings of one object: those of the panel, by the names of `Object.dq_compensation`.

    The factor is that of the current frame where it is animated.

    Attributes:
        enabled: whether DQ Compensation deforms the object.
    """

    _: KW_ONLY
    enabled: bool


@of_characters
def settings(obj: bpy.types.Object) -> CharacterSettings:
    """The settings of an object, enabled or not; of an armature a list for all its meshes.

    Raises:
        BindingError: it is neither a mesh nor an armature that deforms one.
    """
    obj = mesh_object(obj)
    if written_settings(obj) is None:
        return CharacterSettings(enabled=False)
    of_mesh: Any = settings_of(obj)
    acting: Any = settings_of(armature_with_settings(obj) or obj)
    values = {name: getattr(acting, name) for name in CHARACTER_CHOICES}
    values |= {name: getattr(of_mesh, name) for name in GROUP_SETTINGS}
    return CharacterSettings(enabled=of_mesh.is_enabled, **values)


def change_settings(objects: Objects, **settings: Any) -> None:
    """Change settings of objects together; enabled objects follow at once.

    Args:
        objects: mesh objects, or armatures for all their meshes.
        settings: by their names; see `CharacterSettings`.

    Raises:
        BindingError: one of them cannot be deformed with these settings; all are as before then.
        UserError: one of them is linked, or a setting cannot have that value.
    """
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(linked_refusal(obj))
    with interrupts_wait(), changed_settings(found, settings):
        pass


@contextmanager
def changed_settings(
    objects: Sequence[bpy.types.Object], values: Mapping[str, Any]
) -> Generator[None]:
    """Change settings, run the block, and let enabled objects follow.

    Raises:
        UserError: a setting cannot have that value.
        BindingError: an enabled object cannot be deformed any more. As after any error of the
            block, the settings are as before then.
    """
    for obj in objects:
        _require_values(obj, values)
    before = [own_values(obj, values) for obj in objects]
    known = [status_of(obj).problem for obj in objects]
    try:
        for obj in objects:
            _write(obj, values)
        share_settings(*objects, names=values)
        yield
        settings_changed(*objects, names=values)
        for obj, known_problem in zip(objects, known, strict=True):
            problem = status_of(obj).problem if is_enabled(obj) else None
            if problem not in (None, known_problem):
                raise BindingError(problem)
    except BaseException:
        for obj, own in zip(objects, before, strict=True):
            put_back(obj, own, values)
        settings_changed(*objects)
        raise


def _write(obj: bpy.types.Object, values: Mapping[str, Any]) -> None:
    with writing_settings():
        for name, value in values.items():
            setattr(settings_of(obj), name, value)


_BONE_REFUSALS = {
    "bone_kinds": kinds_refusal,
    "joint_strengths": strengths_refusal,
    "joint_softness": joint_softness_refusal,
}


def _require_values(obj: bpy.types.Object, values: Mapping[str, Any]) -> None:
    """Raise `UserError` where settings cannot have these values."""
    declared = declared_in(CharacterChoices)
    for name, value in values.items():
        if name not in declared:
            names = ", ".join(CHARACTER_CHOICES)
            raise UserError(f"There is no setting {name}. The settings are {names}.")
        if name not in GROUP_SETTINGS:
            require_value(declared[name], value, name)
            refusal = _BONE_REFUSALS.get(name)
            if refusal and value and (rig := find_rig(obj)) is not None:
                raise_refusal(refusal(value, rig))
        elif value not in ("", *obj.vertex_groups.keys()):
            raise UserError(f"{obj.name} has no vertex group {value}.")


# Finds the characters of a scene, enables and disables them.


def skinned_meshes(scene: bpy.types.Scene | None = None) -> list[bpy.types.Object]:
    """The mesh objects of a scene that an armature deforms, by name.

    Args:
        scene: by default the current one.

    Raises:
        UserError: it is no scene, or it was removed.

    Returns:
        every mesh object with an Armature modifier that has an armature; enabled or not, shown or
        hidden, local or linked.
    """
    found = objects_of_scene(scene)
    return sorted(
        (
            obj
            for obj in found
            if obj.type == "MESH"
            and not (is_hidden(obj) or is_posed_copy(obj))
            and find_rig(obj) is not None
        ),
        key=lambda obj: obj.name,
    )


def enable(objects: Objects, *, look: Look | None = None, **settings: Any) -> None:
    """Deform objects from now on, as the operator *Enable* does; harmless when they are enabled.

    A new character gets *Ball Joints*. The preferences for new characters do not act: a script does
    the same on every computer.

    Args:
        objects: mesh objects, or armatures for all their meshes.
        look: the settings of a preset: method, factor, curve, ball joints, softness, spread of
            twists.
        settings: of the objects, by their names; see `CharacterSettings`. They count more than the
            look.

    Raises:
        BindingError: one of them cannot be deformed; the message says why and what to do. All are
            as before then.
        UserError: one of them is linked, or a setting cannot have that value.
    """
    if look is not None:
        require_choice("look", look, tuple(LOOKS))
        settings = LOOKS[look] | settings
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(enabling.linked_refusal(obj))
        if not obj.users_scene:
            nowhere = f"{obj.name} is in no scene. Link it to a collection of one first."
            raise BindingError(deformation_refusal(SkinnedObject(obj)) or nowhere)
    new = [obj for obj in found if not is_enabled(obj)]
    with (
        interrupts_wait(),
        enabling.as_before_after_an_error(new),
        changed_settings(found, settings),
    ):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        _, refused = enabling.enable_all(new, depsgraph, by_script=True)
        raise_refusal(next(iter(refused), None), BindingError)
        settings_changed(*(obj for obj in found if obj not in new))
        for obj in found:
            raise_refusal(status_of(obj).problem, BindingError)


def disable(objects: Objects) -> None:
    """Give objects back to their Armature modifiers, every setting as before; harmless twice.

    Args:
        objects: mesh objects, or armatures for all their meshes.

    Raises:
        BindingError: one of them is not a mesh.
        UserError: one of them is enabled, and linked; nothing has changed then.
    """
    found = [
        obj
        for obj in mesh_objects(objects)
        if is_enabled(obj) or enabling.copied_modifier_warning(obj)
    ]
    for obj in found:
        raise_refusal(enabling.linked_refusal(obj))
    with interrupts_wait():
        enabling.disable(*found)


def disable_all() -> list[str]:
    """Give all objects of this file back to their Armature modifiers, in all its scenes.

    Returns:
        the names of those that still have our modifier: it belongs to another file.
    """
    with interrupts_wait():
        return [obj.name_full for obj in enabling.disable_all()[1]]


# The bones of a character: what they were taken for, and what the user takes them for.


@dataclass(frozen=True)
class BoneOfCharacter:
    """A bone that moves the skin of a character.

    Attributes:
        name: of the bone.
        found: what the skin and the weights show; of a chosen bone, what it is taken for now.
        chosen: what the user takes it for; None: what was found.
        idle: why nothing is compensated at its head; empty where something is.
    """

    name: str
    found: BoneKind
    chosen: BoneKind | None
    idle: str


def bones(obj: bpy.types.Object) -> list[BoneOfCharacter]:
    """The bones that move the skin of a character, as the panel *Joints* lists them.

    Args:
        obj: an enabled mesh; or an armature, for all its enabled meshes.

    Raises:
        BindingError: it is neither.
        UserError: it is not enabled, or its method compensates nothing.
    """
    meshes = [mesh for mesh in meshes_of(obj) if is_enabled(mesh)]
    meshes = [mesh for mesh in meshes if Settings.of(mesh).compensates]
    if not meshes:
        raise UserError(f"{obj.name} is not deformed by Compensated. Enable it with that method.")
    found, acting = found_bones(*meshes), Settings.of(meshes[0])
    chosen = acting.kinds_of_bones
    return [
        BoneOfCharacter(name, found.kind_of(name), chosen.get(name), found.reason(name, acting))
        for name in sorted(found.all)
    ]


def take_bones_for(objects: Objects, bones: Sequence[str], kind: BoneKind | None) -> None:
    """Take bones for something else than was found; enabled objects follow at once.

    Args:
        objects: mesh objects, or armatures for all their meshes.
        bones: their names.
        kind: LIMB, ROW, TWIST_BONE, FACE or RIGID; None: what was found.

    Raises:
        UserError: an armature has no bone of that name, it cannot be of that kind, or an object is
            linked. Nothing has changed then.
    """
    found, names = mesh_objects(objects), several_names(bones, "bones")
    for obj in found:
        raise_refusal(linked_refusal(obj))
        text = changed_kinds("", dict.fromkeys(names, "LIMB" if kind is None else kind))
        raise_refusal(kinds_refusal(text, rig_of(obj)))
    together: dict[str, list[bpy.types.Object]] = {}
    for obj in found:
        text = changed_kinds(settings_of(obj).bone_kinds, dict.fromkeys(names, kind))
        together.setdefault(text, []).append(obj)
    with interrupts_wait(), ExitStack() as changed:
        for text, alike in together.items():
            changed.enter_context(changed_settings(alike, {"bone_kinds": text}))


# Softens the weights of characters, and puts the painted ones back.


@dataclass(frozen=True, kw_only=True)
class _Arguments(SofteningOptions):
    progress: OnProgress | None = None


@with_option_arguments(_Arguments)
def soften_weights(objects: Objects, options: _Arguments) -> list[SofteningReport]:
    """Spread the weights of characters over more of their limbs, enabled or not.

    The painted weights are kept in the mesh; `restore_weights` gives them back. In Weight Paint
    with a paint mask only the chosen vertices change.

    Args:
        objects: mesh objects, or armatures for all their meshes.
        {options}
        progress: called after each step.

    Returns:
        a report for each object.

    Raises:
        UserError: one of them cannot be softened; nothing has changed then.
    """
    steps = softening.soften_weights(mesh_objects(objects), options)
    return run_steps(steps, options.progress)


def restore_weights(objects: Objects) -> None:
    """Give mesh objects the weights back that they had before they were softened, exactly.

    Args:
        objects: mesh objects, or armatures for all their meshes.

    Raises:
        UserError: one of them has none, or they cannot be written; nothing has changed then.
    """
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(softening.restoring_refusal(obj))
    with interrupts_wait():
        for obj in found:
            softening.restore_weights(obj)


# Setup Check for scripts: what spoils a character, and its fixes.


Agree = Callable[[Issue, Fix], bool]
"""Answers the question of a fix, `Fix.question`: whether to carry it out."""


def check(
    obj: bpy.types.Object,
    *,
    ignored: bool = False,
    depsgraph: bpy.types.Depsgraph | None = None,
) -> list[Issue]:
    """The issues that Setup Check finds in an object, enabled or not. Changes nothing.

    Args:
        obj: a mesh; or an armature, for all its meshes: what they share is said once, and
            `Issue.meshes` has their names.
        ignored: the issues that `ignore` was told to leave, in the place of all others.
        depsgraph: the state to look at; by default the current one.

    Returns:
        the issues, errors first, then warnings, then information; none where all is well. Each has
        a sentence for riggers, the names of the bones and the indices of the vertices that it is
        about, and the fixes that `fix` can carry out.

    Raises:
        BindingError: it is neither, or the armature has no meshes.
        UserError: the depsgraph is none.
    """
    meshes, state = meshes_of(obj), chosen_depsgraph(depsgraph)
    issues = issues_of_character(meshes, state)
    found = {
        mesh: [each for each in judged(mesh, issues[mesh]) if each.ignored == ignored]
        for mesh in meshes
    }
    return said_once(found) if obj.type == "ARMATURE" else found[meshes[0]]


def ignore(obj: bpy.types.Object, check: str, key: str, *, ignored: bool = True) -> None:
    """Leave an issue that Setup Check finds as it is; `check` and `fix` leave it out then.

    This is kept with the object. When there is more of the issue, it counts again, and says so.

    Args:
        obj: a mesh object, or an armature for all its meshes that have the issue.
        check, key: of the issue, `Issue.check` and `Issue.key`.
        ignored: False takes it back.

    Raises:
        UserError: there is no such issue, or the object is linked.
    """
    issues = issues_of_character(meshes_of(obj), chosen_depsgraph(None))
    found = [
        (mesh, issue)
        for mesh, each in issues.items()
        for issue in each
        if (issue.check, issue.key) == (check, key)
    ]
    if not found:
        raise UserError(f"{obj.name} has no issue {key} of the check {check}.")
    for mesh, issue in found:
        ignoring.ignore(mesh, issue, ignored=ignored)


def fix(
    obj: bpy.types.Object,
    check: str | None = None,
    *,
    key: str | None = None,
    fix: str | None = None,
    agree: bool | Agree = False,
) -> list[fixing.FixResult] | list[list[fixing.FixResult]]:
    """Fix issues that Setup Check finds in an object, enabled or not.

    Without further arguments it does what *Fix All* does: it carries out the first fix of every
    issue, unless that asks first, because it changes the look, the animation or other objects.
    Ignored issues stay, unless `key` names one.

    Args:
        obj: a mesh object, or an armature: a list for all its meshes then.
        check: the name of a check, `Issue.check`: only its issues.
        key: the key of an issue, `Issue.key`: only this one.
        fix: the name of a fix, `Fix.name`, in the place of the first one of each issue: issues
            that do not offer it stay.
        agree: the answer to fixes that ask first: True carries them out; a function gets the issue
            and the fix, whose `question` says with numbers what would change.

    Returns:
        a result for each issue that was fixed, refused, or left. What is left of an issue that
        several meshes share is with one of them.

    Raises:
        FixError: nothing of the character can be changed, for instance because it is linked.
        UserError: there is no such check or issue, or none of these checks has such a fix, or
            `agree` is no answer.
    """
    meshes = meshes_of(obj)
    for mesh in meshes:
        raise_refusal(fixing.fixing_refusal(mesh, fix), FixError)
    if not callable(agree):
        require_type("agree", agree, bool, "True, False or a function")
    checks = tuple(each for each in CHECKS if check in (None, each.name))
    if not checks:
        names = ", ".join(each.name for each in CHECKS)
        raise UserError(f"There is no check {check}. The checks are {names}.")
    fixes = [name for each in checks for name in each.fixes]
    if fix not in (None, *fixes):
        raise UserError(f"There is no fix {fix}. The fixes are {', '.join(fixes) or 'none'}.")

    def chosen(issue: Issue) -> Fix | None:
        wanted = [each for each in issue.fixes if fix in (None, each.name)][:1]
        for each in wanted:
            if not each.question or (agree(issue, each) if callable(agree) else agree):
                return each
        return None

    with interrupts_wait(), selection_kept():
        fixing.leave_edit_mode(bpy.context)
        keys = [
            [
                issue.key
                for issue in find_issues(mesh, chosen_depsgraph(None))
                if check in (None, issue.check)
            ]
            for mesh in meshes
        ]
        if key not in (None, *chain(*keys)):
            names = ", ".join(dict.fromkeys(chain(*keys))) or "none"
            raise UserError(f"There is no issue {key}. The issues are {names}.")
        outcomes = fixing.fix_all(meshes, chosen, checks, key)
        return one_or_all(obj, [outcome.results for outcome in outcomes])
