"""The bones of a character for scripts: what they were taken for, and by choice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import bpy

from ..core.skeleton import BoneKind
from ..errors import UserError, raise_refusal
from ..lifecycle.enabling import linked_refusal
from ..modifier.found_bones import found_bones
from ..scene.blender.rigging import rig_of
from ..scene.settings.bone_texts import (
    changed_kinds,
    kinds_refusal,
)
from ..scene.settings.object_settings import (
    Settings,
    is_enabled,
    settings_of,
)
from ..ui_shared.arguments import (
    Objects,
    mesh_objects,
    meshes_of,
    several_names,
)
from ..ui_shared.script_runs import interrupts_wait
from .settings import changed_settings


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
