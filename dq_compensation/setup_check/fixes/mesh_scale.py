"""Applies the scale of a mesh object to its mesh, so that nothing moves in the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ...scene.blender.attributes import read_property
from ...scene.blender.mesh import mesh_of
from ...wording import listed
from ..issue import FixError
from .object_transforms import (
    Matrix,
    clear_scale,
    is_animated,
    is_one,
    keep_children,
    local_matrix,
    own_scale,
    require_children_can_follow,
    require_free_scale,
    scale_of,
    scale_questions,
    set_parent_inverse,
    shares_data,
)

# Modifiers whose settings are lengths in the object's own units.
_IN_OBJECT_UNITS = frozenset(
    {"BEVEL", "CAST", "DISPLACE", "REMESH", "SKIN", "SMOOTH", "SOLIDIFY", "WAVE", "WELD"}
    | {"WIREFRAME", "CLOTH", "SOFT_BODY", "COLLISION", "FLUID", "PARTICLE_SYSTEM", "EXPLODE"}
)


@dataclass(frozen=True, eq=False)
class MeshScalePlan:
    """The changes of applying the scale of a mesh object, planned before anything is written.

    Attributes:
        change: shape (4, 4), linear; what the vertices are multiplied by.
        parent_inverse: shape (4, 4); the new one.
        location: shape (3,); the new one.
    """

    obj: bpy.types.Object
    change: Matrix
    parent_inverse: Matrix
    location: NDArray[np.float64]

    @property
    def question(self) -> str:
        """The question before the scale is applied; empty without one."""
        parts = scale_questions(self.obj)
        other_units = [m.name for m in self.obj.modifiers if m.type in _IN_OBJECT_UNITS]
        if other_units:
            parts.append(
                "Modifiers with lengths in the object's units look different afterwards: "
                f"{listed(other_units)}."
            )
        return " ".join(parts)


def mesh_scale(obj: bpy.types.Object) -> NDArray[np.float64]:
    """Shape (3,): the scale of an object relative to its parent, that of its parent inverse too."""
    own = own_scale(obj)
    if obj.parent is None or is_one(scale_of(np.array(obj.matrix_parent_inverse))):
        return own
    return scale_of(local_matrix(obj))


def plan_mesh_scale(obj: bpy.types.Object, parent_inverse: Matrix | None = None) -> MeshScalePlan:
    """See that the scale of a mesh object can be applied, and how.

    With the parent inverse P and the object's own transform T R S, O = A P T R S. Afterwards it is
    A P' T' R: P' turns as P does and scales nothing, T' is where P T was, and the vertices are
    multiplied by (P' R)^-1 P R S, linear parts all. The rotation stays, its keys with it.

    Args:
        parent_inverse: P to take in place of the object's own.

    Raises:
        FixError: it cannot be applied; the message says why.
    """
    require_free_scale(obj)
    require_children_can_follow(obj)
    if any(modifier.type == "MULTIRES" for modifier in obj.modifiers):
        raise FixError(f"{obj.name} has a Multiresolution modifier. Apply the scale by Ctrl A.")
    inverse = np.array(obj.matrix_parent_inverse) if parent_inverse is None else parent_inverse
    before = local_matrix(obj, inverse)
    rigid = _without_scale(inverse) if obj.parent is not None else np.eye(4)
    basis = np.array(obj.matrix_basis, np.float64)
    rotation = basis[:3, :3] @ np.diag(1.0 / own_scale(obj))
    location = basis[:3, 3]
    if not is_one(scale_of(inverse)) and obj.parent is not None:
        if animated := is_animated(obj, "location", "delta_location"):
            raise FixError(
                f"The parent of {obj.name} scales it by its parent inverse, and its location is "
                f"animated by {animated}. Remove these keys or clear the parent inverse first."
            )
        location = np.linalg.solve(rigid[:3, :3], before[:3, 3] - rigid[:3, 3])
    change = np.eye(4)
    change[:3, :3] = np.linalg.solve(rigid[:3, :3] @ rotation, before[:3, :3])
    return MeshScalePlan(obj, change, rigid, location - np.array(obj.delta_location))


def apply_mesh_scale(plan: MeshScalePlan) -> None:
    """Carry out a plan: the mesh with all its shape keys, its normals, its object, its children."""
    obj = plan.obj
    if shares_data(obj):
        obj.data = mesh_of(obj).copy()
    _transform_mesh(mesh_of(obj), plan.change)
    if obj.parent is not None:
        set_parent_inverse(obj, plan.parent_inverse)
    if np.abs(plan.location - np.array(obj.location)).max() > 0.0:
        obj.location = plan.location.tolist()
    clear_scale(obj)
    keep_children(obj, plan.change, {})


def _transform_mesh(mesh: bpy.types.Mesh, change: Matrix) -> None:
    """Multiply the vertices of a mesh and of all its shape keys, faces facing as before."""
    linear = change[:3, :3]
    mirrors = np.linalg.det(linear) < 0.0
    normals = None
    sizes = np.linalg.svd(linear, compute_uv=False)
    is_even = not mirrors and np.ptp(sizes) <= 1e-6 * sizes[0]
    # An even scale turns no normal, and custom normals are kept relative to those of the faces.
    if mesh.has_custom_normals and not is_even:
        normals = read_property(mesh.corner_normals, "vector", np.float32, (3,))
        normals = normals @ np.linalg.inv(linear)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    mesh.transform(change.T.tolist(), shape_keys=True)
    if mirrors:
        mesh.flip_normals()
    if normals is not None:
        if mirrors:
            normals = normals[_corners_after_flip(mesh)]
        mesh.normals_split_custom_set(cast("list[list[float]]", normals.tolist()))
    mesh.update()


def _corners_after_flip(mesh: bpy.types.Mesh) -> NDArray[np.intp]:
    """Shape (c,): where each corner was before the faces were flipped: the first one stays."""
    starts = read_property(mesh.polygons, "loop_start", np.int32)
    totals = read_property(mesh.polygons, "loop_total", np.int32)
    start, total = np.repeat(starts, totals), np.repeat(totals, totals)
    place = np.arange(len(mesh.loops)) - start
    return start + (total - place) % total


def _without_scale(matrix: Matrix) -> Matrix:
    """The same place and turn, by the polar decomposition; never mirrored.

    Where only the axes' sizes and signs differ from the identity nothing is turned: the mesh takes
    signs as well as sizes.
    """
    rigid = np.array(matrix, np.float64)
    linear = rigid[:3, :3]
    if np.abs(linear - np.diag(np.diag(linear))).max() <= 1e-6 * np.abs(linear).max():
        rigid[:3, :3] = np.eye(3)
        return rigid
    if np.linalg.det(linear) < 0.0:
        linear = linear @ np.diag([-1.0, 1.0, 1.0])
    left, _, right = np.linalg.svd(linear)
    rigid[:3, :3] = left @ right
    return rigid
