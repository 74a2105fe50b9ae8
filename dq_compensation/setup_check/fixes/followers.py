"""Finds what goes where an object, or some of its bones, go."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, cast

import bpy

from ...scene.blender.animation_curves import bone_channel, drivers
from ...scene.blender.own_objects import is_hidden
from ...scene.blender.rna_properties import node_inputs
from ...scene.stack import own_modifiers
from ...wording import listed
from .bone_dependents import BONES_OF_MODIFIERS, all_constraints, animated
from .bone_motion import VECTOR_CHANNELS

# How paths of an object's properties begin that say where it is.
_PLACE = ("location", "rotation", "scale", "delta_", "matrix_")


class Followers:
    """What follows each object of the file: for all questions of a check, found in one walk.

    Children, and what follows by constraints, drivers and modifiers. What an armature deforms is
    left out, and so are hidden objects of ours.
    """

    def __init__(self) -> None:
        # By the session_uid of what is followed: who does, which bone if any, and whether the
        # place of the object counts.
        self._found: dict[int, set[tuple[str, str, bool]]] = {}
        for find in (_children, _constrained, _driven, _modified):
            for followed, name, bone, by_object in find():
                known = self._found.setdefault(followed.session_uid, set())
                known.add((name, bone, by_object))

    def sentence(self, obj: bpy.types.Object, bones: Collection[str] | None = None) -> str:
        """A sentence on what goes where an object goes, with a space before; empty without any.

        Args:
            bones: of an armature object; what follows one of these, from outside, counts then.
        """
        found = {
            name
            for name, bone, by_object in self._found.get(obj.session_uid, ())
            if (by_object if bones is None else bone in bones)
        }
        follows = "goes with it" if bones is None else "changes its place or size, too"
        return f" What follows it {follows}: {listed(sorted(found))}." if found else ""


# What is followed, who follows it, which of its bones, and whether the object's own place counts.
_Follower = tuple[bpy.types.ID, str, str, bool]


def _shown() -> Iterator[bpy.types.Object]:
    """The objects of the file, without hidden ones of ours."""
    yield from (obj for obj in bpy.data.objects if not is_hidden(obj))


def _children() -> Iterator[_Follower]:
    for child in _shown():
        if child.parent is not None:
            bone = child.parent_bone if child.parent_type == "BONE" else ""
            yield child.parent, child.name, bone, True


def _constrained() -> Iterator[_Follower]:
    for owner, constraint in all_constraints():
        ends = (
            *((constraint, "target", "subtarget"), (constraint, "pole_target", "pole_subtarget")),
            (constraint, "space_object", "space_subtarget"),
            *((each, "target", "subtarget") for each in getattr(constraint, "targets", ())),
        )
        for end, target, subtarget in ends if not is_hidden(constraint.id_data) else ():
            followed = getattr(end, target, None)
            if followed is not None and followed != constraint.id_data:
                yield followed, owner, getattr(end, subtarget, ""), True


def _driven() -> Iterator[_Follower]:
    for owner in animated():
        if isinstance(owner, bpy.types.Object) and is_hidden(owner):
            continue
        for variable in (each for curve in drivers(owner) for each in curve.driver.variables):
            for target in variable.targets:
                if target.id is not None and target.id != owner:
                    yield target.id, owner.name, *_place_read(variable, target)


def _place_read(variable: Any, target: Any) -> tuple[str, bool]:
    """The bone whose place a driver reads, or empty; and whether it reads that of the object."""
    if variable.type in {"TRANSFORMS", "LOC_DIFF", "ROTATION_DIFF"}:
        return target.bone_target, not target.bone_target
    place = bone_channel(re.sub(r"\[\d+\]$", "", target.data_path))
    bone = place[0] if place is not None and place[1] in VECTOR_CHANNELS else ""
    return bone, target.data_path.startswith(_PLACE)


def _modified() -> Iterator[_Follower]:
    for other, modifier, held in _modifiers():
        if modifier.type != "ARMATURE":
            for obj in held:
                for _, bone in BONES_OF_MODIFIERS:
                    yield obj, other.name, getattr(modifier, bone, ""), True


def _modifiers() -> Iterator[tuple[bpy.types.Object, Any, list[bpy.types.Object]]]:
    """All modifiers of others, with the other objects in their fields, and whose they are."""
    for other in _shown():
        for modifier in other.modifiers:
            fields = (each for each in modifier.bl_rna.properties if each.type == "POINTER")
            held = [getattr(modifier, field.identifier) for field in fields]
            if modifier.type == "NODES" and modifier not in own_modifiers(other):
                held += node_inputs(cast("bpy.types.NodesModifier", modifier))
            objects = [each for each in held if isinstance(each, bpy.types.Object)]
            yield other, modifier, [each for each in objects if each != other]


def modifiers_by_object() -> dict[int, list[tuple[str, Any]]]:
    """By the session_uid of objects: modifiers of others that have them in a field, and whose."""
    found: dict[int, list[tuple[str, Any]]] = {}
    for other, modifier, held in _modifiers():
        for obj in held:
            found.setdefault(obj.session_uid, []).append((other.name, modifier))
    return found
