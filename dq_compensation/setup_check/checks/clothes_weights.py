"""Check: clothes follow the bones of the skin below them; else it comes through, or they tear."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.surface.rigid_pieces import rigid_pieces
from ...analysis.weights_from_body import BodyMatches, BodySkin, ClothMesh, Likeness
from ...arrays import Booleans, Indices
from ...core.influences import Influences
from ...errors import UserError, raise_refusal
from ...scene.binding.layers import common_weights
from ...scene.blender.mesh import read_mesh_arrays
from ...scene.blender.triangle_trees import JoinedTrees, SurfaceTree
from ...steps import run_through
from ...transfer.body_weights import body_weights_refusal, weights_from_bodies
from ...transfer.options import BodyWeightsOptions
from ...wording import counted
from ..fixes.weight_writing import sharing_question
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject

# So near, in diagonals of the body's box, and turned by so much at most, clothes lie on skin.
_LIKENESS = Likeness(0.02, float(np.radians(30.0)))
# Skin with less of its weights in common counts; and the share of such vertices that is told.
_IN_COMMON, _TOLD = 0.5, 0.1
# So many vertices are looked at first.
_SAMPLES = 300
# The fewest vertices that lie on skin, and their share of a mesh: a collar alone says nothing.
_FEWEST, _LEAST_SHARE = 20, 0.1


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for clothes whose weights are those of other skin."""
    below = _skin_below(subject)
    if below is None:
        return
    body, matches = below
    rows = _on_skin(subject, body, matches)
    if len(rows) < max(_FEWEST, _LEAST_SHARE * len(subject.rest)):
        return
    under = matches.influences(body.influences).at(rows)
    in_common = common_weights(subject.influences.at(rows), under)
    wrong = rows[in_common < _IN_COMMON]
    if len(wrong) < _TOLD * len(rows):
        return
    name = subject.obj.name
    message = (
        f"{counted(len(wrong), 'vertex')} of {name} lie on skin that follows other bones: they "
        "share less than half of their weights with it. The skin comes through there in a pose."
    )
    question = sharing_question(
        subject.obj,
        f"{name} gets the weights of the skin that it lies on, and weights that continue these "
        "elsewhere. Its look changes in every pose but the rest pose.",
    )
    fix = Fix(
        "weights_from_body",
        "Weights from Body",
        "Gives clothes the weights of the body below them, and fills in what does not lie on it",
        question,
    )
    yield Issue("clothes", "WARNING", message, vertices=wrong, fixes=(fix,))


def _skin_below(subject: Subject) -> tuple[BodySkin, BodyMatches] | None:
    """The skin of the other meshes of a character, and where a mesh lies on it."""
    subject.reads_other_meshes = True
    others = [each for each in subject.beside if each.seam_mesh is not None and _moves(each)]
    ours = subject.rest_in_armature
    is_placed = subject.misplacement is None and subject.seam_mesh is not None
    if not others or not is_placed or ours is None or not _moves(subject):
        return None
    surfaces = [subject.once(_Surface, each) for each in others]
    trees = JoinedTrees([each.tree for each in surfaces])
    if not _may_differ(subject, surfaces, trees):
        return None
    starts = np.cumsum([0, *(len(each.positions) for each in surfaces)]).tolist()
    triangles = [each.triangles + at for each, at in zip(surfaces, starts, strict=False)]
    body = BodySkin(
        np.concatenate([each.positions for each in surfaces]),
        np.concatenate(triangles),
        Influences.joined([each.influences for each in surfaces]),
    )
    cloth = ClothMesh.of(ours, read_mesh_arrays(subject.mesh, subject.rest))
    return body, BodyMatches.of(cloth, body, trees, _LIKENESS)


class _Surface:
    """The triangles of a mesh that has a seam mesh."""

    def __init__(self, subject: Subject) -> None:
        there = subject.rest_in_armature
        assert there is not None  # it has a seam mesh
        self.positions, self.influences = there, subject.influences
        self.box = np.stack((there.min(axis=0), there.max(axis=0)))
        self.triangles = read_mesh_arrays(subject.mesh, subject.rest).triangles.astype(np.intp)
        self.tree = SurfaceTree(there, self.triangles)


def _may_differ(subject: Subject, surfaces: list[_Surface], trees: JoinedTrees) -> bool:
    """Whether some vertices say that it is worth to look at all: most clothes follow their skin."""
    ours = subject.rest_in_armature
    assert ours is not None
    boxes = np.concatenate([each.box for each in surfaces])
    rows = np.arange(0, len(ours), max(len(ours) // _SAMPLES, 1))
    distance = _LIKENESS.distance * float(np.linalg.norm(np.ptp(boxes, axis=0)))
    _, faces = trees.nearest(ours[rows], distance)
    rows, faces = rows[faces >= 0], faces[faces >= 0]
    of_surface = np.searchsorted(trees.starts, faces, side="right") - 1
    unlike = 0
    for each in np.unique(of_surface).tolist():
        here, surface = of_surface == each, surfaces[each]
        influences = subject.influences.at(rows[here])
        corners = surface.triangles[faces[here] - trees.starts[each]].T
        shared = [common_weights(influences, surface.influences.at(corner)) for corner in corners]
        unlike += int((np.max(shared, axis=0) < _IN_COMMON).sum())
    return unlike > 0.5 * _TOLD * max(len(rows), 1)


def _moves(subject: Subject) -> bool:
    return bool(len(subject.mesh.polygons)) and bool(subject.influences.weights[:, 0].any())


def _on_skin(subject: Subject, body: BodySkin, matches: BodyMatches) -> Indices:
    """The vertices outside of skin that they lie on; none of rigid pieces, or with bones alone.

    Armour follows one bone as it should; skirts may have bones that no skin follows.
    """
    influences, count = subject.influences, subject.skeleton.bone_count
    ours = subject.rest_in_armature
    assert ours is not None
    below = np.einsum("ns,nsk->nk", matches.shares, body.positions[matches.corners])
    outward = np.einsum("ns,nsk->nk", matches.shares, body.normals[matches.corners])
    outside = ((ours - below) * outward).sum(axis=1) > 0.0
    known = body.influences.moving_bones(count)
    on_known = np.where(known[influences.bones], influences.weights, 0.0).sum(axis=1) > _IN_COMMON
    loose: Booleans = rigid_pieces(ours, influences, subject.edges) < 0
    return np.flatnonzero(matches.found & outside & on_known & loose)


def weights_from_body(subject: Subject, _issue: Issue) -> Repair:
    """Give clothes the weights of the body below them."""
    raise_refusal(body_weights_refusal(subject.obj), FixError)
    yield
    try:
        reports = run_through(weights_from_bodies([subject.obj], BodyWeightsOptions()))
    except UserError as error:
        raise FixError(str(error)) from error
    return reports[0].sentence()


CHECK = Check("clothes_weights", find, {"weights_from_body": weights_from_body})
