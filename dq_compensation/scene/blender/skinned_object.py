"""A mesh object and its armature as one operation sees them: who is who, asked once.

An operator, a handler, a function of `api` or `reconcile` makes the view; what they call takes it
in place of the object. Nothing keeps it beyond the operation: an undo or an evaluation replaces the
data that it points to.
"""

from __future__ import annotations

from itertools import takewhile
from typing import cast

import bpy

from ...errors import BindingError
from ..settings.object_settings import (
    DQCompensationNativeState,
    DQCompensationSettings,
    armature_modifier,
    find_rig,
    settings_of,
)
from .own_objects import is_own_modifier, own_modifiers


class SkinnedObject:
    """A mesh object with the Armature modifier that our node modifier works with.

    Modifiers and what they point to may change during the operation: they are read when asked for.
    """

    __slots__ = ("mesh", "obj")

    def __init__(self, obj: bpy.types.Object) -> None:
        """Look at an object, original or evaluated."""
        self.obj = obj
        self.mesh = cast("bpy.types.Mesh", obj.data)

    @property
    def settings(self) -> DQCompensationSettings:
        """The settings of the object; those of an evaluated one have animated and driven values."""
        return settings_of(self.obj)

    @property
    def before_enable(self) -> DQCompensationNativeState:
        """Blender's own settings of the object as they were before it was enabled."""
        return self.settings.native

    def find_modifier(self) -> bpy.types.ArmatureModifier | None:
        """The result of `armature_modifier`."""
        return armature_modifier(self.obj)

    @property
    def modifier(self) -> bpy.types.ArmatureModifier:
        """The same Armature modifier; BindingError where there is none (any more)."""
        modifier = self.find_modifier()
        if modifier is None:
            raise BindingError(f"{self.obj.name} has no Armature modifier.")
        return modifier

    def find_rig(self) -> bpy.types.Object | None:
        """The armature object of the Armature modifier, as `find_rig` of settings finds it."""
        return find_rig(self.obj)

    @property
    def rig(self) -> bpy.types.Object:
        """The same armature object; BindingError where there is none (any more)."""
        rig = self.find_rig()
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
        obj, rig = self.obj, self.find_rig()
        return obj.parent == rig and obj.parent_type == "OBJECT" and not len(obj.constraints)

    @property
    def modifiers_before(self) -> list[bpy.types.Modifier]:
        """The modifiers before the Armature modifier, without ours; empty when there is none."""
        modifier, stack = self.find_modifier(), list(self.obj.modifiers)
        before = stack[: stack.index(modifier)] if modifier is not None else []
        return [each for each in before if not is_own_modifier(each)]

    @property
    def mixed_modifiers(self) -> list[bpy.types.ArmatureModifier]:
        """The Armature modifiers whose results *Multi Modifier* mixes with that of the first one.

        Modifiers of the add-on may stand between them.
        """
        modifier = self.find_modifier()
        stack = [each for each in self.obj.modifiers if not is_own_modifier(each)]
        if modifier is None:
            return []
        after = (cast("bpy.types.ArmatureModifier", m) for m in stack[stack.index(modifier) + 1 :])
        return list(takewhile(lambda m: m.type == "ARMATURE" and m.use_multi_modifier, after))

    @property
    def ours(self) -> bpy.types.NodesModifier | None:
        """Our node modifier; None without one."""
        return next(iter(own_modifiers(self.obj)), None)

    @property
    def has_linked_mesh(self) -> bool:
        """Whether object and mesh are of another file, or of a library override, with our modifier.

        It reads the mesh, which cannot be written here: it is shown or hidden, but stays. An object
        of this file gets what it reads in an object of its own instead.
        """
        obj = self.obj
        is_own = obj.library is None and obj.override_library is None
        return self.mesh.library is not None and not is_own and self.ours is not None
