"""The outer side of bends, where bone is close under the skin: the point of an elbow, a kneecap.

Flesh that keeps its volume swells to a ball there. So it is drawn to where the base has it, each
node by a spring: at joints that fold like hinges firmly, elsewhere a little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Float64s
from ...core.limb_joints import LimbJoints
from ...core.vectors import cross, smooth_step, unit_or
from .lattice import Lattice

# The stiffness of the springs at a hinge and at a ball joint, in shear moduli of the flesh times
# the edge of a cell.
_HINGE, _BALL = 1.0, 0.05
# Cosines of the angle about the limb from the outer side of the bend, where springs begin and where
# they are whole; and the same for the depth below the skin, in cells.
_BEGINS, _WHOLE = 0.0, 0.6
_DEEP, _SHALLOW = 3.0, 1.0
# Turns whose sine is below this have no outer side.
_STRAIGHT = 1e-6


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


def outer_stiffness(lattice: Lattice, matrices: Float64s, places: Float64s) -> Float64s:
    """The stiffness of the springs on all nodes, shape (N,).

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
    return found * smooth_step(-lattice.depths, _DEEP, _SHALLOW)
