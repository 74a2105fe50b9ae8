"""The meshes of a character joined to one skin while its folds are solved, and how it is played.

Vertices at a seam are one point. Nothing is posed in the scene: `core.deform` gives the base in
each pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from bpy.types import Depsgraph, Object

from ..analysis.surface.facing import facing_outward
from ..analysis.surface.seams import seam_points
from ..arrays import Float64s, Indices, Int64s
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..core.skin_at_rest import SkinAtRest
from ..core.solved_shapes import SolvedShapes
from ..core.vectors import extent, transformed_points
from ..errors import UserError
from ..scene.binding.binding import Binding
from ..scene.binding.layers import LayeredSkin, Layers, joined_surface
from ..scene.binding.numpy_evaluator import PosedDeformer, evaluate
from ..scene.blender.bendy_bones import bendy_handles
from ..scene.blender.rig_copies import rows_in_poses
from ..scene.blender.rigging import rig_of
from ..wording import counted
from .shape_editing import JointKind, ShapeEditing, switch_refusal
from .solved_bones import SolvedBones, hangs_as_it_turns

# Bendy bones that move no point farther than this from where straight ones do are straight, in
# parts of the size.
_STRAIGHT = 1e-3

NO_PLACE = "{obj} has {count} whose place is not a finite number. Delete them, or restore the mesh."
HANDLE = (
    "{bone} is curved by its handle {handle}, which hangs on no bone that moves skin: how is not "
    "known. Parent the handle to such a bone, or set the Segments of {bone} to 1"
)


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
        triangles: shape (t, 3), points; those of the skin that is solved, facing outward.
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
        refused += filter(None, map(switch_refusal, objects))
        if refused:
            raise UserError(" ".join(dict.fromkeys(refused)))
        refused = list(filter(None, map(_place_refusal, editings)))
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
        # Of the whole body at once: each joint's region is a part of it.
        triangles = facing_outward(positions.astype(np.float64), triangles)
        return cls(meshes, binding.skeleton, points, vertices, skin, triangles, layers)

    def rows_in(self, poses: Sequence[Float64s]) -> list[Float64s]:
        """The rows (R, 4, 4) of poses of the bones, (B, 4, 4) each: bendy bones curve in them."""
        if not any(mesh.base.bends for mesh in self.meshes):
            return [matrices[self.skeleton.bone_of_row] for matrices in poses]
        rig = rig_of(self.meshes[0].editing.obj)
        return rows_in_poses(rig, self.skeleton, self.meshes[0].base.pose_order, poses)

    def bones_in(self, rows: Float64s) -> SolvedBones | None:
        """The bones on which the skin is solved in a pose; None: those of the armature.

        Raises:
            UserError: nothing shows how a bendy bone curves.
        """
        return self._segments if self._curves(rows) else self._bones

    @cached_property
    def _bones(self) -> SolvedBones | None:
        return None if hangs_as_it_turns(self.skin) else SolvedBones.of(self.skin)

    @cached_property
    def _segments(self) -> SolvedBones:
        painted = [mesh.base.as_painted.segments() for mesh in self.meshes]
        return SolvedBones.of(self.skin, Influences.joined(painted).at(self.vertices))

    def _curves(self, rows: Float64s) -> bool:
        """Whether bendy bones curve the skin in a pose."""
        straight = rows[self.skeleton.bone_of_row]
        if np.array_equal(rows, straight):
            return False
        apart = np.abs(self.base(rows) - self.base(straight)).max()
        if apart <= _STRAIGHT * extent(self.skin.positions):
            return False
        bones = rig_of(self.meshes[0].editing.obj).pose.bones
        curving = np.abs(rows - straight).max(axis=(1, 2)) > _STRAIGHT
        for bone in np.unique(self.skeleton.bone_of_row[curving]).tolist():
            name = self.skeleton.names[bone]
            for handle in bendy_handles(bones[name]):
                if not self._goes_with_skin(self.skeleton.names.index(handle)):
                    raise UserError(HANDLE.format(bone=name, handle=handle))
        return True

    def _goes_with_skin(self, bone: int) -> bool:
        """Whether a bone moves skin, or hangs on one that does."""
        while bone >= 0 and not self.skin.moves[bone]:
            bone = int(self.skeleton.parents[bone])
        return bone >= 0

    def base(self, rows: Float64s) -> Float64s:
        """Where the base has the points in a pose, (R, 4, 4): shape (n, 3)."""
        found = np.empty((len(self.point_of_vertex), 3))
        for mesh in self.meshes:
            found[mesh.rows] = _posed(mesh, Pose.from_matrices(rows, self.skeleton))
        return found[self.vertices]

    def displaced(self, shapes: Sequence[SolvedShapes], rows: Float64s) -> Float64s:
        """What shapes of the meshes add to the points in a pose, shape (n, 3)."""
        pose = Pose.from_matrices(rows, self.skeleton)
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
        rows: Float64s,
        offsets: Float64s,
        *,
        kind: JointKind = "AUTO",
        least: float = 0.0,
    ) -> None:
        """Let joints of a mesh show the base with offsets of all points (n, 3) in a pose.

        Args:
            rows: shape (R, 4, 4), the pose.
            kind, least: of `ShapeEditing.add`.
        """
        evaluated = editing.obj.evaluated_get(editing.depsgraph)
        armature = rig_of(editing.obj).evaluated_get(editing.depsgraph)
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


def _place_refusal(editing: ShapeEditing) -> str | None:
    """Why a mesh cannot be solved where its vertices are, or None."""
    broken = np.flatnonzero(~np.isfinite(editing.binding.rest).all(axis=1))
    if not len(broken):
        return None
    return NO_PLACE.format(count=counted(len(broken), "vertex"), obj=editing.obj.name)


def _posed(mesh: BodyMesh, pose: Pose) -> Float64s:
    """The base of a mesh in a pose, armature space."""
    deformer = PosedDeformer(mesh.base, mesh.editing.settings, pose, mesh.base.object_to_armature)
    return transformed_points(mesh.base.object_to_armature, deformer(mesh.base.rest))
