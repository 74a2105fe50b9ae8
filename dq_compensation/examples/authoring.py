"""Adds example poses to an object, gives them shapes, mirrors them, and removes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from bpy.types import Context, Depsgraph, Object

from ..analysis.mirror_map import partners_by_position, partners_by_topology
from ..arrays import Float32s, Float64s, Floats, Integers
from ..core.dual_quaternion import concatenate_quaternions, quaternion_conjugate, rotate_vectors
from ..core.example_poses import ExampleError, too_close
from ..core.pose import Pose
from ..core.skeleton import LimbAxis, Skeleton
from ..core.vectors import extent
from ..errors import raise_refusal
from ..lifecycle.following import binding_with_current_softness
from ..scene.binding.binding import Binding
from ..scene.binding.capture import Capture, capture, support_of, support_weights
from ..scene.binding.kept_examples import (
    ExampleItem,
    example_bone,
    example_items,
    example_placement,
    parent_axes,
)
from ..scene.binding.kept_shapes import digest_of_shapes
from ..scene.binding.modifiers_before import examples_refusal
from ..scene.binding.numpy_evaluator import PosedDeformer, shape_key_values
from ..scene.binding.soft_copy import softness_of
from ..scene.blender.bone_names import flipped_name
from ..scene.blender.mesh import mesh_of, other_users, read_edges
from ..scene.blender.own_objects import linked_refusal
from ..scene.blender.rigging import rig_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.key_writing import clear_keys, remove_keys, write_key
from ..scene.settings.example_settings import DQCompensationExampleBone, DQCompensationExamplePose
from ..scene.settings.object_settings import Settings, choose_example, settings_of
from ..scene.settings.setting_events import EXAMPLE_BONE_CHOSEN
from ..scene.vertex_groups import write_groups
from ..session.changes import writing_settings
from ..session.known_objects import with_examples
from ..session.status import status_of

ADVICE_LINKED = "Make the examples there, or make both local (Object, Relations, Make Local)."


def authoring_refusal(obj: Object) -> str | None:
    """Why example poses of an object cannot be changed, or None; cheap."""
    mesh = mesh_of(obj)
    named = f"{obj.name} or its mesh"
    reason = linked_refusal(named, [obj], ADVICE_LINKED)
    if reason := reason or linked_refusal(named, [mesh], ADVICE_LINKED, overridden=True):
        return reason
    others = other_users(mesh)
    if others > 0:
        return (
            f"{others + 1} objects share the mesh of {obj.name}. Make {obj.name} single user first "
            "(Object, Relations, Make Single User)."
        )
    return examples_refusal(SkinnedObject(obj))


def bone_settings(obj: Object, bone: str) -> DQCompensationExampleBone:
    """The shared settings of a bone's examples; new ones if it has none."""
    bones = settings_of(obj).example_bones
    for known in bones:
        if known.name == bone:
            return known
    made = bones.add()
    made.name = bone
    with writing_settings():
        made.weights = "AUTO"
    return made


def _on_chosen_bone(item: DQCompensationExamplePose, _context: Context) -> None:
    """Give a bone's settings to the newly chosen bone, for instance after a renaming."""
    obj = item.id_data
    if isinstance(obj, Object):
        settings = settings_of(obj)
        used = {each.bone for each in settings.examples}
        known = {each.name for each in settings.example_bones}
        left = next((each for each in settings.example_bones if each.name not in used), None)
        if item.bone not in known and left is not None:
            left.name = item.bone
        elif item.bone not in known:
            bone_settings(obj, item.bone)


SOLVED = "SOLVED"
"""Behind the base of an example: solved shapes of its joint act below it."""


def base_now(obj: Object, bone: str) -> str:
    """The base on which shapes of examples of a bone are made now.

    Returns:
        the method, its softness, and `SOLVED` where solved shapes at the head of the bone act.
    """
    settings = settings_of(obj)
    softness = softness_of(SkinnedObject(obj)) if settings.example_base == "COMPENSATED" else 0.0
    base = f"{settings.example_base} {softness:.4f}"
    return f"{base} {SOLVED}" if bone in _joints_that_act(obj) else base


def _joints_that_act(obj: Object) -> set[str]:
    """The bones at whose heads solved shapes act below examples."""
    if not digest_of_shapes(obj) or not by_example(obj).use_solved_shapes:
        return set()
    # What is enabled is bound already.
    binding = status_of(obj).binding or binding_with_current_softness(obj)
    shapes = binding.acting_shapes(by_example(obj))
    if shapes is None:
        return set()
    joints = {int(joint) for block in shapes.blocks for joint in block.joints}
    return {binding.skeleton.names[shapes.hats.behind[joint]] for joint in joints}


def write_support(obj: Object, bone: str, weights: Floats) -> str:
    """Write the support of a bone to its vertex group; returns the name of the group.

    Args:
        bone: its name. It gets a new group where it has none.
        weights: shape (n,), 0 to 1.

    Raises:
        UserError: the group is locked, or the mesh is in Edit Mode; no weight has changed.
    """
    settings = bone_settings(obj, bone)
    if settings.support not in obj.vertex_groups:
        settings.support = obj.vertex_groups.new(name=f"Support {bone}").name
    write_groups(obj, {settings.support: np.clip(weights, 0.0, 1.0)})
    return settings.support


def key_name(bone: str, name: str) -> str:
    """The name for the shape key of an example; Blender allows 63 bytes."""
    bone = bone.rpartition(":")[2]
    full = f"Example {name}" if name.startswith(bone) else f"Example {bone} {name}"
    return full.encode()[:60].decode(errors="ignore")


def _keys_of_bone(obj: Object, bone: str) -> frozenset[str]:
    """The names of the shape keys of a bone's examples."""
    return frozenset(item.key for item in settings_of(obj).examples if item.bone == bone)


def _require_distance(
    obj: Object, item: ExampleItem, binding: Binding, limb_axis: LimbAxis
) -> None:
    """Raise ExampleError, naming both, when a bone has nearly the same example pose already."""
    skeleton = binding.skeleton
    bone = skeleton.names.index(item.bone)
    limb = skeleton.limb_directions(limb_axis)[bone]
    others = [other for other in example_items(obj) if other.bone == item.bone]
    for known in ([], *([other] for other in others)):
        close = too_close(example_bone(bone, [*known, item], skeleton), limb)
        if close is None or item.name not in close:
            continue
        near = next(name for name in close if name != item.name)
        instead = f"Edit {near} instead, or pose the bone further."
        raise ExampleError(
            f"The pose {item.name} is nearly the pose {near} of {item.bone}: less than 3 degrees "
            f"away. {'Pose the bone first.' if near == 'rest' else instead}"
        )


def require_bone(binding: Binding, bone: str) -> int:
    """The place of an example's bone in the skeleton; ExampleError if it is not there any more."""
    if bone not in binding.skeleton.names:
        raise ExampleError(f"{binding.armature_name} has no bone {bone} any more.")
    return binding.skeleton.names.index(bone)


def write_example(
    obj: Object, item: ExampleItem, offsets: Floats, known: DQCompensationExamplePose | None = None
) -> None:
    """Write an example and its shape key, which the object follows then.

    The bone's own settings are kept elsewhere.

    Args:
        offsets: shape (n, 3), object space, at rest.
        known: the example to write over, its key with it; by default there will be a new one.

    Raises:
        UserError: the key of the known one is the basis; nothing has changed.
    """
    name = item.key if known is None else known.key
    key = write_key(obj, name, offsets, overwrite=known is not None)
    key.mute = True
    target = settings_of(obj).examples.add() if known is None else known
    with writing_settings():
        target.name, target.bone, target.key = item.name, item.bone, key.name
        target.direction = item.direction  # type: ignore[assignment]
        target.rotation = item.rotation  # type: ignore[assignment]
    with_examples.forget()
    target.made_on = base_now(obj, item.bone)
    target.factor = item.factor


@dataclass(frozen=True, eq=False)
class CapturedPose:
    """The pose of an armature and the shape of a mesh when an example was begun, by names.

    Attributes:
        matrices: shape (R, 4, 4), the rows of a pose in armature space, as D_b.
        object_to_armature: shape (4, 4), A^-1 O.
        key_values: how much of each shape key was on, example poses included.
    """

    bone_names: tuple[str, ...]
    matrices: Float64s
    object_to_armature: Float64s
    key_values: dict[str, float]

    @classmethod
    def current(
        cls, binding: Binding, settings: Settings, obj: Object, depsgraph: Depsgraph
    ) -> CapturedPose:
        """Read the current pose; errors as of `PosedDeformer.of_current_pose`."""
        evaluated = obj.evaluated_get(depsgraph)
        armature = rig_of(obj).evaluated_get(depsgraph)
        deformer = PosedDeformer.of_current_pose(binding, settings, evaluated, armature)
        values = shape_key_values(binding, settings, evaluated, deformer.pose)
        names = binding.shape_keys.key_names if binding.shape_keys is not None else ()
        known = values[: len(names)] if values is not None else ()
        return cls(
            binding.skeleton.names,
            deformer.pose.matrices,
            deformer.object_to_armature,
            {name: float(value) for name, value in zip(names, known, strict=True) if value},
        )

    def deformer(self, binding: Binding, settings: Settings) -> PosedDeformer:
        """The deformation of the object in that pose; errors as of `pose`."""
        return PosedDeformer(binding, settings, self.pose(binding), self.object_to_armature)

    def pose(self, binding: Binding) -> Pose:
        """The pose then; ExampleError if a bone is not there any more."""
        place = {name: index for index, name in enumerate(self.bone_names)}
        missing = [name for name in binding.skeleton.names if name not in place]
        if missing:
            raise ExampleError(
                f"The bone {missing[0]} of {binding.armature_name} was not there when the shape of "
                "the example pose was begun. Begin it again."
            )
        skeleton, matrices = binding.skeleton, self.matrices
        if self.bone_names != skeleton.names or len(matrices) != skeleton.row_count:
            matrices = matrices[[place[name] for name in skeleton.names]]
        return Pose.from_matrices(matrices, skeleton)

    def shape(self, binding: Binding, without: frozenset[str] = frozenset()) -> Float32s:
        """The shape before skinning, shape (n, 3), object space, without the keys named here."""
        keys = binding.shape_keys
        if keys is None:
            return binding.rest
        values = np.zeros(keys.row_count, np.float32)
        for row, name in enumerate(keys.key_names):
            values[row] = 0.0 if name in without else self.key_values.get(name, 0.0)
        return keys.positions(values)

    def to_properties(self) -> dict[str, Any]:
        """The captured pose as values that custom properties can store."""
        return {
            "bone_names": "\n".join(self.bone_names),
            "matrices": self.matrices.ravel().tolist(),
            "object_to_armature": self.object_to_armature.ravel().tolist(),
            "key_names": "\n".join(self.key_values),
            "key_values": list(self.key_values.values()),
        }

    @classmethod
    def from_properties(cls, kept: Any) -> CapturedPose:
        """The captured pose from a custom property, as `to_properties` gave it."""
        names = [name for name in str(kept["key_names"]).split("\n") if name]
        return cls(
            tuple(str(kept["bone_names"]).split("\n")),
            np.array(kept["matrices"], np.float64).reshape(-1, 4, 4),
            np.array(kept["object_to_armature"], np.float64).reshape(4, 4),
            dict(zip(names, (float(value) for value in kept["key_values"]), strict=True)),
        )


Outside = Literal["ASK", "LEAVE", "WIDEN"]
"""The treatment of vertices that were moved outside the support. ASK: nothing is done. LEAVE: they
stay as they were. WIDEN: the support gets all vertices that were moved."""


class OutsideSupportError(ExampleError):
    """A shape moves vertices that are outside the support; it was not applied."""


def by_example(obj: Object) -> Settings:
    """The settings of an object with the method By Example, whatever its current method is."""
    settings = Settings.of(obj)
    if settings.by_example:
        return settings
    return settings.with_method("SPHERICAL_JOINT_BY_EXAMPLE", settings_of(obj).example_base)


def add_example(
    obj: Object, bone: str, depsgraph: Depsgraph, name: str = ""
) -> tuple[int, CapturedPose]:
    """Add an example of the current pose. It begins with the current shape of the character.

    Args:
        name: of the pose; by default a number after the bone's name.

    Returns:
        the index of the example, and the pose in which it was made.

    Raises:
        ExampleError: it cannot be added; the message says why and nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    binding = binding_with_current_softness(obj, depsgraph)
    if bone not in binding.skeleton.names:
        raise ExampleError(f"{binding.armature_name} has no bone {bone}. Choose one of its bones.")
    settings = by_example(obj)
    captured = CapturedPose.current(binding, settings, obj, depsgraph)
    item = _item_for(obj, bone, name, binding, captured)
    _require_distance(obj, item, binding, settings.limb_axis)
    others = _keys_of_bone(obj, bone)
    offsets = captured.shape(binding) - captured.shape(binding, others)
    bone_settings(obj, bone)
    write_example(obj, item, offsets)
    index = len(settings_of(obj).examples) - 1
    choose_example(obj, index)
    return index, captured


def give_shape(
    obj: Object,
    index: int,
    captured: CapturedPose,
    wanted: Floats,
    outside: Outside = "LEAVE",
    *,
    masked: bool = False,
) -> Capture:
    """Let an example show a shape in its pose.

    Args:
        wanted: shape (n, 3), object space, posed.
        outside: what becomes of vertices that were moved outside the support.
        masked: the support has already softened the movements at its border, as a sculpt mask.

    Returns:
        what could be taken back to rest.

    Raises:
        OutsideSupportError: `outside` is ASK and vertices were moved there; nothing has changed.
        ExampleError: it cannot be done; the message says why and nothing has changed.
        BindingError, PoseError, UserError: the object cannot be deformed, or the group of the
            support not written.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    item = settings_of(obj).examples[index]
    binding = binding_with_current_softness(obj)
    if len(wanted) != binding.vertex_count:
        raise ExampleError(
            f"The shape has {len(wanted)} vertices, {obj.name} has {binding.vertex_count}. Undo "
            "the change of the number of vertices."
        )
    require_bone(binding, item.bone)
    others = _keys_of_bone(obj, item.bone) | {item.key}
    deformer = captured.deformer(binding, by_example(obj))
    shape = captured.shape(binding, others)
    weights = support_weights(binding, item.bone, support_of(obj, item.bone))
    limits = (weights > 0.0).astype(np.float32) if masked else weights
    before = deformer(captured.shape(binding))
    found = capture(binding, deformer, shape, wanted, limits, before)
    if outside == "ASK" and len(found.left_out):
        raise OutsideSupportError(
            f"{len(found.left_out)} vertices that you moved for {item.name} are outside the "
            f"support of {item.bone}. Press Support from My Edit to add all vertices that you "
            "moved to the support, or Apply Inside Only."
        )
    if outside == "WIDEN" and (limits[found.moved] < 1.0).any():
        weights = np.where(found.moved, 1.0, weights)
        write_support(obj, item.bone, weights)
        found = capture(binding, deformer, shape, wanted, weights, before)
    key = write_key(obj, item.key or key_name(item.bone, item.name), found.offsets, overwrite=True)
    key.mute = True
    if item.key != key.name:
        item.key = key.name
    item.made_on = base_now(obj, item.bone)
    return found


def remove_example(obj: Object, index: int, *, keep_basis: bool = True) -> str:
    """Remove an example and its shape key; returns its name.

    Args:
        keep_basis: keep the basis key where no other key is left.

    Raises:
        ExampleError: the object is linked.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    settings = settings_of(obj)
    item = settings.examples[index]
    name, bone, key = item.name, item.bone, item.key
    settings.examples.remove(index)
    if not any(other.bone == bone for other in settings.examples):
        place = [each.name for each in settings.example_bones].index(bone)
        settings.example_bones.remove(place)
    choose_example(obj, max(0, min(index, len(settings.examples) - 1)))
    if not any(other.key == key for other in settings.examples):
        remove_keys(obj, (key,))
        keys = mesh_of(obj).shape_keys
        if not keep_basis and keys is not None and len(keys.key_blocks) == 1:
            clear_keys(obj)
    return name


def _item_for(
    obj: Object, bone: str, name: str, binding: Binding, captured: CapturedPose
) -> ExampleItem:
    skeleton, axis = binding.skeleton, Settings.of(obj).limb_axis
    index, pose = skeleton.names.index(bone), captured.pose(binding)
    placement = example_placement(index, pose, skeleton, axis)
    direction, rotation = (tuple(row.tolist()) for row in placement)
    taken = {item.name for item in settings_of(obj).examples if item.bone == bone}
    number = 1
    while not name or name in taken:
        # Without a namespace such as mixamorig: all names of a list would begin alike.
        name, number = f"{bone.rpartition(':')[2]} {number}", number + 1
    known = [item for item in example_items(obj) if item.bone == bone]
    key = key_name(bone, name)
    made = ExampleItem(name, bone, key, direction, rotation, 1.0, 1.0, False, "AUTO")
    if not known:
        return made
    sigma, twists, weights = known[0].sigma, known[0].twists, known[0].weights
    return made._replace(sigma=sigma, twists=twists, weights=weights)


# In parts of the object's size: how far a vertex may be from the mirror image of its partner.
_TOLERANCE = 1e-3
# Radians that the limb of the other bone may be from the mirror image, at rest.
_SAME_LIMB = 0.3
_X = np.array([-1.0, 1.0, 1.0])
# A mirror turns the axis of a rotation about: (w, x, y, z) becomes this times it.
_X_ROTATION = np.array([1.0, 1.0, -1.0, -1.0])


def mirror_example(obj: Object, index: int, *, by_topology: bool = False) -> str:
    """Mirror an example to the bone of the other side, or update its mirror image.

    Args:
        by_topology: find the other side of the mesh by how it hangs together, not by positions.

    Returns:
        the name of the mirrored example.

    Raises:
        ExampleError: there is no other side; the message says why and nothing has changed.
        BindingError: the object cannot be deformed.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    binding = binding_with_current_softness(obj)
    item = example_items(obj)[index]
    axis = Settings.of(obj).limb_axis
    mirrored = _mirrored_item(item, binding.skeleton, binding.armature_name, axis)
    keys = binding.shape_keys
    if keys is None or item.key not in keys.key_names:
        raise ExampleError(f"The example pose {item.name} has lost its shape key {item.key}.")
    partners = _partners(obj, binding, by_topology=by_topology)
    offsets = keys.offsets[keys.key_names.index(item.key)][partners] * _X
    examples = settings_of(obj).examples
    same = (each for each in examples if (each.bone, each.name) == (mirrored.bone, mirrored.name))
    known = next(same, None)
    if known is None:
        _require_distance(obj, mirrored, binding, axis)
    write_example(obj, mirrored, offsets, known)
    written = next(
        each for each in examples if (each.bone, each.name) == (mirrored.bone, mirrored.name)
    )
    written.made_on = examples[index].made_on
    source, target = bone_settings(obj, item.bone), bone_settings(obj, mirrored.bone)
    target.sigma, target.twists = source.sigma, source.twists
    target.weights = source.weights
    target.support_kind = source.support_kind
    if source.support and not target.support:
        flipped = flipped_name(source.support)
        target.support = flipped if flipped in obj.vertex_groups else ""
    return mirrored.name


def _mirrored_item(
    item: ExampleItem, skeleton: Skeleton, armature_name: str, axis: LimbAxis
) -> ExampleItem:
    other = flipped_name(item.bone)
    if other == item.bone or other not in skeleton.names:
        raise ExampleError(
            f"{armature_name} has no bone on the other side of {item.bone}: no {other}."
            if other != item.bone
            else f"{item.bone} has no side in its name, such as .L or .R."
        )
    own, bone = skeleton.names.index(item.bone), skeleton.names.index(other)
    limbs = skeleton.limb_directions(axis)
    if np.arccos(np.clip(limbs[bone] @ (limbs[own] * _X), -1.0, 1.0)) > _SAME_LIMB:
        raise ExampleError(
            f"{other} is not the mirror image of {item.bone} at rest. Symmetrize the armature."
        )
    example = example_bone(own, [item], skeleton)
    direction, turned = example.directions[0] * _X, example.rotations[0] * _X_ROTATION
    back = quaternion_conjugate(parent_axes(bone, skeleton))
    rotation = concatenate_quaternions(
        concatenate_quaternions(back, turned), quaternion_conjugate(back)
    )
    name = flipped_name(item.name)
    if name == item.name:
        name = item.name.replace(item.bone, other)
    return item._replace(
        name=name,
        bone=other,
        key=key_name(other, name),
        direction=tuple(rotate_vectors(back, direction).tolist()),
        rotation=tuple(rotation.tolist()),
    )


def _partners(obj: Object, binding: Binding, *, by_topology: bool) -> Integers:
    """The counterpart of each vertex on the other side, shape (n,)."""
    if by_topology:
        partners = partners_by_topology(read_edges(mesh_of(obj)), binding.vertex_count)
    else:
        size = extent(binding.rest)
        partners = partners_by_position(binding.rest, _TOLERANCE * (size or 1.0))
    alone = int((partners < 0).sum())
    if alone:
        other_way = "positions" if by_topology else "the topology"
        raise ExampleError(
            f"{alone} of {len(partners)} vertices of {obj.name} have no counterpart on the other "
            f"side. Try to find it by {other_way}."
        )
    return partners


FOLLOWS = ((EXAMPLE_BONE_CHOSEN, _on_chosen_bone),)
