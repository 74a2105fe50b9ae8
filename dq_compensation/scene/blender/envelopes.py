"""Bone envelopes as numbers: the factors that Blender's Armature modifier makes of them."""

from __future__ import annotations

import bpy
import numpy as np

from ...arrays import Float64s, Floats
from .armature import armature_of
from .bulk_arrays import read_property

_ENVELOPE = ("head_radius", "tail_radius", "envelope_distance", "envelope_weight")


def envelope_state(modifier: bpy.types.ArmatureModifier) -> tuple[object, ...]:
    """The settings that shape the envelopes of an Armature modifier, for a digest."""
    if modifier.object is None:
        return ()
    bones = armature_of(modifier.object).bones
    multiplied = read_property(bones, "use_envelope_multiply", np.bool_)
    if not modifier.use_bone_envelopes and not multiplied.any():
        return ()
    shapes = [read_property(bones, name, np.float32) for name in _ENVELOPE]
    return (modifier.use_bone_envelopes, multiplied, *shapes)


def envelope_factors(bone: bpy.types.Bone, positions: Floats) -> Float64s:
    """The weights of points in a bone's envelope, as Blender's `distfactor_to_bone` has them.

    1 within the radius, which goes from that of the head to that of the tail; it falls with the
    square of the distance from there, to 0 at the envelope's distance. Shape (n,).

    Args:
        positions: shape (n, 3), armature space.
    """
    head, tail = np.array(bone.head_local), np.array(bone.tail_local)
    reach = max(bone.head_radius, bone.tail_radius) + max(bone.envelope_distance, 0.0)
    low, high = np.minimum(head, tail) - reach, np.maximum(head, tail) + reach
    near = np.flatnonzero(((positions >= low) & (positions <= high)).all(axis=1))
    factors = np.zeros(len(positions))
    positions = positions[near]
    length = float(np.linalg.norm(tail - head))
    along = (positions - head) @ ((tail - head) / max(length, 1e-12))
    share = np.clip(along / max(length, 1e-12), 0.0, 1.0)
    nearest = head + share[:, None] * (tail - head)
    radii = bone.head_radius + share * (bone.tail_radius - bone.head_radius)
    outside = np.linalg.norm(positions - nearest, axis=1) - radii
    if bone.envelope_distance <= 0.0:
        factors[near] = outside < 0.0
    else:
        falling = 1.0 - np.square(np.maximum(outside, 0.0) / bone.envelope_distance)
        factors[near] = np.where(outside < bone.envelope_distance, np.maximum(falling, 0.0), 0.0)
    return factors
