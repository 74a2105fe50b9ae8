"""Check: the seams of a character's meshes stay closed: one place, equal weights and settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...analysis.surface.seams import SEAM_ALIKE, Seam
from ...arrays import Booleans, Indices
from ...core.vectors import transformed_points
from ...lifecycle.character_settings import meshes_changed
from ...scene.blender.animation_curves import animated_paths
from ...scene.blender.mesh import other_users
from ...scene.blender.scenes import length_words, object_millimetres
from ...scene.settings.object_settings import (
    GROUP_SETTINGS,
    METHOD_SETTINGS,
    DQCompensationSettings,
    Settings,
)
from ...scene.vertex_groups import write_rows
from ...session.changes import writing_settings
from ...wording import counted, listed, verb
from ..fixes.requirements import require_editable
from ..fixes.weight_writing import require_writable
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import DeformingWeights, MeshSeam, Subject

_SHARED_SETTINGS = ("method", *(name for name in METHOD_SETTINGS if name not in GROUP_SETTINGS))


@dataclass(frozen=True, eq=False)
class _OpenSeam:
    """The seam of two meshes that does not stay closed.

    Attributes:
        small, large: the mesh that changes, and the one that it has to fit.
        pairs: vertices of the small one, and those of the large one beside them.
        apart, unlike: shape (p,), pairs that lie apart, and whose weights differ.
        settings: those in which the meshes differ.
    """

    small: Subject
    large: Subject
    pairs: Seam
    apart: Booleans
    unlike: Booleans
    settings: tuple[str, ...]

    @classmethod
    def of(cls, seam: MeshSeam) -> _OpenSeam | None:
        """None where the seam stays closed."""
        pairs = seam.pairs
        apart, unlike = seam.is_apart, pairs.differences > SEAM_ALIKE
        if apart.any() or unlike.any():
            # Copies and levels of detail run beside the same edge as the mesh that fits it.
            alone = ~(_fits_another(seam, seam.small, pairs.one))
            alone &= ~_fits_another(seam, seam.large, pairs.other)
            apart, unlike = apart & alone, unlike & alone
        settings = _different_settings(seam.small, seam.large)
        if not (apart.any() or unlike.any() or settings):
            return None
        return cls(seam.small, seam.large, pairs, apart, unlike, settings)

    @property
    def key(self) -> str:
        """The same, whichever mesh is looked at."""
        return f"{self.large.obj.name}/{self.small.obj.name}"

    @property
    def wrong(self) -> Booleans:
        """Shape (p,), the pairs that the finding is about: all where settings differ."""
        found = self.apart | self.unlike
        return found if found.any() else np.ones(len(found), np.bool_)

    def vertices_of(self, subject: Subject) -> Indices:
        """The vertices of one of the two meshes."""
        pairs = self.pairs.one if subject.obj == self.small.obj else self.pairs.other
        return np.unique(pairs[self.wrong])

    def length(self) -> str:
        """The largest distance, in the units of the scene."""
        scene, rig = bpy.context.scene, self.small.rig
        apart = float(self.pairs.distances[self.apart].max(initial=0.0))
        return length_words(apart * object_millimetres(rig, scene), scene)

    def require_closable(self) -> None:
        """Raise FixError where the small mesh cannot be changed so that the seam closes."""
        obj, mesh = self.small.obj, self.small.mesh
        require_editable(obj)
        if (self.apart.any() or self.unlike.any()) and (others := other_users(mesh)) > 0:
            raise FixError(
                f"{mesh.name} is shared with {counted(others, 'other object')}. Make it "
                "single-user (Object, Relations) to close the seam."
            )
        if self.apart.any() and mesh.shape_keys is not None:
            raise FixError(
                f"{obj.name} has shape keys, which keep its vertices where they are. Move these "
                "vertices in every key to close the seam."
            )
        if self.unlike.any():
            require_writable(obj, self._groups())

    def close(self) -> None:
        """Move the vertices of the small mesh; it gets weights and settings of the large one."""
        if self.apart.any():
            self._move()
        if self.unlike.any():
            self._weigh()
        large: Any = self.large.settings
        with writing_settings():
            for name in self.settings:
                setattr(self.small.settings, name, getattr(large, name))
        if self.settings:
            meshes_changed((self.small.obj,), self.settings)

    def _move(self) -> None:
        to_armature = self.small.object_to_armature
        there = self.large.rest_in_armature
        assert to_armature is not None  # the seam was measured
        assert there is not None
        positions = self.small.rest.copy()
        rows, beside = self.pairs.one[self.apart], self.pairs.other[self.apart]
        positions[rows] = transformed_points(np.linalg.inv(to_armature), there[beside])
        places: Any = self.small.mesh.attributes["position"]
        places.data.foreach_set("vector", positions.reshape(-1))
        self.small.mesh.update()

    def _weigh(self) -> None:
        obj, small, large = self.small.obj, self.small.deforming_weights, self.large
        given = large.deforming_weights
        pair, rows = _rows_of(given, self.pairs.other[self.unlike])
        of_vertices = self.pairs.one[self.unlike]
        _, cleared = _rows_of(small, of_vertices)
        zeros = np.zeros(len(cleared))
        write_rows(obj, small.vertices[cleared], small.groups[cleared], zeros)
        groups = np.zeros(len(large.group_names), np.int32)
        for group in np.unique(given.groups[rows]).tolist():
            name = large.group_names[group]
            groups[group] = (obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)).index
        weights = np.minimum(given.weights[rows], 1.0)
        write_rows(obj, of_vertices[pair], groups[given.groups[rows]], weights)

    def _groups(self) -> list[str]:
        """The names of the groups of the small mesh that get other weights."""
        found: set[str] = set()
        pairs = ((self.small, self.pairs.one), (self.large, self.pairs.other))
        for subject, vertices in pairs:
            weights = subject.deforming_weights
            _, rows = _rows_of(weights, vertices[self.unlike])
            found |= {subject.group_names[group] for group in np.unique(weights.groups[rows])}
        return sorted(found)


def _fits_another(seam: MeshSeam, subject: Subject, vertices: Indices) -> Booleans:
    """Shape (p,), whether vertices of a mesh are closed at its seam with a third mesh."""
    found = np.zeros(len(vertices), np.bool_)
    for other in subject.seams:
        if {other.small, other.large} != {seam.small, seam.large}:
            pairs = other.pairs
            ours = pairs.one if other.small is subject else pairs.other
            closed = ~other.is_apart & (pairs.differences <= SEAM_ALIKE)
            found |= np.isin(vertices, ours[closed])
    return found


def _rows_of(weights: DeformingWeights, vertices: Indices) -> tuple[Indices, Indices]:
    """The weights of vertices (k,): which of the vertices, and the row of each weight."""
    begin = np.searchsorted(weights.vertices, vertices)
    counts = np.searchsorted(weights.vertices, vertices, side="right") - begin
    which = np.repeat(np.arange(len(vertices)), counts)
    within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, begin[which] + within


def _different_settings(small: Subject, large: Subject) -> tuple[str, ...]:
    """The settings that act and differ; none where a mesh goes by itself, or is not enabled."""
    both = (small.settings, large.settings)
    if not all(each.is_enabled and not each.by_itself for each in both):
        return ()
    animated = animated_paths(small.obj).keys() | animated_paths(large.obj).keys()
    acting = (Settings.of(small.obj), Settings.of(large.obj))
    return tuple(
        name
        for name in _SHARED_SETTINGS
        if getattr(both[0], name) != getattr(both[1], name)
        and (name == "method" or any(each.acts(name) for each in acting))
        and f"dq_compensation.{name}" not in animated
    )


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for each other mesh at which a seam opens."""
    for seam in _open_seams(subject):
        yield _issue(subject, seam)


def _open_seams(subject: Subject) -> list[_OpenSeam]:
    if not subject.seams or subject.misplacement is not None:
        return []
    found = (_OpenSeam.of(each) for each in subject.seams)
    return [each for each in found if each is not None]


def _issue(subject: Subject, seam: _OpenSeam) -> Issue:
    small, large = seam.small.obj.name, seam.large.obj.name
    parts, changes = [], []
    if seam.apart.any():
        parts.append(f"{_counted(seam.apart, 'lies', 'lie')} up to {seam.length()} apart")
        changes.append(f"{_counted(seam.apart, 'is', 'are')} moved by up to {seam.length()}")
    if seam.unlike.any():
        most = float(seam.pairs.differences.max())
        parts.append(f"the weights of {_counted(seam.unlike)} differ by up to {most:.3f}")
        changes.append(f"{_counted(seam.unlike, 'gets', 'get')} the weights of {large}")
    if seam.settings:
        labels = listed([_label(name) for name in seam.settings])
        parts.append(f"the meshes have different settings ({labels})")
        changes.append(f"{small} gets its {labels} from {large}")
    message = (
        f"At the seam of {large} and {small} {' and '.join(parts)}: it opens when it is posed."
    )
    question = f"The look of {small} changes at its seam with {large}: {'; '.join(changes)}."
    description = f"Let {small} go exactly with {large} at their seam"
    fix = Fix("close_seam", "Close Seam", description, question)
    vertices = seam.vertices_of(subject)
    return Issue(seam.key, "WARNING", message, vertices=vertices, fixes=(fix,))


def _counted(pairs: Booleans, of_one: str = "", of_several: str = "") -> str:
    """``3 vertices lie``; without verbs ``3 vertices``."""
    count = int(pairs.sum())
    return f"{counted(count, 'vertex')} {verb(count, of_one, of_several)}".rstrip()


def _label(name: str) -> str:
    return DQCompensationSettings.bl_rna.properties[name].name


def close_seam(subject: Subject, issue: Issue) -> Repair:
    """Close the seam of an issue by changing the mesh with fewer vertices."""
    seam = next(each for each in _open_seams(subject) if each.key == issue.key)
    seam.require_closable()
    yield
    seam.close()
    vertices = _counted(seam.wrong)
    return f"Closed the seam of {seam.large.obj.name} and {seam.small.obj.name}: {vertices}."


CHECK = Check("open_seams", find, {"close_seam": close_seam})
