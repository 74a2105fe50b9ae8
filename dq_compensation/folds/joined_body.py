"""The meshes of a character joined to one skin while its folds are solved, and how it is played.

Vertices at a seam are one point. Nothing is posed in the scene: `core.deform` gives the base in
each pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bpy.types import Depsgraph, Object

from ..analysis.surface.seams import seam_points
from ..arrays import Float64s, Indices, Int64s
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..core.skin_at_rest import SkinAtRest
from ..core.solved_shapes import SolvedShapes
from ..core.vectors import transformed_points
from ..errors import UserError
from ..scene.binding.binding import Binding
from ..scene.binding.layers import LayeredSkin, Layers, joined_surface
from ..scene.binding.numpy_evaluator import PosedDeformer, evaluate
from ..scene.blender.rigging import rig_of
from .shape_editing import JointKind, ShapeEditing


@dataclass
class BodyMesh:
    """A mesh of the character while its folds are solved.

    Attributes:
        start: its first vertex among those of all meshes.
        base: what it was read as, without shapes.
    """

    editing: ShapeEditing
    start: int
    base: Binding

    @property
    def rows(self) -> slice:
        """Its vertices among those of all meshes."""
        return slice(self.start, self.start + self.base.vertex_count)


@dataclass(frozen=True, eq=False)
class JoinedBody:
    """The meshes of a character as one skin of n points: vertices at a seam are one.

    Attributes:
        point_of_vertex: shape (v,), of the vertices of all meshes.
        vertices: shape (n,), one vertex of each point.
        skin: of the points, as painted.
        triangles: shape (t, 3), points; those of the skin that is solved.
        layers: what lies on that skin and follows it; None with one mesh.
    """

    meshes: list[BodyMesh]
    skeleton: Skeleton
    point_of_vertex: Indices
    vertices: Indices
    skin: SkinAtRest
    triangles: Int64s
    layers: Layers | None

    @classmethod
    def of(cls, objects: Sequence[Object], depsgraph: Depsgraph, *, anew: bool) -> JoinedBody:
        """Read meshes; UserError names those whose shapes cannot be changed.

        Args:
            anew: of `ShapeEditing.of`.
        """
        editings, refused = list[ShapeEditing](), list[str]()
        for obj in objects:
            try:
                editings.append(ShapeEditing.of(obj, depsgraph, anew=anew))
            except UserError as error:
                refused.append(str(error))
        if refused:
            raise UserError(" ".join(refused))
        meshes, start = list[BodyMesh](), 0
        for editing in editings:
            meshes.append(BodyMesh(editing, start, editing.binding.with_shapes(None)))
            start += editing.binding.vertex_count
        parts = [mesh.editing.binding.part for mesh in meshes]
        points = seam_points([part.seam_mesh for part in parts])
        vertices = np.unique(points, return_index=True)[1]
        painted = Influences.joined([part.painted for part in parts]).at(vertices)
        first = editings[0]
        binding, settings = first.binding, first.settings
        positions = np.concatenate([part.positions for part in parts])[vertices]
        skin = SkinAtRest(
            positions,
            painted,
            binding.skeleton,
            settings.limb_axis,
            sides=binding.bone_sides,
            kinds=binding.kinds_of(settings.bone_kinds),
        )
        triangles = np.concatenate(
            [points[part.triangles + mesh.start] for part, mesh in zip(parts, meshes, strict=True)]
        )
        layers = None
        if len(parts) > 1:
            surface = joined_surface([part.seam_mesh for part in parts])
            influences = Influences.joined([part.influences for part in parts])
            layers = Layers.of(LayeredSkin.of(parts, surface, influences.at(surface.vertices)))
            above = np.zeros(len(vertices), np.bool_)
            above[layers.points] = True
            triangles = triangles[~above[triangles].any(axis=1)]
        return cls(meshes, binding.skeleton, points, vertices, skin, triangles, layers)

    def base(self, matrices: Float64s) -> Float64s:
        """Where the base has the points in a pose of the bones, (B, 4, 4): shape (n, 3)."""
        rows = matrices[self.skeleton.bone_of_row]
        found = np.empty((len(self.point_of_vertex), 3))
        for mesh in self.meshes:
            found[mesh.rows] = _posed(mesh, Pose.from_matrices(rows, self.skeleton))
        return found[self.vertices]

    def displaced(self, shapes: Sequence[SolvedShapes], matrices: Float64s) -> Float64s:
        """What shapes of the meshes add to the points in a pose, shape (n, 3)."""
        pose = Pose.from_matrices(matrices[self.skeleton.bone_of_row], self.skeleton)
        moved = np.zeros((len(self.point_of_vertex), 3))
        for mesh, of_mesh in zip(self.meshes, shapes, strict=True):
            vertices, ways = of_mesh.displacements(pose)
            moved[mesh.start + vertices] = ways
        return moved[self.vertices]

    def add_shape(
        self,
        mesh: BodyMesh,
        editing: ShapeEditing,
        joints: Sequence[str],
        matrices: Float64s,
        offsets: Float64s,
        *,
        kind: JointKind = "AUTO",
        least: float = 0.0,
    ) -> None:
        """Let joints of a mesh show the base with offsets of all points (n, 3) in a pose.

        Args:
            matrices: shape (B, 4, 4), the bones in the pose.
            kind, least: of `ShapeEditing.add`.
        """
        evaluated = editing.obj.evaluated_get(editing.depsgraph)
        armature = rig_of(editing.obj).evaluated_get(editing.depsgraph)
        rows = matrices[self.skeleton.bone_of_row]
        now = evaluate(mesh.base, editing.settings, evaluated, armature, matrices=rows)
        back = np.linalg.inv(mesh.base.object_to_armature[:3, :3])
        wanted = now.astype(np.float64) + offsets[self.point_of_vertex[mesh.rows]] @ back.T
        editing.add(joints, wanted, kind, rows, least)

    def everywhere(self, points: Indices, offsets: Float64s) -> Float64s:
        """Offsets (m, 3) of points on all points, those that lie on them too: shape (n, 3)."""
        found = np.zeros((len(self.vertices), 3))
        found[points] = offsets
        if self.layers is not None:
            above, layers = self.layers.points, self.layers
            lies = layers.meshes >= 0
            carried = (found[layers.corners] * layers.shares[:, :, None]).sum(axis=1)
            found[above[lies]] = carried[lies]
        return found


def _posed(mesh: BodyMesh, pose: Pose) -> Float64s:
    """The base of a mesh in a pose, armature space."""
    deformer = PosedDeformer(mesh.base, mesh.editing.settings, pose, mesh.base.object_to_armature)
    return transformed_points(mesh.base.object_to_armature, deformer(mesh.base.rest))
