"""Remembers in the file what a node modifier was made for, and what bones were taken for.

The record of the object has all facts (`scene.binding.facts`) that its modifier depends on, and
those of the modifier's own parts. A part that is another one now has changed, or was edited by
hand. The record of the mesh says what its attributes were written from: an undo may read one of the
two as it was, and keep the other in memory; and objects may share a mesh.

What is compared, and what changes it:

| facts | what changes them | found by |
|---|---|---|
| mesh, vertex groups, shape keys | names and counts | `structure_of` |
| example poses | their poses and ranges | `structure_of` |
| followed modifiers | those before the Armature modifier, and what they use | `structure_of` |
| soft weights | what they were made from, and what was found | `structure_of` |
| Armature modifier, envelopes | its settings | `structure_of` |
| bones | names, hierarchy, places at rest, what deforms | `structure_of` |
| vertices, weights, example shapes | edits and strokes | `Binding.content` |
| other meshes | what these show of joints and pieces | `Binding.content` |
| settings; place | settings that act; where the object is to its armature | here |
| each part of ours | who edits or removes it | `parts.PARTS` |

The record of the object has a *stamp*, the version of trees and records that it was written by. One
with a lower stamp is brought up to date; one without a stamp, or with a higher one, is not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

import bpy
import numpy as np

from ..core.measured_joints import MeasuredJoints
from ..scene.binding.binding import Binding
from ..scene.binding.facts import (
    FOLLOWED,
    OTHER_MESHES,
    STATE_PROPERTY,
    Facts,
    changed_since,
    digest,
    structure_of,
)
from ..scene.binding.kept_examples import example_items
from ..scene.blender.armature import armature_of
from ..scene.blender.mesh import mesh_of, read_positions
from ..scene.blender.own_objects import keep_record, record_in
from ..scene.blender.placement import has_moved
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings
from ..wording import listed
from .attribute_names import ARRIVING
from .attributes.vertex_attributes import CONTENT_PROPERTY, digest_of_attributes
from .base import base_of
from .found_bones import BONES_PROPERTY, kinds_by_name
from .modifier_inputs import as_written
from .our_modifiers import missing_names
from .palette_object import edition_of
from .palette_points import bone_groups
from .parts import ATTRIBUTES, BASE, OF_MODIFIERS, PARTS, Part, Seen, Wanted
from .tree_kind import TREE_VERSION, Base

PLACE = "place by the armature"
# Of both records: the edition of the palette's tables, and the settings of the measurement.
_EDITION = "edition"
MEASURED = "measured by"
VERSION = "version of the add-on"
STAMP = "stamp"

_ALWAYS_RECORDED = ("curve", "limb_axis", "vertex_group", "blend_group")


class Origin(Enum):
    """The version of the add-on that has made the modifier of an object."""

    READABLE = auto()
    DEVELOPMENT = auto()
    NEWER = auto()


def origin_of(obj: bpy.types.Object) -> Origin:
    """Which version has made the modifier of an object, by the stamp of its record.

    Without a record, or with a damaged one, the modifier is made anew.
    """
    record = record_in(obj, STATE_PROPERTY)
    stamp = record.get(STAMP)
    if not isinstance(stamp, int):
        return Origin.DEVELOPMENT if record else Origin.READABLE
    return Origin.NEWER if stamp > TREE_VERSION else Origin.READABLE


def origin_refusal(skinned: SkinnedObject) -> str | None:
    """Why the modifier of an object is left alone, because of the version that made it; or None."""
    obj, origin = skinned.obj, origin_of(skinned.obj)
    if origin is Origin.READABLE:
        return None
    library = obj.library or (skinned.mesh.library if skinned.has_linked_mesh else None)
    if origin is Origin.NEWER:
        is_real = skinned.mesh.library is not None and library is None
        left = "The Armature modifier deforms it" if is_real else "It is left as it was saved"
        return (
            f"{obj.name} was enabled by a newer version of DQ Compensation. {left}. Update DQ "
            "Compensation to change it."
        )
    made = f"{obj.name} was enabled by a development build of DQ Compensation, before 1.0.0"
    if library is not None:
        file = bpy.path.basename(library.filepath)
        return f"{made}. It is shown as it was saved. Open {file}, press Refresh and save it."
    return f"{made}. The Armature modifier deforms it. Press Refresh to deform it again."


def remember(made: Wanted, modifier: bpy.types.NodesModifier) -> None:
    """Remember the state that the modifier of an object has just been made for."""
    skinned, binding, settings = made.skinned, made.binding, made.settings
    obj, mesh = skinned.obj, mesh_of(made.attributes or skinned.obj)
    facts: dict[str, object] = {**binding.content}
    # A palette may be there for the names of bones alone.
    if made.reads_mesh:
        facts[_EDITION] = edition_of(made.palette)
    if settings.compensates:
        facts[MEASURED] = _measuring_of(settings)
        facts["place"] = binding.object_to_armature.ravel().tolist()
        facts["extent"] = binding.extent
    # Else the mesh may have the attributes of an object that shares it.
    is_own = made.reads_mesh or not _is_shared(skinned)
    if is_own and facts != record_in(mesh, CONTENT_PROPERTY):
        keep_record(mesh, CONTENT_PROPERTY, facts)
    # What was not written is as it was remembered last.
    state = record_in(obj, STATE_PROPERTY) if made.keeps_modifiers else {}
    if made.only_content:
        state |= {ATTRIBUTES: digest(digest_of_attributes(mesh))}
    else:
        parts = [each for each in PARTS if not (made.keeps_modifiers and each.of_modifiers)]
        kept = {name: state[name] for name in OF_MODIFIERS & state.keys()}
        state = kept | _state(Seen(skinned, modifier), settings, binding.structure, parts)
    record: dict[str, object] = {**state, **facts, STAMP: TREE_VERSION}
    if isinstance(made.found.compensation, MeasuredJoints):
        record["joints"] = made.found.compensation.joint_counts
    keep_record(obj, STATE_PROPERTY, record)
    keep_record(obj, BONES_PROPERTY, kinds_by_name(made))


def _is_shared(skinned: SkinnedObject) -> bool:
    return skinned.mesh.library is not None or skinned.mesh.users > 1


def was_applied(skinned: SkinnedObject) -> bool:
    """Whether our missing modifier was applied: the mesh has another shape than it was made for.

    Blender applies none to a mesh with shape keys.
    """
    mesh = skinned.mesh
    written = record_in(mesh, CONTENT_PROPERTY).get("vertices")
    known = written is not None and mesh.shape_keys is None
    return known and written != digest(read_positions(mesh))


def partly_applied(seen: Seen) -> str | None:
    """Why a modifier of ours is left as it is, a sentence: those it works with were applied.

    It still gives what was seen: the mesh has the result of the others. None where none was, or
    where it would deform the mesh a second time.
    """
    skinned, obj = seen.skinned, seen.skinned.obj
    if obj.library is not None or not skinned.before_enable.replaced_modifier:
        return None
    was = (
        "was applied. Apply its other modifiers as well, in their order, or undo that. "
        "Refresh and Disable start from the mesh as it is now, which has the pose in it."
    )
    if skinned.find_modifier() is None:
        # With steps the soft copy takes the arriving shape along, as OWN does.
        deforms_it = seen.base == "OWN" or bool(seen.inputs.get("Step"))
        reason = f"The Armature modifier of {obj.name} {was}"
        return reason if not deforms_it and was_applied(skinned) else None
    missing = missing_names(skinned, seen.record, seen.inputs)
    has_shape = ARRIVING in skinned.mesh.attributes  # what SHAPE makes, which moves nothing
    if not missing or not (has_shape or was_applied(skinned)):
        return None
    return f"{listed(missing)} of {obj.name} {was}"


def changed_parts(
    seen: Seen, settings: Settings, binding: Binding | None = None
) -> tuple[str, ...]:
    """The parts that have changed since the modifier was made, by their names for riggers.

    Args:
        seen: the original mesh object.
        binding: of the object as it is now; without it, vertices and weights are taken on trust.
    """
    skinned = seen.skinned
    known = record_in(skinned.obj, STATE_PROPERTY)
    settings = as_written(skinned.obj, settings)
    structure = structure_of(skinned) if binding is None else binding.structure
    found = [*changed_since(known, _state(seen, settings, structure, PARTS))]
    if known.get(STAMP) != TREE_VERSION:
        found.append(VERSION)
    if ATTRIBUTES in found and _EDITION not in known and _is_shared(skinned):
        found.remove(ATTRIBUTES)  # of an object that shares the mesh
    written = record_in(mesh_of(seen.attributes or skinned.obj), CONTENT_PROPERTY)
    if settings.compensates and _is_elsewhere(skinned, known):
        found.append(PLACE)
    elif ATTRIBUTES not in found and _are_of_another(skinned, known, written):
        found.append(ATTRIBUTES)
    if binding is not None:
        found += changed_since(known, binding.as_skinned(settings).content)
    return tuple(found)


OLDER = frozenset(
    ("vertex groups", "shape keys", "bones", "envelopes", "Armature modifier")
    + ("vertices", "weights", "example shapes", "shapes of keys", OTHER_MESHES)
)
"""A modifier that was made before these have changed still fits the mesh and the bones."""


def changed_parts_of_linked_mesh(seen: Seen, settings: Settings) -> tuple[str, ...]:
    """The parts for which the modifier of an object with a linked mesh does not fit any more.

    That the object has moved is a note, and so are those that are `OLDER`; a modifier of an
    earlier version serves. What followed modifiers make otherwise in this file passes. Bones that
    the palette has and the armature has not do not move what they moved.
    """
    found, passing = changed_parts(seen, settings), OLDER | {PLACE, BASE, VERSION, FOLLOWED}
    palette, rig = seen.palette, seen.skinned.find_rig()
    if palette is not None and rig is not None:
        names = {name for name, _ in bone_groups(palette)}
        passing -= {"bones"} if names - set(armature_of(rig).bones.keys()) else set()
    return tuple(part for part in found if part not in passing)


def _are_of_another(skinned: SkinnedObject, known: dict[str, Any], written: dict[str, Any]) -> bool:
    """Whether the attributes of a mesh were written for another object than the one that has it.

    An object may get the mesh of another one; and an undo may read a mesh as it was, and keep an
    object in memory as it is.
    """
    if _EDITION not in known or _EDITION not in written:
        return False  # none is read
    if any(name in known and known[name] != written.get(name) for name in (_EDITION, MEASURED)):
        return True
    # Other methods do not measure: the mesh may still have the place of one that did.
    moved = "place" in known and known["place"] != written.get("place")
    return moved and _is_elsewhere(skinned, written)


def _is_elsewhere(skinned: SkinnedObject, known: dict[str, Any]) -> bool:
    """Whether an object is not at the place by its armature that a record has."""
    rig = skinned.find_rig()
    if "place" not in known or rig is None:
        return False
    before = np.reshape(known["place"], (4, 4))
    return has_moved(before, skinned.obj, rig, known["extent"])


def are_measured_alike(
    skinned: SkinnedObject, settings: Settings, base: Base, other: SkinnedObject
) -> bool:
    """Whether the compensation of an object and of another one can be the same attributes.

    Args:
        settings: of the object, as `base`.
        other: it shares the mesh and the armature, and has our modifier.
    """
    known, theirs = record_in(other.obj, STATE_PROPERTY), other.ours
    if settings.by_example and known.get("example poses") != digest(example_items(skinned.obj)):
        return False
    if not settings.compensates or MEASURED not in known or theirs is None:
        return True
    same_settings = known[MEASURED] == _measuring_of(settings)
    return same_settings and base_of(theirs) == base and not _is_elsewhere(skinned, known)


def _measuring_of(settings: Settings) -> str:
    """The settings of the measurement."""
    return " ".join((settings.curve, settings.limb_axis, *_options(settings)))


def _options(settings: Settings) -> list[str]:
    """The acting settings whose values are not those of new objects."""
    spread = ["spreads twists"] * (settings.twist_spread > 0.0)
    return spread + [
        f"{name} {value}"
        for name, value in settings.changed.items()
        if name not in _ALWAYS_RECORDED
    ]


def joint_counts(obj: bpy.types.Object) -> tuple[int, int] | None:
    """The joints that MEASURED acts at: from the hierarchy, and from the mesh.

    None where it is not used.
    """
    counts = record_in(obj, STATE_PROPERTY).get("joints")
    return None if counts is None else (counts[0], counts[1])


def _state(seen: Seen, settings: Settings, structure: Facts, parts: Iterable[Part]) -> Facts:
    """The digests of all that the modifier depends on but for what the mesh's record has."""
    found = structure.copy()
    found["settings"] = digest(
        (settings.acting_method, settings.curve, settings.limb_axis),
        (settings.vertex_group, settings.blend_group, settings.by_example),
        *_options(settings),
    )
    if seen.skinned.find_rig() is None:
        return found
    states = [part.state(seen) for part in parts]
    return found | {name: digest(value) for state in states for name, value in state.items()}
