"""Settings that name bones, as texts: names, kinds of bones, strengths and softness of joints."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import bpy

from ...core.skeleton import BONE_KINDS, BoneKind, BoneKinds, JointStrengths

KINDS: dict[BoneKind, tuple[str, str]] = {
    "LIMB": (
        "Limb",
        "It bends at its head as an elbow or a finger does: the skin keeps its distance from it. "
        "Softness softens its weights",
    ),
    "ROW": (
        "Row",
        "One of many in a tail, a rope or a hose: nothing is compensated at its head, and the skin "
        "stays round as with Preserve Volume",
    ),
    "TWIST_BONE": (
        "Twist Bone",
        "It lies on the limb of its parent, and shares out a twist or corrects: the joints of that "
        "limb compensate its skin",
    ),
    "FACE": (
        "Part of a Face",
        "Softness leaves its weights and those of the bones below it as they are painted",
    ),
    "RIGID": (
        "Rigid",
        "Nothing is added to its skin: no compensation, no spread twist, no softness",
    ),
}
"""The labels of what a bone can be taken for, and what that does."""


def text_of_names(names: Sequence[str]) -> str:
    """Names as one text, with commas between them.

    A name with a comma, a quote, or a space at an end is in quotes.
    """
    plain = (set(name).isdisjoint({",", '"'}) and name == name.strip() for name in names)
    quoted = ('"' + name.replace('"', '""') + '"' for name in names)
    return ", ".join(q[1:-1] if p else q for p, q in zip(plain, quoted, strict=True))


# Either a name in quotes, in which a quote is written twice, or one without spaces at its ends.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*?))\s*(?:,|$)')


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text, as `text_of_names` writes them."""
    found = (quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(text))
    return tuple(filter(None, found))


def text_of_choices(choices: Mapping[str, BoneKind | float]) -> str:
    """The kinds of bones, or numbers of joints, as one text: name=kind, name=0.5."""
    return text_of_names(
        [
            f"{bone}={choice}" if isinstance(choice, str) else f"{bone}={choice:.3g}"
            for bone, choice in choices.items()
        ]
    )


def _choices_in(text: str) -> dict[str, str]:
    """What is chosen for bones in such a text, by their names; the last one of a bone counts."""
    found = (name.rpartition("=") for name in names_in(text))
    return {bone: choice for bone, _, choice in found if bone}


def kinds_in(text: str) -> dict[str, BoneKind]:
    """The kinds of bones in such a text, by their names; other words do not count."""
    return {bone: kind for bone, kind in _choices_in(text).items() if kind in BONE_KINDS}


def strengths_in(text: str) -> dict[str, float]:
    """The numbers of joints in such a text, 0 to 1, by their bones; others do not count."""
    found = ((bone, _number(choice)) for bone, choice in _choices_in(text).items())
    return {bone: strength for bone, strength in found if 0.0 <= strength <= 1.0}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def changed_kinds(text: str, chosen: Mapping[str, BoneKind | None]) -> str:
    """Such a text with what some bones are taken for now; None: what was found."""
    kinds: dict[str, BoneKind | None] = {**kinds_in(text), **chosen}
    return text_of_choices({bone: kind for bone, kind in kinds.items() if kind is not None})


def kinds_by_index(text: str, names: Sequence[str]) -> BoneKinds:
    """The kinds of bones with these names in such a text, by their indices."""
    kinds = kinds_in(text)
    bones = enumerate(names if kinds else ())
    return tuple((bone, kinds[name]) for bone, name in bones if name in kinds)


def strengths_by_index(text: str, names: Sequence[str]) -> JointStrengths:
    """The numbers of joints of bones with these names in such a text, by their indices."""
    strengths = strengths_in(text)
    bones = enumerate(names if strengths else ())
    return tuple((bone, strengths[name]) for bone, name in bones if name in strengths)


def kinds_refusal(text: str, rig: bpy.types.Object) -> str | None:
    """Why the bones of an armature cannot be taken for what a text says, a sentence, or None."""
    for item in names_in(text):
        name, _, kind = item.rpartition("=")
        bone = rig.data.bones.get(name)  # type: ignore[union-attr]
        if kind not in BONE_KINDS or not name:
            return f"{item} does not say what a bone is taken for: name={', '.join(BONE_KINDS)}."
        if bone is None:
            return f"{rig.name} has no bone {name}."
        if kind == "TWIST_BONE" and bone.parent is None:
            return f"{name} has no parent, on whose limb a twist bone lies. Parent it first."
    return None


def strengths_refusal(text: str, rig: bpy.types.Object, noun: str = "strength") -> str | None:
    """Why a text gives no strengths to joints of an armature, a sentence, or None.

    Args:
        noun: what it gives to them.
    """
    for item in names_in(text):
        name, _, strength = item.rpartition("=")
        if not name or not 0.0 <= _number(strength) <= 1.0:
            return f"{item} does not say the {noun} of a joint, from 0 to 1: name=0.5."
        if name not in rig.data.bones:  # type: ignore[union-attr]
            return f"{rig.name} has no bone {name}."
    return None


def joint_softness_refusal(text: str, rig: bpy.types.Object) -> str | None:
    """Why a text gives no softness to joints of an armature, a sentence, or None."""
    return strengths_refusal(text, rig, "softness")


def renamed_in(text: str, renamed: Mapping[str, str]) -> str:
    """A JSON text with the new names of bones where it has their old ones, alone in a string."""

    def of(value: object) -> object:
        if isinstance(value, list):
            return [of(each) for each in value]
        return renamed.get(value, value) if isinstance(value, str) else value

    try:
        return json.dumps(of(json.loads(text))) if text else text
    except ValueError:  # damaged
        return text
