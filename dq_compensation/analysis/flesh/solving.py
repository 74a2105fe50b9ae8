"""Skin round joints in poses, the mathematics: flesh on bones, walked from rest, no crossings."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Float64s, Floats, Indices, Integers
from ...core.pose import Pose
from ...core.skin_at_rest import SkinAtRest
from ...core.vectors import smooth_step, transformed_points
from ...errors import UserError
from ..limbs import Limbs
from .base_springs import where_sound
from .block_solver import SlicedSystem, StiffenedSystem
from .bones import BORDER, HeldNodes
from .contact import Contact, carried
from .elasticity import Flesh
from .lattice import Lattice
from .measures import SkinFigures, SkinMeasures
from .minimiser import Minimiser, longest_way
from .region import FleshRegion
from .surface_search import SearchOf
from .way import WayToPose

# A step of the walk turns a bone by this at most, degrees.
_TURN, _TURN_TOUCHING = 18.0, 10.0
# Where a pose is worse than the base, the way is gone once more in steps of this part.
_STEP_PARTS = 1.0, 0.5
# Steps of the minimiser for a step of the walk, and for one that is kept.
_STEPS, _STEPS_KEPT = 40, 240
# Contact is found anew after so many, later after this part of all that were made: where it never
# settles, as at the end of a crease, the rest does in between. Also after such a way of a node, in
# cells.
_CONTACT_STEPS, _CONTACT_PART, _CONTACT_WAY = 8, 0.5, 0.6
# The preconditioner is made anew after so many.
_FACTORED = 40
# The longest way in a step, in cells.
_LONGEST = 0.6
# Contact stiffens the preconditioner for gaps up to this, in cells.
_TOUCHING = 0.05
# Offsets are whole up to `BORDER`, about, and nothing from here on, in reaches.
_FADED, _WHOLE = 0.98, BORDER - 0.02


@dataclass(frozen=True)
class _AtRest:
    """When nodes are at rest, in cells.

    Attributes:
        step: none moves farther in a step of the minimiser.
        drift: nor in eight of them, from one search for contact to the next one.
    """

    step: float
    drift: float


_BETWEEN, _KEPT = _AtRest(1e-2, 5e-2), _AtRest(1e-3, 1e-2)


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
    *,
    fineness: float = 1.0,
) -> Generator[float, None, SolvedFolds]:
    """Solve the skin round joints on the way from rest to a pose.

    Args:
        skin: n vertices at rest; the weights as they were painted count.
        triangles: shape (t, 3), of the whole mesh, as `surface.facing.facing_outward` gives them.
        joints: the bones at whose heads the joints are, at least one.
        pose: the end of the way, on the bones of the skin.
        kept: poses on the way, by rising share.
        search_of: makes the searches on a surface.
        fineness: by which cells, and the steps of the walk, are smaller.

    Yields:
        how much is done, 0 to 1; it may be closed in between.

    Raises:
        UserError: there is nothing to solve, or something is not a finite number.
    """
    start = time.perf_counter()
    _check(skin, joints, kept)
    skin = replace(skin.as_painted, skeleton=Limbs.of(skin.as_painted).skeleton)
    region = FleshRegion.of(skin, triangles, joints, fineness)
    yield 0.01
    lattice = Lattice.of(region, search_of)
    yield 0.03
    measures = SkinMeasures(region, search_of)
    held = HeldNodes.of(lattice, WayToPose(skin.skeleton, pose))
    sound = [where_sound(region, each.base[region.vertices], search_of) for each in kept]
    fade = smooth_step(region.relative(region.rest), _FADED, _WHOLE)[:, None]
    offsets, reports = list[Float64s](), list[SolvedReport]()
    for step in _STEP_PARTS:
        walk = _Walk(lattice, held, kept, sound, step / fineness)
        for number, each in enumerate(kept):
            converged = yield from walk.to(number)
            base = np.asarray(each.base, np.float64)[region.vertices]
            change = fade * (walk.skin() - base)
            before, after = measures.of(base), measures.of(base + change)
            now = time.perf_counter()
            report = SolvedReport(before, after, walk.iterations, converged, now - start)
            walk.iterations, start = 0, now
            change = np.zeros_like(change) if report.is_worse else change
            if number == len(reports):
                reports.append(report)
                offsets.append(change)
            elif after.crossings < reports[number].after.crossings:
                reports[number], offsets[number] = report, change
        if not any(each.is_worse for each in reports):
            break
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

    def __init__(
        self,
        lattice: Lattice,
        held: HeldNodes,
        kept: Sequence[KeptPose],
        sound: Sequence[Float64s],
        step_part: float,
    ) -> None:
        self._step_part = step_part
        self._lattice, self._held, self._kept = lattice, held, kept
        self._flesh, self._contact = Flesh(lattice, np.float32), Contact(lattice)
        self._places = lattice.nodes.T.copy()
        self._targets = self._places
        self._free = np.flatnonzero(~held.held)
        self._fixed = np.flatnonzero(held.held)
        vertices = lattice.region.vertices
        self._ways = [np.zeros((len(vertices), 3))]
        self._ways += [held.base_ways(each.share, each.base[vertices]) for each in kept]
        self._shares = np.array([0.0, *(each.share for each in kept)])
        self._sound = [np.ones(len(vertices)), *sound]
        self._share = 0.0
        # What was missing in the step before, shape (3, f), and how large that step was.
        self._lacked = np.zeros((3, len(self._free))), 1.0
        self.iterations = 0

    def skin(self) -> Float64s:
        """Where the skin is, shape (v, 3), armature space."""
        lattice = self._lattice
        at = lattice.to_armature(carried(lattice, self._places))
        return transformed_points(np.linalg.inv(self._held.to_reference(self._share)), at)

    def to(self, number: int) -> Generator[float, None, bool]:
        """Go on to a kept pose; returns whether it came to rest."""
        first, last = self._shares[number : number + 2].tolist()
        self._springs = self._held.springs(np.minimum(*self._sound[number : number + 2]))
        self._plain = self._factored()
        turn = self._held.way.turn(first, last, self._held.reference)
        share, converged = first, False
        while share < last:
            most = self._step_part * (_TURN_TOUCHING if self._contact.is_near else _TURN)
            count = max(1, int(np.ceil(turn * (last - share) / (last - first) / most - 1e-9)))
            share = last if count == 1 else share + (last - share) / count
            part = 0.05 + 0.95 * share / self._shares[-1]
            converged = yield from self._step(number, share, part, share == last)
        return converged

    def _step(
        self, number: int, share: float, part: float, is_kept: bool
    ) -> Generator[float, None, bool]:
        """Move what is held, and let the rest come to rest."""
        size, self._share = share - self._share, share
        first, last = self._shares[number : number + 2]
        between = (share - first) / (last - first)
        ways = (1.0 - between) * self._ways[number] + between * self._ways[number + 1]
        if is_kept:
            self._springs = self._held.springs(self._sound[number + 1])
        free, self._targets = self._free, self._held.places(share, ways)
        taken = self._places + self._taken_along(self._targets)
        places = taken.copy()
        # What the step before lacked, this one lacks, too.
        known, known_size = self._lacked
        places[:, free] += min(1.0, size / known_size) * known
        self._contact.forget()
        limits = (_KEPT, _STEPS_KEPT) if is_kept else (_BETWEEN, _STEPS)
        converged = yield from self._minimise(places, part, *limits)
        self._lacked = (places - taken)[:, free], size
        self._places = places
        return converged

    def _minimise(
        self, places: Float64s, part: float, at_rest: _AtRest, steps: int
    ) -> Generator[float, None, bool]:
        """Let the free nodes come to rest, in place; returns whether they did."""
        free = self._free

        def energy(of_free: Float64s) -> tuple[float, Float64s]:
            places[:, free] = of_free
            value, slope = self._flesh.energy(places)
            drawn, pull = self._springs.energy(places - self._targets)
            pushed, force = self._contact.energy(places)
            slope += pull
            if force is not None:
                slope += force
            return value + drawn + pushed, slope[:, free]

        minimiser = Minimiser(places[:, free], _LONGEST)
        system = hard = self._plain
        before, known, due, factored = 0, minimiser.places, 0, -_FACTORED
        way = 0.0
        for step in range(steps):
            if step == due:
                drift = at_rest.drift * (step - before) / _CONTACT_STEPS
                if step and longest_way(minimiser.places - known) < drift:
                    break
                before, known = step, minimiser.places
                due = step + max(_CONTACT_STEPS, int(_CONTACT_PART * step))
                if step >= factored + _FACTORED:
                    places[:, free] = known
                    factored, hard = step, self._factored(self._flesh.hardness(places))
            if step == before or way > _CONTACT_WAY:
                places[:, free], way = minimiser.places, 0.0
                self._contact.update(places)
                system = self._stiffened(hard, places)
                minimiser.energy_changed()
                yield part
            moved = minimiser.step(energy, system.solve)
            way += moved
            self.iterations += 1
            if moved < at_rest.step and step > _CONTACT_STEPS:
                break
        else:
            step = steps
        places[:, free] = minimiser.places
        return step < steps

    def _taken_along(self, targets: Float64s) -> Float64s:
        """The ways (3, N) of all nodes where those that are held go to their targets.

        The others follow by the Laplacian of the flesh and their springs; what touches goes on
        touching.
        """
        free, fixed, system = self._free, self._fixed, self._plain
        change, away = np.zeros_like(self._places), self._places - targets
        change[:, fixed] = -away[:, fixed]
        pull = self._flesh.stiffness(change) + self._springs.stiffness * away
        ways = self._contact.stiff_ways(self._places, _TOUCHING)
        if ways is not None:
            pull += ways.pull(change)
            system = StiffenedSystem(system, ways.of(free))
        change[:, free] = -system.solve(pull[:, free])
        return change

    def _stiffened(self, system: SlicedSystem, places: Float64s) -> SlicedSystem | StiffenedSystem:
        """A system of the free nodes with what touches."""
        ways = self._contact.stiff_ways(places, _TOUCHING)
        return system if ways is None else StiffenedSystem(system, ways.of(self._free))

    def _factored(self, hardness: Float64s | None = None) -> SlicedSystem:
        """The Laplacian of the free nodes, with springs, factored."""
        lattice, free = self._lattice, self._free
        place = np.full(len(lattice.nodes), -1)
        place[free] = np.arange(len(free))
        (rows, columns), values = (
            self._flesh.stiffness_places,
            self._flesh.stiffness_entries(hardness),
        )
        values += np.where(rows == columns, self._springs.stiffness[rows], 0.0)
        inner = (place[rows] >= 0) & (place[columns] >= 0)
        rows, columns, values = rows[inner], columns[inner], values[inner]
        axis = int(np.ptp(lattice.nodes, axis=0).argmax())
        slices = lattice.nodes[free, axis].astype(np.int64)
        return SlicedSystem(slices, place[rows], place[columns], values)
