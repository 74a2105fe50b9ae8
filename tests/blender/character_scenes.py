"""Characters of several meshes on one armature: a limb in two pieces, the human cut and dressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bmesh
import bpy
import numpy as np
from numpy.typing import NDArray

from human.dressed import add_mesh, cut
from human.model import HumanArrays, Rig, build_armature
from human.poses import Rotations
from tests.blender.scene_builders import evaluated_positions
from tests.human_body import human_arrays
from tests.kept_files import new_file
from tests.limb import build_limb, pose_limb

# The vertices of seams may part by this share of the size: 0.05 mm on a human.
SEAM = 3e-5


def limb_in_two(at: float) -> tuple[list[bpy.types.Object], bpy.types.Object]:
    """The limb, posed, cut in two meshes across, and its armature."""
    near, rig = build_limb()
    far = near.copy()
    far.data, far.name = near.data.copy(), "Far"
    bpy.context.collection.objects.link(far)
    for obj, keeps in ((near, lambda x: x < at), (far, lambda x: x >= at)):
        edited = bmesh.new()
        edited.from_mesh(obj.data)
        gone = [face for face in edited.faces if not keeps(face.calc_center_median().x)]
        bmesh.ops.delete(edited, geom=gone, context="FACES")
        edited.to_mesh(obj.data)
        edited.free()
    pose_limb(rig)
    return [near, far], rig


def dressed_limb() -> tuple[list[bpy.types.Object], bpy.types.Object]:
    """The same with a sleeve over it, all selected."""
    parts, rig = limb_in_two(0.52)
    sleeve = parts[0].copy()
    sleeve.data, sleeve.name = parts[0].data.copy(), "Sleeve"
    for vertex in sleeve.data.vertices:
        vertex.co.yz *= 1.05
    bpy.context.collection.objects.link(sleeve)
    parts.append(sleeve)
    for obj in parts:
        obj.select_set(True)
    return parts, rig


@dataclass(frozen=True, eq=False)
class CutHuman:
    """The human whole and cut into parts, each on an armature of its own.

    Attributes:
        rows: for each part, which vertex of the whole each of its vertices is.
    """

    whole: bpy.types.Object
    parts: list[bpy.types.Object]
    rows: list[NDArray[np.intp]]

    @property
    def armatures(self) -> tuple[bpy.types.Object, bpy.types.Object]:
        """Of the whole, and of the parts."""
        return self.whole.parent, self.parts[0].parent

    def pose(self, rotations: Rotations) -> None:
        """Pose both."""
        for armature in self.armatures:
            pose(armature, rotations)

    def gap_and_difference(self) -> tuple[float, float]:
        """How far vertices of a seam are apart, and from the whole human; in its size."""
        whole = evaluated_positions(self.whole).astype(np.float64)
        placed: dict[int, NDArray[np.float64]] = {}
        gap = difference = 0.0
        for part, rows in zip(self.parts, self.rows, strict=True):
            positions = evaluated_positions(part).astype(np.float64)
            apart = np.linalg.norm(positions - whole[rows], axis=1)
            difference = max(difference, float(apart.max()))
            for row, place in zip(rows.tolist(), positions, strict=True):
                gap = max(gap, float(np.linalg.norm(placed.setdefault(row, place) - place)))
        size = float(np.ptp(whole, axis=0).max())
        return gap / size, difference / size


def cut_human(rig: Rig, chosen: dict[str, Any], without: tuple[str, ...] = ()) -> CutHuman:
    """A new file with the human whole, and cut into parts."""
    new_file()
    arrays = human_arrays(rig, without)
    whole = add_mesh("Whole", arrays, build_armature(arrays))
    armature = build_armature(arrays)
    places = {place.tobytes(): row for row, place in enumerate(arrays.vertices)}
    parts, rows = [], []
    for name, of_part in cut(arrays, chosen).items():
        parts.append(add_mesh(name, of_part, armature))
        rows.append(np.array([places[place.tobytes()] for place in of_part.vertices]))
    return CutHuman(whole, parts, rows)


def pose(armature: bpy.types.Object, rotations: Rotations) -> None:
    """Turn the bones that are named; all others are at rest."""
    for bone in armature.pose.bones:
        bone.rotation_quaternion = rotations.get(bone.name, (1.0, 0.0, 0.0, 0.0))
    bpy.context.view_layer.update()


def dressed(
    arrays: HumanArrays, clothes: dict[str, HumanArrays]
) -> tuple[list[bpy.types.Object], bpy.types.Object]:
    """A new file with the body and clothes over it, the body first, and their armature."""
    new_file()
    armature = build_armature(arrays)
    pieces = {"Body": arrays, **clothes}
    return [add_mesh(name, of_piece, armature) for name, of_piece in pieces.items()], armature
