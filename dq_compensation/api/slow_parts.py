"""Says what makes the posed frames of a character slow, in sentences."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..modifier.modifier_stack import our_modifiers
from ..modifier.tree_kind import kind_for
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import modifiers_read
from ..scene.blender.animation_curves import drivers
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import armature_modifier, find_rig, rig_of
from ..scene.settings.object_settings import Settings
from ..wording import counted, listed
from .skinned_characters import skinned_meshes

# Each mesh costs as much as some thousand vertices, whatever its size.
_MANY_MESHES = 4


def slow_parts(
    obj: bpy.types.Object, binding: Binding, settings: Settings, *, skins: bool
) -> tuple[str, ...]:
    """List what a posed frame of an object spends time on, besides deforming its vertices.

    Args:
        binding: of the object as it is now.
        skins: whether our node modifier skins the mesh itself, of `FrameTimes`.
    """
    return (
        *_meshes(obj),
        *_modifiers(obj),
        *(_own_skinning(obj, binding, settings) if skins else ()),
        *_drivers(obj),
    )


def _meshes(obj: bpy.types.Object) -> list[str]:
    rig = rig_of(obj)
    meshes = [other for other in skinned_meshes() if find_rig(other) == rig]
    if len(meshes) < _MANY_MESHES:
        return []
    return [
        f"{len(meshes)} meshes follow {rig.name}. Every mesh "
        "costs time of its own, however small it is: join those that need not be apart."
    ]


def _modifiers(obj: bpy.types.Object) -> list[str]:
    found = []
    before = [each.name for each in modifiers_read(obj)]
    if before:
        found.append(
            f"{listed(before)} before the Armature modifier of {obj.name}: Blender computes this "
            "again in every frame. Apply what need not stay."
        )
    armature, stack = cast("bpy.types.Modifier", armature_modifier(obj)), list(obj.modifiers)
    ours = our_modifiers(obj)
    after = [
        each
        for each in stack[stack.index(armature) + 1 :]
        if each.show_viewport and each not in ours
    ]
    subdivided = [each for each in after if each.type in {"SUBSURF", "MULTIRES"}]
    for each in subdivided:
        levels = getattr(each, "levels", 0)
        if levels:
            found.append(
                f"{each.name} of {obj.name} makes {4**levels} faces of each in the viewport. Lower "
                "its viewport level while you animate, or use Simplify."
            )
    others = [each.name for each in after if each not in subdivided]
    if others:
        found.append(
            f"{listed(others)} after the Armature modifier of {obj.name}: Blender computes this "
            "again in every frame. Turn off in the viewport what you need not see."
        )
    return found


def _own_skinning(obj: bpy.types.Object, binding: Binding, settings: Settings) -> list[str]:
    """Why the node modifier skins the mesh in the place of the Armature modifier."""
    armature = cast("bpy.types.ArmatureModifier", armature_modifier(obj))
    masked = bool(armature.vertex_group)
    deformation, examples = binding.deformation(settings), binding.acting_examples(settings)
    kind = kind_for(deformation, examples, "OWN", masked=masked, shape_varies=False, sets=0)
    reasons = {
        "example poses": kind.examples is not None,
        "the method Spherical Joint": kind.method == "SPHERICAL_JOINT",
        f"the blend group {settings.blend_group}": kind.blended,
        f"the vertex group {armature.vertex_group} of the Armature modifier": kind.masked,
    }
    return [
        f"{obj.name} needs {reason}: the node modifier skins it, which takes longer than the "
        "Armature modifier on most characters."
        for reason, acts in reasons.items()
        if acts
    ][:1]


def _drivers(obj: bpy.types.Object) -> list[str]:
    rig, keys = rig_of(obj), mesh_of(obj).shape_keys
    owners: list[Any] = [rig, rig.data, obj, keys]
    counts = 0
    for owner in owners:
        counts += sum("dq_compensation" not in _target(each) for each in drivers(owner))
    if not counts:
        return []
    return [f"{counted(counts, 'driver')} of {rig.name} and {obj.name}: computed in every frame."]


def _target(curve: Any) -> str:
    """The first path that a driver reads."""
    variables = curve.driver.variables
    return variables[0].targets[0].data_path if len(variables) else ""
