"""Edits bones in a scene of their own: the user's scene and mode stay as they are."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress

import bpy

from ...errors import UserError
from .armature import armature_of, is_in_edit_mode
from .scenes import scene_aside, values_kept


@contextmanager
def edited_bones(armature: bpy.types.Object) -> Generator[bpy.types.ArmatureEditBones]:
    """The edit bones of an armature, inside of a `with`; its mode is the one before afterwards.

    Active object, selection and visibility of the user's scene are not touched: the armature goes
    into Edit Mode in a scene that lives as long as the `with`. `evaluate_unkeyed`
    has to come next.

    Raises:
        UserError: it is in Edit Mode already, or Edit Mode refuses it.
    """
    if is_in_edit_mode(armature):
        raise UserError(f"{armature.name} is in Edit Mode. Leave it (Tab) and try again.")
    mode, hidden = armature.mode, armature.hide_viewport
    try:
        # Edit Mode plays the animation into the pose, as it does for a user.
        with values_kept(), scene_aside(bpy.context.scene) as scene:
            scene.collection.objects.link(armature)
            layer = scene.view_layers[0]
            layer.objects.active = armature
            armature.hide_viewport = False
            with bpy.context.temp_override(
                scene=scene, view_layer=layer, active_object=armature, object=armature
            ):
                with suppress(RuntimeError):
                    bpy.ops.object.mode_set(mode="EDIT")
                if not armature_of(armature).is_editmode:
                    raise UserError(f"{armature.name} cannot go into Edit Mode.")
                try:
                    yield armature_of(armature).edit_bones
                finally:
                    bpy.ops.object.mode_set(mode=mode)
    finally:
        armature.hide_viewport = hidden
