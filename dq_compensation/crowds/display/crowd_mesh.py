"""One mesh of a character on the GPU, skinned for all its figures in all crowds."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.program_bounds import SkinBalls
from ...core.deform import Deformation
from ...core.takes import Take
from ...core.vectors import transformed_points
from ...scene.binding.binding import Binding
from ...scene.binding.stored_examples import Examples
from ...scene.blender.mesh import mesh_of
from ...scene.settings.object_settings import Settings
from ...viewport.gpu.kernels import PosePaletteLayout, wanted_layout
from ...viewport.gpu.take_tables import InstanceGroup
from ...viewport.objects.members import Places
from ...viewport.poses.instance_lists import InstanceList, ListPart
from ...viewport.poses.instance_poses import InstancePoses
from ...viewport.skinning.deformed_mesh import DeformedMesh, most_instances
from ...viewport.skinning.gpu_mesh import GpuMesh, gpu_mesh_of
from ...viewport.takes.played_takes import value_mesh
from ...viewport.takes.playing import followed_keys


class CrowdMesh:
    """The figures' surfaces.

    Attributes:
        parts: as many as textures need; the first figures in the first one.
        most: the figures of a part but the last.
    """

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self.parts: list[DeformedMesh] = []
        self.most = most_instances(
            binding.vertex_count, binding.topology.group_count, binding.skeleton.bone_count
        )
        self._mesh: GpuMesh | None = None
        # As they are, and acting fully; those that it is deformed by.
        self._read: tuple[Settings, Settings] | None = None
        self._settings: Settings | None = None
        # How much of compensation and spread acts.
        self._shares = (1.0, 0.0)
        self._to_armature: NDArray[np.float64] = np.eye(4)
        self._place = b""
        self._deformation: Deformation | None = None
        self._linear: Deformation | None = None
        self._given: NDArray[np.float32] | None = None
        self._followed: tuple[int, ...] = ()
        # Whether one shape key is pinned: then it alone acts.
        self._pinned = False
        self._value_mesh = ""
        self._keys_follow: tuple[object, ...] = ()
        self._balls: tuple[tuple[object, ...], SkinBalls] | None = None

    def follow(
        self,
        obj: bpy.types.Object,
        armature: bpy.types.Object,
        takes: tuple[Take, ...],
        places: Places,
    ) -> bool:
        """Read what the object and its settings say now.

        Args:
            obj, armature: evaluated.
            takes: that the figures play.

        Returns:
            whether figures look different by it.

        Raises:
            BindingError: the object does not fit its binding any more.
        """
        read = Settings.of(obj)
        if self._read is None or self._read[0] != read:
            # What acts on it may be 0 for a while: that does not make it another method.
            self._read = (read, read.acting_fully)
        shares, settings = (read.factor, read.twist_spread), self._read[1]
        to_armature, place = places.of(obj, armature, self.binding)
        changed = shares != self._shares or to_armature is not self._to_armature
        if settings != self._settings or to_armature is not self._to_armature:
            self._deform_by(self.binding.deformation(settings, to_armature))
            changed = True
        self._settings, self._shares = settings, shares
        self._to_armature, self._place = to_armature, place
        return self._follow_keys(obj, takes) or changed

    def _deform_by(self, deformation: Deformation) -> None:
        self._deformation = deformation
        self._linear = replace(
            deformation,
            method="LINEAR",
            influences=deformation.skinning,
            compensation=None,
            painted=None,
            sets=None,
            blend=None,
            segments=None,
            twist_limbs=None,
        )
        if self._mesh is None or self._mesh.moved_by is not deformation.skinning:
            self._mesh = gpu_mesh_of(self.binding, deformation.skinning)
            self.parts = []

    def _follow_keys(self, obj: bpy.types.Object, takes: tuple[Take, ...]) -> bool:
        """Read the values of shape keys that do not follow a take; whether one has changed."""
        keys = self.binding.shape_keys
        if keys is None:
            return False
        followed, named = followed_keys(keys, obj), value_mesh(takes, mesh_of(obj).name)
        tracks = {key for take in takes for mesh, key in take.values.names if mesh == named}
        values = keys.values(obj)
        values[[row for row in followed if keys.key_names[row] in tracks]] = 0.0
        former = (self._followed, self._value_mesh, self._pinned)
        found = (followed, named, obj.show_only_shape_key)
        self._followed, self._value_mesh, self._pinned = found
        examples = self._examples()
        if examples is not None:
            values[examples.rows] = 0.0
        if former == found and np.array_equal(values, self._given):
            return False
        self._given = values
        return True

    def layout(self, *, linear: bool) -> PosePaletteLayout:
        """The layout of the pose palette that it reads; `linear`: some figures by LINEAR."""
        assert self._deformation is not None
        assert self._linear is not None
        layout = wanted_layout(self._deformation)
        return layout | wanted_layout(self._linear) if linear else layout

    def resize(self, count: int) -> bool:
        """Have room for so many figures; returns whether all have to be skinned again."""
        sizes = [min(self.most, count - first) for first in range(0, count, self.most)]
        # Those with room for so many figures, and not for twice as many.
        pairs = zip(self.parts, sizes, strict=False)
        fit = takewhile(lambda pair: pair[1] <= pair[0].count <= 2 * pair[1], pairs)
        self.parts = [part for part, _ in fit]
        missing = sizes[len(self.parts) :]
        assert self._mesh is not None
        for size in missing:
            self.parts.append(DeformedMesh(self._mesh, self.binding.skeleton, size))
        if missing:
            self._keys_follow = ()
        return bool(missing)

    def skin(
        self, poses: InstancePoses, group: InstanceGroup, chosen: InstanceList, *, linear: bool
    ) -> None:
        """Skin the chosen ones of its figures, of a group; `linear`: by LINEAR in any case."""
        deformation = self._linear if linear else self._deformation
        assert deformation is not None
        self._connect_keys(group)
        for number, (part, some) in enumerate(self.shown(group, chosen)):
            if part.keys is not None and self._given is not None:
                part.keys.give(self._given)
            part.deform(
                deformation,
                poses,
                group,
                self._to_armature,
                self._shares,
                first=number * self.most,
                chosen=some,
            )

    def shown(
        self, group: InstanceGroup, chosen: InstanceList
    ) -> list[tuple[DeformedMesh, ListPart]]:
        """The parts, each with the chosen ones of its figures."""
        found = []
        for number, part in enumerate(self.parts):
            first = number * self.most
            count = min(part.count, group.count - first)
            found.append((part, chosen.part(group.first_instance + first, count)))
        return found

    def balls(self) -> SkinBalls:
        """How far its skin reaches; the same object as long as it is true."""
        assert self._deformation is not None
        limit = 1.0 if self._given is None else max(1.0, float(np.abs(self._given).max(initial=0)))
        key = (self._place, self._deformation.skinning, limit)
        if self._balls is not None and self._balls[0] == key:
            return self._balls[1]
        binding, to_armature = self.binding, self._to_armature
        reach: NDArray[np.floating] | float = 0.0
        if binding.shape_keys is not None:
            moves = np.linalg.norm(binding.shape_keys.offsets @ to_armature[:3, :3].T, axis=2)
            reach = limit * moves.sum(axis=0)
        found = SkinBalls.of(
            binding.skeleton.frames[:, :3, 3],
            self._deformation.skinning,
            transformed_points(to_armature, binding.rest.astype(np.float64)),
            reach,
            binding.mask,
        )
        self._balls = (key, found)
        return found

    def _examples(self) -> Examples | None:
        """The example poses that act. Their keys are muted, so that they follow nothing else."""
        settings = None if self._pinned else self._settings
        return None if settings is None else self.binding.acting_examples(settings)

    def _connect_keys(self, group: InstanceGroup) -> None:
        """Say where the values of shape keys come from, if that has changed."""
        keys = self.binding.shape_keys
        if keys is None:
            return
        examples = self._examples()
        wanted = (group.value_names, group.bone_rows, self._followed, self._value_mesh, examples)
        if wanted == self._keys_follow:
            return
        named = {row: (self._value_mesh, keys.key_names[row]) for row in self._followed}
        for part in self.parts:
            if part.keys is not None:
                part.keys.follow(group, named, examples)
        self._keys_follow = wanted
