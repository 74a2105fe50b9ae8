"""Digests of the input of a deformation: they show whether a result is still up to date.

*Structure* is cheap: names, counts, the Armature modifier, the bones at rest. No vertex is read.
*Content* is deep: the arrays that binding has read. Each part has a digest of its own, so that a
difference has a name. Digests say the same in every session: they are kept in the file.
"""

from __future__ import annotations

import hashlib
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..blender.armature import armature_of, names_of_parents
from ..blender.attributes import read_property
from ..blender.bendy_segments import bendy_state
from ..blender.envelopes import envelope_state
from ..blender.mesh import mesh_of
from ..blender.rigging import armature_modifier, mixed_modifiers
from .modifiers_before import signature_before
from .shape_key_offsets import shape_key_signature
from .soft_copy import acting_soft_copy, record_of
from .stored_examples import example_items

Digests = dict[str, str]

FOLLOWED = "modifiers before the Armature modifier"


def digest(*values: object) -> str:
    """A short text that is equal for equal values: arrays by their bytes, all else as it prints."""
    pieces: list[bytes | NDArray[Any]] = []
    for value in values:
        if isinstance(value, np.ndarray):
            pieces += [str(value.shape).encode(), np.ascontiguousarray(value)]
        else:
            pieces.append(repr(value).encode())
    return hashlib.blake2b(b"".join(pieces), digest_size=10).hexdigest()


def structure_of(obj: bpy.types.Object) -> Digests:
    """The digests that are cheap to make, by the name that a rigger knows the part by."""
    mesh, modifier = mesh_of(obj), armature_modifier(obj)
    counts = (len(mesh.vertices), len(mesh.edges), len(mesh.polygons), len(mesh.loops))
    found = {
        "mesh": digest(counts),
        "vertex groups": digest(obj.vertex_groups.keys()),
        "shape keys": digest(shape_key_signature(mesh)),
        "example poses": digest(example_items(obj)),
        FOLLOWED: digest(signature_before(obj)),
        "soft weights": digest(record_of(obj) if acting_soft_copy(obj) else None),
    }
    if modifier is not None and modifier.object is not None:
        mask = (modifier.vertex_group, modifier.invert_vertex_group)
        mixes = bool(mixed_modifiers(obj))
        found["Armature modifier"] = digest(modifier.name, modifier.use_vertex_groups, mask, mixes)
        found["envelopes"] = digest(*envelope_state(modifier))
        found["bones"] = digest_of_bones(modifier.object)
    return found


def digest_of_bones(armature: bpy.types.Object, *, named: bool = True) -> str:
    """The digest of the bones at rest: names, parents, Deform, segments, matrices and tails.

    Args:
        named: count the names; else bones are known by their places.
    """
    bones = armature_of(armature).bones
    called = {name: name if named else str(place) for place, name in enumerate(bones.keys())}
    return digest(
        list(called.values()),
        ["" if name is None else called[name] for name in names_of_parents(bones)],
        read_property(bones, "use_deform", np.bool_),
        read_property(bones, "use_envelope_multiply", np.bool_),
        read_property(bones, "bbone_segments", np.int32),
        read_property(bones, "matrix_local", np.float32, (16,)),
        read_property(bones, "tail_local", np.float32, (3,)),
        *bendy_state(bones, called),
    )
