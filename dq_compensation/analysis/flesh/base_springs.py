"""Springs that draw flesh to where the base has it: what of a limb is not soft.

On the outer side of bends bone is close under the skin, as at the point of an elbow and at a
kneecap: flesh that keeps its volume swells to a ball there. Round a hinge bones, sinews and skin
keep a limb slim: there springs draw, less firmly, wherever the base does not pass through itself.
Where it does, the flesh alone decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Float64s, Floats
from ...core.limb_joints import LimbJoints
from ...core.vectors import cross, dots, smooth_step, summed_at, triangle_normals, unit_or
from .lattice import Lattice
from .region import FleshRegion
from .surface_search import SearchOf

# Stiffnesses, in shear moduli of the flesh times the edge of a cell: on the outer side at a hinge
# and at a ball joint, and round a hinge.
_HINGE, _BALL, _HINGE_AROUND = 2.0, 0.05, 0.3
# Cosines of the angle about the limb from the outer side of the bend, where springs begin and where
# they are whole; and the same for the depth below the skin, in cells.
_BEGINS, _WHOLE = 0.0, 0.6
_DEEP, _SHALLOW = 3.0, 1.0
# Turns whose sine is below this have no outer side.
_STRAIGHT = 1e-6
# Rings of vertices round what passes through itself that are left alone, too, and rounds in which
# neighbours are averaged there.
_RINGS, _ROUNDS = 2, 2
# A ray that looks whether skin is inside other flesh begins above it by this, in cells, and ends
# after this part of the reach.
_ABOVE, _FARTHEST = 1e-3, 0.5


@dataclass(frozen=True, eq=False)
class Springs:
    """Springs on nodes.

    Attributes:
        stiffness: shape (N,), 0 where there is none.
    """

    stiffness: Float64s

    def energy(self, away: Float64s) -> tuple[float, Float64s]:
        """The energy and its gradient (3, N), where nodes are so far (3, N) from their springs."""
        force = self.stiffness * away
        return 0.5 * float(np.vdot(force, away)), force


def stiffness_to_base(
    lattice: Lattice, matrices: Float64s, places: Float64s
) -> tuple[Float64s, Float64s]:
    """The stiffness of the springs on all nodes: on the outer side, and round the limb; (N,) each.

    Args:
        lattice: whose nodes.
        matrices: shape (B, 4, 4), D_b of the bones in the pose.
        places: shape (N, 3), armature space, of the nodes at rest.
    """
    region = lattice.region
    skeleton, parents = region.skin.skeleton, region.skin.body_parents
    limbs = LimbJoints.by_parents(skeleton, "AUTO", parents)
    found = np.zeros(len(places))
    for joint in region.joints.tolist():
        turn = matrices[parents[joint], :3, :3].T @ matrices[joint, :3, :3]
        axis = np.array([turn[2, 1], turn[0, 2], turn[1, 0]]) - turn[[1, 2, 0], [2, 0, 1]]
        along = unit_or(limbs.forth[joint] - limbs.back[joint], 0.0)
        outer = unit_or(cross(along, axis), 0.0, _STRAIGHT)
        away = places - limbs.heads[joint]
        across = unit_or(away - (away @ along)[:, None] * along, 0.0)
        stiffness = _BALL + (_HINGE - _BALL) * limbs.hinge_confidence[joint]
        if outer.any():
            part = smooth_step(across @ outer, _BEGINS, _WHOLE)
            np.maximum(found, stiffness * part, out=found)
    around = _HINGE_AROUND * float(limbs.hinge_confidence[region.joints].min())
    shallow = smooth_step(-lattice.depths, _DEEP, _SHALLOW)
    return found * shallow, np.asarray(around * shallow, np.float64)


def where_sound(region: FleshRegion, skin: Floats, search_of: SearchOf) -> Float64s:
    """How little skin has to do with where it passes through itself, shape (v,), 0 to 1.

    Skin is inside other flesh where what is above it is seen from below.

    Args:
        region: its triangles, which face outward.
        skin: shape (v, 3), its vertices in a pose.
        search_of: makes the searches on a surface.
    """
    triangles, edges, count = region.triangles, region.edges, len(skin)
    places = (np.asarray(skin, np.float64) - region.rest.mean(axis=0)) / region.cell
    search = search_of(places, triangles)
    normals = triangle_normals(places[triangles])
    ways = unit_or(summed_at(triangles, normals, count), 0.0)
    farthest = _FARTHEST * float(region.reaches.max()) / region.cell
    above = search.first_hits(places + _ABOVE * ways, ways, farthest)
    sound = np.ones(count)
    sound[(above >= 0) & (dots(normals[above], ways) > 0.0)] = 0.0
    sound[triangles[search.crossings()]] = 0.0
    for _ in range(_RINGS):
        least = sound.copy()
        np.minimum.at(least, edges, sound[edges[:, ::-1]])
        sound = least
    ends, others = edges.ravel(), edges[:, ::-1].ravel()
    neighbours = np.maximum(np.bincount(ends, minlength=count), 1)
    for _ in range(_ROUNDS):
        sound = 0.5 * (sound + np.bincount(ends, sound[others], count) / neighbours)
    return sound
