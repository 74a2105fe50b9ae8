"""Check: the mesh object is where its rig is, and its vertices are somewhere.

Blender deforms a mesh in the space of its armature: what counts is where the two are to each other,
not which of them was moved or whether a rotation is applied. While a mesh object is misplaced, no
other check measures how skin and bones fit: its advice would be to change bones that are right.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np

from ...analysis.skin_fit import scale_of
from ...scene.blender.scenes import length_words, world_millimetres
from ...wording import counted, listed
from ..fixes.followers import Followers
from ..fixes.object_transforms import (
    Matrix,
    is_above,
    is_same,
    require_not_animated,
    require_unsheared,
    scale_words,
    set_channels,
)
from ..fixes.requirements import require_no_constraints
from ..issue import Check, Fix, FixError, Issue, Repair
from ..misplacement import Misplacement
from ..subject import Subject

# Of a matrix's own size: less is rounding in float32, and nothing that anyone sees.
_TOLERANCE = 1e-4


def find(subject: Subject) -> Iterator[Issue]:
    """Vertices that are nowhere; a mesh object that was moved, turned or scaled off its rig."""
    yield from _no_numbers(subject)
    obj, armature, found = subject.obj, subject.find_rig(), subject.misplacement
    # A bone that moves the mesh as a parent is found with the parents.
    by_bone = obj.parent == armature and obj.parent_type == "BONE"
    if armature is None or found is None or by_bone:
        return
    outside = found.outside
    words = _movement_words(subject, found)
    left = found.outside_after
    then = "no joint lies" if not left else f"{counted(left, 'joint')} lie{'s' * (left == 1)}"
    message = (
        f"{obj.name} is off its rig: {len(outside)} of {counted(len(found.joints.bones), 'joint')} "
        f"of {armature.name} lie outside of the skin that they bend. {obj.name} has to be {words}: "
        f"then {then} outside. Leave the bones where they are."
    )
    fix = Fix(
        "move_mesh",
        "Move Mesh to Rig",
        "Move the mesh object to where its skin fits the joints of the rig. Its vertices and the "
        "bones stay as they are",
        f"{obj.name} is {words}, and looks different. Its vertices and {armature.name} stay as "
        f"they are.{subject.once(Followers).sentence(obj)}",
    )
    bones = tuple(subject.skeleton.names[bone] for bone in outside)
    yield Issue("misplaced", "ERROR", message, bones, fixes=(fix,))


def _no_numbers(subject: Subject) -> Iterator[Issue]:
    vertices = np.flatnonzero(~np.isfinite(subject.rest).all(axis=1))
    if len(vertices):
        has, them = ("has", "it") if len(vertices) == 1 else ("have", "them")
        message = (
            f"{counted(len(vertices), 'vertex')} of {subject.obj.name} {has} a position that is "
            f"not a number, as broken files leave it: {listed([str(each) for each in vertices])}. "
            f"Joints near {them} are measured wrong. Select {them}, and delete {them} in Edit Mode."
        )
        yield Issue("no_number", "ERROR", message, vertices=vertices)


def _movement_words(subject: Subject, found: Misplacement) -> str:
    """The change of the object by the fix: ``moved by 0.3 m and turned by 20 degrees``."""
    world = _new_world(subject, found)
    old = np.array(subject.obj.evaluated_get(subject.depsgraph).matrix_world, np.float64)
    words = []
    way = float(np.linalg.norm(world[:3, 3] - old[:3, 3]))
    if way > _TOLERANCE * np.abs(old).max():
        scene = bpy.context.scene
        words.append(f"moved by {length_words(way * world_millimetres(scene), scene, 3)}")
    size = scale_of(found.movement)
    cosine = (np.trace(found.movement[:3, :3]) / size - 1.0) / 2.0
    angle = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    if angle > 0.1:
        words.append(f"turned by {angle:.3g} degrees")
    basis = np.array(subject.obj.matrix_basis, np.float64)
    new = basis @ np.linalg.solve(old, world)  # in the space of the parent
    sizes = np.linalg.norm(new[:3, :3], axis=0) / np.linalg.norm(basis[:3, :3], axis=0)
    if np.abs(sizes - 1.0).max() > _TOLERANCE:
        words.append(f"scaled by {scale_words(sizes)}")
    return " and ".join(words) or "moved a little"


def _new_world(subject: Subject, found: Misplacement) -> Matrix:
    """Shape (4, 4): the world matrix of the mesh object where it fits."""
    rig = np.array(subject.rig.evaluated_get(subject.depsgraph).matrix_world, np.float64)
    return rig @ found.to_armature


def _move_mesh(subject: Subject, _issue: Issue) -> Repair:
    obj, armature, found = subject.obj, subject.rig, subject.misplacement
    assert found is not None  # it was found just now
    words = _movement_words(subject, found)
    require_no_constraints(obj)
    if is_above(obj, armature):
        raise FixError(
            f"{armature.name} is parented to {obj.name} and would move with it. Clear this parent "
            "first (Alt P, Clear and Keep Transformation)."
        )
    require_not_animated(obj)
    old = np.array(obj.matrix_basis, np.float64)
    parent = np.array(obj.evaluated_get(subject.depsgraph).matrix_world) @ np.linalg.inv(old)
    new = np.linalg.solve(parent, _new_world(subject, found))
    # Blender would show what is left of a rotation of zero as -0.
    new[np.abs(new) < 1e-9 * np.abs(new).max()] = 0.0
    _require_unlocked(obj, old, new)
    require_unsheared(obj, new, _TOLERANCE)
    yield
    set_channels(obj, new, _TOLERANCE)
    joints = len(found.joints.bones)
    return (
        f"{obj.name} is {words}: {joints - found.outside_after} of {joints} joints lie in its skin "
        f"now, {joints - len(found.outside)} did."
    )


def _require_unlocked(obj: bpy.types.Object, old: Matrix, new: Matrix) -> None:
    """See that a new transform changes no locked channel."""
    size = np.linalg.norm(new[:3, :3], axis=0), np.linalg.norm(old[:3, :3], axis=0)
    moved = np.abs(new - old)[:3, 3] > _TOLERANCE * np.abs(old).max()
    turned = not is_same(new[:3, :3] / size[0], old[:3, :3] / size[1], _TOLERANCE)
    locked = {
        "Location": (moved & np.array(obj.lock_location)).any(),
        "Rotation": turned and bool(np.any(obj.lock_rotation) or obj.lock_rotation_w),
        "Scale": not is_same(*size, _TOLERANCE) and bool(np.any(obj.lock_scale)),
    }
    names = [name for name, is_locked in locked.items() if is_locked]
    if names:
        raise FixError(
            f"{listed(names)} of {obj.name} {'is' if len(names) == 1 else 'are'} locked. Unlock it "
            "in the sidebar, under Item."
        )


CHECK = Check("mesh_placement", find, {"move_mesh": _move_mesh})
