"""*Weights from Body*: reads clothes and the body below them, and writes the new weights.

What is found is in `analysis.weights_from_body`. Several pieces of clothes are done from the inside
out: each takes its weights from the body and from those below it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import bpy
import numpy as np

from ..analysis.soft_weights import SoftWeights
from ..analysis.weights_from_body import (
    BodySkin,
    BodyWeights,
    ClothMesh,
    Likeness,
    Source,
    weights_from_body,
)
from ..arrays import Booleans, Float64s, Integers
from ..core.influences import Influences
from ..core.skeleton import Skeleton
from ..core.vectors import transformed_points
from ..errors import UserError, raise_refusal
from ..painting.compensation_weights import masked_vertices
from ..scene.binding.bind import bind
from ..scene.binding.layers import inner_meshes
from ..scene.binding.shape_key_offsets import ShapeKeys
from ..scene.blender.armature import deforming_bones
from ..scene.blender.mesh import (
    mesh_of,
    read_mesh_arrays,
    read_positions,
    read_weights,
)
from ..scene.blender.own_objects import is_hidden
from ..scene.blender.placement import object_to_armature
from ..scene.blender.rigging import (
    REFUSAL_NOT_A_MESH,
    deformation_refusal,
    object_named,
)
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.blender.triangle_trees import SurfaceTree
from ..scene.kept_weights import (
    BAKED_BONES,
    BEFORE_BODY,
    PAINTED,
    group_count,
    keep_more_weights,
    kept_influences,
    kept_record,
    numbers_of_groups,
)
from ..scene.selected_characters import deformed_meshes
from ..scene.stack import add_modifier, find_rig
from ..scene.vertex_groups import write_rows
from ..session.memory import memory_of
from ..softness.softening import changing_refusal, restore_weights, restoring_refusal
from ..steps import Progress, with_progress
from ..wording import counted, listed, verb
from .options import BodyWeightsOptions

Steps = Generator[Progress, None, "list[BodyWeightsReport]"]


@dataclass(frozen=True)
class BodyWeightsReport:
    """What clothes took from a body.

    Attributes:
        object_name: of the clothes.
        bodies: the objects that they took weights from.
        matched: how many vertices took the weights of the place below them.
        filled: how many got weights that continue these.
        kept: how many stayed as they were.
        pieces: of each loose piece that lies on nothing, its first vertex and how many it has: it
            follows the nearest place as one.
    """

    object_name: str
    bodies: tuple[str, ...]
    matched: int
    filled: int
    kept: int = 0
    pieces: tuple[tuple[int, int], ...] = ()

    def sentence(self) -> str:
        """The report for riggers."""
        taken = counted(self.matched, "vertex")
        text = f"{self.object_name}: {taken} took the weights of {listed(self.bodies)}"
        text += f", {self.filled:,} {verb(self.filled, 'was', 'were')} filled in"
        text += f", {self.kept:,} stayed." if self.kept else "."
        if self.pieces:
            names = [f"vertex {first} ({size:,})" for first, size in self.pieces]
            count = len(self.pieces)
            text += (
                f" {counted(count, 'loose piece')} {verb(count, 'lies', 'lie')} on nothing and "
                f"{verb(count, 'follows', 'follow')} the nearest place as one, by first vertex and "
                f"number of vertices: {listed(names)}."
            )
        return text


@dataclass
class ShownSources:
    """Where the weights of clothes came from, for the overlay: shape (n,), a `Source` each."""

    sources: Any = None


def body_weights_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot take weights from a body, a sentence for riggers, or None; cheap."""
    if obj.type != "MESH":
        return REFUSAL_NOT_A_MESH.format(obj=obj.name)
    if is_hidden(obj):
        return f"{obj.name} belongs to DQ Compensation. Select clothes."
    return changing_refusal(obj) or _kept_refusal(obj) or _attaching_refusal(obj)


def _kept_refusal(obj: bpy.types.Object) -> str | None:
    """Why weights that are kept stand in the way, or None."""
    if kept_record(obj, BAKED_BONES) is not None:
        return f"{obj.name} follows helper bones of a bake. Remove the bake first."
    # What was softened is put back first.
    return None if kept_record(obj, PAINTED) is None else restoring_refusal(obj)


def _attaching_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot follow one armature, or None."""
    rigs = {each.object for each in _armature_modifiers(obj) if each.object is not None}
    if len(rigs) > 1:
        names = listed(sorted(rig.name for rig in rigs))
        return f"{obj.name} follows several armatures: {names}. Remove all but one modifier."
    if obj.parent is not None and obj.parent_type == "BONE":
        return (
            f"{obj.name} hangs on the bone {obj.parent_bone} and would move twice. Clear its "
            "parent (Alt P, Clear and Keep Transformation)."
        )
    return None


def weights_from_bodies(
    objects: Sequence[bpy.types.Object],
    options: BodyWeightsOptions,
    only: Integers | None = None,
) -> Steps:
    """Give clothes the weights of the body below them; see `analysis.weights_from_body`.

    In Weight Paint with a paint mask only the chosen vertices change. Locked groups keep their
    weights. The weights from before are kept in the mesh until they are put back. Clothes without
    an Armature modifier or a parent get both.

    Args:
        objects: mesh objects, original; the body among them stays as it is.
        only: vertices, in the place of a paint mask.

    Returns:
        a report for each piece of clothes, after the last step, which writes all of them.

    Raises:
        UserError: one of them cannot take weights. Nothing has changed then.
    """
    named = _named_body(options.body)
    objects = [obj for obj in objects if obj != named]
    if not objects:
        raise UserError("There are no clothes beside the body. Select them, too.")
    for obj in objects:
        raise_refusal(body_weights_refusal(obj))
    rig, bodies = _rig_and_bodies(objects, named)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    body, skeleton, bodies = _read_body(bodies, depsgraph, chosen=named in bodies)
    likeness = Likeness(options.distance / 100.0, float(np.radians(options.angle)))
    clothes = [_Clothes.read(obj, rig, skeleton, depsgraph, options, only) for obj in objects]
    order = _inner_first([each.mesh for each in clothes], body)
    found: dict[int, tuple[BodyWeights, tuple[str, ...]]] = {}
    names = [obj.name for obj in bodies]
    for number, row in enumerate(order):
        each = clothes[row]
        steps = weights_from_body(
            each.mesh,
            body,
            SurfaceTree,
            likeness,
            kept=each.kept,
            before=each.before,
            most=options.influences,
        )
        doing, part = f"Weights for {each.name}", 1.0 / len(clothes)
        new = yield from with_progress(steps, doing, number * part, part)
        if new is None:
            raise UserError(
                f"No vertex of {each.name} lies on {listed(names)}: none is near enough and faces "
                "the same way. Move it to where it is worn, or raise Distance and Angle."
            )
        new = replace(new, soft=each.mixed(new.soft, options))
        found[row] = new, tuple(names)
        names.append(each.name)
        body = body.with_clothes(each.mesh, each.with_new(new.soft))
    return [
        _written(obj, each, *found[row], rig)
        for row, (obj, each) in enumerate(zip(objects, clothes, strict=True))
    ]


def _armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    return [cast("Any", each) for each in obj.modifiers if each.type == "ARMATURE"]


def _named_body(name: str) -> bpy.types.Object | None:
    """The object that is chosen as the body; None: it is found.

    Raises:
        UserError: there is none of this name, or it is neither a mesh nor an armature.
    """
    if not name:
        return None
    body = object_named(name)
    if body is None:
        raise UserError(f"There is no object {name}.")
    if body.type == "MESH":
        raise_refusal(deformation_refusal(SkinnedObject(body)))
    elif body.type != "ARMATURE":
        raise UserError(f"{name} is no body. Choose its mesh, or its armature.")
    return body


def _rig_and_bodies(
    objects: Sequence[bpy.types.Object], named: bpy.types.Object | None
) -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    """The armature, and the meshes that may be the body."""
    rigs = dict.fromkeys(rig for rig in map(find_rig, objects) if rig is not None)
    if named is not None:
        rig = named if named.type == "ARMATURE" else find_rig(named)
        others = [obj.name for obj in objects if find_rig(obj) not in {None, rig}]
        if rig is None or others:
            raise UserError(
                f"{listed(others)} {verb(len(others), 'does', 'do')} not follow the armature of "
                f"{named.name}. Choose the body of {listed(others)}."
            )
    elif len(rigs) > 1:
        names = listed([rig.name for rig in rigs])
        raise UserError(f"The clothes follow several armatures: {names}. Do one after the other.")
    else:
        rig = next(iter(rigs), None) or _only_rig()
    if named is not None and named.type == "MESH":
        return rig, [named]
    found = [obj for obj in deformed_meshes(rig, bpy.data) if obj not in objects]
    found = [obj for obj in found if obj.users_scene]
    found = [obj for obj in found if not deformation_refusal(SkinnedObject(obj))]
    if not found:
        raise UserError(
            f"{rig.name} deforms no mesh with weights but {listed([o.name for o in objects])}. "
            "Choose which of them is the body, or weight paint it first."
        )
    return rig, found


def _only_rig() -> bpy.types.Object:
    """The only armature of the scene that deforms a mesh.

    Raises:
        UserError: there is none, or there are several.
    """
    meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]
    rigs = {find_rig(obj) for obj in meshes if not is_hidden(obj)} - {None}
    if len(rigs) != 1:
        found = "no armature deforms a mesh" if not rigs else "several armatures deform meshes"
        raise UserError(f"In this scene {found}. Choose the body.")
    return cast("bpy.types.Object", rigs.pop())


def _read_body(
    bodies: Sequence[bpy.types.Object], depsgraph: bpy.types.Depsgraph, *, chosen: bool
) -> tuple[BodySkin, Skeleton, list[bpy.types.Object]]:
    """The skin of meshes on one armature; without hair, skirts and the like unless it is chosen."""
    bindings = [bind(obj, depsgraph, follow=False, painted=True) for obj in bodies]
    rows = [0] if chosen else inner_meshes([each.part for each in bindings])
    positions, triangles, influences, count = [], [], [], 0
    for row in rows:
        binding, obj = bindings[row], bodies[row]
        keys = binding.shape_keys
        shape = binding.shape(None if keys is None else keys.values(obj.evaluated_get(depsgraph)))
        there = transformed_points(binding.object_to_armature, shape.astype(np.float64))
        _require_finite(obj, there)
        positions.append(there)
        triangles.append(binding.part.triangles + count)
        influences.append(binding.first_influences)
        count += len(shape)
    skin = BodySkin(
        np.concatenate(positions), np.concatenate(triangles), Influences.joined(influences)
    )
    if not len(skin.triangles) or not skin.size:
        raise UserError(f"{listed([bodies[row].name for row in rows])} has no faces to lie on.")
    return skin, bindings[rows[0]].skeleton, [bodies[row] for row in rows]


def _require_finite(obj: bpy.types.Object, positions: Float64s) -> None:
    """Raise UserError where a vertex is nowhere."""
    broken = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if len(broken):
        have = verb(len(broken), "has", "have")
        raise UserError(
            f"{counted(len(broken), 'vertex')} of {obj.name} {have} a position that is not a "
            f"number, the first is {broken[0]}. Remove them (Edit Mode, Mesh, Clean Up)."
        )


def _inner_first(clothes: Sequence[ClothMesh], body: BodySkin) -> list[int]:
    """The places of clothes by how far from the body they lie: half of the vertices are nearer."""
    if len(clothes) == 1:
        return [0]
    tree = SurfaceTree(body.positions, body.triangles)
    apart = []
    for cloth in clothes:
        places, _ = tree.nearest(cloth.positions)
        apart.append(np.median(np.linalg.norm(cloth.positions - places, axis=1)))
    return np.argsort(apart).tolist()


@dataclass(frozen=True, eq=False)
class _Clothes:
    """A mesh that takes weights. It holds no Blender references.

    Attributes:
        kept: shape (n,), vertices that stay as they are.
        before: its influences, as they are painted.
        locked: shape (B,), bones that keep their weights.
        locked_sums: shape (n,), the sums of these weights, 0 to 1.
    """

    name: str
    mesh: ClothMesh
    skeleton: Skeleton
    kept: Booleans
    before: Influences
    locked: Booleans
    locked_sums: Float64s

    @classmethod
    def read(
        cls,
        obj: bpy.types.Object,
        rig: bpy.types.Object,
        skeleton: Skeleton,
        depsgraph: bpy.types.Depsgraph,
        options: BodyWeightsOptions,
        only: Integers | None,
    ) -> _Clothes:
        """Read an object.

        Raises:
            UserError: a vertex is nowhere.
        """
        mesh, evaluated = mesh_of(obj), obj.evaluated_get(depsgraph)
        entries, names = read_weights(mesh), skeleton.names
        keys = ShapeKeys.read(obj, entries)
        shape = read_positions(mesh) if keys is None else keys.positions(keys.values(evaluated))
        to_armature = object_to_armature(evaluated, rig.evaluated_get(depsgraph))
        there = transformed_points(to_armature, shape.astype(np.float64))
        _require_finite(obj, there)
        cloth = ClothMesh.of(there, read_mesh_arrays(mesh, shape))
        deforming = deforming_bones(rig)
        place = {name: row for row, name in enumerate(names) if name in deforming}
        bones = numbers_of_groups(obj, entries, place)[entries.groups]
        used = bones >= 0
        triples = entries.vertices[used], bones[used], entries.weights[used]
        if kept_record(obj, PAINTED) is None:
            before = Influences.from_triples(*triples, entries.vertex_count)
        else:
            before = kept_influences(obj, names, PAINTED)
        locked_names = {group.name for group in obj.vertex_groups if group.lock_weight}
        locked = np.array([name in locked_names for name in names])
        is_locked = locked[triples[1]]
        values = np.nan_to_num(triples[2][is_locked])
        sums = np.bincount(triples[0][is_locked], values, entries.vertex_count)
        kept = np.zeros(entries.vertex_count, np.bool_)
        chosen = masked_vertices(obj) if only is None else only
        if chosen is not None:
            kept[:] = True
            kept[chosen] = False
        if options.only_missing:
            kept |= before.weights[:, 0] > 0.0
        sums = sums.clip(0.0, 1.0)
        return cls(obj.name, cloth, skeleton, kept, before, locked, sums)

    def mixed(self, soft: SoftWeights, options: BodyWeightsOptions) -> SoftWeights:
        """New weights of bones that are not locked, mixed with those from before."""
        rows = soft.vertices
        mix = np.where(self.before.weights[rows, 0] > 0.0, options.mix, 1.0)[:, None]
        old = self.before.at(rows)
        bones = np.concatenate((soft.bones, old.bones), axis=1)
        weights = np.concatenate((mix * soft.weights, (1.0 - mix) * old.weights), axis=1)
        weights[self.locked[bones]] = 0.0
        found = Influences.from_triples(
            np.repeat(np.arange(len(rows)), bones.shape[1]),
            bones.reshape(-1),
            weights.reshape(-1),
            len(rows),
        )
        moved = found.weights[:, 0] > 0.0
        new = SoftWeights(rows[moved], found.bones[moved], found.weights[moved])
        return new.cut(options.influences)

    def with_new(self, soft: SoftWeights) -> Influences:
        """The influences with the new ones of some vertices."""
        return self.before.with_rows(soft.vertices, Influences(soft.bones, soft.weights))


def _written(
    obj: bpy.types.Object,
    clothes: _Clothes,
    new: BodyWeights,
    bodies: tuple[str, ...],
    rig: bpy.types.Object,
) -> BodyWeightsReport:
    """Write new weights, keep the present ones if none are kept, and attach clothes to the rig."""
    if kept_record(obj, PAINTED) is not None:
        restore_weights(obj)
    soft, names, groups = new.soft, clothes.skeleton.names, obj.vertex_groups
    used = np.unique(soft.bones[soft.weights > 0.0])
    added = [names[bone] for bone in used if names[bone] not in groups]
    changing = {name for name, lock in zip(names, clothes.locked, strict=True) if not lock}
    changing &= deforming_bones(rig)
    keep_more_weights(obj, [g.name for g in groups if g.name in changing], BEFORE_BODY, added)
    for name in added:
        groups.new(name=name)
    group_of_bone = np.array([groups.find(name) for name in names])
    entries = read_weights(mesh_of(obj))
    unlocked = np.zeros(group_count(obj, entries), np.bool_)
    unlocked[[group.index for group in groups if group.name in changing]] = True
    old = unlocked[entries.groups] & np.isin(entries.vertices, soft.vertices)
    rows, slots = np.nonzero(soft.weights > 0.0)
    vertices = soft.vertices[rows]
    shares = soft.weights[rows, slots] * (1.0 - clothes.locked_sums[vertices])
    of_groups = group_of_bone[soft.bones[rows, slots]]
    count = len(unlocked)
    keys = vertices * count + of_groups
    gone = old & ~np.isin(entries.vertices.astype(np.int64) * count + entries.groups, keys)
    write_rows(
        obj,
        np.concatenate((vertices, entries.vertices[gone])),
        np.concatenate((of_groups, entries.groups[gone])),
        np.concatenate((shares, np.zeros(np.count_nonzero(gone)))).clip(0.0, 1.0),
    )
    _attach(obj, rig)
    mesh_of(obj).update_tag()
    memory_of(obj, ShownSources).sources = new.sources
    counts = np.bincount(new.sources, minlength=len(Source)).tolist()
    pieces = tuple((int(each[0]), len(each)) for each in new.carried)
    return BodyWeightsReport(
        obj.name, bodies, counts[Source.MATCHED], counts[Source.FILLED], counts[Source.KEPT], pieces
    )


def _attach(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    """Give clothes an Armature modifier and a parent, where they have none."""
    if find_rig(obj) is None:
        modifier: Any = next(iter(_armature_modifiers(obj)), None)
        if modifier is None:
            modifier = add_modifier(obj, "Armature", "ARMATURE")
            # What makes another half of a mesh comes before it, what smooths it behind.
            before = [row for row, each in enumerate(obj.modifiers) if each.type == "MIRROR"]
            place = obj.modifiers.find(modifier.name)  # pinned ones are behind it
            obj.modifiers.move(place, max(before, default=-1) + 1)
        modifier.object = rig
    if obj.parent is None:
        obj.parent = rig
        obj.matrix_parent_inverse = rig.matrix_world.inverted()
