"""Softness: the soft weights in the soft copy of a character follow those that are painted.

They are computed when weights, mesh, bones or the setting have changed, never in a frame. What they
were made from is in the copy as a record, so that a file says whether they are right.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...steps import Progress, run_through, with_progress
from ...wording import listed
from ..binding.bind import bind
from ..binding.binding import Binding
from ..binding.content import digest, digest_of_bones
from ..binding.modifiers_before import followed_modifiers, reshaping_modifiers
from ..binding.shape_key_offsets import ShapeKeys
from ..binding.soft_copy import RECORD_PROPERTY, soft_copy, write_points
from ..blender.animation_curves import animated_paths
from ..blender.armature import armature_of
from ..blender.attributes import AttributeType, read_attribute
from ..blender.mesh import mesh_of, read_positions, read_weights
from ..blender.rigging import armature_modifier, mixed_modifiers, rig_of
from ..settings.object_settings import settings_of
from .softened_skin import Skin, with_soft_rows
from .softening import unsuited_refusal
from .weights_writing import write_rows

# The most bones that a vertex follows: Blender needs no limit, and more are not seen.
_INFLUENCES = 8
# The data paths that move an object.
_MOVING = ("location", "rotation", "scale", "delta_")


def softness_refusal(obj: bpy.types.Object) -> str | None:
    """Why softness does not act on an object that can be deformed, a sentence, or None; cheap."""
    if reason := unsuited_refusal(obj):
        return reason
    names = listed([each.name for each in mixed_modifiers(obj)])
    if names:
        return (
            f"Softness does not act on {obj.name}, into which {names} is mixed (Multi Modifier). "
            "Turn that off, or press Soften Weights."
        )
    names = listed([each.name for each in followed_modifiers(obj)])
    if names:
        return (
            f"Softness does not act on {obj.name}, which gets other vertices from {names}. Apply "
            f"{names}, move the Armature modifier above, or press Soften Weights."
        )
    return None


def content_digests(obj: bpy.types.Object) -> tuple[str, str]:
    """The digests of what soft weights are made from, and of the vertices whose shape varies."""
    mesh, modifier = mesh_of(obj), armature_modifier(obj)
    others = settings_of(obj).softness_group, modifier.vertex_group if modifier is not None else ""
    names = [*armature_of(rig_of(obj)).bones.keys(), *others]
    place = {name: index for index, name in enumerate(names)}
    groups = np.array([place.get(each.name, -1) for each in obj.vertex_groups] or [-1])
    weights = read_weights(mesh)
    bones = groups[weights.groups]
    read = bones >= 0
    keys = ShapeKeys.read(obj, weights)
    painted = digest(
        weights.vertices[read],
        bones[read],
        weights.weights[read],
        read_positions(mesh) if keys is None else keys.basis,
        read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, len(mesh.loops)),
    )
    return painted, digest(_varying(obj, keys))


def _varying(obj: bpy.types.Object, keys: ShapeKeys | None) -> NDArray[np.intp]:
    """The vertices that shape keys or modifiers move before the Armature modifier."""
    if reshaping_modifiers(obj):
        return np.arange(len(mesh_of(obj).vertices))
    if keys is None:
        return np.zeros(0, np.intp)
    return np.flatnonzero(keys.own_offsets.any(axis=(0, 2)))


def recorded_softness(obj: bpy.types.Object) -> float:
    """The softness of an object, as a record has it."""
    return round(settings_of(obj).softness, 6)


def wanted_record(obj: bpy.types.Object, painted: str, varying: str) -> dict[str, Any]:
    """The record that the soft weights of an object have when they are right.

    Args:
        painted, varying: its `content_digests`.
    """
    bones, groups = armature_of(rig_of(obj)).bones, obj.vertex_groups
    return {
        "softness": recorded_softness(obj),
        "softness group": groups.find(settings_of(obj).softness_group),
        "locked groups": [each.index for each in groups if each.lock_weight and each.name in bones],
        "bones": digest_of_bones(rig_of(obj), named=False),
        "place": _place(obj),
        "painted": painted,
        "varying": varying,
        "vertices": len(mesh_of(obj).vertices),
    }


def _place(obj: bpy.types.Object) -> str | None:
    """The digest of the place of an object by its armature; None where frames may change it."""
    is_moved = any(path.startswith(_MOVING) for path in animated_paths(obj))
    hangs_on_rig = obj.parent == rig_of(obj) and obj.parent_type == "OBJECT"
    if is_moved or len(obj.constraints) or not hangs_on_rig:
        return None
    return digest(np.array(obj.matrix_parent_inverse), np.array(obj.matrix_basis))


def forget_soft_weights(obj: bpy.types.Object) -> None:
    """Let the painted weights act until soft ones are computed again."""
    if soft_copy(obj) is not None:
        settings_of(obj).native.soft_copy = None


def soft_influences(
    obj: bpy.types.Object, binding: Binding, softness: float
) -> Generator[float, None, Influences]:
    """The influences of an object at a softness; the painted ones where there is nothing to soften.

    Nothing is read after the first step.

    Args:
        binding: of its own vertices, as they are painted.

    Raises:
        UserError: a vertex has no position that is a number.
    """
    skin = Skin.of(obj, binding, np.arange(binding.vertex_count))
    softens = softness > 0.0 and skin.refusal() is None
    yield 0.0
    if not softens:
        return binding.influences
    soft = yield from skin.softened(softness, _INFLUENCES)
    found = with_soft_rows(binding.influences, soft)
    vertices, slots = np.nonzero(found.weights > 0.0)
    of = found.bones[vertices, slots], found.weights[vertices, slots]
    return Influences.from_triples(vertices, *of, binding.vertex_count)


def soften_copy(obj: bpy.types.Object, record: dict[str, Any]) -> Generator[Progress, None, None]:
    """Compute the soft weights of an object and write them, in the last step.

    Args:
        obj: it has a soft copy.
        record: `wanted_record` of it now.

    Raises:
        UserError: a vertex has no position that is a number.
    """
    doing = f"Softness of {obj.name}"
    uid, binding = obj.session_uid, bind(obj, follow=False, painted=True)
    steps = soft_influences(obj, binding, record["softness"])
    influences = yield from with_progress(steps, doing)
    # An undo may have read Blender's data anew since.
    yield Progress(1.0, doing)
    found = next((each for each in bpy.data.objects if each.session_uid == uid), None)
    copy = soft_copy(found) if found is not None else None
    if found is not None and copy is not None:
        _write(found, copy, binding, influences)
        mesh_of(copy)[RECORD_PROPERTY] = json.dumps(record)


def with_softness(obj: bpy.types.Object, binding: Binding, softness: float) -> Binding:
    """A binding with the weights that its object has at a softness.

    Raises:
        UserError: a vertex has no position that is a number.
    """
    painted = binding.as_painted
    if not softness:
        return painted
    return replace(painted, influences=run_through(soft_influences(obj, painted, softness)))


def _write(
    obj: bpy.types.Object, copy: bpy.types.Object, binding: Binding, influences: Influences
) -> None:
    """Write soft weights, and those of the Armature modifier's own group, in place."""
    varying = _varying(obj, binding.shape_keys)
    vertex_of_point = write_points(copy, binding.rest, varying)
    vertices, slots = np.nonzero(influences.weights > 0.0)
    bones, weights = influences.bones[vertices, slots], influences.weights[vertices, slots]
    group_of_bone = np.full(binding.skeleton.bone_count, -1)
    for bone in np.unique(bones).tolist():
        group_of_bone[bone] = copy.vertex_groups.new(name=binding.skeleton.names[bone]).index
    groups, modifier = group_of_bone[bones], armature_modifier(obj)
    mask = modifier.vertex_group if modifier is not None else ""
    if mask in binding.group_names:
        masked = binding.painted(mask)
        inside = np.flatnonzero(masked)
        group = copy.vertex_groups.new(name=mask).index
        vertices, weights = np.append(vertices, inside), np.append(weights, masked[inside])
        groups = np.append(groups, np.full(len(inside), group))
    points, rows = _rows_of_points(vertex_of_point, vertices)
    write_rows(copy, points, groups[rows], weights[rows].clip(0.0, 1.0))
    mesh_of(copy).update()
    copy.update_tag()


def _rows_of_points(
    vertex_of_point: NDArray[np.intp], vertices: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The points that have weights of their vertices, and the rows of `vertices` of these."""
    order = np.argsort(vertices, kind="stable")
    starts = np.searchsorted(vertices[order], np.arange(vertex_of_point.max(initial=-1) + 2))
    counts = np.diff(starts)[vertex_of_point]
    points = np.repeat(np.arange(len(vertex_of_point)), counts)
    ranks = np.arange(len(points)) - np.repeat(np.cumsum(counts) - counts, counts)
    return points, order[np.repeat(starts[vertex_of_point], counts) + ranks]
