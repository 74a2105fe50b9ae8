"""What joints that bend together share of the skin, so that each has its part.

The shapes of two joints are added. Where both move the same skin, as those of both hips the belly,
each makes room for what meets there, and the sum is too much. Where skin crosses itself for that,
the joints get a shape of their combined pose: of the shape of each joint there is as much as the
skin is near to it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from ..analysis.flesh.measures import SkinMeasures
from ..analysis.flesh.region import FleshRegion
from ..analysis.folding_joints import JointsTogether, together_matrices
from ..arrays import Booleans, Float64s, Int64s
from ..scene.blender.triangle_trees import SurfaceTree
from ..wording import counted, listed
from .joined_body import JoinedBody
from .shape_editing import ShapeEditing

# Crossings that count as none, in parts of those of the base.
_FEW = 0.1
# Offsets of a combined pose that are shorter are not kept, in cells of the region: 0.2 mm of a hip.
_LEAST = 0.01
# Of so many joints all combinations of listed poses are looked at.
_GRID = 2

Place = tuple[float, ...]

AS_MANY = "{joints}: bent together, their skin crosses itself as much when each has a part of it"


def shared_offsets(parts: Float64s, away: Float64s) -> Float64s:
    """What several shapes do together where each has its part of what more than one of them moves.

    Args:
        parts: shape (J, n, 3), the offsets of each alone.
        away: shape (J, n), how far points are from the joint of each, in its reaches.

    Returns:
        shape (n, 3), sum_j s_j o_j with s_j = (1 - a_j)^2 / sum (1 - a_k)^2, over the shapes k that
        move the point.
    """
    near = np.maximum(1.0 - away, 0.0) ** 2 * parts.any(axis=2)
    total = near.sum(axis=0)
    shares = np.where(total > 0.0, near / np.where(total > 0.0, total, 1.0), 1.0)
    return (shares[:, :, None] * parts).sum(axis=0)


@dataclass(frozen=True)
class SharedReport:
    """Joints that got a shape of their combined poses.

    Attributes:
        bones: behind them.
        poses: how many are kept.
        crossings: pairs of triangles that cross, in these poses, the ends of the ways, and between
            them: of the base, of the shapes of single joints added, and as it is played.
    """

    bones: tuple[str, ...]
    poses: int
    crossings: tuple[int, int, int]

    def sentence(self) -> str:
        """The figures in a line."""
        base, added, played = self.crossings
        return (
            f"{listed(self.bones, 4)} together: {counted(self.poses, 'pose')}, crossings {base} "
            f"without solved shapes, {added} with those of each, {played} with their own"
        )


class SharedFolds:
    """Some joints that bend together, with the solved shapes that they have by themselves.

    A *place* is a pose: of each joint, which of its listed poses, counted from 1; half ones lie
    between two, 0 is rest.

    Attributes:
        names: of the bones behind them.
        chosen: the stops that have a shape of their own, and whether it shows the base there.
    """

    def __init__(self, body: JoinedBody, joints: JointsTogether) -> None:
        self._body, self._joints = body, joints
        self.names = tuple(body.skeleton.names[bone] for bone in joints.bones)
        counts = np.array([len(way.degrees) for way in joints.ways])
        # Of two joints all combinations; of more the poses on the way on which they bend evenly.
        steps = np.gcd.reduce(counts)
        is_grid = len(counts) == _GRID
        self._step: Float64s = np.ones(_GRID) if is_grid else counts / steps
        stops = product(*(range(1, count + 1) for count in counts.tolist()))
        evenly = np.arange(1, steps + 1)[:, None] * self._step
        self._stops = np.array(list(stops), np.float64) if is_grid else evenly
        self._known: dict[Place, tuple[Float64s, Float64s]] = {}
        self._crossed: dict[Place, int] = {}
        self.chosen: dict[Place, bool] = {}

    def run(self) -> Generator[float, None, SharedReport | str | None]:
        """Give the meshes shapes of combined poses where they help.

        Returns:
            a report; why there is none; or None where the joints need none.
        """
        editings = [mesh.editing for mesh in self._body.meshes]
        base, added = self._crossings(self._stops[-1:], editings)
        yield 0.1
        if added[0] <= _FEW * base[0]:
            return None
        places = np.concatenate((self._stops, self._stops - 0.5 * self._step))
        base, added = self._crossings(places, editings)
        yield 0.5
        crossed = places[added > _FEW * base]
        kept = self._stops[self._around(crossed)]
        shared = [editing.copied() for editing in editings]
        chosen = {tuple(stop.tolist()): False for stop in kept}
        self._share(chosen, editings, shared)
        yield 0.7
        after = self._crossings(places, shared)[1]
        if (worse := self._around(places[after > base])).any():
            # Where that crosses more than the base, the base may be shown there.
            plainer = [editing.copied() for editing in shared]
            plain = {tuple(stop.tolist()): True for stop in self._stops[worse]}
            self._share(plain, editings, plainer)
            crossings = self._crossings(places, plainer)[1]
            if crossings.sum() < after.sum():
                chosen, shared, after = chosen | plain, plainer, crossings
        is_better = after.sum() <= (1.0 - _FEW) * added.sum()
        if not is_better and not after.sum() <= base.sum() < added.sum():
            return AS_MANY.format(joints=listed(self.names, 4))
        for mesh, editing in zip(self._body.meshes, shared, strict=True):
            mesh.editing = editing
        self.chosen = chosen
        figures = int(base.sum()), int(added.sum()), int(after.sum())
        return SharedReport(self.names, len(chosen), figures)

    def mirror(
        self, chosen: Mapping[Place, bool], found: SharedReport | str | None
    ) -> SharedReport | str | None:
        """Give the meshes the shapes that those of the other side have.

        The shapes of the single joints are mirrored: nothing is measured anew.

        Args:
            chosen: there.
            found: what `run` returned there.
        """
        if isinstance(found, str):
            return AS_MANY.format(joints=listed(self.names, 4))
        if found is None:
            return None
        editings = [mesh.editing for mesh in self._body.meshes]
        shared = [editing.copied() for editing in editings]
        self._share(chosen, editings, shared)
        for mesh, editing in zip(self._body.meshes, shared, strict=True):
            mesh.editing = editing
        return replace(found, bones=self.names)

    def _around(self, places: Float64s) -> Booleans:
        """Shape (s,): the stops round some places; a place between is helped by all round it."""
        apart = np.abs(self._stops[:, None] - places) / self._step
        return np.asarray((apart <= 0.5).all(axis=2).any(axis=1))

    def _posed(self, places: Sequence[Place]) -> list[tuple[Float64s, Float64s]]:
        """The rows (R, 4, 4) and the base (n, 3) at places."""
        new = [place for place in places if place not in self._known]
        ways = self._joints.ways
        poses = list[Float64s]()
        for place in new:
            each = zip(place, ways, strict=True)
            degrees = [at / len(way.degrees) * way.degrees[-1] for at, way in each]
            poses.append(together_matrices(self._body.skin, self._joints, degrees))
        for place, rows in zip(new, self._body.rows_in(poses), strict=True):
            self._known[place] = rows, self._body.base(rows)
        return [self._known[place] for place in places]

    def _crossings(
        self, places: Float64s, editings: Sequence[ShapeEditing]
    ) -> tuple[Int64s, Int64s]:
        """Pairs of triangles that cross at each place: of the base, and with the shapes."""
        vertices, found = self._measures.region.vertices, list[tuple[int, int]]()
        shapes = [editing.shapes() for editing in editings]
        keys = [tuple(place.tolist()) for place in places]
        for key, (rows, base) in zip(keys, self._posed(keys), strict=True):
            if key not in self._crossed:
                self._crossed[key] = self._measures.of(base[vertices]).crossings
            played = base + self._body.displaced(shapes, rows)
            found.append((self._crossed[key], self._measures.of(played[vertices]).crossings))
        base, played = np.array(found).T
        return base, played

    def _share(
        self,
        chosen: Mapping[Place, bool],
        editings: Sequence[ShapeEditing],
        shared: Sequence[ShapeEditing],
    ) -> None:
        """Add the shapes of some stops: of what each joint does, a part where others do, too.

        Args:
            chosen: stops, and whether the base is shown there.
        """
        shapes = [editing.shapes() for editing in editings]
        region, count = self._measures.region, len(self._body.vertices)
        least = _LEAST * region.cell
        for (rows, _), without in zip(self._posed(list(chosen)), chosen.values(), strict=True):
            parts = np.zeros((len(self._joints.bones), count, 3))
            for row, bone in enumerate(self._joints.bones):
                alone = [each.of_joint(bone) for each in shapes]
                parts[row] = self._body.displaced(alone, rows)
            sharing = np.zeros((count, 3)) if without else shared_offsets(parts, self._away)
            offsets = self._body.everywhere(np.arange(count), sharing)
            moved = parts.any(axis=2)
            for mesh, editing in zip(self._body.meshes, shared, strict=True):
                own = moved[:, self._body.point_of_vertex[mesh.rows]]
                if np.count_nonzero(own, axis=0).max() > 1:
                    self._body.add_shape(mesh, editing, self.names, rows, offsets, least=least)

    @cached_property
    def _away(self) -> Float64s:
        """How far points are from each joint, in its reaches: shape (J, n)."""
        region, positions = self._measures.region, self._body.skin.positions
        rows = np.searchsorted(region.joints, self._joints.bones)
        apart = np.linalg.norm(positions - region.centres[rows, None], axis=2)
        return apart / region.reaches[rows, None]

    @cached_property
    def _measures(self) -> SkinMeasures:
        body = self._body
        region = FleshRegion.of(body.skin, body.triangles, self._joints.bones)
        return SkinMeasures(region, SurfaceTree)
