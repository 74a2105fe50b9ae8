"""The character whose deformation is baked: read once, then evaluated in any number of poses.

A baked key adds to the shape that the other keys make at that moment: with them as they are, and
the baked key at 1, Blender's own Armature modifier gives our result. So the offsets are those of
`rest_offsets` from the shape s of the other keys: native(s + offset) = ours(s). What else moves
the sliders moves them before and after the bake alike: the bake is ours minus native.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np

from ..arrays import Booleans, Float32s, Float64s, Int64s
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.rest_offsets import Target, rest_offsets
from ..core.vectors import extent, transformed_points
from ..errors import raise_refusal
from ..lifecycle.following import binding_with_current_softness
from ..modifier.base import mixing_refusal
from ..scene.binding.binding import Binding
from ..scene.binding.numpy_evaluator import evaluate
from ..scene.blender.bulk_arrays import read_property
from ..scene.blender.mesh import mesh_of
from ..scene.blender.placement import object_to_armature
from ..scene.blender.rigging import deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings

# A vertex is reached when no more than this part of the object's extent is missing.
_REACHED = 1e-4

_REFUSAL_BEFORE = (
    "The modifier {modifier} of {obj} acts before {armature}, where no shape key can follow it. "
    "Apply {modifier}, turn it off in the viewport, or move {armature} above it."
)
REFUSAL_REST = "{armature} is in Rest Position, which has no poses. Switch it to Pose Position."
REFUSAL_HIDDEN = "{obj} is hidden, so Blender does not evaluate it. Show it in the viewport."


def source_refusal(obj: bpy.types.Object) -> str | None:
    """Why the deformation of an object cannot be baked at all, or None; cheap."""
    skinned = SkinnedObject(obj)
    if reason := deformation_refusal(skinned) or mixing_refusal(skinned):
        return reason
    for modifier in skinned.modifiers_before:
        if modifier.show_viewport:
            return _REFUSAL_BEFORE.format(
                modifier=modifier.name, obj=obj.name, armature=skinned.modifier.name
            )
    if obj.show_only_shape_key and skinned.mesh.shape_keys is not None:
        return (
            f"{obj.name} shows one shape key alone. Turn off Solo Active Shape Key below the list "
            "of shape keys (in Blender 4.2: Shape Key Lock)."
        )
    if skinned.armature.pose_position == "REST":
        return REFUSAL_REST.format(armature=skinned.rig.name)
    if not obj.visible_get():
        return REFUSAL_HIDDEN.format(obj=obj.name)
    return None


@dataclass(frozen=True, eq=False)
class PosedShape:
    """The shape of a character in one pose, before and after our deformation.

    Attributes:
        shape: shape (n, 3), float32, object space; what the keys make.
        wanted: shape (n, 3), float32, object space; our deformation of it.
        matrices: shape (B, 4, 4), D_b of the skeleton's bones.
        to_armature: shape (4, 4), A^-1 O.
    """

    shape: Float32s
    wanted: Float32s
    matrices: Float64s
    to_armature: Float64s


@dataclass(frozen=True, eq=False)
class PoseOffsets:
    """The offsets to add in one pose, or in several.

    Attributes:
        offsets: shape (n, 3), or (F, n, 3) of F poses, float32, object space.
        unreached: shape (n,), bool; the vertices that do not get where they should in some pose, by
            more than `_REACHED` of the object's extent.
    """

    offsets: Float32s
    unreached: Booleans


@dataclass(frozen=True, eq=False)
class Source:
    """One character, ready to be baked.

    Attributes:
        binding: of it, as it was before anything was baked.
        target: what deforms it afterwards.
        replaced: the shape keys that count as off, because the bake replaces them.
    """

    obj: bpy.types.Object
    binding: Binding
    target: Target = "LINEAR"
    replaced: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        obj: bpy.types.Object,
        depsgraph: bpy.types.Depsgraph,
        target: Target = "LINEAR",
        replaced: frozenset[str] = frozenset(),
    ) -> Source:
        """Read a character.

        Args:
            obj: a mesh object, enabled or not.
            target: what deforms it afterwards.
            replaced: names of the shape keys that the bake replaces.

        Raises:
            UserError: it cannot be baked; the message says why and what to do.
        """
        obj = cast("bpy.types.Object", obj.original)
        raise_refusal(source_refusal(obj))
        return cls(obj, binding_with_current_softness(obj, depsgraph), target, replaced)

    @property
    def vertex_count(self) -> int:
        """The n vertices."""
        return self.binding.vertex_count

    @property
    def pieces(self) -> Int64s:
        """Shape (n,), the rigid piece of each vertex, -1 for none."""
        return self.binding.pieces_of(self.binding.kinds_of(Settings.of(self.obj).bone_kinds))

    def shape(self, evaluated: bpy.types.Object) -> Float32s:
        """The shape that the other keys make now, shape (n, 3), object space.

        Keys are found by their names: those that were added since are not counted.

        Args:
            evaluated: the evaluated mesh object.
        """
        bound = self.binding.shape_keys
        known = self.binding.with_written_keys(evaluated).shape_keys
        if bound is None or known is None:
            return self.binding.rest
        key = mesh_of(evaluated).shape_keys
        blocks = key.key_blocks if key is not None else ()
        values = read_property(blocks, "value", np.float32)  # type: ignore[arg-type]
        values[read_property(blocks, "mute", np.bool_)] = 0.0  # type: ignore[arg-type]
        of_name = dict(zip((block.name for block in blocks), values, strict=True))
        rows = np.zeros(known.row_count, np.float32)
        for row, name in enumerate(known.key_names):
            is_other = name in bound.key_names and name not in self.replaced
            if row != known.basis_key and is_other:
                rows[row] = of_name.get(name, 0.0)
        return known.positions(rows)

    def posed(self, depsgraph: bpy.types.Depsgraph, matrices: Float64s | None = None) -> PosedShape:
        """Deform the current shape as the character is deformed.

        Args:
            matrices: shape (B, 4, 4), another pose than the current one: D_b of the skeleton's
                bones. The shape is the basis then.

        Raises:
            PoseError: a bone's matrix is not finite.
            BindingError: the set-up has changed.
        """
        evaluated = self.obj.evaluated_get(depsgraph)
        armature = SkinnedObject(self.obj).rig.evaluated_get(depsgraph)
        if matrices is None:
            shape, matrices = self.shape(evaluated), self.binding.pose_matrices(armature)
        else:
            shape = self.binding.rest
        wanted = evaluate(
            self.binding, Settings.of(evaluated), evaluated, armature, shape, matrices
        )
        return PosedShape(shape, wanted, matrices, object_to_armature(evaluated, armature))

    def offsets(self, posed: PosedShape) -> PoseOffsets:
        """The offsets for a shape with which the target's skinning gives our result."""
        to_armature = posed.to_armature
        inside = transformed_points(to_armature, posed.shape)
        influences, matrices = self.native(posed.shape, to_armature, posed.matrices)
        found = rest_offsets(
            transformed_points(to_armature, posed.wanted),
            inside,
            influences,
            Pose.from_matrices(matrices, self.binding.skeleton),
            self.target,
            mask=self.binding.mask,
        )
        offsets = (found.offsets @ np.linalg.inv(to_armature[:3, :3].T)).astype(np.float32)
        return PoseOffsets(offsets, found.errors > _REACHED * extent(inside))

    def native(
        self, shape: Float32s, to_armature: Float64s, matrices: Float64s
    ) -> tuple[Influences, Float64s]:
        """The influences and the pose by which Blender's own modifier deforms the result.

        Args:
            shape: shape (n, 3), object space.
            to_armature: shape (4, 4), A^-1 O.
            matrices: shape (B, 4, 4), D_b of the skeleton's bones.
        """
        return self.binding.as_painted.skinning_of(shape, to_armature), matrices
