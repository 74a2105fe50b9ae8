"""A mesh object and its armature as one operation sees them: who is who, asked once.

An operator, a handler, a function of `api` or `reconcile` makes the view; what they call takes it
in place of the object. Nothing keeps it beyond the operation: an undo or an evaluation replaces the
data that it points to.
"""

from __future__ import annotations

from functools import cached_property
from typing import cast

import bpy

from ...errors import BindingError
from ..settings.object_settings import (
    DQCompensationNativeState,
    DQCompensationSettings,
    settings_of,
)
from ..stack import stack_of


class SkinnedObject:
    """A mesh object with the Armature modifier that our node modifier works with.

    Modifiers and what they point to may change during the operation: they are read when asked for.
    """

    def __init__(self, obj: bpy.types.Object) -> None:
        """Look at an object, original or evaluated."""
        self.obj = obj
        self.mesh = cast("bpy.types.Mesh", obj.data)

    def __eq__(self, other: object) -> bool:
        """Whether both look at the same object."""
        return isinstance(other, SkinnedObject) and self.obj == other.obj

    def __hash__(self) -> int:
        """Of the object."""
        return hash(self.obj)

    @cached_property
    def settings(self) -> DQCompensationSettings:
        """The settings of the object; those of an evaluated one have animated and driven values."""
        return settings_of(self.obj)

    @cached_property
    def before_enable(self) -> DQCompensationNativeState:
        """What we have set of Blender's own settings of the object, and what the user had there."""
        return self.settings.native

    def find_modifier(self) -> bpy.types.ArmatureModifier | None:
        """The Armature modifier that ours works with; None without any."""
        name = stack_of(self.obj).base
        return cast("bpy.types.ArmatureModifier", self.obj.modifiers[name]) if name else None

    @property
    def modifier(self) -> bpy.types.ArmatureModifier:
        """The same Armature modifier; BindingError where there is none (any more)."""
        name = stack_of(self.obj).base
        if name is None:
            raise BindingError(f"{self.obj.name} has no Armature modifier.")
        return cast("bpy.types.ArmatureModifier", self.obj.modifiers[name])

    def find_rig(self) -> bpy.types.Object | None:
        """The armature object of the Armature modifier; None without one."""
        return stack_of(self.obj).rig

    @property
    def rig(self) -> bpy.types.Object:
        """The same armature object; BindingError where there is none (any more)."""
        rig = stack_of(self.obj).rig
        if rig is None:
            raise BindingError(f"{self.obj.name} has no Armature modifier with an armature.")
        return rig

    @property
    def armature(self) -> bpy.types.Armature:
        """The bones of the armature object; BindingError where there is none (any more)."""
        return cast("bpy.types.Armature", self.rig.data)

    @property
    def hangs_on_rig(self) -> bool:
        """Whether the armature object alone places the object, as its parent."""
        obj, rig = self.obj, stack_of(self.obj).rig
        return obj.parent == rig and obj.parent_type == "OBJECT" and not len(obj.constraints)

    @property
    def modifiers_before(self) -> list[bpy.types.Modifier]:
        """The modifiers before the Armature modifier, without ours; empty when there is none."""
        return [self.obj.modifiers[name] for name in stack_of(self.obj).before]

    @property
    def mixed_modifiers(self) -> list[bpy.types.ArmatureModifier]:
        """The Armature modifiers whose results *Multi Modifier* mixes with that of the first one.

        Modifiers of the add-on may stand between them.
        """
        mixed = stack_of(self.obj).mixed
        return [cast("bpy.types.ArmatureModifier", self.obj.modifiers[name]) for name in mixed]

    @property
    def ours(self) -> bpy.types.NodesModifier | None:
        """Our node modifier; None without one."""
        name = stack_of(self.obj).ours
        return cast("bpy.types.NodesModifier", self.obj.modifiers[name]) if name else None

    @property
    def has_linked_mesh(self) -> bool:
        """Whether object and mesh are of another file, or of a library override, with our modifier.

        It reads the mesh, which cannot be written here: it is shown or hidden, but stays. An object
        of this file gets what it reads in an object of its own instead.
        """
        obj = self.obj
        is_own = obj.library is None and obj.override_library is None
        return self.mesh.library is not None and not is_own and self.ours is not None
