"""Joints at which nothing is compensated, by the reason; one hint for a character."""

from __future__ import annotations

from collections.abc import Iterator

from ...lifecycle.character_settings import meshes_with_settings
from ...modifier.found_bones import IDLE_REASONS, found_bones
from ...scene.settings.object_settings import Settings, armature_with_settings
from ...wording import counted, listed
from ..issue import Check, Issue
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """What was found when the character was enabled, but for what the user has chosen."""
    acting = Settings.of(subject.obj)
    if not subject.settings.is_enabled or not acting.compensates:
        return
    armature = armature_with_settings(subject.obj)
    meshes = [subject.obj] if armature is None else meshes_with_settings(armature)
    found = found_bones(*meshes)
    chosen = {*acting.kinds_of_bones, *acting.bones_left_out("joints_left_out")}
    idle = {reason: sorted(names - chosen) for reason, names in found.idle.items()}
    bones = [name for names in idle.values() for name in names]
    if not bones:
        return
    parts = [
        f"{IDLE_REASONS[reason]}: {listed(names, 6)}." for reason, names in idle.items() if names
    ]
    said = " ".join(part[0].upper() + part[1:] for part in parts)
    message = (
        f"Nothing is compensated at the heads of {counted(len(bones), 'bone')} of "
        f"{subject.rig.name}. {said} The panel Joints has choices."
    )
    yield Issue("idle_joints", "INFORMATION", message, tuple(bones))


CHECK = Check("idle_joints", find, about_bones=True)
