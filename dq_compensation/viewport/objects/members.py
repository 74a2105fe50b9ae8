"""The objects of a drawing that are skinned together: what each of them brings along."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...core.vectors import extent
from ...scene.binding.binding import Binding
from ...scene.blender.armature import object_to_armature, world_matrix
from ...scene.blender.mesh import mesh_of
from ...scene.blender.rigging import rig_of
from ...scene.settings.object_settings import Settings
from ..takes.played_takes import Playing, value_mesh
from ..takes.playing import followed_keys, playing_of

# A^-1 O of copies may differ by this share of the mesh's size; see `armature.same_place`.
_SAME_PLACE = 5e-5

Key = tuple[object, ...]


@dataclass(eq=False)
class Member:
    """One object in one drawing.

    Attributes:
        obj, armature: evaluated. They do not outlive the drawing.
        look: equal for copies that one dispatch can skin, if `acting_place` is.
        place: equal for objects at nearly the same place in their armatures.
        playing: the takes that it plays; None: it follows its armature.
        to_armature: shape (4, 4), A^-1 O.
        key_values: shape (K,), of the shape keys; None without any.
        followed_keys: those that follow a take, and `value_mesh` the mesh whose values they are.
    """

    obj: bpy.types.Object
    armature: bpy.types.Object
    binding: Binding
    settings: Settings
    look: Key
    place: bytes
    playing: Playing | None
    to_armature: NDArray[np.float64]
    key_values: NDArray[np.float32] | None
    followed_keys: tuple[int, ...]
    value_mesh: str

    @property
    def original(self) -> bpy.types.Object:
        """The object in the file."""
        return cast("bpy.types.Object", self.obj.original)

    @property
    def acting_place(self) -> bytes:
        """`place`, where that matters."""
        # Neither methods that do not compensate nor straight bones look at the places of vertices.
        placed = self.settings.compensates or self.binding.skeleton.bendy is not None
        return self.place if placed else b""

    @property
    def motion(self) -> Key:
        """Equal for members whose poses are the same: the armature, and its takes if it plays."""
        takes = () if self.playing is None else self.playing.takes
        return self.binding.armature_uid, takes


class Places:
    """A^-1 O of objects, computed anew only when one of the two has moved."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Matrix, Matrix, NDArray[np.float64], bytes]] = {}

    def of(
        self, obj: bpy.types.Object, armature: bpy.types.Object, binding: Binding
    ) -> tuple[NDArray[np.float64], bytes]:
        """The matrix, and bytes that are equal for objects that are at nearly the same place.

        Raises:
            BindingError: one of the two is scaled to nothing.
        """
        known = self._known.get(binding.object_uid)
        world, above = world_matrix(obj), world_matrix(armature)
        if known is None or known[0] != world or known[1] != above:
            matrix = object_to_armature(obj, armature)
            steps = np.full((3, 4), _SAME_PLACE)
            steps[:, 3] *= max(extent(binding.rest), 1e-6)
            # Adding 0 makes 0 of -0.
            rounded = np.rint(matrix[:3] / steps) + 0.0
            known = (world.copy(), above.copy(), matrix, rounded.tobytes())
            self._known[binding.object_uid] = known
        return known[2], known[3]

    def keep_only(self, object_uids: set[int]) -> None:
        """Forget other objects."""
        self._known = {uid: known for uid, known in self._known.items() if uid in object_uids}


def member_of(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    places: Places,
    settings: Settings | None = None,
) -> Member:
    """The member that an object is in the state of a depsgraph.

    Args:
        obj: the original object, which is bound.
        settings: how to deform it; by default its own.

    Raises:
        BindingError: the object does not fit its binding any more.
    """
    evaluated, rig = obj.evaluated_get(depsgraph), rig_of(obj)
    armature = rig.evaluated_get(depsgraph)
    settings = settings or Settings.of(evaluated)
    playing = playing_of(rig, binding)
    to_armature, place = places.of(evaluated, armature, binding)
    keys, values, followed, named = binding.shape_keys, None, (), ""
    if keys is not None:
        values = keys.values(evaluated)
        if playing is not None:
            followed = followed_keys(keys, evaluated)
            named = value_mesh(playing.takes, mesh_of(evaluated).name)
    look = (
        *settings.all_but_followed,
        playing is not None,
        keys is not None and evaluated.show_only_shape_key,
        followed,
        named,
    )
    return Member(
        evaluated,
        armature,
        binding,
        settings,
        look,
        place,
        playing,
        to_armature,
        values,
        followed,
        named,
    )
