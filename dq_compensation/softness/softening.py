"""Soft weights of characters, in two ways: in the vertex groups, and in the soft copy.

*Soften Weights* writes them to the vertex groups, and can put the painted ones back. With
*Softness* the soft weights in the soft copy of a character follow those that are painted. They are
computed when weights, mesh, bones or the setting have changed, never in a frame. What they were
made from is in the copy as a record, so that a file says whether they are right.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..analysis.soft_proof import LessSoft
from ..arrays import Float32s, Indices, Int32s, Integers
from ..core.influences import Influences
from ..core.skeleton import JointStrengths
from ..errors import UserError, raise_refusal
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.facts import (
    OTHER_MESHES,
    SOFT_WEIGHTS,
    changed_since,
    digest,
    digest_of_bones,
    structure_of,
)
from ..scene.binding.modifiers_before import followed_modifiers, reshaping_modifiers
from ..scene.binding.shape_key_offsets import ShapeKeys, written_by_drivers
from ..scene.binding.soft_copy import (
    FEATURES_PROPERTY,
    KEYS_IN_RECORD,
    LESS_SOFT,
    PAINTED_WEIGHTS,
    RECORD_PROPERTY,
    copies_keys,
    digest_of_found_weights,
    less_soft_joints,
    read_soft_weights,
    record_of,
    soft_copy,
    write_points,
)
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.armature import deforming_bones
from ..scene.blender.bulk_arrays import AttributeType, read_attribute
from ..scene.blender.mesh import (
    VertexGroupWeights,
    mesh_of,
    other_users,
    read_positions,
    read_weights,
    write_first_weights,
)
from ..scene.blender.own_objects import keep_record, text_in
from ..scene.blender.placement import object_to_armature
from ..scene.blender.rigging import VISIBILITY, deformation_refusal, rig_of, what_animates
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.kept_weights import (
    BAKED_BONES,
    BEFORE_BODY,
    PAINTED,
    Store,
    keep_more_weights,
    kept_record,
    numbers_of_groups,
)
from ..scene.kept_weights import restore_refusal as kept_refusal
from ..scene.kept_weights import restore_weights as restore_kept
from ..scene.selected_characters import deformed_meshes
from ..scene.settings.addon_preferences import soft_weights_are_proved
from ..scene.settings.bone_texts import kinds_by_index, strengths_by_index
from ..scene.settings.object_settings import Settings, settings_of
from ..scene.stack import find_rig
from ..scene.vertex_groups import write_rows, writing_refusal
from ..session.changes import clear_own_keys
from ..session.memory import memories
from ..steps import Progress, run_through, with_progress
from ..wording import counted, listed
from .joined_skin import JoinedSkin, Proof, Skin, Softened, softened_together
from .options import SofteningOptions

_REFUSAL_BAKED = (
    "{obj} follows helper bones of a bake, whose weights fit as they are. Soften the weights "
    "before the bake."
)

Steps = Generator[Progress, None, "list[SofteningReport]"]


@dataclass(frozen=True)
class SofteningReport:
    """What was softened of a mesh.

    Attributes:
        object_name: of the mesh object.
        changed: how many vertices have other weights now.
        vertices: how many it has.
        body: the object whose softening most of it took; empty: most was softened by itself.
        features: the bones in what was to be softened that kept their weights, because they lie
            closer than the skin is thick.
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
    skinned = SkinnedObject(obj)
    if reason := deformation_refusal(skinned):
        return reason
    return _unsuited_refusal(skinned) or changing_refusal(obj)


def _unsuited_refusal(skinned: SkinnedObject) -> str | None:
    """Why weights that move an object are none to soften, or None; cheap."""
    obj, modifier, bones = skinned.obj, skinned.modifier, skinned.armature.bones
    multiplied = any(bone.use_envelope_multiply and bone.use_deform for bone in bones)
    if modifier.use_bone_envelopes or multiplied:
        return (
            f"{obj.name} follows bone envelopes, which have no weights. Turn them off in its "
            "Armature modifier, or in the bones (Envelope Multiply)."
        )
    if kept_record(obj, BAKED_BONES) is not None:
        return _REFUSAL_BAKED.format(obj=obj.name)
    return None


def restoring_refusal(obj: bpy.types.Object) -> str | None:
    """Why the weights of an object cannot be put back, or None; cheap."""
    store = _kept_last(obj) if obj.type == "MESH" else None
    if store is None:
        return f"{obj.name} has no weights to put back: they were not softened."
    if kept_record(obj, BAKED_BONES) is not None:
        return _REFUSAL_BAKED.format(obj=obj.name)
    return changing_refusal(obj) or kept_refusal(obj, store)


def _kept_last(obj: bpy.types.Object) -> Store | None:
    """Where the weights are that are put back: clothes are softened after they took a body's."""
    return next((store for store in (PAINTED, BEFORE_BODY) if kept_record(obj, store)), None)


def changing_refusal(obj: bpy.types.Object) -> str | None:
    """Why the weights of an object, those of all its bones, cannot be changed, or None; cheap."""
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
    objects: Sequence[bpy.types.Object], options: SofteningOptions, only: Integers | None = None
) -> Steps:
    """Spread the weights of deforming bones over more of the limbs; see `analysis.soft_weights`.

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
    read = list(objects) if body is None or body in objects else [*objects, body]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    skins = {
        obj: Skin.of(obj, bind(obj, depsgraph, follow=False, painted=True), only) for obj in read
    }
    # Of several, eyes and teeth on one bone stay as they are.
    if len(objects) == 1:
        raise_refusal(skins[objects[0]].refusal())
    characters: dict[tuple[bpy.types.Object, bpy.types.Object | None], list[Skin]] = {}
    for obj in objects:
        alone = obj if body is None and settings_of(obj).by_itself else None
        characters.setdefault((rig_of(obj), alone), []).append(skins[obj])
    softened: list[Softened] = []
    for number, ((rig, alone), members) in enumerate(characters.items()):
        amounts = [options.amount] * len(members)
        beside = body is None and alone is None
        kept = _linked_skins(rig, objects, depsgraph) if beside else []
        below = None if body is None else skins[body]
        joints = [
            _chosen_softness(obj, skins[obj].skeleton.names)
            for obj in objects
            if skins[obj] in members
        ]
        steps = softened_together(
            members,
            amounts,
            options.influences,
            below,
            kept,
            joints=joints,
            proof=_proof_of(members, options.amount) if only is None else None,
        )
        doing = f"Softening {listed([skin.name for skin in members])}"
        part = number / len(characters), 1.0 / len(characters)
        softened += yield from with_progress(steps, doing, *part)
    reports: dict[bpy.types.Object, SofteningReport] = {}
    object_of = {obj.session_uid: obj for obj in objects}
    for each in softened:
        obj, cut = object_of[each.skin.uid], replace(each, soft=each.soft.cut(options.influences))
        changed = _write(obj, cut)
        if only is None and settings_of(obj).softness:
            settings_of(obj).softness = 0.0  # it would soften what is soft
        by = "" if each.body is None else each.body.name
        count = len(each.skin.amounts)
        reports[obj] = SofteningReport(obj.name, changed, count, by, _left_as_they_were(each))
    return [reports[obj] for obj in objects]


def _proof_of(skins: Sequence[Skin], amount: float) -> Proof:
    """The proof for *Soften Weights*: that of *Softness* where the character is as soft."""
    if not soft_weights_are_proved():
        return None
    objects = {obj.session_uid: obj for obj in bpy.data.objects}
    members = [SkinnedObject(objects[skin.uid]) for skin in skins]
    if all(
        each.settings.is_enabled and recorded_softness(each) == round(amount, 6) for each in members
    ):
        proofs = [less_soft_joints(each) for each in members]
        if proofs[0] is not None and all(each == proofs[0] for each in proofs):
            return proofs[0]
    return "MADE"


def _left_as_they_were(softened: Softened) -> tuple[str, ...]:
    """The parts of a face that move vertices which were to be softened."""
    skin, influences = softened.skin, softened.skin.influences
    asked = skin.amounts > 0.0
    moving = np.unique(influences.bones[asked][influences.weights[asked] > 0.0])
    return tuple(skin.skeleton.names[bone] for bone in softened.features if bone in moving)


def _linked_skins(
    rig: bpy.types.Object,
    objects: Sequence[bpy.types.Object],
    depsgraph: bpy.types.Depsgraph,
) -> list[Skin]:
    """The meshes of a character beside some that keep the weights of another file."""
    beside = [
        each
        for each in deformed_meshes(rig, bpy.data)
        if mesh_of(each).library is not None
        and each not in objects
        and not settings_of(each).by_itself
        and not deformation_refusal(SkinnedObject(each))
    ]
    bindings = [bind(each, depsgraph, follow=False) for each in beside]
    return [Skin.of(*pair, _all_vertices(pair[1])) for pair in zip(beside, bindings, strict=True)]


def restore_weights(obj: bpy.types.Object) -> None:
    """Put the painted weights of an object back, exactly, and forget them.

    Of clothes that took those of a body, and were softened since, the body's; then their own.

    Raises:
        UserError: `restoring_refusal` has a reason. Nothing has changed then.
    """
    raise_refusal(restoring_refusal(obj))
    store = _kept_last(obj) or PAINTED
    for name in (kept_record(obj, store) or {})["added"]:
        if (group := obj.vertex_groups.get(name)) is not None:
            obj.vertex_groups.remove(group)
    restore_kept(obj, store)
    mesh_of(obj).update_tag()


def _body_of(objects: Sequence[bpy.types.Object], name: str) -> bpy.types.Object:
    """The body that clothes follow.

    Raises:
        UserError: there is none of this name, or they cannot follow it.
    """
    body = bpy.data.objects.get(name)
    if body is None:
        raise UserError(f"There is no object {name}.")
    raise_refusal(deformation_refusal(SkinnedObject(body)))
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


def _write(obj: bpy.types.Object, softened: Softened) -> int:
    """Write new weights, and keep the present ones if none are kept; returns how many vertices."""
    skin, soft = softened.skin, softened.soft
    groups, names = obj.vertex_groups, skin.skeleton.names
    of_both = (skin.influences.bones, skin.influences.weights), (soft.bones, soft.weights)
    moving = np.unique(np.concatenate([bones[weights > 0.0] for bones, weights in of_both]))
    moving = moving[~skin.locked[moving]]
    # Clothes get bones from their body.
    added = [names[bone] for bone in moving if names[bone] not in groups]
    locked = {names[bone] for bone in np.flatnonzero(skin.locked)}
    bones = deforming_bones(rig_of(obj)) - locked
    keep_more_weights(obj, [g.name for g in groups if g.name in bones], PAINTED, added)
    for name in added:
        groups.new(name=name)
    group_of_bone = np.full(len(names), -1)
    group_of_bone[moving] = [groups[names[bone]].index for bone in moving]
    written = np.zeros(len(groups), np.bool_)
    written[group_of_bone[moving]] = True
    entries = read_weights(mesh_of(obj))
    old = written[entries.groups] & np.isin(entries.vertices, soft.vertices)
    vertices, of_groups = entries.vertices[old].astype(np.int64), entries.groups[old]
    sums = np.bincount(vertices, entries.weights[old], len(skin.amounts)).clip(0.0, 1.0)

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


# The most limbs that a vertex follows: Blender needs no limit, and more are not seen.
_INFLUENCES = 8
# The data paths that move an object.
_MOVING = ("location", "rotation", "scale", "delta_")


def softness_refusal(skinned: SkinnedObject) -> str | None:
    """Why softness does not act on an object that can be deformed, a sentence, or None; cheap."""
    if reason := _unsuited_refusal(skinned):
        return reason
    obj, names = skinned.obj, listed([each.name for each in skinned.mixed_modifiers])
    if names:
        return (
            f"Softness does not act on {obj.name}, into which {names} is mixed (Multi Modifier). "
            "Turn that off, or press Soften Weights."
        )
    if cause := what_animates(obj, skinned.modifier, VISIBILITY):
        name = skinned.modifier.name
        return (
            f"Softness does not act on {obj.name}, whose modifier {name} is turned on and off by "
            f"{cause}. Remove that from its visibility, or press Soften Weights."
        )
    names = listed([each.name for each in followed_modifiers(skinned)])
    if names:
        return (
            f"Softness does not act on {obj.name}, which gets other vertices from {names}. Apply "
            f"{names}, move the Armature modifier above, or press Soften Weights."
        )
    return None


def content_digests(skinned: SkinnedObject) -> tuple[str, str]:
    """The digests of what soft weights are made from, and of the shape for the copy's points."""
    obj, mesh = skinned.obj, skinned.mesh
    weights = read_weights(mesh)
    keys = ShapeKeys.read(obj, weights)
    rest = read_positions(mesh) if keys is None else keys.basis
    corners = read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, len(mesh.loops))
    painted = _digest_of_painted(skinned, weights, rest, corners)
    return painted, digest(rest, corners, _varying(skinned, keys))


def _digest_of_painted(
    skinned: SkinnedObject, weights: VertexGroupWeights, rest: Float32s, corners: Int32s
) -> str:
    others = skinned.settings.softness_group, skinned.modifier.vertex_group
    names = [*skinned.armature.bones.keys(), *others]
    place = {name: index for index, name in enumerate(names)}
    bones = numbers_of_groups(skinned.obj, weights, place)[weights.groups]
    read = bones >= 0
    painted = weights.vertices[read], bones[read], weights.weights[read]
    return digest(*painted, rest, corners)


def _varying(skinned: SkinnedObject, keys: ShapeKeys | None) -> Indices:
    """The vertices that shape keys or modifiers move before the Armature modifier."""
    if reshaping_modifiers(skinned) or written_by_drivers(skinned.mesh):
        return np.arange(len(skinned.mesh.vertices))
    if keys is None:
        return np.zeros(0, np.intp)
    return np.flatnonzero(keys.own_offsets.any(axis=(0, 2)))


def recorded_softness(skinned: SkinnedObject) -> float:
    """The softness of an object, as a record has it."""
    return round(skinned.settings.softness, 6)


def wanted_record(skinned: SkinnedObject, painted: str, shape: str) -> dict[str, Any]:
    """The record that the soft weights of an object have when they are right.

    Args:
        painted, shape: its `content_digests`.
    """
    bones, groups = skinned.armature.bones, skinned.obj.vertex_groups
    body = skinned.settings.lies_on
    chosen = kinds_by_index(skinned.settings.bone_kinds, bones.keys())
    joints = _chosen_softness(skinned.obj, bones.keys())
    return {
        "lies on": body and body.name,
        "softness": recorded_softness(skinned),
        "softness group": groups.find(skinned.settings.softness_group),
        "locked groups": [each.index for each in groups if each.lock_weight and each.name in bones],
        "bones": digest_of_bones(skinned.rig, named=False),
        "place": _place(skinned),
        PAINTED_WEIGHTS: painted,
        "shape": shape,
        "vertices": len(skinned.mesh.vertices),
        "bone kinds": [list(each) for each in chosen],
        "joint softness": [list(each) for each in joints],
        KEYS_IN_RECORD: copies_keys(skinned),
    }


def _chosen_softness(obj: bpy.types.Object, names: Sequence[str]) -> JointStrengths:
    """How softly the weights act at the heads of bones of these names, where the user chose it."""
    return strengths_by_index(Settings.of(obj).joint_softness, names)


def _place(skinned: SkinnedObject) -> str | None:
    """The digest of the place of an object by its armature; None where frames may change it."""
    obj = skinned.obj
    is_moved = any(path.startswith(_MOVING) for path in animated_paths(obj))
    if is_moved or not skinned.hangs_on_rig:
        return None
    return digest(np.array(obj.matrix_parent_inverse), np.array(obj.matrix_basis))


def forget_soft_weights(skinned: SkinnedObject) -> None:
    """Let the painted weights act until soft ones are computed again."""
    if soft_copy(skinned) is not None:
        skinned.before_enable.soft_copy = None


class _Found(NamedTuple):
    """The soft influences of a mesh, the parts of a face, and `Softened.less_soft`."""

    influences: Influences
    features: tuple[int, ...]
    less_soft: tuple[LessSoft, ...] | None


def _soft_influences(
    skins: Sequence[Skin],
    softness: Sequence[float],
    fixed: Sequence[Skin] = (),
    joined: dict[tuple[Skin, ...], JoinedSkin] | None = None,
    *,
    joints: Sequence[JointStrengths],
    proof: Proof = None,
) -> Generator[float, None, list[_Found]]:
    """What is found for meshes of one character.

    The painted influences where there is nothing to soften. Nothing is read after the first step.
    """
    softens = any(softness) and any(skin.refusal() is None for skin in [*skins, *fixed])
    yield 0.0
    if not softens:
        return [_Found(skin.influences, (), None if proof is None else ()) for skin in skins]
    found = yield from softened_together(
        skins, softness, _INFLUENCES, fixed=fixed, known=joined, joints=joints, proof=proof
    )
    return [_Found(each.influences, each.features, each.less_soft) for each in found]


def soften_copies(
    records: Mapping[bpy.types.Object, dict[str, Any]],
    fixed: Sequence[bpy.types.Object] = (),
    *,
    proves: bool = False,
) -> Generator[Progress, None, None]:
    """Compute the soft weights of the meshes of one character and write them, in the last step.

    Objects that share a mesh and have equal records get the same ones, as if there were one object.

    Args:
        records: `wanted_record` now of each mesh; those without a soft copy are not written.
        fixed: its meshes that keep the weights of the file from which they are linked.
        proves: prove them; else what was proved of them before acts, if nothing else has changed.

    Raises:
        UserError: a vertex has no position that is a number.
    """
    names = listed([obj.name for obj in records])
    doing = f"Testing the Softness of {names}" if proves else f"Softness of {names}"
    uids = [obj.session_uid for obj in records]
    firsts = dict[str, bpy.types.Object]()
    alike = {
        obj: firsts.setdefault(json.dumps((mesh_of(obj).session_uid, record)), obj)
        for obj, record in records.items()
    }
    first = {obj: row for row, obj in enumerate(firsts.values())}
    row_of = [first[alike[obj]] for obj in records]
    read = _read_skins({obj: records[obj] for obj in first}, alike)
    below = [(obj, bind(obj, follow=False)) for obj in fixed]
    kept = [Skin.of(obj, binding, _all_vertices(binding)) for obj, binding in below]
    softness = [records[obj]["softness"] for obj in first]
    bones = read.skins[0].skeleton.names
    joints = [_chosen_softness(obj, bones) for obj in first]
    steps = _soft_influences(
        read.skins,
        softness,
        kept,
        read.joined,
        joints=joints,
        proof="MADE" if proves else _proved_before(records),
    )
    found = yield from with_progress(steps, doing)
    # An undo may have read Blender's data anew since.
    yield Progress(1.0, doing)
    objects = {obj.session_uid: obj for obj in bpy.data.objects}
    for uid, row, record in zip(uids, row_of, records.values(), strict=True):
        binding, (soft, features, less_soft) = read.bindings[row], found[row]
        skinned = SkinnedObject(objects[uid]) if uid in objects else None
        copy = soft_copy(skinned) if skinned is not None else None
        if skinned is not None and copy is not None:
            weights = digest(soft.bones, soft.weights)
            if record_of(skinned) != record or digest_of_found_weights(copy) != weights:
                _write_soft_copy(skinned, copy, binding, soft, record)
            keep_record(mesh_of(copy), RECORD_PROPERTY, record)
            found_of_copy: dict[str, Any] = {"bones": features, "weights": weights}
            if less_soft is not None:
                found_of_copy[LESS_SOFT] = [astuple(each) for each in less_soft]
            keep_record(mesh_of(copy), FEATURES_PROPERTY, found_of_copy)


def _proved_before(records: Mapping[bpy.types.Object, dict[str, Any]]) -> Proof:
    """What was proved of the weights that all of these objects keep; None if of other ones."""
    found: list[LessSoft] | None = None
    for obj, record in records.items():
        skinned = SkinnedObject(obj)
        changed = changed_since(record_of(skinned), record)
        if not {"joint softness", OTHER_MESHES}.issuperset(changed):
            return None
        found = less_soft_joints(skinned)
    return found


@dataclass(frozen=True, eq=False)
class ReadSkins:
    """What soft weights were computed from last: a slider that moves leaves it as it is.

    Attributes:
        key: what it was read for.
        bindings, skins: of the meshes of one character, as they are painted.
        joined: what was joined of the skins; they do not know it, so that all is freed at once.
    """

    key: object
    bindings: list[Binding]
    skins: list[Skin]
    joined: dict[tuple[Skin, ...], JoinedSkin] = field(default_factory=dict)


def _read_skins(
    records: Mapping[bpy.types.Object, dict[str, Any]],
    alike: Mapping[bpy.types.Object, bpy.types.Object],
) -> ReadSkins:
    """The painted meshes that are softened together; the same again while they are the same.

    Args:
        alike: the object that stands for one which others may lie on.
    """
    objects, key = [SkinnedObject(obj) for obj in records], list[object]()
    chosen = [each.settings.lies_on for each in objects]
    lies_on = [None if below is None else alike.get(below, below) for below in chosen]
    for skinned, below in zip(objects, lies_on, strict=True):
        used = skinned.obj, skinned.mesh, skinned.rig, below
        uids = [each and each.session_uid for each in used]
        digests = {**records[skinned.obj], **structure_of(skinned)}
        for name in (SOFT_WEIGHTS, "softness", "joint softness", OTHER_MESHES):
            digests.pop(name, None)
        place = object_to_armature(skinned.obj, skinned.rig).tolist()
        kept = text_in(skinned.mesh, PAINTED.record), skinned.settings.limb_axis
        key.append((uids, digests, place, kept))
    uid, memory = objects[0].obj.session_uid, memories(ReadSkins)
    known = memory.get(uid)
    memory.clear()
    if known is None or known.key != key:
        bindings = [bind(each.obj, follow=False, painted=True) for each in objects]
        skins = [
            replace(
                Skin.of(each.obj, binding, _all_vertices(binding)),
                lies_on=0 if below is None else below.session_uid,
            )
            for each, binding, below in zip(objects, bindings, lies_on, strict=True)
        ]
        known = ReadSkins(key, bindings, skins)
        if not all(map(_is_of_record, objects, bindings, records.values())):
            return known  # of an edit that the records do not know yet
    memory[uid] = known
    return known


def _is_of_record(skinned: SkinnedObject, binding: Binding, record: dict[str, Any]) -> bool:
    """Whether a binding has read just the painted weights that a record is about."""
    weights, corners = binding.weights_of_mesh, binding.mesh_arrays.corner_vertex
    assert weights is not None
    return record[PAINTED_WEIGHTS] == _digest_of_painted(skinned, weights, binding.rest, corners)


def _all_vertices(binding: Binding) -> Indices:
    return np.arange(binding.vertex_count)


def with_softness(obj: bpy.types.Object, binding: Binding, softness: float) -> Binding:
    """A binding with the weights that its object has at a softness.

    Raises:
        UserError: a vertex has no position that is a number.
    """
    painted = binding.as_painted
    if not softness:
        return painted
    skin = Skin.of(obj, painted, _all_vertices(painted))
    joints = [_chosen_softness(obj, skin.skeleton.names)]
    proof: Proof = "MADE" if soft_weights_are_proved() else None
    steps = _soft_influences([skin], [softness], joints=joints, proof=proof)
    return replace(painted, influences=run_through(steps)[0].influences)


def _write_soft_copy(
    skinned: SkinnedObject,
    copy: bpy.types.Object,
    binding: Binding,
    influences: Influences,
    record: Mapping[str, Any],
) -> None:
    """Write soft weights, and those of the Armature modifier's own group, in place."""
    varying = _varying(skinned, binding.shape_keys)
    if record.get(KEYS_IN_RECORD):
        varying = varying[:0]
    clear_own_keys(copy)
    vertex_of_point = write_points(copy, binding.rest, varying)
    vertices, slots = np.nonzero(influences.weights > 0.0)
    bones, weights = influences.bones[vertices, slots], influences.weights[vertices, slots]
    group_of_bone = np.full(binding.skeleton.bone_count, -1)
    for bone in np.unique(bones).tolist():
        group_of_bone[bone] = copy.vertex_groups.new(name=binding.skeleton.names[bone]).index
    groups, mask = group_of_bone[bones], skinned.modifier.vertex_group
    if mask in binding.group_names:
        masked = binding.painted(mask)
        inside = np.flatnonzero(masked)
        group = copy.vertex_groups.new(name=mask).index
        vertices, weights = np.append(vertices, inside), np.append(weights, masked[inside])
        groups = np.append(groups, np.full(len(inside), group))
    points, rows = _rows_of_points(vertex_of_point, vertices)
    write_first_weights(mesh_of(copy), points, groups[rows], weights[rows].clip(0.0, 1.0))
    mesh_of(copy).update()
    copy.update_tag()


def rewrite_soft_copy(skinned: SkinnedObject, record: dict[str, Any]) -> bool:
    """Write the points of a soft copy anew, as another shape varies; its weights stay.

    Args:
        record: `wanted_record` now.

    Returns:
        whether it could be done: weights and points are of one state.

    Raises:
        UserError: a vertex has no position that is a number.
    """
    copy = soft_copy(skinned)
    if copy is None:
        return False
    binding = bind(skinned.obj, follow=False, painted=True)
    if not _is_of_record(skinned, binding, record):
        return False
    found = read_soft_weights(copy, binding.vertex_count)
    bone_of = {name: bone for bone, name in enumerate(binding.skeleton.names)}
    bones = numbers_of_groups(copy, found, bone_of)[found.groups]
    own = bones >= 0
    triples = found.vertices[own], bones[own], found.weights[own]
    influences = Influences.from_triples(*triples, binding.vertex_count)
    _write_soft_copy(skinned, copy, binding, influences, record)
    keep_record(mesh_of(copy), RECORD_PROPERTY, record)
    return True


def _rows_of_points(vertex_of_point: Indices, vertices: Indices) -> tuple[Indices, Indices]:
    """The points that have weights of their vertices, and the rows of `vertices` of these."""
    order = np.argsort(vertices, kind="stable")
    starts = np.searchsorted(vertices[order], np.arange(vertex_of_point.max(initial=-1) + 2))
    counts = np.diff(starts)[vertex_of_point]
    points = np.repeat(np.arange(len(vertex_of_point)), counts)
    ranks = np.arange(len(points)) - np.repeat(np.cumsum(counts) - counts, counts)
    return points, order[np.repeat(starts[vertex_of_point], counts) + ranks]
