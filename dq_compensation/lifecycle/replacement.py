"""Puts our node modifier in the place of an object's Armature modifier, and takes it out again.

The Armature modifier stays in the stack, so that exporters find a skin; it is only hidden.
"""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..modifier.installation import install, is_stale, our_modifier, uninstall
from ..modifier.modifier_inputs import input_data_path
from ..scene.binding import Binding
from ..scene.errors import BindingError
from ..scene.evaluation import Settings
from ..scene.mesh import mesh_of
from ..scene.object_settings import settings_of
from ..scene.setup import armature_modifier

PROBLEM_FIXED = (
    "The mesh of {obj} is linked from another file, where it was enabled with other settings. "
    "Change them there, or make the mesh local."
)

_FACTOR_PATH = "dq_compensation.factor"


def is_fixed(obj: bpy.types.Object) -> bool:
    """Whether the node modifier came with a mesh from another file, as in a library override.

    What it reads from the mesh cannot be written here: it is shown or hidden, but stays as it is.
    """
    return mesh_of(obj).library is not None and our_modifier(obj) is not None


def replaces_truly(obj: bpy.types.Object) -> bool:
    """Whether the node modifier is there and made for what there is now, cheaply.

    Painted weights and moved vertices are not looked at.
    """
    return bool(settings_of(obj).native.replaced_modifier) and not is_stale(obj, Settings.of(obj))


def reads_the_same(one: Binding, other: Binding) -> bool:
    """Whether a modifier that was made from one binding is right for the other as well.

    Blender reports a mesh as edited for much that we do not read, and once more for each window
    that shows another view layer: also for what we ourselves have written.
    """
    ours, others = one.influences, other.influences
    return (
        one.signature == other.signature
        and np.array_equal(one.rest, other.rest)
        and np.array_equal(ours.bones, others.bones)
        and np.array_equal(ours.weights, others.weights)
        and _same_order(ours.blending_order, others.blending_order)
        and np.array_equal(one.object_to_armature, other.object_to_armature)
        and _same_examples(one, other)
    )


def _same_examples(one: Binding, other: Binding) -> bool:
    """Whether the shape keys of the example poses, which are the same, have the same shapes."""
    keys, others = one.shape_keys, other.shape_keys
    if keys is None or others is None or not one.example_items:
        return True
    rows = [keys.key_names.index(x.key) for x in one.example_items if x.key in keys.key_names]
    return np.array_equal(keys.offsets[rows], others.offsets[rows])


def _same_order(one: NDArray[np.int16] | None, other: NDArray[np.int16] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def replace_armature_modifier(obj: bpy.types.Object, binding: Binding) -> None:
    """Let the node modifier deform an object, by its settings; again brings it up to date.

    Raises:
        BindingError: a modifier stands in the way, or the mesh is linked and the modifier is made
            for other settings; nothing has changed then.
    """
    nodes = our_modifier(obj)
    if nodes is not None and is_fixed(obj):
        if is_stale(obj, Settings.of(obj)):
            raise BindingError(PROBLEM_FIXED.format(obj=obj.name))
    else:
        nodes = install(obj, binding, Settings.of(obj))
        _drive_factor(obj, nodes)
    native = settings_of(obj).native
    armature = armature_modifier(obj)
    if armature is None or native.replaced_modifier == armature.name:
        return
    if native.replaced_modifier and not (armature.show_viewport or armature.show_render):
        # It has another name now.
        native.replaced_modifier = armature.name
        return
    if is_fixed(obj):
        _show(nodes, viewport=True, render=True)
    else:
        nodes.show_in_editmode = armature.show_in_editmode
    native.replaced_modifier = armature.name
    native.replaced_show_viewport = armature.show_viewport
    native.replaced_show_render = armature.show_render
    _show(armature, viewport=False, render=False)


def was_taken_away(obj: bpy.types.Object) -> bool:
    """Whether the user has applied or removed the node modifier.

    Adding it again would deform an applied mesh twice, so that is left to the user.
    """
    return bool(settings_of(obj).native.replaced_modifier) and our_modifier(obj) is None


def put_armature_modifier_back(obj: bpy.types.Object) -> None:
    """Take the node modifier away and show the Armature modifier as it was shown before.

    What the user has switched on meanwhile stays on.
    """
    nodes = our_modifier(obj)
    if nodes is not None and is_fixed(obj):
        _show(nodes, viewport=False, render=False)
    else:
        if nodes is not None:
            _release_factor(obj, input_data_path(nodes, "Factor"))
        uninstall(obj)
    native = settings_of(obj).native
    if not native.replaced_modifier:
        return
    armature = obj.modifiers.get(native.replaced_modifier)
    if armature is None or armature.type != "ARMATURE":
        armature = armature_modifier(obj)
    native.replaced_modifier = ""
    if armature is None:
        return
    _show(
        armature,
        viewport=native.replaced_show_viewport or armature.show_viewport,
        render=native.replaced_show_render or armature.show_render,
    )


def _show(modifier: bpy.types.Modifier, *, viewport: bool, render: bool) -> None:
    """Show or hide a modifier; Blender hears of it only where that changes anything."""
    if modifier.show_viewport != viewport:
        modifier.show_viewport = viewport
    if modifier.show_render != render:
        modifier.show_render = render


def keep_factor(obj: bpy.types.Object) -> None:
    """Let the modifier keep the factor of now where the add-on is not there to say it."""
    nodes = our_modifier(obj)
    known = _driver_of(obj, input_data_path(nodes, "Factor")) if nodes is not None else None
    if known is None:
        return
    target = known.driver.variables[0].targets[0]
    factor = settings_of(obj).factor
    # Writing it makes Blender sort out all dependencies anew.
    if target.fallback_value != factor:
        target.fallback_value = factor


def _drive_factor(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> None:
    """Let the modifier's factor follow the object's, animated and driven ones, too.

    Where the add-on is not installed the object's property does not exist: the driver falls back
    to the factor that `keep_factor` has left.
    """
    path = input_data_path(nodes, "Factor")
    known = _driver_of(obj, path)
    if known is None:
        settings_of(obj).native.had_animation = obj.animation_data is not None
        known = cast("bpy.types.FCurve", obj.driver_add(path))
    driver = known.driver
    driver.type = "AVERAGE"
    variable = driver.variables[0] if len(driver.variables) else driver.variables.new()
    variable.type = "SINGLE_PROP"
    target = variable.targets[0]
    # A copy of the object brings a driver that still looks at the original.
    if target.id != obj:
        target.id = obj
    if target.data_path != _FACTOR_PATH:
        target.data_path = _FACTOR_PATH
    target.use_fallback_value = True
    target.fallback_value = settings_of(obj).factor


def _release_factor(obj: bpy.types.Object, path: str) -> None:
    if _driver_of(obj, path) is None:
        return
    obj.driver_remove(path)
    animation = obj.animation_data
    empty = animation and not (animation.action or animation.drivers or animation.nla_tracks)
    if empty and not settings_of(obj).native.had_animation:
        obj.animation_data_clear()


def _driver_of(obj: bpy.types.Object, path: str) -> bpy.types.FCurve | None:
    animation = obj.animation_data
    return animation.drivers.find(path) if animation else None
