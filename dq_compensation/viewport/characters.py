"""The enabled objects on the GPU: brings each up to date with its pose, once per frame."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakSet

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..scene.armature import object_to_armature
from ..scene.binding import Binding
from ..scene.evaluation import Settings, acting_blend_group
from ..scene.setup import rig_of
from .gpu_mesh import GpuMesh
from .palette import Palette
from .skinning import DeformedMesh


@dataclass(eq=False)
class Character:
    """One object's binding on the GPU, and what it was last deformed with.

    Attributes:
        binding: what the textures hold.
        deformed: the deformed vertices and normals.
        palette: of its armature; shared.
    """

    binding: Binding
    deformed: DeformedMesh
    _settings: Settings | None = None
    _amounts: NDArray[np.float32] | None = None
    _painted_group: str = ""
    _blend_group: str = ""
    _pose: SharedPose | None = None
    _pose_number: int = -1
    _to_armature: NDArray[np.float64] | None = None
    _world: tuple[Matrix, Matrix] | None = None

    @classmethod
    def of(cls, binding: Binding) -> Character:
        """Upload a binding."""
        keys = binding.shape_keys
        mesh = GpuMesh(
            binding.rest,
            binding.influences,
            topology=binding.topology,
            sets=binding.sets,
            shape_offsets=keys.offsets if keys else None,
        )
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
            settings: how to deform.
            shared: the pose of its armature, read for this frame.

        Returns:
            whether the GPU had to work.

        Raises:
            BindingError: the object does not fit its binding any more.
        """
        to_armature = self._object_to_armature(obj, armature)
        changed = shared is not self._pose or shared.number != self._pose_number
        if settings != self._settings or to_armature is not self._to_armature:
            self._set_amounts(settings, to_armature)
            self._set_blend(settings)
            changed = True
        keys = self.binding.shape_keys
        if keys is not None:
            changed |= self.deformed.set_shape_key_values(keys.values(obj))
        if changed:
            self.deformed.deform(settings.method, shared.palette, to_armature, settings.factor)
            self._settings = settings
            self._to_armature = to_armature
            self._pose, self._pose_number = shared, shared.number
        return changed

    def _object_to_armature(
        self, obj: bpy.types.Object, armature: bpy.types.Object
    ) -> NDArray[np.float64]:
        """A^-1 O; the same array as long as neither of the two moves."""
        world = (obj.matrix_world.copy(), armature.matrix_world.copy())
        if self._to_armature is None or world != self._world:
            self._world = world
            return object_to_armature(obj, armature)
        return self._to_armature

    def _set_amounts(self, settings: Settings, to_armature: NDArray[np.float64]) -> None:
        if settings.method != "COMPENSATED":
            return
        binding, group = self.binding, settings.vertex_group
        amounts = binding.amounts(settings.limb_axis, settings.curve, to_armature)
        if amounts is not self._amounts or group != self._painted_group:
            measured = None
            if settings.curve == "MEASURED":
                measured = binding.measured(settings.limb_axis, to_armature)
            self.deformed.set_amounts(amounts * binding.painted(group), measured)
            self._amounts, self._painted_group = amounts, group

    def _set_blend(self, settings: Settings) -> None:
        group = acting_blend_group(self.binding, settings)
        if group != self._blend_group:
            self.deformed.set_blend(self.binding.painted(group) if group else None)
            self._blend_group = group


class SharedPose:
    """The pose of one armature along one choice of limb directions, for all its meshes.

    Attributes:
        palette: on the GPU.
        number: rises when the pose has changed.
    """

    def __init__(self, binding: Binding, settings: Settings) -> None:
        self.skeleton = binding.skeleton
        self.palette = Palette(
            binding.limb_directions(settings.limb_axis), binding.limb_joints(settings.limb_axis)
        )
        self.number = 0
        self._matrices: NDArray[np.float64] | None = None
        # Those that were compared already: a frame has no time for names.
        self._known: WeakSet[Skeleton] = WeakSet((binding.skeleton,))

    def serves(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton is this one; read from Blender twice, it is two objects."""
        if skeleton not in self._known:
            if not same_bones(self.skeleton, skeleton):
                return False
            self._known.add(skeleton)
        return True

    def read(self, binding: Binding, armature: bpy.types.Object) -> None:
        """Take the pose of the evaluated armature object.

        Raises:
            BindingError: it has other bones than the binding.
            PoseError: a bone's matrix is not finite; the last good pose stays.
        """
        matrices = binding.pose_matrices(armature)
        if self._matrices is not None and np.array_equal(matrices, self._matrices):
            return
        self.palette.update(Pose.from_matrices(matrices, self.skeleton))
        self._matrices = matrices
        self.number += 1


def same_bones(one: Skeleton, other: Skeleton) -> bool:
    """Whether two skeletons have the same bones in the same places."""
    return (
        one.names == other.names
        and np.array_equal(one.parents, other.parents)
        and np.array_equal(one.rest, other.rest)
        and np.array_equal(one.tails, other.tails)
    )


class Characters:
    """Every object that has been drawn, by the session_uid of the object; nothing of Blender's."""

    def __init__(self) -> None:
        self._characters: dict[int, Character] = {}
        self._poses: dict[tuple[int, str], SharedPose] = {}

    def update(
        self,
        obj: bpy.types.Object,
        binding: Binding,
        depsgraph: bpy.types.Depsgraph,
        settings: Settings | None = None,
    ) -> Character:
        """The deformed mesh of an object for the state that a depsgraph is in.

        Args:
            obj: the original mesh object.
            binding: of the object.
            depsgraph: evaluated.
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
        armature = rig_of(obj).evaluated_get(depsgraph)
        settings = settings or Settings.of(evaluated)
        shared = self._shared_pose(binding, settings)
        shared.read(binding, armature)
        character.update(evaluated, armature, settings, shared)
        return character

    def last(self, binding: Binding) -> Character | None:
        """The character as it was deformed last, if it was."""
        return self._characters.get(binding.object_uid)

    def keep_only(self, object_uids: set[int]) -> None:
        """Free what belongs to other objects."""
        for uid in [uid for uid in self._characters if uid not in object_uids]:
            del self._characters[uid]
        armatures = {character.binding.armature_uid for character in self._characters.values()}
        for key in [key for key in self._poses if key[0] not in armatures]:
            del self._poses[key]

    def clear(self) -> None:
        """Free everything."""
        self._characters.clear()
        self._poses.clear()

    def _shared_pose(self, binding: Binding, settings: Settings) -> SharedPose:
        key = (binding.armature_uid, settings.limb_axis)
        shared = self._poses.get(key)
        if shared is None or not shared.serves(binding.skeleton):
            shared = self._poses[key] = SharedPose(binding, settings)
        return shared
