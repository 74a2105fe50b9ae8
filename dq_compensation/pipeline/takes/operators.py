"""The feature's operators: takes are cached, cached again, removed, copied to other armatures."""

from __future__ import annotations

from typing import cast

from bpy.props import StringProperty
from bpy.types import Context, Event, Object, Operator

from ...bake.operators import BakesFrames, draw_properties
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.selected_characters import NOTHING_SELECTED, known_meshes, target_meshes
from ...ui_shared.option_properties import options_from, with_option_properties
from ...ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
)
from . import caching
from .options import TakeOptions
from .settings import DQCompensationTake, active_take, find_take, takes_of
from .take_checks import watch_takes
from .take_copying import copy_takes


def target_armature(context: Context) -> Object | None:
    """The armature whose takes are meant: the active object, or that of the selected character."""
    active = context.active_object
    if active is not None and active.type == "ARMATURE":
        return active
    rigs = (SkinnedObject(obj).find_rig() for obj in target_meshes(context))
    return next(filter(None, rigs), None)


def armature_with_takes(context: Context) -> Object | None:
    """The armature of `target_armature`; None where it has no takes."""
    armature = target_armature(context)
    return armature if armature is not None and takes_of(armature) else None


class _ChangesTakes(Refusing, Operator):
    """The base of the operators here: they act on the armature that is meant."""

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        armature = target_armature(context)
        return NOTHING_SELECTED if armature is None else cls.refusal_of(armature, context)

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        """Why nothing can be done with this armature, or None."""
        return caching.takes_refusal(armature)

    @staticmethod
    def armature(context: Context) -> Object:
        """The armature that is meant: there is one where nothing was refused."""
        return cast("Object", target_armature(context))


def _caching_refusal(armature: Object, context: Context) -> str | None:
    layer = context.view_layer
    return caching.take_refusal(armature, known_meshes(armature, layer), layer)


@with_option_properties(TakeOptions)
class DQC_OT_take_cache(RunsInSteps, BakesFrames, _ChangesTakes):
    """Keep the motion of an armature over a range of frames as a take, which plays without it. \
It comes from the action, NLA, constraints, drivers and shape keys. Esc stops"""

    bl_idname = "dqc.take_cache"
    bl_label = "Cache Take"

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        return _caching_refusal(armature, context)

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self.first, self.last = self.range(context)
        self.take_name = self.take_name or caching.default_name(self.armature(context))
        return self.ask(context, "Cache")

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("take_name", "first", "last", "tolerance", "interpolation"))
        armature = target_armature(context)
        if armature is not None and find_take(armature, self.take_name) is not None:
            column.label(text=f"The take {self.take_name} is replaced", icon="INFO")

    def steps(self, context: Context) -> Steps:
        first, last = self.range(context)
        options = options_from(self, TakeOptions, first=first, last=last)
        return caching.cache_take(self.armature(context), options, context)


class DQC_OT_take_refresh(RunsInSteps, _ChangesTakes):
    """Cache the active take again: the same frames with the same tolerance. Esc stops"""

    bl_idname = "dqc.take_refresh"
    bl_label = "Cache Again"

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        item = active_take(armature)
        if item is None:
            return f"{armature.name} has no take. Cache one."
        if item.is_copied:
            return f"{item.name} comes from another armature. Cache it there."
        return _caching_refusal(armature, context)

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        return self.execute(context)

    def steps(self, context: Context) -> Steps:
        armature = self.armature(context)
        item = cast("DQCompensationTake", active_take(armature))
        options = TakeOptions(
            item.name,
            item.frame_start,
            item.frame_end,
            tolerance=item.tolerance,
            interpolation=item.interpolation,
        )
        return caching.cache_take(armature, options, context)


class DQC_OT_take_remove(_ChangesTakes):
    """Remove the active take from the file"""

    bl_idname = "dqc.take_remove"
    bl_label = "Remove Take"

    take_name: StringProperty(
        name="Name",
        description="The name of the take. Empty: the active one",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        if active_take(armature) is None:
            return f"{armature.name} has no take."
        return caching.takes_refusal(armature)

    def act(self, context: Context) -> Outcome:
        armature = self.armature(context)
        name = self.take_name or cast("DQCompensationTake", active_take(armature)).name
        caching.remove_take(armature, name)
        watch_takes()
        return f"Removed the take {name} of {armature.name}"


class DQC_OT_take_copy(_ChangesTakes):
    """Give the active armature the takes of the other selected armatures. Bones are matched by \
name"""

    bl_idname = "dqc.take_copy"
    bl_label = "Copy Takes to Active"

    @classmethod
    def refusal_of(cls, armature: Object, context: Context) -> str | None:
        if not other_armatures(armature, context):
            return f"Select an armature with takes, too, and {armature.name} last."
        return caching.takes_refusal(armature)

    def act(self, context: Context) -> Outcome:
        armature = self.armature(context)
        messages = []
        for source in other_armatures(armature, context):
            messages += copy_takes(source, armature)
        watch_takes()
        return " ".join(messages)


def other_armatures(armature: Object, context: Context) -> list[Object]:
    """The other armatures with takes that the selection leads to."""
    found = dict.fromkeys(
        obj if obj.type == "ARMATURE" else SkinnedObject(obj).find_rig()
        for obj in context.selected_objects
    )
    return [rig for rig in found if rig is not None and rig != armature and takes_of(rig)]


CLASSES = (DQC_OT_take_cache, DQC_OT_take_refresh, DQC_OT_take_remove, DQC_OT_take_copy)
