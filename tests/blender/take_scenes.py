"""Characters with takes."""

from __future__ import annotations

import bpy

from tests.limb import build_limb, key_limb

Pair = tuple[bpy.types.Object, bpy.types.Object]

LENGTH = 20


def playing_limb(name: str = "Limb", takes: tuple[str, ...] = ("Swing",)) -> Pair:
    """An enabled limb with takes of 20 frames, the mesh selected and active."""
    obj, armature = build_limb(name)
    key_limb(armature, {1: 0.0, 9: 0.3, 1 + LENGTH: 0.0})
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    for take in takes:
        options = {"take_name": take, "first": 1, "last": 1 + LENGTH, "tolerance": 5.0}
        assert bpy.ops.dqc.take_cache(**options) == {"FINISHED"}
    return obj, armature
