"""Facts: what a result of ours was made from, by names that riggers know.

A *fact* has a name, a reader, and a digest that is equal while it is the same, in every session.
Whoever keeps a result keeps the facts that it was made from, in the file or for the session, and
`changed_since` names those that are others now. The list is in `docs/architecture.md`.

The *structure* of an object is cheap: names, counts, the Armature modifier, the bones at rest. No
vertex is read. The *content* is deep: the arrays that binding has read (`Binding.content`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..blender.armature import armature_of
from ..blender.bendy_bones import bendy_state
from ..blender.bulk_arrays import read_properties
from ..blender.envelopes import envelope_state
from ..blender.skinned_object import SkinnedObject
from .kept_examples import example_items
from .kept_shapes import digest_of_shapes
from .modifiers_before import values_before
from .shape_key_offsets import setup_of_keys
from .soft_copy import acting_soft_copy, digest_of_found_weights, keeps_soft_weights, record_of

# A custom property of an object: what its modifier was made for; and what is there of the others.
STATE_PROPERTY = "dq_compensation_made_for"
OTHER_MESHES = "other meshes"

Facts = dict[str, str]
"""The digests of facts by their names."""

_AT_REST = (
    ("use_deform", np.bool_, ()),
    ("use_envelope_multiply", np.bool_, ()),
    ("bbone_segments", np.int32, ()),
    ("matrix_local", np.float32, (16,)),
    ("tail_local", np.float32, (3,)),
)

FOLLOWED = "modifiers before the Armature modifier"
SOFT_WEIGHTS = "soft weights"


def digest(*values: object) -> str:
    """A short text that is equal for equal values: arrays by their bytes, all else as it prints."""
    pieces: list[bytes | NDArray[Any]] = []
    for value in values:
        if isinstance(value, np.ndarray):
            pieces += [str(value.shape).encode(), np.ascontiguousarray(value)]
        else:
            pieces.append(repr(value).encode())
    return hashlib.blake2b(b"".join(pieces), digest_size=10).hexdigest()


def changed_since(known: Mapping[str, Any], now: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the facts that are others now than those that are known."""
    return tuple(name for name, value in now.items() if known.get(name) != value)


def of_whom(changed: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What has changed of objects, by their names, for a sentence: of which, unless of all."""
    if len(set(changed.values())) == 1:
        return list(next(iter(changed.values())))
    return [f"{fact} of {name}" for name, facts in changed.items() for fact in facts]


def structure_of(skinned: SkinnedObject) -> Facts:
    """The facts of an object that are cheap to read."""
    obj, mesh, modifier = skinned.obj, skinned.mesh, skinned.find_modifier()
    keys, is_soft = mesh.shape_keys, keeps_soft_weights(skinned)
    items = example_items(obj) if len(skinned.settings.examples) else ()
    counts = (len(mesh.vertices), len(mesh.edges), len(mesh.polygons), len(mesh.loops))
    found = {
        "mesh": digest(counts),
        "vertex groups": digest(obj.vertex_groups.keys()),
        "shape keys": digest(() if keys is None else setup_of_keys(keys)),
        "example poses": digest(items),
        "solved shapes": digest(digest_of_shapes(obj)),
        FOLLOWED: digest_of_modifiers_before(skinned),
        SOFT_WEIGHTS: digest_of_soft_weights(skinned) if is_soft else digest(None),
    }
    if modifier is not None and modifier.object is not None:
        mask = (modifier.vertex_group, modifier.invert_vertex_group)
        mixes = bool(skinned.mixed_modifiers)
        found["Armature modifier"] = digest(modifier.name, modifier.use_vertex_groups, mask, mixes)
        found["envelopes"] = digest(*envelope_state(modifier))
        found["bones"] = digest_of_bones(modifier.object)
    return found


def digest_of_modifiers_before(skinned: SkinnedObject) -> str:
    """A digest that changes where other modifiers come before the Armature modifier."""
    return digest(values_before(skinned))


def digest_of_soft_weights(skinned: SkinnedObject) -> str:
    """The digest of what the soft weights that act on an object were made from."""
    copy = acting_soft_copy(skinned)
    return digest(None if copy is None else (record_of(skinned), digest_of_found_weights(copy)))


def digest_of_bones(armature: bpy.types.Object, *, named: bool = True) -> str:
    """The digest of the bones at rest: names, parents, Deform, segments, matrices and tails.

    Args:
        named: count the names; else bones are known by their places.
    """
    bones = armature_of(armature).bones
    called = {name: name if named else str(place) for place, name in enumerate(bones.keys())}
    parents = ["" if above is None else called[above.name] for above in (b.parent for b in bones)]
    read, bendy = read_properties(bones, _AT_REST), bendy_state(bones, called)
    return digest(list(called.values()), parents, *read, *bendy)
