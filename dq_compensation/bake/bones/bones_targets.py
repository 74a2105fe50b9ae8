"""The armature and the meshes that get helper bones: the characters themselves, or copies."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import bpy

from ...scene.blender.mesh import mesh_of
from ...scene.blender.rigging import armature_modifier, rig_of
from ...scene.shape_keys.key_animation import own_action
from ..bake_targets import BakeOnto, add_copy, let_armature_deform, remove_copy


@contextmanager
def bones_targets(
    objects: Sequence[bpy.types.Object], onto: BakeOnto, *, keyed: bool = False
) -> Generator[tuple[bpy.types.Object, list[bpy.types.Object]]]:
    """The armature and the meshes that get the bones; copies are removed again when it fails.

    Args:
        objects: mesh objects on one armature.
        keyed: a copied armature gets a copy of its action.
    """
    armature = rig_of(objects[0])
    if onto == "THIS":
        yield armature, list(objects)
        return
    rig = add_copy(armature)
    _make_local(rig)
    for owner in (rig, rig.data):
        _redirect(owner, {armature: rig, armature.data: rig.data})
    if keyed:
        own_action(rig)
    copies: list[bpy.types.Object] = []
    try:
        for obj in objects:
            copies.append(copy := add_copy(obj))
            # Before Blender evaluates it: an enabled copy would be followed.
            let_armature_deform(copy, "LINEAR")
            _put_on(copy, armature, rig)
        yield rig, copies
    except BaseException:
        for copy in (*copies, rig):
            remove_copy(copy)
        raise


def _put_on(copy: bpy.types.Object, armature: bpy.types.Object, rig: bpy.types.Object) -> None:
    """Let a copied mesh object follow a copied armature instead of the original one."""
    _make_local(copy)
    modifier = armature_modifier(copy)
    if modifier is not None:
        modifier.object = rig
    if copy.parent == armature:
        inverse = copy.matrix_parent_inverse.copy()
        copy.parent = rig
        copy.matrix_parent_inverse = inverse
    for owner in (copy, mesh_of(copy).shape_keys):
        if owner is not None:
            _redirect(owner, {armature: rig, armature.data: rig.data})


def _make_local(copy: bpy.types.Object) -> None:
    """Let a copy of a library override be none: it would neither get bones nor keep its changes."""
    if copy.override_library is not None:
        copy.make_local(clear_liboverride=True)


def _redirect(owner: Any, replaced: dict[Any, Any]) -> None:
    """Let drivers of a copy read the copies."""
    animation: Any = owner.animation_data
    for curve in animation.drivers if animation is not None else ():
        for variable in curve.driver.variables:
            for target in variable.targets:
                if target.id in replaced:
                    target.id = replaced[target.id]
