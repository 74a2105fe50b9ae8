"""Check: features of bones and of the Armature modifier that count in Blender but not here."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...scene.armature import armature_of
from ...scene.object_settings import settings_of
from ...scene.setup import find_rig
from ...scene.weights_writing import write_groups, writing_refusal
from ...wording import counted, listed
from ..evidence.envelopes import envelope_factors, envelope_weights, without_bones
from ..fixes.requirements import require_editable_bones
from ..issue import Check, Fix, FixError, Issue
from ..subject import Subject

_CHECK = "bone_features"


def find(subject: Subject) -> list[Issue]:
    """Bendy bones, envelopes, masks and mixed modifiers."""
    found = (
        _bendy_bones(subject),
        _envelopes(subject),
        _multiplied_weights(subject),
        _mask(subject),
        _mixed_modifiers(subject),
    )
    return [issue for issue in found if issue is not None]


def _bendy_bones(subject: Subject) -> Issue | None:
    names = tuple(bone.name for bone in _used(subject) if bone.bbone_segments > 1)
    if not names or subject.armature is None:
        return None
    message = (
        f"Bendy bones of {subject.armature.name} deform {subject.obj.name}: {listed(names)}. "
        "Each moves as one straight bone here, without its curve and its twist along the bone."
    )
    fix = Fix(
        "straighten_bones",
        "Segments to 1",
        "Make the bendy bones straight ones, so that Blender shows them as they move here",
        f"One segment for {counted(len(names), 'bone')} of {subject.armature.name}. What the "
        "curves did to this and other meshes is gone, in Blender's own deformation as well.",
    )
    return Issue(_CHECK, "bendy_bones", "WARNING", message, names, fixes=(fix,))


def _envelopes(subject: Subject) -> Issue | None:
    modifier = subject.modifier
    if modifier is None or subject.armature is None or not modifier.use_bone_envelopes:
        return None
    if subject.rest_in_armature is None:
        return None
    vertices, weights = _enveloped(subject, modifier)
    moved = vertices[weights.max(axis=1, initial=0.0) > 0.0]
    if not len(moved):
        return None
    what = "without weights " if modifier.use_vertex_groups else ""
    moved_vertices = counted(len(moved), "vertex")
    message = (
        f"Bone envelopes move {moved_vertices} {what}of {subject.obj.name} in Blender "
        f"({modifier.name}, Bone Envelopes). DQ Compensation reads only vertex groups, so they "
        "stay behind."
    )
    fix = Fix(
        "envelopes_to_weights",
        "Envelopes to Weights",
        "Write the envelopes into vertex groups of the bones and turn Bone Envelopes off",
        f"Weights from the envelopes for {moved_vertices} of {subject.obj.name}"
        + ("." if modifier.use_vertex_groups else ", in place of those that they may have.")
        + " From then on the envelopes of the bones do nothing to it.",
    )
    return Issue(_CHECK, "envelopes", "ERROR", message, vertices=moved, fixes=(fix,))


def _multiplied_weights(subject: Subject) -> Issue | None:
    names = tuple(bone.name for bone in _used(subject) if bone.use_envelope_multiply)
    if not names or subject.armature is None:
        return None
    message = (
        f"Envelopes multiply the weights of {listed(names)} in Blender (Deform, Envelope "
        "Multiply). Here the weights count as they are painted."
    )
    fix = Fix(
        "multiply_weights",
        "Apply to Weights",
        "Multiply the painted weights by the envelopes and turn Envelope Multiply off",
        f"The weights of {counted(len(names), 'bone')} change for good, on every mesh that "
        f"{subject.armature.name} deforms.",
    )
    return Issue(_CHECK, "multiplied_weights", "ERROR", message, names, fixes=(fix,))


def _mask(subject: Subject) -> Issue | None:
    modifier = subject.modifier
    settings = settings_of(subject.obj)
    if modifier is None or not modifier.vertex_group or settings.display != "GPU":
        return None
    message = (
        f"{modifier.name} is limited to the vertex group {modifier.vertex_group}, which the GPU "
        f"display does not know: it deforms all of {subject.obj.name}. Renders are right."
    )
    fix = Fix(
        "use_modifier_display",
        "Modifier Display",
        "Show this object by the node modifier, which keeps to the vertex group",
        "The viewport may become slower.",
    )
    return Issue(_CHECK, "mask", "WARNING", message, fixes=(fix,))


def _mixed_modifiers(subject: Subject) -> Issue | None:
    native = settings_of(subject.obj).native
    if native.base_left_on or not native.replaced_modifier:
        return None
    names = [
        modifier.name
        for modifier in subject.obj.modifiers
        if isinstance(modifier, bpy.types.ArmatureModifier)
        and modifier != subject.modifier
        and modifier.use_multi_modifier
        and modifier.show_viewport
    ]
    if not names:
        return None
    message = (
        f"{listed(names)} of {subject.obj.name} mixes its result with the Armature modifier "
        "before it (Multi Modifier). That one is replaced here, so it deforms the result a second "
        "time instead. Merge the two armatures, or turn it off."
    )
    return Issue(_CHECK, "multi_modifier", "WARNING", message)


def _used(subject: Subject) -> list[bpy.types.Bone]:
    """The bones that move any vertex of the mesh."""
    if subject.skeleton is None or subject.armature is None:
        return []
    bones = armature_of(subject.armature).bones
    names = subject.skeleton.names
    return [bones[names[int(index)]] for index in np.flatnonzero(subject.used_bones)]


def _enveloped(
    subject: Subject, modifier: bpy.types.ArmatureModifier
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The vertices that Blender leaves to envelopes, and their weights on the deforming bones."""
    bones, positions = _deforming(subject), _in_armature_space(subject)
    if modifier.use_vertex_groups:
        vertices = without_bones(subject.weights, subject.group_names, subject.deforming_bones)
    else:
        vertices = np.arange(len(positions), dtype=np.int32)
    return vertices, envelope_weights(bones, positions[vertices])


def _deforming(subject: Subject) -> list[bpy.types.Bone]:
    if subject.armature is None:
        return []
    return [bone for bone in armature_of(subject.armature).bones if bone.use_deform]


def _in_armature_space(subject: Subject) -> NDArray[np.float64]:
    """Shape (n, 3): the rest shape.

    Raises:
        FixError: the mesh or the armature is flat.
    """
    positions = subject.rest_in_armature
    if positions is None:
        raise FixError(
            f"{subject.obj.name} or its armature has a scale of zero. Give it a size again first."
        )
    return positions


def _straighten_bones(subject: Subject, issue: Issue) -> str:
    armature = require_editable_bones(subject)
    for name in issue.bones:
        armature.bones[name].bbone_segments = 1
    return f"{counted(len(issue.bones), 'bone')} with one segment now: {listed(issue.bones)}"


def _envelopes_to_weights(subject: Subject, issue: Issue) -> str:
    modifier = subject.modifier
    if modifier is None:
        raise FixError(f"{subject.obj.name} has no Armature modifier any more.")
    vertices, weights = _enveloped(subject, modifier)
    multiplied = [bone.name for bone in _deforming(subject) if bone.use_envelope_multiply]
    if multiplied:
        raise FixError(
            f"Envelope Multiply of {listed(multiplied)} would multiply the new weights once more. "
            "Turn it off in the bones (Deform) first."
        )
    groups = {
        bone.name: weights[:, column]
        for column, bone in enumerate(_deforming(subject))
        if bone.name in subject.group_names or weights[:, column].any()
    }
    try:
        write_groups(subject.obj, groups, vertices)
    except UserError as error:
        raise FixError(str(error)) from error
    modifier.use_vertex_groups, modifier.use_bone_envelopes = True, False
    vertices = counted(len(issue.vertices), "vertex")
    return f"Gave {vertices} weights from envelopes in {counted(len(groups), 'group')}"


def _multiply_weights(subject: Subject, issue: Issue) -> str:
    """Multiply weights by envelopes, on every mesh of the armature."""
    armature = require_editable_bones(subject)
    meshes = [
        Subject(obj, subject.depsgraph)
        for obj in bpy.data.objects
        if obj.type == "MESH"
        and (rig := find_rig(obj)) is not None
        and rig.data == armature
        and any(name in obj.vertex_groups for name in issue.bones)
    ]
    for one in meshes:
        if refusal := writing_refusal(one.obj, issue.bones):
            raise FixError(refusal)
        _in_armature_space(one)
    written = set()
    for one in meshes:
        if one.obj.data not in written:
            written.add(one.obj.data)
            _multiply_weights_of(one, issue.bones)
    for name in issue.bones:
        armature.bones[name].use_envelope_multiply = False
    objects = counted(len(meshes), "object")
    return f"Envelopes are in the weights of {listed(issue.bones)} now, in {objects}"


def _multiply_weights_of(subject: Subject, names: tuple[str, ...]) -> None:
    positions = _in_armature_space(subject)
    for bone in _deforming(subject):
        if bone.name in names and bone.name in subject.group_names:
            painted = subject.weights.of_group(subject.group_names.index(bone.name))
            write_groups(subject.obj, {bone.name: painted * envelope_factors(bone, positions)})


def _use_modifier_display(subject: Subject, _issue: Issue) -> str:
    settings_of(subject.obj).display = "MODIFIER"
    return f"{subject.obj.name} is shown by the node modifier now"


CHECK = Check(
    _CHECK,
    find,
    {
        "straighten_bones": _straighten_bones,
        "envelopes_to_weights": _envelopes_to_weights,
        "multiply_weights": _multiply_weights,
        "use_modifier_display": _use_modifier_display,
    },
)
