"""Keeps the enabled objects on the GPU up to date with their poses, once per frame."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakSet

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..core.deform import Deformation
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..scene.armature import object_to_armature, world_matrix
from ..scene.binding import Binding
from ..scene.mesh import mesh_of
from ..scene.numpy_evaluator import shape_key_values
from ..scene.object_settings import Settings
from ..scene.setup import rig_of
from .gpu_mesh import GpuMesh
from .played_takes import Playing
from .playing import followed_keys, key_values_at, playing_of, pose_at, scene_time
from .pose_palette import PosePalette
from .skinning import DeformedMesh


@dataclass(eq=False)
class Character:
    """One object's binding on the GPU, and the input of its last deformation.

    Attributes:
        revision: rises whenever the mesh is deformed again.
    """

    binding: Binding
    deformed: DeformedMesh
    revision: int = 0
    _settings: Settings | None = None
    _deformation: Deformation | None = None
    _pose: SharedPose | None = None
    _pose_number: int = -1
    _to_armature: NDArray[np.float64] | None = None
    _world: tuple[Matrix, Matrix] | None = None

    def twin(self) -> Character:
        """Another deformation of the same binding. The static data is shared."""
        return Character(self.binding, DeformedMesh(self.deformed.mesh))

    @classmethod
    def of(cls, binding: Binding) -> Character:
        """Upload a binding."""
        mesh = gpu_mesh_of(binding, binding.segments())
        return cls(binding, DeformedMesh(mesh))

    def update(
        self,
        obj: bpy.types.Object,
        armature: bpy.types.Object,
        settings: Settings,
        shared: SharedPose,
    ) -> bool:
        """Deform the mesh again if anything has changed since the last call.

        Args:
            obj: the evaluated mesh object.
            armature: the evaluated armature object.
            shared: the pose of its armature, read for this frame.

        Returns:
            whether the GPU had to work.

        Raises:
            BindingError: the object does not fit its binding any more.
        """
        to_armature = self._object_to_armature(obj, armature)
        changed = shared is not self._pose or shared.number != self._pose_number
        deformation = self._deformation
        if settings != self._settings or to_armature is not self._to_armature:
            deformation, changed = self.binding.deformation(settings, to_armature), True
            if deformation.skinning is not self.deformed.mesh.moved_by:
                self.deformed = DeformedMesh(gpu_mesh_of(self.binding, deformation.skinning))
        of_take = shared.key_values(self.binding, obj)
        values = shape_key_values(self.binding, settings, obj, shared.pose, of_take)
        if values is not None:
            changed |= self.deformed.set_shape_key_values(values)
        if changed and deformation is not None:
            self.deformed.deform(deformation, shared.pose_palette, to_armature)
            self._deformation = deformation
            self._settings = settings
            self._to_armature = to_armature
            self._pose, self._pose_number = shared, shared.number
            self.revision += 1
        return changed

    def _object_to_armature(
        self, obj: bpy.types.Object, armature: bpy.types.Object
    ) -> NDArray[np.float64]:
        """A^-1 O; the same array as long as neither of the two moves."""
        world = (world_matrix(obj).copy(), world_matrix(armature).copy())
        if self._to_armature is None or world != self._world:
            self._world = world
            return object_to_armature(obj, armature)
        return self._to_armature


def gpu_mesh_of(binding: Binding, influences: Influences) -> GpuMesh:
    """Upload the static data of a binding.

    Args:
        influences: `Deformation.skinning` of what it will be deformed by.
    """
    keys = binding.shape_keys
    return GpuMesh(
        binding.rest,
        influences,
        topology=binding.topology,
        sets=binding.sets,
        shape_offsets=keys.offsets if keys else None,
    )


class SharedPose:
    """The pose of one armature, for all its meshes.

    Attributes:
        number: rises when the pose has changed.
    """

    def __init__(self, binding: Binding) -> None:
        self.skeleton = binding.skeleton
        self.pose_palette = PosePalette(self.skeleton)
        self.pose = Pose.rest(binding.skeleton)
        self.number = 0
        self._matrices: NDArray[np.float64] | None = None
        # What it plays, and the frame and the rate of the scene that was read last.
        self._playing: Playing | None = None
        self._time = (0.0, 0.0)
        # Those that were compared already: a frame has no time for names.
        self._known: WeakSet[Skeleton] = WeakSet((binding.skeleton,))

    def serves(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton equals this one; each reading from Blender makes a new object."""
        if skeleton not in self._known:
            if not same_bones(self.skeleton, skeleton):
                return False
            self._known.add(skeleton)
        return True

    def read(self, binding: Binding, rig: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
        """Take the pose of an armature object, or that of the take that it plays.

        Raises:
            BindingError: it has other bones than the binding.
            PoseError: a bone's matrix is not finite; the last good pose stays.
        """
        self._playing, self._time = playing_of(rig, binding), scene_time(depsgraph)
        if self._playing is None:
            matrices = binding.pose_matrices(rig.evaluated_get(depsgraph))
        else:
            matrices = pose_at(self._playing, *self._time)
        if self._matrices is not None and np.array_equal(matrices, self._matrices):
            return
        pose = Pose.from_matrices(matrices, self.skeleton)
        self.pose_palette.update(pose)
        self.pose = pose
        self._matrices = matrices
        self.number += 1

    def key_values(self, binding: Binding, obj: bpy.types.Object) -> dict[int, float]:
        """The values of the shape keys of an evaluated mesh object that follow a take, by key."""
        keys = binding.shape_keys
        if self._playing is None or keys is None:
            return {}
        mesh = self._playing.value_mesh(mesh_of(obj).name)
        values = key_values_at(self._playing, mesh, *self._time)
        names = {row: keys.key_names[row] for row in followed_keys(keys, obj)}
        return {row: values[name] for row, name in names.items() if name in values}


def same_bones(one: Skeleton, other: Skeleton) -> bool:
    """Whether two skeletons have the same bones in the same places."""
    return (
        one.names == other.names
        and np.array_equal(one.parents, other.parents)
        and np.array_equal(one.rest, other.rest)
        and np.array_equal(one.tails, other.tails)
        and np.array_equal(one.bone_of_row, other.bone_of_row)
        and np.array_equal(one.frames, other.frames)
    )


class Characters:
    """Every drawn object by its session_uid, without references to Blender's data."""

    def __init__(self) -> None:
        self._characters: dict[int, Character] = {}
        self._references: dict[int, Character] = {}
        self._poses: dict[int, SharedPose] = {}
        # Those that were read in the current drawing; None outside of one.
        self._read: set[SharedPose] | None = None

    @contextmanager
    def drawing(self) -> Generator[None]:
        """While this is open, the pose of an armature is read once for all its meshes."""
        self._read = set()
        try:
            yield
        finally:
            self._read = None

    def update(
        self,
        obj: bpy.types.Object,
        binding: Binding,
        depsgraph: bpy.types.Depsgraph,
        settings: Settings | None = None,
    ) -> Character:
        """The deformed mesh of an object for the state that a depsgraph is in.

        Args:
            settings: how to deform; by default the object's own.

        Raises:
            BindingError: the object does not fit its binding any more.
            PoseError: a bone's matrix is not finite.
        """
        character = self._characters.get(binding.object_uid)
        if character is None or character.binding is not binding:
            character = Character.of(binding)
            self._characters[binding.object_uid] = character
        evaluated = obj.evaluated_get(depsgraph)
        rig = rig_of(obj)
        armature = rig.evaluated_get(depsgraph)
        settings = settings or Settings.of(evaluated)
        shared = self._shared_pose(binding)
        if self._read is None or shared not in self._read:
            shared.read(binding, rig, depsgraph)
            if self._read is not None:
                self._read.add(shared)
        character.update(evaluated, armature, settings, shared)
        return character

    def reference(
        self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, settings: Settings
    ) -> Character:
        """The same object deformed by other settings, in the pose of the last `update`.

        Args:
            obj: the original mesh object; `update` has been called for it.
        """
        character = self._characters[obj.session_uid]
        reference = self._references.get(obj.session_uid)
        if reference is None or reference.binding is not character.binding:
            reference = self._references[obj.session_uid] = character.twin()
        armature = rig_of(obj).evaluated_get(depsgraph)
        shared = self._shared_pose(character.binding)
        reference.update(obj.evaluated_get(depsgraph), armature, settings, shared)
        return reference

    def drop_references(self, kept_uids: set[int]) -> None:
        """Free the references of other objects than these."""
        for uid in [uid for uid in self._references if uid not in kept_uids]:
            del self._references[uid]

    def last(self, binding: Binding) -> Character | None:
        """The last deformation of the character; None without one."""
        return self._characters.get(binding.object_uid)

    def keep_only(self, object_uids: set[int]) -> None:
        """Free the data of other objects."""
        for uid in [uid for uid in self._characters if uid not in object_uids]:
            del self._characters[uid]
        self.drop_references(object_uids)
        armatures = {character.binding.armature_uid for character in self._characters.values()}
        for uid in [uid for uid in self._poses if uid not in armatures]:
            del self._poses[uid]

    def clear(self) -> None:
        """Free everything."""
        self._characters.clear()
        self._references.clear()
        self._poses.clear()

    def _shared_pose(self, binding: Binding) -> SharedPose:
        shared = self._poses.get(binding.armature_uid)
        if shared is None or not shared.serves(binding.skeleton):
            shared = self._poses[binding.armature_uid] = SharedPose(binding)
        return shared
