"""The soft weights of a body, as *Soften Weights* makes them, without Blender objects."""

from __future__ import annotations

import numpy as np

from dq_compensation.analysis.face_features import feature_bones, limb_radii
from dq_compensation.analysis.limbs import with_limbs
from dq_compensation.analysis.soft_weights import smooth_radii, soft_weights
from dq_compensation.analysis.surface.skin_surface import SkinSurface
from dq_compensation.core.influences import Influences
from dq_compensation.core.ropes import rope_shares
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.steps import run_through, with_progress
from quality.body import Body

# Radii of the limb.
AMOUNT = 0.5


def softened(body: Body, most: int = 8, amount: float = AMOUNT) -> Influences:
    """Diffuse the weights of all vertices; `most` influences of a vertex are left."""
    rest, influences, skeleton = body.rest, body.influences, body.skeleton
    count = len(rest)
    corners = body.faces.shape[1] * np.arange(len(body.faces))
    surface = SkinSurface.of(rest, influences, corners, body.faces.ravel())
    areas = tuple(each[surface.point_of_vertex] for each in (surface.areas, surface.area_vectors))
    skin = with_limbs(SkinAtRest(rest, influences, skeleton), use_mesh_joints=False)
    whole, limbs = skin.with_whole_limbs, skin.limbs_of_bones
    radii = limb_radii(rest, whole.influences, whole.skeleton)[surface.vertices]
    amounts = amount * (1.0 - rope_shares(whole))[surface.vertices]  # as `JoinedSkin`
    steps = soft_weights(
        surface,
        influences,
        amounts * smooth_radii(surface, radii),
        feature_bones(rest, areas, whole.influences, whole.skeleton)[limbs],
        most=most,
        limbs=limbs,
    )
    soft = run_through(with_progress(steps, ""))
    stay = np.ones(count, np.bool_)
    stay[soft.vertices] = False
    vertex, slot = np.nonzero(influences.weights * stay[:, None])
    row, soft_slot = np.nonzero(soft.weights)
    return Influences.from_triples(
        np.concatenate((vertex, soft.vertices[row])),
        np.concatenate((influences.bones[vertex, slot], soft.bones[row, soft_slot])),
        np.concatenate((influences.weights[vertex, slot], soft.weights[row, soft_slot])),
        count,
    )
