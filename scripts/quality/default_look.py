"""The default look on generated characters: no worse than what it replaces, in any pose.

    .venv-5.2/bin/python scripts/run.py quality.default_look [--first 0] [--count 100] [--csv FILE]

*Soft with Twist* is compared with *As Painted*, and with the better one of the plain Armature
modifier and *Preserve Volume*: the longest edge, crossings of faces, gaps at seams.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Quaternion
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from human.dressed import add_mesh
from human.model import build_armature
from leaving import leave
from quality.body import triangles_of
from quality.crossings import FAR_APART, crossing_pairs
from quality.generated.characters import KINDS, GeneratedCharacter, generated
from quality.generated.poses import Turns

Array = NDArray[np.float64]

PLAIN, PRESERVE_VOLUME, AS_PAINTED, DEFAULT = "plain", "PV", "AS_PAINTED", "SOFT_WITH_TWIST"
LOOKS = (PLAIN, PRESERVE_VOLUME, AS_PAINTED, DEFAULT)
# A figure may be so many times the larger one of as painted and the better one of Blender's.
MOST = 1.05
# Of each measure what is allowed in any case: an edge as many times as long as at rest, pairs of
# triangles more than allowed, metres.
EDGE, CROSSINGS, GAP = 1.25, 4, 2e-4
# Edges shorter than this part of their mesh's median count as that long: slivers are no cloth.
_SHORT = 0.3
# Metres at rest: vertices of two meshes that are as near are in one place.
_ONE_PLACE = 1e-5


@dataclass(frozen=True)
class Compared:
    """One measure of a character in one pose, by every look.

    Attributes:
        measure: `edge`, the longest one of a mesh with all that it is joined with by seams, in
            lengths at rest; `crossings`, pairs of triangles that cross and do not at rest; `gap`,
            how far apart vertices of two meshes are that were in one place, metres.
        values: by `LOOKS`. Others than the default look are left out where that crosses nothing.
        where: the vertices (mesh and number) at the default look's worst place, and where that is
            at rest.
    """

    kind: str
    seed: int
    pose: str
    measure: str
    values: dict[str, float]
    where: str = ""

    @property
    def limit(self) -> float:
        """The most that the default look may have."""
        plain, volume, painted = (self.values.get(look, 0.0) for look in LOOKS if look != DEFAULT)
        most = MOST * max(painted, min(plain, volume))
        return most + CROSSINGS if self.measure == "crossings" else max(most, _LEAST[self.measure])

    @property
    def missed(self) -> bool:
        """Whether the default look is worse."""
        return self.values[DEFAULT] > self.limit

    def __str__(self) -> str:
        by_look = ", ".join(f"{look} {value:.4g}" for look, value in self.values.items())
        return f"{self.kind} {self.seed}, {self.pose}: {self.measure} {by_look}; {self.where}"


_LEAST = {"edge": EDGE, "gap": GAP}
_MEASURES = ("edge", "crossings", "gap")


class Scene:
    """A generated character in an empty file; the add-on is registered."""

    def __init__(self, character: GeneratedCharacter) -> None:
        self.character = character
        arrays = next(iter(character.meshes.values()))
        self.armature = build_armature(arrays)
        self._bend()
        self.meshes = [add_mesh(n, each, self.armature) for n, each in character.meshes.items()]
        self._armatures: list[Any] = [each.modifiers["Armature"] for each in self.meshes]
        counts = [len(each.vertices) for each in character.meshes.values()]
        self.mesh_of = np.repeat(np.arange(len(counts)), counts)
        self.starts = np.cumsum([0, *counts])
        # What nobody sees does not count.
        seen = [
            each.faces[: len(each.faces) - character.caps[name]] + start
            for (name, each), start in zip(character.meshes.items(), self.starts, strict=False)
        ]
        self.quads = np.concatenate(seen)
        self.triangles = triangles_of(self.quads)
        bpy.context.view_layer.update()
        self.rest = self.positions()

    def _bend(self) -> None:
        armature: Any = self.armature.data
        for name in self.character.controls:
            armature.bones[name].use_deform = False
        if not self.character.segments:
            return
        bpy.context.view_layer.objects.active = self.armature
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in armature.edit_bones:
            bone.use_connect = bone.name in self.character.connected
        bpy.ops.object.mode_set(mode="OBJECT")
        for name, count in self.character.segments.items():
            armature.bones[name].bbone_segments = count

    def positions(self) -> Array:
        """Shape (n, 3), of all meshes as they are shown."""
        graph, found = bpy.context.evaluated_depsgraph_get(), []
        for obj in self.meshes:
            mesh: Any = obj.evaluated_get(graph).data
            some = np.zeros((len(mesh.vertices), 3), np.float32)
            mesh.vertices.foreach_get("co", some.reshape(-1))
            found.append(some)
        return np.concatenate(found).astype(np.float64)

    def take_pose(self, turns: Turns) -> None:
        """Turn bones about axes of the armature; the others are at rest."""
        for bone in self.armature.pose.bones:
            turn = Quaternion()
            for axis, degrees in turns.get(bone.name, ()):
                turn = Quaternion(axis.tolist(), np.radians(degrees)) @ turn
            rest = bone.bone.matrix_local.to_quaternion()
            bone.rotation_quaternion = rest.inverted() @ turn @ rest
        bpy.context.view_layer.update()

    def wear(self, look: str) -> None:
        """Deform with one of `LOOKS`."""
        if look in (PLAIN, PRESERVE_VOLUME):
            api.disable(self.meshes)
            for modifier in self._armatures:
                modifier.use_deform_preserve_volume = look == PRESERVE_VOLUME
        else:
            for modifier in self._armatures:
                modifier.use_deform_preserve_volume = False
            api.enable(self.meshes, look=look)
        bpy.context.view_layer.update()

    # Measures.

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], Array]:
        """Ends (e, 2), and lengths at rest, none much shorter than the median of its mesh."""
        pairs = np.stack((self.quads, np.roll(self.quads, -1, 1)), 2).reshape(-1, 2)
        ends = np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)
        lengths = np.linalg.norm(self.rest[ends[:, 0]] - self.rest[ends[:, 1]], axis=1)
        meshes = self.mesh_of[ends[:, 0]]
        medians = np.array([np.median(lengths[meshes == m]) for m in range(len(self.meshes))])
        return ends, np.maximum(lengths, _SHORT * medians[meshes])

    @cached_property
    def _welded(self) -> NDArray[np.intp]:
        """Shape (n,), the same number for vertices in one place."""
        keys = np.round(self.rest / _ONE_PLACE).astype(np.int64)
        return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)

    @cached_property
    def seams(self) -> NDArray[np.intp]:
        """Pairs (k, 2) of vertices of two meshes in one place."""
        order = np.argsort(self._welded, kind="stable")
        first, second = order[:-1], order[1:]
        same = self._welded[first] == self._welded[second]
        same &= self.mesh_of[first] != self.mesh_of[second]
        return np.stack((first[same], second[same]), 1)

    @cached_property
    def joined(self) -> NDArray[np.intp]:
        """Shape (k,), of each mesh the first one of those that it is joined with by seams."""
        found = np.arange(len(self.meshes))
        for pair in np.unique(self.mesh_of[self.seams], axis=0).tolist():
            one, other = sorted(found[pair].tolist())
            found[found == other] = one
        return found

    @cached_property
    def _crosses_at_rest(self) -> NDArray[np.bool_]:
        """Shape (t,), the triangles that cross at rest, and those around them."""
        pairs = crossing_pairs(self.rest, self.triangles)
        apart = (
            self._welded[self.triangles[pairs[:, 0]]][:, :, None]
            != self._welded[self.triangles[pairs[:, 1]]][:, None, :]
        ).all(axis=(1, 2))
        touched = np.zeros(len(self.rest), np.bool_)
        touched[self.triangles[pairs[apart]]] = True
        return touched[self.triangles].any(axis=1)

    def keys(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (k,), a number for each pair of triangles (k, 2)."""
        return pairs @ np.array([len(self.triangles), 1])

    @cached_property
    def _centres(self) -> Array:
        return self.rest[self.triangles].mean(axis=1)

    def crossings(self, posed: Array) -> NDArray[np.int64]:
        """Pairs of triangles (k, 2) that cross, near each other at rest.

        What crosses at rest, as a box that is sunk into skin, does not count, nor what is around.
        """
        pairs = crossing_pairs(posed, self.triangles)
        pairs = pairs[~self._crosses_at_rest[pairs].all(axis=1)]
        apart = self._centres[pairs[:, 0]] - self._centres[pairs[:, 1]]
        pairs = pairs[np.linalg.norm(apart, axis=1) < FAR_APART]
        one, other = (self._welded[self.triangles[pairs[:, k]]] for k in (0, 1))
        return pairs[~(one[:, :, None] == other[:, None, :]).any(axis=(1, 2))]

    def stretches(self, posed: Array) -> Array:
        """Shape (e,), the lengths of edges, in those at rest."""
        ends, lengths = self.edges
        return np.linalg.norm(posed[ends[:, 0]] - posed[ends[:, 1]], axis=1) / lengths

    def gaps(self, posed: Array) -> Array:
        """Shape (k,), of the seams, metres."""
        return np.linalg.norm(posed[self.seams[:, 0]] - posed[self.seams[:, 1]], axis=1)

    def named(self, vertices: NDArray[np.integer]) -> str:
        """The meshes and numbers of vertices, and where they are at rest."""
        meshes = self.mesh_of[vertices]
        each = zip(meshes.tolist(), (vertices - self.starts[meshes]).tolist(), strict=True)
        names = " ".join(f"{self.meshes[mesh].name}[{number}]" for mesh, number in each)
        x, y, z = self.rest[vertices].mean(axis=0)
        return f"{names} at ({x:.3f}, {y:.3f}, {z:.3f})"


def compare(character: GeneratedCharacter) -> Iterator[Compared]:
    """All measures of a character, in an empty file, in which the add-on is registered."""
    scene = Scene(character)
    posed: dict[tuple[str, str], Array] = {}
    for look in LOOKS:
        scene.take_pose({})
        scene.wear(look)
        for title, turns in character.poses.items():
            scene.take_pose(turns)
            posed[look, title] = scene.positions()
    for title in character.poses:
        yield from _of_pose(scene, title, {look: posed[look, title] for look in LOOKS})


def _of_pose(scene: Scene, title: str, posed: dict[str, Array]) -> Iterator[Compared]:
    about, default = (scene.character.kind, scene.character.seed, title), posed[DEFAULT]
    yield _of_edges(scene, about, posed)
    found = {DEFAULT: scene.crossings(default)}
    where = ""
    if len(found[DEFAULT]) > CROSSINGS:  # the others need not be looked at
        found = {look: scene.crossings(each) for look, each in posed.items()}
        known = np.isin(*(scene.keys(found[look]) for look in (DEFAULT, AS_PAINTED)))
        if not known.all():
            new = found[DEFAULT][~known]
            where = scene.named(scene.triangles[new[len(new) // 2]][:, 0])
    yield Compared(*about, "crossings", {k: float(len(v)) for k, v in found.items()}, where)
    if len(scene.seams):
        widest = {look: float(scene.gaps(each).max()) for look, each in posed.items()}
        seam = scene.seams[int(scene.gaps(default).argmax())]
        yield Compared(*about, "gap", widest, scene.named(seam))


def _of_edges(scene: Scene, about: tuple[str, int, str], posed: dict[str, Array]) -> Compared:
    """Of the meshes, joined at their seams, whose longest edge is the worst beside the limit."""
    stretches, ends = {look: scene.stretches(each) for look, each in posed.items()}, scene.edges[0]
    joined, found = scene.joined[scene.mesh_of[ends[:, 0]]], list[Compared]()
    for skin in np.unique(joined).tolist():
        rows = np.flatnonzero(joined == skin)
        longest = {look: float(each[rows].max()) for look, each in stretches.items()}
        edge = ends[rows[int(stretches[DEFAULT][rows].argmax())]]
        found.append(Compared(*about, "edge", longest, scene.named(edge)))
    return max(found, key=lambda each: each.values[DEFAULT] / each.limit)


def of_numbers(
    numbers: Iterable[int], progress: Callable[[str], None] | None = None
) -> list[Compared]:
    """All measures of generated characters, each in an empty file; the add-on is registered."""
    rows: list[Compared] = []
    for number in numbers:
        began = time.perf_counter()
        bpy.ops.wm.read_factory_settings(use_empty=True)
        character = generated(number)
        found = list(compare(character))
        rows += found
        if progress is not None:
            missed = [each for each in found if each.missed]
            took = time.perf_counter() - began
            progress(f"{number} {character.features}: {len(missed)} missed, {took:.1f} s")
            for each in missed:
                progress(f"    {each}")
    return rows


def failed(rows: Iterable[Compared]) -> Counter[str]:
    """How many characters of each kind are worse in some pose."""
    return Counter(kind for kind, _ in {(each.kind, each.seed) for each in rows if each.missed})


def kinds_table(rows: Sequence[Compared]) -> list[list[str]]:
    """The head, and a line for each kind: characters, those that are worse, the worst figures."""
    lines = [["kind", "characters", "worse", *(f"{name}, of the limit" for name in _MEASURES)]]
    worse = failed(rows)
    for kind in KINDS:
        of_kind = [row for row in rows if row.kind == kind]
        count = len({row.seed for row in of_kind})
        worst = [
            max((r.values[DEFAULT] / r.limit for r in of_kind if r.measure == name), default=0.0)
            for name in _MEASURES
        ]
        lines.append([kind, str(count), str(worse[kind]), *(f"{each:.2f}" for each in worst)])
    return lines


def write_rows(rows: Iterable[Compared], path: Path) -> None:
    """Every figure, as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "seed", "pose", "measure", *LOOKS, "limit", "missed", "where"])
        for row in rows:
            values = [row.values.get(look, "") for look in LOOKS]
            about = [row.kind, row.seed, row.pose, row.measure]
            writer.writerow([*about, *values, row.limit, int(row.missed), row.where])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    dq_compensation.register()
    numbers = range(options.first, options.first + options.count)
    rows = of_numbers(numbers, lambda line: print(line, flush=True))
    if options.csv:
        write_rows(rows, options.csv)
    worse = failed(rows)
    print(f"{worse.total()} characters fail: {dict(worse)}")
    return int(bool(worse))


if __name__ == "__main__":
    leave(main())
