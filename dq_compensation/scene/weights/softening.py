"""Softens the weights of characters, and puts the painted ones back."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.softening.soft_weights import SoftWeights
from ...errors import UserError, raise_refusal
from ...option_fields import option
from ...steps import Progress, with_progress
from ...wording import counted, listed
from ..binding.bind import bind
from ..blender.armature import armature_of, deforming_bones
from ..blender.mesh import mesh_of, other_users, read_weights
from ..blender.rigging import armature_modifier, deformation_refusal, find_rig, rig_of
from ..settings.object_settings import settings_of
from .kept_weights import (
    BAKED_BONES,
    PAINTED,
    add_to_record,
    keep_weights,
    kept_record,
)
from .kept_weights import restore_refusal as kept_refusal
from .kept_weights import restore_weights as restore_kept
from .softened_skin import Skin
from .weights_writing import write_rows, writing_refusal

REFUSAL_BAKED = (
    "{obj} follows helper bones of a bake, whose weights fit as they are. Soften the weights "
    "before the bake."
)

Steps = Generator[Progress, None, "list[SofteningReport]"]


@dataclass(frozen=True, kw_only=True)
class SofteningOptions:
    """The options of softened weights."""

    amount: float = option(
        "Over how much of the limb's radius weights are spread: 0.5 takes most folds and rings "
        "away, more is softer",
        0.5,
        minimum=0.01,
        maximum=2.0,
        soft_max=1.0,
    )
    influences: int = option(
        "The most bones that a softened vertex follows. Blender needs no limit; most engines "
        "allow 4 or 8",
        8,
        minimum=1,
        maximum=64,
        soft_max=8,
        noun="number of influences",
    )
    body: str = option(
        "The body below clothes: their weights then change as those of its nearest surface do, so "
        "that it does not come through. Empty: each mesh by itself",
        "",
    )


@dataclass(frozen=True)
class SofteningReport:
    """What was softened of a mesh.

    Attributes:
        object_name: of the mesh object.
        changed: how many vertices have other weights now.
        vertices: how many it has.
        body: the object whose softening it took; empty: it was softened by itself.
        features: the bones that kept their weights because they lie closer than the skin is thick.
    """

    object_name: str
    changed: int
    vertices: int
    body: str = ""
    features: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The report for riggers."""
        by = f" as those of {self.body} did" if self.body else ""
        text = f"{self.object_name}: the weights of {counted(self.changed, 'vertex')} changed{by}."
        if self.features:
            text += f" Left as they were, as parts of a face: {listed(self.features)}."
        return text


def softening_refusal(obj: bpy.types.Object) -> str | None:
    """Why the weights of an object cannot be softened, a sentence for riggers, or None; cheap."""
    if reason := deformation_refusal(obj):
        return reason
    return unsuited_refusal(obj) or _writing_refusal(obj)


def unsuited_refusal(obj: bpy.types.Object) -> str | None:
    """Why weights that move an object are none to soften, or None; cheap."""
    modifier, bones = armature_modifier(obj), armature_of(rig_of(obj)).bones
    assert modifier is not None
    multiplied = any(bone.use_envelope_multiply and bone.use_deform for bone in bones)
    if modifier.use_bone_envelopes or multiplied:
        return (
            f"{obj.name} follows bone envelopes, which have no weights. Turn them off in its "
            "Armature modifier, or in the bones (Envelope Multiply)."
        )
    if kept_record(obj, BAKED_BONES) is not None:
        return REFUSAL_BAKED.format(obj=obj.name)
    return None


def restoring_refusal(obj: bpy.types.Object) -> str | None:
    """Why the painted weights of an object cannot be put back, or None; cheap."""
    if obj.type != "MESH" or kept_record(obj, PAINTED) is None:
        return f"{obj.name} has no weights to put back: they were not softened."
    if kept_record(obj, BAKED_BONES) is not None:
        return REFUSAL_BAKED.format(obj=obj.name)
    return _writing_refusal(obj) or kept_refusal(obj, PAINTED)


def _writing_refusal(obj: bpy.types.Object) -> str | None:
    if reason := writing_refusal(obj, ()):
        return reason
    if obj.mode == "SCULPT":
        return f"{obj.name} is in Sculpt Mode. Leave it to change weights."
    if others := other_users(mesh_of(obj)):
        shares = f"{counted(others, 'object')} {'shares' if others == 1 else 'share'} the mesh"
        return (
            f"{shares} with {obj.name}, and would change as well. Make {obj.name} single user "
            "(Object, Relations, Make Single User, Object & Data)."
        )
    return None


def soften_weights(
    objects: Sequence[bpy.types.Object],
    options: SofteningOptions,
    only: NDArray[np.integer] | None = None,
) -> Steps:
    """Spread the weights of deforming bones over more of the limbs; see `analysis.softening`.

    In Weight Paint with a paint mask only the chosen vertices change. Locked groups keep their
    weights, and so do the vertices in them. The painted weights are kept in the mesh until
    `restore_weights`.

    Args:
        objects: mesh objects, original.
        only: vertices, in the place of a paint mask.

    Returns:
        a report for each object, after the last step, which writes all of them.

    Raises:
        UserError: one of them cannot be softened. Nothing has changed then.
    """
    for obj in objects:
        raise_refusal(softening_refusal(obj))
    body = _body_of(objects, options.body) if options.body else None
    # The body first: the clothes follow it.
    ordered = sorted(objects, key=lambda obj: obj != body)
    read = ordered if body is None or body in ordered else [*ordered, body]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    skins = {
        obj: Skin.of(obj, bind(obj, depsgraph, follow=False, painted=True), only) for obj in read
    }
    # Of several, eyes and teeth on one bone stay as they are.
    if len(objects) == 1:
        raise_refusal(skins[objects[0]].refusal())
    changes: dict[bpy.types.Object, SoftWeights] = {}
    for number, obj in enumerate(ordered):
        skin, doing = skins[obj], f"Softening {obj.name}"
        part = (number / len(ordered), 1.0 / len(ordered))
        if body is None or obj == body:
            steps = skin.softened(options.amount, options.influences)
            changes[obj] = yield from with_progress(steps, doing, *part)
        else:
            yield Progress(part[0], doing)
            changes[obj] = skin.followed(skins[body], changes.get(body), options.influences)
    reports = []
    for obj in objects:
        skin, by = skins[obj], "" if body in (None, obj) else options.body
        changed = _write(obj, skin, changes[obj])
        if only is None and settings_of(obj).softness:
            settings_of(obj).softness = 0.0  # it would soften what is soft
        names = [skin.skeleton.names[bone] for bone in np.flatnonzero(skin.features)]
        features = () if by else tuple(names)
        reports.append(SofteningReport(obj.name, changed, len(skin.positions), by, features))
    return reports


def restore_weights(obj: bpy.types.Object) -> None:
    """Put the painted weights of an object back, exactly, and forget them.

    Raises:
        UserError: `restoring_refusal` has a reason. Nothing has changed then.
    """
    raise_refusal(restoring_refusal(obj))
    record = kept_record(obj, PAINTED) or {}
    for name in record["added"]:
        if (group := obj.vertex_groups.get(name)) is not None:
            obj.vertex_groups.remove(group)
    restore_kept(obj, PAINTED)
    mesh_of(obj).update_tag()


def _body_of(objects: Sequence[bpy.types.Object], name: str) -> bpy.types.Object:
    """The body that clothes follow.

    Raises:
        UserError: there is none of this name, or they cannot follow it.
    """
    body = bpy.data.objects.get(name)
    if body is None:
        raise UserError(f"There is no object {name}.")
    raise_refusal(deformation_refusal(body))
    for obj in objects:
        if find_rig(body) != find_rig(obj):
            raise UserError(
                f"{name} does not follow {rig_of(obj).name}, as {obj.name} does. Choose the body "
                f"of {obj.name}."
            )
        if body not in objects and kept_record(body, PAINTED) is None:
            raise UserError(
                f"{name} has not been softened, or not by Soften Weights. Soften it first, or "
                f"together with {obj.name}."
            )
    return body


def _write(obj: bpy.types.Object, skin: Skin, soft: SoftWeights) -> int:
    """Write new weights, and keep the present ones if none are kept; returns how many vertices."""
    groups = obj.vertex_groups
    names = skin.skeleton.names
    of_both = (skin.influences.bones, skin.influences.weights), (soft.bones, soft.weights)
    moving = np.unique(np.concatenate([bones[weights > 0.0] for bones, weights in of_both]))
    moving = moving[~skin.locked[moving]]
    # Clothes get bones from their body.
    added = [names[bone] for bone in moving if names[bone] not in groups]
    record = kept_record(obj, PAINTED)
    if record is None:
        locked = {names[bone] for bone in np.flatnonzero(skin.locked)}
        bones = deforming_bones(rig_of(obj)) - locked
        keep_weights(obj, [g.name for g in groups if g.name in bones], PAINTED, added=added)
    elif added:
        add_to_record(obj, PAINTED, added=[*record["added"], *added])
    for name in added:
        groups.new(name=name)
    group_of_bone = np.full(len(names), -1)
    group_of_bone[moving] = [groups[names[bone]].index for bone in moving]
    written = np.zeros(len(groups), np.bool_)
    written[group_of_bone[moving]] = True
    entries = read_weights(mesh_of(obj))
    old = written[entries.groups] & np.isin(entries.vertices, soft.vertices)
    vertices, of_groups = entries.vertices[old].astype(np.int64), entries.groups[old]
    sums = np.bincount(vertices, entries.weights[old], len(skin.positions)).clip(0.0, 1.0)

    rows, slots = np.nonzero(soft.weights > 0.0)
    new_vertices = soft.vertices[rows]
    new_groups = group_of_bone[soft.bones[rows, slots]]
    new_weights = soft.weights[rows, slots] * sums[new_vertices]
    new_keys = new_vertices * len(groups) + new_groups
    gone = ~np.isin(vertices * len(groups) + of_groups, new_keys)
    write_rows(
        obj,
        np.concatenate((new_vertices, vertices[gone])),
        np.concatenate((new_groups, of_groups[gone])),
        np.concatenate((new_weights, np.zeros(np.count_nonzero(gone)))).clip(0.0, 1.0),
    )
    mesh_of(obj).update_tag()
    return len(soft.vertices)
