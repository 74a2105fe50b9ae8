"""The posed copy: a plain mesh in the current shape of the character, for the artist to sculpt.

Sculpt Mode shows no node modifier, and a stroke on a skinned mesh lands in rest space. So the
artist works on a copy of the deformed surface, without modifiers, at the character's place; the
character is hidden meanwhile. What is needed to take the result back to rest is kept in the copy,
so that it outlives undo, saving and scrubbing through the timeline.

The base that example poses were sculpted on, and their way to another one.

An example is an offset at rest: on another base, with softer weights, or with or without solved
shapes below it, the same offset makes another shape. So each example knows the base that its
shape was made on, and its shape can be taken over: the offsets become those that show it on the
present base.

Follows posed copies: leaving the mode applies the shape, and a lost one shows its character.

Changes are only noted. A moment later a timer applies what was left, with an undo step of its
own. A shape that cannot be applied stays in its copy, and the panel says why; it is not tried
again by itself. After an undo nothing is applied by itself either: the user wanted to go back.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import bpy
import numpy as np
from bpy.types import Depsgraph, Mesh, Object
from mathutils import Matrix

from ..analysis.posed_bones import posed_matrices
from ..arrays import Float32s, Float64s, Floats
from ..core.dual_quaternion import (
    concatenate_quaternions,
    matrices_from_quaternions,
    quaternion_conjugate,
    quaternions_from_matrices,
)
from ..core.example_poses import CLOSEST, ExampleError
from ..core.pose import Pose
from ..core.vectors import extent, transformed_points
from ..errors import UserError, raise_refusal
from ..lifecycle.following import binding_with_current_softness, flush, reconcile_now
from ..modifier.leftovers import forget_attributes
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.capture import OUTSIDE, Capture, support_of, support_weights
from ..scene.binding.kept_examples import (
    ExampleItem,
    example_bone,
    example_items,
    example_placement,
)
from ..scene.binding.soft_copy import keeps_soft_weights
from ..scene.blender.bulk_arrays import AttributeType, read_attribute, read_property
from ..scene.blender.mesh import flag_elements, mesh_of, read_positions
from ..scene.blender.own_objects import CHARACTER_PROPERTY, is_posed_copy, linked_refusal
from ..scene.blender.rigging import rig_of
from ..scene.blender.scenes import object_millimetres, select_alone
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.copies import copied_character, hide_for_copy, posed_copy_of, show_again
from ..scene.key_writing import clear_keys
from ..scene.settings.object_settings import Settings, is_enabled, setting_label, settings_of
from ..scene.settings.setting_events import only_with
from ..scene.stack import find_rig
from ..session.changes import EDIT, LOADED, RESTORED, Changes
from ..session.delayed_calls import DelayedCall
from ..session.known_objects import enabled_objects, shaped
from ..session.memory import memory_of
from ..session.status import mesh_edited, status_of, tag_redraw
from ..softness.softening import with_softness
from ..wording import listed, rounded
from . import authoring

# Which of them counts is the bone's rotation mode.
_ROTATIONS = ("rotation_quaternion", "rotation_euler", "rotation_axis_angle")


def go_to_pose(obj: Object, index: int, depsgraph: Depsgraph) -> tuple[str, float]:
    """Turn the bone of an example to its stored rotation relative to its parent.

    The parents stay as they are. Only the rotation of the bone's own pose changes, in its rotation
    mode; the bone's constraints act on it as ever.

    Returns:
        the name of the bone, and how many radians its direction is from the example's now: more
        than a little where constraints, drivers or locks hold the bone.

    Raises:
        ExampleError: the bone or the armature cannot be posed; nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    binding = bind(obj, depsgraph)
    skeleton, rig = binding.skeleton, rig_of(obj)
    item = example_items(obj)[index]
    bone = authoring.require_bone(binding, item.bone)
    if reason := linked_refusal(rig.name, [rig], "Make a library override of it to pose it."):
        raise ExampleError(reason)
    example = example_bone(bone, [item], skeleton)
    pose = Pose.from_matrices(binding.pose_matrices(rig.evaluated_get(depsgraph)), skeleton)
    parent = int(skeleton.parents[bone])
    turned = example.rotations[0]
    if parent >= 0:
        turned = concatenate_quaternions(pose.rotations[parent], turned)
    # From how the bone has turned now to how it should: about its posed head, in armature space.
    change = concatenate_quaternions(turned, quaternion_conjugate(pose.rotations[bone]))
    pose_bone = rig.pose.bones[item.bone]
    location, scale = pose_bone.location[:], pose_bone.scale[:]
    posed = np.array(pose_bone.matrix, np.float64)
    posed[:3, :3] = matrices_from_quaternions(change) @ posed[:3, :3]
    pose_bone.matrix = Matrix(posed.tolist())
    # Only the rotation was asked for; what the matrix says of the rest is rounding.
    pose_bone.location, pose_bone.scale = location, scale
    bpy.context.view_layer.update()
    return item.bone, _radians_from_pose(obj, index)


@contextmanager
def at_pose(obj: Object, index: int, depsgraph: Depsgraph) -> Generator[float]:
    """Go to the pose of an example; where something fails there, the bone turns back.

    Yields:
        how far the bone is from the pose, as `go_to_pose` says; errors likewise.
    """
    pose_bone = rig_of(obj).pose.bones.get(example_items(obj)[index].bone)
    before = {name: tuple(getattr(pose_bone, name)) for name in _ROTATIONS} if pose_bone else {}
    try:
        yield go_to_pose(obj, index, depsgraph)[1]
    except BaseException:
        for name, value in before.items():
            setattr(pose_bone, name, value)
        raise


def _radians_from_pose(obj: Object, index: int) -> float:
    """The angle between the bone of an example and its pose, now; errors as `go_to_pose`."""
    item = example_items(obj)[index]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    binding = bind(obj, depsgraph)
    armature = rig_of(obj).evaluated_get(depsgraph)
    skeleton, bone = binding.skeleton, authoring.require_bone(binding, item.bone)
    pose = Pose.from_matrices(binding.pose_matrices(armature), skeleton)
    direction, rotation = example_placement(bone, pose, skeleton, Settings.of(obj).limb_axis)
    if item.twists:
        return 2.0 * float(np.arccos(min(1.0, abs(float(np.dot(rotation, item.rotation))))))
    return float(np.arccos(np.clip(np.dot(direction, item.direction), -1.0, 1.0)))


ShapingMode = Literal["SCULPT", "EDIT"]

# Custom properties of the copy.
BONE_PROPERTY = "dq_compensation_example_bone"
NAME_PROPERTY = "dq_compensation_example_name"
_KEY_PROPERTY = "dq_compensation_example_key"
_NEW_PROPERTY = "dq_compensation_example_is_new"
_EDITED_PROPERTY = "dq_compensation_example_is_edited"
BASIS_PROPERTY = "dq_compensation_example_had_keys"
_MATRIX_PROPERTY = "dq_compensation_example_matrix"
_POSE_PROPERTY = "dq_compensation_example_moment"

# What Sculpt Mode keeps its mask in: 1 where a brush does nothing.
_MASK = ".sculpt_mask"


def shaping_refusal(obj: Object) -> str | None:
    """Why no posed copy of an object can be begun, or None; cheap."""
    if reason := authoring.authoring_refusal(obj):
        return reason
    if posed_copy_of(obj) is not None:
        return f"An example of {obj.name} is being edited. Apply or cancel that first."
    if obj.mode != "OBJECT":
        return f"{obj.name} is in another mode. Go to Object Mode, or to Pose Mode of its armature."
    if not obj.visible_get():
        return f"{obj.name} is hidden. Show it (Alt H) and try again."
    return None


def begin(
    obj: Object,
    index: int,
    captured: authoring.CapturedPose | None,
    depsgraph: Depsgraph,
    *,
    is_new: bool = False,
) -> Object:
    """Make the posed copy for an example, select it and hide the character.

    What is outside the support is masked for Sculpt Mode; `shape_in` hides it in Edit Mode.

    Args:
        obj: the original mesh object, in Object Mode.
        captured: the pose in which it was added; None takes the current pose.
        is_new: `cancel` takes the example back as well.

    Raises:
        ExampleError: it cannot be edited; nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    raise_refusal(shaping_refusal(obj), ExampleError)
    # With a new one the character was read just now, but for soft weights that wait.
    is_read = is_new and not keeps_soft_weights(SkinnedObject(obj))
    known = status_of(obj).binding if is_read else None
    binding = known or binding_with_current_softness(obj, depsgraph)
    settings = authoring.by_example(obj)
    captured = captured or authoring.CapturedPose.current(binding, settings, obj, depsgraph)
    item = settings_of(obj).examples[index]
    authoring.require_bone(binding, item.bone)
    shape = captured.shape(binding)
    posed = captured.deformer(binding, settings)(shape).astype(np.float32)
    copy = _copy_in_shape(obj, posed)
    _mask(mesh_of(copy), support_weights(binding, item.bone, support_of(obj, item.bone)))
    copy[CHARACTER_PROPERTY] = obj
    copy[BONE_PROPERTY], copy[NAME_PROPERTY], copy[_KEY_PROPERTY] = item.bone, item.name, item.key
    copy[_NEW_PROPERTY] = is_new
    copy[_MATRIX_PROPERTY] = np.array(obj.matrix_world, np.float64).ravel().tolist()
    copy[_POSE_PROPERTY] = captured.to_properties()
    for collection in obj.users_collection:
        collection.objects.link(copy)
    select_alone(copy, bpy.context.view_layer)
    hide_for_copy(obj)
    shaped.forget()
    return copy


def _copy_in_shape(obj: Object, posed: Float32s) -> Object:
    """A new object with the mesh of another and other positions, not yet in a collection."""
    mesh = cast("Mesh", mesh_of(obj).copy())
    mesh.name = f"{obj.name} posed"
    forget_attributes(mesh)
    copy = bpy.data.objects.new(f"{obj.name} posed", mesh)
    clear_keys(copy)
    position: Any = mesh.attributes["position"]
    position.data.foreach_set("vector", posed.ravel())
    mesh.update()
    copy.matrix_world = obj.matrix_world
    copy.hide_render = True
    for slot, own in zip(copy.material_slots, obj.material_slots, strict=True):
        slot.link, slot.material = own.link, own.material
    return copy


def _mask(mesh: Mesh, support: Floats) -> None:
    known = mesh.attributes.get(_MASK)
    if known is not None:
        mesh.attributes.remove(known)
    mask: Any = mesh.attributes.new(_MASK, "FLOAT", "POINT")
    mask.data.foreach_set("value", 1.0 - np.clip(support, 0.0, 1.0).astype(np.float32))


def shape_in(copy: Object, mode: ShapingMode) -> None:
    """Enter a mode to shape the active posed copy.

    Edit Mode hides the vertices outside the support and begins with nothing selected.
    """
    if copy.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    copy[_EDITED_PROPERTY] = copy.get(_EDITED_PROPERTY, False) or mode == "EDIT"
    mesh = mesh_of(copy)
    outside = read_attribute(mesh, _MASK, AttributeType.FLOAT, len(mesh.vertices)) > 1.0 - OUTSIDE
    hidden = np.where(outside, mode == "EDIT", read_property(mesh.vertices, "hide", np.bool_))
    flag_elements(mesh, "hide", hidden, np.logical_or)
    flag_elements(mesh, "select", np.zeros_like(hidden), np.logical_or)
    mesh.update()
    bpy.ops.object.mode_set(mode=mode)


def _require_character(copy: Object) -> Object:
    """The character whose posed copy an object is; ExampleError if there is none any more."""
    obj = copied_character(copy)
    if obj is None:
        raise ExampleError(
            f"{copy.name} is not the posed copy of a character, or its character was deleted."
        )
    if not len(obj.users_collection):
        raise ExampleError(
            f"{obj.name} was deleted. Undo that, or press Cancel to delete its posed copy as well."
        )
    return obj


def cancel(copy: Object) -> str:
    """Remove a posed copy, and an example that was added with it.

    Args:
        copy: in Object Mode.

    Returns:
        what became of the example, a sentence.
    """
    obj, name = copied_character(copy), str(copy.get(NAME_PROPERTY, copy.name))
    summary = f"{name} keeps the shape that it had."
    if (
        obj is not None
        and copy.get(_NEW_PROPERTY, False)
        and authoring.authoring_refusal(obj) is None
    ):
        try:
            keep_basis = bool(copy.get(BASIS_PROPERTY, True))
            authoring.remove_example(obj, _example_of(copy, obj), keep_basis=keep_basis)
        except ExampleError:
            summary = f"{name} was gone already."
        else:
            summary = f"{name} was not added."
    end(copy)
    return summary


def end(copy: Object) -> None:
    """Remove a posed copy and show its character again.

    The armature is selected and active again where it is still in Pose Mode, else the character.
    """
    obj, mesh = copied_character(copy), mesh_of(copy)
    bpy.data.objects.remove(copy)
    if not mesh.users:
        bpy.data.meshes.remove(mesh)
    if obj is None:
        return
    show_again(obj)
    objects = bpy.context.view_layer.objects
    if objects.get(obj.name) != obj:
        return
    chosen, rig = obj, find_rig(obj)
    if rig is not None and rig.mode == "POSE" and objects.get(rig.name) == rig:
        chosen = rig
    chosen.select_set(True)
    objects.active = chosen


def positions_in(source: Object, obj: Object, matrix: Floats | None = None) -> Float64s:
    """The vertices of one mesh object in the space of another, shape (n, 3).

    Args:
        source: any mesh object of the same topology; its modifiers do not count.
        matrix: shape (4, 4); where the character was when the source was made; by default where it
            is now.

    Raises:
        ExampleError: it has other vertices or faces.
    """
    mesh, own = mesh_of(source), mesh_of(obj)
    counts, wanted = (
        (len(each.vertices), len(each.polygons), len(each.edges), len(each.loops))
        for each in (mesh, own)
    )
    if counts != wanted:
        raise ExampleError(
            f"{source.name} has {counts[0]} vertices and {counts[1]} faces, {obj.name} "
            f"{wanted[0]} and {wanted[1]}. Both must have the same mesh, in the same order."
        )
    positions = read_positions(mesh).astype(np.float64)
    place = np.array(obj.matrix_world, np.float64) if matrix is None else matrix
    there = np.linalg.solve(place, np.array(source.matrix_world, np.float64))
    is_there = np.abs(there - np.eye(4)).max() < 1e-6
    return positions if is_there else transformed_points(there, positions)


def _example_of(copy: Object, obj: Object) -> int:
    """The index of the example that a posed copy is for; ExampleError where it has gone.

    By its shape key, then by its name: either may have been renamed meanwhile.
    """
    bone, name = str(copy[BONE_PROPERTY]), str(copy[NAME_PROPERTY])
    items = list(enumerate(example_items(obj)))
    found = [index for index, item in items if item.key == copy[_KEY_PROPERTY]]
    found += [index for index, item in items if (item.bone, item.name) == (bone, name)]
    if not found:
        raise ExampleError(
            f"{obj.name} has no example pose {name} of {bone} any more. Add one and use Update "
            "from Mesh to give it this shape."
        )
    return found[0]


# Of the object's size: what remains below it cannot be seen.
_CLOSE = 1e-4


def apply_copy(copy: Object, outside: authoring.Outside = "ASK") -> tuple[str, bool]:
    """Take the shape of a posed copy back to rest as its example, and remove the copy.

    Args:
        copy: in Object Mode.
        outside: what becomes of vertices that were moved outside the support.

    Returns:
        a sentence with numbers, and whether nothing had to be left out.

    Raises:
        OutsideSupportError: `outside` is ASK and there are such vertices; the copy stays.
        ExampleError, BindingError, PoseError, UserError: it cannot be applied; the copy stays.
    """
    obj = _require_character(copy)
    index = _example_of(copy, obj)
    captured = authoring.CapturedPose.from_properties(copy[_POSE_PROPERTY])
    began_at = np.array(copy[_MATRIX_PROPERTY], np.float64).reshape(4, 4)
    wanted = positions_in(copy, obj, began_at)
    masked = not copy.get(_EDITED_PROPERTY, False)
    found = authoring.give_shape(obj, index, captured, wanted, outside, masked=masked)
    end(copy)
    return _applied(obj, example_items(obj)[index], found)


def update_from(obj: Object, index: int, source: Object, depsgraph: Depsgraph) -> tuple[str, bool]:
    """Give an example the shape of another mesh object, inside the support of its bone.

    Args:
        obj: the original mesh object, in the pose of the example.
        source: a mesh object of the same topology, as it should look in the pose.

    Returns:
        as `apply_copy`.

    Raises:
        ExampleError, BindingError, PoseError, UserError: it cannot be done; nothing has changed.
    """
    item = example_items(obj)[index]
    away = _radians_from_pose(obj, index)
    if away > CLOSEST:
        raise ExampleError(
            f"{item.bone} is {np.degrees(away):.0f} degrees away from its pose {item.name}. Press "
            "Go to Pose first."
        )
    binding = binding_with_current_softness(obj, depsgraph)
    captured = authoring.CapturedPose.current(binding, authoring.by_example(obj), obj, depsgraph)
    found = authoring.give_shape(obj, index, captured, positions_in(source, obj))
    return _applied(obj, item, found)


def follow_now(obj: Object) -> None:
    """Let an enabled character show the change of its examples at once."""
    status_of(obj).example_result = None
    if not is_enabled(obj) or obj.library is not None:
        return
    mesh_edited(mesh_of(obj))
    flush([obj])  # what was done to it is taken for our own, and followed once
    reconcile_now([obj])


def _applied(obj: Object, item: ExampleItem, found: Capture) -> tuple[str, bool]:
    follow_now(obj)
    millimetres = object_millimetres(obj, bpy.context.scene)
    changed = int((found.offsets != 0.0).any(axis=1).sum())
    summary = f"{item.name} has your shape: it moves {changed} vertices."
    size = extent(np.array(obj.bound_box, np.float64))
    is_close = found.error <= _CLOSE * size
    if not is_close:
        summary += (
            f" Your shape is off by up to {rounded(found.error * millimetres, 2)} mm, because the "
            "base moves these vertices another way. Make the change smoother there, or choose the "
            "base Spherical Joint."
        )
    left_out = len(found.left_out)
    if left_out:
        summary += (
            f" {left_out} vertices outside the support of {item.bone} stayed as they were. Choose "
            "Support from My Edit, or press Paint Support, to let its examples move them."
        )
    if not Settings.of(obj).by_example:
        summary += f" It shows when the method of {obj.name} is By Example."
    status_of(obj).example_result = summary
    return summary, is_close and left_out == 0


def other_bases(obj: Object) -> dict[int, str]:
    """The examples that were sculpted on another base, by their places.

    Each with its base, `authoring.base_now` then, where that is known.
    """
    examples = enumerate(settings_of(obj).examples)
    return {
        index: item.made_on
        for index, item in examples
        if item.made_on not in {"", authoring.base_now(obj, item.bone)}
    }


def base_sentence(obj: Object) -> str:
    """A sentence for the panel on examples that were sculpted on another base; empty for none."""
    others = other_bases(obj)
    if not others:
        return ""
    names = listed([settings_of(obj).examples[index].name for index in others])
    index, made_on = next(iter(others.items()))
    base, softness, *solved = made_on.split()
    text = f"{setting_label(obj, 'example_base', base)}, Softness {float(softness):.2f}"
    if solved:
        text += ", with solved shapes"
    elif authoring.base_now(obj, settings_of(obj).examples[index].bone).endswith(authoring.SOLVED):
        text += ", without solved shapes"
    return f"{names}: sculpted on {text}. It looks different now."


def take_over(obj: Object) -> list[str]:
    """Let examples show the shapes that were sculpted, on the present base; returns their names.

    In the poses of the examples the vertices in the support are where they were.

    Raises:
        ExampleError, BindingError, PoseError, UserError: one cannot be taken over; those before it
            have been.
    """
    binding = binding_with_current_softness(obj)
    done = []
    for index, base in other_bases(obj).items():
        method, softness, *_ = base.split()
        before = with_softness(obj, binding, float(softness))
        settings = _as_sculpted(obj, base).with_method("SPHERICAL_JOINT_BY_EXAMPLE", method)  # type: ignore[arg-type]
        item = example_items(obj)[index]
        captured = _pose_of(item, binding)
        wanted = captured.deformer(before, settings)(captured.shape(before))
        authoring.give_shape(obj, index, captured, wanted)
        done.append(item.name)
    follow_now(obj)
    return done


Shown = list[tuple[int, authoring.CapturedPose, Floats]]
"""Examples by their places, their poses, and the vertices in these, shape (n, 3), object space."""


def _as_sculpted(obj: Object, made_on: str) -> Settings:
    """The settings that show an example as it was sculpted: with solved shapes, or without."""
    settings = authoring.by_example(obj)
    if made_on.endswith(authoring.SOLVED):
        return replace(settings, use_solved_shapes=True, shapes_left_out="")
    return replace(settings, use_solved_shapes=False) if made_on else settings


def shown_shapes(obj: Object) -> Shown:
    """The shapes that the examples of an object show on its base, each in its pose.

    They are those that were sculpted, also while solved shapes are switched off or on. Examples
    without bone or key have none.

    Raises:
        BindingError: the object cannot be deformed.
    """
    items = example_items(obj)
    if not items:
        return []
    binding, found = binding_with_current_softness(obj), Shown()
    examples = settings_of(obj).examples
    keys = binding.shape_keys.key_names if binding.shape_keys is not None else ()
    for index, item in enumerate(items):
        if item.bone in binding.skeleton.names and item.key in keys:
            captured, settings = _pose_of(item, binding), _as_sculpted(obj, examples[index].made_on)
            wanted = captured.deformer(binding, settings)(captured.shape(binding))
            found.append((index, captured, wanted))
    return found


def keep_shown(obj: Object, shown: Shown) -> None:
    """Let examples show what they showed, in their supports, when their base has become another.

    Raises:
        ExampleError, BindingError, PoseError, UserError: as `give_shape`.
    """
    for index, captured, wanted in shown:
        authoring.give_shape(obj, index, captured, wanted)
    if shown:
        follow_now(obj)


def _pose_of(item: ExampleItem, binding: Binding) -> authoring.CapturedPose:
    """The pose of an example: its bone is turned, all else is at rest, no other key is on."""
    skeleton = binding.skeleton
    bone = authoring.require_bone(binding, item.bone)
    turned = example_bone(bone, [item], skeleton).rotations[0]
    axes = quaternions_from_matrices(skeleton.rest[bone : bone + 1, :3, :3])[0]
    turned = concatenate_quaternions(turned, axes)
    w, x, y, z = concatenate_quaternions(quaternion_conjugate(axes), turned).tolist()
    matrices = posed_matrices(skeleton, {bone: (w, x, y, z)})
    return authoring.CapturedPose(
        skeleton.names, matrices, binding.object_to_armature, {item.key: 1.0}
    )


# Seconds from leaving the mode to applying.
_APPLY_AFTER = 0.1
_MODES = frozenset({"SCULPT", "EDIT"})

# The session_uid and the name of the copy that is being shaped.
_shaped: tuple[int, str] | None = None
# The session_uid of the copies whose mode was left.
_left: set[int] = set()


@dataclass
class _Copy:
    """The reason why the shape of a posed copy could not be applied."""

    failure: UserError | None = None


def failure_of(copy: Object) -> UserError | None:
    """Why the shape of a posed copy could not be applied, or None."""
    return memory_of(copy, _Copy).failure


def note_failure(copy: Object, error: UserError) -> None:
    """Keep for the panel why the shape of a posed copy could not be applied."""
    memory_of(copy, _Copy).failure = error


def observe() -> None:
    """Note the copy in Sculpt or Edit Mode, and one that has left its mode; quick."""
    global _shaped
    if _shaped is not None:
        copy = bpy.data.objects.get(_shaped[1])
        if copy is None or copy.session_uid != _shaped[0]:
            _shaped = None
        elif copy.mode == "OBJECT":
            _left.add(_shaped[0])
            _shaped = None
    active = bpy.context.view_layer.objects.active
    if active is not None and active.mode in _MODES and is_posed_copy(active):
        _shaped = (active.session_uid, active.name)
        memory_of(active, _Copy).failure = None


def follow() -> None:
    """Apply the copies whose mode was left; show the characters whose copies are gone."""
    left = [obj for obj in bpy.data.objects if obj.session_uid in _left] if _left else []
    _left.clear()
    for copy in left:
        if copy.mode == "OBJECT":
            _apply(copy)
    for obj in _characters_with_copies():
        if posed_copy_of(obj) is None:
            show_again(obj)


def _apply(copy: Object) -> None:
    known = memory_of(copy, _Copy)
    known.failure = None
    windows = bpy.context.window_manager.windows
    showing = (each for each in windows if each.view_layer.objects.get(copy.name) == copy)
    window = next(showing, None)
    try:
        with bpy.context.temp_override(window=window) if window is not None else nullcontext():
            apply_copy(copy)
            bpy.ops.ed.undo_push(message="Apply Example")
    except UserError as error:
        known.failure = error


def _characters_with_copies() -> list[Object]:
    own = (obj for obj in enabled_objects() if obj.library is None)
    return [obj for obj in own if settings_of(obj).native.hidden_for_copy]


@only_with(shaped)
def _on_edit(_changes: Changes) -> None:
    observe()
    _delayed_follow.request()


def _after_undo() -> None:
    for obj in enabled_objects():
        # What was applied last may not be there any more.
        status_of(obj).example_result = None
    _after_load()


def _after_load() -> None:
    take_for_granted()
    if _characters_with_copies():
        _delayed_follow.request()


def take_for_granted() -> None:
    """Take the current state as the reference: no mode was left."""
    global _shaped
    _shaped = None
    observe()
    _left.clear()


def _follow_and_redraw() -> None:
    if _left or _characters_with_copies():
        follow()
        tag_redraw()


_delayed_follow = DelayedCall(_follow_and_redraw, _APPLY_AFTER, "REST")


FOLLOWS = ((EDIT, _on_edit), (RESTORED, _after_undo), (LOADED, _after_load))


def unregister() -> None:
    """Stop following; an open copy stays open."""
    global _shaped
    _delayed_follow.cancel()
    _shaped = None
    _left.clear()
