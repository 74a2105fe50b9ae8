"""Objects that one dispatch skins: copies of a character, or one object alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

import bpy
import numpy as np
from gpu.types import GPUTexture

from ...core.influences import Influences
from ...errors import PoseError
from ...scene.binding.binding import Binding
from ...scene.binding.twins import twin_digest
from ...scene.settings.object_settings import Settings
from ..gpu.kernels import wanted_layout
from ..gpu.take_tables import InstanceGroup
from ..look.surface import placements_texture
from ..skinning.deformed_mesh import DeformedMesh
from ..skinning.gpu_mesh import GpuMesh, gpu_mesh_of
from ..takes.playing import scene_time
from .arrangement import Arrangement
from .members import Key, Member, Places, member_of


class Batch:
    """Objects with equal data and settings on the GPU.

    Args:
        key: equal for objects that one batch can have; it begins with what says that their bindings
            are equal.

    Attributes:
        members: of the current drawing.
        deformed: their surfaces, in this order.
        layout: what they read of a pose.
        bones: says that skeletons are equal.
        arrangement: their poses; None before the first update.
        reported: the problems of the arrangement that the panel shows.
        revision: rises whenever they are skinned again.
    """

    def __init__(self, key: Key, members: Sequence[Member], meshes: Meshes) -> None:
        self.key, self.members, self._meshes = key, members, meshes
        self.arrangement: Arrangement | None = None
        self.reported: Mapping[int, PoseError] | None = None
        self.revision = 0
        self.bones = twin_digest(members[0].binding.skeleton)
        self._inputs: tuple[object, ...] = ()
        self._group: InstanceGroup | None = None
        self.deformed = self._deformed(None)
        self._placed = b""
        self._placements: GPUTexture | None = None

    def update(self, arrangement: Arrangement) -> None:
        """Skin the members in these poses again if anything has changed."""
        self.arrangement, poses = arrangement, arrangement.poses
        assert poses is not None
        if self.members[0].to_armature is not self._to_armature:
            self.deformed = self._deformed(self.deformed)
        (group,), keys = poses.groups, self.deformed.keys
        if group != self._group:
            self._follow(group)
            self._group = group
        spaces = np.array([member.to_armature for member in self.members])
        acting = [member.settings for member in self.members]
        shares = np.array([(settings.factor, settings.twist_spread) for settings in acting])
        changed = False
        if keys is not None:
            values = [each.key_values for each in self.members if each.key_values is not None]
            changed = keys.give(np.array(values))
        inputs = (poses, arrangement.number, spaces.tobytes(), shares.tobytes(), self._deformation)
        if changed or inputs != self._inputs:
            deformation = self._deformation if shares[:, 0].any() else self._uncompensated
            self.deformed.deform(deformation, poses, group, spaces, shares)
            self._inputs = inputs
            self.revision += 1

    def placements(self) -> GPUTexture:
        """Where the members are in the world."""
        matrices = np.array([member.obj.matrix_world for member in self.members], np.float32)
        placed = matrices.tobytes()
        if self._placements is None or placed != self._placed:
            self._placements, self._placed = placements_texture(matrices), placed
        return self._placements

    def _deformed(self, known: DeformedMesh | None) -> DeformedMesh:
        """Find how the members are deformed where they are; their surfaces, if need be new ones."""
        first = self.members[0]
        # What acts on each member differs: a factor of 0 for one does not make it another method.
        settings = first.settings.acting_fully
        self._to_armature = first.to_armature
        self._deformation = first.binding.deformation(settings, first.to_armature)
        self._uncompensated = replace(self._deformation, factor=0.0)
        self.layout = wanted_layout(self._deformation)
        skinning, self._group = self._deformation.skinning, None
        if known is not None and known.mesh.moved_by is skinning:
            return known
        mesh = self._meshes.of(self.key[0], first, skinning)
        return DeformedMesh(mesh, first.binding.skeleton, len(self.members))

    def _follow(self, group: InstanceGroup) -> None:
        """Say which shape keys' values follow poses."""
        first, keys = self.members[0], self.deformed.keys
        shape_keys = first.binding.shape_keys
        if keys is None or shape_keys is None or first.obj.show_only_shape_key:
            return
        named = {row: (first.value_mesh, shape_keys.key_names[row]) for row in first.followed_keys}
        keys.follow(group, named, first.binding.acting_examples(first.settings))


class Meshes:
    """The static data of meshes, which batches share; freed when none uses it."""

    def __init__(self) -> None:
        self._meshes: WeakValueDictionary[Key, GpuMesh] = WeakValueDictionary()

    def of(self, equal: object, member: Member, skinning: Influences) -> GpuMesh:
        """The mesh of a member.

        Args:
            equal: says that bindings are equal.
            skinning: its influences, of bones or of segments of bendy bones.
        """
        of_bones = skinning is member.binding.influences
        key = (equal, of_bones, b"" if of_bones else member.to_armature.tobytes())
        found = self._meshes.get(key)
        if found is None:
            found = self._meshes[key] = gpu_mesh_of(member.binding, skinning)
        return found


def deformed_object(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    settings: Settings | None = None,
) -> DeformedMesh:
    """The deformed mesh of an object for the state that a depsgraph is in, for scripts.

    Nothing of it is kept from frame to frame.

    Args:
        obj: the original object.
        settings: how to deform; by default the object's own.

    Raises:
        BindingError: the object does not fit its binding any more.
        PoseError: a bone's matrix is not finite.
    """
    member, arrangement = member_of(obj, binding, depsgraph, Places(), settings), Arrangement()
    batch = Batch((binding,), [member], Meshes())
    arrangement.pose([member], batch.layout, *scene_time(depsgraph))
    for error in arrangement.problems.values():
        raise error
    batch.update(arrangement)
    return batch.deformed
