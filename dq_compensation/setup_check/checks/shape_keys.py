"""Check: the shape keys are relative, fit the mesh, and are on only on purpose.

What cannot be seen: whether a corrective key was sculpted for linear or for dual quaternion
skinning, and whether a value was set on purpose. Keys that are relative to another one than the
basis are fine, and so are modifiers that deform after ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import bmesh
import bpy
import numpy as np

from ...arrays import Float32s, Float64s, Floats, Indices, Int32s
from ...core.influences import Influences
from ...core.vectors import extent
from ...scene.blender.animation_curves import animated_paths
from ...scene.blender.bulk_arrays import read_property
from ...scene.blender.mesh import mesh_of, other_users, read_positions
from ...scene.blender.skinned_object import SkinnedObject
from ...session.known_objects import enabled_objects
from ...wording import counted, listed
from ..fixes.requirements import require_editable
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject

# Of the size of the mesh: a key that moves nothing further has no effect.
_NO_EFFECT = 1e-7


def find(subject: Subject) -> Iterator[Issue]:
    """The problems of the shape keys of a mesh."""
    obj = subject.obj
    keys, count = subject.mesh.shape_keys, len(subject.mesh.vertices)
    if keys is None or not len(keys.key_blocks):
        return
    wrong = [block.name for block in keys.key_blocks if len(block.points) != count]
    # In Edit Mode the mesh is behind: its keys grow with it when it is left.
    if wrong and obj.mode != "EDIT":
        yield _mismatched_issue(obj, wrong)
        return
    if not keys.use_relative:
        yield _absolute_issue(obj, keys)
        return
    if unset := _unset_keys(keys):
        yield _unset_issue(subject, unset)
    if obj.show_only_shape_key and obj.active_shape_key is not None:
        yield _pinned_issue(obj, obj.active_shape_key)
    if subject.ours is not None and _is_first_with_keys(subject):
        message = (
            f"Blender's FBX exporter leaves out the shape keys of {obj.name} while DQ Compensation "
            "is on and Apply Modifiers is on in the exporter. Use Export Plain (sub-panel Bake), "
            "or turn Apply Modifiers off."
        )
        yield Issue("left_out_of_fbx", "INFORMATION", message)
    if subject.find_rig() is not None and len(subject.influences.weights) == count:
        posed = _posed_keys(keys, subject.influences, subject.rest)
        if posed:
            message = (
                f"Shape keys of {obj.name} turn whole limbs: {listed(posed)}. They seem to hold a "
                "pose, as Save as Shape Key of an Armature modifier makes them; keys act before "
                "the armature, so in that pose the limbs turn twice. Keep them off, or store only "
                "the difference."
            )
            yield Issue("posed", "WARNING", message)


def _is_first_with_keys(subject: Subject) -> bool:
    """Whether an object is the first one of its character, by name, that has a key to export."""
    rig = subject.find_rig()
    enabled = (each for each in enabled_objects() if SkinnedObject(each).find_rig() == rig)
    keys = ((each.name, mesh_of(each).shape_keys) for each in enabled)
    names = (name for name, key in keys if key is not None and len(key.key_blocks) > 1)
    return subject.obj.name == min(names, default="")


def _mismatched_issue(obj: bpy.types.Object, names: list[str]) -> Issue:
    count = len(mesh_of(obj).vertices)
    message = (
        f"Shape keys of {obj.name} have another number of points than its {count} vertices and do "
        f"not act: {listed(names)}."
    )
    fix = Fix(
        "fit_keys",
        "Fit Keys to Mesh",
        "Give these keys a point for each vertex; missing points come from the mesh",
        f"{obj.name} may look different: {counted(len(names), 'key')} will act again on "
        "the vertices that they know by number.",
    )
    return Issue("mismatched", "ERROR", message, fixes=(fix,))


def _absolute_issue(obj: bpy.types.Object, keys: bpy.types.Key) -> Issue:
    animated = animated_paths(keys).get("eval_time")
    questions = []
    if animated is not None:
        questions.append(
            f"The shape of {obj.name} is animated by {animated} and will stay as it is now."
        )
    if _shares(keys) is None:
        questions.append(f"The shape of {obj.name} will look different.")
    message = (
        f"The shape keys of {obj.name} are absolute, one after the other in time. DQ Compensation "
        "follows relative ones."
    )
    fix = Fix(
        "make_relative",
        "Make Relative",
        "Turn on Relative and set the values of the keys so that the current shape stays",
        " ".join(questions),
    )
    return Issue("absolute", "ERROR", message, fixes=(fix,))


def _unset_issue(subject: Subject, unset: list[bpy.types.ShapeKey]) -> Issue:
    obj = subject.obj
    names = [block.name for block in unset]
    least = _NO_EFFECT * extent(subject.rest)
    offsets = {block.name: _points(block) - _points(block.relative_key) for block in unset}
    acting = [name for name in names if (np.abs(offsets[name]) > least).any()]
    others = other_users(subject.mesh)
    with_it = f", and so will {counted(others, 'object')} with the same mesh" if others else ""
    question = f"{obj.name} will look different{with_it}: off: {listed(acting)}."
    message = (
        f"Shape keys of {obj.name} are fully on, and nothing animates them: {listed(names)}. New "
        "keys start with the value 1 from Blender 5.0 on."
    )
    fix = Fix(
        "clear_values", "Set to 0", "Set the value of these keys to 0", question if acting else ""
    )
    return Issue("unset_values", "INFORMATION", message, fixes=(fix,))


def _unset_keys(keys: bpy.types.Key) -> list[bpy.types.ShapeKey]:
    """Keys that are fully on though nothing drives them: new keys start so from Blender 5 on."""
    animated = animated_paths(keys)
    return [
        block
        for block in keys.key_blocks
        if block != keys.reference_key
        and not block.mute
        and abs(block.value - 1.0) < 1e-6
        and block.path_from_id("value") not in animated
    ]


def _pinned_issue(obj: bpy.types.Object, block: bpy.types.ShapeKey) -> Issue:
    message = (
        f"Only the shape key {block.name} of {obj.name} is shown: the values, drivers and keys of "
        "the others do nothing."
    )
    fix = Fix(
        "unpin",
        "Show All Keys",
        "Turn off Solo Active Shape Key (in Blender 4.2: Shape Key Lock)",
        f"{obj.name} will look different: its shape keys act by their values.",
    )
    return Issue("pinned", "INFORMATION", message, fixes=(fix,))


def _points(block: bpy.types.ShapeKey) -> Float32s:
    return read_property(block.points, "co", np.float32, (3,))


def _shares(keys: bpy.types.Key) -> dict[str, float] | None:
    """The keys that make up the shape of absolute keys now; the shares sum to 1.

    None where keys are not joined by straight lines, or relative ones would mask them by a group.
    """
    blocks = sorted(keys.key_blocks, key=lambda block: block.frame)
    if any(block.interpolation != "KEY_LINEAR" or block.vertex_group for block in blocks):
        return None
    frames = np.array([block.frame for block in blocks])
    after = int(np.searchsorted(frames, keys.eval_time))
    if after in {0, len(blocks)}:
        return {blocks[min(after, len(blocks) - 1)].name: 1.0}
    span = frames[after] - frames[after - 1]
    share = float((keys.eval_time - frames[after - 1]) / span) if span > 0.0 else 1.0
    return {blocks[after - 1].name: 1.0 - share, blocks[after].name: share}


def _keys(subject: Subject) -> bpy.types.Key:
    """The shape keys of a mesh that can be changed now."""
    require_editable(subject.obj)
    return cast("bpy.types.Key", subject.mesh.shape_keys)


def _make_relative(subject: Subject, _issue: Issue) -> Repair:
    keys = _keys(subject)
    yield
    shares = _shares(keys) or {}
    keys.use_relative = True
    for block in keys.key_blocks:
        block.value = 0.0
    for name, share in shares.items():
        block = keys.key_blocks[name]
        block.relative_key, block.mute, block.value = keys.reference_key, False, share
    on = [name for name, share in shares.items() if share > 0.0]
    return (
        f"Made {counted(len(keys.key_blocks), 'shape key')} of {subject.obj.name} relative; on: "
        f"{listed(on) or 'none'}."
    )


def _clear_values(subject: Subject, _issue: Issue) -> Repair:
    unset = _unset_keys(_keys(subject))
    yield
    names = [block.name for block in unset]
    for block in unset:
        block.value = 0.0
    return f"Set {counted(len(names), 'shape key')} of {subject.obj.name} to 0: {listed(names)}."


def _fit_keys(subject: Subject, _issue: Issue) -> Repair:
    """Blender itself does so when Edit Mode is left, and leaves the new points to chance."""
    obj, mesh, keys = subject.obj, subject.mesh, _keys(subject)
    positions = read_positions(mesh)
    points = {block.name: _points(block) for block in keys.key_blocks}
    wrong = [name for name, known in points.items() if len(known) != len(positions)]
    if not len(positions):
        raise FixError(f"{obj.name} has no vertices. Remove its shape keys.")
    yield
    resized = bmesh.new()
    try:
        resized.from_mesh(mesh)
        resized.to_mesh(mesh)
    finally:
        resized.free()
    for name, known in points.items():
        fitted = positions.copy()
        kept = min(len(known), len(fitted))
        fitted[:kept] = known[:kept]
        keys.key_blocks[name].points.foreach_set("co", fitted.reshape(-1))
    places: Any = mesh.attributes["position"]
    places.data.foreach_set("vector", positions.reshape(-1))
    mesh.update()
    return f"Gave {counted(len(wrong), 'shape key')} of {obj.name} {len(positions)} points."


def _unpin(subject: Subject, _issue: Issue) -> Repair:
    _keys(subject)
    yield
    subject.obj.show_only_shape_key = False
    return f"The shape keys of {subject.obj.name} act by their values."


# A vertex that follows one bone: a pose moves all of a bone's as one rigid piece.
_MOSTLY = 0.999
# A bone counts with so many of them; fewer say nothing about how they turn.
_LEAST_VERTICES = 12
# No more of each are looked at, spread over all of them: a rigid piece is rigid everywhere.
_MOST_VERTICES = 64
# The pieces are turned by at least so much, against each other, too.
_LEAST_ANGLE = np.radians(10.0)
# What a rigid piece may leave unexplained, as a share of how far it is turned. A sculpted shape
# leaves more; what is missed here does less harm than a warning without a reason.
_MOST_RESIDUAL = 0.01
# Of the size of the mesh: a key that moves nothing further holds no pose.
_LEAST_MOVE = 0.05
# An open jaw or a turned eye is one or two pieces; a pose turns several.
_LEAST_PIECES = 3


def _posed_keys(keys: bpy.types.Key, influences: Influences, rest: Floats) -> list[str]:
    """The names of the keys that turn several bones' vertices rigidly, each its own way.

    Save as Shape Key of an Armature modifier makes such keys. A corrective shape moves the vertices
    of one bone against each other and is none of them.

    Args:
        keys: relative ones.
        rest: shape (n, 3), the mesh.
    """
    size = extent(rest)
    vertices, bones = _single_bone_vertices(influences)
    names: list[str] = []
    if not len(vertices):
        return names
    places = {
        block.name: read_property(block.points, "co", np.float32, (3,))[vertices]
        for block in keys.key_blocks
        if len(block.points) == len(rest)
    }
    for block in keys.key_blocks:
        after, before = places.get(block.name), places.get(block.relative_key.name)
        if block == block.relative_key or after is None or before is None:
            continue
        if np.abs(after - before).max(initial=0.0) < _LEAST_MOVE * size:
            continue
        turns = _rigid_turns(before.astype(np.float64), after.astype(np.float64), bones)
        if _differ(turns):
            names.append(block.name)
    return names


def _single_bone_vertices(influences: Influences) -> tuple[Indices, Int32s]:
    """The vertices of a single bone, and their bones; without bones of few such vertices."""
    vertices = np.flatnonzero(influences.weights[:, 0] >= _MOSTLY)
    by_bone = np.argsort(influences.bones[vertices, 0], kind="stable")
    vertices = vertices[by_bone]
    bones = influences.bones[vertices, 0]
    count = np.bincount(bones)
    rank = np.arange(len(bones)) - (np.cumsum(count) - count)[bones]
    of_bone = count[bones]
    keep = rank * _MOST_VERTICES % np.maximum(of_bone, _MOST_VERTICES) < _MOST_VERTICES
    keep &= of_bone >= _LEAST_VERTICES
    return vertices[keep], bones[keep]


def _rigid_turns(before: Float64s, after: Float64s, bones: Int32s) -> Float64s:
    """Shape (m, 3, 3): the rotation of each bone's vertices that are moved as one rigid piece."""
    count = np.bincount(bones)
    used = np.flatnonzero(count)

    def sums(values: Float64s) -> Float64s:
        return np.stack([np.bincount(bones, column)[used] for column in values.T], axis=1)

    number = count[used][:, None]
    centre_before, centre_after = sums(before) / number, sums(after) / number
    place = np.zeros(len(count), np.int32)
    place[used] = np.arange(len(used))
    piece = place[bones]
    spread_before, spread_after = before - centre_before[piece], after - centre_after[piece]
    products = (spread_before[:, :, None] * spread_after[:, None, :]).reshape(-1, 9)
    # Kabsch: the rotation that takes one set of points to the other best.
    left, _, right = np.linalg.svd(sums(products).reshape(-1, 3, 3))
    sign = np.sign(np.linalg.det(left @ right))
    left[:, :, 2] *= sign[:, None]
    turns = (left @ right).transpose(0, 2, 1)
    explained = np.einsum("nij,nj->ni", turns[piece], spread_before)
    residual = sums(((spread_after - explained) ** 2).sum(axis=1, keepdims=True))[:, 0]
    turned = sums(((explained - spread_before) ** 2).sum(axis=1, keepdims=True))[:, 0]
    angle = np.arccos(np.clip(0.5 * (np.trace(turns, axis1=1, axis2=2) - 1.0), -1.0, 1.0))
    return turns[(residual <= _MOST_RESIDUAL**2 * turned) & (angle >= _LEAST_ANGLE)]


def _differ(turns: Float64s) -> bool:
    """Whether there are enough pieces, and they are not all turned alike as one."""
    if len(turns) < _LEAST_PIECES:
        return False
    traces = np.einsum("nij,ij->n", turns, turns[0])
    angles = np.arccos(np.clip(0.5 * (traces - 1.0), -1.0, 1.0))
    return bool((angles >= _LEAST_ANGLE).any())


SHAPE_KEYS = Check(
    "shape_keys",
    find,
    {
        "make_relative": _make_relative,
        "clear_values": _clear_values,
        "fit_keys": _fit_keys,
        "unpin": _unpin,
    },
)
