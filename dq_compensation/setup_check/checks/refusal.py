"""Check: Enable does not refuse the object.

What other checks find with a button is left to them, and so is Edit Mode, which is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...lifecycle import enabling
from ...scene.blender.mesh import mesh_of
from ..fixes.object_transforms import is_nothing, own_scale
from ..issue import Check, Issue
from ..subject import Subject


def find(subject: Subject) -> Iterator[Issue]:
    """The sentence with which Enable refuses the object."""
    reason = enabling.refusal(subject.obj) if subject.obj.library is None else None
    if reason is not None and not _is_found_elsewhere(subject):
        yield Issue("refused", "ERROR", reason)


def _is_found_elsewhere(subject: Subject) -> bool:
    obj, armature = subject.obj, subject.armature
    mesh = mesh_of(obj)
    if armature is None or mesh.is_editmode:
        return True
    if mesh.shape_keys is not None and not mesh.shape_keys.use_relative:
        return True
    if is_nothing(own_scale(obj)) or is_nothing(own_scale(armature)):
        return True
    # A mesh without groups: its vertices are found, if it has any.
    is_skinned = not subject.deforming_bones.isdisjoint(subject.group_names)
    can_be = subject.modifier is not None and subject.modifier.use_vertex_groups
    return bool(subject.deforming_bones) and can_be and not is_skinned and len(mesh.vertices) > 0


CHECK = Check("refusal", find)
