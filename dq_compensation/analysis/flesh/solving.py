"""Skin round joints in poses, the mathematics: flesh on bones, walked from rest, no crossings."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Float64s, Floats, Indices, Integers
from ...core.limb_joints import SkinAtRest
from ...core.pose import Pose
from ...core.vectors import smooth_step, transformed_points
from ...errors import UserError
from ..limbs import Limbs
from .block_solver import SlicedSystem
from .bones import BORDER, HeldNodes
from .contact import Contact, carried
from .elasticity import Flesh
from .lattice import Lattice
from .measures import SkinFigures, SkinMeasures
from .minimiser import Minimiser
from .region import FleshRegion
from .surface_search import SearchOf
from .way import WayToPose

# A step of the walk turns a bone by this at most, degrees.
_TURN, _TURN_TOUCHING = 18.0, 10.0
# Steps of the minimiser for a step of the walk, and for one that is kept; contact is found anew
# after so many, or after such a way of a node, in cells.
_STEPS, _STEPS_KEPT, _CONTACT_STEPS, _CONTACT_WAY = 40, 300, 8, 0.6
# The preconditioner is made anew each time up to so many steps, then once in so many.
_FACTORED_OFTEN = 40
# At rest when no node moves farther in a step; the farthest way in a step. In cells.
_AT_REST, _LONGEST = 1e-3, 0.6
# Contact stiffens the preconditioner for gaps up to this, in cells.
_TOUCHING = 0.05
# Offsets are whole up to `BORDER`, about, and nothing from here on, in reaches.
_FADED, _WHOLE = 0.98, BORDER - 0.02


@dataclass(frozen=True, eq=False)
class KeptPose:
    """A pose on the way that is kept.

    Attributes:
        share: of the way from rest to the pose, above 0 up to 1.
        base: shape (n, 3), armature space, where the base has all vertices there.
    """

    share: float
    base: Floats


@dataclass(frozen=True)
class SolvedReport:
    """How a kept pose was solved.

    Attributes:
        before: the figures of the base.
        after: with the offsets, as they were found.
        iterations: steps of the minimiser from the kept pose before, or from rest.
        converged: whether it came to rest; else it stopped at the limit.
        seconds: since the kept pose before, or since the beginning.
    """

    before: SkinFigures
    after: SkinFigures
    iterations: int
    converged: bool
    seconds: float

    @property
    def is_worse(self) -> bool:
        """Whether more crosses than in the base: then the offsets are 0."""
        return self.after.crossings > self.before.crossings


@dataclass(frozen=True, eq=False)
class SolvedFolds:
    """The solved skin of some joints in the kept poses.

    Attributes:
        joints: shape (J,), bones.
        vertices: shape (v,), rows of the skin, rising.
        offsets: shape (k, v, 3), armature space: what is added to the base in each kept pose. They
            fade to 0 towards the border of the region.
        reports: k.
    """

    joints: Indices
    vertices: Indices
    offsets: Float64s
    reports: tuple[SolvedReport, ...]


def solve_folds(
    skin: SkinAtRest,
    triangles: Integers,
    joints: Sequence[int],
    pose: Pose,
    kept: Sequence[KeptPose],
    search_of: SearchOf,
) -> Generator[float, None, SolvedFolds]:
    """Solve the skin round joints on the way from rest to a pose.

    Args:
        skin: n vertices at rest; the weights as they were painted count.
        triangles: shape (t, 3), of the whole mesh.
        joints: the bones at whose heads the joints are, at least one.
        pose: the end of the way, on the bones of the skin.
        kept: poses on the way, by rising share.
        search_of: makes the searches on a surface.

    Yields:
        how much is done, 0 to 1; it may be closed in between.

    Raises:
        UserError: there is nothing to solve, or something is not a finite number.
    """
    start = time.perf_counter()
    _check(skin, joints, kept)
    skin = replace(skin.as_painted, skeleton=Limbs.of(skin.as_painted).skeleton)
    region = FleshRegion.of(skin, triangles, joints)
    yield 0.01
    lattice = Lattice.of(region, search_of)
    yield 0.03
    measures = SkinMeasures(region, search_of)
    walk = _Walk(lattice, HeldNodes.of(lattice, WayToPose(skin.skeleton, pose)), kept)
    fade = smooth_step(region.relative(region.rest), _FADED, _WHOLE)[:, None]
    offsets, reports = [], []
    for number, each in enumerate(kept):
        converged = yield from walk.to(number)
        base = np.asarray(each.base, np.float64)[region.vertices]
        change = fade * (walk.skin() - base)
        before, after = measures.of(base), measures.of(base + change)
        now = time.perf_counter()
        report = SolvedReport(before, after, walk.iterations, converged, now - start)
        reports.append(report)
        offsets.append(np.zeros_like(change) if report.is_worse else change)
        walk.iterations, start = 0, now
    order = np.argsort(region.vertices)
    found = np.stack(offsets)[:, order]
    return SolvedFolds(region.joints, region.vertices[order], found, tuple(reports))


def _check(skin: SkinAtRest, joints: Sequence[int], kept: Sequence[KeptPose]) -> None:
    names = skin.skeleton.names
    if not names:
        raise UserError(
            "The armature has no bones: nothing folds. Add bones, and bind the mesh to them"
        )
    if not joints:
        raise UserError("No joint is chosen: choose bones at whose heads the skin folds")
    shares = np.array([each.share for each in kept])
    if not len(shares) or shares[0] <= 0.0 or shares[-1] > 1.0 or (np.diff(shares) <= 0.0).any():
        raise ValueError("solve_folds: shares of the way rise from above 0 to 1")
    for each in kept:
        if np.shape(each.base) != np.shape(skin.positions):
            raise ValueError(
                f"solve_folds: a base of shape {np.shape(each.base)}"
                f" for {len(skin.positions)} vertices"
            )
        if not np.isfinite(each.base).all():
            joint = names[joints[0]]
            raise UserError(
                f"The pose in which {joint} is solved takes vertices to places that are not finite "
                f"numbers. Choose another pose"
            )


class _Walk:
    """The state of a walk from rest: where the nodes are."""

    def __init__(self, lattice: Lattice, held: HeldNodes, kept: Sequence[KeptPose]) -> None:
        self._lattice, self._held, self._kept = lattice, held, kept
        self._flesh, self._contact = Flesh(lattice), Contact(lattice)
        self._places = lattice.nodes.T.copy()
        self._free = np.flatnonzero(~held.held)
        self._fixed = np.flatnonzero(held.held)
        vertices = lattice.region.vertices
        self._ways = [np.zeros((len(vertices), 3))]
        self._ways += [held.base_ways(each.share, each.base[vertices]) for each in kept]
        self._shares = np.array([0.0, *(each.share for each in kept)])
        self._system = self._plain = self._factored(None)
        self.iterations = 0

    def skin(self) -> Float64s:
        """Where the skin is, shape (v, 3), armature space."""
        lattice = self._lattice
        at = lattice.to_armature(carried(lattice, self._places))
        return transformed_points(np.linalg.inv(self._held.to_reference(self._share)), at)

    def to(self, number: int) -> Generator[float, None, bool]:
        """Go on to a kept pose; returns whether it came to rest."""
        first, last = self._shares[number : number + 2].tolist()
        turn = self._held.way.turn(first, last, self._held.reference)
        share, converged = first, False
        while share < last:
            most = _TURN_TOUCHING if self._contact.is_near else _TURN
            count = max(1, int(np.ceil(turn * (last - share) / (last - first) / most - 1e-9)))
            share = last if count == 1 else share + (last - share) / count
            part = 0.05 + 0.95 * share / self._shares[-1]
            converged = yield from self._step(number, share, part, share == last)
        return converged

    def _step(
        self, number: int, share: float, part: float, is_kept: bool
    ) -> Generator[float, None, bool]:
        """Move what is held, and let the rest come to rest."""
        self._share = share
        first, last = self._shares[number : number + 2]
        between = (share - first) / (last - first)
        ways = (1.0 - between) * self._ways[number] + between * self._ways[number + 1]
        targets = self._held.places(share, ways)
        change = np.zeros_like(self._places)
        change[:, self._fixed] = (targets - self._places)[:, self._fixed]
        pull = self._flesh.stiffness(change)[:, self._free]
        change[:, self._free] = -self._plain.solve(pull)
        places = self._places + change
        free = self._free

        def energy(of_free: Float64s) -> tuple[float, Float64s]:
            places[:, free] = of_free
            value, slope = self._flesh.energy(places)
            pushed, force = self._contact.energy(places)
            if force is not None:
                slope += force
            return value + pushed, slope[:, free]

        self._contact.forget()
        minimiser = Minimiser(places[:, free], _LONGEST)
        converged, steps, way = False, _STEPS_KEPT if is_kept else _STEPS, np.inf
        for step in range(steps):
            is_due = step % _CONTACT_STEPS == 0
            if is_due or way > _CONTACT_WAY:
                places[:, free] = minimiser.places
                self._contact.update(places)
                if is_due and (step < _FACTORED_OFTEN or step % _FACTORED_OFTEN == 0):
                    weights = self._contact.weights(places, _TOUCHING)
                    self._system = self._factored(weights, self._flesh.hardness(places))
                minimiser.energy_changed()
                way = 0.0
                yield part
            moved = minimiser.step(energy, self._system.solve)
            way += moved
            self.iterations += 1
            if moved < _AT_REST and step > _CONTACT_STEPS:
                converged = True
                break
        places[:, free] = minimiser.places
        self._places = places
        return converged

    def _factored(self, weights: Float64s | None, hardness: Float64s | None = None) -> SlicedSystem:
        """The preconditioner: the Laplacian of the free nodes, stiffer where skin touches."""
        lattice, free = self._lattice, self._free
        place = np.full(len(lattice.nodes), -1)
        place[free] = np.arange(len(free))
        (rows, columns), values = (
            self._flesh.stiffness_places,
            self._flesh.stiffness_entries(hardness),
        )
        inner = (place[rows] >= 0) & (place[columns] >= 0)
        rows, columns, values = rows[inner], columns[inner], values[inner]
        if weights is not None:
            values = values + np.where(rows == columns, weights[rows], 0.0)
        axis = int(np.ptp(lattice.nodes, axis=0).argmax())
        slices = lattice.nodes[free, axis].astype(np.int64)
        return SlicedSystem(slices, place[rows], place[columns], values)
